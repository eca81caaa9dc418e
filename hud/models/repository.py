"""Repositories, their branches and the rules that group their jobs."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower


class Repository(models.Model):
    """A GitHub repository that HUD shows. It is known by GitHub's id once that is seen; names may change."""

    github_id = models.BigIntegerField(null=True, blank=True, unique=True)
    owner = models.CharField(max_length=100)
    name = models.CharField(max_length=200)
    default_branch = models.CharField(max_length=255, default="main")
    synthetic = models.BooleanField(default=False, help_text="Made by HUD itself; marked so on every page.")
    followed = models.BooleanField(default=False, help_text="The poller asks GitHub about it.")
    next_column = models.PositiveIntegerField(default=0, help_text="Column number that the next new job gets.")
    layout_version = models.BigIntegerField(
        default=0, help_text="Grows when columns come, go or get other names, with their groups and the lists of jobs."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # Serves: which repository does this address name? GitHub's names ignore case.
            models.UniqueConstraint(Lower("owner"), Lower("name"), name="repository_full_name_unique"),
        ]
        ordering = ["id"]

    def __str__(self) -> str:
        return self.full_name

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


class RepositoryAlias(models.Model):
    """A former name of a repository: old addresses redirect, late events under it still find their repository."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="aliases")
    owner = models.CharField(max_length=100)
    name = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("owner"), Lower("name"), name="alias_full_name_unique"),
        ]


class Branch(models.Model):
    """A branch whose commits are rows. `polled_*` tell how old the data is and why."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="branches")
    name = models.CharField(max_length=255)
    tracked = models.BooleanField(default=True)
    head = models.ForeignKey("hud.Commit", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    missing_parents = ArrayField(
        models.CharField(max_length=64), default=list, blank=True, help_text="Parents of rows that nobody told about."
    )
    version = models.BigIntegerField(default=0, help_text="Grows with every change that the grid shows.")
    changed_at = models.DateTimeField(null=True, blank=True, help_text="When the newest change came in.")
    polled_at = models.DateTimeField(null=True, blank=True, help_text="Last poll that GitHub answered in full.")
    poll_error = models.TextField(blank=True, default="")
    poll_retry_at = models.DateTimeField(null=True, blank=True)
    poll_cursor = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["repository", "name"], name="branch_name_unique")]
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class GroupRule(models.Model):
    """One ordered rule: the first whose pattern is found in "workflow / job" names the job's group.

    A repository without rules groups by workflow.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="group_rules")
    order = models.PositiveIntegerField()
    pattern = models.CharField(max_length=500)
    group = models.CharField(max_length=100)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["repository", "order"], name="group_rule_order_unique")]
        ordering = ["order"]
