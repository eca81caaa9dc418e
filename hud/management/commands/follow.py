"""`manage.py follow owner/name`: adds a repository, back-fills its newest commits, then polls."""

import json
import signal
import time
from argparse import ArgumentParser
from contextlib import closing
from typing import Any

import redis
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from hud.models import FollowRequest
from hud.runtime.leases import BEAT_COUNTS_FOR_S, WORKERS_KEY
from hud.services import follow, poll
from hud.services.github import github_client
from hud.tasks import follow_up

_LOOK_EVERY_S = 1.0


class Command(BaseCommand):
    """Progress goes to stderr; stdout gets one JSON line when the back-fill is done."""

    help = (
        "Follow a repository of GitHub: back-fill its newest commits, then keep it up to date. Safe to repeat; a "
        "back-fill that was stopped goes on where it was. While HUD runs (`make run`), its scheduler polls and this "
        "command ends after the back-fill; otherwise it polls itself until Ctrl-C."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("full_name", metavar="owner/name")
        parser.add_argument("--branch", default="", metavar="B", help="default: the repository's default branch")
        parser.add_argument("--commits", type=int, default=100, metavar="N", help="commits to back-fill (100)")
        parser.add_argument("--once", action="store_true", help="end after the back-fill in any case")

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["commits"] < 1:
            raise CommandError("--commits is at least 1")
        try:
            request = follow.request_follow(
                full_name=options["full_name"], branch=options["branch"], commits=options["commits"]
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            request = self._see_through(request)
            if request.state == FollowRequest.State.FAILED:
                raise CommandError(request.message)
            name = request.repository.full_name
            self.stdout.write(json.dumps({"repository": name, "branch": request.branch, "commits": request.done}))
            if not options["once"]:
                self._poll(request)
        except KeyboardInterrupt:
            self.stderr.write("Stopped. What came in stays; the rest comes when HUD runs or this is called again.")

    def _see_through(self, request: FollowRequest) -> FollowRequest:
        """Work on the request, or watch the worker that does, until it is done or has failed for good."""
        with closing(_Bar(request)) as bar:
            while True:
                with github_client() as client:
                    request = follow.back_fill(
                        request_id=request.pk, client=client, after_commit=follow_up, progress=bar.show
                    )
                if request.state in (FollowRequest.State.DONE, FollowRequest.State.FAILED):
                    return request
                while not self._is_due(request):
                    time.sleep(_LOOK_EVERY_S)
                    try:
                        request.refresh_from_db()
                    except FollowRequest.DoesNotExist:
                        raise CommandError("it is followed no more") from None
                    bar.show(request)

    def _is_due(self, request: FollowRequest) -> bool:
        return request.pk in follow.due_requests() or request.state not in (
            FollowRequest.State.WAITING,
            FollowRequest.State.RUNNING,
        )

    def _poll(self, request: FollowRequest) -> None:
        """Poll the branch until a scheduler does."""
        branch = request.repository.branches.get(name=request.branch)
        if not _a_worker_lives():
            self.stderr.write(f"HUD does not run: polling every {settings.POLL_INTERVAL_S:g} s here. Ctrl-C ends it.")
        while not _a_worker_lives():
            with github_client() as client:
                if poll.poll_branch(branch_id=branch.pk, client=client, after_commit=follow_up):
                    branch.refresh_from_db()
                    self.stderr.write(branch.poll_error or f"{timezone.now():%H:%M:%S} up to date")
            time.sleep(_LOOK_EVERY_S)


def _interrupt(*_: object) -> None:
    """End like Ctrl-C does: what is claimed is given back, so that a restart goes on at once."""
    raise KeyboardInterrupt


class _Bar:
    """The request's progress on stderr."""

    def __init__(self, request: FollowRequest) -> None:
        self._bar = tqdm(total=request.commits, unit="commit", desc=request.repository.full_name)

    def show(self, request: FollowRequest) -> None:
        self._bar.total = request.total or request.commits
        self._bar.set_postfix_str(_with_time(request), refresh=False)
        self._bar.n = request.done
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def _with_time(request: FollowRequest) -> str:
    retry_at = follow.retry_at(request)
    if request.state == FollowRequest.State.WAITING and retry_at is not None:
        return f"{request.message}; goes on at {retry_at:%H:%M:%S} UTC"
    return request.message


def _a_worker_lives() -> bool:
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=3) as broker:
        return bool(broker.zcount(WORKERS_KEY, float(broker.time()[0]) - BEAT_COUNTS_FOR_S, "+inf"))
