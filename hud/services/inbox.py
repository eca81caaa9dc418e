"""The inbox: stored before it is answered, done only when its effect is committed."""

import json
import logging
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate
from typing import Any

import orjson
import redis
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, transaction
from django.db.models import Func, IntegerField, Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from hud.core.facts import Facts, RepositoryFact
from hud.core.github import KNOWN_EVENTS, BadPayload, facts_of, repository_fact
from hud.core.text import storable
from hud.models import InboxItem, Repository
from hud.services.bulk import insert_new, update_rows
from hud.services.ingest import Applied, apply_facts
from hud.services.repositories import find_repository

logger = logging.getLogger(__name__)

BATCH = 200
BATCH_BYTES = 25_000_000
"""Bodies worked on together: as much as GitHub puts into one at most. Read, they take many times their size."""
_NUDGED = "inbox:nudged"
_MOVED = "inbox:moved"
RETRY_WAITS_S = (5, 30, 120, 600, 3600)
"""How long an item waits after each failure; after the last it is parked for an admin."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a delivery: `stored`, `repeated`, `retried` or `ignored`."""

    outcome: str


class DeliveryConflict(ValueError):
    """The delivery id came before with another body."""


def read_body(body: bytes) -> dict[str, Any]:
    """Read JSON. Raises BadPayload. The lenient reader takes what orjson refuses: lone surrogates."""
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BadPayload(f"the body is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise BadPayload("the body must be a JSON object")
    return payload


def accept_delivery(*, event: str, delivery: str, body: bytes) -> Accepted:
    """Store a webhook delivery whose signature was checked. Returns after the commit. Raises BadPayload.

    The same id again is a no-op, unless the item failed: then GitHub's "redeliver" makes it wait for work again.
    """
    payload = read_body(body)
    if event not in KNOWN_EVENTS:
        return Accepted("ignored")
    facts_of(event, payload)
    sender = repository_fact(payload)
    state = InboxItem.State.WAITING if event != "ping" else InboxItem.State.DONE
    full_name = sender.full_name if sender else ""
    item = InboxItem(delivery=delivery, event=event, body=body, full_name=full_name, state=state)
    if insert_new(item, "delivery"):
        return Accepted("stored")
    item = InboxItem.objects.get(delivery=delivery)
    if bytes(item.body) != body:
        raise DeliveryConflict(f"delivery {delivery} came before with another body; send it with an id of its own")
    again = Q(state=InboxItem.State.PARKED) | Q(state=InboxItem.State.UNFOLLOWED) | Q(state="waiting", attempts__gt=0)
    woken = InboxItem.objects.filter(again, pk=item.pk).update(
        state=InboxItem.State.WAITING, attempts=0, next_attempt_at=None
    )
    return Accepted("retried" if woken else "repeated")


def nudge(send: Callable[[], object]) -> None:
    """Have the inbox worked on soon; one message stands for all items that wait. Never raises: with the broker down
    the items wait for the sweep.

    `send` queues the task. The mark is taken away when the task starts, before it looks: an item stored meanwhile is
    either seen by it or nudges again.
    """
    try:
        if cache.add(_NUDGED, 1, timeout=10):
            send()
    except (redis.RedisError, OperationalError, OSError) as error:
        logger.warning("the inbox could not be nudged, its items wait for the sweep: %s", type(error).__name__)


def drain(after_commit: Callable[[Applied], None]) -> int:
    """Work on all items that wait. Returns how many were looked at. `after_commit` gets the follow-up work."""
    cache.delete(_NUDGED)
    total = 0
    while count := _drain_batch(after_commit):
        total += count
        cache.set(_MOVED, time.time(), timeout=None)
    cache.set(_MOVED, time.time(), timeout=None)
    return total


def stuck_for_s() -> float:
    """Return how long events have waited while nobody drained the inbox; 0 while it moves."""
    waiting = InboxItem.objects.filter(state=InboxItem.State.WAITING, attempts=0).order_by("id")
    since = waiting.values_list("received_at", flat=True).first()  # not its body, which may have megabytes
    if since is None:
        return 0.0
    waited_s = (timezone.now() - since).total_seconds()
    return max(0.0, min(waited_s, time.time() - (cache.get(_MOVED) or 0.0)))


def _drain_batch(after_commit: Callable[[Applied], None]) -> int:
    with transaction.atomic():
        items = _next_batch()
        groups: dict[int, list[tuple[InboxItem, Facts]]] = defaultdict(list)
        repositories: dict[int, Repository] = {}
        senders: dict[RepositoryFact, Repository | None] = {}
        for item in items:
            _sort_item(item, groups, repositories, senders)
        for repository_id in sorted(groups):
            _work(repositories[repository_id], groups[repository_id], after_commit)
    return len(items)


def _next_batch() -> list[InboxItem]:
    """Return the oldest items that are due, locked: so many that their bodies together stay small, one at least."""
    due = InboxItem.objects.select_for_update(skip_locked=True).filter(
        Q(next_attempt_at=None) | Q(next_attempt_at__lte=timezone.now()), state=InboxItem.State.WAITING
    )
    size = Func("body", function="octet_length", output_field=IntegerField())
    sizes = dict(due.order_by("id").values_list("pk", size)[:BATCH])
    sums = accumulate(sizes.values())
    taken = [pk for pk, bytes_so_far in zip(sizes, sums, strict=True) if bytes_so_far <= BATCH_BYTES]
    return list(InboxItem.objects.filter(pk__in=taken or list(sizes)[:1]).order_by("id"))


def _sort_item(
    item: InboxItem,
    groups: dict[int, list[tuple[InboxItem, Facts]]],
    repositories: dict[int, Repository],
    senders: dict[RepositoryFact, Repository | None],
) -> None:
    """Find an item's repository and read its facts; settle at once what has no effect."""
    try:
        payload = read_body(bytes(item.body))
        repository = item.repository or _repository_of(payload, senders)
        if repository is None:
            _finish(item, InboxItem.State.UNFOLLOWED)
            return
        item.repository = repository
        facts = facts_of(item.event, payload)
    except BadPayload as error:
        _fail(item, str(error))
        return
    except Exception as error:  # noqa: BLE001  (whatever it is, this item keeps its reason and the others go on)
        _fail(item, describe(error))
        return
    repositories[repository.pk] = repository
    groups[repository.pk].append((item, facts))


def _repository_of(payload: Mapping[str, Any], senders: dict[RepositoryFact, Repository | None]) -> Repository | None:
    """Return who sent it. `senders` are those of this batch: most items of a batch have the same."""
    sender = repository_fact(payload)
    if sender is None:
        return None
    if sender not in senders:
        with transaction.atomic():  # what fails here must not cost the batch its transaction
            senders[sender] = find_repository(sender)
    return senders[sender]


def _work(
    repository: Repository, entries: list[tuple[InboxItem, Facts]], after_commit: Callable[[Applied], None]
) -> None:
    """Apply a batch together; if that fails, one by one, so that only the guilty item waits."""
    together = Facts()
    for _, facts in entries:
        together.extend(facts)
    try:
        applied = apply_facts(repository=repository, facts=together)
    except Exception as error:  # noqa: BLE001  (whatever it is, the items must stay with its reason)
        if len(entries) == 1:
            _fail(entries[0][0], describe(error))
            return
        logger.warning("a batch of %d items failed, taking them one by one: %s", len(entries), describe(error))
        for entry in entries:
            _work(repository, [entry], after_commit)
        return
    for item, facts in entries:
        item.note = storable("\n".join(dict.fromkeys(facts.notes)), 2000)
        _settle(item, InboxItem.State.DONE)
    update_rows([item for item, _ in entries], _SETTLED)
    transaction.on_commit(lambda: after_commit(applied))


def describe(error: Exception) -> str:
    """Return what an admin needs to see of an error: its kind, its words and where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({place[0].filename.rsplit('/', 1)[-1]}:{place[0].lineno})" if place else ""
    words = str(error).split("\n", 1)[0] if isinstance(error, DatabaseError) else str(error)
    return storable(f"{type(error).__name__}: {words}{where}", 2000)


_SETTLED = ["state", "error", "note", "processed_at", "next_attempt_at", "repository"]


def _settle(item: InboxItem, state: str) -> None:
    item.state, item.error, item.processed_at, item.next_attempt_at = state, "", timezone.now(), None


def _finish(item: InboxItem, state: str) -> None:
    _settle(item, state)
    item.save(update_fields=_SETTLED)


def _fail(item: InboxItem, reason: str) -> None:
    """Keep the item with its reason; it is tried again after a growing wait, then parked."""
    item.error = storable(reason, 2000)
    if item.attempts < len(RETRY_WAITS_S):
        item.next_attempt_at = timezone.now() + timedelta(seconds=RETRY_WAITS_S[item.attempts])
    else:
        item.state, item.next_attempt_at = InboxItem.State.PARKED, None
    item.attempts += 1
    item.save(update_fields=["state", "error", "attempts", "next_attempt_at", "repository"])
    logger.warning("inbox item %d (%s): %s", item.pk, item.event, item.error)


def take(
    *, repository: Repository, source: str, event: str, payload: dict[str, Any], logs_follow: bool = False
) -> Applied:
    """Apply an API answer or a recorded one at once; what fails goes to the inbox with its error, and is not lost."""
    try:
        facts = facts_of(event, payload)
        applied = apply_facts(repository=repository, facts=facts, logs_follow=logs_follow)
    except Exception as error:  # noqa: BLE001  (whatever it is, the answer must stay with its reason)
        _keep_aside(repository, source, event, payload, describe(error))
        return Applied()
    for element, reason in facts.unreadable:
        _keep_aside(repository, source, event, {**payload, "items": [element]}, reason)
    if facts.notes:
        _note(repository, source, event, facts.notes)
    return applied


def _keep_aside(repository: Repository, source: str, event: str, payload: dict[str, Any], reason: str) -> None:
    logger.warning("%s %s of %s is kept in the inbox: %s", source, event, repository.full_name, reason)
    InboxItem.objects.create(
        source=source,
        event=event,
        repository=repository,
        full_name=repository.full_name,
        body=json.dumps(payload).encode(),
        attempts=1,
        error=storable(reason, 2000),
        next_attempt_at=timezone.now() + timedelta(seconds=RETRY_WAITS_S[0]),
    )


def _note(repository: Repository, source: str, event: str, notes: list[str]) -> None:
    for note in dict.fromkeys(notes):
        if not InboxItem.objects.filter(repository=repository, note=note).exists():
            InboxItem.objects.create(
                source=source,
                event=event,
                repository=repository,
                full_name=repository.full_name,
                body=b"{}",
                state=InboxItem.State.DONE,
                note=storable(note, 2000),
                processed_at=timezone.now(),
            )


def retry_items(item_ids: list[int]) -> int:
    """Have parked or waiting items worked on again now. Returns how many."""
    return InboxItem.objects.filter(
        pk__in=item_ids, state__in=[InboxItem.State.PARKED, InboxItem.State.WAITING, InboxItem.State.UNFOLLOWED]
    ).update(state=InboxItem.State.WAITING, attempts=0, next_attempt_at=None)


def forget_old_items() -> int:
    """Delete items whose effect was committed long ago (setting INBOX_KEEP_DAYS). Returns how many."""
    before = timezone.now() - timedelta(days=settings.INBOX_KEEP_DAYS)
    old = InboxItem.objects.filter(state__in=[InboxItem.State.DONE, InboxItem.State.IGNORED], received_at__lt=before)
    return old.delete()[0]
