"""Reading a scenario from JSON. Errors name the field: `trunk[3].failures[0].rule must be text, not null`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from classifier.lines import valid_text
from classifier.verdict.failure import Failure
from classifier.verdict.model import Base, Declared, FlipRate, Run, Scenario, Settings

T = TypeVar("T")


class ScenarioError(ValueError):
    """The JSON is not a scenario; the message names the field."""


def scenario_from(data: object) -> Scenario:
    """Raises ScenarioError. Unknown fields are ignored, absent and null are the same, in a list too. On a red run an
    absent list of `failures` (the classifier gave nothing back) is not an empty one (no rule matched)."""
    fields = _mapping(data, "scenario")
    if fields.get("run") is None:
        raise ScenarioError("run is missing")
    base = fields.get("base")
    read = Scenario(
        run=_run(fields["run"], "run"),
        base=None if base is None else _base(base),
        same_commit=_list(fields, "same_commit", "same_commit", _run),
        trunk=_list(fields, "trunk", "trunk", _run),
        elsewhere=_list(fields, "elsewhere", "elsewhere", _run),
        same_change=_list(fields, "same_change", "same_change", _run),
        declared=_declared(_mapping(fields.get("declared") or {}, "declared")),
        settings=_settings(_mapping(fields.get("settings") or {}, "settings")),
        flip_rates=_list(fields, "flip_rates", "flip_rates", _flip_rate),
        related_changes=_list(fields, "related_changes", "related_changes", _change_at),
        same_minutes=_list(fields, "same_minutes", "same_minutes", _run),
    )
    return _with_captured_tests(read)


def _with_captured_tests(scenario: Scenario) -> Scenario:
    """Fill in the failing test where a failure only captured what another one of the scenario names as its test: the
    same failure is written with `tests` and without."""
    lists = (scenario.same_commit, scenario.trunk, scenario.elsewhere, scenario.same_change)
    at_base = scenario.base.runs if scenario.base else ()
    runs = (scenario.run, *at_base, *(one for runs in lists for one in runs))
    known = {test for one in runs for failure in one.known_failures for test in failure.tests}
    if not known:
        return scenario
    filled = [tuple(_filled(one, known) for one in runs) for runs in lists]
    return replace(
        scenario,
        run=_filled(scenario.run, known),
        base=replace(scenario.base, runs=tuple(_filled(one, known) for one in at_base)) if scenario.base else None,
        same_commit=filled[0],
        trunk=filled[1],
        elsewhere=filled[2],
        same_change=filled[3],
    )


def _filled(run: Run, known: AbstractSet[str]) -> Run:
    if all(failure.tests or known.isdisjoint(failure.captures) for failure in run.known_failures):
        return run
    told = [
        failure if failure.tests else replace(failure, tests=tuple(text for text in failure.captures if text in known))
        for failure in run.known_failures
    ]
    return replace(run, failures=tuple(told))


def _run(data: object, at: str) -> Run:
    """A run around the judged one may lack its id, then its place stands for it, and its job: it proves nothing."""
    fields, is_judged = _mapping(data, at), at == "run"
    failures = None if fields.get("failures") is None else _list(fields, "failures", f"{at}.failures", _failure)
    conclusion = (_optional_text(fields, "conclusion", at) or "").strip().lower()  # GitHub's GraphQL writes FAILURE
    if failures is None and conclusion == "success":
        failures = ()
    return Run(
        id=_name(fields, "id", at) if is_judged or fields.get("id") is not None else at,
        job=_name(fields, "job", at) if is_judged else _optional_name(fields, "job", at) or "",
        conclusion=conclusion,
        commit=_optional_name(fields, "commit", at) or "",
        change=(_optional_name(fields, "change", at) or "").strip().lower() or None,
        author=_optional_name(fields, "author", at),
        pushed_at=_time(fields, "pushed_at", at),
        completed_at=_time(fields, "completed_at", at),
        runner=_optional_name(fields, "runner", at),
        has_log=_flag(fields, "has_log", at),
        failures=failures,
    )


def _failure(data: object, at: str) -> Failure:
    fields = _mapping(data, at)
    return Failure(
        rule=_optional_text(fields, "rule", at) or "",
        category=(_optional_text(fields, "category", at) or "unknown").strip().lower(),
        captures=_list(fields, "captures", f"{at}.captures", _text_at),
        signature=_optional_text(fields, "signature", at) or None,
        generic=_flag(fields, "generic", at) or False,
        line=_optional_text(fields, "line", at) or "",
        context=_list(fields, "context", f"{at}.context", _text_at),
        tests=_list(fields, "tests", f"{at}.tests", _text_at),
    )


def _base(data: object) -> Base:
    fields = _mapping(data, "base")
    return Base(
        commit=_optional_name(fields, "commit", "base"),
        committed_at=_time(fields, "committed_at", "base"),
        runs=_list(fields, "runs", "base.runs", _run),
    )


def _declared(fields: Mapping[str, Any]) -> Declared:
    return Declared(
        unstable_jobs=_list(fields, "unstable_jobs", "declared.unstable_jobs", _text_at),
        known_flaky_tests=_list(fields, "known_flaky_tests", "declared.known_flaky_tests", _text_at),
        suppressed_by_labels=_list(fields, "suppressed_by_labels", "declared.suppressed_by_labels", _text_at),
    )


def _flip_rate(data: object, at: str) -> FlipRate:
    fields = _mapping(data, at)
    return FlipRate(_name(fields, "test", at), int(_number(fields, "flips", at)), int(_number(fields, "samples", at)))


def _settings(fields: Mapping[str, Any]) -> Settings:
    usual = Settings()
    return Settings(
        base_fresh_days=_number(fields, "base_fresh_days", "settings", usual.base_fresh_days),
        base_max_days=_number(fields, "base_max_days", "settings", usual.base_max_days),
        max_excused=int(_number(fields, "max_excused", "settings", usual.max_excused)),
        window_days=_number(fields, "window_days", "settings", usual.window_days),
        min_flips=int(_number(fields, "min_flips", "settings", usual.min_flips)),
        min_flip_rate=_number(fields, "min_flip_rate", "settings", usual.min_flip_rate),
        mass_jobs=int(_number(fields, "mass_jobs", "settings", usual.mass_jobs)),
        mass_minutes=_number(fields, "mass_minutes", "settings", usual.mass_minutes),
    )


def _mapping(data: object, at: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise ScenarioError(f"{at} must be an object, not {_kind(data)}")
    return data


def _list(fields: Mapping[str, Any], name: str, at: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
    items = fields.get(name)
    if items is None:
        return ()
    if not isinstance(items, list):
        raise ScenarioError(f"{at} must be a list, not {_kind(items)}")
    return tuple(read(item, f"{at}[{number}]") for number, item in enumerate(items) if item is not None)


def _text_at(value: object, at: str) -> str:
    if not isinstance(value, str):
        raise ScenarioError(f"{at} must be text, not {_kind(value)}")
    return valid_text(value)


def _change_at(value: object, at: str) -> str:
    return _text_at(value, at).strip().lower()


def _name(fields: Mapping[str, Any], name: str, at: str) -> str:
    """Text that must be there; a whole number is taken as text (ids)."""
    value = fields.get(name)
    if _is_whole_number(value):
        return str(value)
    text = _text_at(value, f"{at}.{name}")
    if not text:
        raise ScenarioError(f"{at}.{name} is empty")
    return text


def _optional_name(fields: Mapping[str, Any], name: str, at: str) -> str | None:
    """Like `_name`, where it may be missing: a pull request's number is often written as one."""
    value = fields.get(name)
    return str(value) if _is_whole_number(value) else _optional_text(fields, name, at)


def _is_whole_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _optional_text(fields: Mapping[str, Any], name: str, at: str) -> str | None:
    value = fields.get(name)
    return None if value is None else _text_at(value, f"{at}.{name}")


def _flag(fields: Mapping[str, Any], name: str, at: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise ScenarioError(f"{at}.{name} must be true or false, not {_kind(value)}")
    return value


def _number(fields: Mapping[str, Any], name: str, at: str, usual: float | None = None) -> float:
    value = fields.get(name)
    if value is None and usual is not None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ScenarioError(f"{at}.{name} must be a number from 0 up, not {_kind(value)}")
    return value


def _time(fields: Mapping[str, Any], name: str, at: str) -> datetime | None:
    """ISO 8601, or seconds since 1970 as push events have them; a time without a zone is UTC."""
    seconds = fields.get(name)
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        return _moment(seconds, f"{at}.{name}")
    text = _optional_text(fields, name, at)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ScenarioError(f"{at}.{name} must be a time in ISO 8601, not {text[:40]!r}") from error
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ScenarioError(f"{at}.{name} is out of range: {text[:40]!r}") from error


def _moment(seconds: float, at: str) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ScenarioError(f"{at} is out of range: {str(seconds)[:40]}") from error


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)
