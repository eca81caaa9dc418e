"""`manage.py synth owner/name`: an invented repository for the demo and the benchmarks."""

import json
import time
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from hud.services.synthesize import invented_repository, synthesize


class Command(BaseCommand):
    """Progress goes to stderr; the last line on stdout is one JSON object."""

    help = "Invents a repository, marked as synthetic wherever it is shown, and takes it in like a real one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("full_name", metavar="owner/name")
        parser.add_argument("--commits", type=int, default=120, metavar="N", help="commits of the branch (120)")
        parser.add_argument("--jobs", type=int, default=60, metavar="M", help="different jobs (60)")
        parser.add_argument(
            "--fail-rate", type=float, default=0.02, metavar="F", help="about this share of cells is red (0.02)"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="another seed, another repository (1)")
        parser.add_argument("--branch", default="main", metavar="B", help="name of its trunk (main)")
        parser.add_argument(
            "--logs", action="store_true", help="with logs and annotations of its failed runs, classified"
        )
        parser.add_argument(
            "--advance",
            action="store_true",
            help="of a repository that is here already, take in what would have happened since it was made",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        started = time.monotonic()
        if options["commits"] < 1 or options["jobs"] < 1 or not 0 <= options["fail_rate"] <= 1:
            raise CommandError("--commits and --jobs are at least 1, --fail-rate is from 0 to 1")
        try:
            source = invented_repository(
                options["full_name"],
                commits=options["commits"],
                jobs=options["jobs"],
                fail_rate=options["fail_rate"],
                seed=options["seed"],
                branch=options["branch"],
                now=timezone.now(),
                advance=options["advance"],
            )
            with tqdm(total=source.commits, unit="commit", desc=source.full_name, file=self.stderr) as bar:
                done = synthesize(
                    source, with_logs=options["logs"], progress=lambda count, _all: bar.update(count - bar.n)
                )
        except ValueError as error:
            raise CommandError(str(error)) from error
        seconds = round(time.monotonic() - started, 2)
        self.stdout.write(
            json.dumps(
                {
                    "repository": source.full_name,
                    "branch": source.branch,
                    "synthetic": True,
                    "jobs": len(source.columns),
                    **asdict(done),
                    "seconds": seconds,
                }
            )
        )
