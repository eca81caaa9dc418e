"""The invented pull requests: the same at every look, in GitHub's shapes, one of each kind of trouble."""

from __future__ import annotations

from hud.core.github import facts_of
from hud.synthetic import SyntheticPulls, SyntheticRepository
from hud.synthetic.pulls import BASE, SyntheticJob

NOW_S = 1_796_040_000


def repository(**given: int | float) -> SyntheticRepository:
    values = {"now_s": NOW_S, "commits": 30, "jobs": 60} | given
    return SyntheticRepository("demo/kestrel", **values)  # type: ignore[arg-type]


def failing(source: SyntheticRepository) -> dict[str, list[list[SyntheticJob]]]:
    """By title: for each push the jobs that failed."""
    found: dict[str, list[list[SyntheticJob]]] = {}
    for push in SyntheticPulls(source).pushes():
        jobs = [job for run in push.runs for job in run.jobs if job.failed]
        found.setdefault(push.payload["commit"]["message"], []).append(jobs)
    return found


def test_they_are_the_same_at_every_look() -> None:
    one, other = (list(SyntheticPulls(repository()).pushes()) for _ in range(2))
    assert one == other and one
    assert list(SyntheticPulls(repository()).payloads()) == list(SyntheticPulls(repository()).payloads())


def test_a_repository_without_failures_or_history_has_none() -> None:
    for given in ({"fail_rate": 0.0}, {"commits": 3}):
        assert not list(SyntheticPulls(repository(**given)).pushes())  # type: ignore[arg-type]


def test_there_is_trouble_of_each_kind() -> None:
    source = repository()
    pushes = failing(source)
    assert [len(jobs) for jobs in pushes.values()] == [2, 1, 1, 1]
    kinds = {job.fate.cause.kind for jobs in pushes.values() for push in jobs for job in push if job.fate.cause}
    assert {"gtest", "runner_lost", "cargo_test"} <= kinds
    trunk = {
        column.name: cause.kind for column in source.columns if (cause := source.open_cause(BASE, column)) is not None
    }
    last = next(iter(pushes.values()))[-1]
    assert trunk.items() & {(job.column.name, job.fate.cause.kind) for job in last if job.fate.cause}


def test_their_ids_are_none_of_trunks() -> None:
    source = repository()
    own = {job.id for push in SyntheticPulls(source).pushes() for run in push.runs for job in run.jobs}
    trunk = {job.id for push in source.pushes() for run in push.runs for job in run.jobs}
    assert own and not own & trunk
    assert max(own) < 2**53


def test_nothing_ends_before_it_began_or_after_now_but_the_job_that_still_runs() -> None:
    source = repository()
    jobs = [job for push in SyntheticPulls(source).pushes() for run in push.runs for job in run.jobs]
    assert all(job.span.created_s <= job.span.started_s < job.span.ended_s for job in jobs)
    assert [job.status for job in jobs if job.span.ended_s > NOW_S] == ["in_progress"]


def test_they_are_read_as_githubs_answers_are() -> None:
    pulls = SyntheticPulls(repository())
    facts = facts_of("rest.pulls", {"items": list(pulls.payloads())})
    assert not facts.unreadable and [fact.labels for fact in facts.pulls][2] == ("metrics",)
    runs = facts_of("rest.workflow_runs", {"items": [run.payload for push in pulls.pushes() for run in push.runs]})
    assert not runs.unreadable and {fact.number for fact in runs.pulls} == {fact.number for fact in facts.pulls}
