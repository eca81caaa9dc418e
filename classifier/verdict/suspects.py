"""Who broke it: the commits between the last good and the first bad, ranked, and which runs would tell for sure.

A commit's weight starts equal for all and is multiplied by what speaks for and against it. Beside them all stands the
chance that nobody broke anything: that the job failed by itself, as often as its own history says it does. What speaks
for a commit speaks against chance, too.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal

import re2

from classifier.verdict.traces import Traces

Signal = Literal["red", "green"]

BREAK_RATE = 0.01
"""How often a commit breaks a job, before anything is known of it. Only its ratio to the flake rate matters."""
USUAL_FLAKE_RATE = 0.01
USUAL_SAMPLES = 100
"""What is taken for granted of a job that is not known: as if so many commits had been seen, failing by chance at the
usual rate. Few commits of its own move that little, many replace it."""
OUTSIDE = 0.01
"""What is always left to causes that no commit of this repository holds: a service, a tool's new version, the day."""
HEALED_BY_ITSELF = 4.0
"""How many times likelier chance is where the job was green again on a commit that repairs nothing."""
HEALED_PERHAPS = 2.0
"""The same where it is not known of all files whether that commit touches them."""

# How many times likelier (or less likely) a commit is the culprit, given what is seen. Chosen by hand: a revert is near
# to a confession, prose changes next to nothing; files that the failure names: classifier/verdict/traces.py.
REVERTED = 30.0
FOLLOW_UP = 3.0
PROSE_ONLY = 0.05
UNDONE = 0.05
SIBLING_RED_BEFORE = 0.1
SIBLING_GREEN_AFTER = 0.4

_REVERTS_SHA = re2.compile(r"(?i)reverts? (?:commit )?([0-9a-f]{7,40})\b")
_REVERTS_NUMBER = re2.compile(r"(?im)^\s*reverts? (?:[\w.-]+/[\w.-]+)?#(\d+)\b")
_REVERTS_TITLE = re2.compile(r'(?i)^\s*(?:back ?out|revert):? "?(.+?)"?\s*$')
_MERGE = re2.compile(r"^Merge pull request #(\d+) from \S+?(?:/revert-(\d+)-\S*)?$")
_NUMBERED = re2.compile(r"\s*\(#(\d+)\)$")
_PROSE = frozenset({".md", ".rst", ".adoc", ".svg", ".png", ".jpg", ".gif"})
_PROSE_NAMES = frozenset({"license", "notice", "codeowners", "authors", "changelog", "contributing"})


@dataclass(frozen=True)
class GapCommit:
    """A commit after the last good and up to the first bad one. `files` are paths in the repository, None if not known;
    `cut`: it may touch more than those. `message`: all of it, where it is known.

    `sibling` says how a sibling configuration of the job ended on it: `red` only for the same failure.
    """

    sha: str
    author: str | None = None
    title: str = ""
    files: tuple[str, ...] | None = None
    sibling: Signal | None = None
    cut: bool = False
    message: str = ""


@dataclass(frozen=True)
class LaterCommit:
    """A commit after the first bad one. `message` is all of it; `healed`: on it the job was green first."""

    sha: str
    author: str | None = None
    message: str = ""
    files: tuple[str, ...] | None = None
    healed: bool = False
    cut: bool = False


@dataclass(frozen=True)
class FlakeRate:
    """The job's history on trunk: on how many of `samples` commits it failed without a cause in the code."""

    flips: int = 0
    samples: int = 0

    @property
    def chance(self) -> float:
        """Of one failure by chance: the seen rate, drawn towards the usual one as long as samples are few."""
        return (min(self.flips, self.samples) + USUAL_FLAKE_RATE * USUAL_SAMPLES) / (self.samples + USUAL_SAMPLES)


@dataclass(frozen=True)
class Suspect:
    """A commit, the probability that it is the culprit, and what speaks for or against it, in sentences."""

    sha: str
    author: str | None
    probability: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Ranking:
    """Suspects, likeliest first. Their probabilities, `chance` (that nobody did it) and `earlier` (that it began before
    the ranked commits) add up to 1."""

    suspects: tuple[Suspect, ...]
    chance: float
    reason: str
    earlier: float = 0.0


@dataclass(frozen=True)
class BisectPlan:
    """Run `jobs` on `commits` now (oldest first, `repeats` times each where the job fails by chance); after at most
    `rounds` such rounds the culprit is known. No commits: it is known already."""

    jobs: tuple[str, ...]
    commits: tuple[str, ...]
    rounds: int
    repeats: int
    reason: str


def rank_suspects(
    gap: Sequence[GapCommit],
    failure_texts: Iterable[str],
    tests: Iterable[str] = (),
    later: Sequence[LaterCommit] = (),
    flake_rate: FlakeRate | None = None,
    reds: int = 1,
    earlier: float = 0.0,
    prose_tells: bool = False,
) -> Ranking:
    """Ranks the commits of a gap (oldest first, the first bad one last).

    `failure_texts` are lines and captures of the failure, `tests` the failing test ids, `later` the commits after the
    first bad one (oldest first), `reds` the failing commits of the streak so far: chance does not repeat itself often.
    `earlier`: as many commits before these, of which nothing is known, may have done it. `prose_tells`: the job checks
    prose too.
    """
    if not gap:
        return Ranking((), 1.0, "No commit is known between the last good and the first bad one.")
    traces, undone = Traces(failure_texts, tests), _undone(gap)
    weights: list[float] = []
    reasons: list[tuple[str, ...]] = []
    for at, commit in enumerate(gap):
        clues = [*_file_clues(commit, traces, prose_tells), *_later_clues(commit, later)]
        clues += [*([undone[at]] if at in undone else ()), *_sibling_clues(gap, at)]
        weights.append(math.prod(weight for weight, _ in clues))
        reasons.append(tuple(reason for _, reason in clues))
    total = sum(weights) + earlier
    rate = flake_rate or FlakeRate()
    chance = _chance_of_flake(total, rate, reds, gap, later)
    suspects = [
        Suspect(commit.sha, commit.author, (1 - chance) * weight / total, why or _plain(commit, gap, earlier))
        for commit, weight, why in zip(gap, weights, reasons, strict=True)
    ]
    order = {commit.sha: at for at, commit in enumerate(gap)}
    suspects.sort(key=lambda suspect: (-suspect.probability, -order[suspect.sha]))
    before = (1 - chance) * earlier / total
    return Ranking(tuple(suspects), chance, _sentence(suspects, chance, rate, before), before)


def plan_bisection(
    gap: Sequence[GapCommit],
    ranking: Ranking,
    jobs: Sequence[str],
    at_once: int = 1,
    flake_rate: FlakeRate | None = None,
    below: str = "",
) -> BisectPlan:
    """The smallest set of runs to start now: `at_once` commits that part the probability into equal pieces.

    The first bad commit itself is known to be red, so a gap of one commit needs no run. `below`: the commit below the
    gap, where nobody saw the job pass on it: it comes first where the failure is likelier older than the gap.
    """
    repeats = _repeats(flake_rate or FlakeRate())
    if below and ranking.earlier > max(0.5 - ranking.chance, sum(suspect.probability for suspect in ranking.suspects)):
        reason = f"Nobody saw the job pass below the gap; a run on {below[:10]} tells whether it began earlier."
        return BisectPlan(tuple(jobs), (below,), 1, repeats, reason)
    if len(gap) < 2 and ranking.earlier:
        return BisectPlan(tuple(jobs), (), 0, repeats, "Only one commit can be told apart by running this job again.")
    if len(gap) < 2:
        return BisectPlan(tuple(jobs), (), 0, repeats, "Only one commit lies in the gap: it is the first bad one.")
    by_sha = {suspect.sha: suspect.probability for suspect in ranking.suspects}
    weights = [by_sha.get(commit.sha, 0.0) for commit in gap]
    cuts = _cuts(weights, max(1, at_once))
    rounds = _rounds(weights, max(1, at_once))
    shas = tuple(gap[cut].sha for cut in cuts)
    reason = (
        f"{len(gap)} commits lie in the gap; running on {', '.join(sha[:10] for sha in shas)} first parts them best,"
        f" and {rounds} {'round tells' if rounds == 1 else 'rounds at most tell'}."
    )
    return BisectPlan(tuple(jobs), shas, rounds, repeats, reason)


def _file_clues(commit: GapCommit, traces: Traces, prose_tells: bool) -> list[tuple[float, str]]:
    """The strongest clue of its files, or that it only touches prose."""
    if not commit.files:
        return []
    clues = [clue for clue in (traces.clue_of(path) for path in commit.files) if clue is not None]
    if clues:
        return [max(clues)]
    if not prose_tells and not commit.cut and all(_is_prose(path) for path in commit.files):
        return [(PROSE_ONLY, "touches prose and pictures only")]
    return []


def _later_clues(commit: GapCommit, later: Sequence[LaterCommit]) -> list[tuple[float, str]]:
    """Reverts and the author's own repairs among the commits that came after the first bad one."""
    clues: list[tuple[float, str]] = []
    files = frozenset(commit.files or ())
    for other in later:
        if _reverts(other.message, commit):
            healed = ", and the job was green again on it" if other.healed else ""
            return [(REVERTED * (5 if other.healed else 1), f"was reverted by {other.sha[:10]}{healed}")]
        returned = not clues and bool(commit.author) and commit.author == other.author
        if returned and not files.isdisjoint(other.files or ()):
            clues = [(FOLLOW_UP, f"its author came back to the same files in {other.sha[:10]}")]
    return clues


def _undone(gap: Sequence[GapCommit]) -> dict[int, tuple[float, str]]:
    """Commits that were reverted before the job failed, and the reverts that took them back: together they change
    nothing. By index; the newest revert counts first, so that one that was reverted itself takes back nothing."""
    clues: dict[int, tuple[float, str]] = {}
    for at in range(len(gap) - 1, 0, -1):
        message = gap[at].message or gap[at].title
        undone = next((i for i in range(at - 1, -1, -1) if i not in clues and _reverts(message, gap[i])), None)
        if undone is not None and at not in clues:
            clues[undone] = (UNDONE, f"was reverted by {gap[at].sha[:10]} before the job failed")
            clues[at] = (UNDONE, f"only takes back {gap[undone].sha[:10]}, which came after the last pass too")
    return clues


def _sibling_clues(gap: Sequence[GapCommit], at: int) -> list[tuple[float, str]]:
    """A sibling configuration that failed the same way earlier clears what came after it; one that passed later speaks
    for what came after, though less, since it is another configuration."""
    clues: list[tuple[float, str]] = []
    red = next((commit for commit in gap[:at] if commit.sibling == "red"), None)
    if red is not None:
        clues.append((SIBLING_RED_BEFORE, f"a sibling configuration failed the same way before it, on {red.sha[:10]}"))
    green = next((commit for commit in gap[at:] if commit.sibling == "green"), None)
    if green is not None:
        clues.append((SIBLING_GREEN_AFTER, f"a sibling configuration passed with it, on {green.sha[:10]}"))
    return clues


@dataclass(frozen=True)
class _Undoing:
    """What a message takes back: commits by the beginnings of their shas, pull requests by number, a title."""

    shas: tuple[str, ...]
    numbers: frozenset[str]
    title: str


@lru_cache(maxsize=4096)
def _undoing(message: str) -> _Undoing | None:
    """None where the message is no revert."""
    shas = tuple(sha.lower() for sha in _REVERTS_SHA.findall(message[:4000]))
    merge = _MERGE.match(message.split("\n", 1)[0].strip())
    numbers = frozenset([*_REVERTS_NUMBER.findall(message[:4000]), *([merge.group(2)] if merge else [])]) - {None}
    title = _bare(_reverted_title(_named(message)[0]))
    return _Undoing(shas, numbers, title) if shas or numbers or title else None


def _reverts(message: str, commit: GapCommit) -> bool:
    undoing = _undoing(message)
    if undoing is None:
        return False
    if commit.sha.startswith(undoing.shas):
        return True
    title, number = _named(commit.message or commit.title)
    return number in undoing.numbers or (bool(undoing.title) and undoing.title == _bare(title))


@lru_cache(maxsize=4096)
def _named(message: str) -> tuple[str, str]:
    """The title of a change and the number of its pull request, "" where it tells none. A merge has the title below."""
    lines = [line.strip() for line in message[:4000].split("\n") if line.strip()]
    merge = _MERGE.match(lines[0]) if lines else None
    if merge:
        return (lines[1] if len(lines) > 1 else lines[0]), merge.group(1)
    number = _NUMBERED.search(lines[0]) if lines else None
    return (lines[0] if lines else ""), (number.group(1) if number else "")


def _reverted_title(message: str) -> str:
    """What `Revert "Speed up the join (#12)" (#15)` reverts; empty where the message is no revert."""
    first = _NUMBERED.sub("", message.split("\n", 1)[0][:1000].strip())
    found = _REVERTS_TITLE.match(first)
    return found.group(1) if found else ""


def _chance_of_flake(
    weight: float, rate: FlakeRate, reds: int, gap: Sequence[GapCommit], later: Sequence[LaterCommit]
) -> float:
    """By Bayes: that all reds of the streak are chance, against that one of the commits broke the job. `weight`: of all
    commits together, 1 for one of which nothing is known."""
    by_chance = rate.chance ** max(1, reds)
    healers = [other for other in later if other.healed]
    if any(_reverted_title(other.message) for other in healers):
        by_chance /= 10
    elif healers and not any(_repairs(other, commit) for other in healers for commit in gap):
        all_known = all(map(_knows_all_files, healers)) and all(map(_knows_all_files, gap))
        by_chance *= HEALED_BY_ITSELF if all_known else HEALED_PERHAPS
    return max(OUTSIDE, by_chance / (by_chance + BREAK_RATE * weight))


def _repairs(later: LaterCommit, commit: GapCommit) -> bool:
    """It may be the repair: by the same author, or in the same files."""
    same_author = bool(commit.author) and commit.author == later.author
    return same_author or bool(set(commit.files or ()) & set(later.files or ()))


def _knows_all_files(commit: GapCommit | LaterCommit) -> bool:
    return commit.files is not None and not commit.cut


def _cuts(weights: Sequence[float], at_once: int) -> list[int]:
    """Indices whose runs part the weights into `at_once` + 1 pieces as equal as can be; never the last commit."""
    total = sum(weights) or 1.0
    sums = [so_far / total for so_far in accumulate(weights[:-1])]
    cuts: set[int] = set()
    for piece in range(1, min(at_once, len(sums)) + 1):
        free = [at for at in range(len(sums)) if at not in cuts]
        goal = piece / (at_once + 1)
        cuts.add(min(free, key=lambda at: (abs(sums[at] - goal), abs(at - len(sums) * goal), at)))
    return sorted(cuts)


def _rounds(weights: Sequence[float], at_once: int) -> int:
    """Rounds until one commit is left, whatever the runs say: each leaves one of the pieces between its cuts."""
    rounds, pieces = 0, [list(weights)]
    while pieces := [piece for piece in pieces if len(piece) > 1]:
        rounds += 1
        pieces = [part for piece in pieces for part in _parted(piece, at_once)]
    return rounds


def _parted(piece: list[float], at_once: int) -> list[list[float]]:
    """A run on a cut tells whether the culprit is at or before it."""
    edges = [0, *(cut + 1 for cut in _cuts(piece, at_once)), len(piece)]
    return [piece[start:end] for start, end in pairwise(edges)]


def _repeats(rate: FlakeRate) -> int:
    """How many reds in a row on one commit leave less than 5 % to chance."""
    return max(1, math.ceil(math.log(0.05) / math.log(rate.chance))) if rate.samples else 1


def _plain(commit: GapCommit, gap: Sequence[GapCommit], earlier: float) -> tuple[str, ...]:
    if len(gap) == 1 and not earlier:
        return ("the only commit between the last good and the first bad one",)
    if commit is gap[-1]:
        return ("the first commit on which the job failed",)
    return ("the job gave no signal on it",)


def _sentence(suspects: Sequence[Suspect], chance: float, rate: FlakeRate, earlier: float) -> str:
    first = suspects[0]
    if chance > 0.5:
        seen = f"{rate.flips} of its {rate.samples} commits failed without a cause in the code"
        why = (
            f"the job fails by chance: {seen}" if rate.chance > 2 * USUAL_FLAKE_RATE else "nothing speaks for a commit"
        )
        return f"{'Most likely' if chance >= 0.7 else 'Perhaps'} nobody broke it ({chance:.0%}): {why}."
    if earlier > first.probability:
        how = "Likely" if earlier >= 0.5 else "Perhaps"
        return f"{how} it began before the commits that are ranked ({earlier:.0%})."
    sure = "almost surely" if first.probability >= 0.9 else "likely" if first.probability >= 0.5 else "perhaps"
    return f"It is {sure} {first.sha[:10]} ({first.probability:.0%}): {first.reasons[0]}."


def _is_prose(path: str) -> bool:
    """`requirements.txt` and `CMakeLists.txt` are none."""
    stem, extension = posixpath.splitext(posixpath.basename(path).lower())
    in_docs = extension == ".txt" and any(part in ("doc", "docs") for part in path.lower().split("/")[:-1])
    is_named_so = stem in _PROSE_NAMES and extension in ("", ".txt")
    return extension in _PROSE or is_named_so or (in_docs and stem not in ("requirements", "constraints"))


def _bare(title: str) -> str:
    """A title without the pull request's number, case and quotes."""
    bare: str = _NUMBERED.sub("", title.strip().strip('"'))
    return bare.strip().strip('"').casefold()
