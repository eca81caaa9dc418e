"""Notices that admins post: an incident, a maintenance."""

from __future__ import annotations

from django.db import models

from hud.models.repository import Repository


class Notice(models.Model):
    """Words of an admin on top of every page, from start to end. Never deleted. `version` grows with every change."""

    class Kind(models.TextChoices):
        INCIDENT = "incident"
        MAINTENANCE = "maintenance"

    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="notices", help_text="None: all."
    )
    kind = models.CharField(max_length=12, choices=Kind.choices)
    text = models.TextField()
    link = models.TextField(default="", blank=True)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When somebody ended it early.")
    author = models.CharField(max_length=150)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            # Serves: what is said on top of pages now?
            models.Index(fields=["ends_at"], name="notice_by_end"),
        ]
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text[:60]}"
