"""Says, when a background task ran into its time limit, which setting that is."""

from __future__ import annotations

import logging
from typing import Any

from billiard.exceptions import TimeLimitExceeded
from celery.signals import task_failure

logger = logging.getLogger(__name__)


@task_failure.connect(weak=False)  # type: ignore[untyped-decorator]
def name_the_limit(sender: Any = None, exception: BaseException | None = None, **_ignored: object) -> None:
    """Celery itself says how long it was, and no more. The process is ended; what it worked on is taken up again."""
    if isinstance(exception, TimeLimitExceeded):
        logger.error(
            "%s was ended after %s s, the longest time of a task; TASK_TIME_LIMIT_S raises this limit",
            getattr(sender, "name", sender),
            exception.args[0] if exception.args else "?",
        )
