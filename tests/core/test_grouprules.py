"""Group rules while they are edited."""

from hypothesis import given
from hypothesis import strategies as st

from hud.core.grouprules import MOST_RULES, fingerprint, preview
from hud.core.groups import Rule, group_columns
from hud.core.names import ColumnName

COLUMNS = [
    ColumnName(0, "CI", "build (8)"),
    ColumnName(1, "CI", "build (11)"),
    ColumnName(2, "CI", "integration (om)"),
    ColumnName(3, "nightly", "soak"),
]


def test_each_line_tells_how_many_jobs_it_takes_and_the_first_rule_wins() -> None:
    shown = preview(COLUMNS, [("build", "Build"), ("CI /", "Rest of CI"), ("soak", "Soak")])
    assert [line.caught for line in shown.lines] == [2, 1, 1]
    assert shown.is_good and shown.left == 0
    assert [(g.name, len(g.columns)) for g in shown.groups] == [("Build", 2), ("Rest of CI", 1), ("Soak", 1)]


def test_a_rule_behind_one_that_takes_everything_takes_nothing() -> None:
    assert [line.caught for line in preview(COLUMNS, [(".", "All"), ("soak", "Soak")]).lines] == [4, 0]


def test_a_bad_pattern_shows_its_error_and_leaves_the_other_lines_alone() -> None:
    shown = preview(COLUMNS, [("(unclosed", "Broken"), ("build", "Build")])
    assert "missing )" in shown.lines[0].error and not shown.is_good
    assert shown.lines[1].caught == 2 and "Broken" not in [g.name for g in shown.groups]


def test_look_ahead_is_refused_with_a_reason() -> None:
    assert "look-ahead" in preview(COLUMNS, [("a(?=b)", "x")]).lines[0].error


def test_half_a_line_says_which_half_is_missing_and_an_empty_one_is_left_out() -> None:
    shown = preview(COLUMNS, [("build", ""), ("", "Build"), ("", "")])
    assert [bool(line.error) for line in shown.lines] == [True, True, False]
    assert preview(COLUMNS, [("", ""), ("build", "Build")]).rules == [Rule("build", "Build")]


def test_what_cannot_be_seen_or_stored_is_refused() -> None:
    for pattern, group in (("a\x00", "x"), ("a", "x\u202ey"), ("a\nb", "x"), ("a", "g" * 101), ("a" * 501, "x")):
        assert preview(COLUMNS, [(pattern, group)]).lines[0].error, (pattern, group)


def test_there_is_a_limit_to_the_number_of_rules() -> None:
    shown = preview(COLUMNS, [("build", "Build")] * (MOST_RULES + 1))
    assert not shown.is_good and str(MOST_RULES) in shown.error


def test_without_rules_jobs_stand_under_their_workflow() -> None:
    shown = preview(COLUMNS, [])
    assert [g.name for g in shown.groups] == ["CI", "nightly"] and shown.left == 4


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=8)), max_size=6))
def test_the_preview_shows_what_the_grid_will_show(typed: list[tuple[str, str]]) -> None:
    shown = preview(COLUMNS, typed)
    if shown.is_good:
        assert list(shown.groups) == group_columns(COLUMNS, shown.rules)
    assert sum(line.caught for line in shown.lines) + shown.left == len(COLUMNS)


@given(st.permutations([("a", "b"), ("ab", ""), ("", "ab"), ("b", "a")]))
def test_a_fingerprint_belongs_to_one_order_of_rules(order: list[tuple[str, str]]) -> None:
    straight = [Rule("a", "b"), Rule("ab", ""), Rule("", "ab"), Rule("b", "a")]
    other = [Rule(*pair) for pair in order]
    assert (fingerprint(other) == fingerprint(straight)) == (other == straight)
