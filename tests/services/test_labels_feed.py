"""Every number that counts verdicts follows a person's label, and goes back when the label is undone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client

from hud.core.junit import read_junit
from hud.models import Branch, Commit, Job, Repository, Run
from hud.queries.flakypage import flaky_jobs, flaky_tests, window_of
from hud.queries.job import job_page
from hud.queries.pull import pull_page
from hud.queries.pulls import listed_pulls
from hud.queries.status import trunk_status
from hud.queries.suspects import hunt_at
from hud.queries.viable import newest_page
from hud.services.comment import draft_of
from hud.services.junit import ingest_reports
from hud.services.labels import set_label, undo_label
from tests.factories import NOON, Trunk, make_trunk
from tests.services.alert_world import START, AlertWorld, alerts, at_commit
from tests.services.verdict_world import JOBS, breaks, fails, judge_all, open_pull, passes

pytestmark = pytest.mark.django_db
API = "/api/v1/repositories/brindle/kestrel"
Reading = Callable[[], Any]


@pytest.fixture
def kim() -> User:
    return User.objects.create_user("kim")


def moves(read: Reading, kim: User, commit: Commit, job: Job, label: str, expected: Any, before: Any = None) -> None:
    """The reading says `expected` while the label holds, and what it said before once it is undone."""
    was = read()
    assert before is None or was == before
    assert was != expected
    word = set_label(who=kim, repository=commit.repository, commit=commit, job=job, label=label, reason="I looked.")
    assert read() == expected
    undo_label(who=kim, word=word)
    assert read() == was


def on_trunk(picture: str) -> Trunk:
    """A trunk whose first job is red where the picture says X, oldest first, judged as ingest does."""
    trunk = make_trunk(["..."] * len(picture), JOBS, with_cells=True)
    for commit, sign in zip(trunk.commits, picture, strict=True):
        if sign == "X":
            breaks(commit, trunk)
        if sign == "F":
            fails(commit, trunk)
            passes(commit, trunk)
    return trunk


def branch_of(trunk: Trunk) -> Branch:
    """The branch with its version of now."""
    return Branch.objects.select_related("repository").get(pk=trunk.branch.pk)


# ── Trunk ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.usefixtures("now")
class TestOnTrunk:
    def job(self, trunk: Trunk) -> Any:
        jobs = flaky_jobs(branch_of(trunk), window_of(trunk.repository, 30), 1).jobs
        return next((job for job in jobs if job.job_id == trunk.jobs[0].pk), None)

    def test_the_verdict_split_of_a_flaky_job(self, kim: User) -> None:
        trunk = on_trunk("..F..X..")

        def split() -> Any:
            return dict(self.job(trunk).verdicts)

        moves(split, kim, trunk.commits[5], trunk.jobs[0], "flaky", {"flaky": 2}, before={"flaky": 1, "regression": 1})

    def test_a_red_on_one_commit_alone_is_no_flip_where_a_person_says_regression(self, kim: User) -> None:
        trunk = on_trunk("..X..X..")

        def flips() -> Any:
            return (self.job(trunk).short_reds, self.job(trunk).flips, self.job(trunk).samples)

        moves(flips, kim, trunk.commits[2], trunk.jobs[0], "regression", (1, 1, 8), before=(2, 2, 8))
        moves(flips, kim, trunk.commits[2], trunk.jobs[0], "infra", (1, 1, 8))

    def test_a_person_who_does_not_know_takes_no_flip_away(self, kim: User) -> None:
        trunk = on_trunk("..X..X..")
        commit, job, repository = trunk.commits[2], trunk.jobs[0], trunk.repository
        set_label(who=kim, repository=repository, commit=commit, job=job, label="unknown", reason="No idea.")
        assert self.job(trunk).flips == 2

    def test_a_red_within_a_streak_is_a_flip_where_a_person_says_flaky(self, kim: User) -> None:
        trunk = on_trunk("..XX....")

        def flips() -> Any:
            found = self.job(trunk)
            return (found.called, found.flips) if found else None

        moves(flips, kim, trunk.commits[3], trunk.jobs[0], "flaky", (1, 1))

    def test_a_healed_commit_is_no_flip_where_a_person_says_regression(self, kim: User) -> None:
        trunk = on_trunk("..F..F..")

        def healed() -> Any:
            return self.job(trunk).healed

        moves(healed, kim, trunk.commits[2], trunk.jobs[0], "regression", 1, before=2)

    def test_the_verdict_split_of_a_flaky_test(self, kim: User) -> None:
        trunk = on_trunk("...X")
        run = Run.objects.get(commit=trunk.commits[3], job=trunk.jobs[0], conclusion="failure")
        Run.objects.filter(pk=run.pk).update(started_at=NOON - timedelta(hours=1))
        case = "<testcase classname='a.B' name='t'><flakyFailure message='late'/></testcase>"
        ingest_reports(run=run, reports=[read_junit([f"<testsuite>{case}</testsuite>".encode()])])

        def split() -> Any:
            (test,) = flaky_tests(trunk.repository, window_of(trunk.repository, 30), "", 1).tests
            return dict(test.verdicts)

        moves(split, kim, trunk.commits[3], trunk.jobs[0], "infra", {"infra": 1})

    def test_the_flake_rate_behind_the_suspects(self, kim: User) -> None:
        trunk = on_trunk("..X..X")

        def rate() -> Any:
            hunt = hunt_at(branch_of(trunk), trunk.jobs[0], 5)
            return (hunt.flakes.flips, hunt.flakes.samples) if hunt else None

        moves(rate, kim, trunk.commits[2], trunk.jobs[0], "flaky", (1, 6), before=(0, 6))

    def test_the_flake_rate_leaves_out_a_healed_commit_that_a_person_calls_a_regression(self, kim: User) -> None:
        trunk = on_trunk("..F..X")

        def rate() -> Any:
            hunt = hunt_at(branch_of(trunk), trunk.jobs[0], 5)
            return (hunt.flakes.flips, hunt.flakes.samples) if hunt else None

        moves(rate, kim, trunk.commits[2], trunk.jobs[0], "regression", (0, 6), before=(1, 6))

    def test_the_status_sentence_leaves_out_a_streak_that_is_called_flaky(self, kim: User) -> None:
        trunk = on_trunk("...X")

        def streaks() -> Any:
            page = newest_page(branch_of(trunk))
            return trunk_status(branch_of(trunk), page.newest, page.streaks, page.blocking, page.may_skip).streaks

        moves(streaks, kim, trunk.commits[3], trunk.jobs[0], "flaky", 0, before=1)

    def test_the_counts_of_a_jobs_page(self, kim: User) -> None:
        trunk = on_trunk("..F.")

        def counts() -> Any:
            page = job_page(branch_of(trunk), trunk.jobs[0])
            return (page.counts.passed, page.counts.flaky)

        moves(counts, kim, trunk.commits[2], trunk.jobs[0], "regression", (4, 0), before=(3, 1))

    @pytest.mark.parametrize("label", ["flaky", "infra", "unstable", "broken_trunk"])
    def test_grid_commit_run_jobs_and_failures_by_the_api(self, client: Client, kim: User, label: str) -> None:
        trunk = on_trunk("...X")
        red = trunk.commits[3]
        run = Run.objects.get(commit=red, job=trunk.jobs[0], conclusion="failure").external_id

        def told() -> Any:
            grid = client.get(f"{API}/branches/main/grid").json()["rows"][0]["cells"]
            cells = client.get(f"{API}/commits/{red.sha}").json()["cells"]
            one = client.get(f"{API}/runs/{run}").json()
            failures = client.get("/api/v1/failures").json()["items"]
            return {
                *(cell["verdict"] for cell in [*grid, *cells] if cell["run"] == run),
                *(one["verdict"], one["judged"]["verdict"]),
                *(failure["verdict"] for failure in one["failures"]),
                *(seen["verdict"] for item in failures for seen in item["newest"]),
                *(job["verdict"] for job in client.get(f"{API}/jobs").json() if job["name"] == "unit (1)"),
            }

        moves(told, kim, red, trunk.jobs[0], label, {label}, before={"regression"})


# ── Alerts ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_rule_counts_the_cells_that_people_call_breakage(kim: User) -> None:
    with time_machine.travel(START, tick=False):
        world = AlertWorld(commits=8)
        world.column("unit", "SFFF", line="FAILED test_a.py::test_b - assert 1 == 2")

        def firing() -> Any:
            return [alert.jobs for alert in alerts() if alert.state == "firing"]

        repository: Repository = world.repository
        commit = repository.commits.get(sha=at_commit(3))
        for label in ("flaky", "infra", "unstable"):
            moves(firing, kim, commit, repository.jobs.get(name="unit"), label, [], before=[["unit"]])


# ── Pull requests ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.usefixtures("now")
class TestOnAPullRequest:
    @pytest.fixture
    def trunk(self) -> Trunk:
        return on_trunk("....")

    @pytest.fixture
    def head(self, trunk: Trunk) -> Commit:
        commit = open_pull(trunk)
        fails(commit, trunk)
        fails(commit, trunk, job=1, line="error: no such file", category="build")
        judge_all()
        return commit

    def test_the_gate_excuses_what_a_person_calls_flaky(
        self, client: Client, kim: User, trunk: Trunk, head: Commit
    ) -> None:
        def gate() -> Any:
            told = client.get(f"{API}/pulls/7/gate").json()
            return (len(told["blocking"]), told["excused_count"], [one["labelled_by"] for one in told["excused"]])

        moves(gate, kim, head, trunk.jobs[0], "flaky", (1, 1, ["kim"]), before=(2, 0, []))

    def test_headline_list_comment_and_check_run_say_it(self, kim: User, trunk: Trunk, head: Commit) -> None:
        def sentences() -> Any:
            page = pull_page(trunk.repository, 7)
            assert page and page.state
            draft = draft_of(trunk.repository, page)
            assert draft
            (listed,) = listed_pulls(trunk.repository)
            sentence = page.state.sentence
            assert sentence in draft.comment and sentence in draft.check_run["output"]["title"]
            return {sentence, listed.words}

        before = {"2 failures are yours."}
        moves(sentences, kim, head, trunk.jobs[0], "infra", {"1 failure is yours, 1 needs a rerun."}, before=before)

    def test_the_verdict_split_of_a_test_that_failed_there(self, kim: User, trunk: Trunk, head: Commit) -> None:
        run = Run.objects.get(commit=head, job=trunk.jobs[0])
        Run.objects.filter(pk=run.pk).update(started_at=NOON - timedelta(hours=1))
        case = "<testcase classname='a.B' name='t'><flakyFailure message='late'/></testcase>"
        ingest_reports(run=run, reports=[read_junit([f"<testsuite>{case}</testsuite>".encode()])])
        judge_all()

        def split() -> Any:
            (test,) = flaky_tests(trunk.repository, window_of(trunk.repository, 30), "-", 1).tests
            return dict(test.verdicts)

        moves(split, kim, head, trunk.jobs[0], "broken_trunk", {"broken_trunk": 1})
