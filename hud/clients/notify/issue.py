"""Issues at GitHub: what a target of this kind is made of. They are written by the client of the poller."""

import re
from collections.abc import Mapping
from typing import Any

from hud.clients.notify.post import Options, TargetRefused

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.\.?$)[A-Za-z0-9._-]{1,100}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,300}")
_MOST_LABELS = 10


def check(config: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Check the repository's name, the token and the labels. Raises TargetRefused."""
    repository = str(config.get("repository") or "").strip()
    if not _REPOSITORY.fullmatch(repository):
        raise TargetRefused("Name the repository that gets the issues as owner/name.")
    token = str(config.get("token") or "").strip()
    if token and not _TOKEN.fullmatch(token):
        raise TargetRefused("The token has a blank, line end or letter in it that no token has.")
    if not token and not options.has_github_token:
        raise TargetRefused("Give a token that may write issues there; HUD itself has none (GITHUB_TOKEN).")
    given = config.get("labels") or []
    labels = [label.strip() for label in (given.split(",") if isinstance(given, str) else map(str, given))]
    labels = list(dict.fromkeys(filter(None, labels)))
    if len(labels) > _MOST_LABELS or any(len(label) > 50 or not label.isprintable() for label in labels):
        raise TargetRefused(f"Give at most {_MOST_LABELS} labels of at most 50 characters.")
    return {"repository": repository, "labels": labels, **({"token": token} if token else {})}
