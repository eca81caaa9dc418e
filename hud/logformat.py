"""How a log record becomes a line: `key=value` text or JSON, with every known secret taken out."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from datetime import UTC, datetime

import redis
from kombu.exceptions import OperationalError

HIDDEN = "[hidden]"
_SHAPES = [
    (re.compile(r"(?<=://)[^\s/:@]*:[^\s/@]+(?=@)"), HIDDEN),  # user:password@ in an address
    (re.compile(r"\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{8,}"), HIDDEN),
    (re.compile(r"(?i)\b(authorization['\"]?\s*[:=]\s*['\"]?(?:bearer|token|basic)?\s*)[^\s'\",;]+"), rf"\1{HIDDEN}"),
    (
        re.compile(
            r"(?i)\b(sig|signature|x-amz-signature|x-amz-security-token|token|access_token|password|passwd|secret)=[^\s&'\",;]+"
        ),
        rf"\1={HIDDEN}",
    ),
]
_STANDARD = set(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "request",
    "server_time",
    "color_message",
}


class SecretFreeFormatter(logging.Formatter):
    """Formats a record with what was given in `extra`, then hides `secrets` and what looks like one."""

    def __init__(self, *, as_json: bool = False, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self._as_json = as_json
        # A very short value would be found everywhere and hide nothing but the log itself.
        self._secrets = sorted({secret for secret in secrets if len(secret) >= 6}, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        line = self._json_line(record) if self._as_json else self._text_line(record)
        return self._hide(line)

    def _text_line(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{key}={value}" for key, value in _extra(record).items())
        line = f"{record.levelname.lower():7} {record.name}: {record.getMessage()}{' ' + extra if extra else ''}"
        trace = self._trace(record)
        return f"{line}\n{trace}" if trace else line

    def _json_line(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if trace := self._trace(record):
            fields["trace"] = trace
        return json.dumps(fields, default=str, ensure_ascii=False)

    def _trace(self, record: logging.LogRecord) -> str:
        return self.formatException(record.exc_info) if record.exc_info else ""

    def _hide(self, line: str) -> str:
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        for shape, replacement in _SHAPES:
            line = shape.sub(replacement, line)
        return line


class OneLineForLostConnections(logging.Filter):
    """Says in one line that Celery lost its broker. Its stacks, hundreds of lines a minute, tell no more than that.

    Nor does its announcement, at each loss, of what its next version will do with running tasks: HUD's may run twice.
    """

    _TOLD_BY = ("celery.beat", "celery.worker.consumer", "celery.bootsteps")

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "py.warnings" and "CPendingDeprecationWarning" in record.getMessage():
            return False
        if record.exc_info and record.name.startswith(self._TOLD_BY) and _is_lost_connection(record.exc_info[1]):
            record.msg, record.args, record.exc_info = record.getMessage().partition("\n")[0], (), None
        return True


def _is_lost_connection(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError | redis.ConnectionError | OperationalError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD and not key.startswith("_")}
