"""The files of suspects, on trunks that no push told of: asked for once, within bounds, and seen where suspects are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from hud.clients.github import Budget, MemoryLimits
from hud.core.github import facts_of
from hud.models import Branch, Commit, InboxItem, Job, Repository, Run, Streak
from hud.queries.suspects import Hunt, hunt_of
from hud.queries.untold_files import commits_with_untold_files
from hud.services.inbox import drain
from hud.services.ingest import apply_facts
from hud.services.logs import store_log
from hud.services.repositories import ensure_repository
from tests.fakes.github import Scripted
from tests.services.payloads import FULL_NAME, commit, job, push, sha, workflow_run
from tests.services.poll_world import World

pytestmark = pytest.mark.django_db

TEST = "tests/store/test_join.py"
LOG = f"FAILED {TEST}::test_spill - assert 3 == 4\n##[error]Process completed with exit code 1.\n".encode()
NO_COMMIT = Scripted(422, {"message": "No commit found for SHA"})


@pytest.fixture(autouse=True)
def token() -> Iterator[None]:
    with override_settings(GITHUB_TOKEN="t" * 20):
        yield


@pytest.fixture
def main(world: World) -> Branch:
    return ensure_repository(full_name=FULL_NAME, branch="main", followed=True)[0].branches.get()


def result(world: World, name: str, conclusion: str, job_name: str = "unit", number: int = 0) -> None:
    """Let GitHub tell how a job ended on a commit."""
    number = number or len(world.remote.runs) + 1
    world.remote.runs.insert(0, workflow_run(900 + number, name, conclusion=conclusion))
    world.remote.jobs[900 + number] = [job(number, 900 + number, name, job_name, conclusion=conclusion)]


def breaks_after_a_gap(world: World) -> None:
    """On c1 the job is green, on c2 and c3 it did not run, on c4 it is red: the gap has three commits."""
    result(world, "c1", "success")
    result(world, "c4", "failure")


def touches(world: World, name: str, *paths: str) -> None:
    next(c for c in world.remote.commits if c["sha"] == sha(name))["files"] = [{"filename": path} for path in paths]


def grows(world: World, name: str, parent: str, login: str = "ida") -> None:
    world.remote.commits.insert(0, commit(name, parent, minute=60, login=login))


def asked_about(world: World) -> list[str]:
    """Return of which commits GitHub was asked for files since the last call, by their short names."""
    prefix = "/commits/"
    return [path.removeprefix(prefix)[:2] for path in world.asked() if path.startswith(prefix)]


def poll_again(world: World, branch: Branch) -> Branch:
    world.pass_time(61)
    return world.poll(branch)


def files(name: str) -> tuple[list[str] | None, str]:
    return Commit.objects.values_list("files", "files_lack").get(sha=sha(name))


def hunt(branch: Branch, job_name: str = "unit") -> Hunt:
    job_row = Job.objects.get(name=job_name)
    found = hunt_of(branch, job_row, Streak.objects.get(branch=branch, job=job_row))
    assert found is not None
    return found


class TestAsking:
    def test_the_commits_of_a_gap_are_asked_for_once(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        touches(world, "c2", "src/io.py")
        touches(world, "c3", TEST, "src/store/join.py")
        touches(world, "c4", "README.md")
        world.poll(main)
        assert asked_about(world) == ["c4", "c3", "c2"]
        assert files("c3") == (["src/store/join.py", TEST], "")
        assert files("c1") == (None, "")
        poll_again(world, main)
        assert asked_about(world) == []

    def test_without_a_red_streak_nothing_is_asked(self, world: World, main: Branch) -> None:
        result(world, "c1", "success")
        result(world, "c4", "success")
        world.poll(main)
        assert asked_about(world) == []

    def test_a_trunk_that_webhooks_alone_fill_is_asked_about_too(self, world: World, main: Branch) -> None:
        world.poll(main)
        for name, conclusion, number in (("c3", "success", 1), ("c4", "failure", 2)):
            told = job(number, 900 + number, name, "unit", conclusion=conclusion)
            apply_facts(repository=main.repository, facts=facts_of("workflow_job", {"workflow_job": told}))
        assert asked_about(world) == []
        poll_again(world, main)
        assert asked_about(world) == ["c4"]

    def test_what_a_push_told_is_not_asked(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        payload = push("c1", "c2", "c3", "c4")
        for item in payload["commits"][:2]:
            item["modified"] = ["src/io.py"]
        apply_facts(repository=main.repository, facts=facts_of("push", payload))
        world.poll(main)
        assert asked_about(world) == ["c4"]

    def test_a_commit_in_the_gaps_of_two_jobs_and_two_branches_is_asked_for_once(
        self, world: World, main: Branch
    ) -> None:
        breaks_after_a_gap(world)
        result(world, "c3", "success", "lint")
        result(world, "c4", "failure", "lint")
        ensure_repository(full_name=FULL_NAME, branch="release", followed=True)
        release = main.repository.branches.get(name="release")
        world.poll(main)
        world.poll(release)
        assert Streak.objects.count() == 4
        assert sorted(asked_about(world)) == ["c2", "c3", "c4"]

    def test_another_branch_of_its_own_commits_is_asked_about(self, world: World, main: Branch) -> None:
        ensure_repository(full_name=FULL_NAME, branch="release", followed=True)
        breaks_after_a_gap(world)
        for run in world.remote.runs:
            run["head_branch"] = "release"
        world.poll(main.repository.branches.get(name="release"))
        assert asked_about(world) == ["c4", "c3", "c2"]

    def test_a_look_asks_a_bounded_number_and_the_next_goes_on(
        self, world: World, main: Branch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hud.services.touched_files.MOST_A_LOOK", 2)
        breaks_after_a_gap(world)
        world.poll(main)
        assert asked_about(world) == ["c4", "c3"]
        poll_again(world, main)
        assert asked_about(world) == ["c2"]

    def test_the_newest_streaks_come_first(self, world: World, main: Branch) -> None:
        result(world, "c1", "success", "lint")
        result(world, "c2", "failure", "lint")
        result(world, "c3", "success")
        result(world, "c4", "failure")
        world.poll(main)
        assert asked_about(world)[:2] == ["c4", "c2"]

    def test_a_streak_that_is_long_past_is_asked_about_no_more(
        self, world: World, main: Branch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hud.queries.untold_files.RECENT_ROWS", 2)
        result(world, "c1", "failure")
        result(world, "c2", "success")
        world.poll(main)
        assert asked_about(world) == []

    def test_repositories_that_nobody_follows_or_that_are_invented_are_never_asked_about(
        self, world: World, main: Branch
    ) -> None:
        breaks_after_a_gap(world)
        with override_settings(TOUCHED_FILES_PER_HOUR=0):
            world.poll(main)
        assert Streak.objects.count() == 1
        world.asked()
        for change in ({"synthetic": True}, {"synthetic": False, "followed": False}):
            Repository.objects.update(**change)
            poll_again(world, main)
            assert asked_about(world) == []


class TestLaterCommits:
    def test_of_later_commits_the_healing_one_and_those_by_suspects_are_asked_about(
        self, world: World, main: Branch
    ) -> None:
        world.remote.commits[0]["author"] = {"login": "kim"}  # c4, which breaks it
        for name, parent, login in (("c5", "c4", "kim"), ("c6", "c5", "lou"), ("c7", "c6", "max")):
            grows(world, name, parent, login)
        result(world, "c3", "success")
        result(world, "c4", "failure")
        result(world, "c6", "failure")
        result(world, "c7", "success")
        world.poll(main)
        assert asked_about(world) == ["c4", "c7", "c5"]

    def test_their_files_show_who_came_back_to_repair(self, world: World, main: Branch) -> None:
        for name, login in (("c2", "kim"), ("c3", "lou"), ("c4", "max")):
            next(c for c in world.remote.commits if c["sha"] == sha(name))["author"] = {"login": login}
        grows(world, "c5", "c4", "kim")
        breaks_after_a_gap(world)
        result(world, "c5", "failure")
        touches(world, "c2", "src/io.py")
        touches(world, "c5", "src/io.py")
        world.poll(main)
        first = hunt(main).suspects[0]
        assert first.commit.sha == sha("c2")
        assert first.suspect.reasons == (f"its author came back to the same files in {sha('c5')[:10]}",)


class TestAnswers:
    def test_a_commit_without_files_is_asked_for_once(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        world.poll(main)
        assert files("c4") == ([], "")
        assert len(asked_about(world)) == 3
        cache.clear()
        poll_again(world, main)
        assert asked_about(world) == []

    @pytest.mark.parametrize("status", [404, 422])
    def test_a_commit_that_github_does_not_have_is_asked_for_once(
        self, world: World, main: Branch, status: int
    ) -> None:
        breaks_after_a_gap(world)
        world.github.script(f"/repos/{FULL_NAME}/commits/{sha('c3')}", Scripted(status, {"message": "No commit"}))
        polled = world.poll(main)
        assert (polled.poll_error, asked_about(world)) == ("", ["c4", "c3", "c2"])
        assert files("c3") == (None, "gone")
        assert files("c2") == ([], "")
        cache.clear()
        poll_again(world, main)
        assert asked_about(world) == []

    def test_a_push_may_still_tell_what_github_did_not(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        world.github.script(f"/repos/{FULL_NAME}/commits/{sha('c4')}", NO_COMMIT)
        world.poll(main)
        payload = push("c3", "c4")
        payload["commits"][0]["added"] = ["a.py"]
        apply_facts(repository=main.repository, facts=facts_of("push", payload))
        assert files("c4") == (["a.py"], "")

    def test_a_cut_list_does_not_say_that_only_prose_is_touched(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        touches(world, "c2", "docs/a.md")
        touches(world, "c3", *(f"docs/{n}.md" for n in range(300)))
        touches(world, "c4", "src/io.py")
        world.poll(main)
        assert files("c3")[1] == "cut"
        reasons = {one.commit.sha[:2]: one.suspect.reasons for one in hunt(main).suspects}
        assert reasons["c2"] == ("touches prose and pictures only",)
        assert reasons["c3"] == ("the job gave no signal on it",)

    def test_an_answer_that_cannot_be_taken_in_waits_in_the_inbox_without_its_patches(
        self, world: World, main: Branch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        breaks_after_a_gap(world)
        touches(world, "c4", "a.py")
        world.remote.commits[0]["files"][0]["patch"] = "@@ -1 +1 @@"
        with override_settings(TOUCHED_FILES_PER_HOUR=0):
            world.poll(main)

        def fail(*_: object) -> None:
            raise RuntimeError("no room")

        with monkeypatch.context() as broken:
            broken.setattr("hud.services.commits.join_touched", fail)
            poll_again(world, main)
        kept = InboxItem.objects.get(event="rest.commit_files")
        assert b"a.py" in bytes(kept.body) and b"@@" not in bytes(kept.body)
        world.asked()
        poll_again(world, main)
        assert asked_about(world) == []  # GitHub has answered: the inbox tries again
        drain(lambda applied: None)
        assert files("c4") == (["a.py"], "")


class TestTrouble:
    def test_a_refusal_loses_nothing_and_is_no_trouble_of_the_poll(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        refused = Scripted(403, {"message": "API rate limit exceeded"}, {"Retry-After": "90"})
        world.github.script(f"/repos/{FULL_NAME}/commits/{sha('c3')}", refused)
        polled = world.poll(main)
        assert (polled.poll_error, asked_about(world)) == ("", ["c4", "c3"])
        assert files("c4") == ([], "")
        world.pass_time(100)
        world.poll(main)
        assert asked_about(world) == ["c3", "c2"]

    def test_the_budget_kept_for_people_is_not_touched(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        world.limits = MemoryLimits(Budget(per_hour=10, reserve=2))
        polled = world.poll(main)  # takes six requests, so that three of nine are left
        assert (polled.poll_error, asked_about(world)) == ("", ["c4", "c3", "c2"])
        assert world.limits.admit(interactive=False) is not None
        assert world.limits.admit(interactive=True) is None

    def test_what_fails_is_put_off_and_does_not_hold_up_the_others(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        path = f"/repos/{FULL_NAME}/commits/{sha('c4')}"
        world.github.script(path, Scripted(500, {}))
        polled = world.poll(main)
        assert (polled.poll_error, asked_about(world)) == ("", ["c4", "c3", "c2"])
        assert files("c4") == (None, "")
        poll_again(world, main)
        assert asked_about(world) == []
        world.pass_time(3600)
        world.poll(main)
        assert asked_about(world) == ["c4"]
        assert files("c4") == ([], "")

    def test_a_look_gives_up_after_a_few_failures(self, world: World, main: Branch) -> None:
        grows(world, "c5", "c4")
        result(world, "c1", "success")
        result(world, "c5", "failure")
        for name in ("c5", "c4", "c3"):
            world.github.script(f"/repos/{FULL_NAME}/commits/{sha(name)}", Scripted(500, {}))
        world.poll(main)
        assert asked_about(world) == ["c5", "c4", "c3"]

    def test_an_hour_has_a_share_for_all_workers_together(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        with override_settings(TOUCHED_FILES_PER_HOUR=2):
            world.poll(main)
            assert asked_about(world) == ["c4", "c3"]
            poll_again(world, main)
            assert asked_about(world) == []
            world.pass_time(3600)
            world.poll(main)
            assert asked_about(world) == ["c2"]

    def test_without_a_token_a_look_asks_about_one_suspect_and_no_later_commit(
        self, world: World, main: Branch
    ) -> None:
        grows(world, "c5", "c4")
        result(world, "c3", "success")
        result(world, "c4", "failure")
        result(world, "c5", "failure")
        result(world, "c2", "failure", "lint")
        result(world, "c3", "success", "lint")
        with override_settings(GITHUB_TOKEN=""):
            world.poll(main)
            assert asked_about(world) == ["c4"]
            poll_again(world, main)
            assert asked_about(world) == ["c2"]
            poll_again(world, main)
            assert asked_about(world) == []

    def test_without_a_token_an_hour_has_ten(self, world: World, main: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("hud.services.touched_files.MOST_A_LOOK_WITHOUT_TOKEN", 99)
        for n in range(5, 10):
            grows(world, f"c{n}", f"c{n - 1}")
        for n, name in enumerate("abcdef"):
            grows(world, f"d{name}", f"d{'abcdef'[n - 1]}" if n else "c9")
        result(world, "c1", "success")
        result(world, "df", "failure")
        with override_settings(GITHUB_TOKEN=""):
            world.poll(main)
        assert len(asked_about(world)) == 10

    def test_what_another_worker_asks_about_is_passed_over(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        cache.set(f"touched-files:{main.repository_id}:{sha('c3')}", 2e9)
        world.poll(main)
        assert asked_about(world) == ["c4", "c2"]


class TestSeen:
    def test_the_suspect_that_touches_the_failing_test_ranks_first_and_the_page_says_why(
        self, world: World, main: Branch, client: Client
    ) -> None:
        breaks_after_a_gap(world)
        touches(world, "c3", TEST)
        with override_settings(TOUCHED_FILES_PER_HOUR=0):
            world.poll(main)
        store_log(run=Run.objects.get(conclusion="failure"), chunks=iter([LOG]))
        address = f"/{FULL_NAME}/-/why/{sha('c4')}/{Job.objects.get().column}"
        before = client.get(address).content.decode()
        assert before.count("touched files not known yet") == 3
        poll_again(world, main)
        after = client.get(address).content.decode()
        rows = after.split("<tbody>")[1].split("</tbody>")[0].split("</tr>")
        assert sha("c3")[:7] in rows[0]
        assert f"touches {TEST}, where the failing test is" in rows[0]
        assert "touched files not known" not in after

    def test_open_pages_of_the_grid_are_not_disturbed(self, world: World, main: Branch) -> None:
        breaks_after_a_gap(world)
        with override_settings(TOUCHED_FILES_PER_HOUR=0):
            version = world.poll(main).version
        assert poll_again(world, main).version == version
        assert files("c4") == ([], "")

    @pytest.mark.parametrize(
        ("lack", "words"),
        [
            ("gone", "GitHub does not tell its touched files"),
            ("cut", "it may touch more files than are known"),
        ],
    )
    def test_the_page_says_what_is_not_known_of_the_files(
        self, world: World, main: Branch, client: Client, lack: str, words: str
    ) -> None:
        breaks_after_a_gap(world)
        world.poll(main)
        Commit.objects.filter(sha=sha("c4")).update(files=["a.py"] if lack == "cut" else None, files_lack=lack)
        page = client.get(f"/{FULL_NAME}/-/why/{sha('c4')}/{Job.objects.get().column}").content.decode()
        assert page.count(words) == 1

    def test_where_nobody_will_ask_the_page_does_not_say_yet(self, world: World, main: Branch, client: Client) -> None:
        breaks_after_a_gap(world)
        with override_settings(TOUCHED_FILES_PER_HOUR=0):
            world.poll(main)
        Repository.objects.update(followed=False)
        page = client.get(f"/{FULL_NAME}/-/why/{sha('c4')}/{Job.objects.get().column}").content.decode()
        assert page.count("touched files not known") == 3
        assert "not known yet" not in page


class TestCost:
    def statements(self, branch: Branch) -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            commits_with_untold_files(branch)
        return len(seen)

    def test_it_takes_three_statements_however_many_streaks_there_are(self, world: World, main: Branch) -> None:
        with override_settings(TOUCHED_FILES_PER_HOUR=0):
            world.poll(main)
            assert self.statements(main) == 2  # no streak
            breaks_after_a_gap(world)
            poll_again(world, main)
            assert self.statements(main) == 3
            for name in ("lint", "docs", "build"):
                result(world, "c2", "success", name)
                result(world, "c3", "failure", name)
            world.pass_time(3600)
            world.poll(main)
        assert Streak.objects.count() == 4
        assert self.statements(main) == 3
