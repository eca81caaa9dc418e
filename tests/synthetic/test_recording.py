"""A recording holds what GitHub would have answered."""

import gzip
import json
from pathlib import Path
from typing import Any

from hud.synthetic import SyntheticRepository, write_recording


def _repository(commits: int = 30) -> SyntheticRepository:
    return SyntheticRepository("brindle/harbour", now_s=1_796_040_000, commits=commits, jobs=60, fail_rate=0.02)


def _read(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def test_the_manifest_counts_what_the_files_hold(tmp_path: Path) -> None:
    counts = write_recording(tmp_path, _repository())
    runs = [run for path in tmp_path.glob("runs_page_*.json.gz") for run in _read(path)["workflow_runs"]]
    jobs = [job for path in (tmp_path / "jobs").iterdir() for job in _read(path)["jobs"]]
    assert counts["commits"] == len(_read(tmp_path / "commits.json.gz")) == 30
    assert counts["runs"] == len(runs) == len({run["id"] for run in runs})
    assert counts["jobs"] == len(jobs)
    assert counts["failed_jobs"] == sum(job["conclusion"] in ("failure", "timed_out") for job in jobs)
    assert counts["logs"] == len(list((tmp_path / "logs").iterdir()))


def test_a_job_time_out_is_told_in_the_annotation_alone(tmp_path: Path) -> None:
    write_recording(tmp_path, _repository())
    jobs = [job for path in (tmp_path / "jobs").iterdir() for job in _read(path)["jobs"]]
    failed = [job for job in jobs if job["name"] == "upgrade (from 3.2)" and job["conclusion"] == "failure"]
    untold = [job for job in failed if not (tmp_path / "logs" / f"{job['id']}.log.gz").exists()]
    assert untold
    for job in untold:
        messages = [note["message"] for note in _read(tmp_path / "annotations" / f"{job['id']}.json.gz")]
        assert messages[0] == "The job has exceeded the maximum execution time of 1h0m0s"


def test_two_recordings_of_one_repository_are_equal_byte_for_byte(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_recording(tmp_path / name, _repository(commits=8))
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert files
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)
