"""The sign and the words of a cell."""

from __future__ import annotations

import itertools

from hud.core.cell import FAILING, Detail, State
from hud.core.cellcode import LOOKS, CellLook
from hud.core.glyph import DOT, cell_words, glyph


def test_every_look_has_one_sign_and_words() -> None:
    for look, streak in itertools.product(LOOKS.values(), ("", "lone", "start", "mid", "change")):
        if streak and look.state not in FAILING:
            continue
        assert len(glyph(look, streak)) == 1
        assert cell_words(look)


def test_no_sign_stands_for_both_red_and_not_red_but_f_and_c() -> None:
    """Flaky is F whether it passed at last or not, and a failure that was a cancellation is C."""
    red = {glyph(look) for look in LOOKS.values() if look.state in FAILING}
    other = {glyph(look) for look in LOOKS.values() if look.state not in FAILING}
    assert red & other <= {"F", "C"}


def test_only_success_is_a_dot() -> None:
    assert {look.state for look in LOOKS.values() if glyph(look) == DOT} == {State.SUCCESS}


def test_a_known_cause_comes_before_the_place_in_the_streak() -> None:
    assert glyph(CellLook(State.FAILURE, verdict="infra"), "mid") == "I"
    assert glyph(CellLook(State.FAILURE, verdict="broken_trunk"), "mid") == "┃"
    assert glyph(CellLook(State.FAILURE, verdict="unknown"), "lone") == "?"
    assert glyph(CellLook(State.FAILURE, verdict="unknown"), "start") == "✖"
    assert glyph(CellLook(State.FAILURE, Detail.STARTUP_FAILURE), "start") == "!"
    assert glyph(CellLook(State.FAILURE, Detail.STARTUP_FAILURE), "mid") == "┃"


def test_a_verdict_has_the_same_sign_within_a_streak_and_off_trunk() -> None:
    regression, broken = (CellLook(State.FAILURE, verdict=verdict) for verdict in ("regression", "broken_trunk"))
    assert {glyph(regression, streak) for streak in ("", "lone", "start", "mid")} == {"✖"}
    assert {glyph(broken, streak) for streak in ("", "mid")} == {"┃"}
    assert {glyph(look, "change") for look in (regression, broken)} == {"◆"}


def test_words_say_what_the_sign_means() -> None:
    assert cell_words(CellLook(State.QUEUED, Detail.WAITING)) == "waiting for a person"
    assert cell_words(CellLook(State.FAILURE, verdict="regression")) == "failed, regression"
