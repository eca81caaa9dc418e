"""What tests of the poller and of the back-fill start from."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine

from tests.fakes.github import FakeGitHub, FakeRepository
from tests.services.payloads import FULL_NAME, commit
from tests.services.poll_world import World


@pytest.fixture
def world() -> Iterator[World]:
    """Noon of 2026-03-02; GitHub has brindle/kestrel with the commits c1 to c4 on main, and no run yet."""
    with time_machine.travel(datetime(2026, 3, 2, 12, 0, tzinfo=UTC), tick=False) as traveller, FakeGitHub() as github:
        remote = github.add(FakeRepository(FULL_NAME, 77))
        remote.commits = [commit(f"c{n}", *([f"c{n - 1}"] if n > 1 else []), minute=n) for n in (4, 3, 2, 1)]
        yield World(github, remote, traveller)
