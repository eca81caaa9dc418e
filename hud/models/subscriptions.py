"""What people follow, what they were told of it, and the mails to persons."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from hud.models.alerts import Alert
from hud.models.ci import Job
from hud.models.repository import Branch, Repository


class Subscription(models.Model):
    """A user follows a job, a group or a saved view of a branch.

    `query` is the query string of the view, as hud.core.gridview writes it. `waiting_since`: when the first change
    that is still to be told was seen; a mail goes out a short while later, with all that came meanwhile.
    """

    class Kind(models.TextChoices):
        JOB = "job"
        GROUP = "group"
        VIEW = "view"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="subscriptions")
    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="subscriptions")
    kind = models.CharField(max_length=5, choices=Kind.choices)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    group = models.CharField(max_length=300, default="", blank=True)
    query = models.TextField(default="", blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    waiting_since = models.DateTimeField(null=True, blank=True)
    told_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Serves: does the user follow this already?
            models.UniqueConstraint(
                fields=["user", "branch", "kind", "job", "group", "query"],
                name="subscription_unique",
                nulls_distinct=False,
            ),
        ]
        indexes = [
            # Serves: who follows something on this branch?
            models.Index(fields=["branch"], name="subscription_active", condition=Q(paused_at=None)),
            # Serves: whom is something to be told?
            models.Index(
                fields=["waiting_since"], name="subscription_waiting", condition=Q(waiting_since__isnull=False)
            ),
        ]
        ordering = ["id"]


class FollowedJob(models.Model):
    """How a job of a subscription stood when its follower was last told, and how it stands now.

    Both are the JSON of hud.core.following.Standing, None for green. A row exists only for jobs that are red, or were
    told to be. `news`: what is still to be told, empty for nothing.
    """

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="followed")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="+")
    told = models.JSONField(null=True, blank=True)
    now = models.JSONField(null=True, blank=True)
    news = models.CharField(max_length=10, default="", blank=True)

    class Meta:
        constraints = [
            # Serves: how did this job stand for this follower?
            models.UniqueConstraint(fields=["subscription", "job"], name="followed_job_unique"),
        ]


class FollowedBranch(models.Model):
    """Up to which version of a branch its followers' jobs were looked at."""

    branch = models.OneToOneField(Branch, on_delete=models.CASCADE, related_name="followed")
    version = models.BigIntegerField(default=-1)
    looked_at = models.DateTimeField(null=True, blank=True)


class AuthorTelling(models.Model):
    """Whether the authors of a repository's commits are told what they broke. Without a row: no."""

    repository = models.OneToOneField(Repository, on_delete=models.CASCADE, related_name="author_telling")
    enabled = models.BooleanField(default=False)


class Mail(models.Model):
    """One e-mail to one person, written with the change that it tells of. `key` is its idempotency key.

    `user`: who follows; `alert`: of which the author of a commit is told.
    """

    class Kind(models.TextChoices):
        NEWS = "news", "news of what a user follows"
        AUTHOR = "author", "to the author of a commit"
        OWNER = "owner", "to the owner of something"

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        CANCELLED = "cancelled", "no longer to be sent"
        FAILED = "failed", "given up"

    key = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=6, choices=Kind.choices)
    address = models.CharField(max_length=254)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="mails"
    )
    alert = models.ForeignKey(Alert, null=True, blank=True, on_delete=models.CASCADE, related_name="mails")
    subject = models.CharField(max_length=300)
    text = models.TextField()
    unsubscribe_url = models.TextField(default="", blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            # Serves: what is to be sent next?
            models.Index(fields=["due_at"], name="mail_waiting", condition=Q(state="waiting")),
            # Serves: the newest mails to a user.
            models.Index(fields=["user", "-id"], name="mail_by_user", condition=Q(user__isnull=False)),
            # Serves: what was an author told of an alert?
            models.Index(fields=["alert"], name="mail_by_alert", condition=Q(alert__isnull=False)),
        ]
        ordering = ["id"]


class MailAttempt(models.Model):
    """One try to send a mail, written before it is made. Without `ended_at` nobody knows what became of it."""

    mail = models.ForeignKey(Mail, on_delete=models.CASCADE, related_name="tries")
    number = models.PositiveIntegerField()
    repeat = models.BooleanField(default=False, help_text="An earlier one may have arrived; the mail says so.")
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    delivered = models.BooleanField(default=False)
    may_have_arrived = models.BooleanField(default=True)
    error = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            # Serves: the attempts of a mail.
            models.UniqueConstraint(fields=["mail", "number"], name="mail_attempt_unique"),
        ]
        ordering = ["number"]
