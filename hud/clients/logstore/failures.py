"""What a store of logs fails with when it is full, gone or too slow."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

STORE_FAILURES = (OSError, BotoCoreError, ClientError)
"""A disk's errors, and those of an S3-compatible store: no answer, and an answer that refuses."""


def store_failure_words(error: Exception) -> str:
    """Return what an admin needs to know of one of `STORE_FAILURES`."""
    words = f"The log could not be kept: {type(error).__name__}: {error}"
    if isinstance(error, ConnectTimeoutError | ReadTimeoutError):
        words += " (limit LOG_STORE_TIMEOUT_S)"
    return words
