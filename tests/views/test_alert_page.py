"""One alert's page: suspects in order, notes, what fixed it and its likes, the way to the log, the review."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hud.models import Alert, AlertEvent, Commit, Job, Repository
from hud.queries.remembered import forget_all
from hud.queries.silence_matching import labels_of, matchers_for
from hud.queries.silence_preview import hidden_by
from hud.services.alert_rules import rules_of
from tests.factories import NOON
from tests.services.alert_world import AlertWorld, alerts, at_commit
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
RED = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"


def body_of(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, answer.content[:2000]
    return answer.content.decode()


def name_commit(number: int, **fields: object) -> None:
    Commit.objects.filter(sha=at_commit(number)).update(**fields)


@pytest.fixture
def world() -> AlertWorld:
    return AlertWorld(commits=40)


def test_suspects_are_ranked_with_reasons_and_the_chance_of_none(client: Client, world: AlertWorld) -> None:
    name_commit(2, files=["README.md"], author_name="Bo")
    name_commit(3, files=["src/io.py", "tests/test_io.py"], author_name="Ana")
    world.column("unit", "S.FFF", line=RED)
    body = body_of(client, f"/alerts/{alerts()[0].pk}")
    listed = body[body.index('class="suspects"') : body.index("nobody&#x27;s commit") if "&#x27;s" in body else None]
    assert listed.index(at_commit(3)[:7]) < listed.index(at_commit(2)[:7])
    assert "(<bdi>Ana</bdi>)" in listed and re.search(r"\d+ %</span>", listed)
    assert f"/-/why/{at_commit(3)}/" in body


def test_an_alert_says_all_that_the_design_lists(client: Client, world: AlertWorld) -> None:
    rule = rules_of(world.repository)[0]
    spec = {
        **rule.spec,
        "team": "io",
        "runbook_url": "https://runbook.company.com/io",
        "description": "Core <b>job</b>",
    }
    type(rule).objects.filter(pk=rule.pk).update(spec=spec)
    world.column("unit", "SFFF", line=RED)
    body = body_of(client, f"/alerts/{alerts()[0].pk}")
    names = ("Occurred at", "State", "Team", "Priority", "Description", "Reason", "Runbook", "Dashboard", "View")
    for name in (*names, "Silence", "First bad", "Last good", "Suspects", "Failure line"):
        assert f"<dt>{name}</dt>" in body, name
    assert "Core &lt;b&gt;job" in body and "https://runbook.company.com/io" in body
    assert f"http://127.0.0.1:8000/alerts/{alerts()[0].pk}" in body


def test_the_failure_line_leads_to_its_place_in_the_log(client: Client, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    (alert,) = alerts()
    assert f'href="/brindle/kestrel/run/{alert.line_run}?lines=1#L1"' in body_of(client, f"/alerts/{alert.pk}")


def test_the_strip_draws_the_streak_as_the_grid_does(client: Client, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    world.cell(5, "unit", "F", line="FAILED tests/test_net.py::test_x - ValueError: other")
    body = body_of(client, f"/alerts/{alerts()[0].pk}")
    strip = body[body.index('class="strip"') : body.index("</section>", body.index('class="strip"'))]
    assert re.findall(r'data-streak="(\w+)"', strip) == ["start", "mid", "mid", "change"]


def test_a_long_streak_shows_its_begin_and_its_newest_commits(client: Client) -> None:
    world = AlertWorld(commits=90)
    world.column("unit", "SFFF", line=RED)
    world.cell(90, "unit", "F", line=RED)
    body = body_of(client, f"/alerts/{alerts()[0].pk}")
    strip = body[body.index('class="strip"') : body.index("</section>", body.index('class="strip"'))]
    assert strip.count("<a ") == 60 and "… 30 more …" in strip
    assert at_commit(1)[:7] in strip and at_commit(90)[:7] in strip


def test_what_fixed_it_and_its_likes_is_named(world: AlertWorld, settings: Any) -> None:
    settings.ALERT_REOPEN_S = 0
    name_commit(5, title="Close the file (#77)", author_name="Ana", pull_number=77)
    world.column("unit", "SFFFS", line=RED)
    kim = signed_in("on-call")
    first = alerts()[0]
    kim.post(f"/alerts/{first.pk}/note", {"note": "the handle leaked", "fix": "1"})
    kim.post(f"/alerts/{first.pk}/note", {"note": "only chatter"})
    body = body_of(kim, f"/alerts/{first.pk}")
    assert "<dt>Fixed with</dt>" in body and "Close the file" in body and 'href="/brindle/kestrel/pull/77"' in body
    assert body.count("what fixed it</b>") == 1
    world.column("unit", "FFF", start=20, line=RED)
    second = alerts()[-1]
    assert second.pk != first.pk
    body = body_of(kim, f"/alerts/{second.pk}")
    past = body[body.index(f'data-past="{first.pk}"') :]
    assert "the same cause" in past and "Close the file" in past and "#77" in past and "the handle leaked" in past
    assert "only chatter" not in past
    review = body_of(kim, f"/alerts/{second.pk}/review.md")
    assert "## Similar before" in review and "Close the file" in review and "the handle leaked" in review
    review = body_of(kim, f"/alerts/{first.pk}/review.md")
    assert "- Green again with" in review and "- kim\\: the handle leaked" in review and "**note** by kim" in review


def test_likes_of_the_same_cause_come_before_those_of_the_same_job(client: Client, world: AlertWorld) -> None:
    world.column("unit", "SFFFS", line=RED)
    world.column("soak", "SFFFS", line="FAILED tests/test_net.py::test_x - ValueError: other", start=8)
    first, second = alerts()
    Alert.objects.filter(pk=first.pk).update(job_keys=[*second.job_keys, *first.job_keys])
    Alert.objects.create(
        id=0,
        rule=first.rule,
        branch=first.branch,
        kind=first.kind,
        state="resolved",
        priority="P2",
        title="an old one",
        reason="",
        signature=second.signature,
        occurred_at=NOON - timedelta(days=9),
    )
    body = body_of(client, f"/alerts/{second.pk}")
    assert re.findall(r'data-past="(\d+)"', body) == ["0", str(first.pk)]


def test_the_list_finds_words_of_titles_lines_and_jobs(client: Client, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    world.column("soak", "SFFF", line="FAILED tests/test_net.py::test_x - ValueError: 100% lost_it")
    by_job = {alert.jobs[0]: alert.pk for alert in alerts()}

    def found(text: str) -> set[int]:
        body = client.get("/alerts", {"text": text}).content.decode()
        return {int(pk) for pk in re.findall(r'data-alert="(\d+)"', body)}

    assert found("UNI") == {by_job["unit"]} and found("test_net") == {by_job["soak"]}
    assert found("100% lost_it") == {by_job["soak"]} and found("nothing like it") == set()
    assert found("\x00") == set()


def test_the_list_offers_what_there_is_and_pages_both_ways(client: Client, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    (alert,) = alerts()
    rows = [
        Alert(
            rule=alert.rule,
            branch=alert.branch,
            kind=alert.kind,
            state="resolved",
            priority="P2",
            title=f"t{i}",
            reason="",
        )
        for i in range(70)
    ]
    Alert.objects.bulk_create(rows)
    body = body_of(client, "/alerts?state=resolved")
    assert '<option value="brindle/kestrel">' in body and f'<option value="{alert.rule.name}">' in body
    older = re.search(r'rel="next" href="([^"]+)"', body)
    assert older
    with CaptureQueriesContext(connection) as captured:
        page = body_of(client, "/alerts" + older[1].replace("&amp;", "&"))
    assert page.count('data-state="resolved"') == 20 and "← newest" in page
    with CaptureQueriesContext(connection) as first:
        body_of(client, "/alerts?state=resolved")
    assert abs(len(first) - len(captured)) <= 1


def test_the_page_costs_the_same_for_many_likes_notes_and_commits(client: Client, world: AlertWorld) -> None:
    with connection.cursor() as cursor:  # leaves room for older ones
        cursor.execute("SELECT setval(pg_get_serial_sequence('hud_alert', 'id'), 5000)")
    world.column("unit", "SFFF", line=RED)
    (alert,) = alerts()
    path = f"/alerts/{alert.pk}"
    body_of(client, path)
    forget_all()
    with CaptureQueriesContext(connection) as few:
        body_of(client, path)
    for i in range(6):
        past = Alert.objects.create(
            id=i + 1,
            rule=alert.rule,
            branch=alert.branch,
            kind=alert.kind,
            state="resolved",
            priority="P2",
            title=f"t{i}",
            reason="",
            signature=alert.signature,
            resolved_at_sha=at_commit(i + 1),
        )
        for pk in (past.pk, alert.pk):
            AlertEvent.objects.create(alert_id=pk, kind="note", who="kim", text="x", data={"fix": True})
    world.column("unit", "F" * 20, start=5, line=RED)
    forget_all()
    with CaptureQueriesContext(connection) as many:
        body_of(client, path)
    assert len(many) <= len(few) + 1
    assert len(many) <= 45


def test_who_may_not_sees_the_buttons_explained(client: Client, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    path = f"/alerts/{alerts()[0].pk}"
    signed_in("admin", name="root")
    for visitor in (client, signed_in("viewer", name="vera")):
        body = body_of(visitor, path)
        assert 'disabled aria-describedby="ack-why"' in body and 'disabled aria-describedby="silence-why"' in body
        assert "root" in body and "/acknowledge" not in body


def test_a_banner_of_another_branch_leads_to_commits_on_it(client: Client, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    assert f'href="/brindle/kestrel/commit/{at_commit(2)}"' in body_of(client, "/brindle/kestrel/main")
    Repository.objects.update(default_branch="trunk")
    assert f'href="/brindle/kestrel/commit/{at_commit(2)}?branch=main"' in body_of(client, "/brindle/kestrel/main")


def test_a_job_in_shards_leads_to_the_history_of_the_one_that_broke(client: Client, world: AlertWorld) -> None:
    for number in range(1, 5):
        for shard in (1, 2):
            broken = shard == 2 and number > 1
            world.cell(number, f"test (default, {shard}, 2, linux)", "F" if broken else "S", line=RED if broken else "")
    (alert,) = alerts()
    red = Job.objects.get(name="test (default, 2, 2, linux)")
    assert f'href="/brindle/kestrel/job/{red.pk}?branch=main"' in body_of(client, f"/alerts/{alert.pk}")


def test_what_a_silence_would_hide_is_counted_among_alerts_alike(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.column("unit", "SFFFSSSS", line=RED)
    world.column("unit", "SFFF", start=20)
    for name in ("docs", "lint", "smoke"):
        world.column(name, "SFFF", start=20)
    world.column("build", "SFFF", line=RED, start=30)
    world.column("wheel", "SFFF", line=RED, start=30)
    looked_at: list[int] = []

    def noted(alert: Alert) -> list[dict[str, str]]:
        looked_at.append(alert.pk)
        return labels_of(alert)

    kim = signed_in("admin")
    for alert in (one for one in alerts() if one.state == "firing"):
        everywhere = hidden_by(matchers_for(alert))
        with monkeypatch.context() as patch:
            looked_at.clear()
            patch.setattr("hud.queries.silence_preview.labels_of", noted)
            body = body_of(kim, f"/alerts/{alert.pk}")
        assert set(looked_at) == {one.pk for one in (*everywhere.now, *everywhere.past)}
        words = f"Hides {len(everywhere.now)} alert{'s' * (len(everywhere.now) != 1)} now, and would have hidden"
        assert f"{words} {len(everywhere.past)} in 14 days" in body
