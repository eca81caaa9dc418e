"""`manage.py ingest_junit RUN_OR_REPO FILES…`: attaches test reports to a run."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hud.core.junit import JUnitReport, RefusedFile
from hud.core.wholenumber import whole_number
from hud.models import Repository, Run
from hud.queries.flaky import results_of
from hud.queries.places import repository_at
from hud.queries.runs import Unclear, run_named
from hud.services.junit import ingest_reports, read_file

_CHUNK_BYTES = 1 << 16


class Command(BaseCommand):
    help = "Attach JUnit XML files to a run; safe to repeat. Ends with one JSON line of what the run's reports tell."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "run_or_repository", metavar="RUN_OR_REPO", help="GitHub's job id, or owner/name with --run or --commit"
        )
        parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="JUnit XML, or folders of *.xml[.gz]")
        parser.add_argument("--run", type=int, help="GitHub's job id")
        parser.add_argument("--commit", default="", help="sha of the commit, with --job")
        parser.add_argument(
            "--job", default="", help='name of the job, or "workflow / job"; its newest attempt is taken'
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run = _run(options)
        reports, refused = self._read(list(_paths(options["files"])))
        if not reports:
            raise CommandError(f"Nothing could be read. {' '.join(refused)}".strip())
        done = ingest_reports(run=run, reports=reports)
        told = results_of(run)
        assert told is not None  # noqa: S101  # it was just written
        answer = {
            "run": run.external_id,
            "files": done.files,
            "new_files": done.new_files,
            "tests": told.tests,
            "passed": told.passed,
            "failed": told.failed,
            "flaky": told.flaky,
            "skipped": told.skipped,
            "failing": [f"{t.owner} {t.name}".strip() for t in told.listed if t.outcome == "failed"][:100],
            "healed": [f"{t.owner} {t.name}".strip() for t in told.listed if t.outcome == "flaky"][:100],
            "problems": [*done.problems, *refused],
        }
        self.stdout.write(json.dumps(answer, ensure_ascii=False))
        if refused:
            raise CommandError(f"{len(refused)} of {len(refused) + len(reports)} files were not taken.")

    def _read(self, paths: list[Path]) -> tuple[list[JUnitReport], list[str]]:
        reports, refused = [], []
        for path in paths:
            try:
                reports.append(read_file(_chunks(path)))
            except (RefusedFile, OSError) as error:
                refused.append(f"{path.name}: {error}")
                self.stderr.write(refused[-1])
        return reports, refused


def _run(options: dict[str, Any]) -> Run:
    named = options["run_or_repository"]
    if "/" in named:
        repository = repository_at(*named.split("/", 1))
        if repository is None:
            raise CommandError(f"There is no repository {named} here; follow or replay it first.")
        found = run_named(repository, run=options["run"], commit=options["commit"], job=options["job"])
    elif whole_number(named.removeprefix("-")) is not None:
        found = _anywhere(int(named))
    else:
        raise CommandError(f"{named!r} is neither GitHub's job id nor owner/name.")
    if isinstance(found, Unclear):
        raise CommandError(found.sentence)
    return found


def _anywhere(external_id: int) -> Run | Unclear:
    repositories = list(Repository.objects.filter(runs__external_id=external_id).distinct())
    if len(repositories) == 1:
        return run_named(repositories[0], run=external_id)
    names = ", ".join(r.full_name for r in repositories)
    told = f"Several repositories have a run {external_id}: {names}. Name one, with --run." if names else ""
    return Unclear(told or f"There is no run {external_id} here; a run's id is GitHub's job id.")


def _paths(given: list[Path]) -> Iterator[Path]:
    for path in given:
        if path.is_dir():
            yield from sorted([*path.rglob("*.xml"), *path.rglob("*.xml.gz")])
        else:
            yield path


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
