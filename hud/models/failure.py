"""Logs, what the classifier found in them, and GitHub's annotations."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper

from hud.models.ci import Run


class Log(models.Model):
    """Where a run's log is, or why there is none."""

    class Status(models.TextChoices):
        PENDING = "pending"
        STORED = "stored"
        GONE = "gone", "GitHub no longer has it"
        NONE = "none", "there is none to fetch"
        REFUSED = "refused", "its address is not on the list of allowed hosts"
        FAILED = "failed"

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="log")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    key = models.CharField(max_length=300, default="", blank=True)
    size_bytes = models.BigIntegerField(default=0)
    line_count = models.BigIntegerField(default=0)
    cut = models.JSONField(null=True, blank=True, help_text="What was left out of a log past the limit.")
    error = models.TextField(default="", blank=True)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    fetched_at = models.DateTimeField(null=True, blank=True)
    classified_by = models.CharField(max_length=64, default="", blank=True, help_text="Engine and rules version.")

    class Meta:
        indexes = [
            # Serves: the logs that are still to be fetched.
            models.Index(fields=["next_attempt_at"], name="log_pending", condition=Q(status="pending")),
            # Serves: the runs whose annotations came after their classification.
            models.Index(fields=["run"], name="log_unclassified", condition=Q(classified_by="")),
        ]


class Failure(models.Model):
    """One classified cause in a run's log or annotations. `rank` 0 is the primary."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="failures")
    rank = models.PositiveSmallIntegerField()
    rule = models.CharField(max_length=200)
    category = models.CharField(max_length=32)
    line_number = models.BigIntegerField(default=0, help_text="1-based; 0 for an annotation.")
    line = models.TextField()
    captures = ArrayField(models.TextField(), default=list, blank=True)
    tests = ArrayField(models.TextField(), default=list, blank=True)
    context = ArrayField(models.TextField(), default=list, blank=True)
    step = models.CharField(max_length=300, default="", blank=True)
    signature = models.CharField(max_length=300)
    generic = models.BooleanField(default=False)
    source = models.CharField(max_length=12, default="log")

    class Meta:
        constraints = [
            # Serves: the failures of a run, primary first.
            models.UniqueConstraint(fields=["run", "rank"], name="failure_rank_unique"),
        ]
        indexes = [
            # Serves: where else was this seen? Only primaries, which verdicts compare.
            models.Index(fields=["signature"], name="failure_by_signature", condition=Q(rank=0)),
            # Serves, with the one above: was this seen as a further cause? (the failure search)
            models.Index(fields=["signature"], name="further_by_signature", condition=Q(rank__gt=0)),
            # Serves: which failure lines hold this text, whatever its case? (the failure search)
            GinIndex(OpClass(Upper("line"), name="gin_trgm_ops"), name="failure_by_text"),
        ]
        ordering = ["rank"]


class Annotation(models.Model):
    """A check-run annotation: time-outs, lost runners and superseded runs are often told only here."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="annotations")
    number = models.PositiveIntegerField()
    level = models.CharField(max_length=20, default="", blank=True)
    title = models.TextField(default="", blank=True)
    message = models.TextField(default="", blank=True)
    path = models.TextField(default="", blank=True)
    start_line = models.IntegerField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="annotation_number_unique")]
        ordering = ["number"]
