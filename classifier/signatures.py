"""What makes two failures the same: the rule and its captures, without what changes from run to run."""

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Final

from classifier.lines import valid_text

SIGNATURE_LIMIT_CHARS: Final = 200

_Mark = str | Callable[[re.Match[str]], str]

# A whole checkout may lie below /tmp: a source file keeps its name there, unless that is a made-up one.
_SOURCE_FILE: Final = re.compile(
    r"[/\\](?!tmp)([A-Za-z_][\w-]*\.(?:c|cc|cpp|cs|cu|cxx|go|h|hpp|java|jsx?|kt|m|mm|php|py|rb|rs|scala|swift|tsx?))$"
)


def _hash(found: re.Match[str]) -> str:
    text = found.group()
    return "<hash>" if any(char.isdigit() for char in text) and any(char.isalpha() for char in text) else text


def _temporary(found: re.Match[str]) -> str:
    file = _SOURCE_FILE.search(found.group())
    return f"<tmp>/{file[1]}" if file else "<tmp>"


# Ordered: what is inside another (a number in a date) comes after it.
_CHANGING: Final[tuple[tuple[re.Pattern[str], _Mark], ...]] = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T _]\d\d[:_-]\d\d(?:[:_-]\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<addr>"),
    (re.compile(r"\b(?:sha256:)?[0-9a-f]{7,128}\b"), _hash),
    (re.compile(r"(?:/private)?(?:/var/folders|/tmp|/var/tmp|/dev/shm)/[^\s:'\"),;]*"), _temporary),
    (re.compile(r"[A-Za-z]:\\(?:[^\s:'\"]*\\)?Temp\\[^\s:'\"),;]*"), _temporary),
    (re.compile(r"/(?:(?:home|Users)/runner/work|__w|builds|home/\w+/(?:build|workspace))/(?:[^\s/]+/){1,2}"), "<w>/"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"(?<=\w):\d+(?::\d+)?(?=$|[\s:),\]])"), ":<n>"),
    (re.compile(r"\(\d+(?:,\d+)?\)(?=:)"), "(<n>)"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:[nuµm]?s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b"), "<duration>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:[kKMGT]i?B|bytes|B)\b"), "<size>"),
    (re.compile(r"(?<![\w\[\]./#%=-])(?![45]\d\d\b)-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w\]./-])"), "<n>"),
    (re.compile(r"(?<=\bpid[ =:])\d+|(?<=\bPID[ =:])\d+"), "<n>"),
)  # fmt: skip
CAPTURE_LIMIT_CHARS: Final = 2_000


def signature_of(rule: str, captures: Iterable[str]) -> str:
    """At most `SIGNATURE_LIMIT_CHARS` characters; a longer one ends in a digest of the whole."""
    whole = " | ".join([valid_text(rule), *(steady_text(capture) for capture in captures)])
    if len(whole) <= SIGNATURE_LIMIT_CHARS:
        return whole
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{whole[: SIGNATURE_LIMIT_CHARS - 17]}~{digest}"


def steady_text(text: str) -> str:
    """The text without times, addresses, hashes, temporary paths, line numbers, durations and counts."""
    text = valid_text(text[:CAPTURE_LIMIT_CHARS])
    if text.isdigit():
        return text
    for pattern, mark in _CHANGING:
        text = pattern.sub(mark, text)
    return " ".join(text.split())
