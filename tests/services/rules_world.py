"""A repository with stored logs of failed runs, people who write rules, and a worker's turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import Group, User

from classifier import RuleSpec
from hud.models import Log, Repository, Rule, Run
from hud.services import logs, turns
from hud.services.rules import save_rule
from tests.factories import Trunk, make_trunk

PYTEST = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
BRAKE = "brake in gear: third of five"
RED_LOG = f"setting up\n{BRAKE}\n{PYTEST}\nthe end\n"


def brake_rule(**fields: object) -> RuleSpec:
    """A rule that finds BRAKE."""
    values: dict[str, object] = {
        "name": "brake",
        "pattern": r"^brake in gear: (\w+)",
        "category": "infra_resource",
        "priority": 95,
        "example": BRAKE,
        "near_miss": "the brake is in gear",
    }
    return RuleSpec(**{**values, **fields})  # type: ignore[arg-type]


@dataclass
class RulesWorld:
    """One job, red on every commit; `runs` oldest first, each with a stored log."""

    trunk: Trunk
    runs: list[Run] = field(default_factory=list)
    kim: User = field(default_factory=lambda: make_admin("kim"))

    @property
    def repository(self) -> Repository:
        return self.trunk.repository

    def save(self, spec: RuleSpec, *, for_all: bool = False, **more: object) -> Rule:
        """Save a new rule."""
        values: dict[str, object] = {"enabled": True, "reason": "for the test", **more}
        repository = None if for_all else self.repository
        return save_rule(who=self.kim, rule=None, repository=repository, spec=spec, **values)[0]  # type: ignore[arg-type]

    def change(self, rule: Rule, spec: RuleSpec, **more: object) -> Rule:
        """Save a new version of a rule."""
        rule.refresh_from_db()
        values: dict[str, object] = {"enabled": True, "reason": "for the test", "seen": rule.version, **more}
        return save_rule(who=self.kim, rule=rule, repository=rule.repository, spec=spec, **values)[0]  # type: ignore[arg-type]

    def primaries(self) -> list[str]:
        """The rules of the primary failures of all runs, oldest first."""
        return [run.failures.get(rank=0).rule for run in self.runs]


def make_admin(name: str) -> User:
    user = User.objects.create_user(name, password="long enough 1")
    user.groups.add(Group.objects.get_or_create(name="admin")[0])
    return user


def make_rules_world(texts: Sequence[str], full_name: str = "brindle/kestrel", **fields: object) -> RulesWorld:
    """Make a repository whose only job is red on each commit, with these logs, oldest first."""
    from tests.factories import make_repository

    repository = make_repository(full_name)
    trunk = make_trunk(["x"] * len(texts), ["CI / unit"], repository=repository, with_cells=True)
    world = RulesWorld(trunk, **fields)  # type: ignore[arg-type]
    for commit, text in zip(trunk.commits, texts, strict=True):
        run = Run.objects.get(commit=commit)
        logs.store_log(run=run, chunks=[text.encode()])
        world.runs.append(run)
    return world


def work_all() -> int:
    """Take a worker's turns until nothing waits. Returns how many."""
    count = 0
    while turns.work_one_turn():
        count += 1
    return count + 1


def versions_of_answers() -> set[str]:
    return set(Log.objects.values_list("classified_by", flat=True))
