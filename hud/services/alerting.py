"""Alerts from spans: raised, joined, changed, resolved, opened again, each with its line in the timeline, and told.

Called by ingest in its transaction, with what changed; the sweep calls `look_after_alerts` for what only time brings
(repeats, silences that end). Running any of it twice changes nothing.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hud.core.alerts.rules import MASS_FAILURE, RuleSpec, spec_of
from hud.core.alerts.telling import goes_on
from hud.core.alerts.words import commits, listed, reason_of, title_of
from hud.core.text import storable
from hud.models import Alert, AlertEvent, AlertRule, AlertSpan, Branch, BranchCommit, EvaluationRequest, Job
from hud.queries.alert_rows import JobTable, TrunkRows, keys_of
from hud.services.alert_rules import branches_of, rules_of
from hud.services.alert_spans import ALL_JOBS, Dirty, Refreshed, Scan, displaced_spans, end_spans, has_news, spans_near
from hud.services.batch import Batch
from hud.services.due import due_alerts
from hud.services.evaluation_requests import note_failure, want_evaluation
from hud.services.live import tell_banners_changed, tell_other_alerts_fire
from hud.services.locks import lock_repository
from hud.services.silences import break_silences, break_silences_of_other_cause
from hud.services.telling import tell

logger = logging.getLogger(__name__)

FLAPPING = 3
"""An alert that fires for so many times in a row is said to flap."""
_MOST_JOBS = 500


def evaluate_alerts(batch: Batch) -> None:
    """Bring the alerts of the tracked branches that show changed cells up to date.

    What came in is kept whatever happens here: an evaluation that fails is taken back, noted, and tried again.
    """
    cells = batch.dirty_streaks | batch.judged
    if not cells:
        return
    try:
        with transaction.atomic():
            for branch, dirty, rewritten in _changed(batch, cells):
                _evaluate_branch(branch, dirty, rules_of(branch.repository), rewritten=rewritten)
    except Exception as error:  # noqa: BLE001  (whatever it is, results must not wait for alerts)
        _evaluate_one_by_one(batch, cells, error)


def _evaluate_one_by_one(batch: Batch, cells: set[tuple[int, int]], first: Exception) -> None:
    """Evaluate each rule apart from the others: one that fails must not take theirs with it."""
    try:
        with transaction.atomic():
            changed = [
                (*of_branch, _in_order(rules_of(of_branch[0].repository))) for of_branch in _changed(batch, cells)
            ]
    except Exception:  # noqa: BLE001  (as above; the first error is noted)
        changed = []
    noted = False
    for branch, dirty, rewritten, rules in changed:
        for rule in rules:
            try:
                with transaction.atomic():
                    _evaluate_branch(branch, dirty, [rule], rewritten=rewritten)
            except Exception as error:  # noqa: BLE001  (as above)
                noted = True
                note_failure(batch.repository, error, [branch])
    if not noted:
        note_failure(batch.repository, first)


def _changed(batch: Batch, cells: set[tuple[int, int]]) -> Iterator[tuple[Branch, Dirty, bool]]:
    for branch in _branches(batch, cells):
        yield branch, _dirty_on(branch, cells), branch.id in batch.rearranged_branches


@transaction.atomic
def evaluate_from_scratch(branch: Branch, rule: AlertRule | None = None) -> None:
    """Look at every row again, for one rule or all: after a rule changed. Ends as if it had always been so."""
    lock_repository(branch.repository)
    ends = BranchCommit.objects.filter(branch=branch).order_by("position").values_list("position", flat=True)
    low, high = ends.first(), ends.last()
    if low is None or high is None:
        return
    scan = Scan(branch, TrunkRows(branch, low, high), JobTable(branch.repository_id), set())
    for one in _in_order([rule] if rule else rules_of(branch.repository)):
        if one.enabled and branch.tracked and _is_about(one, branch):
            _update_alerts(one, branch, scan.refresh_all(one, low, high))
        else:
            _end_all(one, branch)
    tell_banners_changed([branch.pk])


SMALL_HISTORY = 1_000_000
"""Cells of a branch that are looked at while the person who saved a rule waits; a worker looks at more."""


def rule_was_saved(rule: AlertRule) -> None:
    """Evaluate a rule that is new or was changed over all that is stored: at once, or soon where that is much."""
    for branch in branches_of(rule):
        if branch.rows.count() * branch.repository.jobs.count() > SMALL_HISTORY:
            want_evaluation([branch], f"rule “{rule.name}” was saved")
            continue
        try:
            evaluate_from_scratch(branch, rule)
        except Exception as error:  # noqa: BLE001  (whatever it is: the rule is saved, and evaluated later)
            note_failure(branch.repository, error, [branch])


def evaluate_requested() -> int:
    """Evaluate the branches that wait for it from scratch. Returns how many. What fails is tried again, later."""
    due = list(EvaluationRequest.objects.filter(due_at__lte=timezone.now()).order_by("due_at", "pk"))
    for request in due:
        try:
            errors = _evaluate_requested(request.branch)
        except Exception as error:  # noqa: BLE001  (whatever it is, other branches must not wait for it)
            errors = [error]
        for first in errors[:1]:
            note_failure(request.branch.repository, first, [request.branch])
    return len(due)


@transaction.atomic
def _evaluate_requested(branch: Branch) -> list[Exception]:
    """Evaluate each rule, those that fail apart from the others. Returns what went wrong.

    A request that comes in meanwhile waits for the lock, and stays.
    """
    lock_repository(branch.repository)
    errors: list[Exception] = []
    if not EvaluationRequest.objects.select_for_update().filter(branch=branch).exists():
        return errors
    for rule in _in_order(rules_of(branch.repository)):
        try:
            evaluate_from_scratch(branch, rule)
        except Exception as error:  # noqa: BLE001  (whatever it is, other rules must not wait for it)
            errors.append(error)
    if not errors:
        EvaluationRequest.objects.filter(branch=branch).delete()
    return errors


def _branches(batch: Batch, cells: Iterable[tuple[int, int]]) -> list[Branch]:
    commits_ = {commit_id for commit_id, _ in cells}
    shown = Q(rows__commit_id__in=commits_) | Q(id__in=batch.rearranged_branches)
    found = Branch.objects.filter(shown, tracked=True, repository=batch.repository)
    return list({branch.id: branch for branch in found}.values())


def _dirty_on(branch: Branch, cells: Iterable[tuple[int, int]]) -> Dirty:
    jobs: dict[int, set[int]] = defaultdict(set)
    for commit_id, job_id in cells:
        jobs[commit_id].add(job_id)
    columns = dict(Job.objects.filter(id__in=set().union(*jobs.values())).values_list("id", "column"))
    dirty = Dirty()
    places = BranchCommit.objects.filter(branch=branch, commit_id__in=jobs)
    for commit_id, position in places.values_list("commit_id", "position"):
        for job_id in jobs[commit_id]:
            if job_id in columns:
                dirty.columns[columns[job_id]].add(position)
    return dirty


def _evaluate_branch(branch: Branch, dirty: Dirty, rules: list[AlertRule], *, rewritten: bool) -> None:
    displaced = displaced_spans(branch) if rewritten else []
    if not dirty.columns and not displaced:
        return
    positions = dirty.positions() if dirty.columns else {span.first_bad for span in displaced}
    rows = TrunkRows(branch, min(positions), max(positions))
    near = spans_near(branch, dirty) if dirty.columns else set()
    if not displaced and not _may_matter(branch, rules, dirty, rows, near):
        return
    scan = Scan(branch, rows, JobTable(branch.repository_id), near)
    for rule in _in_order(rules):
        if rule.enabled and _is_about(rule, branch):
            found = scan.refresh(rule, dirty) if dirty.columns else Refreshed()
            _forget_displaced(rule, displaced, found)
            _update_alerts(rule, branch, found)


def _may_matter(
    branch: Branch, rules: list[AlertRule], dirty: Dirty, rows: TrunkRows, near: set[tuple[int, str]]
) -> bool:
    """Tell at little cost whether what changed may change an alert."""
    if has_news(dirty, rows):
        return True
    if not near:
        return False
    jobs = {job for _, job in near}
    if ALL_JOBS in jobs or any(rule.spec.get("by") == "group" for rule in rules):
        return True
    return not jobs.isdisjoint(keys_of(branch.repository_id, dirty.columns))


def _forget_displaced(rule: AlertRule, displaced: list[AlertSpan], found: Refreshed) -> None:
    """Spans on rows that are no longer there were not found again: take them away."""
    still = {span.pk for span in displaced_spans(displaced[0].branch)} if displaced else set()
    for span in displaced:
        if span.rule_id == rule.pk and span.pk in still:
            found.left.update([span.alert_id] if span.alert_id else [])
            AlertSpan.objects.filter(pk=span.pk).delete()


def _in_order(rules: Iterable[AlertRule]) -> list[AlertRule]:
    """Mass failures first: what lies under them must know."""
    return sorted(rules, key=lambda rule: (rule.spec.get("kind") != MASS_FAILURE, rule.pk))


def _is_about(rule: AlertRule, branch: Branch) -> bool:
    return branch.name == (rule.spec.get("branch") or branch.repository.default_branch)


def _end_all(rule: AlertRule, branch: Branch) -> None:
    """A rule that was switched off holds nothing open."""
    found = Refreshed()
    end_spans(AlertSpan.objects.filter(rule=rule, branch=branch), found)
    _update_alerts(rule, branch, found)


# ── Alerts ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _update_alerts(rule: AlertRule, branch: Branch, found: Refreshed) -> None:
    if not (found.spans or found.left or found.ended):
        return
    spec = spec_of(rule.spec)
    touched = found.left | found.ended
    latest: dict[str, int] = {}
    mass_changed = False
    # A span that ended long ago must find its alert before one that came after it: oldest first.
    for span in sorted(found.spans, key=lambda s: (s.opened, s.job)):
        if span.job in latest and not span.alert_id:  # whether it goes on with that one, the alert itself must know
            mass_changed |= _bring_up_to_date(branch, spec, {latest[span.job]}, set())
        latest[span.job] = _alert_for(rule, spec, branch, span).pk
    touched |= set(latest.values()) | {span.alert_id for span in found.spans if span.alert_id}
    touched |= _join_causes(rule, branch, found.spans)
    mass_changed |= _bring_up_to_date(branch, spec, touched, found.ended - found.left)
    if mass_changed:
        _look_below(branch)


def _bring_up_to_date(branch: Branch, spec: RuleSpec, ids: set[int], ended: set[int]) -> bool:
    """Bring alerts in line with their spans. Returns whether a mass failure began or ended."""
    mass_changed = False
    for alert in Alert.objects.select_for_update().filter(pk__in=ids).order_by("pk"):
        alert.branch = branch
        before = alert.state
        _refresh_alert(alert, spec, ended=alert.pk in ended)
        mass_changed |= spec.kind == MASS_FAILURE and alert.state != before
    return mass_changed


def _alert_for(rule: AlertRule, spec: RuleSpec, branch: Branch, span: AlertSpan) -> Alert:
    """Return the alert of a span: its own, that of the same cause, one that goes on, or a new one."""
    if span.alert_id:
        return Alert.objects.get(pk=span.alert_id)
    alert = _of_same_cause(rule, branch, span) or _that_goes_on(rule, branch, span)
    if alert is None:
        alert = Alert.objects.create(
            rule=rule, branch=branch, kind=spec.kind, priority=spec.priority, team=spec.team, title="", reason=""
        )
    span.alert, span.episode = alert, alert.episode
    AlertSpan.objects.filter(pk=span.pk).update(alert=alert, episode=alert.episode)
    return alert


def _of_same_cause(rule: AlertRule, branch: Branch, span: AlertSpan) -> Alert | None:
    if not span.signature:
        return None
    mates = AlertSpan.objects.filter(
        rule=rule, branch=branch, first_bad=span.first_bad, signature=span.signature, alert__merged_into=None
    ).exclude(alert=None)
    mate = mates.select_related("alert").order_by("alert_id").first()
    return mate.alert if mate else None


def _that_goes_on(rule: AlertRule, branch: Branch, span: AlertSpan) -> Alert | None:
    """Return the job's last alert if it ended within the window; its episode grows."""
    alert = (
        Alert.objects.select_for_update()
        .filter(rule=rule, branch=branch, job_keys__contains=[span.job], merged_into=None)
        .exclude(state=Alert.State.FIRING)
        .order_by("-id")
        .first()
    )
    if alert is None:
        return None
    was_mended = bool(alert.resolved_at_sha) and not alert.withdrawn
    if was_mended and (alert.last_bad_position or 0) >= span.first_bad:
        return None
    now = timezone.now()
    by_data = (span.opened_at - alert.resolved_at).total_seconds() if alert.resolved_at else 0.0
    by_clock = (now - (alert.ended_seen_at or now)).total_seconds()
    if not goes_on(since_by_data_s=by_data, since_by_clock_s=by_clock, window_s=settings.ALERT_REOPEN_S):
        return None
    if not alert.withdrawn:
        alert.episode += 1
    alert.withdrawn = False
    alert.save(update_fields=["episode", "withdrawn"])
    return alert


def _join_causes(rule: AlertRule, branch: Branch, spans: Iterable[AlertSpan]) -> set[int]:
    """A cause may become known after its alerts were raised: join them to the oldest. Returns the alerts touched."""
    touched: set[int] = set()
    for first_bad, signature in sorted({(s.first_bad, s.signature) for s in spans if s.signature}):
        mates = AlertSpan.objects.filter(rule=rule, branch=branch, first_bad=first_bad, signature=signature)
        ids = sorted(set(mates.exclude(alert=None).values_list("alert_id", flat=True)))
        if len(ids) < 2:
            continue
        keeper = Alert.objects.get(pk=ids[0])
        for alert in Alert.objects.select_for_update().filter(pk__in=ids[1:]):
            alert.spans.filter(first_bad=first_bad, signature=signature).update(alert=keeper, episode=keeper.episode)
            if not alert.spans.exists():
                alert.merged_into = keeper
                alert.save(update_fields=["merged_into"])
                tell_other_alerts_fire()
                _note(alert, "merged", f"It has the cause of alert {keeper.pk}, which goes on for both.")
        touched.update(ids)
    return touched


def _refresh_alert(alert: Alert, spec: RuleSpec, *, ended: bool) -> None:
    """Bring an alert in line with its spans, write what is new into its timeline, and tell."""
    spans = list(alert.spans.order_by("first_bad", "job"))
    current = [s for s in spans if s.resolved is None] or [s for s in spans if s.episode == alert.episode] or spans[-1:]
    before = (alert.state, alert.pk and list(alert.job_keys), alert.changes, alert.told_episode)
    was_new, was_episode = not alert.title, _told_of_episode(alert)
    if current:
        _summarise(alert, spec, current)
    else:
        alert.withdrawn = not (ended or alert.merged_into_id)
    alert.state = _state(alert, spec, current)
    _time(alert, current)
    alert.save()
    _write_timeline(alert, before[0], before[1] or [], before[2], new=was_new, reopened=alert.episode > was_episode)
    if was_new or alert.state != before[0]:
        tell_other_alerts_fire()
    _inhibit(alert)
    tell(alert)


def _told_of_episode(alert: Alert) -> int:
    """Return the newest episode that the timeline knows."""
    event = alert.events.filter(kind__in=["raised", "reopened"]).order_by("-id").first()
    return int(event.data.get("episode", 1)) if event else 0


def _state(alert: Alert, spec: RuleSpec, current: list[AlertSpan]) -> str:
    if not any(s.resolved is None for s in current) or alert.merged_into_id:
        return str(Alert.State.RESOLVED)
    count = len(alert.jobs)
    inside = spec.min_jobs <= count and (not spec.max_jobs or count <= spec.max_jobs)
    return str(Alert.State.FIRING if inside or spec.kind == MASS_FAILURE else Alert.State.PENDING)


def _summarise(alert: Alert, spec: RuleSpec, current: list[AlertSpan]) -> None:
    """Put what the spans say into the alert's row."""
    first = min(current, key=lambda s: s.first_bad)
    shown = first.jobs if spec.kind == MASS_FAILURE else sorted({s.shown for s in current})
    alert.jobs = shown[:_MOST_JOBS]
    alert.job_keys = sorted({*alert.job_keys, *(s.job for s in current)})[:_MOST_JOBS]
    alert.groups = sorted({s.group for s in current if s.group})
    alert.job_id = first.job_id
    alert.first_bad, alert.first_bad_position = first.first_bad_sha, first.first_bad
    alert.last_good, alert.last_good_position = first.last_good_sha, first.last_good
    alert.opened_at_sha = min(current, key=lambda s: s.opened).opened_sha
    alert.last_bad_position = max(s.last_bad for s in current)
    alert.length = max(s.length for s in current)
    newest = max(current, key=lambda s: (s.changes[-1] if s.changes else s.first_bad, s.pk))
    alert.signature = newest.cause or next((s.cause for s in current if s.cause), "")
    alert.line, alert.line_run = storable(newest.line, 2000), newest.line_run
    alert.changes = len({p for s in current for p in s.changes})
    alert.priority, alert.team, alert.kind = spec.priority, spec.team, spec.kind
    alert.title = title_of(spec, alert.jobs, failing_commits=alert.length, branch=alert.branch.name)
    alert.reason = reason_of(spec, jobs=len(alert.jobs), failing_commits=alert.length)


def _time(alert: Alert, current: list[AlertSpan]) -> None:
    now = timezone.now()
    if current:
        alert.occurred_at = min(s.opened_at for s in current)
    if alert.state != Alert.State.RESOLVED:
        alert.resolved_at, alert.ended_seen_at, alert.resolved_at_sha = None, None, ""
        return
    ends = [(s.resolved or 0, s.resolved_at, s.resolved_sha) for s in current if s.resolved is not None]
    last = max(ends, default=(0, None, ""))
    alert.resolved_at, alert.resolved_at_sha = last[1] or alert.resolved_at or now, last[2]
    alert.ended_seen_at = alert.ended_seen_at or now


def _write_timeline(alert: Alert, state: str, jobs: list[str], changes: int, *, new: bool, reopened: bool) -> None:
    """Note what is new since the alert was last looked at."""
    data = {"episode": alert.episode, "first_bad": alert.first_bad, "signature": alert.signature}
    joined = sorted(set(alert.job_keys) - set(jobs))
    if new or (reopened and alert.episode == 1):
        _note(alert, "raised", f"{alert.title}. {alert.reason}", data, at=alert.occurred_at)
    elif reopened:
        _end_acknowledgement(alert)
        flaps = f" It has fired {alert.episode} times: it flaps." if alert.episode >= FLAPPING else ""
        _note(alert, "reopened", f"Broken again by {alert.first_bad[:10]}.{flaps}", data)
        break_silences_of_other_cause(alert)
    else:
        if joined:
            _note(alert, "joined", f"{listed(joined)} broke by the same cause.", {"jobs": joined})
        if alert.changes > changes:
            _note(alert, "changed", f"Same red, new cause: {alert.line or alert.signature}", data)
            break_silences(alert)
    if alert.state == Alert.State.RESOLVED and (state != alert.state or new or reopened):
        _note_end(alert)
    elif alert.state == Alert.State.FIRING and state == Alert.State.RESOLVED and not reopened and not new:
        _note(alert, "reopened", "Later results show that it was never mended.", data)


def _note_end(alert: Alert) -> None:
    _end_acknowledgement(alert)
    if alert.merged_into_id:
        return
    words = f"Green again at {alert.resolved_at_sha[:10]} after {commits(alert.length)}."
    if alert.withdrawn:
        words = "Withdrawn: by the results and the rule as they are now, nothing was red for so long."
    elif not alert.resolved_at_sha:
        words = "Ended: its rule looks at it no more."
    _note(alert, "resolved", words, {"sha": alert.resolved_at_sha}, at=alert.resolved_at)


def _end_acknowledgement(alert: Alert) -> None:
    alert.acknowledgements.filter(ended_at=None).update(ended_at=timezone.now())


def _note(
    alert: Alert, kind: str, text: str, data: dict[str, object] | None = None, *, at: datetime | None = None
) -> None:
    """Write a line of the timeline. `at`: when it happened by the times of the runs, if that is another time."""
    told = dict(data or {})
    if at:
        told["happened_at"] = at.isoformat()
    AlertEvent.objects.create(alert=alert, kind=kind, text=storable(text, 4000), data=told)


# ── Inhibition ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _inhibit(alert: Alert) -> None:
    """Note which mass failure an alert lies under."""
    if alert.state != Alert.State.FIRING or alert.kind == MASS_FAILURE:
        return
    above = _mass_above(alert)
    if alert.inhibited_by_id != (above.pk if above else None):
        alert.inhibited_by = above
        alert.save(update_fields=["inhibited_by"])
        words = f"Under the mass failure of alert {above.pk}." if above else "Red also without the mass failure."
        _note(alert, "inhibited" if above else "uninhibited", words)


def _mass_above(alert: Alert) -> Alert | None:
    """Return the mass failure that the alert broke with: one that fires, or the one it was under until it is red
    again on a newer commit."""
    first, last = alert.first_bad_position, alert.last_bad_position
    if first is None or last is None:
        return None
    fires = Q(state=Alert.State.FIRING) | Q(pk=alert.inhibited_by_id, last_bad_position__gte=last)
    masses = Alert.objects.filter(fires, branch_id=alert.branch_id, kind=MASS_FAILURE, first_bad_position__lte=first)
    return masses.order_by("id").first()


def _look_below(branch: Branch) -> None:
    """A mass failure began or ended: the alerts that may lie under it are looked at again."""
    below = Alert.objects.select_for_update().filter(branch=branch, state=Alert.State.FIRING)
    for alert in below.exclude(kind=MASS_FAILURE).order_by("pk"):
        _inhibit(alert)
        tell(alert)


# ── Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def look_after_alerts() -> int:
    """Tell what only the passing of time makes due. Returns of how many alerts something was due.

    One that fails is logged, and looked at again in seconds; the others are told.
    """
    due = due_alerts()
    for pk in due:
        try:
            with transaction.atomic():
                alert = Alert.objects.select_for_update(skip_locked=True).filter(pk=pk).first()
                if alert is not None:
                    tell(alert)
        except Exception:  # whatever it is, nobody else's alert must wait for it
            logger.exception("what is due of alert %d could not be told", pk)
    return len(due)
