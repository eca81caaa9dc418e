"""What goes in beside the log (annotations) and what comes out (failures), as plain immutable data."""

from dataclasses import dataclass
from typing import Any, Final

ENGINE_VERSION: Final = 2
"""Raised when the same rules would give other answers for the same log."""

CATEGORIES: Final = (
    "test", "build", "lint", "compatibility", "docs", "timeout", "cancelled", "crash", "infra_runner", "infra_network",
    "infra_disk", "infra_memory", "infra_registry", "infra_resource", "infra_service", "config", "unknown",
)  # fmt: skip


@dataclass(frozen=True)
class Annotation:
    """One annotation of a check run, as GitHub's API gives it."""

    level: str
    message: str
    title: str = ""
    path: str = ""


@dataclass(frozen=True)
class Failure:
    """One cause found in a log (or in an annotation: then `line_number` is 0)."""

    rule: str
    category: str
    line_number: int
    line: str
    captures: tuple[str, ...]
    signature: str
    generic: bool = False
    tests: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    step: str | None = None
    source: str = "log"

    def as_dict(self) -> dict[str, Any]:
        """The contract's JSON."""
        return {
            "rule": self.rule,
            "category": self.category,
            "line_number": self.line_number,
            "line": self.line,
            "captures": list(self.captures),
            "signature": self.signature,
            "generic": self.generic,
            "tests": list(self.tests),
            "context": list(self.context),
            "step": self.step,
            "source": self.source,
        }


@dataclass(frozen=True)
class Classification:
    """All failures of one log, ranked; the first is the primary one."""

    lines: int
    bytes: int
    failures: tuple[Failure, ...] = ()

    @property
    def primary(self) -> int | None:
        """Index of the primary failure; None when nothing was found."""
        return 0 if self.failures else None

    def as_dict(self) -> dict[str, Any]:
        """The contract's JSON."""
        return {
            "lines": self.lines,
            "bytes": self.bytes,
            "primary": self.primary,
            "failures": [failure.as_dict() for failure in self.failures],
        }
