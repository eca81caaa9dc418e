"""Silences through their life: changed, broken, ended, renamed, reminded of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import override_settings
from django.urls import get_resolver
from django.utils import timezone

from hud.models import Alert, AuditEntry, Mail, Silence
from hud.queries import silence_matching
from hud.queries.silence_debt import debt_count, debt_page
from hud.queries.silence_matching import silences_of
from hud.queries.silence_preview import hidden_by
from hud.queries.silences import silence_history, silence_item, values_at_version
from hud.services import silences
from hud.services.alerting import look_after_alerts
from hud.services.audit import record
from hud.services.repositories import rename_repository
from hud.services.silence_reminders import remind_owners
from hud.services.silences import (
    SilenceConflict,
    SilenceRefused,
    change_silence,
    check,
    end_resolved_silences,
    expire_silence,
    make_silence,
)
from hud.tasks import notify_due
from tests.services.alert_world import AlertWorld, alerts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SEEK = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
CLOSE = "FAILED tests/test_net.py::test_close - KeyError: 'port'"
UNIT = [{"name": "job", "op": "=~", "value": "un.t"}]
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Any:
    with time_machine.travel(NOON, tick=False) as travelled:
        yield travelled


@pytest.fixture
def kim() -> User:
    return User.objects.create_user("kim", email="kim@brindle.org")


def wanted(**changes: Any) -> Any:
    now = timezone.now()
    typed = {"matchers": UNIT, "starts_at": now, "ends_at": now + 4 * HOUR, "reason": "the disk is full", **changes}
    return check(**typed)


# ── What is refused ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"ends_at": NOON}, "ends_at"),
        ({"ends_at": NOON - HOUR}, "ends_at"),
        ({"starts_at": NOON + 3 * HOUR, "ends_at": NOON + 2 * HOUR}, "ends_at"),
        ({"ends_at": NOON + timedelta(days=31)}, "ends_at"),
        ({"ends_at": None}, "ends_at"),
        ({"starts_at": None}, "starts_at"),
        ({"starts_at": NOON + timedelta(days=400), "ends_at": NOON + timedelta(days=401)}, "starts_at"),
        ({"starts_at": datetime.max.replace(tzinfo=UTC), "ends_at": datetime.max.replace(tzinfo=UTC)}, "ends_at"),
        ({"reason": " \n"}, "reason"),
        ({"reason": "x" * 4001}, "reason"),
        ({"issue_url": "javascript:alert(1)"}, "issue_url"),
        ({"issue_url": "https://x.org/\ud800"}, "issue_url"),
        ({"issue_url": "https://x.org/" + "y" * 1000}, "issue_url"),
        ({"matchers": []}, "matchers"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(clock: object, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(SilenceRefused) as refused:
        wanted(**changes)
    assert set(refused.value.errors) >= {field} and all(refused.value.errors.values())


def test_a_start_that_has_passed_is_now_whatever_its_zone(clock: object) -> None:
    tokyo = datetime.fromisoformat("2026-03-02T18:00:00+09:00")
    assert wanted(starts_at=tokyo).starts_at == NOON
    berlin = datetime.fromisoformat("2026-03-02T14:30:00+01:00")
    assert wanted(starts_at=berlin).starts_at == NOON + 1.5 * HOUR


def test_no_time_of_any_calendar_is_too_much_to_be_checked(clock: object) -> None:
    first = datetime.fromisoformat("0001-01-01T00:00:00+14:00")
    assert wanted(starts_at=first).starts_at == NOON
    last = datetime.fromisoformat("9999-12-31T23:59:59-12:00")
    with pytest.raises(SilenceRefused, match="at most 30 days"):
        wanted(ends_at=last)


def test_the_longest_time_is_a_setting(clock: object) -> None:
    with override_settings(SILENCE_MAX_DAYS=1), pytest.raises(SilenceRefused, match="SILENCE_MAX_DAYS"):
        wanted(ends_at=NOON + timedelta(days=2))


def test_to_exclude_what_there_is_does_not_match_everything_but_to_exclude_nothing_does(clock: object) -> None:
    AlertWorld(commits=6).column("unit (1, 3)", "S")
    for name, value in {"branch": "main", "repository": "brindle/kestrel", "rule": "broken job", "team": ""}.items():
        assert wanted(matchers=[{"name": name, "op": "!=", "value": value}]).matchers
    assert wanted(matchers=[{"name": "job", "op": "!~", "value": "unit.*"}]).matchers
    for name in ("branch", "repository", "rule", "job", "team", "group"):
        with pytest.raises(SilenceRefused, match="would match every alert"):
            wanted(matchers=[{"name": name, "op": "!=", "value": "nobody ever saw this"}])


# ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_silence_that_has_begun_keeps_its_start_so_that_it_cannot_be_stretched(
    clock: time_machine.Coordinates, kim: User
) -> None:
    silence = make_silence(wanted(), who=kim)
    clock.move_to(NOON + 2 * HOUR)
    later = wanted(starts_at=NOON + 3 * HOUR, ends_at=NOON + 8 * HOUR, earliest=silence.starts_at)
    assert later.starts_at == NOON
    with pytest.raises(SilenceRefused, match="at most 30 days"):
        wanted(ends_at=NOON + timedelta(days=30, hours=1), earliest=silence.starts_at)


def test_other_matchers_forget_what_the_old_ones_matched(clock: object, kim: User) -> None:
    AlertWorld(commits=6).column("unit", "SFFF")
    silence = make_silence(wanted(), who=kim)
    assert silence.last_matched_at == NOON
    silence = change_silence(silence.pk, wanted(reason="longer"), version=1, who=kim)
    assert silence.last_matched_at == NOON
    other = [{"name": "job", "op": "=", "value": "smoke"}]
    silence = change_silence(silence.pk, wanted(matchers=other), version=2, who=kim)
    assert silence.last_matched_at is None
    kinds = list(alerts()[0].events.values_list("kind", flat=True))
    assert kinds == ["raised", "silenced", "unsilenced"]
    change_silence(silence.pk, wanted(), version=3, who=kim)
    assert alerts()[0].events.last().kind == "silenced"  # type: ignore[union-attr]
    assert Silence.objects.get().last_matched_at == NOON


def test_who_saw_an_older_version_changes_and_ends_nothing(clock: object, kim: User) -> None:
    silence = make_silence(wanted(), who=kim)
    change_silence(silence.pk, wanted(reason="mine"), version=1, who=kim)
    with pytest.raises(SilenceConflict):
        change_silence(silence.pk, wanted(reason="yours"), version=1, who=kim)
    with pytest.raises(SilenceConflict):
        expire_silence(silence.pk, who=kim, version=1)
    assert Silence.objects.get().reason == "mine"
    assert values_at_version(silence.pk, 1).reason == "the disk is full"  # type: ignore[union-attr]
    assert values_at_version(silence.pk, 9) is None


def test_what_is_over_is_never_changed_and_ending_it_again_does_nothing(clock: object, kim: User) -> None:
    silence = make_silence(wanted(), who=kim)
    expire_silence(silence.pk, who=kim)
    again = expire_silence(silence.pk, who=kim, version=1)
    assert (again.version, again.expired_at) == (2, NOON)
    with pytest.raises(SilenceConflict, match="over"):
        change_silence(silence.pk, wanted(), version=2, who=kim)


def test_a_renamed_repository_stays_silenced_and_the_trail_says_why(clock: object, kim: User) -> None:
    world = AlertWorld(commits=6)
    world.column("unit", "SFFF")
    named = [{"name": "repository", "op": "=", "value": "brindle/kestrel"}, *UNIT]
    silence = make_silence(wanted(matchers=named), who=kim)
    rename_repository(repository=world.repository, full_name="brindle-labs/kestrel-ci")
    (alert,) = Alert.objects.select_related("branch__repository", "rule")
    assert [s.pk for s in silences_of(alert)] == [silence.pk]
    silence.refresh_from_db()
    assert silence.matchers[0]["value"] == "brindle-labs/kestrel-ci" and silence.version == 2
    assert AuditEntry.objects.filter(target=f"silence {silence.pk}").first().who == "HUD"  # type: ignore[union-attr]


# ── Breaks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_silence_breaks_where_an_alert_fires_again_for_another_cause(clock: object, kim: User) -> None:
    world = AlertWorld(commits=12)
    world.column("unit", "SFFF", line=SEEK)
    silence = make_silence(wanted(), who=kim)
    world.cell(5, "unit", "S")
    for number in (6, 7, 8):
        world.cell(number, "unit", "F", line=CLOSE)
    (alert,) = alerts()
    assert (alert.state, alert.episode) == ("firing", 2)
    assert [b.silence_id for b in alert.broken_silences.all()] == [silence.pk]
    assert silences_of(alert) == []


def test_a_silence_holds_on_where_an_alert_fires_again_for_the_same_cause(clock: object, kim: User) -> None:
    world = AlertWorld(commits=12)
    world.column("unit", "SFFF", line=SEEK)
    silence = make_silence(wanted(), who=kim)
    world.cell(5, "unit", "S")
    for number in (6, 7, 8):
        world.cell(number, "unit", "F", line=SEEK)
    (alert,) = alerts()
    assert alert.episode == 2
    assert [s.pk for s in silences_of(alert)] == [silence.pk]


def test_a_break_is_in_the_history_with_both_causes(clock: object, kim: User) -> None:
    world = AlertWorld(commits=6)
    world.column("unit", "SFFF", line=SEEK)
    silence = make_silence(wanted(), who=kim)
    world.cell(5, "unit", "F", line=CLOSE)
    item = silence_item(silence.pk)
    assert item is not None
    (broke,) = item.breaks
    assert broke.before and broke.after and broke.before != broke.after
    assert (item.hides.hidden, [a.pk for a in item.hides.broken]) == ((), [alerts()[0].pk])
    assert [line.what for line in silence_history(item)] == ["silence.broke", "silence.made"]


def test_a_silence_that_names_the_cause_says_too_that_it_broke(clock: object, kim: User) -> None:
    world = AlertWorld(commits=6)
    world.column("unit", "SFFF", line=SEEK)
    (alert,) = alerts()
    named = [{"name": "signature", "op": "=", "value": alert.signature}]
    silence = make_silence(wanted(matchers=named), who=kim)
    world.cell(5, "unit", "F", line=CLOSE)
    assert [b.silence_id for b in alert.broken_silences.all()] == [silence.pk]
    assert alerts()[0].events.last().kind == "unsilenced"  # type: ignore[union-attr]


# ── The end ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_until_it_resolves_ends_with_the_alert_and_not_with_a_break(clock: object, kim: User) -> None:
    world = AlertWorld(commits=8)
    world.column("unit", "SFFF", line=SEEK)
    silence = make_silence(wanted(until_resolved=True), who=kim)
    world.cell(5, "unit", "F", line=CLOSE)
    assert end_resolved_silences() == 0, "it broke, and stays to say so"
    world.cell(6, "unit", "S")
    assert end_resolved_silences() == 1
    silence.refresh_from_db()
    assert silence.expired_at == NOON
    assert AuditEntry.objects.get(what="silence.expired").who == "HUD"


def test_until_it_resolves_waits_for_an_alert_first(clock: object, kim: User) -> None:
    make_silence(wanted(until_resolved=True), who=kim)
    assert end_resolved_silences() == 0


def test_until_it_resolves_does_not_end_where_more_fires_than_is_looked_at(
    clock: object, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = AlertWorld(commits=8)
    world.column("docs", "SFFF")
    world.column("unit", "SFFF")
    make_silence(wanted(until_resolved=True), who=kim)
    for module in (silence_matching, silences):
        monkeypatch.setattr(module, "MOST_FIRING", 1)
    assert end_resolved_silences() == 0
    monkeypatch.undo()
    world.cell(5, "unit", "S")
    assert end_resolved_silences() == 1


# ── Reminders ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def mail_on() -> Any:
    with override_settings(SMTP_URL="smtp://mail.brindle.org", PUBLIC_URL="https://hud.brindle.org"):
        yield


@pytest.mark.usefixtures("mail_on")
def test_the_owner_is_reminded_once_for_each_end(clock: time_machine.Coordinates, kim: User) -> None:
    AlertWorld(commits=6).column("unit", "SFFF")
    silence = make_silence(wanted(), who=kim)
    assert remind_owners() == 0, "three quarters of it are still to come"
    clock.move_to(NOON + 3 * HOUR)
    assert [remind_owners(), remind_owners()] == [1, 0]
    (mail,) = Mail.objects.all()
    assert (mail.address, mail.kind) == ("kim@brindle.org", "owner")
    assert "ends in 60 min" in mail.subject or "ends in 1 h" in mail.subject
    assert f"https://hud.brindle.org/silences/{silence.pk}" in mail.text and "unit broken on main" in mail.text
    change_silence(silence.pk, wanted(reason="other words", ends_at=NOON + 4 * HOUR), version=1, who=kim)
    assert remind_owners() == 0, "the same end"
    change_silence(silence.pk, wanted(ends_at=NOON + 5 * HOUR, earliest=NOON), version=2, who=kim)
    assert Mail.objects.get().state == "cancelled", "it told of an end that is none any more"
    clock.move_to(NOON + timedelta(hours=4))
    assert remind_owners() == 1
    assert Mail.objects.filter(state="waiting").count() == 1


@pytest.mark.usefixtures("mail_on")
def test_who_moves_the_end_away_and_back_is_reminded_of_it_all_the_same(
    clock: time_machine.Coordinates, kim: User
) -> None:
    silence = make_silence(wanted(), who=kim)
    clock.move_to(NOON + 3.5 * HOUR)
    remind_owners()
    for version, hours in ((1, 9), (2, 4)):
        change_silence(silence.pk, wanted(ends_at=NOON + hours * HOUR, earliest=NOON), version=version, who=kim)
    assert remind_owners() == 1
    assert Mail.objects.get().state == "waiting"


@pytest.mark.parametrize("address", ["", "no address", "kim@brindle.org\nBcc: all@brindle.org"])
@pytest.mark.usefixtures("mail_on")
def test_an_owner_without_an_address_is_told_by_the_pages(
    clock: time_machine.Coordinates, kim: User, address: str
) -> None:
    User.objects.update(email=address)
    make_silence(wanted(issue_url="https://x.org/1"), who=kim)
    clock.move_to(NOON + 3.5 * HOUR)
    assert [remind_owners(), remind_owners()] == [1, 0]
    assert not Mail.objects.exists() and Silence.objects.get().reminded_at
    assert "ending" in [kind for kind, _ in debt_page().kinds]


@pytest.mark.usefixtures("mail_on")
def test_what_is_over_and_what_has_not_begun_reminds_nobody(clock: time_machine.Coordinates, kim: User) -> None:
    over = make_silence(wanted(), who=kim)
    expire_silence(over.pk, who=kim)
    make_silence(wanted(starts_at=NOON + 3 * HOUR, ends_at=NOON + 3.1 * HOUR), who=kim)
    clock.move_to(NOON + 2.9 * HOUR)
    assert remind_owners() == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("mail_on")
def test_two_workers_at_once_remind_once(clock: time_machine.Coordinates, kim: User) -> None:
    for _ in range(5):
        make_silence(wanted(), who=kim)
    clock.move_to(NOON + 3.5 * HOUR)
    together = Barrier(2)

    def work(_: int) -> int:
        try:
            together.wait()
            return remind_owners()
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(work, range(2))) == 5
    assert Mail.objects.count() == 5


@pytest.mark.usefixtures("mail_on")
def test_the_sweep_reminds_and_ends_and_goes_on(clock: time_machine.Coordinates, kim: User) -> None:
    AlertWorld(commits=6).column("unit", "SFFF")
    make_silence(wanted(until_resolved=True), who=kim)
    clock.move_to(NOON + 3.5 * HOUR)
    notify_due()
    assert Mail.objects.count() == 1
    clock.move_to(NOON + 4.5 * HOUR)
    notify_due()
    look_after_alerts()
    assert Mail.objects.count() == 1


# ── Debt ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_each_kind_of_debt_is_listed_with_its_silences(clock: time_machine.Coordinates, kim: User) -> None:
    AlertWorld(commits=6).column("unit", "SFFF")
    red = make_silence(wanted(ends_at=NOON + timedelta(days=12), issue_url="https://x.org/1"), who=kim)
    typo = make_silence(wanted(matchers=[{"name": "job", "op": "=", "value": "uint"}]), who=kim)
    long = make_silence(wanted(ends_at=NOON + timedelta(days=15), issue_url="https://x.org/2"), who=kim)
    calm = make_silence(wanted(issue_url="https://x.org/3"), who=kim)
    expire_silence(calm.pk, who=kim)
    kinds = {kind: [one.item.silence.pk for one in owed] for kind, owed in debt_page().kinds}
    assert kinds == {"never_matched": [typo.pk], "no_issue": [typo.pk], "too_long": [long.pk]}
    assert debt_count() == 2
    clock.move_to(NOON + timedelta(days=8))
    kinds = {kind: [one.item.silence.pk for one in owed] for kind, owed in debt_page().kinds}
    assert kinds == {"long_red": [red.pk, long.pk], "too_long": [long.pk]}


# ── Preview ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_preview_tells_what_fires_from_what_is_over(clock: object) -> None:
    world = AlertWorld(commits=8)
    world.column("unit", "SFFF")
    world.column("smoke", "SFFFS")
    hidden = hidden_by(wanted(matchers=[{"name": "job", "op": "=~", "value": "unit|smoke"}]).matchers)
    assert ([a.jobs for a in hidden.now], [a.jobs for a in hidden.past]) == ([["unit"]], [["smoke"]])
    assert hidden.hides_all and hidden.days == 14 and not hidden.stands_still
    assert len(hidden.lanes().bars) == 2
    assert not hidden_by(wanted().matchers).hides_all


def test_the_days_of_a_recording_end_with_its_newest_alert(clock: time_machine.Coordinates) -> None:
    AlertWorld(commits=8).column("smoke", "SFFFS")
    smoke = [{"name": "job", "op": "=", "value": "smoke"}]
    clock.move_to(NOON + timedelta(days=20))
    assert hidden_by(wanted(matchers=smoke).matchers).past == (), "a quiet month is no recording"
    clock.move_to(NOON + timedelta(days=400))
    hidden = hidden_by(wanted(matchers=smoke).matchers)
    assert len(hidden.past) == 1 and hidden.stands_still and hidden.until.date() == NOON.date()


# ── The trail ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hud_auditentry SET who = 'nobody'",
        "DELETE FROM hud_auditentry",
        "UPDATE hud_auditentry SET after = NULL",
    ],
)
def test_the_database_itself_keeps_the_trail_as_it_is(clock: object, kim: User, statement: str) -> None:
    make_silence(wanted(), who=kim)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    entry = AuditEntry.objects.get()
    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()
    assert AuditEntry.objects.get().who == "kim"


def test_no_page_of_the_application_can_edit_the_trail() -> None:
    """There is no Django admin, and no address takes an entry of the trail."""
    from django.conf import settings

    assert "django.contrib.admin" not in settings.INSTALLED_APPS
    names = {str(name) for name in get_resolver().reverse_dict if isinstance(name, str)}
    assert {name for name in names if "audit" in name} == {"audit"}


def test_each_change_tells_who_when_before_and_after(clock: time_machine.Coordinates, kim: User) -> None:
    silence = make_silence(wanted(), who=kim)
    lea = User.objects.create_user("lea")
    clock.move_to(NOON + HOUR)
    change_silence(silence.pk, wanted(reason="longer", earliest=NOON), version=1, who=lea)
    expire_silence(silence.pk, who=kim)
    record(kim, "silence.made", f"silence {silence.pk}0")  # another one whose number begins alike
    item = silence_item(silence.pk)
    assert item is not None
    lines = silence_history(item)
    assert [(line.who, line.what) for line in lines] == [
        ("kim", "silence.expired"), ("lea", "silence.changed"), ("kim", "silence.made"),
    ]  # fmt: skip
    changed = {change.label: (change.before, change.after) for change in lines[1].changes}
    assert changed["reason"] == ("the disk is full", "longer")
    assert lines[1].at == NOON + HOUR
