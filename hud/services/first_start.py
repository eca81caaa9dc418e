"""Make a store ready for people: tables, groups, the first admin."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection, transaction

GROUPS = ("viewer", "on-call", "admin")
ADMIN = "admin"
_LOCK = 0x48_55_44  # "HUD": two machines that start at once prepare one after the other


def migrate() -> None:
    """Bring the tables up to date; of several that start at once, one does it and the others wait."""
    with _alone():
        call_command("migrate", interactive=False, verbosity=0)


@transaction.atomic
def make_groups_and_admin(*, password: str = "") -> str | None:
    """Make the groups, and the user `admin` where there is none. Returns the password made for it, if one was.

    A given `password` becomes admin's, also when admin is there already: that is how a lost one is replaced.
    """
    groups = {name: Group.objects.get_or_create(name=name)[0] for name in GROUPS}
    admin, is_new = User.objects.select_for_update().get_or_create(
        username=ADMIN, defaults={"is_superuser": True, "is_staff": True}
    )
    admin.groups.add(groups["admin"])
    made = None
    if is_new and not password:
        password = made = secrets.token_urlsafe(12)
    if password and not admin.check_password(password):
        admin.set_password(password)
        admin.save(update_fields=["password"])
    return made


@contextmanager
def _alone() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
