"""What is red, but not for long enough: shown, told to nobody, and equal to what a look at all cells finds."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hud.core.alerts.rules import MASS_FAILURE, RuleSpec
from hud.models import Alert, AlertRule, AlertSpan, Branch, OutboxMessage
from hud.queries.alert_pending import PendingAlert, pending_alerts
from hud.services.alert_rules import rules_of
from tests.services.alert_world import AlertWorld, at_commit, state_in_between

pytestmark = pytest.mark.django_db


def pending(world: AlertWorld) -> list[PendingAlert]:
    branch = Branch.objects.select_related("repository").get(repository=world.repository, name="main")
    return pending_alerts([branch], rules_of(world.repository))


def test_a_job_that_is_red_for_fewer_commits_than_the_rule_needs_is_pending() -> None:
    world = AlertWorld(commits=8)
    world.column("unit", "SFCF", line="FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2")
    world.column("lint", "SFFS")
    (found,) = pending(world)
    assert (found.jobs, found.length, found.waits_for) == (("unit",), 2, "1 commit more")
    assert (found.first_bad, found.last_good) == (at_commit(2), at_commit(1))
    assert found.line.startswith("FAILED tests/test_io.py::test_seek")
    assert "Failure_Threshold=3" in found.reason and found.title == "unit broken on main for 2 commits"
    assert not Alert.objects.exists() and not OutboxMessage.objects.exists()


def test_what_fires_is_not_pending_also_while_it_waits_for_more_green_commits() -> None:
    world = AlertWorld(commits=8)
    spec = RuleSpec(threshold=2, resolve_after=2)
    AlertRule.objects.filter(pk__in=[r.pk for r in rules_of(world.repository)]).update(enabled=False)
    AlertRule.objects.create(repository=world.repository, name="two", spec=spec.stored())
    world.column("unit", "SFFSF")
    assert Alert.objects.get().state == "firing" and pending(world) == []
    world.column("unit", "SSF", start=6)
    assert [p.first_bad for p in pending(world)] == [at_commit(8)]


def test_a_red_cell_that_does_not_count_is_not_pending() -> None:
    world = AlertWorld(commits=4)
    world.column("unit", "SF", line="curl: (6) Could not resolve host: mirror.example.com")
    assert [p.spec.kind for p in pending(world)] == []


def test_a_mass_failure_is_pending_until_its_last_commit() -> None:
    world = AlertWorld(commits=5)
    for n in range(6):
        world.column(f"job {n}", "SFF")
    (mass,) = [p for p in pending(world) if p.spec.kind == MASS_FAILURE]
    assert (len(mass.jobs), mass.length, mass.job_ids) == (6, 2, ())
    assert "Job_Threshold=6" in mass.reason


def test_it_takes_the_same_number_of_statements_for_many_jobs(django_assert_num_queries: Any) -> None:
    world = AlertWorld(commits=6)
    branch = Branch.objects.select_related("repository").get(repository=world.repository)
    rules = rules_of(world.repository)
    world.column("unit", "SF")
    with django_assert_num_queries(6):
        assert len(pending_alerts([branch], rules)) == 1
    for n in range(4):
        world.column(f"job {n}", "SFF")
    with django_assert_num_queries(6):
        assert len(pending_alerts([branch], rules)) == 5


def test_pending_ones_are_on_the_page_and_in_the_api(client: Client) -> None:
    world = AlertWorld(commits=6)
    world.column("unit <b>", "SFF")
    page = client.get("/alerts?state=pending").content.decode()
    assert 'data-state="pending"' in page and "unit &lt;b&gt; broken on main for 2 commits" in page
    assert "1 commit more" in page
    (item,) = client.get("/api/v1/alerts?state=pending").json()["items"]
    assert (item["id"], item["state"], item["jobs"], item["length"]) == (None, "pending", ["unit <b>"], 2)
    assert item["url"].endswith(f"/job/{world.repository.jobs.get().pk}?branch=main")
    for other in ("state=firing", "", "state=pending&priority=P1", "state=pending&rule=mass failure"):
        assert client.get(f"/api/v1/alerts?{other}").json()["items"] == []
    assert client.get("/api/v1/alerts?state=pending&repository=brindle/kestrel&branch=main").json()["items"]


def red_at_the_end(letters: list[str], threshold: int) -> int:
    """Count by hand: red commits since the last green one, if they are fewer than the threshold."""
    count = 0
    for letter in reversed(letters):
        if letter == "S":
            break
        count += letter in "FT"
    return count if count < threshold else 0


_COLUMNS = st.lists(st.text(alphabet="SFTCKPQ.", min_size=6, max_size=6), min_size=2, max_size=3)


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(_COLUMNS, st.randoms(use_true_random=False))
def test_whatever_the_order_of_results_pending_is_what_a_count_by_hand_finds(columns: list[str], random: Any) -> None:
    names = ["unit (a, 1, 2, linux)", "unit (a, 2, 2, linux)", "lint"]

    def work() -> tuple[dict[str, int], dict[str, int]]:
        world = AlertWorld(commits=6)
        results = [(n, name, letter) for name, letters in zip(names, columns, strict=False)
                   for n, letter in enumerate(letters, 1)]  # fmt: skip
        random.shuffle(results)
        for number, name, letter in results:
            world.cell(number, name, letter)
        found = {p.jobs[0]: p.length for p in pending(world) if p.spec.kind != MASS_FAILURE}
        for span in AlertSpan.objects.filter(resolved=None):
            assert span.shown not in found
        return found, by_hand(columns)

    def by_hand(columns: list[str]) -> dict[str, int]:
        merged = [
            "F" if "F" in pair or "T" in pair else "S" if "S" in pair else "."
            for pair in zip(*columns[:2], strict=True)
        ]
        counts = {"unit (a)": red_at_the_end(merged, 3)}
        counts |= {"lint": red_at_the_end(list(columns[2]), 3)} if len(columns) > 2 else {}
        return {name: count for name, count in counts.items() if count}

    found, expected = state_in_between(work)
    assert found == expected


def test_the_dashboard_is_the_jobs_history_or_that_of_its_group(client: Client) -> None:
    world = AlertWorld(commits=6)
    rules_of(world.repository)
    AlertRule.objects.create(
        repository=world.repository, name="by group", spec=RuleSpec(by="group", priority="P3").stored()
    )
    world.column("unit", "SFFF")
    links = {a["rule"]: a["dashboard"] for a in client.get("/api/v1/alerts").json()["items"]}
    job = world.repository.jobs.get()
    assert links["broken job"].endswith(f"/brindle/kestrel/job/{job.pk}?branch=main")
    assert "/brindle/kestrel/main?open=" in links["by group"]
    assert {client.get(link.removeprefix("http://testserver")).status_code for link in links.values()} == {200}
    page = client.get(f"/alerts/{Alert.objects.get(rule__name='by group').pk}").content.decode()
    assert "/brindle/kestrel/main?open=" in page
