"""What rules by time would have seen in the stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import F, Min, Q, Window
from django.db.models.functions import Coalesce, Lead
from django.utils import timezone

from hud.core.alerts.clock_history import Spell, Wait, joined, silent_spells, unanswered_spells, waiting_spells
from hud.core.alerts.rules import RuleSpec
from hud.models import Branch, Run

MOST_GAPS = 2_000
MOST_WAITS = 20_000
WAITING = ("queued", "pending", "requested", "waiting")
"""Words of GitHub's for a run that no runner has taken yet."""
_ANSWERS = ("success", "failure", "timed_out", "startup_failure")


@dataclass(frozen=True, slots=True)
class ClockAlert:
    """A time in which a rule by time would have fired, with its reason."""

    spell: Spell
    reason: str


def stale_times(
    branch: Branch,
    spec: RuleSpec,
    names: Mapping[int, str],
    pushed: Sequence[tuple[int, datetime]],
    *,
    since: datetime,
    notes: list[str],
) -> list[ClockAlert]:
    """Return when the branch was stale. `names`: job id -> job; `pushed`: (commit id, its time), in branch order.

    Two statements at most.
    """
    found: list[Spell] = []
    if spec.stale_commits:
        answers = _first_answers(names, [commit_id for commit_id, _ in pushed])
        times = [(at, answers.get(commit_id)) for commit_id, at in pushed]
        found += unanswered_spells(times, at_least=spec.stale_commits)
        notes.append("A commit's own time stands for that of its push, which is not stored.")
    if spec.stale_s:
        found += silent_spells(
            _gaps(branch, spec, names, since, notes), limit=timedelta(seconds=spec.stale_s), now=timezone.now()
        )
        notes.append("A time before the first run that is stored is not known.")
    return [ClockAlert(spell, _why_stale(spec, spell)) for spell in joined(s for s in found if _is_in(s, since))]


def _is_in(spell: Spell, since: datetime) -> bool:
    return spell.ended is None or spell.ended >= since


def _why_stale(spec: RuleSpec, spell: Spell) -> str:
    parts = [f"Stale_Seconds={spec.stale_s}"] if spec.stale_s else []
    if spec.stale_commits:
        parts.append(f"Stale_Commits={spec.stale_commits}")
    if spell.count:
        parts.append(f"Commits_Without_Result={spell.count}")
    return ", ".join(parts)


def _first_answers(names: Mapping[int, str], commit_ids: Sequence[int]) -> dict[int, datetime]:
    """Return when the first result of each commit came."""
    runs = Run.objects.filter(
        job_id__in=list(names), commit_id__in=list(commit_ids), conclusion__in=_ANSWERS, completed_at__isnull=False
    )
    return dict(runs.order_by().values_list("commit_id").annotate(at=Min("completed_at")))


def _gaps(
    branch: Branch, spec: RuleSpec, names: Mapping[int, str], since: datetime, notes: list[str]
) -> list[tuple[datetime, datetime | None]]:
    """Return where no run finished for longer than the rule allows, from one run to the next; the last to now."""
    limit = timedelta(seconds=spec.stale_s)
    runs = Run.objects.filter(
        job_id__in=list(names), commit__places__branch=branch, status="completed", completed_at__gte=since - limit
    )
    following = Window(Lead("completed_at"), order_by=F("completed_at").asc())
    gaps = runs.annotate(following=following).filter(
        Q(following__gte=F("completed_at") + limit) | Q(following__isnull=True)
    )
    told = gaps.order_by("-completed_at").values_list("completed_at", "following")[:MOST_GAPS]
    found = [(last, after) for last, after in told if last is not None]
    if len(found) == MOST_GAPS:
        notes.append(f"Only the newest {MOST_GAPS:,} times without a finished run were looked at.")
    return found


def late_runs(
    branch: Branch, spec: RuleSpec, names: Mapping[int, str], *, since: datetime, notes: list[str]
) -> list[ClockAlert]:
    """Return when runs waited for longer than the rule allows. One statement."""
    limit = timedelta(seconds=spec.queue_s)
    runs = Run.objects.filter(job_id__in=list(names), commit__places__branch=branch).annotate(
        began=Coalesce("created_at", "started_at"), taken=Coalesce("started_at", "completed_at")
    )
    waits = Q(status__in=WAITING, began__lte=timezone.now() - limit)
    waited = ~Q(status__in=WAITING) & Q(taken__gte=F("began") + limit)
    told = runs.filter(waits | waited, began__gte=since - limit).order_by("-began")
    rows = list(told.values_list("job_id", "began", "taken", "status")[:MOST_WAITS])
    if len(rows) == MOST_WAITS:
        notes.append(f"Only the newest {MOST_WAITS:,} runs that waited for so long were looked at.")
    notes += [
        "A run that was cancelled while it waited counts until then, as far as GitHub told when that was.",
        "All stored commits are looked at here; the rule itself looks at the newest 50 at each time.",
    ]
    found = [Wait(names[job_id], began, None if status in WAITING else taken) for job_id, began, taken, status in rows]
    spells = waiting_spells(found, limit=limit, at_least=spec.min_jobs)
    reason = f"Queue_Seconds={spec.queue_s}, Number_of_Runs_Waiting="
    return [ClockAlert(replace(spell, count=0), f"{reason}{spell.count}") for spell in spells if _is_in(spell, since)]
