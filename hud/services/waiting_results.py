"""Test reports that come before their run is known: kept, attached when it comes, dropped after a stated time.

A job hands its results in while it still runs; GitHub may tell HUD of that job seconds later, or hours after an outage.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import orjson
import zstandard
from django.conf import settings
from django.db import transaction
from django.db.models import BigIntegerField, Count, Func, Sum
from django.utils import timezone

from hud.core.junit import JUnitReport, Outcome, ReadTest
from hud.core.text import storable
from hud.models import Repository, Run, WaitingReport
from hud.queries.runs import run_named
from hud.services.junit import ingest_reports

logger = logging.getLogger(__name__)

MOST_WAITING = 1000
"""Reports of one repository that may wait at a time."""
MOST_WAITING_BYTES = 500_000_000
"""What they take together, packed, at most: runs that never come must not fill the disk until their time is over."""
_AT_ONCE = 100
_LARGEST_BYTES = 500_000_000


class TooManyWait(Exception):
    """No more reports of unknown runs are kept for this repository; the message says how many wait."""


def keep_waiting(
    *, repository: Repository, reports: Sequence[JUnitReport], run: int | None, commit: str, job: str
) -> datetime:
    """Keep reports for a run that HUD has not heard of, and return until when. The same file waits once.

    Raises TooManyWait.
    """
    rows = [WaitingReport(repository=repository, digest=r.digest, data=_packed(r)) for r in reports]
    _refuse_too_many(repository, rows)
    by_name = (commit.lower(), storable(job)) if run is None else ("", "")
    for row in rows:
        row.external_id = run
        row.commit, row.job = by_name
    WaitingReport.objects.bulk_create(rows, ignore_conflicts=True)
    return timezone.now() + timedelta(hours=settings.TEST_RESULTS_WAIT_HOURS)


def _refuse_too_many(repository: Repository, rows: Sequence[WaitingReport]) -> None:
    size = Func("data", function="octet_length", output_field=BigIntegerField())
    waiting = WaitingReport.objects.filter(repository=repository).aggregate(count=Count("pk"), data_bytes=Sum(size))
    if waiting["count"] + len(rows) > MOST_WAITING:
        raise TooManyWait(
            f"{waiting['count']} test reports of runs that HUD does not know wait already; no more are kept."
        )
    data_bytes = (waiting["data_bytes"] or 0) + sum(len(row.data) for row in rows)
    if data_bytes > MOST_WAITING_BYTES:
        raise TooManyWait(
            f"With these, test reports of runs that HUD does not know would take {data_bytes:,} bytes, packed;"
            f" no more than {MOST_WAITING_BYTES:,} are kept."
        )


def attach_waiting() -> int:
    """Attach the reports whose run has come, some at a time, and drop those that waited too long. Returns how many were
    attached."""
    attached = 0
    oldest = timezone.now() - timedelta(hours=settings.TEST_RESULTS_WAIT_HOURS)
    last = 0
    while rows := _next(last):
        last = rows[-1].pk
        attached += sum(_try_to_attach(row) for row in _with_known_run(rows))
    gone, _ = WaitingReport.objects.filter(received_at__lt=oldest).delete()
    if gone:
        logger.warning("%d test reports were dropped: their runs never came", gone)
    return attached


def _next(after: int) -> list[WaitingReport]:
    rows = WaitingReport.objects.filter(pk__gt=after).select_related("repository").defer("data").order_by("pk")
    return list(rows[:_AT_ONCE])


def _with_known_run(rows: Sequence[WaitingReport]) -> Iterable[WaitingReport]:
    """Those that are named by a run that is known, and those named by commit and job, which have to be looked up."""
    numbers = [row.external_id for row in rows if row.external_id is not None]
    runs = Run.objects.filter(external_id__in=numbers).values_list("repository_id", "external_id") if numbers else ()
    known = set(runs)
    return [row for row in rows if row.external_id is None or (row.repository_id, row.external_id) in known]


def _try_to_attach(row: WaitingReport) -> bool:
    try:
        return _attach(row)
    except Exception:  # one report must not keep the others from their runs; it is dropped when its time is over
        logger.exception("the waiting test report %d of %s could not be attached", row.pk, row.repository.full_name)
        return False


@transaction.atomic
def _attach(row: WaitingReport) -> bool:
    """Attach one, if its run is there: it goes with the transaction that takes it in, so it is taken in once."""
    run = run_named(row.repository, run=row.external_id, commit=row.commit, job=row.job)
    held = WaitingReport.objects.select_for_update(skip_locked=True).filter(pk=row.pk).first()
    if held is None or not isinstance(run, Run):
        return False
    ingest_reports(run=run, reports=[_unpacked(bytes(held.data))])
    held.delete()
    return True


def _packed(report: JUnitReport) -> bytes:
    tests = [
        [test.owner, test.name, test.outcome.value, test.attempts, test.duration_s, test.message, test.detail]
        for test in report.tests
    ]
    told = {"tests": tests, "complete": report.complete, "problems": report.problems, "digest": report.digest}
    return zstandard.compress(orjson.dumps(told))


def _unpacked(data: bytes) -> JUnitReport:
    told = orjson.loads(zstandard.decompress(data, max_output_size=_LARGEST_BYTES))
    tests = tuple(
        ReadTest(owner, name, Outcome(outcome), attempts, duration_s, message, detail)
        for owner, name, outcome, attempts, duration_s, message, detail in told["tests"]
    )
    return JUnitReport(tests, told["complete"], tuple(told["problems"]), told["digest"])
