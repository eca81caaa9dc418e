"""`manage.py replay DIR`: plays recorded GitHub REST answers and logs through the ingest path."""

import json
import time
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from hud.services.replay import Recording, play


class Command(BaseCommand):
    help = "Play a folder of recorded GitHub REST answers and logs; safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument("--repo", metavar="owner/name", default="", help="default: the one the recording names")
        parser.add_argument("--branch", default="", help="default: the recording's")
        parser.add_argument("--limit", type=int, metavar="N", help="only the newest N commits")

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        try:
            recording = Recording(options["folder"])
            if options["limit"] is not None:
                recording.limited_to(options["limit"])
            with _Bars() as bars:
                played = play(
                    recording=recording,
                    full_name=options["repo"] or recording.full_name(),
                    branch=options["branch"] or recording.branch(),
                    progress=bars.show,
                )
        except ValueError as error:
            raise CommandError(str(error)) from error
        answer = asdict(played) | {"seconds": round(time.monotonic() - started, 2)}
        self.stdout.write(json.dumps(answer))


class _Bars:
    """One progress bar for each kind of work, on stderr."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None
        self._what = ""

    def __enter__(self) -> "_Bars":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, what: str, done: int, total: int) -> None:
        if self._bar is None or what != self._what:
            if self._bar is not None:
                self._bar.close()
            self._bar, self._what = tqdm(total=total, desc=what, unit=f" {what}"), what
        self._bar.update(done - self._bar.n)
