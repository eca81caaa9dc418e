"""Whether a job still runs."""

from hud.core.cell import State
from hud.core.cellcode import encode
from hud.core.lasting import still_runs as runs_on
from hud.core.lasting import telling_rows
from hud.core.viable import RECENT_ROWS

RED, SKIPPED, QUEUED = encode(State.FAILURE, verdict="regression"), encode(State.SKIPPED), encode(State.QUEUED)


def still_runs(newest: list[str], column: int) -> bool:
    return runs_on(telling_rows(newest), column)


def test_a_job_runs_while_one_of_the_recent_commits_knows_it() -> None:
    assert still_runs([". ", f".{RED}"], 1)
    assert still_runs([f".{SKIPPED}"], 1) and still_runs([f".{QUEUED}"], 1)


def test_a_job_that_recent_commits_do_not_know_runs_no_more() -> None:
    assert not still_runs([". "] * RECENT_ROWS + [f".{RED}"], 1)
    assert not still_runs([], 0) and not still_runs(["."], 7)


def test_commits_about_which_nobody_has_said_anything_do_not_count() -> None:
    assert still_runs([QUEUED] * 50 + [f".{RED}"], 1)
