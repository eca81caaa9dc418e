"""Things that happened to people who do this job: what ingest makes of them."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from hud.core.cellcode import LOOKS
from hud.models import Branch, Cell, Commit, InboxItem, Job, Log, Repository, Run, Streak
from tests.fakes.cases import deliver_case, field_case, play_case
from tests.services.payloads import sha

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hud.views.hooks.ingest_inbox.delay", lambda: None)


def _rows(repository: Repository) -> list[str]:
    return [r.commit.sha for r in Branch.objects.get(repository=repository).rows.order_by("-position")]


def _cell(commit: str, job: str) -> Cell:
    return Cell.objects.get(commit__sha=sha(commit), job__name=job)


def _look(commit: str, job: str) -> Any:
    return LOOKS[Commit.objects.get(sha=sha(commit)).cells[Job.objects.get(name=job).column]]


def test_fc03_a_run_never_goes_back_whatever_the_order(client: Client, shared_data: Path, tmp_path: Path) -> None:
    case = field_case(shared_data, "FC-03")["input"]
    play_case(tmp_path, case["replay"])
    for number, order in enumerate(itertools.permutations(case["webhooks"])):
        hooks = json.loads(json.dumps(order))
        for hook in hooks:
            hook["delivery"] += f"-{number}"
            hook["body"]["workflow_job"]["id"] = 801 + number
        deliver_case(client, hooks)
        assert Run.objects.get(external_id=801 + number).conclusion == "failure"
        assert _cell("c2", "unit").state == "failure"
    assert Log.objects.filter(run__external_id__gte=801).count() == 6


def test_fc05_success_and_failure_on_one_commit_is_one_flaky_cell(
    client: Client, shared_data: Path, tmp_path: Path
) -> None:
    told = json.dumps(field_case(shared_data, "FC-05")["input"])
    for number in range(6):
        # Each order on a repository of its own.
        mine = told.replace("brindle/kestrel", f"brindle/kestrel-{number}").replace(
            '"id": 77', f'"id": {7700 + number}'
        )
        case = json.loads(mine.replace('"delivery": "d-', f'"delivery": "d-{number}-'))
        order = next(itertools.islice(itertools.permutations(case["webhooks"]), 120 * number, None))
        repository = play_case(tmp_path / str(number), case["replay"])
        deliver_case(client, list(order))
        cell = Cell.objects.get(commit__repository=repository, job__name="unit")
        assert (cell.state, cell.flaky, cell.run_count, cell.verdict) == ("success", True, 3, "flaky")
        origins = repository.runs.filter(name="unit").order_by("external_id").values_list("origin", flat=True)
        assert list(origins) == ["push", "restart", "restart"]
        assert LOOKS[cell.commit.cells[cell.job.column]].verdict == "flaky"


def test_fc10_a_broken_workflow_file_is_red_in_its_own_workflow(shared_data: Path, tmp_path: Path) -> None:
    repository = play_case(tmp_path, field_case(shared_data, "FC-10")["input"]["replay"])
    start = Job.objects.get(kind=Job.Kind.WORKFLOW_START)
    assert (start.name, start.workflow.name) == ("CI", "CI")
    assert repository.workflows.count() == 1
    assert [_cell(c, "CI").state for c in ("c1", "c2", "c3", "c4", "c5")] == ["success"] * 2 + ["failure"] * 3
    assert _look("c3", "CI").detail == "startup_failure"
    streak = Streak.objects.get()
    assert (streak.length, streak.first_good_after) == (3, None)
    assert Run.objects.get(external_id=-9452).failures.get().category == "config"


def test_fc17_rows_follow_first_parents(shared_data: Path, tmp_path: Path) -> None:
    repository = play_case(tmp_path, field_case(shared_data, "FC-17")["input"]["replay"])
    assert _rows(repository) == [sha(c) for c in ("c4", "c3", "c2", "c1")]
    streak = Streak.objects.get()
    assert (streak.length, streak.first_good_after) == (3, None)


def test_fc40_a_renamed_repository_goes_on(client: Client, shared_data: Path, tmp_path: Path) -> None:
    case = field_case(shared_data, "FC-40")["input"]
    play_case(tmp_path, case["replay"])
    deliver_case(client, case["webhooks"])
    assert Repository.objects.get().full_name == "brindle-labs/kestrel-ci"
    assert _cell("c2", "unit").state == "failure"
    late = json.loads(json.dumps(case["webhooks"]))
    late[0]["delivery"] = "d-late"
    late[0]["body"]["repository"]["full_name"] = "brindle/kestrel"
    deliver_case(client, late)
    assert Repository.objects.get().full_name == "brindle-labs/kestrel-ci"


def test_fc45_states_beyond_the_happy_four_give_no_signal(client: Client, shared_data: Path, tmp_path: Path) -> None:
    case = field_case(shared_data, "FC-45")["input"]
    play_case(tmp_path, case["replay"])
    deliver_case(client, case["webhooks"])
    looks = {j.name: _look("c1", j.name) for j in Job.objects.exclude(name="lint")}
    assert {name[:2]: (look.state.value, look.detail.value) for name, look in looks.items()} == {
        "s0": ("pending", ""),
        "s1": ("queued", "waiting"),
        "s2": ("queued", ""),
        "s3": ("queued", ""),
        "s4": ("neutral", "stale"),
        "s5": ("queued", "waiting"),
        "s6": ("neutral", ""),
        "s7": ("neutral", "unknown"),
        "s8": ("neutral", "unknown"),
    }
    assert not Streak.objects.exists()
    assert [i.state for i in InboxItem.objects.all()] == ["done"] * 9
    assert sorted(n for n in InboxItem.objects.values_list("note", flat=True) if n) == [
        "GitHub says 'frobnicated', a state that this version does not know: shown as unknown, no signal.",
        "GitHub says 'paused', a state that this version does not know: shown as unknown, no signal.",
    ]


def test_the_recorded_project_comes_in_whole(shared_data: Path) -> None:
    from hud.services.replay import Recording, play

    folder = shared_data / "github" / "ozone"
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    recording = Recording(folder)
    played = play(recording=recording, full_name="apache/ozone", branch="master", progress=lambda *_: None)
    assert (played.commits, played.workflow_runs, played.runs, played.failures, played.logs) == tuple(
        manifest[k] for k in ("commits", "runs", "jobs", "failed_jobs", "failed_jobs_with_log")
    )
    branch = Branch.objects.get(repository__name="ozone", name="master")
    assert branch.rows.count() == manifest["commits"]
    assert branch.head and branch.head.sha == recording.commits[0]["sha"]
    assert not InboxItem.objects.exists()
    assert _streaks_by_hand(recording) == {
        (s.job.name, shas[s.first_bad], s.length, s.first_good_after is None)
        for shas in [dict(branch.rows.values_list("position", "commit__sha"))]
        for s in Streak.objects.filter(branch=branch).select_related("job")
    }


def _streaks_by_hand(recording: Any) -> set[tuple[str, str, int, bool]]:
    """All streaks of the recording, found from its answers alone in the simplest way."""
    conclusions: dict[tuple[str, str], set[str]] = {}
    for _, jobs in recording.jobs():
        for job in jobs or ():
            conclusions.setdefault((job["name"], job["head_sha"]), set()).add(job["conclusion"])
    found = set()
    for name in {name for name, _ in conclusions}:
        first, length = "", 0
        for commit in reversed(recording.commits):
            words = conclusions.get((name, commit["sha"]), set())
            if "success" in words:
                if length:
                    found.add((name, first, length, False))
                first, length = "", 0
            elif "failure" in words:
                first, length = first or commit["sha"], length + 1
        if length:
            found.add((name, first, length, True))
    return found
