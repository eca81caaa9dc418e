"""`manage.py alert_history owner/name`: the dry run of an alert rule over stored history."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hud.core.jobfilter import BadPatternError, JobFilter
from hud.queries.alert_history import broken_streak_history, shas_at
from hud.queries.places import branch_at, repository_at


class Command(BaseCommand):
    help = "Print the alerts that a rule would have raised over stored history, as a JSON list."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("repository", metavar="owner/name")
        parser.add_argument("--branch", default="", help="default: the repository's")
        parser.add_argument("--kind", choices=["broken_streak"], default="broken_streak")
        parser.add_argument("--threshold", type=int, default=3, metavar="N", help="failing commits in a row (3)")
        parser.add_argument("--jobs", default="", metavar="REGEX", help="only jobs in whose name this is found")
        parser.add_argument("--count-all", action="store_true", help="count every failing cell, whatever its verdict")

    def handle(self, *args: Any, **options: Any) -> None:
        owner, _, name = options["repository"].partition("/")
        repository = repository_at(owner, name)
        if repository is None:
            raise CommandError(f"There is no repository {options['repository']} here; follow or replay it first.")
        branch = branch_at(owner, name, options["branch"] or repository.default_branch)
        if branch is None:
            raise CommandError(f"{repository.full_name} has no branch {options['branch']!r} here.")
        if options["threshold"] < 1:
            raise CommandError("--threshold must be 1 or more.")
        try:
            job_filter = JobFilter(options["jobs"], regex=True)
        except BadPatternError as error:
            raise CommandError(f"--jobs: {error}") from error
        spans = broken_streak_history(
            branch, threshold=options["threshold"], job_filter=job_filter, count_all=options["count_all"]
        )
        shas = shas_at(branch, {p for s in spans for p in (s.first_bad, s.opened_at, s.resolved_at) if p is not None})
        alerts = [
            {
                "jobs": list(span.jobs),
                "first_bad": shas[span.first_bad],
                "opened_at": shas[span.opened_at],
                "resolved_at": shas[span.resolved_at] if span.resolved_at is not None else None,
            }
            for span in spans
        ]
        self.stdout.write(json.dumps(alerts))
