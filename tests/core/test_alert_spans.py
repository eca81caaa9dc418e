"""words of commits -> spans, against a count that is as simple as can be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hud.core.alerts.spans import Word, find_spans, mass_word, spans_of_letters

WORDS = {"F": True, "S": False, ".": None}


def spans(letters: str, threshold: int = 3, greens: int = 1) -> list[tuple[int, int, int, int | None]]:
    found = find_spans(((i, WORDS[c]) for i, c in enumerate(letters)), threshold, greens)
    return [(s.first_bad, s.opened_at, len(s.failing), s.resolved_at) for s in found]


def test_the_third_red_commit_opens_and_a_green_one_ends() -> None:
    assert spans("SFFFS") == [(1, 3, 3, 4)]
    assert spans("FF.FF") == [(0, 3, 4, None)]


def test_two_red_commits_and_a_red_one_after_a_green_one_are_no_three() -> None:
    assert spans("FFSF") == []


def test_several_greens_in_a_row_may_be_asked_for_to_end_it() -> None:
    assert spans("FFFSFSS", greens=2) == [(0, 2, 4, 6)]
    assert spans("FFFS.S", greens=2) == [(0, 2, 3, 5)]
    assert spans("FSFFF", greens=2) == [(2, 4, 3, None)]  # before it opens, one green is enough


def by_hand(words: list[Word], threshold: int) -> list[tuple[int, int, int | None]]:
    """For each green commit, and the end: were enough red ones since the green one before?"""
    found = []
    marks = [i for i, w in enumerate(words) if w is False]
    starts, ends = [-1, *marks], [*marks, None]
    for start, end in zip(starts, ends, strict=True):
        red = [i for i in range(start + 1, len(words) if end is None else end) if words[i]]
        if len(red) >= threshold:
            found.append((red[0], red[threshold - 1], end))
    return found


@given(st.lists(st.sampled_from([True, False, None]), max_size=30), st.integers(1, 4))
def test_spans_are_what_stands_between_green_commits(words: list[Word], threshold: int) -> None:
    found = find_spans(enumerate(words), threshold)
    assert [(s.first_bad, s.opened_at, s.resolved_at) for s in found] == by_hand(words, threshold)


@given(st.lists(st.sampled_from([True, False, None]), max_size=12), st.randoms())
def test_the_order_in_which_commits_are_given_does_not_matter(words: list[Word], random: object) -> None:
    shuffled = list(enumerate(words))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert find_spans(shuffled, 2, 2) == find_spans(enumerate(words), 2, 2)


@given(st.text(alphabet="rge.", max_size=40), st.integers(1, 4), st.integers(1, 3))
def test_a_search_in_a_column_finds_the_same_spans(letters: str, threshold: int, greens: int) -> None:
    positions = [3 * i + 5 for i in range(len(letters))]
    words = [(p, {"r": True, "g": False}.get(letter)) for p, letter in zip(positions, letters, strict=True)]
    found = list(spans_of_letters(letters.encode(), positions, threshold, greens))
    assert found == find_spans(words, threshold, greens)


def test_a_mass_failure_ends_only_when_that_is_certain() -> None:
    assert mass_word(3, 1, 0, at_least=3) is True
    assert mass_word(2, 1, 1, at_least=3) is None  # one more may turn red
    assert mass_word(1, 1, 0, at_least=3) is None  # too few spoke
    assert mass_word(1, 2, 0, at_least=3) is False
