"""Writes HUD's comment and check run to pull requests, where a repository has that switched on.

There is one comment: it is found by its marker and its author, and edited only when its content changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from hud.clients.github import GitHubClient
from hud.clients.github.app import BadKey
from hud.clients.github.errors import Forbidden, GitHubError, NotFound
from hud.core.pullreport import MARKER, Report, ReportJob, check_run_of, comment_of, digest
from hud.core.text import storable
from hud.models import PostedReport, PullRequest, Reporting, Repository
from hud.queries.gate import gate_facts
from hud.queries.pull import PullJob, PullPage, PullState, pull_page
from hud.services.audit import record
from hud.services.github_app import app_client, why_no_check_run

logger = logging.getLogger(__name__)

Person = AbstractBaseUser | AnonymousUser

_LOCK_CLASS = 0x48554413  # "HUD", 19: the advisory locks of writing to a pull request
_PAUSE = timedelta(seconds=20)
"""A pull request is written to at most so often: its jobs end one after the other."""
_PATIENCE = timedelta(minutes=5)
"""After a failure a pull request is tried again so much later."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Exactly what would be written: the comment's text, the check run's fields. `has_failures`: without any, no
    comment is begun; one that is there is edited to say so."""

    comment: str
    check_run: dict[str, Any]
    has_failures: bool


def draft_of(repository: Repository, page: PullPage) -> Draft | None:
    """Return what would be written to the pull request; None while nothing is known of its head."""
    state = page.state
    if state is None:
        return None

    def address_of(path: str) -> str:
        return f"{settings.PUBLIC_URL.rstrip('/')}/{quote(repository.full_name)}/{path}"

    report = Report(
        number=page.number,
        sha=state.sha,
        sentence=state.sentence,
        may_merge=state.may_merge,
        reason=state.reason,
        is_done=not state.pending,
        groups=[(name, [_job(state, job) for job in jobs]) for name, jobs in state.groups if name != "pending"],
        facts={"pull": page.number, "head_sha": state.sha, **gate_facts(state, address_of)},
    )
    return Draft(comment_of(report, address_of), check_run_of(report, address_of), bool(report.groups))


def _job(state: PullState, job: PullJob) -> ReportJob:
    reason = job.answer.reason if job.answer else ""
    return ReportJob(job.name, reason, job.line, f"-/why/{state.sha}/{job.column}")


@transaction.atomic
def set_reporting(*, who: Person, repository: Repository, comment: bool, check_run: bool) -> bool:
    """Switch writing on or off. Returns whether anything changed. What is written already stays at GitHub."""
    row, _ = Reporting.objects.select_for_update().get_or_create(repository=repository)
    before = {"comment": row.comment, "check_run": row.check_run}
    after = {"comment": comment, "check_run": check_run}
    if before == after:
        return False
    row.comment, row.check_run = comment, check_run
    row.save()
    record(who, "reporting.changed", repository.full_name, before=before, after=after)
    if comment or check_run:
        open_pulls = PullRequest.objects.filter(repository=repository, state="open").values_list("number", flat=True)
        PostedReport.objects.bulk_create(
            [
                PostedReport(repository=repository, pull_number=n, wanted=True)
                for n in open_pulls.order_by("-number")[:200]
            ],
            update_conflicts=True,
            unique_fields=["repository", "pull_number"],
            update_fields=["wanted"],
        )
    return True


def reporting_of(repository: Repository) -> Reporting:
    """Return what is switched on; nothing where nobody ever said."""
    return Reporting.objects.filter(repository=repository).first() or Reporting(repository=repository)


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def due_reports(limit: int = 50) -> list[int]:
    """Return the ids of the reports that may be out of date and were not just written or tried in vain."""
    now = timezone.now()
    rested = Q(tried_at=None) | Q(error="", tried_at__lte=now - _PAUSE) | Q(tried_at__lte=now - _PATIENCE)
    return list(PostedReport.objects.filter(rested, wanted=True).order_by("pk").values_list("pk", flat=True)[:limit])


def write_report(
    *, report_id: int, client: GitHubClient, app: Callable[[str], GitHubClient | None] = app_client
) -> None:
    """Bring what GitHub shows of one pull request up to date. Never raises for what GitHub may answer: the row says it.

    `app` gives the client of the GitHub App for a repository: it writes check runs, and comments too where there is no
    other token.

    One at a time writes to a pull request, so that there are never two comments. Whoever judges does not wait for it:
    what changed meanwhile is seen at the end, and written next time.
    """
    with transaction.atomic():
        if not _take_turn(report_id):
            return
        row = PostedReport.objects.select_related("repository").get(pk=report_id)
        row.tried_at, row.error = timezone.now(), ""
        again = False
        try:
            with _writers(row, client, app) as writers:
                _write(row, writers)
        except (GitHubError, BadKey) as error:
            again = isinstance(error, GitHubError) and error.transient
            row.error = storable(str(error), 2000)
            logger.warning("pull request %s#%d: %s", row.repository, row.pull_number, row.error)
        row.wanted = again
        row.save()
        if not again and not row.error and _is_outdated(row):
            PostedReport.objects.filter(pk=row.pk).update(wanted=True)


def _take_turn(report_id: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_LOCK_CLASS, report_id])
        return bool(cursor.fetchone()[0])


def _is_outdated(row: PostedReport) -> bool:
    """Whether what was just written differs from what would be written now."""
    draft, wanted = _draft(row), reporting_of(row.repository)
    if draft is None:
        return False
    stale_comment = wanted.comment and row.comment_id is not None and digest(draft.comment) != row.comment_digest
    may_check = wanted.check_run and not why_no_check_run()
    return stale_comment or (may_check and digest(draft.check_run) != row.check_digest)


def _draft(row: PostedReport) -> Draft | None:
    """Return what is to be written, None where nothing is: made-up data, closed pull requests, unknown heads."""
    page = pull_page(row.repository, row.pull_number)
    is_open = page is not None and page.row is not None and page.row.state == "open"
    return draft_of(row.repository, page) if page is not None and is_open and not row.repository.synthetic else None


@dataclass(frozen=True, slots=True)
class _Writers:
    """Who writes. `checks`: the App, or None where check runs cannot be written. `problem`: what went wrong there."""

    comments: GitHubClient
    checks: GitHubClient | None
    problem: GitHubError | BadKey | None = None


@contextmanager
def _writers(row: PostedReport, client: GitHubClient, app: Callable[[str], GitHubClient | None]) -> Iterator[_Writers]:
    """Raises GitHubError, BadKey where nobody could write at all."""
    wanted = reporting_of(row.repository)
    made, problem = None, None
    if wanted.check_run or (wanted.comment and not settings.GITHUB_TOKEN):
        try:
            made = app(row.repository.full_name)
        except (GitHubError, BadKey) as error:
            if not settings.GITHUB_TOKEN:
                raise
            problem = error
    if made is None:
        yield _Writers(client, None if problem or why_no_check_run() else client, problem)
        return
    with made:
        yield _Writers(client if settings.GITHUB_TOKEN else made, made)


def _write(row: PostedReport, writers: _Writers) -> None:
    wanted, draft = reporting_of(row.repository), _draft(row)
    if draft is None:
        return
    is_news = draft.has_failures or row.comment_id is not None
    if wanted.comment and is_news and digest(draft.comment) != row.comment_digest:
        row.comment_id = _put_comment(row, writers.comments, draft.comment)
        row.comment_digest, row.posted_at = digest(draft.comment), timezone.now()
    if wanted.check_run and writers.problem:
        raise writers.problem
    if wanted.check_run and writers.checks and digest(draft.check_run) != row.check_digest:
        row.check_id = _put_check_run(row, writers.checks, draft.check_run)
        row.check_sha = draft.check_run["head_sha"]
        row.check_digest, row.posted_at = digest(draft.check_run), timezone.now()


def _put_comment(row: PostedReport, client: GitHubClient, body: str) -> int:
    """Edit the comment that is there, or write the first one. Returns its id."""
    name = row.repository.full_name
    if row.comment_id is not None:
        try:
            return int(client.edit_comment(name, row.comment_id, body)["id"])
        except (NotFound, Forbidden):  # it was deleted, or another account wrote it before the token was exchanged
            logger.info("the comment on %s#%d is gone or not ours any more", name, row.pull_number)
    found = _find_comment(client, name, row.pull_number)
    if found is None:
        return int(client.create_comment(name, row.pull_number, body)["id"])
    if found.get("body") != body:
        client.edit_comment(name, int(found["id"]), body)
    return int(found["id"])


def _find_comment(client: GitHubClient, full_name: str, number: int) -> dict[str, Any] | None:
    """Return our own comment: it begins with the marker, and we wrote it. Anybody can copy a marker."""
    login = client.login()
    for comment in client.comments(full_name, number):
        author = (comment.get("user") or {}).get("login")
        if author == login and str(comment.get("body") or "").startswith(MARKER):
            return comment
    return None


def _put_check_run(row: PostedReport, client: GitHubClient, fields: dict[str, Any]) -> int:
    name = row.repository.full_name
    if row.check_id is not None and row.check_sha == fields["head_sha"]:
        try:
            return int(client.edit_check_run(name, row.check_id, fields)["id"])
        except (NotFound, Forbidden):  # of another App, likewise
            logger.info("the check run on %s#%d is gone or not ours any more", name, row.pull_number)
    return int(client.create_check_run(name, fields)["id"])
