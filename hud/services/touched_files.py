"""Asks GitHub which files suspects touch, where no push has told it.

A list of commits says nothing of files, so each commit costs one request, once: the answer is kept, and so is GitHub's
word that it has none to give. Only commits that a red streak makes suspects are worth it (hud.queries.untold_files).
Whatever goes wrong here waits for a later look and is no trouble of the poll that it ends.
"""

import logging
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

from hud.clients.github import GitHubClient, GitHubError, NotFound, RateLimited, Rejected
from hud.models import Branch
from hud.queries.untold_files import commits_with_untold_files
from hud.services.inbox import take
from hud.services.ingest import Applied

logger = logging.getLogger(__name__)

MOST_A_LOOK = 20
MOST_A_LOOK_WITHOUT_TOKEN = 1
MOST_AN_HOUR_WITHOUT_TOKEN = 10
MOST_FAILURES = 3
"""After so many commits about which GitHub gives no good answer a look asks no further."""
ASKED_FOR_S = 300
"""How long a commit is left to the worker that asks about it; longer than one call may take."""
PUT_OFF_S = 3600
"""How long a commit is left alone of which GitHub's answer could not be had or taken in."""
HOUR_S = 3600


def ask_for_touched_files(
    *,
    branch: Branch,
    client: GitHubClient,
    source: str,
    after_commit: Callable[[Applied], None],
    alive: Callable[[], object] = lambda: None,
) -> int:
    """Ask for the files of the branch's suspects, a bounded number at a look, and take them in. Returns how many came.

    `alive` is called between requests. What other workers ask about, and what failed lately, is passed over.
    """
    asking = _Asking(branch, client, alive)
    try:
        asking.run()
    finally:  # what was answered is not asked again, whatever ends the look
        if asking.items:
            payload = {"items": asking.items}
            repository = branch.repository
            after_commit(take(repository=repository, source=source, event="rest.commit_files", payload=payload))
    return len(asking.items)


class _Asking:
    """One look. `items` are the answers so far, without the patches that GitHub sends along."""

    def __init__(self, branch: Branch, client: GitHubClient, alive: Callable[[], object]) -> None:
        self._branch = branch
        self._client = client
        self._alive = alive
        self._failures = 0
        self.items: list[dict[str, Any]] = []

    def run(self) -> None:
        has_token = bool(settings.GITHUB_TOKEN)
        left = MOST_A_LOOK if has_token else MOST_A_LOOK_WITHOUT_TOKEN
        shas = commits_with_untold_files(self._branch, with_later=has_token)
        held = self._held(shas)
        for sha in shas:
            if left == 0 or self._failures == MOST_FAILURES:
                return
            if sha in held or not _claim(self._key(sha)):
                continue
            if not (_spend() and self._ask(sha)):
                cache.delete(self._key(sha))
                return
            left -= 1

    def _ask(self, sha: str) -> bool:
        """Ask about one commit. Returns False where GitHub is not to be asked for now."""
        self._alive()
        try:
            told = self._client.commit(self._branch.repository.full_name, sha)
        except RateLimited as error:
            logger.info("touched files of %s wait: %s", self._branch.repository.full_name, error)
            return False
        except (NotFound, Rejected) as error:  # it was there a moment ago: the repository is, the commit is not
            logger.info("GitHub does not tell the files of %s: %s", sha, error)
            self.items.append({"sha": sha, "files": None})
        except GitHubError as error:
            logger.warning("the files of %s are asked for again later: %s", sha, error)
            self._failures += 1
        else:
            self.items.append({"sha": sha, "files": _without_patches(told.get("files"))})
        _hold(self._key(sha), PUT_OFF_S)  # of an answer only until it is taken in, which may fail
        return True

    def _key(self, sha: str) -> str:
        return f"touched-files:{self._branch.repository_id}:{sha}"

    def _held(self, shas: list[str]) -> set[str]:
        """Return those of the commits that another worker asks about, or that are put off."""
        keys = {self._key(sha): sha for sha in shas}
        kept = cache.get_many(keys)
        over = [key for key, until_s in kept.items() if until_s <= _now_s()]
        cache.delete_many(over)
        return {keys[key] for key in kept.keys() - set(over)}


def _without_patches(files: object) -> list[dict[str, Any]] | None:
    if not isinstance(files, list):
        return None
    names = ("filename", "previous_filename")
    return [{name: file[name] for name in names if name in file} for file in files if isinstance(file, dict)]


def _claim(key: str) -> bool:
    """Keep other workers from asking the same for a while. False where one was faster."""
    return cache.add(key, _now_s() + ASKED_FOR_S, timeout=ASKED_FOR_S)


def _hold(key: str, wait_s: float) -> None:
    cache.set(key, _now_s() + wait_s, timeout=wait_s)


def _spend() -> bool:
    """Count one request of this hour, by all workers together. False where this hour's share is spent."""
    share = settings.TOUCHED_FILES_PER_HOUR
    if not settings.GITHUB_TOKEN:
        share = min(share, MOST_AN_HOUR_WITHOUT_TOKEN)
    key = f"touched-files:spent:{int(_now_s() // HOUR_S)}"
    cache.add(key, 0, timeout=2 * HOUR_S)
    return cache.incr(key) <= share


def _now_s() -> float:
    return timezone.now().timestamp()
