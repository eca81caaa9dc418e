"""What is decided step by step, as evidence comes in, is what would be decided of all of it at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from hud.models import Cell, Commit, Label, Verdict
from hud.services import verdicts
from hud.services.labels import set_label, undo_label
from tests.factories import NOON, Trunk, make_trunk
from tests.services.verdict_world import JOBS, fails, judge_all, open_pull, passes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

LINES = ("FAILED test_net.py::test_it - no", "FAILED test_disk.py::test_that - no", "")
STEPS = 20


class World:
    """Four pull requests beside a trunk, two of them of one author, to which things happen."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - to be repeatable
        self.trunk = make_trunk(["", "", "", "..."], JOBS, with_cells=True)
        self.kim = User.objects.create_user("kim")
        authors = {7: "dora", 8: "emil", 9: "flo", 10: "emil"}
        self.heads = [open_pull(self.trunk, n, author, base=-1 - n % 3) for n, author in authors.items()]

    def step(self) -> None:
        happen: list[Callable[[], None]] = (
            [self._fails] * 5 + [self._passes] * 2 + [self._dies, self._says, self._unsays]
        )
        self.random.choice(happen)()
        if self.random.random() < 0.5:
            judge_all()

    def _where(self) -> tuple[Commit, int]:
        on_trunk = self.random.random() < 0.4
        return self.random.choice(self.trunk.commits if on_trunk else self.heads), self.random.randrange(3)

    def _when(self) -> dict[str, object]:
        return {"completed_at": NOON + timedelta(minutes=self.random.randrange(600))}

    def _fails(self) -> None:
        commit, job = self._where()
        fails(commit, self.trunk, job, self.random.choice(LINES), **self._when())

    def _passes(self) -> None:
        commit, job = self._where()
        passes(commit, self.trunk, job, **self._when())

    def _dies(self) -> None:
        commit, job = self._where()
        fails(commit, self.trunk, job, "The runner was lost", category="infra_runner", tests=[], **self._when())

    def _says(self) -> None:
        red = list(Cell.objects.filter(state="failure").order_by("pk"))
        if red:
            cell = self.random.choice(red)
            label = self.random.choice(["regression", "infra", "flaky"])
            set_label(
                who=self.kim,
                repository=self.trunk.repository,
                commit=cell.commit,
                job=cell.job,
                label=label,
                reason="I looked.",
            )

    def _unsays(self) -> None:
        words = list(Label.objects.filter(undone_at=None).order_by("pk"))
        if words:
            undo_label(who=self.kim, word=self.random.choice(words))


def told(trunk: Trunk) -> dict[int, tuple[str, bool, str, frozenset[str]]]:
    rows = Verdict.objects.filter(repository=trunk.repository).select_related("run")
    return {row.run.external_id: (row.label, row.blocks, row.reason, frozenset(row.evidence)) for row in rows}


@pytest.mark.parametrize("seed", range(12))
def test_step_by_step_is_as_all_at_once(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    judge_all()
    step_by_step = told(world.trunk)
    verdicts.judge(world.trunk.repository, [head.pk for head in world.heads])
    assert step_by_step == told(world.trunk)
