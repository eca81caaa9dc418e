"""What is known of the paths that a commit touches: read from GitHub's words, joined in any order."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hud.core.facts import CommitFact
from hud.core.github import facts_of
from hud.core.touched import CUT, GONE, Touched, join_touched
from tests.services.payloads import commit, push, sha


def read(event: str, payload: dict[str, Any]) -> CommitFact:
    return facts_of(event, payload).commits[0]


def answer(files: object) -> CommitFact:
    return read("rest.commit_files", {"items": [{"sha": sha("c1"), "files": files}]})


def named(count: int) -> list[dict[str, str]]:
    return [{"filename": f"src/{n:04d}.py"} for n in range(count)]


def pushed(count: int) -> CommitFact:
    payload = push("c0", "c1")
    payload["commits"][0] |= {"added": ["new.py"], "removed": [], "modified": [f"{n}.py" for n in range(count - 1)]}
    return read("push", payload)


class TestReading:
    def test_a_file_that_was_moved_is_touched_in_both_places(self) -> None:
        fact = answer([{"filename": "b.py", "previous_filename": "a.py"}, {"filename": "c.py"}])
        assert (fact.files, fact.files_lack) == (("a.py", "b.py", "c.py"), "")

    def test_a_commit_without_files_has_an_empty_whole_list(self) -> None:
        assert (answer([]).files, answer([]).files_lack) == ((), "")

    def test_an_answer_without_a_list_says_that_github_does_not_tell(self) -> None:
        assert (answer(None).files, answer(None).files_lack) == (None, GONE)

    def test_the_list_of_commits_tells_nothing_of_files(self) -> None:
        fact = read("rest.commits", {"items": [commit("c1")]})
        assert (fact.files, fact.files_lack) == (None, "")

    @pytest.mark.parametrize(("count", "lack"), [(299, ""), (300, CUT)])
    def test_300_files_of_an_answer_may_be_a_cut_list(self, count: int, lack: str) -> None:
        assert answer(named(count)).files_lack == lack
        assert read("rest.commits", {"items": [commit("c1") | {"files": named(count)}]}).files_lack == lack

    @pytest.mark.parametrize(("count", "lack"), [(2999, ""), (3000, CUT)])
    def test_3000_files_of_a_push_may_be_a_cut_list(self, count: int, lack: str) -> None:
        assert (len(pushed(count).files or ()), pushed(count).files_lack) == (count, lack)

    def test_a_push_that_lists_no_path_tells_nothing(self) -> None:
        payload = push("c0", "c1")
        payload["commits"][0] |= {"added": [], "removed": [], "modified": []}
        assert read("push", payload).files is None

    @pytest.mark.parametrize("broken", [[{"filename": 7}], ["a.py"], [None], [{}]])
    def test_what_is_no_path_is_left_out(self, broken: list[object]) -> None:
        assert answer([*broken, {"filename": "b.py"}]).files == ("b.py",)


WORDS: list[Touched] = [(None, ""), (None, GONE), (["a"], CUT), (["a", "b"], CUT), ([], ""), (["a", "b", "c"], "")]


@pytest.mark.parametrize("at", range(1, len(WORDS)))
def test_each_word_that_tells_more_replaces_those_that_tell_less(at: int) -> None:
    for less in WORDS[:at]:
        assert join_touched(less, WORDS[at]) == join_touched(WORDS[at], less) == WORDS[at]


def touched_words() -> st.SearchStrategy[Touched]:
    lists = st.tuples(st.lists(st.sampled_from("abc"), max_size=3, unique=True), st.sampled_from(["", CUT]))
    return st.one_of(st.tuples(st.none(), st.sampled_from(["", GONE])), lists)


@settings(derandomize=True, deadline=None)
@given(st.lists(touched_words(), min_size=1, max_size=4))
def test_the_order_of_words_does_not_matter(words: list[Touched]) -> None:
    ends = set()
    for order in permutations(words):
        known = order[0]
        for word in (*order[1:], *order):
            known = join_touched(known, word)
        ends.add(repr(known))
    assert len(ends) == 1
