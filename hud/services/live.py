"""Tells open pages that a branch has changed."""

import logging
from collections.abc import Iterable
from functools import lru_cache, partial

import redis
from django.conf import settings
from django.db import transaction
from django.db.models import F

from hud.models import Branch, Repository

logger = logging.getLogger(__name__)


EVERYWHERE = "all"
"""Stands for a branch where all open pages are meant."""


@lru_cache(maxsize=1)
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)


def channel_of(branch_id: int | str) -> str:
    """Return the channel on which a branch's changes are told."""
    return f"hud:branch:{branch_id}"


def publish_branch_changed(branch_id: int, version: int) -> None:
    """Tell the pages that show the branch. The database knows already: a broker that is down loses nothing."""
    _publish(branch_id, version)


def _publish(branch_id: int | str, version: int) -> None:
    try:
        _client().publish(channel_of(branch_id), str(version))
    except redis.RedisError as error:
        logger.warning("open pages were not told of a change: %s", error)


def tell_open_pages(repository: Repository) -> None:
    """Tell all pages of the repository, once the running transaction is committed, that what they show has changed."""
    branches = Branch.objects.filter(repository=repository)
    Repository.objects.filter(pk=repository.pk).update(layout_version=F("layout_version") + 1)
    branches.update(version=F("version") + 1)
    for branch_id, version in branches.values_list("id", "version"):
        transaction.on_commit(partial(publish_branch_changed, branch_id, version))


def tell_banners_changed(branch_ids: Iterable[int]) -> None:
    """Tell the pages of these branches, once the running transaction is committed, that another word is said of their
    alerts: by a silence, by who looks after them, by the clock. What ingest changes is told by ingest.

    After the commit, since whoever writes of alerts holds no lock that keeps others off the branch.
    """
    for branch_id in sorted(set(branch_ids)):
        transaction.on_commit(partial(_advance, branch_id), robust=True)


def _advance(branch_id: int) -> None:
    Branch.objects.filter(pk=branch_id).update(version=F("version") + 1)
    for version in Branch.objects.filter(pk=branch_id).values_list("version", flat=True):
        publish_branch_changed(branch_id, version)


def tell_other_alerts_fire() -> None:
    """Tell all open pages, once the running transaction is committed: each shows how many alerts fire anywhere."""
    transaction.on_commit(partial(_publish, EVERYWHERE, 0), robust=True)
