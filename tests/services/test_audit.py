"""The audit trail is only ever added to."""

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from hud.models import AuditEntry
from hud.services.audit import record

pytestmark = pytest.mark.django_db


def test_an_entry_says_who_changed_what_from_what_to_what() -> None:
    kim = User.objects.create_user("kim")
    record(kim, "groups.changed", "brindle/kestrel", before=[], after=[{"pattern": "lint", "group": "Lint"}])
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.what, entry.target) == ("kim", "groups.changed", "brindle/kestrel")
    assert entry.after == [{"pattern": "lint", "group": "Lint"}]


def test_an_entry_outlives_the_account_that_made_it() -> None:
    kim = User.objects.create_user("kim")
    record(kim, "groups.reset", "brindle/kestrel")
    kim.delete()
    assert AuditEntry.objects.get().who == "kim"


def test_a_change_by_a_command_is_put_down_to_the_command_line() -> None:
    assert record(None, "repository.followed", "brindle/kestrel").who == "command line"


def test_text_that_the_database_refuses_is_kept_with_a_visible_replacement() -> None:
    assert record(None, "groups.reset", "brindle/\x00kestrel").target == "brindle/\ufffdkestrel"


def test_an_entry_cannot_be_changed_or_deleted() -> None:
    entry = record(None, "groups.reset", "brindle/kestrel")
    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()


@pytest.mark.parametrize("statement", ["UPDATE hud_auditentry SET who = 'ana'", "DELETE FROM hud_auditentry"])
def test_the_database_itself_refuses_to_change_the_trail(statement: str) -> None:
    from django.db import connection

    record(None, "groups.reset", "brindle/kestrel")
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert AuditEntry.objects.get().who == "command line"
