"""Plays recorded GitHub REST answers through the same services as the poller."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hud.core.facts import Facts, HeadFact
from hud.core.github import annotations_fact
from hud.core.trunk import head_of
from hud.models import Branch, Failure, Log, Repository, Run
from hud.services import logs
from hud.services.inbox import take
from hud.services.ingest import apply_facts
from hud.services.repositories import ensure_repository

JOBS_A_BATCH = 1000
LOGS_A_BATCH = 20
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how far it is, and how far it goes."""


class BadRecording(ValueError):
    """The folder is no recording that can be read; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a recording held. `failures` counts the failed runs, `causes` what the classifier found in their logs."""

    commits: int
    workflow_runs: int
    runs: int
    failures: int
    logs: int
    causes: int


class Recording:
    """A folder of gzipped REST answers: commits, pages of workflow runs, jobs by workflow run, logs by job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise BadRecording(f"{folder} is no folder")
        pages = sorted(folder.glob("runs_page_*.json.gz"), key=lambda p: (len(p.name), p.name))
        if not pages or not (folder / "commits.json.gz").is_file():
            raise BadRecording(f"{folder} holds no recording: commits.json.gz and runs_page_1.json.gz are needed")
        self.commits: list[dict[str, Any]] = _read(folder / "commits.json.gz")
        self.workflow_runs = [run for page in pages for run in _listed(_read(page), "workflow_runs")]

    def full_name(self) -> str:
        names = Counter(r["repository"]["full_name"] for r in self.workflow_runs if r.get("repository"))
        if not names:
            raise BadRecording("the recording names no repository: say which with --repo owner/name")
        return names.most_common(1)[0][0]

    def github_id(self, full_name: str) -> int | None:
        """Return GitHub's id of the repository, if the recording is of that one."""
        for run in self.workflow_runs:
            repository = run.get("repository") or {}
            if str(repository.get("full_name", "")).lower() == full_name.lower():
                return repository.get("id")
        return None

    def branch(self) -> str:
        manifest = self.folder / "MANIFEST.json"
        if manifest.is_file():
            branch = json.loads(manifest.read_text()).get("branch")
            if branch:
                return str(branch)
        names = Counter(r.get("head_branch") for r in self.workflow_runs if r.get("head_branch"))
        return str(names.most_common(1)[0][0]) if names else "main"

    def limited_to(self, newest: int) -> None:
        """Keep the newest commits and their runs only."""
        self.commits = self.commits[:newest]
        kept = {c["sha"] for c in self.commits}
        self.workflow_runs = [r for r in self.workflow_runs if r.get("head_sha") in kept]

    def jobs(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]] | None]]:
        """Yield each workflow run with its jobs; None where the recording has no answer for it."""
        for run in self.workflow_runs:
            path = self.folder / "jobs" / f"{run['id']}.json.gz"
            yield run, _listed(_read(path), "jobs") if path.is_file() else None

    def log(self, job_id: int) -> Iterator[bytes] | None:
        path = self.folder / "logs" / f"{job_id}.log.gz"
        return _chunks(path) if path.is_file() else None

    def annotations(self, job_id: int) -> list[dict[str, Any]] | None:
        path = self.folder / "annotations" / f"{job_id}.json.gz"
        return _read(path) if path.is_file() else None


def _read(path: Path) -> Any:
    try:
        with gzip.open(path, "rb") as file:
            return json.loads(file.read())
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise BadRecording(f"{path.name} cannot be read: {error}") from error


def _listed(answer: Any, name: str) -> list[dict[str, Any]]:
    return answer[name] if isinstance(answer, dict) else answer


def _chunks(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") as file:
        while chunk := file.read(256 * 1024):
            yield chunk


def play(
    *,
    recording: Recording,
    full_name: str,
    branch: str,
    progress: Progress,
    synthetic: bool = False,
) -> Played:
    """Bring a recording in. Safe to repeat."""
    repository, row = ensure_repository(
        full_name=full_name, branch=branch, github_id=recording.github_id(full_name), synthetic=synthetic
    )
    _play_commits(repository, row, recording)
    run_count, failed = _play_runs(repository, recording, progress)
    log_count = _play_logs(repository, recording, failed, progress)
    return Played(
        commits=len(recording.commits),
        workflow_runs=len(recording.workflow_runs),
        runs=run_count,
        failures=sum(1 for is_red in failed.values() if is_red),
        logs=log_count,
        causes=Failure.objects.filter(run__repository=repository, run__external_id__in=failed).count(),
    )


def _play_commits(repository: Repository, branch: Branch, recording: Recording) -> None:
    take(repository=repository, source="replay", event="rest.commits", payload={"items": recording.commits})
    head = head_of({c["sha"]: [p["sha"] for p in c.get("parents", ())] for c in recording.commits})
    if head:
        apply_facts(repository=repository, facts=Facts(heads=[HeadFact(branch.name, head)]))


def _play_runs(repository: Repository, recording: Recording, progress: Progress) -> tuple[int, dict[int, bool]]:
    """Return how many runs there were, and the ids of those whose log is wanted: True where failed."""
    total, run_count = len(recording.workflow_runs), 0
    wanted: dict[int, bool] = {}
    runs: list[dict[str, Any]] = []
    jobs: list[dict[str, Any]] = []
    listed: list[list[int]] = []
    for done, (run, its_jobs) in enumerate(recording.jobs(), 1):
        runs.append(run)
        if its_jobs is not None:
            jobs.extend(its_jobs)
            listed.append([run["id"], run.get("run_attempt") or 1])
        if len(jobs) >= JOBS_A_BATCH or done == total:
            _take_runs(repository, runs, jobs, listed)
            run_count += len(jobs)
            wanted.update(_wanting_logs(jobs))
            progress("runs", done, total)
            runs, jobs, listed = [], [], []
    return run_count, wanted


def _take_runs(
    repository: Repository, runs: list[dict[str, Any]], jobs: list[dict[str, Any]], listed: list[list[int]]
) -> None:
    take(repository=repository, source="replay", event="rest.workflow_runs", payload={"items": runs}, logs_follow=True)
    payload = {"items": jobs, "listed": listed}
    take(repository=repository, source="replay", event="rest.jobs", payload=payload, logs_follow=True)


def _wanting_logs(jobs: list[dict[str, Any]]) -> dict[int, bool]:
    failing = ("failure", "timed_out")
    return {j["id"]: j.get("conclusion") in failing for j in jobs if j.get("conclusion") in (*failing, "cancelled")}


def _play_logs(repository: Repository, recording: Recording, wanted: dict[int, bool], progress: Progress) -> int:
    count = 0
    runs = list(Run.objects.filter(repository=repository, external_id__in=wanted).order_by("id"))
    starts = Run.objects.filter(repository=repository, external_id__lt=0, conclusion="startup_failure")
    for run in starts:
        logs.record_start_failure(run)
    for start in range(0, len(runs), LOGS_A_BATCH):
        batch = runs[start : start + LOGS_A_BATCH]
        with logs.recorded_together(repository):
            count += sum(_play_log(repository, recording, run) for run in batch)
        progress("logs", start + len(batch), len(runs))
    return count


def _play_log(repository: Repository, recording: Recording, run: Run) -> bool:
    annotations = recording.annotations(run.external_id)
    if annotations:
        facts = Facts(annotations=[annotations_fact(run.external_id, annotations)])
        apply_facts(repository=repository, facts=facts, logs_follow=True)
    chunks = recording.log(run.external_id)
    if chunks is None:
        _note_missing_log(run, annotations is not None)
        return False
    logs.store_log(run=run, chunks=chunks)
    return True


def _note_missing_log(run: Run, has_annotations: bool) -> None:
    Log.objects.filter(run=run).exclude(status=Log.Status.STORED).update(
        status=Log.Status.GONE, error="The recording has no log of this run."
    )
    if has_annotations:
        logs.classify_again(run)
