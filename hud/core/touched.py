"""What is known of the paths that a commit touches, and how two words about it become one.

GitHub lists at most 300 files with a commit of its REST API and 3,000 in a push, and does not say that it left some
out: a list that is as long as that may be cut. A path that such a list lacks may be touched all the same.
"""

from collections.abc import Iterable
from typing import Literal

Lack = Literal["", "cut", "gone"]
"""What is amiss: `cut`, the list may lack some; `gone`, GitHub was asked and does not tell. "" with a list: it is
whole; "" without one: nobody told, and nobody asked."""
CUT: Lack = "cut"
GONE: Lack = "gone"

MOST_OF_ANSWER = 300
"""Files of one answer of the REST API."""
MOST_OF_PUSH = 3000
"""Files of one commit in a push event."""

Touched = tuple[list[str] | None, str]
"""(paths, lack), as they are stored."""


def join_touched(one: Touched, other: Touched) -> Touched:
    """Return the one that tells more: a whole list before a cut one, any list before none; of two alike the longer.

    A join like those of hud.core.join: in whatever order the words come, the same is left.
    """
    return max(one, other, key=_told)


def _told(touched: Touched) -> tuple[int, int, list[str]]:
    paths, lack = touched
    if paths is None:
        return int(lack == GONE), 0, []
    return 2 + int(lack != CUT), len(paths), paths


def touched(paths: Iterable[str], *, cut: bool) -> tuple[tuple[str, ...], Lack]:
    """Return told paths, each once and in order, with their lack."""
    return tuple(sorted(set(paths))), CUT if cut else ""
