"""Alert rules, alerts with their timeline, acknowledgements, silences, targets, and the outbox of notifications."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils import timezone

from hud.models.repository import Branch, Repository


class _Final(models.Model):
    """A row that is written once."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write a new row. Raises TypeError for one that is written already."""
        if self.pk is not None:
            raise TypeError(f"{type(self).__name__} is never changed")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Raises TypeError."""
        raise TypeError(f"{type(self).__name__} is never deleted")


class AlertRule(models.Model):
    """A rule of a repository (hud.core.alerts.rules). Never deleted, only switched off."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="alert_rules")
    name = models.CharField(max_length=100)
    spec = models.JSONField()
    enabled = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # Serves: the rules of a repository.
            models.UniqueConstraint(fields=["repository", "name"], name="alert_rule_name_unique"),
        ]
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class AlertRuleVersion(_Final):
    """What a rule said from one save to the next. `who`: the account's name at that time."""

    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=100)
    spec = models.JSONField()
    enabled = models.BooleanField(default=True)
    who = models.CharField(max_length=150)
    reason = models.TextField(default="", blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rule", "number"], name="alert_rule_version_unique")]
        ordering = ["-number"]


class Alert(models.Model):
    """Something that is or was broken, by one rule, for one cause. Written by hud.services.alerting alone.

    `episode` counts how often it fired: it grows when it opens again within the window. `first_bad` … are shas of the
    newest episode. `occurred_at`, `resolved_at`: by the times of the runs; `seen_at`, `ended_seen_at`: when HUD saw it.
    `told_*`: what was last told (hud.core.alerts.telling). `job_keys` are the names by which jobs are counted.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        FIRING = "firing"
        RESOLVED = "resolved"

    rule = models.ForeignKey(AlertRule, on_delete=models.PROTECT, related_name="alerts")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="alerts")
    kind = models.CharField(max_length=20)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    priority = models.CharField(max_length=2)
    team = models.CharField(max_length=100, default="", blank=True)
    title = models.TextField()
    reason = models.TextField()
    jobs = ArrayField(models.TextField(), default=list, blank=True)
    job_keys = ArrayField(models.TextField(), default=list, blank=True)
    groups = ArrayField(models.TextField(), default=list, blank=True, help_text="Group of each job.")
    job_id = models.BigIntegerField(null=True, blank=True, help_text="A job to show, in hud_job.")
    first_bad = models.CharField(max_length=64, default="", blank=True)
    first_bad_position = models.IntegerField(null=True, blank=True)
    last_good = models.CharField(max_length=64, default="", blank=True)
    last_good_position = models.IntegerField(null=True, blank=True)
    last_bad_position = models.IntegerField(null=True, blank=True)
    opened_at_sha = models.CharField(max_length=64, default="", blank=True)
    resolved_at_sha = models.CharField(max_length=64, default="", blank=True)
    length = models.PositiveIntegerField(default=0, help_text="Failing commits.")
    signature = models.CharField(max_length=300, default="", blank=True)
    line = models.TextField(default="", blank=True, help_text="The failure line of the newest cause.")
    line_run = models.BigIntegerField(null=True, blank=True, help_text="GitHub's id of the run it is from.")
    changes = models.PositiveIntegerField(default=0, help_text="Changes of cause in this episode.")
    episode = models.PositiveIntegerField(default=1)
    occurred_at = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(default=timezone.now)
    ended_seen_at = models.DateTimeField(null=True, blank=True)
    withdrawn = models.BooleanField(default=False, help_text="Later results show that it never was.")
    inhibited_by = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    merged_into = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    told_episode = models.PositiveIntegerField(default=0)
    told_changes = models.PositiveIntegerField(default=0)
    told_end = models.BooleanField(default=False)
    told_at = models.DateTimeField(null=True, blank=True)
    told_since = models.DateTimeField(null=True, blank=True, help_text="When its newest episode was first told.")
    escalated_episode = models.PositiveIntegerField(default=0, help_text="Newest one that went on to other targets.")

    class Meta:
        indexes = [
            # Serves: what is wrong now? (banners, the sweep)
            models.Index(fields=["branch", "id"], name="alert_open", condition=~Q(state="resolved")),
            # Serves: the newest alerts of a branch.
            models.Index(fields=["branch", "-id"], name="alert_by_branch"),
            # Serves: did this job have an alert of this rule before?
            GinIndex(fields=["job_keys"], name="alert_by_job"),
        ]
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.title


class AlertSpan(models.Model):
    """One job (or all, for a mass failure) red for long enough (hud.core.alerts.spans): what alerts are made of.

    Positions on the branch. `job` is the name under which it is counted; `cause` its newest signature.
    """

    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE, related_name="spans")
    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="alert_spans")
    alert = models.ForeignKey(Alert, null=True, on_delete=models.CASCADE, related_name="spans")
    episode = models.PositiveIntegerField(default=1)
    job = models.CharField(max_length=800)
    shown = models.CharField(max_length=800, default="", blank=True)
    group = models.CharField(max_length=300, default="", blank=True)
    job_id = models.BigIntegerField(null=True, blank=True)
    jobs = ArrayField(models.TextField(), default=list, blank=True, help_text="Of a mass failure: the red jobs.")
    first_bad = models.IntegerField()
    first_bad_sha = models.CharField(max_length=64)
    opened = models.IntegerField()
    opened_sha = models.CharField(max_length=64)
    opened_at = models.DateTimeField()
    last_bad = models.IntegerField()
    last_good = models.IntegerField(null=True, blank=True)
    last_good_sha = models.CharField(max_length=64, default="", blank=True)
    resolved = models.IntegerField(null=True, blank=True)
    resolved_sha = models.CharField(max_length=64, default="", blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    length = models.PositiveIntegerField()
    signature = models.CharField(max_length=300, default="", blank=True)
    cause = models.CharField(max_length=300, default="", blank=True)
    line = models.TextField(default="", blank=True)
    line_run = models.BigIntegerField(null=True, blank=True)
    changes = ArrayField(models.IntegerField(), default=list, blank=True)

    class Meta:
        constraints = [
            # Serves: the spans of a job around a position.
            models.UniqueConstraint(fields=["rule", "branch", "job", "first_bad"], name="alert_span_unique"),
        ]
        indexes = [
            # Serves: does a change of this row touch any span?
            models.Index(fields=["branch", "resolved"], name="alert_span_by_end"),
            # Serves: what broke at the same commit by the same cause?
            models.Index(fields=["branch", "first_bad", "signature"], name="alert_span_by_cause"),
        ]


class EvaluationRequest(models.Model):
    """A branch whose alerts are to be evaluated again over all its rows: trying to failed, or what rules count changed.

    It goes with the evaluation that succeeds. `error`: why the last try failed, "" if none did yet.
    """

    branch = models.OneToOneField(Branch, on_delete=models.CASCADE, related_name="evaluation_request")
    why = models.CharField(max_length=200)
    attempts = models.PositiveIntegerField(default=0, help_text="Failed tries.")
    error = models.TextField(default="", blank=True)
    requested_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)


class AlertEvent(_Final):
    """One line of an alert's timeline. The database itself refuses to change or delete it."""

    alert = models.ForeignKey(Alert, on_delete=models.PROTECT, related_name="events")
    at = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=20)
    who = models.CharField(max_length=150, default="", blank=True)
    text = models.TextField(default="", blank=True)
    data = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [
            # Serves: the timeline of an alert.
            models.Index(fields=["alert", "id"], name="alert_event_timeline"),
        ]
        ordering = ["id"]


class Acknowledgement(models.Model):
    """Somebody looks after an alert. It ends with the alert; the name and the note stay."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="acknowledgements")
    who = models.CharField(max_length=150)
    note = models.TextField(default="", blank=True)
    at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Serves: who looks after it now?
            models.UniqueConstraint(fields=["alert"], name="acknowledgement_unique", condition=Q(ended_at=None)),
        ]


class Silence(models.Model):
    """Quiet for alerts that match, from start to end. Never deleted. `version` grows with every change."""

    matchers = models.JSONField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    until_resolved = models.BooleanField(default=False, help_text="Ends with the alerts that it was made for.")
    reason = models.TextField()
    author = models.CharField(max_length=150)
    author_user_id = models.BigIntegerField(null=True, blank=True)
    issue_url = models.TextField(default="", blank=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    expired_at = models.DateTimeField(null=True, blank=True, help_text="When somebody ended it early.")
    last_matched_at = models.DateTimeField(null=True, blank=True)
    reminded_at = models.DateTimeField(null=True, blank=True)
    noted_state = models.CharField(
        max_length=10, default="pending", help_text="pending, active or expired: as timelines and open pages know it."
    )

    class Meta:
        indexes = [
            # Serves: which silences hold now?
            models.Index(fields=["ends_at"], name="silence_by_end"),
        ]
        ordering = ["-id"]


class SilenceBreak(models.Model):
    """A silence that no longer holds for one alert, because the cause under it changed."""

    silence = models.ForeignKey(Silence, on_delete=models.CASCADE, related_name="breaks")
    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="broken_silences")
    at = models.DateTimeField(default=timezone.now)
    before = models.CharField(max_length=300, default="", blank=True)
    after = models.CharField(max_length=300, default="", blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["silence", "alert"], name="silence_break_unique")]


class Target(models.Model):
    """Who is told. The address and its secrets are stored encrypted (`sealed`); `shown` is what pages may show.

    Without `teams` it takes every team's alerts; without `repository` those of all repositories. `service` names the
    form that it was made with (hud.clients.notify.presets). `together`: several alerts may go as one message.
    `group_s`: wait before an alert is told, None: as the setting says. `quiet`: hud.core.alerts.quiet.QuietHours, or
    empty. `beat_*`: when the alerts that fire were last sent again to a server that forgets, and what went wrong.
    """

    class Kind(models.TextChoices):
        WEBHOOK = "webhook"
        EMAIL = "email"
        APPRISE = "apprise", "service known to Apprise"
        ALERTMANAGER = "alertmanager", "Prometheus Alertmanager"
        GITHUB = "github", "GitHub issues"

    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="alert_targets"
    )
    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=15, choices=Kind.choices)
    sealed = models.TextField()
    shown = models.CharField(max_length=300, default="", blank=True)
    teams = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    service = models.CharField(max_length=20, default="", blank=True)
    together = models.BooleanField(default=False)
    group_s = models.PositiveIntegerField(null=True, blank=True)
    quiet = models.JSONField(default=dict, blank=True)
    enabled = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    beat_at = models.DateTimeField(null=True, blank=True)
    beat_alerts = models.PositiveIntegerField(default=0)
    beat_error = models.TextField(default="", blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class OutboxMessage(models.Model):
    """One message to one target, written with the change that it tells of. `key` is its idempotency key.

    `bundle`: the key under which it was sent together with others; what was tried together is tried together again.
    `held`: it waits for the end of the target's quiet hours.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        CANCELLED = "cancelled", "no longer to be told"
        FAILED = "failed", "given up"

    key = models.CharField(max_length=100, unique=True)
    target = models.ForeignKey(Target, on_delete=models.CASCADE, related_name="messages")
    alert = models.ForeignKey(Alert, null=True, blank=True, on_delete=models.CASCADE, related_name="messages")
    kind = models.CharField(max_length=12)
    payload = models.JSONField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    bundle = models.CharField(max_length=100, default="", blank=True)
    held = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            # Serves: what is to be sent to this target next?
            models.Index(fields=["target", "id"], name="outbox_waiting", condition=Q(state="waiting")),
            # Serves: the messages of an alert.
            models.Index(fields=["alert", "id"], name="outbox_by_alert"),
        ]
        ordering = ["id"]


class DeliveryAttempt(models.Model):
    """One try to deliver a message, written before it is made. Without `ended_at` nobody knows what became of it."""

    message = models.ForeignKey(OutboxMessage, on_delete=models.CASCADE, related_name="tries")
    number = models.PositiveIntegerField()
    repeat = models.BooleanField(default=False, help_text="An earlier one may have arrived; the message says so.")
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    delivered = models.BooleanField(default=False)
    may_have_arrived = models.BooleanField(default=True, help_text="Unknown, or broken off after it was sent.")
    status = models.PositiveIntegerField(null=True, blank=True)
    error = models.TextField(default="", blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["message", "number"], name="delivery_attempt_unique")]
        ordering = ["number"]


class AlertIssue(models.Model):
    """An issue that a target of kind `github` opened. The newest one of a fingerprint is written to.

    `is_open`: as HUD left it. `by_hand`: somebody closed it; nothing more is written to it. `episode` of `alert`: the
    last one that it was told of. `commented_at`: when a reminder was last written.
    """

    target = models.ForeignKey(Target, on_delete=models.CASCADE, related_name="issues")
    fingerprint = models.CharField(max_length=64)
    alert = models.ForeignKey(Alert, null=True, blank=True, on_delete=models.SET_NULL, related_name="issues")
    episode = models.PositiveIntegerField(default=1)
    number = models.PositiveIntegerField()
    url = models.TextField(default="", blank=True)
    author = models.CharField(max_length=100, default="", blank=True)
    is_open = models.BooleanField(default=True)
    by_hand = models.BooleanField(default=False)
    commented_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["target", "number"], name="alert_issue_unique")]
        indexes = [
            # Serves: which issue is about this cause?
            models.Index(fields=["target", "fingerprint", "-id"], name="alert_issue_by_cause"),
        ]
        ordering = ["id"]
