"""Writes an invented repository as a folder of recorded REST answers, which the replay command and tests read.

The folder: ``commits.json.gz`` (list of commits, newest first), ``runs_page_N.json.gz`` (pages of workflow runs, newest
first), ``jobs/RUN_ID.json.gz`` (all attempts' jobs of a run), ``logs/JOB_ID.log.gz`` (absent where GitHub answers 404),
``annotations/JOB_ID.json.gz`` (annotations of the job's check run) and ``MANIFEST.json`` (counts to check against).
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from hud.synthetic.github import page
from hud.synthetic.repository import SyntheticJob, SyntheticRepository, SyntheticRun

_RUNS_A_PAGE = 100


def write_recording(folder: Path, repository: SyntheticRepository, *, with_logs: bool = True) -> dict[str, int]:
    """Write the repository below `folder` and return the counts of the manifest. Equal repositories, equal bytes."""
    for name in ("jobs", "logs", "annotations"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    _write_json(folder / "commits.json.gz", list(repository.commit_list()))
    counts["commits"] = repository.commits
    pages = _chunks(_record_runs(folder, repository, counts, with_logs), _RUNS_A_PAGE)
    for number, runs in enumerate(pages, 1):
        _write_json(folder / f"runs_page_{number}.json.gz", page("workflow_runs", runs))
    manifest = {"repository": repository.full_name, "branch": repository.branch, **counts}
    (folder / "MANIFEST.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return dict(counts)


def _record_runs(
    folder: Path, repository: SyntheticRepository, counts: Counter[str], with_logs: bool
) -> Iterator[dict[str, Any]]:
    for number in repository.commit_numbers():
        for run in repository.push(number).runs:
            counts["runs"] += 1
            _record_jobs(folder, repository, run, counts, with_logs)
            yield run.payload


def _record_jobs(
    folder: Path, repository: SyntheticRepository, run: SyntheticRun, counts: Counter[str], with_logs: bool
) -> None:
    _write_json(folder / "jobs" / f"{run.id}.json.gz", page("jobs", [repository.job_payload(job) for job in run.jobs]))
    for job in run.jobs:
        counts["jobs"] += 1
        counts["failed_jobs"] += job.conclusion in ("failure", "timed_out")
        if with_logs and job.failed:
            counts["logs"] += _record_log(folder, repository, job)


def _record_log(folder: Path, repository: SyntheticRepository, job: SyntheticJob) -> bool:
    _write_json(folder / "annotations" / f"{job.id}.json.gz", repository.annotations(job))
    chunks = repository.log(job)
    if chunks is None:
        return False
    with gzip.GzipFile(folder / "logs" / f"{job.id}.log.gz", "wb", compresslevel=1, mtime=0) as file:
        for chunk in chunks:
            file.write(chunk)
    return True


def _write_json(path: Path, value: object) -> None:
    path.write_bytes(gzip.compress(json.dumps(value).encode(), compresslevel=1, mtime=0))


def _chunks(items: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
