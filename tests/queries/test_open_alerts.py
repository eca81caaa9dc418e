"""What a branch's banners show is remembered, and is what would be read anew after whatever happened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hud.models import Alert, AlertRule, Branch
from hud.queries.alerts import open_alerts
from hud.queries.remembered import forget_all
from hud.services.acknowledge import acknowledge, take_back_acknowledgement
from hud.services.silences import check, expire_silence, make_silence
from tests.services.alert_world import AlertWorld, alerts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SEEK = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
CLOSE = "FAILED tests/test_net.py::test_close - KeyError: 'port'"


def _shown(branch: Branch) -> list[tuple[object, ...]]:
    return [
        (
            item.alert.pk,
            item.alert.title,
            item.alert.priority,
            item.alert.inhibited_by_id,
            item.acknowledged and item.acknowledged.who,
            [(silence.pk, silence.reason) for silence in item.silenced_by],
            item.broken_by,
            item.spec.runbook_url,
            [mention.sha for mention in item.suspects],
        )
        for item in open_alerts(branch)
    ]


def _silence(who: User, job: str, *, starts: datetime, hours: int) -> Any:
    matchers = [{"name": "job", "op": "=", "value": job}]
    wanted = check(matchers=matchers, starts_at=starts, ends_at=starts + hours * HOUR, reason="known")
    return make_silence(wanted, who=who)


def _set_runbook() -> None:
    for rule in AlertRule.objects.all():
        rule.spec = {**rule.spec, "runbook_url": "https://brindle.org/runbook"}
        rule.save()


def test_whatever_happens_the_banners_are_those_that_would_be_read_anew() -> None:
    kim = User.objects.create_user("kim")
    with time_machine.travel(NOON, tick=False) as clock:
        world = AlertWorld()
        world.column("unit", "SFFFF", line=SEEK)
        world.column("lint", "SFFF", line=CLOSE)
        first = alerts()[0]
        silence = _silence(kim, "lint", starts=NOON, hours=2)
        steps: list[Callable[[], object]] = [
            lambda: acknowledge(first.pk, who=kim),
            lambda: take_back_acknowledgement(first.pk, who=kim),
            lambda: _silence(kim, "unit", starts=NOON + HOUR, hours=1),
            lambda: clock.shift(1.5 * HOUR),  # the second silence has begun
            lambda: expire_silence(silence.pk, who=kim),
            lambda: world.cell(6, "unit", "F", line=CLOSE),  # another cause breaks a silence
            _set_runbook,
            lambda: clock.shift(2 * HOUR),  # nothing is silenced any more, nor would be
            lambda: world.cell(5, "lint", "F", line=CLOSE),
            lambda: Alert.objects.filter(pk=first.pk).update(priority="P1", inhibited_by=alerts()[1]),
            lambda: [world.cell(n, "unit", "S") for n in (7, 8, 9)],  # resolved
        ]
        seen = []
        for step in (lambda: None, *steps):
            step()
            branch = Branch.objects.get(repository=world.repository, name="main")
            told = _shown(branch)
            forget_all()
            assert told == _shown(branch)
            seen.append(told)
    changed = [before != after for before, after in pairwise(seen)]
    assert changed == [True, True, False, True, True, True, True, True, True, True, True]


def test_where_nothing_is_new_one_statement_is_asked() -> None:
    world = AlertWorld()
    world.column("unit", "SFFFF", line=SEEK)
    branch = Branch.objects.get(repository=world.repository, name="main")
    open_alerts(branch)
    with CaptureQueriesContext(connection) as captured:
        assert len(open_alerts(branch)) == 1
    assert len(captured) == 1
