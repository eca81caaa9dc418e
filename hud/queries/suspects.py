"""Who broke a streak: the commits between last good and first bad, ranked, and what to run to know."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db.models import Count, Q

from classifier.verdict import Failure as Cause
from classifier.verdict import jobs
from classifier.verdict.failure import is_generic
from classifier.verdict.suspects import (
    BisectPlan,
    FlakeRate,
    GapCommit,
    LaterCommit,
    Ranking,
    Signal,
    Suspect,
    plan_bisection,
    rank_suspects,
)
from hud.core.cell import FAILING
from hud.core.cellcode import ABSENT, GREEN_CHARS
from hud.core.touched import CUT
from hud.models import Branch, BranchCommit, Cell, Commit, Failure, Job, Streak
from hud.queries.beginnings import beginning_of
from hud.queries.grid import repository_jobs
from hud.queries.jobrules import job_lists
from hud.queries.primaries import all_causes
from hud.queries.trunk_cells import full_name_of

MOST_GAP = 60
"""Commits of a gap of which the touched files are asked for."""
MOST_RANKED = 500
"""Commits of a gap that are ranked: a job that runs once a night skips some hundred."""
MOST_LATER = 60
COUNTED_ROWS = 300
SHOWN = 8
FEW_SAMPLES = 50
_READ_PROSE = ("docs", "lint", "sanity")
"""Kinds of jobs that check what is written for people, too."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A suspect with its commit."""

    commit: Commit
    suspect: Suspect

    @property
    def files_known(self) -> str:
        """What is known of its touched files: `whole`, `cut`, `gone` (GitHub does not tell them) or `unknown`."""
        return self.commit.files_lack or ("unknown" if self.commit.files is None else "whole")

    @property
    def percent(self) -> int:
        return round(self.suspect.probability * 100)


@dataclass(frozen=True, slots=True)
class Hunt:
    """A ranking of who broke a streak, or where it had several causes, of one of them. `cut`: the gap has more commits
    than were looked at. `to_run`: the plan's commits. `other`: where the job failed in another way last before it.
    `reds`: the failing commits."""

    streak: Streak
    reds: int
    first_bad: Commit
    last_good: Commit | None
    other: Commit | None
    ranking: Ranking
    suspects: tuple[Ranked, ...]
    more: int
    cut: bool
    plan: BisectPlan
    to_run: tuple[Commit, ...]
    flakes: FlakeRate

    @property
    def has_few_samples(self) -> bool:
        """Too little history to tell a job that fails by chance from one that somebody broke."""
        return self.flakes.samples < FEW_SAMPLES

    @property
    def chance_percent(self) -> int:
        return round(self.ranking.chance * 100)

    @property
    def earlier_percent(self) -> int:
        """How likely it is that it began before the commits that are ranked."""
        return round(self.ranking.earlier * 100)


class Span(Protocol):
    """Where a streak lies on its branch."""

    @property
    def first_bad(self) -> int: ...
    @property
    def last_bad(self) -> int: ...
    @property
    def last_good(self) -> int | None: ...
    @property
    def first_good_after(self) -> int | None: ...


def oldest_of_gap(span: Span) -> int:
    """Return the position below the gap: without a last good commit only the first bad one is looked at."""
    return span.last_good if span.last_good is not None else span.first_bad - 1


def gap_positions(span: Span) -> range:
    """Return the positions whose commits are suspects, oldest first; of a long gap the newest ones."""
    return range(max(oldest_of_gap(span), span.first_bad - MOST_GAP) + 1, span.first_bad + 1)


def later_positions(span: Span) -> range:
    """Return the positions after the first bad one where reverts and repairs are looked for, oldest first."""
    newest = span.last_bad if span.first_good_after is None else span.first_good_after
    return range(span.first_bad + 1, min(newest, span.first_bad + MOST_LATER) + 1)


def hunt_at(branch: Branch, job: Job, position: int) -> Hunt | None:
    """Return the hunt for the streak of the job that covers the position, or None. A fixed number of statements."""
    streak = Streak.objects.filter(branch=branch, job=job, first_bad__lte=position, last_bad__gte=position).first()
    return hunt_of(branch, job, streak, position) if streak else None


def hunt_of(branch: Branch, job: Job, streak: Streak, position: int | None = None) -> Hunt | None:
    """Return the hunt for a streak: for the cause that it has at the position, its first one without."""
    began = beginning_of(branch, job, streak, streak.first_bad if position is None else position)
    below = began.other if began.other is not None else oldest_of_gap(began)
    gap_from, newest = max(below, began.first_bad - MOST_RANKED), later_positions(began).stop
    places = Q(position__gte=gap_from, position__lt=newest) | Q(position__in=[below, oldest_of_gap(began)])
    rows = BranchCommit.objects.filter(places, branch=branch).select_related("commit").order_by("position")
    by_position = {row.position: row.commit for row in rows}
    gap = [commit for at, commit in by_position.items() if gap_from < at <= began.first_bad]
    if not gap:
        return None
    failures = began.news or _failures(began.job_id, gap[-1])
    siblings = _sibling_signals(job, gap, {f.told_signature for f in failures[:1] if not is_generic(f)})
    told = [_gap_commit(commit, siblings) for commit in gap]
    later = [
        LaterCommit(c.sha, c.author or None, c.message, _files(c), position == began.first_good_after, _is_cut(c))
        for position, c in by_position.items()
        if position > began.first_bad
    ]
    texts = [text for f in failures for text in (f.line, *f.captures)]
    tests = [test for f in failures for test in f.tests]
    flakes = _flake_rate(branch, {job.pk, began.job_id})
    earlier = began.earlier + gap_from - below
    prose = job_lists(job.repository_id).job_kinds().kind_of(full_name_of(job)) in _READ_PROSE
    ranking = rank_suspects(told, texts, tests, later, flakes, began.reds, earlier, prose)
    known_red = gap_from == began.other
    under = by_position.get(gap_from) if began.last_good != gap_from and not known_red else None
    plan = plan_bisection(told, ranking, [job.name], flake_rate=flakes, below=under.sha if under else "")
    commits = {commit.sha: commit for commit in by_position.values()}
    shown = [Ranked(commits[s.sha], s) for s in ranking.suspects[:SHOWN]]
    return Hunt(
        streak=streak,
        reds=began.reds,
        first_bad=gap[-1],
        last_good=by_position.get(began.last_good) if began.last_good is not None else None,
        other=by_position.get(began.other) if began.other is not None else None,
        ranking=ranking,
        suspects=tuple(shown),
        more=len(ranking.suspects) - len(shown),
        cut=gap_from > below,
        plan=plan,
        to_run=tuple(commits[sha] for sha in plan.commits),
        flakes=flakes,
    )


def _gap_commit(commit: Commit, siblings: Mapping[str, Signal]) -> GapCommit:
    author, sibling = commit.author or None, siblings.get(commit.sha)
    return GapCommit(commit.sha, author, commit.title, _files(commit), sibling, _is_cut(commit), commit.message)


def _failures(job_id: int, first_bad: Commit) -> tuple[Cause, ...]:
    """Return what was found in the run that speaks for the first bad cell, primary first."""
    run_id = Cell.objects.filter(commit=first_bad, job=job_id).values_list("run_id", flat=True).first() or 0
    return all_causes([run_id]).get(run_id, ())


def _files(commit: Commit) -> tuple[str, ...] | None:
    return None if commit.files is None else tuple(commit.files)


def _is_cut(commit: Commit) -> bool:
    return commit.files_lack == CUT


def _sibling_signals(job: Job, gap: Sequence[Commit], signatures: set[str]) -> dict[str, Signal]:
    """How sibling configurations ended on each commit: red only where one failed in the same way."""
    known = repository_jobs(job.repository_id)
    own = next((j.name.full for j in known.values() if j.job_id == job.pk), job.name)
    siblings = {column: j.job_id for column, j in known.items() if jobs.is_sibling(j.name.full, own)}
    red = set(
        Failure.objects.filter(
            rank=0,
            signature__in=signatures,
            run__commit_id__in=[commit.pk for commit in gap],
            run__job_id__in=list(siblings.values()),
        ).values_list("run__commit__sha", flat=True)
    )
    found: dict[str, Signal] = {}
    for commit in gap:
        characters = [commit.cells[column : column + 1] or ABSENT for column in siblings]
        if commit.sha in red:
            found[commit.sha] = "red"
        elif any(char in GREEN_CHARS for char in characters):
            found[commit.sha] = "green"
    return found


def _flake_rate(branch: Branch, job_ids: Collection[int]) -> FlakeRate:
    """On how many of the newest commits the job, whatever it is called, failed without a cause in the code. Where it
    gave both results, a person may say that the code was the cause."""
    newest = BranchCommit.objects.filter(branch=branch).order_by("-position").values("commit_id")[:COUNTED_ROWS]
    signal = Q(state="success") | Q(state__in=[state.value for state in FAILING])
    found = Cell.objects.filter(signal, job_id__in=job_ids, commit_id__in=newest).aggregate(
        flips=Count("pk", filter=Q(flaky=True, verdict="") | Q(verdict__in=("flaky", "infra"))), samples=Count("pk")
    )
    return FlakeRate(found["flips"], found["samples"])
