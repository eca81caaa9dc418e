"""Typed reading of environment variables that fails loudly, and remembers each one it was asked for.

    env = Environment(os.environ)
    PORT = env.whole_number("PORT", 8000, "where the page is served", least=1, most=65535)

`hud/settings.py` is its only caller; the README's table of settings is compared with `env.declared` by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

_YES = {"1", "true", "yes", "on"}
_NO = {"0", "false", "no", "off"}


class BadVariable(Exception):
    """A variable's value cannot be used; the message names it, says why and what would do."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One declared variable: its name, its default as people write it, and what it does."""

    name: str
    default: str
    meaning: str


class Environment:
    """Reads variables from a mapping. An empty value counts as not set."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.declared: dict[str, Variable] = {}

    def text(self, name: str, default: str, meaning: str, *, shown_default: str | None = None) -> str:
        self._declare(name, default if shown_default is None else shown_default, meaning)
        return self._values.get(name, "").strip() or default

    def whole_number(
        self,
        name: str,
        default: int,
        meaning: str,
        *,
        least: int = 0,
        most: int | None = None,
        shown_default: str | None = None,
    ) -> int:
        raw = self.text(name, str(default), meaning, shown_default=shown_default)
        return int(_number(name, raw, least, most, whole=True))

    def seconds(
        self, name: str, default: float, meaning: str, *, least: float = 0.0, shown_default: str | None = None
    ) -> float:
        """A length of time in seconds; fractions are allowed."""
        raw = self.text(name, f"{default:g}", meaning, shown_default=shown_default)
        return _number(name, raw, least, None, whole=False)

    def flag(self, name: str, default: bool, meaning: str) -> bool:
        raw = self.text(name, "yes" if default else "no", meaning).lower()
        if raw in _YES | _NO:
            return raw in _YES
        raise BadVariable(f"{name} is {raw!r}; write yes or no.")

    def words(self, name: str, default: str, meaning: str) -> list[str]:
        """A list separated by commas."""
        return [word.strip() for word in self.text(name, default, meaning).split(",") if word.strip()]

    def choice(self, name: str, default: str, meaning: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name, default, meaning).lower()
        if value not in allowed:
            raise BadVariable(f"{name} is {value!r}; it may be {', '.join(allowed)}.")
        return value

    def web_address(self, name: str, default: str, meaning: str, *, shown_default: str | None = None) -> str:
        """An http(s) address, returned without a closing slash; empty when neither set nor defaulted."""
        value = self.text(name, default, meaning, shown_default=shown_default).rstrip("/")
        if value and (urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname):
            raise BadVariable(f"{name} is {value!r}; write an address that begins with http:// or https://.")
        return value

    def _declare(self, name: str, default: str, meaning: str) -> None:
        self.declared[name] = Variable(name, default, meaning)


def _number(name: str, raw: str, least: float, most: float | None, *, whole: bool) -> float:
    bounds = f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"
    kind = "a whole number" if whole else "a number of seconds"
    try:
        value = float(int(raw)) if whole else float(raw)
    except ValueError:
        raise BadVariable(f"{name} is {raw!r}; write {kind}, {bounds}.") from None
    if not (least <= value and (most is None or value <= most)):  # also refuses nan
        raise BadVariable(f"{name} is {raw}; write {kind}, {bounds}.")
    return value
