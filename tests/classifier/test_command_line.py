"""`python -m classifier`: one log in, one JSON object out."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest
import zstandard

from classifier.__main__ import main

LOG = b"ok\nFAILED tests/test_a.py::test_x - assert 1\n##[error]Process completed with exit code 1.\n"


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(list(arguments)) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gz", "zst"])
def test_it_reads_plain_and_packed_logs(pack: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(pack(LOG))  # type: ignore[operator]
    found = answer(capsys, str(path))
    assert (found["lines"], found["bytes"], found["primary"]) == (3, len(LOG), 0)
    assert found["failures"][0] == {  # type: ignore[index]
        "rule": "pytest failed test",
        "category": "test",
        "line_number": 2,
        "line": "FAILED tests/test_a.py::test_x - assert 1",
        "captures": ["tests/test_a.py::test_x"],
        "signature": "pytest failed test | tests/test_a.py::test_x",
        "generic": False,
        "tests": ["tests/test_a.py::test_x"],
        "context": [],
        "step": None,
        "source": "log",
    }


def test_it_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    assert answer(capsys, "-")["primary"] == 0


def test_nothing_found_is_null_and_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.log"
    path.write_bytes(b"")
    assert answer(capsys, str(path)) == {"lines": 0, "bytes": 0, "primary": None, "failures": []}


def test_all_shows_echoes_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(LOG)
    assert len(answer(capsys, str(path))["failures"]) == 1  # type: ignore[arg-type]
    assert len(answer(capsys, str(path), "--all")["failures"]) == 2  # type: ignore[arg-type]


def test_rules_of_a_file_come_on_top(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, rules = tmp_path / "job.log", tmp_path / "extra.toml"
    log.write_bytes(b"TURBINE-12 overheated\n")
    rules.write_text('[[rule]]\nname = "turbine"\ncategory = "infra_service"\npriority = 99\npattern = "^TURBINE"\n')
    assert answer(capsys, str(log), "--rules", str(rules))["failures"][0]["rule"] == "turbine"  # type: ignore[index]


@pytest.mark.parametrize("content", [None, b"\x1f\x8b\x08 not really gzip", b"\x28\xb5\x2f\xfd not really zstd"])
def test_an_unreadable_file_is_one_line_on_stderr_and_exit_code_2(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.log.gz"
    if content is not None:
        path.write_bytes(content)
    assert main([str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("classifier: ")
    assert said.err.count("\n") == 1


def test_a_rules_file_that_is_wrong_is_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, rules = tmp_path / "job.log", tmp_path / "extra.toml"
    log.write_bytes(LOG)
    rules.write_text("[[rule]]\nname = 1\n")
    assert main([str(log), "--rules", str(rules)]) == 2
    assert "must be a text in quotes" in capsys.readouterr().err
