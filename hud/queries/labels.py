"""People's words over the engine's verdicts, as a list."""

from __future__ import annotations

from hud.models import Label, Repository


def newest_labels(repository: Repository, most: int = 100) -> list[Label]:
    """Return what people said lately in the repository."""
    rows = Label.objects.filter(repository=repository).select_related("commit", "job")
    return list(rows.defer("commit__cells", "commit__message").order_by("-pk")[:most])
