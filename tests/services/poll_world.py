"""A fake GitHub, its repository, and polls of it that share one gate, as workers do."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import time_machine
from django.utils import timezone

from hud.clients.github import GitHubClient, Limits, MemoryAnswers, MemoryLimits, Options, Retries
from hud.core.cellcode import ABSENT, LOOKS
from hud.models import Branch, BranchCommit, FollowRequest, Job, Repository, Run
from hud.services.follow import back_fill
from hud.services.ingest import Applied
from hud.services.poll import poll_branch
from tests.fakes.github import FakeGitHub, FakeRepository


@dataclass
class World:
    """What a test of the poller moves: time, GitHub, and one branch of HUD's."""

    github: FakeGitHub
    remote: FakeRepository
    traveller: time_machine.Traveller
    limits: Limits = field(default_factory=MemoryLimits)
    answers: MemoryAnswers = field(default_factory=MemoryAnswers)
    applied: list[Applied] = field(default_factory=list)

    def client(self) -> GitHubClient:
        options = Options(base_url=self.github.url, token="t" * 20, patience_s=0, retries=Retries(attempts=1))
        return GitHubClient(options, self.limits, self.answers, clock=_now_s, sleep=lambda seconds: None)

    def poll(self, branch: Branch) -> Branch:
        """Poll a branch; return its row as it is after that."""
        with self.client() as client:
            poll_branch(branch_id=branch.pk, client=client, after_commit=self.applied.append)
        return Branch.objects.get(pk=branch.pk)

    def back_fill(
        self, request: FollowRequest, progress: Callable[[FollowRequest], None] = lambda r: None
    ) -> FollowRequest:
        with self.client() as client:
            return back_fill(request_id=request.pk, client=client, after_commit=self.applied.append, progress=progress)

    def pass_time(self, seconds: float) -> None:
        self.traveller.shift(timedelta(seconds=seconds))

    def asked(self) -> list[str]:
        """Return the paths asked for since the last call, without /repos/owner/name."""
        paths = ["/" + path.split("/", 4)[4] if path.count("/") > 3 else "" for path in self.github.paths()]
        self.github.requests.clear()
        return paths


def _now_s() -> float:
    return timezone.now().timestamp()


def rows(branch: Branch) -> list[str]:
    """Return the shas of the branch's rows, newest first."""
    return list(BranchCommit.objects.filter(branch=branch).order_by("-position").values_list("commit__sha", flat=True))


def cells(repository: Repository) -> dict[tuple[str, str], str]:
    """Return (first two digits of the sha, job name) -> state of all cells, as the grid shows them."""
    commits = list(repository.commits.exclude(cells=""))
    # After the commits: a worker may add a job at any moment, and its column is there before its first cell.
    columns = {job.column: job.name for job in Job.objects.filter(repository=repository)}
    return {
        (commit.sha[:2], columns[number]): LOOKS[char].state.value
        for commit in commits
        for number, char in enumerate(commit.cells)
        if char != ABSENT
    }


def run_ids(repository: Repository) -> set[int]:
    return set(Run.objects.filter(repository=repository).values_list("external_id", flat=True))


def field_case(shared_data: Path, case_id: str) -> Any:
    """Return the input of a field case."""
    cases = json.loads((shared_data / "field-cases.json").read_text())
    return next(case for case in cases if case["id"] == case_id)["input"]
