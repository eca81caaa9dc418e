"""The poller: one look at one branch, by Celery beat's clock; and what it says when GitHub does not answer.

Pages never wait for it. They read the database, and `Branch.polled_at`, `poll_error` and `poll_retry_at` tell them how
old that is, why, and until when. Webhooks and the poller may both bring the same things: they end in the same rows.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.cache import cache
from django.db.models import Q
from django.utils import timezone

from hud.clients.github import EmptyRepository, GitHubClient, GitHubError, RateLimited
from hud.core.text import storable
from hud.models import Branch
from hud.services.gather import AfterCommit, Gatherer, SameRepository
from hud.services.inbox import describe

logger = logging.getLogger(__name__)

FIRST_ROWS = 50
"""How many rows a branch gets from the poller alone; a back-fill brings more."""
DEEP_LOOK_EVERY = timedelta(hours=1)
LEASE_S = 120
"""How long a poll may give no sign of life before another worker takes its place."""
FIRST_RETRY_S, LONGEST_RETRY_S = 30, 600


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why GitHub gave no answer, in a sentence for people, and when it is asked again."""

    sentence: str
    retry_at: datetime


def due_branches() -> list[int]:
    """Return the ids of the branches that are to be polled now."""
    now = timezone.now()
    interval = timedelta(seconds=settings.POLL_INTERVAL_S)
    old = Q(poll_retry_at=None) & (Q(polled_at=None) | Q(polled_at__lte=now - interval))
    return list(
        Branch.objects.filter(
            old | Q(poll_retry_at__lte=now),
            tracked=True,
            repository__followed=True,
            repository__synthetic=False,
        )
        .order_by("polled_at", "id")
        .values_list("id", flat=True)
    )


def poll_branch(*, branch_id: int, client: GitHubClient, after_commit: AfterCommit) -> bool:
    """Bring one branch up to date. Returns False where it is not due, or another worker is at it.

    Never raises for what GitHub may answer: the branch's row says what happened and when it is asked again.
    """
    with _lease(branch_id) as alive:
        if alive is None or branch_id not in due_branches():
            return False
        branch = Branch.objects.select_related("repository", "head").get(pk=branch_id)
        started_at = timezone.now()
        gatherer = Gatherer(branch=branch, client=client, source="poll", after_commit=after_commit, alive=alive)
        try:
            _poll(gatherer)
        except (GitHubError, SameRepository) as error:
            _note_trouble(gatherer.branch, error)
        except Exception as error:  # whatever it is, the page must say why its data is old; then it is raised on
            _note_trouble(gatherer.branch, error)
            raise
        else:
            _note_success(gatherer.branch, started_at)
    return True


def _note_trouble(branch: Branch, error: Exception) -> None:
    failures = branch.poll_cursor.get("failures", 0) + 1
    trouble = trouble_of(error, failures)
    branch.poll_cursor["failures"] = failures
    Branch.objects.filter(pk=branch.pk).update(
        poll_error=trouble.sentence, poll_retry_at=trouble.retry_at, poll_cursor=branch.poll_cursor
    )
    logger.warning("poll of %s %s: %s", branch.repository.full_name, branch.name, trouble.sentence)


def _note_success(branch: Branch, started_at: datetime) -> None:
    branch.poll_cursor.pop("failures", None)
    Branch.objects.filter(pk=branch.pk).update(
        polled_at=started_at, poll_error="", poll_retry_at=None, poll_cursor=branch.poll_cursor
    )


def _poll(gatherer: Gatherer) -> None:
    gatherer.identify()
    branch = gatherer.branch
    had_rows = branch.head_id is not None
    try:
        trunk = gatherer.gather_trunk(1 if had_rows else FIRST_ROWS)
    except EmptyRepository:
        return  # nothing was pushed yet: that is an answer too
    deep = _deep_look_is_due(branch)
    gatherer.gather_recent_runs(deep=deep)
    for sha in trunk.fresh if had_rows else ():
        gatherer.gather_runs_of_commit(sha)
    gatherer.gather_open_runs()
    if settings.GITHUB_TOKEN and branch.name == branch.repository.default_branch:
        gatherer.gather_pulls()  # without a token every request counts, and there are sixty an hour
    gatherer.gather_touched_files()
    if deep:
        branch.poll_cursor["deep_look_at"] = timezone.now().isoformat()


def _deep_look_is_due(branch: Branch) -> bool:
    last = branch.poll_cursor.get("deep_look_at")
    return last is None or timezone.now() - datetime.fromisoformat(last) >= DEEP_LOOK_EVERY


def trouble_of(error: Exception, failures: int) -> Trouble:
    """Return what to say of an error and when to try again: when GitHub says so, else after growing waits.

    `failures` counts the tries that failed in a row, this one included.
    """
    if isinstance(error, RateLimited):
        return Trouble(storable(str(error), 1000), error.until)
    wait_s = min(FIRST_RETRY_S * 2 ** min(failures - 1, 10), LONGEST_RETRY_S)
    if isinstance(error, GitHubError | SameRepository):
        sentence = str(error)
        wait_s = wait_s if may_pass(error) else LONGEST_RETRY_S
    else:
        sentence = f"HUD could not take in what GitHub answered: {describe(error)}"
    return Trouble(storable(sentence, 1000), timezone.now() + timedelta(seconds=wait_s))


def may_pass(error: Exception) -> bool:
    """Tell whether the same call may succeed later without anybody doing anything; a fault of ours may."""
    if isinstance(error, GitHubError):
        return error.transient
    return not isinstance(error, SameRepository)


@contextmanager
def _lease(branch_id: int) -> Iterator[Callable[[], object] | None]:
    """Let one worker at a time poll a branch. Yields the sign of life, or None where another holds the lease."""
    key = f"poll:{branch_id}"
    if not cache.add(key, 1, timeout=LEASE_S):
        yield None
        return
    try:
        yield lambda: cache.touch(key, LEASE_S)
    finally:
        cache.delete(key)
