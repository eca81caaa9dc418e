"""Following a repository: its row, and the back-fill of its newest commits with progress that others can see.

A back-fill goes commit by commit, newest first, and notes each in its `FollowRequest`. Whoever takes the request up
again goes on behind the last one that was noted.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hud.clients.github import GitHubClient, GitHubError, RateLimited
from hud.core.text import storable
from hud.models import Branch, BranchCommit, FollowRequest, Repository
from hud.services.gather import AfterCommit, Gatherer, SameRepository
from hud.services.poll import may_pass, trouble_of
from hud.services.repositories import ensure_repository

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=120)
"""A running request without a sign of life for so long is taken up by another worker."""
ATTEMPTS = 20

Progress = Callable[[FollowRequest], None]
"""Called when the request's numbers or message have changed."""


@transaction.atomic
def request_follow(*, full_name: str, branch: str = "", commits: int = 100) -> FollowRequest:
    """Follow a repository from now on and ask for a back-fill of `commits`; the poller does the rest by itself.

    Nothing is asked of GitHub here: events of the repository are taken in at once, also while GitHub is down.
    Without `branch` it is the repository's default, once GitHub has told it. Raises ValueError for a bad name.
    """
    repository, row = ensure_repository(full_name=full_name, branch=branch, followed=True)
    if repository.synthetic:
        raise ValueError(f"{repository.full_name} is a synthetic repository of HUD's own: GitHub does not know it")
    name = branch or ("" if repository.github_id is None else row.name)
    open_states = [FollowRequest.State.WAITING, FollowRequest.State.RUNNING]
    found = FollowRequest.objects.filter(
        repository=repository, branch=name, commits__gte=commits, state__in=open_states
    ).first()
    return found or FollowRequest.objects.create(repository=repository, branch=name, commits=commits)


@transaction.atomic
def stop_following(*, repository: Repository) -> None:
    """Ask GitHub about it no more. What HUD has of it stays, and its events are still taken in."""
    repository.followed = False
    repository.save(update_fields=["followed"])
    repository.follow_requests.exclude(state=FollowRequest.State.DONE).delete()


def due_requests() -> list[int]:
    """Return the ids of back-fills that somebody should work on now: waiting ones, and those of a stopped worker."""
    now = timezone.now()
    waiting = Q(state=FollowRequest.State.WAITING)
    left_behind = Q(state=FollowRequest.State.RUNNING, updated_at__lt=now - LEASE)
    requests = FollowRequest.objects.filter(waiting | left_behind, repository__followed=True).order_by("id")
    return [r.pk for r in requests if _retry_at(r) <= now]


def back_fill(
    *, request_id: int, client: GitHubClient, after_commit: AfterCommit, progress: Progress = lambda request: None
) -> FollowRequest:
    """Work on a back-fill until it is done, has to wait, or fails for good; its row says which.

    Returns the request; where another worker is at it, untouched.
    """
    request = _claim(request_id)
    if request is None:
        return FollowRequest.objects.get(pk=request_id)
    try:
        _Filling(request, client, after_commit, progress).run()
    except _Dropped:
        request.state, request.message = FollowRequest.State.FAILED, "it is followed no more"
    except (GitHubError, SameRepository) as error:
        _put_off(request, error)
    except Exception as error:  # whatever it is, the request must say so and not stay claimed; then it is raised on
        _put_off(request, error)
        raise
    except (KeyboardInterrupt, SystemExit):
        FollowRequest.objects.filter(pk=request.pk).update(state=FollowRequest.State.WAITING)
        raise
    progress(request)
    return request


def _claim(request_id: int) -> FollowRequest | None:
    now = timezone.now()
    takeable = Q(state=FollowRequest.State.WAITING) | Q(state=FollowRequest.State.RUNNING, updated_at__lt=now - LEASE)
    mine = FollowRequest.objects.filter(takeable, pk=request_id)
    if not mine.update(state=FollowRequest.State.RUNNING, updated_at=now):
        return None
    return FollowRequest.objects.select_related("repository").get(pk=request_id)


def _put_off(request: FollowRequest, error: Exception) -> None:
    failures = request.cursor.get("failures", 0) + (0 if isinstance(error, RateLimited) else 1)
    trouble = trouble_of(error, max(failures, 1))
    may_recover = may_pass(error) and failures < ATTEMPTS
    request.state = FollowRequest.State.WAITING if may_recover else FollowRequest.State.FAILED
    request.message = trouble.sentence
    request.cursor = {**request.cursor, "failures": failures, "retry_at": trouble.retry_at.isoformat()}
    request.save(update_fields=["state", "message", "cursor", "updated_at"])
    logger.warning("back-fill of %s: %s", request.repository.full_name, trouble.sentence)


def _retry_at(request: FollowRequest) -> datetime:
    return retry_at(request) or request.created_at


def retry_at(request: FollowRequest) -> datetime | None:
    """Return when a waiting request is worked on again, None for at once."""
    text = request.cursor.get("retry_at")
    return datetime.fromisoformat(text) if text else None


class _Dropped(Exception):
    """The request was deleted meanwhile: the repository is followed no more."""


class _Filling:
    """One go at a back-fill."""

    def __init__(
        self, request: FollowRequest, client: GitHubClient, after_commit: AfterCommit, progress: Progress
    ) -> None:
        self._request = request
        self._client = client
        self._after_commit = after_commit
        self._progress = progress

    def run(self) -> None:
        gatherer = self._gatherer()
        self._say("asking GitHub about the repository")
        gatherer.identify()
        self._request.branch = gatherer.branch.name
        self._say("reading the commits")
        gatherer.gather_trunk(self._request.commits)
        self._fill_rows(gatherer)
        self._request.state = FollowRequest.State.DONE
        self._request.cursor = {}
        self._say(f"{self._request.done} commits are here")

    def _gatherer(self) -> Gatherer:
        repository = self._request.repository
        _, row = ensure_repository(full_name=repository.full_name, branch=self._request.branch)
        branch = Branch.objects.select_related("repository", "head").get(pk=row.pk)
        return Gatherer(
            branch=branch,
            client=self._client,
            source="follow",
            after_commit=self._after_commit,
            alive=self._sign_of_life,
        )

    def _fill_rows(self, gatherer: Gatherer) -> None:
        rows = BranchCommit.objects.filter(branch=gatherer.branch).order_by("-position")
        shas = list(rows.values_list("commit__sha", flat=True)[: self._request.commits])
        last_done = self._request.cursor.get("sha")
        start = shas.index(last_done) + 1 if last_done in shas else 0
        self._request.total = len(shas)
        for done, sha in enumerate(shas[start:], start):
            self._request.done = done
            self._say(f"reading the runs of {sha[:10]}")
            gatherer.gather_runs_of_commit(sha)
            self._request.done = done + 1
            self._request.cursor = {"sha": sha}
        self._request.done = len(shas)

    def _say(self, message: str) -> None:
        request = self._request
        request.message = storable(message, 1000)
        told = {name: getattr(request, name) for name in ("state", "branch", "done", "total", "message", "cursor")}
        self._write(**told)
        self._progress(request)

    def _sign_of_life(self) -> None:
        self._write()

    def _write(self, **fields: Any) -> None:
        if not FollowRequest.objects.filter(pk=self._request.pk).update(updated_at=timezone.now(), **fields):
            raise _Dropped
