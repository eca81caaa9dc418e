"""The filter over job names: a substring, or a regular expression on an engine whose time is linear in the text."""

import re2

LONGEST_FILTER = 500
_MEMORY_BYTES = 8 << 20


class BadPatternError(ValueError):
    """The pattern cannot be used; the message is for the person who typed it."""


class JobFilter:
    """Case does not matter. An empty text matches every name. Filters that say the same are equal.

    >>> JobFilter("unit", regex=False).matches("CI / Unit tests")
    True
    """

    def __init__(self, text: str, *, regex: bool) -> None:
        """Raises BadPatternError if `text` is too long or, with `regex`, not a pattern that RE2 knows."""
        if len(text) > LONGEST_FILTER:
            raise BadPatternError(f"The filter is longer than {LONGEST_FILTER} characters.")
        self._said = (text, regex)
        self._needle = text.casefold()
        self._pattern = _compiled(text) if regex and text else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobFilter) and self._said == other._said

    def __hash__(self) -> int:
        return hash(self._said)

    def matches(self, name: str) -> bool:
        if self._pattern is not None:
            return self._pattern.search(name) is not None  # type: ignore[attr-defined]
        return self._needle in name.casefold()


def _compiled(text: str) -> object:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise BadPatternError(_reason(error)) from None


_KINDER = {
    "invalid perl operator: (?=": "look-ahead does not exist here",
    "invalid perl operator: (?!": "look-ahead does not exist here",
    "invalid perl operator: (?<": "look-behind does not exist here",
    "invalid escape sequence": "back-references and this escape do not exist here",
}


def _reason(error: Exception) -> str:
    raw = error.args[0] if error.args else "unknown error"
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    kinder = next((words for start, words in _KINDER.items() if text.startswith(start)), "")
    return f"Not a pattern: {text}" + (f" ({kinder})" if kinder else "")
