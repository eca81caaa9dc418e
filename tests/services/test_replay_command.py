"""`manage.py replay` as the contract says: one JSON line, safe to repeat, a sentence for what cannot be played."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from hud.models import Branch, Cell, Failure, Repository, Run
from hud.synthetic import SyntheticRepository, write_recording

pytestmark = pytest.mark.django_db
NAME = "brindle/harbour"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    write_recording(tmp_path, SyntheticRepository(NAME, now_s=1_796_040_000, commits=6, jobs=20, fail_rate=0.1))
    return tmp_path


def replay(folder: Path, **options: Any) -> tuple[dict[str, Any], str]:
    """Return what the command prints, read as JSON, and what it says on the way."""
    out, said = io.StringIO(), io.StringIO()
    call_command("replay", str(folder), stdout=out, stderr=said, **options)
    lines = out.getvalue().splitlines()
    assert len(lines) == 1
    return json.loads(lines[0]), said.getvalue()


def stored() -> tuple[Any, ...]:
    cells = tuple(Cell.objects.order_by("commit__sha", "job__name").values_list("commit__sha", "job__name", "state"))
    return Run.objects.count(), Failure.objects.count(), cells


def test_it_ends_with_one_line_of_json_and_changes_nothing_the_second_time(recording: Path) -> None:
    manifest = json.loads((recording / "MANIFEST.json").read_text())
    told, _ = replay(recording, repo=NAME, branch="main")
    assert set(told) >= {"commits", "runs", "failures", "seconds"}
    assert (told["commits"], told["runs"], told["failures"]) == (6, manifest["jobs"], manifest["failed_jobs"])
    before = stored()
    again, _ = replay(recording, repo=NAME, branch="main")
    assert {**again, "seconds": 0} == {**told, "seconds": 0}
    assert stored() == before


def test_a_limit_plays_the_newest_commits_alone(recording: Path) -> None:
    told, _ = replay(recording, repo="other/name", branch="main", limit=2)
    assert told["commits"] == 2
    assert Repository.objects.get().full_name == "other/name"
    assert Branch.objects.get(name="main").rows.count() == 2


def test_a_folder_that_holds_no_recording_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as refusal:
        replay(tmp_path / "nothing")
    assert "nothing" in str(refusal.value) and "Traceback" not in str(refusal.value)
