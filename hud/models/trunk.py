"""Commits, their order on branches, and what GitHub told about heads."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from hud.models.repository import Branch, Repository


class Commit(models.Model):
    """A row of the grid, or the head of a pull request.

    `cells` holds one character per job column (see hud.core.cellcode) and is kept by hud.services.cells alone.
    `parents` is None until GitHub's word on them is known; `guessed_parent` is what a push implied meanwhile.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="commits")
    sha = models.CharField(max_length=64)
    title = models.TextField(default="", blank=True)
    message = models.TextField(default="", blank=True)
    author = models.CharField(max_length=255, default="", blank=True)
    author_name = models.CharField(max_length=255, default="", blank=True)
    author_email = models.CharField(max_length=320, default="", blank=True, help_text="Shown nowhere; for mail alone.")
    authored_at = models.DateTimeField(null=True, blank=True)
    committed_at = models.DateTimeField(null=True, blank=True)
    pull_number = models.PositiveIntegerField(null=True, blank=True)
    parents = ArrayField(models.CharField(max_length=64), null=True, blank=True)
    guessed_parent = models.CharField(max_length=64, default="", blank=True)
    files = ArrayField(models.TextField(), null=True, blank=True, help_text="Touched paths where known.")
    files_lack = models.CharField(max_length=4, default="", blank=True, help_text="See hud.core.touched.")
    cells = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            # Serves: the commit of this sha.
            models.UniqueConstraint(fields=["repository", "sha"], name="commit_sha_unique"),
        ]
        indexes = [
            # Serves: the commits of a pull request.
            models.Index(
                fields=["repository", "pull_number"], name="commit_by_pull", condition=Q(pull_number__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.sha[:10]

    @property
    def first_parent(self) -> str:
        """Sha of the first parent, "" for a root or while it is unknown."""
        if self.parents is not None:
            return self.parents[0] if self.parents else ""
        return self.guessed_parent


class BranchCommit(models.Model):
    """The place of a commit on a branch: first-parent order, greater is newer. Positions need not start at 0."""

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="rows")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="places")
    position = models.IntegerField()

    class Meta:
        constraints = [
            # Serves: a page of the grid, newest first; the neighbours of a row.
            models.UniqueConstraint(fields=["branch", "position"], name="branch_position_unique"),
            # Serves: the branches that a commit sits on.
            models.UniqueConstraint(fields=["commit", "branch"], name="branch_commit_unique"),
        ]


class HeadReport(models.Model):
    """Somebody's word on where a branch pointed: a push event or an answer of the commit list.

    Heads are computed from all reports together, so the order in which they arrive does not matter.
    """

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="head_reports")
    before = models.CharField(max_length=64, default="", blank=True)
    sha = models.CharField(max_length=64)
    forced = models.BooleanField(default=False)
    polled = models.BooleanField(default=False, help_text="Read from the API, which knows; pushes may be late.")
    reported_at = models.DateTimeField(null=True, blank=True, help_text="GitHub's time of the push or the answer.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["branch", "before", "sha", "polled"], name="head_report_unique", nulls_distinct=False
            ),
        ]


class PullRequest(models.Model):
    """What HUD knows of a pull request from events and the API.

    `updated_at` is None while only its workflow runs named it: then author, title, labels and state are not known.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="pull_requests")
    number = models.PositiveIntegerField()
    title = models.TextField(default="", blank=True)
    author = models.CharField(max_length=255, default="", blank=True)
    state = models.CharField(max_length=10, default="open")
    merged = models.BooleanField(default=False)
    head_sha = models.CharField(max_length=64, default="", blank=True)
    base_ref = models.CharField(max_length=255, default="", blank=True)
    base_sha = models.CharField(max_length=64, default="", blank=True)
    merge_commit_sha = models.CharField(max_length=64, default="", blank=True)
    head_shas = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    labels = ArrayField(models.CharField(max_length=100), default=list, blank=True, help_text="Sorted names.")
    updated_at = models.DateTimeField(null=True, blank=True)
    second_told = ArrayField(
        models.CharField(max_length=64), default=list, blank=True, help_text="Heads told in the second of `updated_at`."
    )
    second_over = ArrayField(
        models.CharField(max_length=64), default=list, blank=True, help_text="Heads pushed over in that second."
    )
    head_told_at = models.DateTimeField(
        null=True, blank=True, help_text="While only workflow runs named it: when the one that told the head did."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["repository", "number"], name="pull_number_unique")]
        indexes = [
            # Serves: which pull request had this commit as its head?
            GinIndex(fields=["head_shas"], name="pull_by_head"),
        ]
