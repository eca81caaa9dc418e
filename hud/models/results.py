"""What test reports tell: tests, their failures one by one, and counts of the rest by day.

A busy repository's million jobs a month run a thousand million tests; nearly all pass. So a row is kept for each test
(`Test`), for each day on which it ran (`TestDay`) and for each time that it failed or healed (`TestResult`); which
tests passed in a run is a packed set of their ids (hud.core.idset) in the run's `TestReport`.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from hud.models.ci import Run
from hud.models.repository import Repository


class Test(models.Model):
    """A test of a repository. `owner`: its class, package or suite. The keys: hud.core.testname."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="tests", db_index=False)
    owner = models.CharField(max_length=500, default="", blank=True)
    name = models.CharField(max_length=500)
    identity = models.UUIDField()
    full_key = models.BigIntegerField()
    tail_key = models.BigIntegerField()
    bare_key = models.BigIntegerField()

    class Meta:
        constraints = [
            # Serves: the tests that a report names.
            models.UniqueConstraint(fields=["repository", "identity"], name="test_identity_unique"),
        ]
        indexes = [
            # Serve: which test does a log mean by this name?
            models.Index(fields=["full_key"], name="test_by_full_name"),
            models.Index(fields=["tail_key"], name="test_by_class_and_name"),
            models.Index(fields=["bare_key"], name="test_by_bare_name"),
        ]

    def __str__(self) -> str:
        return f"{self.owner} {self.name}".strip()


class TestReport(models.Model):
    """All that the test reports of one run told. `digests`: of the files taken in, so that none counts twice."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="test_report")
    branch = models.CharField(max_length=255, default="", blank=True, help_text="Empty: on no tracked branch.")
    at = models.DateTimeField(help_text="When the run began.")
    digests = ArrayField(models.BigIntegerField(), default=list, blank=True)
    passed_ids = models.BinaryField(default=bytes, blank=True)
    skipped_ids = models.BinaryField(default=bytes, blank=True)
    more_failed_ids = models.BinaryField(default=bytes, blank=True, help_text="Failed tests past those with rows.")
    passed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    flaky = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    complete = models.BooleanField(default=True, help_text="False: a file ended before its end.")
    problems = models.JSONField(default=list, blank=True)
    received_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            # Serves: forgetting old reports.
            models.Index(fields=["at"], name="test_report_by_time"),
        ]


class WaitingReport(models.Model):
    """A test report whose run HUD has not heard of yet. It is attached when the run comes, and dropped after a time.

    The run is named by `external_id` (GitHub's job id), or by `commit` (as typed) and `job`. `data` is the report as
    it was read, packed by hud.services.waiting_results.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="+")
    external_id = models.BigIntegerField(null=True, blank=True)
    commit = models.CharField(max_length=64, default="", blank=True)
    job = models.CharField(max_length=800, default="", blank=True)
    digest = models.BigIntegerField(help_text="Of the file: the same file twice waits once.")
    data = models.BinaryField()
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # Serves: does this file wait already?
            models.UniqueConstraint(
                fields=["repository", "external_id", "commit", "job", "digest"],
                name="waiting_report_unique",
                nulls_distinct=False,
            ),
        ]


class TestResult(models.Model):
    """A test that failed in a run, or passed there only when it was tried again.

    `flipped`: the same job gave both results for it on the same commit, within this run or in another attempt.
    """

    class Outcome(models.TextChoices):
        FAILED = "failed"
        FLAKY = "flaky", "passed on retry"

    report = models.ForeignKey(TestReport, on_delete=models.CASCADE, related_name="results", db_index=False)
    test = models.ForeignKey(Test, on_delete=models.CASCADE, related_name="results", db_index=False)
    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="+")
    branch = models.CharField(max_length=255, default="", blank=True)
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    detail = models.CharField(max_length=10, default="", blank=True)
    attempts = models.PositiveIntegerField(default=1)
    duration_ms = models.PositiveBigIntegerField(null=True, blank=True)
    message = models.TextField(default="", blank=True)
    flipped = models.BooleanField(default=False)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            # Serves: the failing and healed tests of a run.
            models.UniqueConstraint(fields=["report", "test"], name="test_result_unique"),
        ]
        indexes = [
            # Serves: how often and where did this test fail or flip?
            models.Index(fields=["test", "-at"], name="test_result_by_test"),
            # Serves: which tests flipped here lately?
            models.Index(fields=["repository", "-at"], name="test_flips_by_time", condition=Q(flipped=True)),
        ]


class TestDay(models.Model):
    """How a test ended on one day, on one branch ("": on pull requests and others).

    `samples`: commits × jobs on which it passed or failed, each counted once however often it was tried. `passed`,
    `failed` and `flaky` count runs.
    """

    test = models.ForeignKey(Test, on_delete=models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    branch = models.CharField(max_length=255, default="", blank=True)
    samples = models.IntegerField(default=0)
    passed = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    flaky = models.IntegerField(default=0)

    class Meta:
        constraints = [
            # Serves: how often did this test run since then?
            models.UniqueConstraint(fields=["test", "day", "branch"], name="test_day_unique"),
        ]
        indexes = [
            # Serves: forgetting old days.
            models.Index(fields=["day"], name="test_day_by_day"),
        ]
