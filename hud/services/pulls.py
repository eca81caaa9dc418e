"""Writes what GitHub tells of pull requests: by events, by the API, and in passing by their workflow runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from hud.core.facts import PullFact
from hud.core.join import latest
from hud.models import PullRequest
from hud.services.batch import Batch

_TOLD = ("title", "author", "state", "head_sha", "base_ref", "base_sha", "merge_commit_sha")
_EVIDENCE = ("author", "head_sha", "base_ref", "base_sha")
"""What verdicts rest on; other commits' too, to which the pull request is a neighbour."""


@dataclass(slots=True)
class PullChanges:
    """Heads of the pull requests of which something is news: what verdicts rest on, or only labels."""

    changed: set[str] = field(default_factory=set)
    relabelled: set[str] = field(default_factory=set)


def write_pulls(batch: Batch, facts: list[PullFact]) -> PullChanges:
    """Join facts into the rows of pull requests, whatever their order."""
    changes = PullChanges()
    if not facts:
        return changes
    known = {
        row.number: row
        for row in PullRequest.objects.filter(repository=batch.repository, number__in={fact.number for fact in facts})
    }
    for fact in facts:
        row = known.setdefault(fact.number, PullRequest(repository=batch.repository, number=fact.number))
        _join(row, fact, changes)
    return changes


def _join(row: PullRequest, fact: PullFact, changes: PullChanges) -> None:
    made = row.pk is None
    before, labels = [getattr(row, name) for name in _EVIDENCE], list(row.labels)
    heads = sorted({fact.head_sha, fact.previous_head_sha, *row.head_shas} - {""})
    is_news = made or heads != row.head_shas
    row.head_shas = heads
    if fact.partial:
        is_news |= _fill(row, fact)
    elif made or _order(fact.updated_at, fact.head_sha, fact.labels) >= _order(
        row.updated_at, row.head_sha, tuple(row.labels)
    ):
        is_news |= any(getattr(row, name) != getattr(fact, name) for name in _TOLD)
        for name in _TOLD:
            setattr(row, name, getattr(fact, name))
        if fact.labels is not None:
            row.labels = list(fact.labels)
    merged, updated = row.merged or fact.merged, latest(row.updated_at, fact.updated_at)
    is_news |= merged != row.merged or updated != row.updated_at
    row.merged, row.updated_at = merged, updated
    if is_news or row.labels != labels:
        row.save()
    if made or [getattr(row, name) for name in _EVIDENCE] != before:
        changes.changed.update({row.head_sha, fact.head_sha, fact.previous_head_sha} - {""})
    if row.labels != labels:
        changes.relabelled.update(row.head_shas)


def _order(updated_at: datetime | None, head_sha: str, labels: tuple[str, ...] | None) -> tuple[float, str, int]:
    """Later words win. GitHub's times are whole seconds: of two in one second the one with more labels was the later
    one, since several labels are put on at once more often than one is put on and another taken off."""
    return _seconds(updated_at), head_sha, len(labels or ())


def _fill(row: PullRequest, fact: PullFact) -> bool:
    """Put a run's word in while nobody has told more: that of the run which spoke last. Returns whether that was
    news."""
    if row.updated_at is not None:
        return False
    told = (_seconds(fact.told_at), fact.head_sha, fact.base_ref, fact.base_sha)
    known = (_seconds(row.head_told_at), row.head_sha, row.base_ref, row.base_sha)
    if not fact.head_sha or told <= known:
        return False
    row.head_told_at, row.head_sha = fact.told_at, fact.head_sha
    row.base_ref, row.base_sha = fact.base_ref, fact.base_sha
    return True


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0
