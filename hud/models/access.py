"""Tokens with which programs act for a person."""

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A token of a user. Only its SHA-256 is kept: the token itself has 256 random bits and is shown once."""

    class Scope(models.TextChoices):
        ALL = "all", "whatever its user may do"
        RESULTS = "results", "only to hand in test results"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    digest = models.CharField(max_length=64)
    hint = models.CharField(max_length=12, help_text="First characters, to tell tokens apart.")
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.ALL)
    note = models.CharField(max_length=200, default="", blank=True, help_text="What it is for.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True, help_text="To the hour.")

    class Meta:
        constraints = [
            # Serves: whose token is this?
            models.UniqueConstraint(fields=["digest"], name="api_token_digest_unique"),
        ]
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.hint}… of {self.user}"
