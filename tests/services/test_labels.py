"""A person's word on a failed cell wins everywhere as long as it is that failure, and can be taken back."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from hud.core.cellcode import LOOKS
from hud.models import AuditEntry, Cell, Commit, Failure, Label, Log, Run, Verdict
from hud.services import verdicts
from hud.services.labels import BadLabel, set_label, undo_label
from tests.factories import Trunk, make_failure
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, passes, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


@pytest.fixture
def kim() -> User:
    return User.objects.create_user("kim")


def label(kim: User, trunk: Trunk, commit: Commit, name: str = "infra", reason: str = "The switch died.") -> Label:
    return set_label(who=kim, repository=trunk.repository, commit=commit, job=trunk.jobs[0], label=name, reason=reason)


def shown(commit: Commit, trunk: Trunk) -> tuple[str, str]:
    """The verdict of the cell's row and of its character."""
    cell = Cell.objects.get(commit=commit, job=trunk.jobs[0])
    commit.refresh_from_db()
    return cell.verdict, LOOKS[commit.cells[0]].verdict


def test_it_wins_in_a_cell_of_trunk_and_is_undone(trunk: Trunk, kim: User) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk)
    assert shown(newest, trunk) == ("regression", "regression")
    word = label(kim, trunk, newest)
    assert shown(newest, trunk) == ("infra", "infra")
    assert "kim" in Cell.objects.get(commit=newest, job=trunk.jobs[0]).verdict_reason
    word.refresh_from_db()
    assert word.engine_label == "regression"
    undo_label(who=kim, word=word)
    assert shown(newest, trunk) == ("regression", "regression")


def test_it_survives_ingest_and_another_classification(trunk: Trunk, kim: User) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk)
    label(kim, trunk, newest)
    Failure.objects.filter(run=run).update(category="infra_disk", signature="other")
    refresh(newest, trunk, 0)
    assert shown(newest, trunk) == ("infra", "infra")


OTHER = "FAILED test_io.py::test_read - no"


@pytest.mark.parametrize("on_trunk", [True, False])
def test_it_survives_attempts_that_fail_alike_or_tell_nothing_of_the_code(
    trunk: Trunk, kim: User, on_trunk: bool
) -> None:
    commit = trunk.commits[-1] if on_trunk else open_pull(trunk)
    breaks(commit, trunk)
    judge_all()
    word = label(kim, trunk, commit, "flaky")
    fails(commit, trunk)
    fails(commit, trunk, line="")
    fails(commit, trunk, line="No space left on device", category="infra_disk", tests=[])
    judge_all()
    assert shown(commit, trunk) == ("flaky", "flaky")
    word.refresh_from_db()
    assert (word.undone_at, word.undone_because) == (None, "")


@pytest.mark.parametrize("on_trunk", [True, False])
def test_it_ends_where_a_later_attempt_fails_in_another_way(trunk: Trunk, kim: User, on_trunk: bool) -> None:
    commit = trunk.commits[-1] if on_trunk else open_pull(trunk)
    breaks(commit, trunk)
    judge_all()
    word = label(kim, trunk, commit, "flaky")
    other = fails(commit, trunk, line=OTHER)
    judge_all()
    assert shown(commit, trunk) == ("regression", "regression")
    word.refresh_from_db()
    assert (word.ended_by, word.undone_by) == (other, "")
    assert word.undone_because == "A later attempt failed in another way."
    fails(commit, trunk)
    judge_all()
    assert shown(commit, trunk)[0] == "regression"


def test_one_more_failing_test_is_another_way_and_one_less_is_not(trunk: Trunk, kim: User) -> None:
    newest = trunk.commits[-1]
    both = breaks(newest, trunk)
    make_failure(both, OTHER, rank=1)
    label(kim, trunk, newest, "flaky")
    fails(newest, trunk)
    assert shown(newest, trunk)[0] == "flaky"
    more = fails(newest, trunk)
    make_failure(more, "FAILED test_cut.py::test_it - no", rank=1)
    refresh(newest, trunk, 0)
    assert shown(newest, trunk)[0] == "regression"


def test_it_is_not_ended_by_rules_that_have_read_one_of_two_attempts_only(trunk: Trunk, kim: User) -> None:
    newest = trunk.commits[-1]
    first = breaks(newest, trunk)
    label(kim, trunk, newest, "flaky")
    second = fails(newest, trunk)
    for run, rules in ((first, "2:new"), (second, "1:old")):
        Log.objects.create(run=run, status=Log.Status.STORED, classified_by=rules)
    Failure.objects.filter(run=first).update(signature="by the new rule", rule="new")
    refresh(newest, trunk, 0)
    assert shown(newest, trunk)[0] == "flaky"
    Log.objects.update(classified_by="2:new")
    Failure.objects.filter(run=second).update(signature="by the new rule", rule="new")
    refresh(newest, trunk, 0)
    assert shown(newest, trunk)[0] == "flaky"


def test_it_waits_for_the_log_of_the_attempt_that_was_labelled(trunk: Trunk, kim: User) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk, line="")
    Log.objects.create(run=run, status=Log.Status.PENDING)
    refresh(newest, trunk, 0)
    label(kim, trunk, newest, "flaky")
    fails(newest, trunk)
    assert shown(newest, trunk)[0] == "flaky"
    Log.objects.update(status=Log.Status.GONE)
    refresh(newest, trunk, 0)
    assert shown(newest, trunk)[0] == "regression"


def test_it_wins_in_a_pull_requests_cell_and_the_engines_answer_stays(trunk: Trunk, kim: User) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk)
    judge_all()
    word = label(kim, trunk, commit, "flaky")
    assert shown(commit, trunk) == ("flaky", "flaky")
    verdicts.judge(trunk.repository, [commit.pk])
    assert shown(commit, trunk) == ("flaky", "flaky")
    assert Verdict.objects.get(run=run).label == "regression"
    undo_label(who=kim, word=word)
    assert shown(commit, trunk) == ("regression", "regression")


def test_a_cell_that_becomes_red_again_still_has_it(trunk: Trunk, kim: User) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk)
    judge_all()
    label(kim, trunk, commit)
    Run.objects.filter(pk=run.pk).update(status="in_progress", conclusion="")
    refresh(commit, trunk, 0)
    assert shown(commit, trunk) == ("", "")
    Run.objects.filter(pk=run.pk).update(status="completed", conclusion="failure")
    refresh(commit, trunk, 0)
    judge_all()
    assert shown(commit, trunk) == ("infra", "infra")


def test_a_flaky_cell_can_be_called_something_else(trunk: Trunk, kim: User) -> None:
    newest = trunk.commits[-1]
    fails(newest, trunk)
    assert shown(newest, trunk) == ("flaky", "flaky")
    label(kim, trunk, newest, "regression")
    assert shown(newest, trunk) == ("regression", "")
    refresh(newest, trunk, 0)
    assert shown(newest, trunk) == ("regression", "")


def test_a_new_word_replaces_the_old_one_and_both_stay_in_the_history(trunk: Trunk, kim: User) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk)
    first = label(kim, trunk, newest)
    second = label(kim, trunk, newest, "unstable", "Known.")
    first.refresh_from_db()
    assert first.undone_by == "kim"
    assert second.engine_label == "regression"
    assert shown(newest, trunk) == ("unstable", "unstable")
    with pytest.raises(BadLabel, match="already"):
        undo_label(who=kim, word=first)
    assert list(AuditEntry.objects.values_list("what", "who")) == [("verdict.labelled", "kim")] * 2
    assert AuditEntry.objects.first().before == {"label": "infra", "reason": "The switch died.", "who": "kim"}  # type: ignore[union-attr]


def test_whatever_the_engine_says_can_be_confirmed(trunk: Trunk, kim: User) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk, line="##[error]The operation was canceled.", category="cancelled")
    judge_all()
    assert shown(commit, trunk)[0] == "cancelled"
    assert label(kim, trunk, commit, "cancelled").engine_label == "cancelled"
    assert label(kim, trunk, commit, "infra").engine_label == "cancelled"
    assert label(kim, trunk, commit, "cancelled").label == "cancelled"


@pytest.mark.parametrize(("name", "reason"), [("infra", "  "), ("wonderful", "x"), ("", "x"), ("cancelled", "x")])
def test_it_needs_a_known_word_and_a_reason(trunk: Trunk, kim: User, name: str, reason: str) -> None:
    breaks(trunk.commits[-1], trunk)
    with pytest.raises(BadLabel):
        label(kim, trunk, trunk.commits[-1], name, reason)


def test_what_passed_is_not_labelled(trunk: Trunk, kim: User) -> None:
    passes(trunk.commits[-1], trunk)
    with pytest.raises(BadLabel, match="failed"):
        label(kim, trunk, trunk.commits[-1])


@pytest.mark.parametrize(("label", "left"), [("regression", "regression"), ("infra", "regression"), ("flaky", "flaky")])
def test_a_failure_that_a_person_explained_is_no_alibi_for_another_change(
    trunk: Trunk, kim: User, label: str, left: str
) -> None:
    run = fails(open_pull(trunk), trunk)
    other = open_pull(trunk, 8, "emil")
    fails(other, trunk)
    judge_all()
    assert Verdict.objects.get(run=run).label == "flaky"
    word = set_label(
        who=kim, repository=trunk.repository, commit=other, job=trunk.jobs[0], label=label, reason="I looked."
    )
    judge_all()
    assert Verdict.objects.get(run=run).label == left
    undo_label(who=kim, word=word)
    judge_all()
    assert Verdict.objects.get(run=run).label == "flaky"
