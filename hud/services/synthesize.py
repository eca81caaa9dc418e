"""Fills an invented repository through ingest, log by log, just as GitHub's answers would come in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils import timezone

from hud.core.facts import Facts, HeadFact
from hud.core.github import facts_of
from hud.models import Commit, Log, Repository, Run
from hud.services.ingest import apply_facts
from hud.services.logs import classify_again, record_start_failure, recorded_together, store_log
from hud.services.repositories import ensure_repository, named
from hud.synthetic import FRESH_S, SyntheticCommit, SyntheticJob, SyntheticPulls, SyntheticRepository

_BATCH_JOBS = 1500
_BATCH_LOGS = 20
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Synthesized:
    """What came in."""

    commits: int
    runs: int
    failures: int
    logs: int


def anchor_of(full_name: str, seed: int) -> int | None:
    """When the newest commit of this invented repository was made (seconds since 1970), None where it is not here yet.

    With it a repository that is filled again gets the same times, and so is the same.
    """
    sha = SyntheticRepository(full_name, now_s=0, commits=1, jobs=1, seed=seed).sha(0)
    repository = Repository.objects.filter(named(full_name)).first()
    at = Commit.objects.filter(repository=repository, sha=sha).values_list("committed_at", flat=True).first()
    return int(at.timestamp()) if at else None


def invented_repository(
    full_name: str,
    *,
    commits: int,
    jobs: int,
    fail_rate: float,
    seed: int,
    branch: str = "main",
    now: datetime,
    advance: bool = False,
) -> SyntheticRepository:
    """Return the repository as it was when first made, or with `advance` as it has become by `now`."""
    now_s = int(now.timestamp())
    anchor_s = anchor_of(full_name, seed)
    if anchor_s is None:
        anchor_s = now_s - FRESH_S
    elif not advance:
        now_s = anchor_s + FRESH_S
    return SyntheticRepository(
        full_name,
        now_s=now_s,
        anchor_s=anchor_s,
        commits=commits,
        jobs=jobs,
        fail_rate=fail_rate,
        seed=seed,
        branch=branch,
    )


def synthesize(
    source: SyntheticRepository,
    *,
    with_logs: bool,
    with_pulls: bool = True,
    progress: Progress = lambda _done, _all: None,
) -> Synthesized:
    """Bring the invented repository into the store. Safe to repeat. `progress` is told commits done and in all.

    Raises ValueError where a real repository has this name.
    """
    repository = follow_synthetic(source)
    runs = failures = logs = done = 0
    for pushes in _batches(source):
        jobs = [job for push in pushes for run in push.runs for job in run.jobs]
        apply_facts(repository=repository, facts=_facts(source, pushes, with_annotations=with_logs), logs_follow=True)
        runs += len(jobs)
        failures += sum(job.conclusion in ("failure", "timed_out") for job in jobs)
        logs += _write_logs(repository, source, jobs, with_logs=with_logs)
        done += len(pushes)
        progress(done, source.commits)
    for run in Run.objects.filter(repository=repository, external_id__lt=0, conclusion="startup_failure"):
        record_start_failure(run)
    if with_pulls:
        _write_pulls(repository, source, with_logs=with_logs)
    return Synthesized(source.commits, runs, failures, logs)


def _write_pulls(repository: Repository, source: SyntheticRepository, *, with_logs: bool) -> None:
    """Bring the invented pull requests in. Their verdicts are decided by whoever judges, as for real ones."""
    pulls = SyntheticPulls(source)
    pushes = list(pulls.pushes())
    if not pushes:
        return
    facts = facts_of("rest.commits", {"items": [push.payload for push in pushes]})
    facts.extend(_facts(source, pushes, with_annotations=with_logs))
    facts.extend(facts_of("rest.pulls", {"items": list(pulls.payloads())}))
    apply_facts(repository=repository, facts=facts, logs_follow=True)
    jobs = [job for push in pushes for run in push.runs for job in run.jobs]
    _write_logs(repository, source, jobs, with_logs=with_logs)


def follow_synthetic(source: SyntheticRepository) -> Repository:
    """Make the invented repository and its commits known, without any run. Raises ValueError as `synthesize` does."""
    repository, _ = ensure_repository(
        full_name=source.full_name,
        branch=source.branch,
        github_id=source.payload["id"],
        default_branch=source.branch,
        synthetic=True,
    )
    if not repository.synthetic:
        raise ValueError(f"{source.full_name} is a real repository here; give the invented one another name")
    apply_facts(repository=repository, facts=_trunk(source))
    return repository


def _trunk(source: SyntheticRepository) -> Facts:
    """The commits, and the word of the API that the newest is the branch's head."""
    items = list(source.commit_list())
    facts = facts_of("rest.commits", {"items": items})
    at = datetime.fromtimestamp(source.now_s, UTC)
    facts.heads.append(HeadFact(source.branch, items[0]["sha"], polled=True, reported_at=at))
    return facts


def _batches(source: SyntheticRepository) -> Iterator[list[SyntheticCommit]]:
    """Commits, oldest first, so many at a time that one transaction stays short."""
    batch: list[SyntheticCommit] = []
    size = 0
    for push in source.pushes():
        batch.append(push)
        size += sum(len(run.jobs) for run in push.runs)
        if size >= _BATCH_JOBS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _facts(source: SyntheticRepository, pushes: list[SyntheticCommit], *, with_annotations: bool) -> Facts:
    facts = Facts()
    for push in pushes:
        facts.extend(facts_of("rest.workflow_runs", {"items": [run.payload for run in push.runs]}))
        for run in push.runs:
            items = [source.job_payload(job) for job in run.jobs]
            answer = {"items": items, "listed": [[run.id, run.payload["run_attempt"]]]}
            facts.extend(facts_of("rest.jobs", answer))
            for job in run.jobs if with_annotations else ():
                if job.failed:
                    answer = {"items": source.annotations(job), "job_id": job.id}
                    facts.extend(facts_of("rest.annotations", answer))
    return facts


def _write_logs(
    repository: Repository, source: SyntheticRepository, jobs: list[SyntheticJob], *, with_logs: bool
) -> int:
    """Store and classify the logs of failed jobs, or say of each that it is gone. Returns how many there were."""
    told = {job.id: job for job in jobs if job.failed}
    wanted = Run.objects.filter(repository=repository, log__isnull=False, external_id__in=told).order_by("id")
    runs = list(wanted.select_related("repository"))
    stored = 0
    for start in range(0, len(runs), _BATCH_LOGS):
        with recorded_together(repository):
            for run in runs[start : start + _BATCH_LOGS]:
                chunks = source.log(told[run.external_id]) if with_logs else None
                stored += _write_log(run, chunks, with_logs=with_logs)
    return stored


def _write_log(run: Run, chunks: Iterator[bytes] | None, *, with_logs: bool) -> bool:
    if chunks is not None:
        store_log(run=run, chunks=chunks)
        return True
    _note_gone(run)
    if with_logs:
        classify_again(run)
    return False


def _note_gone(run: Run) -> None:
    Log.objects.filter(run=run).update(
        status=Log.Status.GONE, error="This run has no log.", next_attempt_at=None, fetched_at=timezone.now()
    )
