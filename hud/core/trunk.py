"""Which commits are the rows of a branch, and in which order: first parents, from the head down.

Dates order nothing here: they are equal, wrong or in the future often enough. Only `parents` tells the truth, and the
head is computed from all that was ever said about it, so that late and repeated pushes change nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_EPOCH = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Head:
    """A report that the branch pointed at `sha`. `at` is the time of the report, or of the commit where unknown."""

    sha: str
    before: str = ""
    forced: bool = False
    polled: bool = False
    at: datetime | None = None

    @property
    def key(self) -> tuple[bool, datetime, str]:
        return self.polled, self.at or _EPOCH, self.sha


def _chain(sha: str, parent_of: Mapping[str, str]) -> Iterable[str]:
    seen: set[str] = set()
    while sha in parent_of and sha not in seen:
        yield sha
        seen.add(sha)
        sha = parent_of[sha]


def _is_news(head: Head, poll: Head, parent_of: Mapping[str, str]) -> bool:
    """A push that the poll could not see yet: later by the clock, or standing on what the poll saw."""
    if head.at and poll.at and head.at > poll.at:
        return True
    return head.sha != poll.sha and poll.sha in _chain(head.sha, parent_of)


def candidate_heads(heads: Iterable[Head], parent_of: Mapping[str, str]) -> list[Head]:
    """Return the heads that can be the newest, best first.

    Dropped are: what a forced push left behind, reports older than the newest poll, and heads that lie on the
    first-parent chain of another.
    """
    heads = list(heads)
    polls = [h for h in heads if h.polled]
    if polls:
        newest_poll = max(polls, key=lambda h: h.key)
        heads = [newest_poll] + [h for h in heads if not h.polled and _is_news(h, newest_poll, parent_of)]
    left_behind = {h.before for h in heads if h.forced and h.before}
    best: dict[str, Head] = {}
    for head in heads:
        if head.sha in parent_of and head.sha not in left_behind:
            known = best.get(head.sha)
            best[head.sha] = max(known, head, key=lambda h: h.key) if known else head
    below: set[str] = set()
    for sha in best:
        chain = iter(_chain(sha, parent_of))
        next(chain, None)
        for ancestor in chain:
            if ancestor in below:
                break
            below.add(ancestor)
    return sorted((h for h in best.values() if h.sha not in below), key=lambda h: (h.at or _EPOCH, h.sha), reverse=True)


def arrange(heads: Iterable[Head], parent_of: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the shas of the branch's rows, newest first, and the parents that rows ask for but nobody told about.

    `parent_of` maps every known commit to its first parent ("" where it has none or it is unknown). Where a parent is
    missing (events were lost, the back-fill is not there yet), the next older head continues below the gap.
    """
    rows: list[str] = []
    missing: list[str] = []
    placed: set[str] = set()
    for head in candidate_heads(heads, parent_of):
        segment = list(_chain(head.sha, parent_of))
        if any(sha in placed for sha in segment):
            continue  # a side line that left the trunk: pushed away, or never part of it
        rows.extend(segment)
        placed.update(segment)
        if parent_of[segment[-1]]:
            missing.append(parent_of[segment[-1]])
    return rows, missing


def head_of(parents_of: Mapping[str, Iterable[str]]) -> str:
    """Return the head of a commit list: the first one that is no parent of any other. "" for an empty list.

    The list comes ordered by dates, which are not to be trusted: a commit of a merged branch may stand first.
    """
    stood_on = {parent for parents in parents_of.values() for parent in parents}
    return next((sha for sha in parents_of if sha not in stood_on), next(iter(parents_of), ""))
