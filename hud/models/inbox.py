"""The inbox: what came in, stored before it is answered, until its effect is committed."""

from django.db import models
from django.db.models import Q

from hud.models.repository import Repository


class InboxItem(models.Model):
    """One delivery or API answer. Never lost: it is done, waits with its error, or is parked for an admin."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        PARKED = "parked", "needs an admin"
        IGNORED = "ignored", "nothing to do with it"
        UNFOLLOWED = "unfollowed", "of a repository that nobody follows"

    source = models.CharField(max_length=10, default="webhook")
    event = models.CharField(max_length=60)
    delivery = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001  (unique where there is one)
    full_name = models.CharField(max_length=310, default="", blank=True)
    repository = models.ForeignKey(Repository, null=True, blank=True, on_delete=models.SET_NULL)
    body = models.BinaryField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(default="", blank=True)
    note = models.TextField(default="", blank=True, help_text="What an admin should know of a done item.")
    received_at = models.DateTimeField(auto_now_add=True)
    processed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Serves: was this delivery seen?
            models.UniqueConstraint(fields=["delivery"], name="inbox_delivery_unique"),
        ]
        indexes = [
            # Serves: the next items to work on.
            models.Index(fields=["next_attempt_at", "id"], name="inbox_waiting", condition=Q(state="waiting")),
            # Serves: the admin's list of items that need a look.
            models.Index(
                fields=["-id"], name="inbox_attention", condition=Q(state__in=["parked", "unfollowed"]) | ~Q(note="")
            ),
            # Serves: deleting what is done and old.
            models.Index(fields=["received_at"], name="inbox_old", condition=Q(state__in=["done", "ignored"])),
        ]


class FollowRequest(models.Model):
    """A back-fill asked for by an admin or a command, with its progress."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="follow_requests")
    branch = models.CharField(max_length=255, default="", blank=True)
    commits = models.PositiveIntegerField(default=100)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    message = models.TextField(default="", blank=True)
    cursor = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
