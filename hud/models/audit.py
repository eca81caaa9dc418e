"""The audit trail: what admins changed. The database itself refuses to change or delete an entry."""

from typing import Any

from django.db import models


class AuditEntry(models.Model):
    """One change by a person. `who` is the account's name at that time: the trail outlives the account.

    `what` is a word of hud.core.audit; `target` names the thing changed ("apache/ozone", "inbox item 12").
    """

    at = models.DateTimeField(auto_now_add=True)
    who = models.CharField(max_length=150)
    what = models.CharField(max_length=60)
    target = models.CharField(max_length=400, default="", blank=True)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)

    class Meta:
        indexes = [
            # Serves: what was done to this thing?
            models.Index(fields=["target", "-id"], name="audit_by_target"),
        ]
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.who}: {self.what} {self.target}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write a new entry. Raises TypeError for one that is written already."""
        if self.pk is not None:
            raise TypeError("an audit entry is never changed")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Raises TypeError."""
        raise TypeError("an audit entry is never deleted")
