"""Names for logs. What belongs to the story stays the same from run to run; what belongs to the run changes."""

from collections.abc import Sequence

from hud.synthetic.dice import Dice
from hud.synthetic.words import AREAS

_SUBJECTS = (
    "renews",
    "survives_restart",
    "rejects_stale",
    "keeps_order",
    "merges",
    "round_trips",
    "expires",
    "recovers",
    "drains",
    "retries",
)
_OBJECTS = (
    "empty_page",
    "large_batch",
    "two_writers",
    "lost_packet",
    "slow_reader",
    "old_format",
    "clock_skew",
    "full_queue",
)


class Vocabulary:
    """Words for one run's log; `story` is shared by all runs with the same cause, `run` is this run's own."""

    def __init__(self, seed: object, story: object, run: object) -> None:
        self._story = Dice(f"{seed}/{story}")
        self._run = Dice(f"{seed}/{run}")
        self.area = self._story.pick(AREAS, "area")
        self.other_area = self._story.pick([area for area in AREAS if area != self.area], "other area")
        self.line = self.fixed_number("line", 31, 640)

    def fixed(self, options: Sequence[str], *key: object) -> str:
        return self._story.pick(options, *key)

    def fixed_number(self, key: str, low: int, high: int) -> int:
        return self._story.between(low, high, key)

    def number(self, key: object, low: int, high: int) -> int:
        return self._run.between(low, high, key)

    def hex(self, digits: int, key: object) -> str:
        return self._run.hex(digits, key)

    def seconds(self, key: object, top: int = 20) -> str:
        return f"{self._run.between(1, top * 100, key) / 100:.2f}"

    def snake(self, key: object = "test") -> str:
        """``keeps_order_two_writers``"""
        return f"{self._story.pick(_SUBJECTS, key, 's')}_{self._story.pick(_OBJECTS, key, 'o')}"

    def camel(self, key: object = "test") -> str:
        """``KeepsOrderTwoWriters``"""
        return "".join(word.title() for word in self.snake(key).split("_"))

    def passing(self, index: int) -> tuple[str, str]:
        """Area and name of the index-th thing that went well; the same in every run."""
        area = AREAS[(index * 5 + self.line) % len(AREAS)]
        return area, f"{_SUBJECTS[index % len(_SUBJECTS)]}_{_OBJECTS[index // 3 % len(_OBJECTS)]}"
