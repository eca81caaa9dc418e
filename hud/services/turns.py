"""One turn of a worker at what is to be done with stored logs: a trial, or a reclassification."""

import logging
from collections.abc import Callable

from django.core.cache import cache

from hud.models import RuleTrial
from hud.services import logwork, reclassify, trials

logger = logging.getLogger(__name__)

QUEUED_FOR_S = 300
"""How long a message for a turn may wait among other tasks before another one is sent in its place."""
_QUEUED = "turns:queued"


def queue_turn(send: Callable[[], object]) -> None:
    """Have a worker take a turn, unless a message for one waits already: however often it is asked, one is enough.

    `send` queues the task; its message must be worthless after `QUEUED_FOR_S`.
    """
    if cache.add(_QUEUED, 1, timeout=QUEUED_FOR_S):
        send()


def work_one_turn() -> bool:
    """Work for a few seconds on what waited longest. Returns whether something more may wait."""
    cache.delete(_QUEUED)
    turn = logwork.take_turn()
    if turn is None:
        return False
    go_on = trials.go_on if isinstance(turn.work, RuleTrial) else reclassify.go_on
    try:
        go_on(turn)
        logwork.give_back(turn)
    except logwork.Taken:
        logger.info("%s %s was taken away", type(turn.work).__name__, turn.work.pk)
    except Exception as error:  # whatever it is, the work must say so and not stay claimed; then it is raised on
        logwork.put_off(turn, error)
        raise
    return logwork.anything_waits()
