"""Workflows, jobs, runs, and the cells and streaks that follow from them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from hud.models.repository import Branch, Repository
from hud.models.trunk import Commit


class Workflow(models.Model):
    """A workflow file, or an app that posts check runs. Known by GitHub's id, until then by its name."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="workflows")
    github_id = models.BigIntegerField(null=True, blank=True)
    name = models.CharField(max_length=255, default="", blank=True)
    path = models.CharField(max_length=500, default="", blank=True)
    named_by = models.BigIntegerField(default=0, help_text="Workflow run whose name this is; the newest wins.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["repository", "github_id"], name="workflow_id_unique", condition=Q(github_id__isnull=False)
            ),
            models.UniqueConstraint(
                fields=["repository", "name"], name="unidentified_workflow_name_unique", condition=Q(github_id=None)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class WorkflowRun(models.Model):
    """One attempt of a workflow on a commit."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="workflow_runs")
    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="workflow_runs")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="workflow_runs")
    external_id = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    run_number = models.PositiveIntegerField(null=True, blank=True)
    event = models.CharField(max_length=50, default="", blank=True)
    head_branch = models.CharField(max_length=255, default="", blank=True)
    status = models.CharField(max_length=30, default="queued")
    conclusion = models.CharField(max_length=30, default="", blank=True)
    actor = models.CharField(max_length=255, default="", blank=True)
    actor_is_bot = models.BooleanField(default=False)
    html_url = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(null=True, blank=True)
    jobs_listed = models.BooleanField(default=False, help_text="GitHub's list of this attempt's jobs was read.")

    class Meta:
        constraints = [
            # Serves: the attempts of a workflow run.
            models.UniqueConstraint(
                fields=["repository", "external_id", "attempt"], name="workflow_run_attempt_unique"
            ),
        ]
        indexes = [
            # Serves: the workflow runs of a commit.
            models.Index(fields=["commit", "workflow"], name="workflow_run_by_commit"),
            # Serves: did this workflow fail to start anywhere?
            models.Index(fields=["workflow"], name="startup_failures", condition=Q(conclusion="startup_failure")),
        ]


class Job(models.Model):
    """A column: the stable name of a job in its workflow. `column` is its index in `Commit.cells`."""

    class Kind(models.TextChoices):
        JOB = "job"
        WORKFLOW_START = "start", "start of the workflow itself"

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="jobs")
    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="jobs")
    name = models.CharField(max_length=500)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.JOB)
    column = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workflow", "name", "kind"], name="job_name_unique"),
            models.UniqueConstraint(fields=["repository", "column"], name="job_column_unique"),
        ]

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """One attempt of a job on a commit. `external_id` is GitHub's job id; negative for a workflow's own start."""

    class Origin(models.TextChoices):
        PUSH = "push"
        PULL_REQUEST = "pull_request"
        MERGE_QUEUE = "merge_queue"
        SCHEDULE = "schedule"
        RERUN = "rerun", "rerun by a person"
        RERUN_BOT = "rerun_bot", "restart by a bot"
        RESTART = "restart"
        CHECK = "check", "check run of an app"
        UNKNOWN = "unknown"

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="runs")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="runs")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="runs")
    external_id = models.BigIntegerField()
    workflow_run_id = models.BigIntegerField(null=True, blank=True, help_text="GitHub's id of the workflow run.")
    attempt = models.PositiveIntegerField(default=1)
    name = models.CharField(max_length=500)
    workflow_name = models.CharField(max_length=255, default="", blank=True)
    status = models.CharField(max_length=30, default="queued")
    conclusion = models.CharField(max_length=30, default="", blank=True)
    told_conclusion = models.CharField(
        max_length=30, default="", blank=True, help_text="What annotations say really happened (a time-out)."
    )
    origin = models.CharField(max_length=15, choices=Origin.choices, default=Origin.UNKNOWN)
    created_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    runner_name = models.CharField(max_length=255, default="", blank=True)
    labels = ArrayField(models.CharField(max_length=255), default=list, blank=True)
    html_url = models.TextField(default="", blank=True)
    details_url = models.TextField(default="", blank=True, help_text="The page of the CI that wrote a check run.")
    steps = models.JSONField(null=True, blank=True, help_text="Steps of a run that did not succeed.")

    class Meta:
        constraints = [
            # Serves: the run of this GitHub job id.
            models.UniqueConstraint(fields=["repository", "external_id"], name="run_external_id_unique"),
        ]
        indexes = [
            # Serves: all runs of a cell.
            models.Index(fields=["commit", "job"], name="run_by_cell"),
            # Serves: the runs of a workflow run, when its event comes later than theirs.
            models.Index(fields=["repository", "workflow_run_id"], name="run_by_workflow_run"),
            # Serves: when did this job last finish? (alerts by time ask every few seconds)
            models.Index(
                fields=["job", "-completed_at"],
                name="finished_runs_of_job",
                condition=Q(status="completed", completed_at__isnull=False),
            ),
            # Serves: what failed here lately? (the failure search)
            models.Index(
                fields=["repository", "-completed_at"],
                name="failed_runs_by_time",
                condition=Q(conclusion__in=["failure", "timed_out", "cancelled", "startup_failure"]),
            ),
        ]

    @property
    def duration_s(self) -> int | None:
        if self.started_at and self.completed_at:
            return max(0, int((self.completed_at - self.started_at).total_seconds()))
        return None


class Cell(models.Model):
    """A commit × job after merging its runs (hud.core.cell). Written by hud.services.cells alone."""

    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="cell_rows")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="cells")
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")
    state = models.CharField(max_length=12)
    detail = models.CharField(max_length=16, default="", blank=True)
    flaky = models.BooleanField(default=False)
    run_count = models.PositiveIntegerField(default=1)
    verdict = models.CharField(max_length=14, default="", blank=True)
    verdict_reason = models.TextField(default="", blank=True)
    verdict_confidence = models.FloatField(null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            # Serves: one cell; all cells of a commit.
            models.UniqueConstraint(fields=["commit", "job"], name="cell_unique"),
        ]
        indexes = [
            # Serves: the failing cells of a job.
            models.Index(fields=["job"], name="failing_cells", condition=Q(state__in=["failure", "timed_out"])),
            # Serves: the cells that failed and passed, which lists of jobs have a say about.
            models.Index(fields=["commit"], name="healed_cells", condition=Q(flaky=True)),
        ]


class Streak(models.Model):
    """Consecutive failing cells of a job on a branch (hud.core.streak). Written by hud.services.streaks alone."""

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="streaks")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="streaks")
    first_bad = models.IntegerField(help_text="Position on the branch.")
    last_bad = models.IntegerField()
    last_good = models.IntegerField(null=True, blank=True)
    first_good_after = models.IntegerField(null=True, blank=True)
    length = models.PositiveIntegerField(help_text="Failing commits.")
    changes = ArrayField(models.IntegerField(), default=list, blank=True, help_text="Where the cause changed.")

    class Meta:
        constraints = [
            # Serves: the streaks of a job around a position.
            models.UniqueConstraint(fields=["branch", "job", "first_bad"], name="streak_unique"),
        ]
        indexes = [
            # Serves: what is red now (the status sentence).
            models.Index(
                fields=["branch", "first_bad"], name="open_streaks", condition=Q(first_good_after__isnull=True)
            ),
            # Serves: which columns begin red above this row?
            models.Index(fields=["branch", "first_bad"], name="begun_red", condition=Q(last_good__isnull=True)),
            # Serves: the streaks that a page of the grid shows.
            models.Index(fields=["branch", "last_bad", "first_bad"], name="streaks_of_rows"),
        ]
