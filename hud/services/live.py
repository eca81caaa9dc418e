"""Tells open pages that a branch has changed."""

import logging
from functools import lru_cache, partial

import redis
from django.conf import settings
from django.db import transaction
from django.db.models import F

from hud.models import Branch, Repository

logger = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)


def channel_of(branch_id: int | str) -> str:
    """Return the channel on which a branch's changes are told."""
    return f"hud:branch:{branch_id}"


def publish_branch_changed(branch_id: int, version: int) -> None:
    """Tell the pages that show the branch. The database knows already: a broker that is down loses nothing."""
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
