"""The invented repository tells GitHub's shapes, the same ones every time."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from hud.synthetic import SyntheticJob, SyntheticRepository
from hud.synthetic.stories import MASS_FAILURE_AT, STARTUP_FAILURE_AT, STREAKS, SUPERSEDED_AT

NOW_S = 1_796_040_000


def _demo(**changes: object) -> SyntheticRepository:
    wanted: dict[str, object] = {"now_s": NOW_S, "commits": 60, "jobs": 60, "fail_rate": 0.02, "seed": 1}
    return SyntheticRepository("brindle/harbour", **(wanted | changes))  # type: ignore[arg-type]


def _cells(repository: SyntheticRepository) -> dict[tuple[int, str], list[SyntheticJob]]:
    cells: dict[tuple[int, str], list[SyntheticJob]] = defaultdict(list)
    for push in repository.pushes():
        for run in push.runs:
            for job in run.jobs:
                cells[push.number, job.column.name].append(job)
    return cells


@pytest.fixture(scope="module")
def cells() -> dict[tuple[int, str], list[SyntheticJob]]:
    return _cells(_demo())


def _told(repository: SyntheticRepository) -> list[object]:
    return [
        (push.payload, run.payload, [repository.job_payload(job) for job in run.jobs])
        for push in repository.pushes()
        for run in push.runs
    ]


def test_equal_seeds_tell_equal_repositories() -> None:
    assert _told(_demo(commits=12)) == _told(_demo(commits=12))


def test_another_seed_tells_another_repository() -> None:
    assert {c["sha"] for c in _demo().commit_list()}.isdisjoint(c["sha"] for c in _demo(seed=2).commit_list())


def test_parents_form_the_line_that_the_list_shows() -> None:
    commits = list(_demo().commit_list())
    assert len(commits) == 60
    assert all(newer["parents"][0]["sha"] == older["sha"] for newer, older in pairwise(commits))
    dates = [commit["commit"]["committer"]["date"] for commit in commits]
    assert dates == sorted(dates, reverse=True)


def test_ids_are_apart_and_exact_in_javascript() -> None:
    repository = _demo(jobs=300)
    ids = [job.id for push in repository.pushes() for run in push.runs for job in run.jobs]
    ids += [run.id for push in repository.pushes() for run in push.runs]
    assert len(ids) == len(set(ids))
    assert max(ids) < 2**53


@pytest.mark.parametrize("count", [1, 7, 11, 59, 60, 61, 300, 1500, 4000])
def test_there_are_as_many_jobs_as_asked_for_all_with_their_own_name(count: int) -> None:
    columns = _demo(jobs=count).columns
    assert [column.index for column in columns] == list(range(count))
    assert len({(column.workflow.name, column.name) for column in columns}) == count


def test_a_small_repository_still_has_every_workflow() -> None:
    assert len({column.workflow for column in _demo(jobs=11).columns}) == 11


def test_of_1500_jobs_more_than_1000_share_a_workflow() -> None:
    sizes = Counter(column.workflow.name for column in _demo(jobs=1500).columns)
    assert sizes["unit"] > 1000


@pytest.mark.parametrize(("jobs", "fail_rate"), [(60, 0.03), (300, 0.02), (300, 0.1)])
def test_about_the_wanted_share_of_cells_is_red(jobs: int, fail_rate: float) -> None:
    cells = _cells(_demo(jobs=jobs, fail_rate=fail_rate))
    conclusions = [{job.conclusion for job in jobs} for jobs in cells.values()]
    red = sum(bool(seen & {"failure", "timed_out"}) and "success" not in seen for seen in conclusions)
    assert 0.5 * fail_rate < red / len(cells) < 2 * fail_rate


def test_nothing_fails_at_rate_nought() -> None:
    jobs = [job for attempts in _cells(_demo(fail_rate=0)).values() for job in attempts]
    assert not [job for job in jobs if job.failed]


# ── Story lines ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_streak_is_open_at_the_newest_commits(cells: dict[tuple[int, str], list[SyntheticJob]]) -> None:
    seen = [cells[commit, "broker"][0].conclusion for commit in range(3, 7)]
    assert seen == ["cancelled", "failure", "failure", "success"]
    assert cells[1, "broker"][0].fate.conclusion == "failure"


def test_the_cause_changes_inside_a_streak(cells: dict[tuple[int, str], list[SyntheticJob]]) -> None:
    job = "linux-noble-gcc13 / test (default, 2, 5, linux.large)"
    kinds = [attempt.fate.cause.kind for commit in range(9, 3, -1) if (attempt := cells[commit, job][0]).fate.cause]
    assert kinds == ["pytest_assert"] * 5 + ["pytest_error"]


def test_a_closed_streak_starves_the_jobs_that_need_it(cells: dict[tuple[int, str], list[SyntheticJob]]) -> None:
    assert [cells[commit, "windows-2022-msvc / build"][0].conclusion for commit in (32, 31, 23, 22)] == [
        "success",
        "failure",
        "failure",
        "success",
    ]
    assert cells[25, "windows-2022-msvc / test (default, 1, 2, windows.xlarge)"][0].conclusion == "skipped"


def test_a_flaky_rerun_is_a_second_attempt_after_the_first(cells: dict[tuple[int, str], list[SyntheticJob]]) -> None:
    first, second = [job for job in cells[9, "recovery"] if job.fate.by != "schedule"]
    assert [(job.attempt, job.conclusion) for job in (first, second)] == [(1, "failure"), (2, "success")]
    assert first.span.ended_s < second.span.created_s
    assert first.run_id == second.run_id
    assert first.id != second.id


def test_a_superseded_workflow_is_cancelled_as_a_whole(cells: dict[tuple[int, str], list[SyntheticJob]]) -> None:
    jobs = [
        job
        for (commit, _), attempts in cells.items()
        for job in attempts
        if commit == SUPERSEDED_AT and job.column.workflow.name == "integration"
    ]
    assert {job.conclusion for job in jobs} == {"cancelled"}


def test_a_mass_failure_takes_many_jobs_within_minutes(cells: dict[tuple[int, str], list[SyntheticJob]]) -> None:
    for commit in MASS_FAILURE_AT:
        ended = [
            job.span.ended_s
            for (number, _), attempts in cells.items()
            for job in attempts
            if number == commit and job.fate.cause and job.fate.cause.kind in ("dns", "artifact_503")
        ]
        assert len(ended) >= 8
        assert max(ended) - min(ended) <= 180


def test_the_newest_commits_are_still_at_work(cells: dict[tuple[int, str], list[SyntheticJob]]) -> None:
    states = Counter(job.status for (commit, _), attempts in cells.items() for job in attempts if commit < 2)
    assert states["queued"] and states["in_progress"] and states["completed"]


def test_the_schedule_runs_the_same_job_on_the_same_commit_again() -> None:
    events = [
        (push.number, run.payload["event"])
        for push in _demo().pushes()
        for run in push.runs
        if run.payload["name"] == "integration"
    ]
    assert (6, "push") in events
    assert (6, "schedule") in events


def test_a_workflow_that_github_could_not_read_has_a_run_without_jobs() -> None:
    runs = [run for run in _demo().push(STARTUP_FAILURE_AT).runs if run.payload["conclusion"] == "startup_failure"]
    assert [(run.payload["name"], run.jobs) for run in runs] == [(".github/workflows/mirror.yml", ())]


def test_the_breaking_and_the_fixing_commit_say_so_and_come_from_people() -> None:
    broke, fixed = _demo().commit_payload(31), _demo().commit_payload(22)
    assert broke["commit"]["message"].startswith("scheduler: Wake timers by absolute time (#")
    assert fixed["commit"]["message"].startswith("scheduler: Include the right clock header on Windows (#")


# ── Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_time_that_moves_on_finishes_jobs_and_brings_commits_but_keeps_what_was() -> None:
    early = _demo(commits=8)
    late = _demo(commits=60, now_s=NOW_S + 6 * 3600, anchor_s=NOW_S - 150)
    known = {commit["sha"]: commit for commit in late.commit_list()}
    assert late.newest < early.newest == 0
    assert all(known[commit["sha"]] == commit for commit in early.commit_list())
    then, now = early.push(0).runs[0], late.push(0).runs[0]
    assert then.id == now.id
    assert {job.id for job in then.jobs} <= {job.id for job in now.jobs}
    assert {job.status for job in now.jobs} == {"completed"}
    assert late.commit_payload(-5)["commit"]["message"].startswith("Revert the early lease hand-over")


def test_a_job_tells_its_steps_and_runner_as_far_as_it_came() -> None:
    repository = _demo()
    made = [job for run in repository.push(0).runs for job in run.jobs if job.conclusion != "skipped"]
    jobs = {job.status: repository.job_payload(job) for job in made}
    assert jobs["queued"]["steps"] == [] and jobs["queued"]["runner_name"] is None
    assert jobs["in_progress"]["steps"][-1]["status"] == "in_progress"
    assert jobs["in_progress"]["completed_at"] is None
    assert jobs["completed"]["steps"][-1]["name"] == "Complete job"


def test_commits_touch_the_files_that_the_logs_of_what_they_break_name() -> None:
    """Each named story has its culprit, where the failing line, the failing test or its own file can be found in it."""
    repository = _demo(commits=110)
    touched = {
        number: [file["filename"] for file in repository.commit_payload(number)["files"]]
        for number in repository.commit_numbers()
    }
    cells = _cells(repository)
    for streak in STREAKS:
        job = next(job for job in cells[streak.first_bad, streak.job] if job.failed)
        log = b"".join(repository.log(job) or ()).decode().replace("\\", "/")
        named = [path for path in touched[streak.first_bad] if path.rsplit("/", 1)[1].split(".")[0] in log]
        assert named, (streak.job, touched[streak.first_bad])


def test_commits_are_dated_titled_and_filed_the_same_at_every_look() -> None:
    assert list(_demo().commit_list()) == list(_demo().commit_list())


def test_commits_about_documents_touch_documents_alone_and_all_touch_something() -> None:
    commits = list(_demo(commits=300).commit_list())
    assert all(commit["files"] for commit in commits)
    documents = [c for c in commits if ": Document " in c["commit"]["message"].splitlines()[0]]
    paths = {file["filename"] for commit in documents for file in commit["files"]}
    assert len(documents) > 3
    assert all(path.endswith(".rst") for path in paths)


def test_a_repository_without_failures_has_files_too() -> None:
    assert all(commit["files"] for commit in _demo(fail_rate=0.0).commit_list())
