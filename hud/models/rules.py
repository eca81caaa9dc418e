"""Classifier rules that people write, their versions, and the two kinds of work that a change brings: a trial over the
stored logs before it is saved, a reclassification after."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from hud.models.ci import Run
from hud.models.repository import Repository


class Rule(models.Model):
    """A rule of one repository, or (without one) of all. What it says stands in its newest version.

    A rule is never deleted, only switched off: its versions tell who had what changed, and why.
    """

    repository = models.ForeignKey(Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="rules")
    name = models.CharField(max_length=100)
    enabled = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1, help_text="Number of the newest version.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # Serves: the rules of a repository.
            models.UniqueConstraint(
                fields=["repository", "name"], name="rule_name_unique", condition=Q(repository__isnull=False)
            ),
            # Serves: the rules of all repositories.
            models.UniqueConstraint(fields=["name"], name="rule_for_all_name_unique", condition=Q(repository=None)),
        ]
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> str:
        """Whose logs it reads, in words."""
        return self.repository.full_name if self.repository else "all repositories"


class RuleVersion(models.Model):
    """What a rule said from one save to the next. `spec`: the fields of classifier.RuleSpec."""

    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    spec = models.JSONField()
    enabled = models.BooleanField(default=True)
    author = models.CharField(max_length=150)
    reason = models.TextField()
    restores = models.PositiveIntegerField(null=True, blank=True, help_text="The older version that this one equals.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # Serves: the newest version of a rule; its history.
            models.UniqueConstraint(fields=["rule", "number"], name="rule_version_unique"),
        ]
        ordering = ["-number"]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write a new version. Raises TypeError for one that is written already."""
        if self.pk is not None:
            raise TypeError("a version of a rule is never changed; save a new one")
        super().save(*args, **kwargs)


class LogWork(models.Model):
    """Work through many stored logs, a little at a time: whoever takes it up goes on behind `cursor`.

    `generation` grows when the work begins anew while somebody is at it, so that the old one's progress is not taken.
    `done` counts logs looked at, `changed` those with other answers, `unreadable` those the store could not give.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    cursor = models.BigIntegerField(default=0, help_text="Id of the last log that was looked at; 0 at the beginning.")
    generation = models.PositiveIntegerField(default=0)
    claimed_until = models.DateTimeField(null=True, blank=True, help_text="Somebody works on it until then.")
    worked_at = models.DateTimeField(null=True, blank=True, help_text="When somebody last worked on it.")
    spent_s = models.FloatField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Turns in a row that ended in an error.")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    unreadable = models.PositiveIntegerField(default=0)
    message = models.TextField(default="", blank=True)
    author = models.CharField(max_length=150, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_over(self) -> bool:
        return self.state != self.State.WAITING

    @property
    def percent(self) -> int:
        """How far it is, 0 to 100."""
        return 100 if self.state == self.State.DONE else min(99, self.done * 100 // self.total) if self.total else 0


class Reclassification(LogWork):
    """Stored logs of one repository that are to be classified by the rules of now. `cursor` goes up.

    `everything`: also logs whose answers are of these rules already. `by_hand`: a command works on it, not the worker.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="reclassifications")
    since = models.DateTimeField(null=True, blank=True, help_text="Only runs that ended at or after it.")
    everything = models.BooleanField(default=False)
    by_hand = models.BooleanField(default=False)
    cause = models.CharField(max_length=200, default="", blank=True, help_text="What changed.")

    class Meta:
        indexes = [
            # Serves: what is still to be done.
            models.Index(fields=["worked_at"], name="reclassification_open", condition=Q(state="waiting")),
        ]


class RuleTrial(LogWork):
    """What a rule that is not saved would change in the stored logs. `cursor` goes down: the newest logs come first.

    `rules_state` names the rules that it was begun with; under others its answers would be worth nothing.
    """

    rule = models.ForeignKey(Rule, null=True, blank=True, on_delete=models.CASCADE, related_name="trials")
    repository = models.ForeignKey(Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="trials")
    seen = models.PositiveIntegerField(default=0, help_text="Version that the typed rule was made from.")
    spec = models.JSONField()
    enabled = models.BooleanField(default=True)
    rules_state = models.CharField(max_length=64)
    most_logs = models.PositiveIntegerField(default=0, help_text="Only so many of the newest logs; 0: all.")
    fires = models.PositiveIntegerField(default=0, help_text="Logs in which the rule is among the failures.")
    leads = models.PositiveIntegerField(default=0, help_text="Logs of which it gives the primary one.")
    primary_changes = models.PositiveIntegerField(default=0)
    category_changes = models.PositiveIntegerField(default=0)
    signature_changes = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [
            # Serves: what is still to be done.
            models.Index(fields=["worked_at"], name="trial_open", condition=Q(state="waiting")),
        ]


class TrialChange(models.Model):
    """A log whose primary failure a trial found changed. `before` and `after`: rule, category, signature, line,
    line_number; None where nothing was, or would be, found."""

    trial = models.ForeignKey(RuleTrial, on_delete=models.CASCADE, related_name="changes")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    primary = models.BooleanField(default=False)
    category = models.BooleanField(default=False)
    signature = models.BooleanField(default=False)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        constraints = [
            # Serves: a log looked at twice (after a kill) is counted once.
            models.UniqueConstraint(fields=["trial", "run"], name="trial_change_unique"),
        ]
        indexes = [
            # Serves: a page of a trial's changes, newest logs first.
            models.Index(fields=["trial", "id"], name="trial_change_page"),
        ]
        ordering = ["id"]
