"""Tries a rule that is not saved on the stored logs: what would change, log by log, and how often. Nothing is changed.

Newest logs first, in turns beside the worker's other tasks (hud.services.logwork), with a limit of time.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from classifier import Failure as FoundFailure
from classifier import RuleSpec
from hud.clients.logstore import LogDamagedError, LogNotFoundError
from hud.core.ruleform import spec_of, stored_spec
from hud.core.text import storable
from hud.models import Failure, Log, Repository, Rule, RuleTrial, Run, TrialChange
from hud.services import logwork
from hud.services.engines import Reader, engine_for, reader_of, ruleset_of, ruleset_with, state_of_rules, version_name
from hud.services.logs import Classifying, annotations_of, log_store
from hud.services.logwork import Turn
from hud.services.reclassify import readable_logs
from hud.services.reported import with_reported_tests

Person = AbstractBaseUser | AnonymousUser

BATCH = 40
MOST_CHANGES_KEPT = 5_000
"""Changes that are kept to be looked at; counted are all."""
TIME_LIMIT_S = 1_800.0
"""How long a trial may work, waiting left out."""
MOST_WAITING = 5
KEPT = timedelta(days=14)

Primary = dict[str, Any] | None
"""What the page shows of a primary failure: rule, category, signature, line, line_number."""


class TooManyTrials(ValueError):
    """So many trials wait already; the message says what to do."""


@transaction.atomic
def start_trial(
    *,
    who: Person,
    rule: Rule | None,
    repository: Repository | None,
    spec: RuleSpec,
    enabled: bool,
    seen: int,
    most_logs: int = 0,
) -> RuleTrial:
    """Have a rule tried by the worker. A trial of the same rule by the same person that goes on is given up for it."""
    name = storable(who.get_username(), 150)
    RuleTrial.objects.exclude(state="waiting").filter(finished_at__lt=timezone.now() - KEPT).delete()
    mine = RuleTrial.objects.filter(state="waiting", author=name, rule=rule, repository=repository)
    _give_up(mine, "Another trial of the rule was begun.")
    if RuleTrial.objects.filter(state="waiting").count() >= MOST_WAITING:
        raise TooManyTrials(f"{MOST_WAITING} trials are at work already. Wait for one of them, or cancel it.")
    return RuleTrial.objects.create(
        rule=rule,
        repository=repository,
        spec=stored_spec(spec),
        enabled=enabled,
        seen=seen,
        author=name,
        most_logs=most_logs,
        rules_state=state_of_rules(repository.pk if repository else None),
    )


def cancel_trial(*, who: Person, trial: RuleTrial) -> bool:
    """Stop a trial; what it found so far stays. Returns whether it was still going on."""
    return bool(_give_up(RuleTrial.objects.filter(pk=trial.pk, state="waiting"), f"{who.get_username()} cancelled it."))


def _give_up(rows: QuerySet[RuleTrial], message: str) -> int:
    return rows.update(
        state="cancelled", message=storable(message, 1000), finished_at=timezone.now(), claimed_until=None
    )


def go_on(turn: Turn) -> bool:
    """Work until the turn is over. Returns whether the trial is. Raises Taken where it was cancelled meanwhile."""
    trial: RuleTrial = turn.work
    if state_of_rules(trial.repository_id) != trial.rules_state:
        logwork.finish(turn, "failed", "The rules were changed meanwhile: these answers no longer hold. Try it again.")
        return True
    if not trial.total:
        count = _logs_of(trial).count()
        trial.total = min(count, trial.most_logs or count)
        turn.note(total=trial.total)
    counted = _Counts(trial)
    while True:
        batch = _next_logs(trial)
        if not batch:
            _finish(turn, counted, "done", "")
            return True
        if trial.spent_s + turn.spent_s > TIME_LIMIT_S:
            minutes = TIME_LIMIT_S / 60
            _finish(turn, counted, "failed", f"It stopped after {minutes:.0f} minutes of work. Try it on fewer logs.")
            return True
        for log in batch:
            counted.look_at(log, turn)
            if turn.is_time_to_note or turn.is_over:
                counted.note(turn)
            if turn.is_over:
                return False


def _finish(turn: Turn, counted: _Counts, state: str, message: str) -> None:
    with transaction.atomic():
        counted.note(turn)
        logwork.finish(turn, state, message)


def _logs_of(trial: RuleTrial) -> QuerySet[Log]:
    found = readable_logs()
    return found.filter(run__repository_id=trial.repository_id) if trial.repository_id else found


def _next_logs(trial: RuleTrial) -> list[Log]:
    left = BATCH if not trial.most_logs else min(BATCH, trial.most_logs - trial.done)
    rows = _logs_of(trial).filter(pk__lt=trial.cursor) if trial.cursor else _logs_of(trial)
    rows = rows.select_related("run").prefetch_related("run__failures", "run__annotations")
    return list(rows.order_by("-pk")[:left])


class _Counts:
    """What was found since it was last noted. Changes and counts are noted together, or not at all."""

    def __init__(self, trial: RuleTrial) -> None:
        self._trial = trial
        self._spec = spec_of(trial.spec)
        self._changes: list[TrialChange] = []
        self._readers: dict[int, tuple[Reader, Reader]] = {}

    def look_at(self, log: Log, turn: Turn) -> None:
        """Read a log by the rules of now, where its answers are not of them, and with the rule that is tried."""
        trial = self._trial
        trial.cursor, trial.done = log.pk, trial.done + 1
        repository_id = log.run.repository_id
        if repository_id not in self._readers:
            readers = reader_of(repository_id), tried_reader(trial, self._spec, repository_id)
            self._readers[repository_id] = readers
        try:
            before, after = _both(log, *self._readers[repository_id], turn)
        except (LogNotFoundError, LogDamagedError):
            trial.unreadable += 1
            return
        trial.fires += any(f.rule == self._spec.name for f in after) and trial.enabled
        trial.leads += bool(after and after[0].rule == self._spec.name) and trial.enabled
        self._compare(log.run, before, told(after[0]) if after else None)

    def _compare(self, run: Run, before: Primary, after: Primary) -> None:
        difference = Difference.between(before, after)
        if not difference.any:
            return
        trial = self._trial
        trial.changed += 1
        trial.primary_changes += difference.primary
        trial.category_changes += difference.category
        trial.signature_changes += difference.signature
        if trial.changed <= MOST_CHANGES_KEPT:
            kinds = {"primary": difference.primary, "category": difference.category, "signature": difference.signature}
            self._changes.append(TrialChange(trial=trial, run=run, before=before, after=after, **kinds))

    def note(self, turn: Turn) -> None:
        """Write counts and changes."""
        with transaction.atomic():
            turn.note(**{name: getattr(self._trial, name) for name in _NUMBERS})
            TrialChange.objects.bulk_create(self._changes, ignore_conflicts=True)
        self._changes = []


_NUMBERS = (
    "cursor",
    "done",
    "changed",
    "unreadable",
    "fires",
    "leads",
    "primary_changes",
    "category_changes",
    "signature_changes",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two primary failures."""

    primary: bool
    category: bool
    signature: bool

    @classmethod
    def between(cls, before: Primary, after: Primary) -> Difference:
        old, new = before or {}, after or {}
        place = ("rule", "line_number", "line")
        return cls(
            primary=any(old.get(name) != new.get(name) for name in place),
            category=old.get("category") != new.get("category"),
            signature=old.get("signature") != new.get("signature"),
        )

    @property
    def any(self) -> bool:
        return self.primary or self.category or self.signature


def told(failure: Failure | FoundFailure) -> Primary:
    """Return what is kept of a primary failure, the same for a stored and a found one."""
    return {
        "rule": storable(failure.rule, 200),
        "category": failure.category,
        "signature": storable(failure.signature, 300),
        "line": storable(failure.line, 1000),
        "line_number": failure.line_number,
    }


def tried_reader(trial: RuleTrial, spec: RuleSpec, repository_id: int) -> Reader:
    """Return what would read a repository's logs if the tried rule were saved."""
    if trial.enabled:
        ruleset = ruleset_with(repository_id, spec, own=trial.repository_id is not None, without=trial.rule_id)
    else:
        ruleset = ruleset_of(repository_id, without=trial.rule_id)
    return Reader(engine_for(ruleset), version_name(ruleset))


def _both(log: Log, now: Reader, tried: Reader, turn: Turn) -> tuple[Primary, tuple[FoundFailure, ...]]:
    """Return the primary failure by the rules of now, and all by those that are tried, from one reading of the log."""
    stored = log.classified_by == now.version
    readings = [Classifying(tried)] if stored else [Classifying(tried), Classifying(now)]
    if log.status == Log.Status.STORED:
        with closing(log_store().aligned(log.key)) as chunks:
            for chunk in chunks:
                for reading in readings:
                    reading.feed(chunk)
                turn.alive()
    found = [reading.finish(annotations_of(log.run)) for reading in readings]
    after, *others = (with_reported_tests(log.run, failures) for failures in found)
    before: list[Any] = [*others[0]] if others else [*log.run.failures.all()]
    return told(before[0]) if before else None, tuple(after)
