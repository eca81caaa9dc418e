"""Remembers answers by all that they depend on, so that many readers of the same thing share one reading of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from cachetools import LRUCache

_all: list[LRUCache[Hashable, Any]] = []

P = ParamSpec("P")
T = TypeVar("T")


def remembered(
    *, most: int, key: Callable[P, Hashable], size: Callable[[T], int] | None = None
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep the last used answers of a question in this process: `most` of them, or of their sizes together.

    `key` has to name everything that the answer depends on, a version of stored data included: nothing is ever told
    to forget. Two who ask at the same time may both ask the database; a question that fails is asked again.
    """

    def decorate(question: Callable[P, T]) -> Callable[P, T]:
        answers: LRUCache[Hashable, T] = LRUCache(most, size)
        _all.append(answers)
        lock = Lock()

        @wraps(question)
        def ask(*args: P.args, **kwargs: P.kwargs) -> T:
            name = key(*args, **kwargs)
            with lock:
                if name in answers:
                    return answers[name]
            answer = question(*args, **kwargs)
            with lock:
                if answers.getsizeof(answer) <= answers.maxsize:
                    answers[name] = answer
            return answer

        return ask

    return decorate


def forget_all() -> None:
    """Forget all answers: for who measures a first look, or compares with one."""
    for answers in _all:
        answers.clear()
