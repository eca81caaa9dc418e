"""Who broke it, and which runs would tell."""

import gzip
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifier.verdict.suspects import (
    FlakeRate,
    GapCommit,
    LaterCommit,
    plan_bisection,
    rank_suspects,
)

TEST = "tests/store/test_join.py::test_spill"
LINE = "FAILED tests/store/test_join.py::test_spill - assert 3 == 4"
PLAIN = [GapCommit(f"{n:040x}", f"dev{n}", f"Change {n}", (f"other/{n}.py",)) for n in range(8)]


def first(gap: list[GapCommit], **given: object) -> str:
    values = {"failure_texts": [LINE], "tests": [TEST]} | given
    return rank_suspects(gap, **values).suspects[0].sha  # type: ignore[arg-type]


def with_files(*files: str, sha: str = "f" * 40) -> GapCommit:
    return GapCommit(sha, "kim", "Speed up the join (#12)", files)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests/store/test_join.py", "where the failing test is"),
        ("src/store/join.py", "which the failing test is named after"),
        ("tests/store/conftest.py", "where the failure is"),
    ],
)
def test_a_commit_that_touches_the_place_of_the_failure_comes_first(path: str, reason: str) -> None:
    ranking = rank_suspects([*PLAIN[:3], with_files(path), *PLAIN[3:5]], [LINE], [TEST])
    assert ranking.suspects[0].sha == "f" * 40
    assert reason in ranking.suspects[0].reasons[0]
    assert "f" * 10 in ranking.reason


def test_a_file_that_the_error_names_counts_from_its_end() -> None:
    gap = [*PLAIN, with_files("src/net/tls.cc")]
    text = "/build/work/src/net/tls.cc:120:9: error: unknown identifier"
    assert first([gap[-1], *PLAIN], failure_texts=[text], tests=[]) == "f" * 40


def test_a_java_test_is_found_by_its_class() -> None:
    commit = with_files("server/src/main/java/org/example/Leader.java")
    tests = ["org.example.server.TestLeader.testStepDown"]
    assert first([commit, *PLAIN], failure_texts=[], tests=tests) == "f" * 40


def test_a_reverted_commit_is_nearly_convicted() -> None:
    by_sha = LaterCommit("a" * 40, message=f"Back it out\n\nThis reverts commit {PLAIN[2].sha}.", healed=True)
    by_title = LaterCommit("a" * 40, message='Revert "Change 2 (#7)" (#9)')
    for later in (by_sha, by_title):
        suspect = rank_suspects(PLAIN, [LINE], [TEST], [later]).suspects[0]
        assert suspect.sha == PLAIN[2].sha
        assert "reverted" in suspect.reasons[0]
        assert suspect.probability > 0.5


def test_a_pull_request_that_is_reverted_by_its_number_is_found() -> None:
    later = LaterCommit("a" * 40, message="Undo the join (#15)\n\nReverts brindle/kestrel#12")
    suspect = rank_suspects([*PLAIN, with_files("x.py"), *PLAIN[:1]], [], [], [later]).suspects[0]
    assert (suspect.sha, suspect.reasons[0]) == ("f" * 40, "was reverted by aaaaaaaaaa")
    other = LaterCommit("a" * 40, message="Undo the join\n\nReverts brindle/kestrel#1")
    assert not any("reverted" in s.reasons[0] for s in rank_suspects([with_files("x.py")], [], [], [other]).suspects)


@pytest.mark.parametrize(
    "message",
    [
        "Merge pull request #15 from brindle/revert-12-faster-join\n\nUndo it",
        'Merge pull request #15 from dora/undo\n\nRevert "Speed up the join"',
        "Undo the join (#15)\n\nReverts brindle/kestrel#12",
    ],
)
def test_a_merged_pull_request_is_known_again_in_its_revert(message: str) -> None:
    merged = "Merge pull request #12 from dora/faster-join\n\nSpeed up the join"
    commit = GapCommit("f" * 40, "dora", merged.split("\n", 1)[0], message=merged)
    suspects = rank_suspects([*PLAIN, commit], [], [], [LaterCommit("a" * 40, message=message)]).suspects
    assert (suspects[0].sha, suspects[0].reasons[0]) == ("f" * 40, "was reverted by aaaaaaaaaa")


def test_a_merge_that_reverts_nothing_accuses_nobody() -> None:
    later = LaterCommit("a" * 40, message="Merge pull request #15 from dora/more\n\nSpeed up the join again")
    merged = GapCommit("f" * 40, "dora", "Merge pull request #12 from dora/faster-join")
    assert not any("revert" in one.reasons[0] for one in rank_suspects([*PLAIN, merged], [], [], [later]).suspects)


def test_a_commit_that_was_taken_back_before_the_job_failed_is_hardly_suspect_and_neither_is_its_revert() -> None:
    revert = GapCommit("e" * 40, "kim", 'Revert "Speed up the join (#12)" (#15)')
    ranking = rank_suspects([with_files("x.py"), PLAIN[0], revert, PLAIN[1]], [], [])
    assert {suspect.sha for suspect in ranking.suspects[:2]} == {PLAIN[0].sha, PLAIN[1].sha}
    assert "was reverted by eeeeeeeeee before the job failed" in ranking.suspects[-1].reasons + (
        ranking.suspects[-2].reasons
    )


def test_a_revert_that_was_reverted_itself_takes_nothing_back() -> None:
    revert = GapCommit("e" * 40, "kim", 'Revert "Speed up the join (#12)" (#15)')
    again = GapCommit("d" * 40, "kim", 'Revert "Revert "Speed up the join (#12)" (#15)" (#16)')
    ranking = rank_suspects([with_files("tests/store/test_join.py"), revert, again], [LINE], [TEST])
    assert ranking.suspects[0].sha == "f" * 40
    assert "reverted" not in " ".join(ranking.suspects[0].reasons)


def test_a_revert_of_what_was_there_before_the_gap_is_a_suspect_like_all() -> None:
    revert = GapCommit("e" * 40, "kim", 'Revert "Speed up the join (#12)" (#15)')
    ranking = rank_suspects([PLAIN[0], revert], [], [])
    assert len({round(suspect.probability, 9) for suspect in ranking.suspects}) == 1


def test_what_may_have_begun_before_the_ranked_commits_says_so() -> None:
    ranking = rank_suspects(PLAIN[:1], [], [], reds=3, earlier=10)
    assert ranking.earlier > 0.8
    assert ranking.suspects[0].probability < 0.1
    assert ranking.suspects[0].reasons == ("the first commit on which the job failed",)
    assert "Likely it began before the commits that are ranked" in ranking.reason
    clue = rank_suspects([with_files("tests/store/test_join.py")], [LINE], [TEST], reds=3, earlier=2)
    assert clue.reason.startswith("It is likely ffffffffff")


def test_an_author_who_comes_back_to_the_files_is_suspect() -> None:
    later = LaterCommit("a" * 40, "dev4", "Fix the fix", ("other/4.py", "x.py"))
    assert first(PLAIN, later=[later]) == PLAIN[4].sha


def test_prose_is_hardly_suspect() -> None:
    ranking = rank_suspects(
        [with_files("docs/a.md", "README"), with_files("LICENSE", "b.rst", sha="e" * 40), PLAIN[0]], [], []
    )
    assert ranking.suspects[0].sha in (PLAIN[0].sha, "f" * 40)
    assert ranking.suspects[-1].sha == "e" * 40


@pytest.mark.parametrize("path", ["requirements.txt", "CMakeLists.txt", "docs/requirements.txt", "tests/out.txt"])
def test_a_text_that_tools_read_is_no_prose(path: str) -> None:
    ranking = rank_suspects([with_files(path), PLAIN[0]], [], [])
    assert not any("prose" in reason for suspect in ranking.suspects for reason in suspect.reasons)


def test_prose_is_as_suspect_as_all_else_where_the_job_checks_prose() -> None:
    gap = [with_files("docs/a.rst"), PLAIN[0]]
    ranking = rank_suspects(gap, [], [], prose_tells=True)
    assert len({round(suspect.probability, 9) for suspect in ranking.suspects}) == 1


def test_a_cut_list_of_prose_does_not_say_that_nothing_else_is_touched() -> None:
    prose = ("docs/a.md", "LICENSE")
    whole, cut = (GapCommit("f" * 40, "kim", "Tidy", prose, cut=cut) for cut in (False, True))
    cleared, kept = (rank_suspects([*PLAIN[:2], one], [LINE], [TEST]) for one in (whole, cut))
    assert cleared.suspects[-1].reasons == ("touches prose and pictures only",)
    assert len({round(suspect.probability, 9) for suspect in kept.suspects}) == 1
    assert not any("prose" in reason for suspect in kept.suspects for reason in suspect.reasons)


def test_a_cut_list_accuses_by_what_it_holds() -> None:
    cut = GapCommit("f" * 40, "kim", "Move all tests", ("tests/store/test_join.py",), cut=True)
    assert first([*PLAIN, cut, *PLAIN[:1]]) == "f" * 40


def test_a_sibling_that_failed_earlier_clears_what_came_after() -> None:
    gap = [PLAIN[0], GapCommit("b" * 40, sibling="red"), PLAIN[1], PLAIN[2]]
    ranked = [suspect.sha for suspect in rank_suspects(gap, [], []).suspects]
    assert set(ranked[:2]) == {PLAIN[0].sha, "b" * 40}


def test_a_sibling_that_passed_speaks_for_what_came_after() -> None:
    gap = [PLAIN[0], GapCommit("b" * 40, sibling="green"), PLAIN[1]]
    assert first(gap) == PLAIN[1].sha


def test_without_a_clue_all_are_alike_and_the_first_bad_is_named_first() -> None:
    ranking = rank_suspects(PLAIN, [], [])
    assert ranking.suspects[0].sha == PLAIN[-1].sha
    assert len({round(suspect.probability, 9) for suspect in ranking.suspects}) == 1


def test_the_only_commit_of_a_gap_is_the_culprit_unless_the_job_flakes() -> None:
    sure = rank_suspects(PLAIN[:1], [LINE], [TEST], flake_rate=FlakeRate(0, 2000), reds=3)
    assert sure.suspects[0].probability > 0.95
    assert "almost surely" in sure.reason
    flaky = rank_suspects(PLAIN[:1], [LINE], [TEST], flake_rate=FlakeRate(60, 200))
    assert flaky.chance > 0.9
    assert "nobody broke it" in flaky.reason


def test_more_reds_in_a_row_leave_less_to_chance() -> None:
    chances = [rank_suspects(PLAIN, [], [], flake_rate=FlakeRate(20, 100), reds=reds).chance for reds in (1, 2, 5)]
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] < 0.05


def test_the_sole_commit_that_touched_the_failing_file_is_suspected_from_the_first_red_on() -> None:
    """Also of a job of which next to nothing is known."""
    for samples in (0, 3, 10, 40):
        ranking = rank_suspects(
            [with_files("tests/store/test_join.py")], [LINE], [TEST], flake_rate=FlakeRate(0, samples)
        )
        assert ranking.suspects[0].probability > 0.8, samples


def test_one_red_of_an_unknown_job_without_a_clue_is_a_toss_up() -> None:
    """Neither an accusation nor an acquittal."""
    ranking = rank_suspects(PLAIN[:1], [LINE], [TEST], flake_rate=FlakeRate(0, 10))
    assert 0.3 < ranking.suspects[0].probability < 0.7


def test_few_samples_move_the_prior_little_and_many_replace_it() -> None:
    assert FlakeRate(0, 0).chance == pytest.approx(0.01)
    assert FlakeRate(1, 3).chance < 0.03
    assert FlakeRate(200, 1000).chance == pytest.approx(0.18, abs=0.01)
    assert FlakeRate(0, 3000).chance < 0.001


def test_a_job_that_flakes_says_so_and_still_ranks_the_one_who_touched_the_file_first() -> None:
    gap = [PLAIN[0], with_files("tests/store/test_join.py"), PLAIN[1]]
    ranking = rank_suspects(gap, [LINE], [TEST], flake_rate=FlakeRate(75, 300))
    assert ranking.suspects[0].sha == "f" * 40
    assert ranking.chance > 0.6
    assert "fails by chance: 75 of its 300 commits" in ranking.reason


def test_a_commit_of_prose_alone_leaves_it_to_chance() -> None:
    assert rank_suspects([with_files("docs/a.md")], [LINE], [TEST]).chance > 0.9


def test_a_job_that_is_green_again_without_a_repair_speaks_for_chance() -> None:
    healed = LaterCommit("a" * 40, "somebody", "Another thing", ("far/away.py",), healed=True)
    repaired = LaterCommit("a" * 40, "somebody", "Mend it", ("other/0.py",), healed=True)
    chances = [rank_suspects(PLAIN[:1], [LINE], [TEST], later).chance for later in ([healed], [], [repaired])]
    assert chances[0] > chances[1] > chances[2] - 1e-9


def test_files_that_are_not_all_known_do_not_say_that_nothing_was_repaired() -> None:
    """Green again by somebody else speaks for chance, though less than where the files are known to be others."""
    elsewhere, unknown, cut, same = (
        LaterCommit("a" * 40, "somebody", "Another thing", files, healed=True, cut=cut)
        for files, cut in ((("far/away.py",), False), (None, False), (("far/away.py",), True), (("other/0.py",), True))
    )
    chances = [rank_suspects(PLAIN[:1], [LINE], [TEST], [later]).chance for later in (elsewhere, unknown, cut, same)]
    assert chances[0] > chances[1] == chances[2] > chances[3]


def test_the_prior_fits_what_was_recorded() -> None:
    """On half a year of a real project: of its red streaks those of one commit stand for chance. What is said at the
    first red, from the history until then, comes near to how often it is so."""
    said, was_chance = recorded_first_reds()
    assert len(said) > 100
    assert sum(said) / len(said) == pytest.approx(sum(was_chance) / len(said), abs=0.15)


RECORDED = Path(os.environ.get("HUD_SHARED", Path(__file__).parents[4] / "shared")) / "data" / "github" / "ozone"


def recorded_first_reds() -> tuple[list[float], list[bool]]:
    """For each red streak: the chance that is said at its first red, and whether it was one commit long."""
    if not RECORDED.exists():
        pytest.skip(f"no recorded repository: {RECORDED} does not exist (HUD_SHARED names the folder)")
    order = {c["sha"]: n for n, c in enumerate(reversed(_read(RECORDED / "commits.json.gz")))}
    cells: dict[str, dict[int, set[bool]]] = defaultdict(lambda: defaultdict(set))
    for path in sorted((RECORDED / "jobs").glob("*.json.gz")):
        told = _read(path)
        for job in told["jobs"] if isinstance(told, dict) else told:
            if job["head_sha"] in order and job["conclusion"] in ("success", "failure", "timed_out"):
                cells[job["name"]][order[job["head_sha"]]].add(job["conclusion"] == "success")
    said: list[float] = []
    was_chance: list[bool] = []
    for job in cells.values():
        flips, length = 0, 0
        for seen, (_, results) in enumerate(sorted(job.items())):
            if True not in results:
                length += 1
                if length == 1:
                    said.append(rank_suspects(PLAIN[:1], [], [], flake_rate=FlakeRate(flips, seen)).chance)
                continue
            if length:
                was_chance.append(length == 1)
                flips += length == 1
            flips += False in results
            length = 0
        if length:
            was_chance.append(length == 1)
    return said, was_chance


def _read(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def test_an_empty_gap_accuses_nobody() -> None:
    ranking = rank_suspects([], [LINE])
    assert ranking.suspects == ()
    assert ranking.chance == 1


@settings(derandomize=True, deadline=None)
@given(
    st.lists(
        st.builds(
            GapCommit,
            st.text("0123456789abcdef", min_size=40, max_size=40),
            st.sampled_from(["ann", "bob", None]),
            st.sampled_from(["", "A", "B (#2)"]),
            st.sampled_from([None, (), ("a.md",), ("tests/store/test_join.py",), ("join.c", "x/y.py")]),
            st.sampled_from([None, "red", "green"]),
            st.booleans(),
        ),
        max_size=9,
        unique_by=lambda commit: commit.sha,
    ),
    st.integers(0, 40),
    st.integers(1, 6),
    st.sampled_from([0, 0.5, 10]),
)
def test_probabilities_add_up_to_one(gap: list[GapCommit], flips: int, reds: int, earlier: float) -> None:
    ranking = rank_suspects(gap, [LINE], [TEST], flake_rate=FlakeRate(flips, 40), reds=reds, earlier=earlier)
    assert ranking.chance + ranking.earlier + sum(suspect.probability for suspect in ranking.suspects) == pytest.approx(
        1
    )
    assert all(suspect.reasons for suspect in ranking.suspects)


def test_a_gap_of_equals_is_halved() -> None:
    plan = plan_bisection(PLAIN, rank_suspects(PLAIN, [], []), ["ci / unit"])
    assert plan.jobs == ("ci / unit",)
    assert plan.commits == (PLAIN[3].sha,)
    assert plan.rounds == 3


def test_several_runs_at_once_take_fewer_rounds() -> None:
    plan = plan_bisection(PLAIN, rank_suspects(PLAIN, [], []), ["ci / unit"], at_once=3)
    assert plan.commits == (PLAIN[1].sha, PLAIN[3].sha, PLAIN[5].sha)
    assert plan.rounds == 2
    assert plan_bisection(PLAIN, rank_suspects(PLAIN, [], []), ["ci / unit"], at_once=99).rounds == 1


def test_the_first_run_parts_the_likely_from_the_rest() -> None:
    gap = [*PLAIN[:6], with_files("tests/store/test_join.py"), PLAIN[7]]
    plan = plan_bisection(gap, rank_suspects(gap, [LINE], [TEST]), ["ci / unit"])
    assert plan.commits[0] in (gap[5].sha, gap[6].sha)


def test_a_gap_of_one_commit_needs_no_run() -> None:
    plan = plan_bisection(PLAIN[:1], rank_suspects(PLAIN[:1], [], []), ["ci / unit"])
    assert plan.commits == ()
    assert plan.rounds == 0


def test_a_job_that_fails_by_chance_is_run_more_often() -> None:
    ranking = rank_suspects(PLAIN, [], [])
    assert plan_bisection(PLAIN, ranking, ["j"], flake_rate=FlakeRate(0, 500)).repeats == 1
    assert plan_bisection(PLAIN, ranking, ["j"], flake_rate=FlakeRate(75, 200)).repeats == 3


@given(st.integers(2, 40), st.integers(1, 4))
def test_a_plan_never_runs_the_commit_that_is_known_to_be_red(commits: int, at_once: int) -> None:
    gap = [GapCommit(f"{n:040x}") for n in range(commits)]
    plan = plan_bisection(gap, rank_suspects(gap, [], []), ["j"], at_once)
    assert gap[-1].sha not in plan.commits
    assert 1 <= len(plan.commits) <= at_once
    assert plan.rounds <= commits - 1
