"""A whole HUD for the tests that need one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.running import Hud


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short private folder that other users may pass through."""
    made = Path(tempfile.mkdtemp(prefix="hud-run-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def hud(folder: Path) -> Iterator[Hud]:
    made = Hud(folder / "data")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop()
