"""A trunk under load: streaks open and close, two workers, one of them killed half-way; nothing is lost or told twice.

The whole of it, with 10,000 events and 200 streaks, is `python -m bench alerts`, which judges in the same way.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from bench.alert_load import FULL_NAME, Plan, commits_of, delivery_of, judge, payload_of, receiver
from hud.core.facts import Facts, HeadFact
from hud.core.github import facts_of
from hud.models import Alert, AlertEvent, DeliveryAttempt, InboxItem, OutboxMessage
from hud.services.ingest import apply_facts
from hud.services.repositories import ensure_repository
from hud.services.targets import Manner, save_target
from hud.tasks import notify_due, sweep
from tests.conftest import wait_for
from tests.fakes.cases import deliver

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.django_db(transaction=True)]
PLAN = Plan(jobs=10, streaks_a_job=2)
# Without those who fetch logs: the tests' GitHub answers nobody.
THREADS = ("--pool", "threads", "--concurrency", "4", "--queues", "ingest,notify")
VARIABLES = {"NOTIFY_HOSTS": "127.0.0.1", "NOTIFY_RETRY_FIRST_S": "1"}


def _follow() -> None:
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=990)
    commits = commits_of(PLAN)
    apply_facts(repository=repository, facts=facts_of("rest.commits", {"items": commits}))
    apply_facts(repository=repository, facts=Facts(heads=[HeadFact("main", commits[0]["sha"])]))


class _Scheduler:
    """Sends what the scheduler sends, not more often than it does, while somebody waits."""

    def __init__(self) -> None:
        self.last = 0.0

    def is_done(self) -> bool:
        if time.monotonic() - self.last > 2:
            self.last = time.monotonic()
            sweep.delay()
            notify_due.delay()
        waiting = OutboxMessage.objects.filter(state="waiting").exclude(target__name="nobody")
        events = InboxItem.objects.filter(state="waiting")
        return not (events.exists() or waiting.exists() or Alert.objects.exclude(state="resolved").exists())


def test_with_a_worker_killed_half_way_each_alert_is_raised_once_and_told_once_or_marked(
    start_worker: Callable[..., subprocess.Popen[bytes]], client: Client, settings: object
) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]  # type: ignore[attr-defined]
    _follow()
    who = User.objects.create_user("kim")
    with receiver(answer_after_s=0.01) as each, receiver() as several:
        for name, url in (("each", each.url), ("several", several.url), ("nobody", "http://127.0.0.1:9/")):
            manner = Manner(together=name == "several")
            save_target(name=name, kind="webhook", config={"url": url}, who=who, manner=manner)
        first = start_worker(*THREADS, name="first", **VARIABLES)
        start_worker(*THREADS, name="second", **VARIABLES)
        events = list(PLAN.events())
        for number, event in enumerate(events):
            if number == len(events) // 2:
                first.kill()
            body = json.dumps(payload_of(event)).encode()
            assert deliver(client, "workflow_job", body, delivery=delivery_of(event)).status_code == 202
        wait_for(_Scheduler().is_done, "all events are taken in and all is told", limit_s=240)

    alerts = {(alert.jobs[0], alert.first_bad): alert for alert in Alert.objects.all()}
    assert alerts.keys() == PLAN.expected()
    assert AlertEvent.objects.filter(kind="raised").count() == len(alerts) == PLAN.streaks
    assert AlertEvent.objects.filter(kind="resolved").count() == PLAN.streaks
    # What breaks and is mended within one batch of events is in the list of alerts, and nobody is told of it.
    wanted = {alert.pk for alert in alerts.values() if alert.told_episode}
    assert wanted, "most of it is told"
    for name, target in (("each", each), ("several", several)):
        assert judge(wanted, target.got, name).wrong == []
    marked = DeliveryAttempt.objects.filter(repeat=True, message__target__name="each").count()
    assert marked == sum(one.repeat for one in each.got)
