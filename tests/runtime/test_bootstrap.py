"""The environment is made once, and again only when what it was made from has changed."""

import subprocess
import sys
from pathlib import Path

import pytest

from hud.runtime import bootstrap

RUN = ["requirements.txt"]
DEV = ["requirements.txt", "requirements-dev.txt"]


@pytest.fixture
def pip_calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """A checkout of two requirement files, and the pip commands that would have been run for it."""
    (tmp_path / "requirements.txt").write_text("django==5\n")
    (tmp_path / "requirements-dev.txt").write_text("pytest==9\n")
    calls: list[list[str]] = []

    def note(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(bootstrap, "CHECKOUT", str(tmp_path))
    monkeypatch.setattr(bootstrap, "works", lambda _python, _statement: True)
    monkeypatch.setattr(subprocess, "run", note)
    (tmp_path / "env").mkdir()
    return calls


def test_nothing_is_installed_twice(pip_calls: list[list[str]], tmp_path: Path) -> None:
    for _ in range(2):
        assert bootstrap.install(str(tmp_path / "env"), RUN) == 0
    assert len(pip_calls) == 1
    assert pip_calls[0][-1].endswith("/requirements.txt")


def test_changed_requirements_are_installed(pip_calls: list[list[str]], tmp_path: Path) -> None:
    bootstrap.install(str(tmp_path / "env"), RUN)
    (tmp_path / "requirements.txt").write_text("django==6\n")
    bootstrap.install(str(tmp_path / "env"), RUN)
    assert len(pip_calls) == 2


def test_the_environment_of_the_tests_is_enough_to_run(pip_calls: list[list[str]], tmp_path: Path) -> None:
    bootstrap.install(str(tmp_path / "env"), DEV)
    bootstrap.install(str(tmp_path / "env"), RUN)
    assert len(pip_calls) == 1


def test_the_environment_to_run_is_not_enough_for_the_tests(pip_calls: list[list[str]], tmp_path: Path) -> None:
    bootstrap.install(str(tmp_path / "env"), RUN)
    bootstrap.install(str(tmp_path / "env"), DEV)
    assert [call[-1].rsplit("/", 1)[1] for call in pip_calls] == ["requirements.txt", "requirements-dev.txt"]


def test_a_failed_installation_is_tried_again(
    pip_calls: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_options: subprocess.CompletedProcess(command, 1))
    assert bootstrap.install(str(tmp_path / "env"), RUN) == 1
    assert not (tmp_path / "env" / "installed").exists()


def test_too_old_a_python_is_told_which_one_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "OLDEST", (99, 0))
    assert bootstrap.main() == 1
    said = capsys.readouterr().out
    assert "HUD needs Python 99.0 or newer" in said
    assert sys.executable in said
    assert "make run PYTHON=" in said


def test_a_step_that_takes_too_long_is_ended_and_names_its_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INSTALL_TIMEOUT_S", "0.1")
    assert bootstrap.run([sys.executable, "-c", "import time; time.sleep(60)"]) == -1
    assert "was ended after 0.1 s; INSTALL_TIMEOUT_S raises this limit" in capsys.readouterr().out
