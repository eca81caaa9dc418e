"""The invented logs look like the runner's and hold the line that tells the cause."""

import re

import pytest

import classifier
from hud.synthetic.logs import ANNOTATIONS, SCRIPTS, render
from hud.synthetic.stories import CAUSES, INFRA

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z ")


def _log(kind: str, run: int = 1) -> bytes | None:
    chunks = render(
        kind,
        seed=1,
        story=kind,
        run=run,
        repository="brindle/harbour",
        sha="0123456789abcdef",
        runner="i-7",
        label="linux.large",
        started_s=1_796_000_000,
        ended_s=1_796_000_600,
    )
    return None if chunks is None else b"".join(chunks)


def test_every_cause_that_stories_name_has_a_log() -> None:
    named = {kind for kinds in CAUSES.values() for kind in kinds} | set(INFRA)
    assert named <= set(SCRIPTS)


@pytest.mark.parametrize("kind", sorted(SCRIPTS))
def test_every_line_has_the_runners_time_and_they_never_go_back(kind: str) -> None:
    log = _log(kind)
    if log is None:
        assert SCRIPTS[kind].end == "missing"
        return
    lines = log.decode("utf-8-sig").split("\n")
    if SCRIPTS[kind].end != "cut":
        assert lines.pop() == ""
    assert all(_STAMP.match(line) for line in lines)
    assert lines == sorted(lines, key=lambda line: line[:28])


def test_a_lost_runner_leaves_a_log_that_ends_in_mid_line() -> None:
    log = _log("runner_lost")
    assert log is not None
    assert not log.endswith(b"\n")
    assert b"##[error]" not in log


def test_runs_with_the_same_cause_differ_in_numbers_alone() -> None:
    first, second = _log("pytest_assert", 1), _log("pytest_assert", 2)
    assert first is not None and second is not None and first != second
    failed = [re.findall(rb"FAILED tests/\S+ - .*", log) for log in (first, second)]
    assert failed[0] == failed[1] != []


# A reader of the demo is to see what HUD can tell. Only two kinds say nothing, on purpose.
_TELLS_NOTHING = {"bare_exit", "stopped"}
_CATEGORIES = {
    "artifact_503": {"infra_service", "infra_network"},
    "config": {"config", "infra_service"},
    "disk_full": {"infra_disk"},
    "dns": {"infra_network"},
    "git_fetch": {"infra_network"},
    "job_timeout": {"timeout"},
    "oom_killed": {"infra_memory"},
    "package_index": {"infra_network"},
    "registry_429": {"infra_registry"},
    "runner_lost": {"infra_runner"},
    "step_timeout": {"timeout"},
    "superseded": {"cancelled"},
    "ruff": {"lint"},
    "gcc": {"build"},
    "pytest_assert": {"test"},
    "maven_test": {"test"},
    "sphinx": {"docs"},
}


@pytest.fixture(scope="module")
def engine() -> classifier.Engine:
    return classifier.Engine(classifier.Ruleset.builtin())


@pytest.mark.parametrize("kind", sorted(SCRIPTS))
def test_the_classifier_finds_the_cause_of_a_log(kind: str, engine: classifier.Engine) -> None:
    session = engine.start()
    session.feed(_log(kind) or b"")
    told = [
        classifier.Annotation(level=level, message=message, title="", path="")
        for level, message in ANNOTATIONS.get(kind, ())
    ]
    failures = session.finish(annotations=told).failures
    if kind in _TELLS_NOTHING:
        assert all(failure.generic or failure.category == "cancelled" for failure in failures)
        return
    assert failures and not failures[0].generic, failures
    assert failures[0].category in _CATEGORIES.get(kind, {failures[0].category})
    assert not failures[0].category.startswith("infra") or kind in _CATEGORIES
