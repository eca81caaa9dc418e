"""Alerts that come from time passing, not from results: nothing ran for long, or runs wait for long."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from hud.core.ago import span_words
from hud.core.alerts.rules import QUEUE_TIME, STALE, RuleSpec, spec_of
from hud.core.alerts.telling import goes_on
from hud.core.alerts.words import commits, listed
from hud.core.viable import SIGNAL_CHARS
from hud.models import Alert, AlertEvent, AlertRule, Branch, BranchCommit, Run
from hud.queries.alert_clock_history import WAITING
from hud.queries.alert_rows import JobTable
from hud.queries.finished_runs import has_finished_since, last_finished
from hud.services.live import tell_banners_changed, tell_other_alerts_fire
from hud.services.locks import lock_repository
from hud.services.telling import tell

logger = logging.getLogger(__name__)

KINDS_BY_TIME = (STALE, QUEUE_TIME)
_NEWEST_ROWS = 50


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong by the clock, since when, about which jobs."""

    title: str
    reason: str
    since: datetime
    jobs: tuple[str, ...] = ()
    last: datetime | None = None
    """When the last run finished, where its age is what is wrong."""


def evaluate_by_clock() -> int:
    """Look at all rules by time. Returns how many alerts of theirs fire. One that fails does not stop the others."""
    fires = 0
    rules = AlertRule.objects.filter(spec__kind__in=KINDS_BY_TIME).select_related("repository")
    for rule in rules:
        branch = Branch.objects.select_related("repository").filter(**_looked_at(rule)).first()
        try:
            fires += _evaluate(rule, branch) if branch is not None else False
        except Exception:  # whatever it is: it is looked at again in seconds, and others must not wait
            logger.exception("the alert rule %s of %s could not be evaluated", rule.pk, rule.repository.full_name)
    _end_what_no_rule_looks_at()
    return fires


def _looked_at(rule: AlertRule) -> dict[str, object]:
    return {"repository": rule.repository, "name": spec_of(rule.spec).branch or rule.repository.default_branch}


def _end_what_no_rule_looks_at() -> None:
    """End alerts by time whose rule has become another one, or looks at another branch now."""
    firing = Alert.objects.filter(kind__in=KINDS_BY_TIME).exclude(state=Alert.State.RESOLVED)
    for alert in firing.select_related("rule__repository", "branch"):
        looked_at = alert.rule.spec.get("kind") == alert.kind and alert.branch.name == _looked_at(alert.rule)["name"]
        if not looked_at:
            _end_one(alert.pk)


@transaction.atomic
def _end_one(alert_id: int) -> None:
    alert = Alert.objects.select_for_update().exclude(state=Alert.State.RESOLVED).filter(pk=alert_id).first()
    if alert is not None:
        _resolve(alert, "Ended: its rule looks at it no more.")


def _evaluate(rule: AlertRule, branch: Branch) -> bool:
    """Look without the lock, for which ingest would wait; take it only where something is to be written."""
    spec = spec_of(rule.spec)
    looked_at = rule.enabled and branch.tracked
    trouble = _trouble(spec, branch, None) if looked_at else None
    if trouble is None and not _alerts_of(rule, spec, branch).exclude(state=Alert.State.RESOLVED).exists():
        return False
    return _write(rule, spec, branch, trouble)


def _alerts_of(rule: AlertRule, spec: RuleSpec, branch: Branch) -> QuerySet[Alert]:
    # Of its kind: what the rule raised as another one is no part of this, and is ended by itself.
    return Alert.objects.filter(rule=rule, branch=branch, kind=spec.kind)


@transaction.atomic
def _write(rule: AlertRule, spec: RuleSpec, branch: Branch, seen: Trouble | None) -> bool:
    lock_repository(branch.repository)
    trouble = _trouble(spec, branch, seen) if seen else None  # what came in meanwhile may have ended it
    alert = _alerts_of(rule, spec, branch).select_for_update().order_by("-id").first()
    if trouble is None:
        if alert is not None and alert.state != Alert.State.RESOLVED:
            _resolve(alert)
        return False
    alert = _open(rule, spec, branch, alert, trouble)
    tell(alert)
    return True


def _trouble(spec: RuleSpec, branch: Branch, seen: Trouble | None) -> Trouble | None:
    """Return what is wrong. `seen`: what was wrong a moment ago; then it is only asked whether it still is."""
    return _staleness(spec, branch, seen) if spec.kind == STALE else _waiting(spec, branch)


def _staleness(spec: RuleSpec, branch: Branch, seen: Trouble | None) -> Trouble | None:
    """Return what is wrong if no job that the rule is about gave a result for so long, or for so many commits."""
    now = timezone.now()
    jobs = JobTable(branch.repository_id).counted(spec)
    rows = list(
        BranchCommit.objects.filter(branch=branch)
        .order_by("-position")
        .values_list("commit__cells", "commit__committed_at")[: max(_NEWEST_ROWS, spec.stale_commits)]
    )
    columns = [c for job in jobs.values() for c in job.columns]
    silent = 0
    for cells, _ in rows:
        if any(cells[c : c + 1] in SIGNAL_CHARS for c in columns if c < len(cells)):
            break
        silent += 1
    if spec.stale_commits and silent >= spec.stale_commits:
        since = next((at for _, at in reversed(rows[:silent]) if at), now)
        reason = f"Stale_Commits={spec.stale_commits}, Commits_Without_Result={silent}"
        return Trouble(f"No result on {branch.name} for {commits(silent)}", reason, since)
    if not spec.stale_s:
        return None
    job_ids = [i for job in jobs.values() for i in job.job_ids]
    limit = timedelta(seconds=spec.stale_s)
    if has_finished_since(branch, job_ids, now - limit):
        return None
    known = seen.last if seen else None
    since = known or last_finished(branch, job_ids) or branch.repository.created_at
    if now - since < limit:
        return None
    words = f"No finished run on {branch.name} for {span_words((now - since).total_seconds())}"
    return Trouble(words, f"Stale_Seconds={spec.stale_s}", since + limit, last=since)


def _waiting(spec: RuleSpec, branch: Branch) -> Trouble | None:
    """Return what is wrong if runs of the newest commits wait for longer than the rule allows."""
    now = timezone.now()
    counted = {i: job.shown for job in JobTable(branch.repository_id).counted(spec).values() for i in job.job_ids}
    newest = BranchCommit.objects.filter(branch=branch).order_by("-position").values("commit_id")[:_NEWEST_ROWS]
    late = (
        Run.objects.filter(job_id__in=counted, commit_id__in=newest, status__in=WAITING)
        .annotate(began=Coalesce("created_at", "started_at"))
        .filter(Q(began__lte=now - timedelta(seconds=spec.queue_s)))
        .values_list("job_id", "began")
    )
    found = list(late)
    jobs = tuple(sorted({counted[job_id] for job_id, _ in found}))
    if not found or len(jobs) < spec.min_jobs:
        return None
    oldest = min(began for _, began in found)
    words = f"{listed(jobs)} waiting for a runner for {span_words((now - oldest).total_seconds())} on {branch.name}"
    reason = f"Queue_Seconds={spec.queue_s}, Number_of_Runs_Waiting={len(found)}"
    return Trouble(words, reason, oldest + timedelta(seconds=spec.queue_s), jobs)


def _open(rule: AlertRule, spec: RuleSpec, branch: Branch, alert: Alert | None, trouble: Trouble) -> Alert:
    """Return the alert of the trouble: the one that fires, one that goes on, or a new one."""
    now = timezone.now()
    kind = ""
    before = _shown(alert)
    if alert is None or alert.state == Alert.State.RESOLVED:
        ended_s = (now - (alert.ended_seen_at or now)).total_seconds() if alert else 0.0
        window_s = settings.ALERT_REOPEN_S
        if alert is not None and goes_on(since_by_data_s=0.0, since_by_clock_s=ended_s, window_s=window_s):
            alert.episode, kind = alert.episode + 1, "reopened"
        else:
            alert, kind = Alert(rule=rule, branch=branch, kind=spec.kind, occurred_at=trouble.since), "raised"
    alert.state, alert.priority, alert.team = Alert.State.FIRING, spec.priority, spec.team
    alert.title, alert.reason, alert.jobs = trouble.title, trouble.reason, list(trouble.jobs)[:500]
    alert.job_keys = sorted({*alert.job_keys, *alert.jobs})[:500]
    alert.resolved_at = alert.ended_seen_at = None
    alert.save()
    if kind:
        text = f"{alert.title}. {alert.reason}"
        AlertEvent.objects.create(alert=alert, kind=kind, text=text, data={"episode": alert.episode})
        tell_other_alerts_fire()
    if _shown(alert) != before:
        tell_banners_changed([branch.pk])
    return alert


def _shown(alert: Alert | None) -> tuple[object, ...]:
    """What a banner shows of an alert by time."""
    return (alert.pk, alert.state, alert.title, alert.priority, alert.team, alert.occurred_at) if alert else ()


def _resolve(alert: Alert, words: str = "It is no longer so.") -> None:
    now = timezone.now()
    alert.state, alert.resolved_at, alert.ended_seen_at = Alert.State.RESOLVED, now, now
    alert.save()
    alert.acknowledgements.filter(ended_at=None).update(ended_at=now)
    AlertEvent.objects.create(alert=alert, kind="resolved", text=words)
    tell_banners_changed([alert.branch_id])
    tell_other_alerts_fire()
    tell(alert)
