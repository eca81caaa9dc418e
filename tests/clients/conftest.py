"""A fake GitHub, a log host, a clock that tests move, and a client between them."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from hud.clients.github import GitHubClient, Limits, MemoryAnswers, MemoryLimits, Options, Retries
from tests.fakes.github import BlobHost, FakeGitHub, FakeRepository

TOKEN = "ghp_not-a-real-token-0123456789"


class Clock:
    """A clock that only moves when told to; sleeping moves it and is written down."""

    def __init__(self) -> None:
        self.now_s = float(int(time.time()))
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def github(clock: Clock) -> Iterator[FakeGitHub]:
    with FakeGitHub() as server:
        server.clock = clock
        yield server


@pytest.fixture
def blob() -> Iterator[BlobHost]:
    with BlobHost() as server:
        yield server


@pytest.fixture
def kestrel(github: FakeGitHub) -> FakeRepository:
    return github.add(FakeRepository("brindle/kestrel", 77))


@pytest.fixture
def limits(clock: Clock) -> MemoryLimits:
    return MemoryLimits(clock=clock)


@pytest.fixture
def connect(github: FakeGitHub, clock: Clock, limits: MemoryLimits) -> Iterator[Callable[..., GitHubClient]]:
    """Make clients of the fake; they share limits unless given others. Keywords are Options' fields."""
    made: list[GitHubClient] = []

    def make(
        own_limits: Limits | None = None, *, interactive: bool = False, resolve: Any = None, **options: Any
    ) -> GitHubClient:
        chosen = Options(base_url=github.url, token=TOKEN, retries=Retries(attempts=3, base_s=1), patience_s=0)
        client = GitHubClient(
            replace(chosen, **options),
            own_limits or limits,
            MemoryAnswers(),
            interactive=interactive,
            resolve=resolve,
            clock=clock,
            sleep=clock.sleep,
            jitter=lambda: 1.0,
        )
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(connect: Callable[..., GitHubClient]) -> GitHubClient:
    return connect()


def commit(sha: str, *parents: str, at: str = "2026-03-02T09:00:00Z") -> dict[str, Any]:
    """Return a commit as GitHub lists it."""
    person = {"name": "Ida Moor", "email": "dev@example.invalid", "date": at}
    return {
        "sha": sha,
        "commit": {"message": f"Step {sha[:2]}", "author": person, "committer": person},
        "author": {"login": "ida"},
        "parents": [{"sha": parent} for parent in parents],
    }


def run(run_id: int, sha: str, *, at: str = "2026-03-02T09:00:00Z", branch: str = "main") -> dict[str, Any]:
    """Return the parts of a workflow run that listing looks at."""
    return {"id": run_id, "head_sha": sha, "head_branch": branch, "event": "push", "created_at": at, "run_attempt": 1}
