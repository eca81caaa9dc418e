"""Verdicts of runs off trunk, what people say over them, and what a repository declares about its jobs.

Verdicts of trunk's cells stand in `Cell` and come from hud.services.streaks.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from classifier.verdict import Since
from hud.models.ci import Job, Run
from hud.models.repository import Branch, Repository
from hud.models.trunk import Commit


class Verdict(models.Model):
    """The engine's own answer for one failed or stopped run. Written by hud.services.verdicts alone.

    `evidence` are ids of classifier.verdict runs (see hud.services.evidence); `family` is the job's stable name.
    `pushed_at` is when the run's commit was pushed: what came long after can't concern it. `since_sha` is empty where
    nobody knows, and in rows that engines before version 3 wrote.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="own_verdict")
    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="+")
    label = models.CharField(max_length=14)
    blocks = models.BooleanField()
    action = models.CharField(max_length=8)
    reason = models.TextField()
    confidence = models.FloatField()
    evidence = ArrayField(models.TextField(), default=list, blank=True)
    engine_version = models.PositiveIntegerField()
    since_sha = models.CharField(max_length=64, default="", blank=True, help_text="Trunk has the failure since then.")
    since_is_first = models.BooleanField(default=False, help_text="The job passed below: no commit before has it.")
    family = models.CharField(max_length=800)
    pushed_at = models.DateTimeField()
    decided_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            # Serves: which verdicts may a new result of this job concern?
            models.Index(fields=["repository", "family", "pushed_at"], name="verdict_by_family"),
        ]

    @property
    def since(self) -> Since | None:
        """Since when trunk has the failure, as the reason tells it."""
        return Since(self.since_sha, self.since_is_first) if self.since_sha else None


class JudgeRequest(models.Model):
    """Evidence changed in this cell: verdicts that it touches are decided again. Kept until that is committed.

    `own_only`: what changed (a label, a test report) concerns the cell's own commit and no neighbour's verdict.
    `with_trunk`: the cell's verdict on trunk is decided again too; ingest has done that itself for what it brought in.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="+")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="+")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="+")
    own_only = models.BooleanField(default=False)
    with_trunk = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["commit", "job"], name="judge_request_unique")]


class Label(models.Model):
    """A person's word on a cell: it wins over the engine's until it is undone. Kept for ever.

    `who` and `undone_by` are names of accounts at that time. `engine_*`: what the engine says of the same cell. `run`
    spoke for the cell when it was said; `ended_by` failed in another way later, which is not what was labelled.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="labels")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="labels")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="labels")
    label = models.CharField(max_length=14)
    reason = models.TextField()
    who = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.CharField(max_length=150, default="", blank=True)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    ended_by = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    engine_label = models.CharField(max_length=14, default="", blank=True)
    engine_reason = models.TextField(default="", blank=True)
    engine_confidence = models.FloatField(null=True, blank=True)

    class Meta:
        constraints = [
            # Serves: the word that holds for this cell.
            models.UniqueConstraint(fields=["commit", "job"], name="label_holds_unique", condition=Q(undone_at=None)),
        ]
        indexes = [
            # Serves: what was ever said of this cell?
            models.Index(fields=["commit", "job", "-id"], name="label_history"),
            # Serves: the newest words in a repository.
            models.Index(fields=["repository", "-id"], name="label_by_repository"),
        ]
        ordering = ["-id"]

    @property
    def undone_because(self) -> str:
        """Why it ended where nobody undid it."""
        return "A later attempt failed in another way." if self.undone_at and not self.undone_by else ""


class JobRule(models.Model):
    """One line of an ordered list that a repository keeps about its jobs: the first that finds a job decides.

    Lists and values: hud.core.jobrules. A repository without lines in a list uses that list's default.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="job_rules")
    topic = models.CharField(max_length=12, help_text="Which list.")
    order = models.PositiveIntegerField()
    pattern = models.CharField(max_length=500)
    value = models.CharField(max_length=60)

    class Meta:
        constraints = [
            # Serves: a repository's lists in their order.
            models.UniqueConstraint(fields=["repository", "topic", "order"], name="job_rule_order_unique"),
        ]
        ordering = ["topic", "order"]


class TrunkReview(models.Model):
    """Rows of a branch, below a position, whose cells of these jobs are still to be judged again by changed lists.

    It shrinks step by step and goes with the last one: a crash resumes where it stopped.
    """

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="reviews")
    below = models.IntegerField()
    job_ids = ArrayField(models.BigIntegerField())
    asked_at = models.DateTimeField(auto_now_add=True)


class ForceMerge(models.Model):
    """A person merged a pull request although the gate was closed. Never changed. `blocking`: what stood against it."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="force_merges")
    pull_number = models.PositiveIntegerField()
    head_sha = models.CharField(max_length=64)
    who = models.CharField(max_length=150)
    reason = models.TextField()
    blocking = models.JSONField(default=list)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # Serves: was this pull request forced? Once for each head.
            models.UniqueConstraint(fields=["repository", "pull_number", "head_sha"], name="force_merge_unique"),
        ]
        ordering = ["-id"]


class Reporting(models.Model):
    """Whether HUD writes to a repository's pull requests at GitHub. Without a row: no."""

    repository = models.OneToOneField(Repository, on_delete=models.CASCADE, related_name="reporting")
    comment = models.BooleanField(default=False)
    check_run = models.BooleanField(default=False)


class PostedReport(models.Model):
    """What HUD last wrote to a pull request, so that it writes again only what differs."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="+")
    pull_number = models.PositiveIntegerField()
    comment_id = models.BigIntegerField(null=True, blank=True)
    comment_digest = models.CharField(max_length=64, default="", blank=True)
    check_id = models.BigIntegerField(null=True, blank=True)
    check_sha = models.CharField(max_length=64, default="", blank=True)
    check_digest = models.CharField(max_length=64, default="", blank=True)
    wanted = models.BooleanField(default=False, help_text="Verdicts changed since it was written.")
    error = models.TextField(default="", blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    posted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Serves: what was written to this pull request?
            models.UniqueConstraint(fields=["repository", "pull_number"], name="posted_report_unique"),
        ]
        indexes = [
            # Serves: which pull requests are to be written to?
            models.Index(fields=["tried_at"], name="posted_report_wanted", condition=Q(wanted=True)),
        ]
