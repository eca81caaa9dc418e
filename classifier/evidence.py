"""What a pass over a log leaves behind: hits of rules, and what markers said about steps and attempts."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from classifier.rules import RuleSpec

HITS_KEPT_AT_EACH_END: Final = 60
"""Of a rule that hits often, the first and the last hits are kept."""

TESTS_LIMIT: Final = 20_000


@dataclass
class Step:
    """A step of the job, as far as the log tells: its name and how it ended."""

    name: str | None = None
    failed: bool = False
    passed: bool = False
    post: bool = False


@dataclass
class Hit:
    """A rule that matched a line. `scope` is the test that printed the line, where the log tells."""

    rule: RuleSpec
    line_number: int
    line: str
    captures: tuple[str, ...]
    tests: tuple[str, ...]
    context: tuple[str, ...]
    step: Step
    scope: str | None = None
    retried: bool = False
    dropped: bool = False
    source: str = "log"


@dataclass
class RuleHits:
    """The hits of one rule in bounded memory: the first ones, the last ones, and the names of all tests."""

    first: list[Hit] = field(default_factory=list)
    last: deque[Hit] = field(default_factory=lambda: deque(maxlen=HITS_KEPT_AT_EACH_END))
    tests: dict[str, Hit] = field(default_factory=dict)
    latest: dict[tuple[str, ...], Hit] = field(default_factory=dict)

    def knows(self, captures: tuple[str, ...], step: Step) -> bool:
        """Whether the same was seen in this step already, and not only in an attempt that was made again."""
        hit = self.latest.get(captures)
        return hit is not None and hit.step is step and not hit.retried and not hit.dropped

    def has_enough(self, rule: RuleSpec, step: Step) -> bool:
        """Whether more hits in this step could tell nothing new: the first ones stand for the rule."""
        if len(self.first) < HITS_KEPT_AT_EACH_END or rule.pick != "first" or self.tests:
            return False
        last = self.first[-1]
        return last.step is step and last.scope is None and not last.retried and not last.dropped

    def add(self, hit: Hit) -> None:
        """Keeps the hit: among the first, or else among the last ones."""
        if len(self.first) == HITS_KEPT_AT_EACH_END:
            self.first = [known for known in self.first if not known.dropped]
        if len(self.first) < HITS_KEPT_AT_EACH_END:
            self.first.append(hit)
        else:
            self.last.append(hit)
        if len(self.latest) < TESTS_LIMIT:
            self.latest[hit.captures] = hit
        for test in hit.tests:
            known = self.tests.get(test)
            if len(self.tests) < TESTS_LIMIT and (known is None or known.retried or known.dropped):
                self.tests[test] = hit

    def all(self) -> list[Hit]:
        """The hits that were kept, in order."""
        return [*self.first, *self.last]
