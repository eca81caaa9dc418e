"""The recorded repository, commit by commit as it happened: its alerts are those that a simple count finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine

from hud.core.alerts.rules import MASS_FAILURE, RuleSpec
from hud.core.facts import Facts, HeadFact
from hud.core.github import facts_of
from hud.models import Alert, AlertRule, Repository
from hud.services.alert_rules import rules_of
from hud.services.ingest import apply_facts
from hud.services.replay import Recording
from hud.services.repositories import ensure_repository

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

COMMITS = 40
STREAK_RULES = {"broken job": 3, "two in a row": 2, "any red": 1}
MASS_RULES = {"mass failure": (3, 6), "some red": (1, 2), "some red twice": (2, 2)}
"""The two rules that every repository begins with, and sharper ones that make more of the recording. Mass failures:
commits and jobs."""
Told = tuple[str, str, str, str]
"""Rule, first bad, opened at, resolved at ("" while it fires)."""


def by_commit(recording: Recording) -> Iterator[tuple[dict[str, Any], list[Any], list[Any]]]:
    """Yield each of the newest commits, oldest first, with its workflow runs and their jobs."""
    recording.limited_to(COMMITS)
    runs: dict[str, list[Any]] = defaultdict(list)
    jobs: dict[str, list[Any]] = defaultdict(list)
    for run, its_jobs in recording.jobs():
        runs[run["head_sha"]].append(run)
        jobs[run["head_sha"]].extend(its_jobs or [])
    for commit in reversed(recording.commits):
        yield commit, runs[commit["sha"]], jobs[commit["sha"]]


def play_live(recording: Recording) -> Repository:
    """Bring every commit in at its own time, its results after it."""
    name = recording.full_name()
    branch = recording.branch()
    repository, _ = ensure_repository(full_name=name, branch=branch, default_branch=branch)
    rules_of(repository)
    for rule, threshold in STREAK_RULES.items():
        _make_rule(repository, rule, RuleSpec(threshold=threshold))
    for rule, (threshold, at_least) in MASS_RULES.items():
        _make_rule(repository, rule, RuleSpec(kind=MASS_FAILURE, threshold=threshold, min_jobs=at_least))
    for commit, runs, jobs in by_commit(recording):
        with time_machine.travel(commit["commit"]["committer"]["date"], tick=False):
            facts = facts_of("rest.commits", {"items": [commit]})
            facts.extend(Facts(heads=[HeadFact(branch, commit["sha"])]))
            facts.extend(facts_of("rest.workflow_runs", {"items": runs}))
            apply_facts(repository=repository, facts=facts, logs_follow=True)
            for start in range(0, len(jobs), 20):
                part = facts_of("rest.jobs", {"items": jobs[start : start + 20], "listed": []})
                apply_facts(repository=repository, facts=part, logs_follow=True)
    return repository


def _make_rule(repository: Repository, name: str, spec: RuleSpec) -> None:
    AlertRule.objects.get_or_create(repository=repository, name=name, defaults={"spec": spec.stored()})


# ── The oracle: shares no code with what it checks ───────────────────────────────────────────────────────────────────
def word_of(conclusions: list[str | None]) -> str:
    """What all runs of a job say about a commit: S, F, or nothing."""
    if "success" in conclusions:
        return "S"
    return "F" if {"failure", "timed_out", "startup_failure"} & set(conclusions) else ""


def count_streaks(rule: str, threshold: int, words: list[tuple[str, str]]) -> list[Told]:
    """Count red commits by hand: open at the last that is needed, close at the first green one."""
    found: list[Told] = []
    red: list[str] = []
    for sha, word in [*words, ("", "S")]:
        if word == "F":
            red.append(sha)
        elif word == "S":
            if len(red) >= threshold:
                found.append((rule, red[0], red[threshold - 1], sha))
            red = []
    return found


def count_alerts(recording: Recording) -> list[Told]:
    words: dict[tuple[int, str], list[tuple[str, str]]] = defaultdict(list)
    mass: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for commit, runs, jobs in by_commit(recording):
        said: dict[tuple[int, str], list[str | None]] = defaultdict(list)
        workflows = {run["id"]: run["workflow_id"] for run in runs}
        for job in jobs:
            said[(workflows[job["run_id"]], job["name"])].append(job["conclusion"])
        merged = {key: word_of(conclusions) for key, conclusions in said.items()}
        red = sum(word == "F" for word in merged.values())
        spoke = sum(bool(word) for word in merged.values())
        waits = sum(not w and ("cancelled" in said[k] or None in said[k]) for k, w in merged.items())
        for rule, (_, at_least) in MASS_RULES.items():
            certain = red + waits < at_least <= spoke
            mass[rule].append((commit["sha"], "F" if red >= at_least else "S" if certain else ""))
        for key, word in merged.items():
            words[key].append((commit["sha"], word))
    found = [
        alert
        for rule, threshold in STREAK_RULES.items()
        for of_job in words.values()
        for alert in count_streaks(rule, threshold, of_job)
    ]
    return sorted(found + [a for rule, said in mass.items() for a in count_streaks(rule, MASS_RULES[rule][0], said)])


def test_the_alerts_of_the_recorded_repository_are_those_that_a_count_by_hand_finds(
    shared_data: Path, settings: Any
) -> None:
    settings.ALERT_REOPEN_S = 0
    folder = shared_data / "github" / "ozone"
    expected = count_alerts(Recording(folder))
    play_live(Recording(folder))
    alerts = Alert.objects.filter(merged_into=None, withdrawn=False).values_list(
        "rule__name", "first_bad", "opened_at_sha", "resolved_at_sha"
    )
    assert sorted(alerts) == expected
    assert len(expected) > 20 and {rule for rule, *_ in expected} >= {"broken job", "any red", "some red"}
