"""Fetches the logs of failed runs, keeps them, classifies them, and writes what was found."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from datetime import timedelta

from django.conf import settings
from django.core.files.storage import storages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

import classifier
from hud.clients.github import GitHubClient, LogGone, NotFound, RateLimited, RedirectRefused
from hud.clients.github.errors import GitHubError
from hud.clients.logstore import STORE_FAILURES, LogStore, StoredLog, store_failure_words
from hud.core.cell import State, state_of
from hud.core.facts import Facts
from hud.core.github import annotations_fact
from hud.core.text import storable
from hud.models import Failure, Log, Repository, Run
from hud.services.batch import Batch
from hud.services.engines import Reader, reader_of, version_of
from hud.services.ingest import apply_facts, lock_repository, settle
from hud.services.reported import with_reported_tests
from hud.services.verdicts import ask

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=60)
"""How long a fetch owns its log without a sign of life; a killed worker's log is taken up again after it."""
ATTEMPTS = 8
STORE_WAIT = timedelta(minutes=5)


def log_store() -> LogStore:
    """Return the store of logs: Django's storage named "logs", files or S3 by setting."""
    return LogStore(storages["logs"])


# ---- fetching -------------------------------------------------------------------------------------------------------


def _due() -> QuerySet[Log]:
    now = timezone.now()
    return Log.objects.filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=now), status=Log.Status.PENDING)


def has_due_logs() -> bool:
    """Tell whether some log is to be fetched now."""
    return _due().exists()


def fetch_due_logs(*, client: GitHubClient, budget_s: float = 30) -> bool:
    """Fetch what is due, newest run first, for about `budget_s`. Returns whether some may be left.

    A back-fill's thousand logs wait behind the one that just turned red.
    """
    started = time.monotonic()
    while time.monotonic() - started < budget_s:
        run_id = _claim_next()
        if run_id is None:
            return False
        _fetch_claimed(run_id, client)
    return True


def _claim_next() -> int | None:
    with transaction.atomic():
        log = _due().select_for_update(skip_locked=True).order_by("-run_id").first()
        if log is None:
            return None
        log.next_attempt_at = timezone.now() + LEASE
        log.save(update_fields=["next_attempt_at"])
        return log.run_id


def due_classifications(limit: int = 200) -> list[int]:
    """Return the run ids whose annotations came after their log was classified, and have not been read since."""
    unread = Log.objects.filter(classified_by="", run__annotations__isnull=False).exclude(status=Log.Status.PENDING)
    return list(unread.order_by("run_id").values_list("run_id", flat=True).distinct()[:limit])


def fetch_annotations(*, run_id: int, client: GitHubClient) -> None:
    """Read a run's annotations again, because GitHub says that there are some; they are classified if they are news."""
    run = Run.objects.select_related("repository").get(pk=run_id)
    try:
        if _fetch_annotations(run, client):
            classify_again(run)
    except GitHubError as error:
        logger.warning("annotations of run %s are left for the next poll: %s", run.external_id, error)


def _fetch_claimed(run_id: int, client: GitHubClient) -> None:
    """Fetch, keep and classify one run's log and annotations.

    Never raises for what GitHub may answer: the row says what happened, and when it is tried again.
    """
    run = Run.objects.select_related("repository", "log").get(pk=run_id)
    try:
        _fetch(run, client)
    except RateLimited as error:
        _try_later(run, str(error), error.until - timezone.now(), counts=False)
    except GitHubError as error:
        _try_later(run, str(error), timedelta(seconds=min(10 * 4**run.log.attempts, 3600)))
    except STORE_FAILURES as error:  # a full disk is no fault of this log: it waits until there is room again
        _try_later(run, store_failure_words(error), STORE_WAIT, counts=False)


def _fetch(run: Run, client: GitHubClient) -> None:
    if run.repository.synthetic:
        _settle_log(run, Log.Status.GONE, "A synthetic run has no log at GitHub.")
        _judge_again(run)
        return
    if run.external_id < 0:
        record_start_failure(run)
        return
    _fetch_annotations(run, client)
    state, _ = state_of(run.status, run.conclusion or None)
    if state is State.CANCELLED:
        _settle_log(run, Log.Status.NONE, "")
        classify_again(run)
        return
    try:
        with client.job_log(run.repository.full_name, run.external_id) as chunks:
            store_log(run=run, chunks=_renewing(run, chunks))
    except (LogGone, NotFound) as error:
        _settle_log(run, Log.Status.GONE, str(error))
        classify_again(run)
    except RedirectRefused as error:
        _settle_log(run, Log.Status.REFUSED, str(error))
        classify_again(run)


@transaction.atomic
def _judge_again(run: Run) -> None:
    """Bring the run's cell up to date: its log is no longer on its way."""
    lock_repository(run.repository)
    batch = Batch(run.repository)
    batch.dirty_streaks.add((run.commit_id, run.job_id))
    settle(batch)


def _fetch_annotations(run: Run, client: GitHubClient) -> bool:
    """Write the run's annotations; tell whether they were news."""
    try:
        items = list(client.annotations(run.repository.full_name, run.external_id))
    except NotFound:
        return False
    facts = Facts(annotations=[annotations_fact(run.external_id, items)])
    return run.id in apply_facts(repository=run.repository, facts=facts).classify_again


def _renewing(run: Run, chunks: Iterable[bytes]) -> Iterator[bytes]:
    renewed = time.monotonic()
    for chunk in chunks:
        yield chunk
        if time.monotonic() - renewed > LEASE.total_seconds() / 3:
            renewed = time.monotonic()
            Log.objects.filter(run=run).update(next_attempt_at=timezone.now() + LEASE)


def _try_later(run: Run, reason: str, wait: timedelta, *, counts: bool = True) -> None:
    log = Log.objects.get(run=run)
    log.attempts += 1 if counts else 0
    log.error = storable(reason, 2000)
    if log.attempts >= ATTEMPTS:
        log.status, log.next_attempt_at = Log.Status.FAILED, None
    else:
        log.next_attempt_at = timezone.now() + max(wait, timedelta(seconds=1))
    log.save(update_fields=["attempts", "error", "status", "next_attempt_at"])
    logger.warning("log of run %s: %s", run.external_id, log.error)
    if log.status == Log.Status.FAILED:
        classify_again(run)


def _settle_log(run: Run, status: str, reason: str) -> None:
    Log.objects.update_or_create(
        run=run,
        defaults={
            "status": status,
            "error": storable(reason, 2000),
            "next_attempt_at": None,
            "fetched_at": timezone.now(),
        },
    )


# ---- keeping and classifying ----------------------------------------------------------------------------------------


def store_log(*, run: Run, chunks: Iterable[bytes]) -> None:
    """Keep a log and classify it while it streams through: never whole in memory."""
    key = f"logs/{run.repository_id}/{run.external_id}"
    writer = log_store().open(
        key,
        max_bytes=settings.LOG_MAX_BYTES,
        head_bytes=settings.LOG_HEAD_BYTES,
        tail_bytes=settings.LOG_TAIL_BYTES,
    )
    reading = Classifying(reader_of(run.repository_id))
    with writer:
        for chunk in chunks:
            writer.write(chunk)
            reading.feed(chunk)
        stored = writer.close()
    failures = reading.finish(annotations_of(run))
    with transaction.atomic():  # a worker killed in here leaves a log that is still to be fetched
        lock_repository(run.repository)
        _write_log(run, stored)
        record_failures(run=run, failures=failures, by=reading)
    if reading.is_outdated(run):
        classify_again(run)


class Classifying:
    """One log on its way through the classifier. A crash or a time-out of ours is said, and hides no log."""

    def __init__(self, reader: Reader) -> None:
        self._session: classifier.Session | None = reader.engine.start()
        self._spent_s = 0.0
        self.version = reader.version
        self.trouble = ""

    def is_outdated(self, run: Run) -> bool:
        """Whether the rules were changed meanwhile: those who read the logs again then may have missed this one."""
        return self.version != version_of(run.repository_id)

    def feed(self, chunk: bytes) -> None:
        if self._session is None:
            return
        started = time.monotonic()
        try:
            self._session.feed(chunk)
        except Exception as error:
            self._give_up(f"The classifier crashed: {type(error).__name__}: {error}")
            logger.exception("the classifier crashed")
        self._spent_s += time.monotonic() - started
        if self._spent_s > settings.CLASSIFY_TIMEOUT_S:
            self._give_up(
                f"Classification hit its time limit of {settings.CLASSIFY_TIMEOUT_S:g} s; raise CLASSIFY_TIMEOUT_S."
            )

    def _give_up(self, trouble: str) -> None:
        self._session, self.trouble = None, trouble

    def finish(self, annotations: Sequence[classifier.Annotation]) -> Sequence[classifier.Failure]:
        if self._session is None:
            return ()
        try:
            return self._session.finish(annotations=annotations).failures
        except Exception as error:
            self._give_up(f"The classifier crashed: {type(error).__name__}: {error}")
            logger.exception("the classifier crashed")
            return ()


def annotations_of(run: Run) -> list[classifier.Annotation]:
    return [
        classifier.Annotation(level=a.level, message=a.message, title=a.title, path=a.path)
        for a in run.annotations.all()
    ]


def _write_log(run: Run, stored: StoredLog) -> None:
    cut = stored.cut
    Log.objects.update_or_create(
        run=run,
        defaults={
            "status": Log.Status.STORED,
            "key": stored.key,
            "size_bytes": stored.size_bytes,
            "line_count": stored.line_count,
            "cut": {"first_line": cut.first_line, "last_line": cut.last_line, "bytes": cut.bytes} if cut else None,
            "error": "",
            "next_attempt_at": None,
            "fetched_at": timezone.now(),
        },
    )


def classify_again(run: Run) -> None:
    """Classify a run anew from its stored log, if there is one, and its annotations. Safe to repeat."""
    if run.external_id < 0:
        record_start_failure(run)
        return
    log = Log.objects.filter(run=run).first()
    reading, failures = read_again(run, log, reader_of(run.repository_id))
    record_failures(run=run, failures=failures, by=reading)
    if reading.is_outdated(run):
        classify_again(run)


def read_again(
    run: Run, log: Log | None, reader: Reader, alive: Callable[[], None] = lambda: None
) -> tuple[Classifying, Sequence[classifier.Failure]]:
    """Put a run's stored log, if there is one, and its annotations through a reader. Writes nothing.

    `alive` is called every now and then. Raises LogNotFoundError and LogDamagedError.
    """
    reading = Classifying(reader)
    if log and log.status == Log.Status.STORED:
        with closing(log_store().aligned(log.key)) as chunks:
            for chunk in chunks:
                reading.feed(chunk)
                alive()
    return reading, reading.finish(annotations_of(run))


def record_start_failure(run: Run) -> None:
    """Write the one thing that is known of a workflow that did not start."""
    name = run.workflow_name or run.name
    line = f"The workflow {name} failed to start: GitHub could not use its file."
    _settle_log(run, Log.Status.NONE, "")
    record_failures(
        run=run,
        failures=[
            classifier.Failure(
                rule="workflow failed to start",
                category="config",
                line_number=0,
                line=line,
                captures=(name,),
                signature=classifier.signature_of("workflow failed to start", (name,)),
                source="github",
            )
        ],
    )


@transaction.atomic
def record_failures(*, run: Run, failures: Sequence[classifier.Failure], by: Classifying | None = None) -> bool:
    """Replace a run's failures, primary first, and bring its cell's verdict and its streak up to date. Where they name
    no cause, the failed tests of the run's report do.

    `by` is noted with its log in the same transaction: which rules gave these answers is never in doubt. Returns
    whether they are others than before.
    """
    together = _together.get()
    repository = together.repository if together else Repository.objects.get(pk=run.repository_id)
    lock_repository(repository)
    run.refresh_from_db()
    batch = together or Batch(repository)
    told = _told_conclusion(run, failures)
    rows = [_row(run, rank, f) for rank, f in enumerate(with_reported_tests(run, failures, told))]
    differs = not _same(list(run.failures.all()), rows)
    if differs:
        run.failures.all().delete()
        Failure.objects.bulk_create(rows)
    if told != run.told_conclusion:
        run.told_conclusion = told
        run.save(update_fields=["told_conclusion"])
        batch.dirty_cells.add((run.commit_id, run.job_id))
    if by is not None:
        note_reading(run, by)
    # Also where nothing was found: that is an answer too, and the log is no longer on its way.
    batch.answered.add((run.commit_id, run.job_id))
    batch.dirty_streaks.add((run.commit_id, run.job_id))
    if together is None:
        _settle_answers(batch)
    return differs


_together: ContextVar[Batch | None] = ContextVar("together", default=None)


@contextmanager
def recorded_together(repository: Repository) -> Iterator[None]:
    """Bring what follows from many logs up to date once, in one transaction: for those who have the logs at hand.

    Streaks, alerts and open pages are most of the time of a small log.
    """
    with transaction.atomic():
        lock_repository(repository)
        batch = Batch(repository)
        token = _together.set(batch)
        try:
            yield
        finally:
            _together.reset(token)
        _settle_answers(batch)


def _settle_answers(batch: Batch) -> None:
    settle(batch)
    ask(batch.repository, sorted(batch.answered))


def has_these_failures(run: Run, failures: Sequence[classifier.Failure]) -> bool:
    """Whether nothing would change if these were recorded."""
    told = _told_conclusion(run, failures)
    rows = [_row(run, rank, f) for rank, f in enumerate(with_reported_tests(run, failures, told))]
    return _same(list(run.failures.all()), rows) and told == run.told_conclusion


def note_reading(run: Run, by: Classifying) -> None:
    """Note with the run's log which rules gave its failures, and what went wrong."""
    log = Log.objects.filter(run=run)
    if by.trouble:
        log.update(classified_by=by.version, error=storable(by.trouble, 2000))
        return
    log.update(classified_by=by.version)
    log.filter(status=Log.Status.STORED).exclude(error="").update(error="")


def _told_conclusion(run: Run, failures: Sequence[classifier.Failure]) -> str:
    """GitHub calls a job that ran into its time limit cancelled; its annotation tells the truth."""
    if run.conclusion == "cancelled" and failures and failures[0].source == "annotation":
        return "timed_out" if failures[0].category == "timeout" else ""
    return ""


_COMPARED = (
    "rank",
    "rule",
    "category",
    "line_number",
    "line",
    "captures",
    "tests",
    "context",
    "step",
    "signature",
    "generic",
    "source",
)


def _same(old: list[Failure], new: list[Failure]) -> bool:
    return [[getattr(f, n) for n in _COMPARED] for f in old] == [[getattr(f, n) for n in _COMPARED] for f in new]


def _row(run: Run, rank: int, failure: classifier.Failure) -> Failure:
    return Failure(
        run=run,
        rank=rank,
        rule=storable(failure.rule, 200),
        category=failure.category,
        line_number=failure.line_number,
        line=storable(failure.line, 4000),
        captures=[storable(c, 1000) for c in failure.captures[:20]],
        tests=[storable(t, 500) for t in failure.tests[:2000]],
        context=[storable(c, 1000) for c in failure.context[:20]],
        step=storable(failure.step or "", 300),
        signature=storable(failure.signature, 300),
        generic=failure.generic,
        source=failure.source,
    )
