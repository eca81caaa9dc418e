"""Scenarios with the right answer. The functions that build them are the tests' names; their docstrings say why."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.classifier.verdict.scene import Json

Expect = dict[str, Any]


def expect(verdict: str | list[str], blocks_merge: bool | list[bool], action: str | list[str]) -> Expect:
    """A list means that any of its values is right."""
    return {"verdict": verdict, "blocks_merge": blocks_merge, "action": action}


FIX = expect("regression", True, "fix")
LOOK = expect("unknown", True, "look")
WAIT = expect("broken_trunk", False, "wait")
RERUN = expect("flaky", False, "rerun")
INFRA = expect("infra", True, "rerun")
IGNORE = expect("unstable", False, "ignore")


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    title: str
    build: Callable[[], Json]
    expect: Expect

    def as_dict(self) -> Json:
        """The shape of the handed scenarios."""
        return {
            "id": self.name.replace("_", "-"),
            "title": self.title,
            "source": self.source,
            "scenario": self.build(),
            "expect": self.expect,
        }


def cases_of(known: list[Case]) -> Callable[[str, Expect], Callable[[Callable[[], Json]], Callable[[], Json]]]:
    """A decorator that puts the built scenario into `known`."""

    def case(source: str, right: Expect) -> Callable[[Callable[[], Json]], Callable[[], Json]]:
        def add(build: Callable[[], Json]) -> Callable[[], Json]:
            known.append(Case(build.__name__, source, " ".join((build.__doc__ or "").split()), build, right))
            return build

        return add

    return case


def is_right(answer: Json, right: Expect) -> bool:
    return all(answer[key] in (value if isinstance(value, list) else [value]) for key, value in right.items())
