"""`manage.py reclassify [owner/name]`: reads stored logs again by the rules of now, in the foreground."""

import json
import math
import signal
import time
from argparse import ArgumentParser, ArgumentTypeError
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from hud.models import Reclassification, Repository
from hud.queries.places import repository_at, repository_once_at
from hud.services import logwork
from hud.services.reclassify import go_on, request_by_hand

_LOOK_EVERY_S = 1.0


class Command(BaseCommand):
    """Progress goes to stderr; stdout gets one JSON line at the end."""

    help = (
        "Classify stored logs again whose answers are of other rules than those of now. Ctrl-C stops it, and the same "
        "call again goes on where it was. Pages, streaks and verdicts follow as it goes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("full_name", metavar="owner/name", nargs="?", default="", help="default: all repositories")
        parser.add_argument("--since", metavar="DATE", type=_date, help="only runs that ended on this day or later")
        parser.add_argument("--all", action="store_true", dest="everything", help="also logs that are up to date")

    def handle(self, *_args: Any, **options: Any) -> None:
        signal.signal(signal.SIGTERM, _interrupt)
        started = time.monotonic()
        works: list[Reclassification] = []
        try:
            for repository in _repositories(options["full_name"]):
                request = {"since": options["since"], "everything": options["everything"]}
                works.append(_see_through(request_by_hand(repository=repository, **request)))
        except KeyboardInterrupt:
            self.stderr.write("Stopped. What was read stays; the same call again goes on from there.")
            raise SystemExit(130) from None
        told = {
            "logs": sum(work.done for work in works),
            "changed": sum(work.changed for work in works),
            "unreadable": sum(work.unreadable for work in works),
            "repositories": len(works),
            "seconds": round(time.monotonic() - started, 2),
        }
        self.stdout.write(json.dumps(told))


def _repositories(full_name: str) -> list[Repository]:
    if not full_name:
        return list(Repository.objects.order_by("id"))
    owner, _, name = full_name.partition("/")
    found = repository_at(owner, name) or repository_once_at(owner, name)
    if found is None:
        raise CommandError(f"There is no repository {full_name} here.")
    return [found]


def _see_through(work: Reclassification) -> Reclassification:
    """Work until it is done; where another call of this command is at it, wait and show how far that is."""
    bar = tqdm(total=work.total or None, initial=work.done, unit="log", desc=work.repository.full_name)
    with closing(bar):
        while work.state == "waiting":
            turn = logwork.take(work)
            if turn is None:
                time.sleep(_LOOK_EVERY_S)
            else:
                turn.ends_at = math.inf
                _work(turn, bar)
            work.refresh_from_db()
            _show(bar, work)
    return work


def _work(turn: logwork.Turn, bar: "tqdm[Any]") -> None:
    try:
        go_on(turn, lambda work: _show(bar, work))
    except logwork.Taken:
        return
    except BaseException:
        logwork.give_back(turn)
        raise


def _show(bar: "tqdm[Any]", work: Reclassification) -> None:
    bar.total = work.total
    bar.update(work.done - bar.n)


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no date; write it as 2026-11-30") from None


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
