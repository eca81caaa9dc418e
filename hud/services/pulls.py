"""Writes what GitHub tells of pull requests: by events, by the API, and in passing by their workflow runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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
    before, evidence = _kept(row), [getattr(row, name) for name in _EVIDENCE]
    row.head_shas = sorted({fact.head_sha, fact.previous_head_sha, *row.head_shas} - {""})
    if fact.partial:
        _fill(row, fact)
    elif made or _seconds(fact.updated_at) >= _seconds(row.updated_at):
        _take(row, fact, is_later=made or _seconds(fact.updated_at) > _seconds(row.updated_at))
    row.merged, row.updated_at = row.merged or fact.merged, latest(row.updated_at, fact.updated_at)
    if made or _kept(row) != before:
        row.save()
    if made or [getattr(row, name) for name in _EVIDENCE] != evidence:
        changes.changed.update({row.head_sha, fact.head_sha, fact.previous_head_sha} - {""})
    if list(row.labels) != before["labels"]:
        changes.relabelled.update(row.head_shas)


def _kept(row: PullRequest) -> dict[str, Any]:
    """What stands in the row: not the very lists, which may be changed in place."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    return {name: list(value) if isinstance(value, list) else value for name, value in values.items()}


def _take(row: PullRequest, fact: PullFact, *, is_later: bool) -> None:
    """Put the word of an event or of the API in. Unless it `is_later`, it is of the same second as what is known:
    GitHub's times are whole seconds. Of the heads told in one second that holds which none was pushed over it."""
    told = set() if is_later else {row.head_sha, *row.second_told}
    over = set() if is_later else {*row.second_over}
    told, over = (told | {fact.head_sha}) - {""}, (over | {fact.previous_head_sha}) - {""}
    if is_later or _order(fact.state, fact.labels, fact.head_sha) >= _order(row.state, row.labels, row.head_sha):
        for name in _TOLD:
            setattr(row, name, getattr(fact, name))
        if fact.labels is not None:
            row.labels = list(fact.labels)
    row.head_sha = max(told - over or told)
    row.second_told, row.second_over = sorted(told), sorted(over)


def _order(state: str, labels: Collection[str] | None, head_sha: str) -> tuple[bool, int, str]:
    """Which of two words in one second is the later one. Who closes it has labelled it before, and several labels are
    put on at once more often than one is put on and another taken off."""
    return state != "open", len(labels or ()), head_sha


def _fill(row: PullRequest, fact: PullFact) -> None:
    """Put a run's word in while nobody has told more: that of the run which spoke last."""
    if row.updated_at is not None:
        return
    told = (_seconds(fact.told_at), fact.head_sha, fact.base_ref, fact.base_sha)
    known = (_seconds(row.head_told_at), row.head_sha, row.base_ref, row.base_sha)
    if not fact.head_sha or told <= known:
        return
    row.head_told_at, row.head_sha = fact.told_at, fact.head_sha
    row.base_ref, row.base_sha = fact.base_ref, fact.base_sha


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0
