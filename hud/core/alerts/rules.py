"""What an alert rule says, read from a form or JSON and checked, with the reason beside each field."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import Any, cast

import re2

from hud.core.alerts.letters import letters_for
from hud.core.text import storable
from hud.core.website import is_web_address

BROKEN_STREAK, MASS_FAILURE, STALE, QUEUE_TIME = "broken_streak", "mass_failure", "stale", "queue_time"
KINDS = (BROKEN_STREAK, MASS_FAILURE, STALE, QUEUE_TIME)
PRIORITIES = ("P0", "P1", "P2", "P3")
VERDICTS = ("regression", "broken_trunk", "unknown", "infra", "flaky", "unstable", "cancelled")
CODE_VERDICTS = ("regression", "broken_trunk", "unknown", "cancelled")
"""Verdicts of red cells that may be breakage of the code: flaky, infra and unstable ones are not."""
MOST_PATTERNS = 50
LONGEST_PATTERN = 500


_IDS = ("targets", "escalate_to")


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """An alert rule.

    `branch`: its name, "" for the repository's default branch. `jobs`: ordered patterns (RE2, found anywhere in
    "workflow / job", any case); one that begins with "!" keeps jobs out; the first that finds a job decides; none: all
    jobs. `by`: "job" or "group". `counts`: verdicts of red cells that count; a cell without a verdict yet counts.
    `min_jobs`, `max_jobs`: of a mass failure on each commit, of a broken streak in one alert; 0: no bound.
    `stale_s`, `stale_commits`, `queue_s`: limits of the rules by time, 0: not looked at.
    `targets`: ids of the targets that are told, none: all that take this team's alerts.
    `repeat_s`: reminders come so often, 0: as the setting says. `escalate_s`: after so long without an acknowledgement
    the targets `escalate_to` are told too, 0: never.
    """

    kind: str = BROKEN_STREAK
    branch: str = ""
    jobs: tuple[str, ...] = ()
    by: str = "job"
    threshold: int = 3
    resolve_after: int = 1
    min_jobs: int = 1
    max_jobs: int = 0
    counts: tuple[str, ...] = CODE_VERDICTS
    team: str = ""
    priority: str = "P2"
    description: str = ""
    runbook_url: str = ""
    dashboard_url: str = ""
    targets: tuple[int, ...] = ()
    stale_s: int = 0
    stale_commits: int = 0
    queue_s: int = 0
    repeat_s: int = 0
    escalate_s: int = 0
    escalate_to: tuple[int, ...] = ()

    def means(self, name: str) -> bool:
        """Tell whether the rule is about the job ("workflow / job")."""
        if not self.jobs:
            return True
        found = next((p for p in self.jobs if _pattern(p.removeprefix("!")).search(name)), "!")
        return not found.startswith("!")

    def letters(self) -> bytes:
        """Return what each character of a cell says to the rule, for bytes.translate (hud.core.alerts.letters)."""
        return letters_for(self.counts)

    def stored(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


DEFAULT_RULES: tuple[tuple[str, RuleSpec], ...] = (
    (
        "broken job",
        RuleSpec(
            priority="P2",
            description="A job is red on three commits in a row for a reason that is not infrastructure or flakiness.",
        ),
    ),
    (
        "mass failure",
        RuleSpec(
            kind=MASS_FAILURE,
            min_jobs=6,
            priority="P1",
            counts=(*CODE_VERDICTS, "infra"),
            description="More than five blocking jobs are red on each of three commits: most likely infrastructure.",
        ),
    ),
)


def spec_of(stored: Mapping[str, Any]) -> RuleSpec:
    """Return the rule that was stored. Fields that this version does not know are left out."""
    known = {f.name for f in fields(RuleSpec)}
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items() if k in known}
    return RuleSpec(**values)


@dataclass(frozen=True, slots=True)
class TypedRule:
    """`spec` is what was typed, as far as it can be used; it is good if there are no `errors` (by field)."""

    name: str
    spec: RuleSpec
    errors: Mapping[str, str] = field(default_factory=dict)


def read_rule(typed: Mapping[str, Any]) -> TypedRule:
    """Read and check a rule: fields of RuleSpec and `name`. Never raises."""
    errors: dict[str, str] = {}
    name = str(typed.get("name") or "").strip()
    if not 0 < len(name) <= 100 or not name.isprintable():
        errors["name"] = "Give it a name of at most 100 characters that can be seen."
    base = RuleSpec()
    values: dict[str, Any] = {}
    for f in fields(RuleSpec):
        default = getattr(base, f.name)
        given = typed.get(f.name, default)
        try:
            read = _read(given, default)
            values[f.name] = tuple(map(int, read)) if f.name in _IDS else read
        except (TypeError, ValueError):
            errors[f.name] = "Not what is asked for here."
            values[f.name] = default
    spec = RuleSpec(**values)
    errors |= {k: v for k, v in _wrong(spec).items() if k not in errors}
    return TypedRule(storable(name), spec, errors)


def _read(given: Any, default: Any) -> Any:
    if isinstance(default, tuple):
        items = given.splitlines() if isinstance(given, str) else list(given or ())
        return tuple(dict.fromkeys(filter(None, (storable(str(item)).strip() for item in items))))
    if isinstance(default, int):
        if isinstance(given, bool):
            raise TypeError
        return int(given or 0)
    return storable(str(given or "")).strip()


def _wrong(spec: RuleSpec) -> dict[str, str]:
    """Say what is wrong with each field."""
    errors: dict[str, str] = {}
    choices = {"kind": KINDS, "priority": PRIORITIES, "by": ("job", "group")}
    for name, allowed in choices.items():
        if getattr(spec, name) not in allowed:
            errors[name] = f"Choose one of: {', '.join(allowed)}."
    bounds = {"threshold": (1, 100), "resolve_after": (1, 100), "min_jobs": (1, 10_000), "max_jobs": (0, 10_000)}
    bounds |= {"stale_s": (0, 10**8), "stale_commits": (0, 10_000), "queue_s": (0, 10**7)}
    bounds |= {"repeat_s": (0, 30 * 86_400), "escalate_s": (0, 30 * 86_400)}
    for name, (least, most) in bounds.items():
        if not least <= getattr(spec, name) <= most:
            errors[name] = f"Write a whole number from {least} to {most}."
    if not errors and spec.max_jobs and spec.max_jobs < spec.min_jobs:
        errors["max_jobs"] = "The greatest number of jobs is below the smallest."
    if unknown := set(spec.counts) - set(VERDICTS):
        errors["counts"] = f"No verdict: {', '.join(sorted(unknown))}. There are {', '.join(VERDICTS)}."
    if spec.kind == STALE and not (spec.stale_s or spec.stale_commits):
        errors["stale_s"] = "Say after how many seconds or commits without a finished run it is stale."
    if spec.kind == QUEUE_TIME and not spec.queue_s:
        errors["queue_s"] = "Say how many seconds in the queue are too many."
    if spec.escalate_s and not spec.escalate_to:
        errors["escalate_to"] = "Say which targets are told when nobody acknowledges."
    if spec.escalate_to and not spec.escalate_s:
        errors["escalate_s"] = "Say after how long without an acknowledgement these targets are told."
    return errors | _wrong_texts(spec) | _wrong_patterns(spec.jobs)


def _wrong_texts(spec: RuleSpec) -> dict[str, str]:
    errors: dict[str, str] = {}
    for name in ("runbook_url", "dashboard_url"):
        if getattr(spec, name) and not is_web_address(getattr(spec, name)):
            errors[name] = "Write an address that begins with https:// or http://."
    limits = {"team": 100, "description": 2000, "branch": 255, "runbook_url": 1000, "dashboard_url": 1000}
    for name, most in limits.items():
        if len(getattr(spec, name)) > most or "\x00" in getattr(spec, name):
            errors[name] = f"At most {most} characters that can be kept."
    return errors


def _wrong_patterns(patterns: Collection[str]) -> dict[str, str]:
    if len(patterns) > MOST_PATTERNS:
        return {"jobs": f"At most {MOST_PATTERNS} patterns are kept."}
    for pattern in patterns:
        if len(pattern) > LONGEST_PATTERN:
            return {"jobs": f"A pattern has more than {LONGEST_PATTERN} characters."}
        try:
            _pattern(pattern.removeprefix("!"))
        except re2.error as error:
            raw = error.args[0] if error.args else ""
            reason = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
            return {"jobs": f"“{pattern}” is no pattern: {reason}."}
    return {}


@lru_cache(maxsize=2048)
def _pattern(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    options.max_mem = 8 << 20
    return cast(Any, re2.compile(text, options))
