"""What the client asks and how: pages, conditions, renames, errors, retries."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.clients.github import (
    BadAnswer,
    EmptyRepository,
    Forbidden,
    GitHubClient,
    NotFound,
    Options,
    RedirectRefused,
    Rejected,
    TimedOut,
    TimeLimits,
    Unauthorized,
    Unavailable,
    first_parents,
)
from tests.clients.conftest import TOKEN, Clock, commit, run
from tests.fakes.github import BlobHost, FakeGitHub, FakeRepository, Scripted

Connect = Callable[..., GitHubClient]
REPO = "brindle/kestrel"


def shas(count: int) -> list[str]:
    """Return invented commit ids, newest first."""
    return [f"{number:040x}" for number in range(count, 0, -1)]


def test_a_list_is_read_to_its_last_page(github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient) -> None:
    github.per_page_at_most = 10
    kestrel.commits = [commit(new, old) for new, old in pairwise(shas(36))]
    assert [c["sha"] for c in client.commits(REPO, "main")] == shas(36)[:-1]
    assert [seen.query.get("page", "1") for seen in github.requests] == ["1", "2", "3", "4"]
    assert all(seen.query["per_page"] == "100" for seen in github.requests)


def test_a_list_asks_no_further_than_it_is_read(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient
) -> None:
    github.per_page_at_most = 10
    kestrel.commits = [commit(new, old) for new, old in pairwise(shas(36))]
    assert next(iter(client.commits(REPO, "main")))["sha"] == shas(36)[0]
    assert len(github.requests) == 1


def test_every_request_carries_the_token_and_says_who_asks(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient
) -> None:
    client.repository(REPO)
    headers = github.requests[0].headers
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["user-agent"].startswith("hud")
    assert "x-github-api-version" in headers


def test_the_next_page_is_asked_at_the_configured_host_whatever_host_the_link_names(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient, blob: BlobHost
) -> None:
    link = {"Link": f'<{blob.url}/repos/{REPO}/branches?page=2>; rel="next"'}
    github.script(f"/repos/{REPO}/branches", Scripted(200, [{"name": "a"}], link), Scripted(200, [{"name": "b"}]))
    assert [branch["name"] for branch in client.branches(REPO)] == ["a", "b"]
    assert blob.requests == []


def test_an_unchanged_page_is_answered_from_what_was_kept(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient
) -> None:
    github.per_page_at_most = 2
    kestrel.runs = [run(number, "a" * 40) for number in (3, 2, 1)]
    first = list(client.runs(REPO, branch="main").pages())
    second = list(client.runs(REPO, branch="main").pages())
    assert [page.unchanged for page in first] == [False, False]
    assert [page.unchanged for page in second] == [True, True]
    assert [page.items for page in first] == [page.items for page in second]
    assert "if-none-match" in github.requests[-1].headers


def test_a_changed_page_comes_new(kestrel: FakeRepository, client: GitHubClient) -> None:
    kestrel.runs = [run(1, "a" * 40)]
    list(client.runs(REPO))
    kestrel.runs.insert(0, run(2, "b" * 40))
    pages = list(client.runs(REPO).pages())
    assert [page.unchanged for page in pages] == [False]
    assert [item["id"] for item in pages[0].items] == [2, 1]


def test_last_modified_serves_where_there_is_no_etag(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient
) -> None:
    stamp = "Mon, 02 Mar 2026 09:00:00 GMT"
    github.script(f"/repos/{REPO}", Scripted(200, {"id": 77}, {"Last-Modified": stamp}), Scripted(304))
    assert client.repository(REPO) == client.repository(REPO) == {"id": 77}
    assert github.requests[1].headers["if-modified-since"] == stamp


def test_runs_are_asked_by_branch_commit_and_time(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient
) -> None:
    days = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2)]
    kestrel.runs = [run(2, "b" * 40, at="2026-03-05T00:00:00Z"), run(1, "a" * 40, at="2026-03-01T12:00:00Z")]
    assert [r["id"] for r in client.runs(REPO, branch="main", created=(days[0], days[1]))] == [1]
    assert [r["id"] for r in client.runs(REPO, head_sha="b" * 40)] == [2]
    assert github.requests[0].query["created"] == "2026-03-01T00:00:00Z..2026-03-02T00:00:00Z"


def test_more_runs_than_github_lists_are_fetched_in_halves(kestrel: FakeRepository, client: GitHubClient) -> None:
    kestrel.runs = [run(n, "a" * 40, at=f"2026-03-{1 + n // 100:02}T{n % 24:02}:00:00Z") for n in range(2500, 0, -1)]
    span = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 31, tzinfo=UTC)
    found = [r["id"] for r in client.runs_between(REPO, "main", *span)]
    assert len(client_ids := set(found)) == 2500, len(client_ids)


def test_jobs_are_those_of_all_attempts(github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient) -> None:
    kestrel.jobs = {5: [{"id": 1, "run_id": 5, "run_attempt": 1}, {"id": 2, "run_id": 5, "run_attempt": 2}]}
    assert [job["id"] for job in client.jobs(REPO, 5)] == [1, 2]
    assert github.requests[0].query["filter"] == "all"


def test_single_things_are_found_by_number(kestrel: FakeRepository, client: GitHubClient) -> None:
    kestrel.commits = [commit("b" * 40, "a" * 40), commit("a" * 40)]
    kestrel.runs = [run(5, "a" * 40)]
    kestrel.jobs = {5: [{"id": 1, "run_id": 5, "name": "unit"}]}
    kestrel.annotations = {1: [{"message": "The job exceeded the time"}]}
    kestrel.pulls = {9: {"number": 9}}
    assert client.commit(REPO, "a" * 40)["files"] == []
    assert client.run(REPO, 5)["id"] == 5
    assert client.run_attempt(REPO, 5, 2)["run_attempt"] == 2
    assert client.job(REPO, 1)["name"] == "unit"
    assert [note["message"] for note in client.annotations(REPO, 1)] == ["The job exceeded the time"]
    assert client.pull(REPO, 9) == {"number": 9}
    assert [c["sha"] for c in client.compare(REPO, "a" * 40, "b" * 40)["commits"]] == ["b" * 40]
    assert client.repository_by_id(77)["full_name"] == REPO


def test_a_renamed_repository_is_followed_and_tells_its_new_name(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient
) -> None:
    kestrel.commits = [commit("a" * 40)]
    github.rename(REPO, "brindle-labs/kestrel-ci")
    assert client.repository(REPO)["full_name"] == "brindle-labs/kestrel-ci"
    assert [c["sha"] for c in client.commits(REPO, "main")] == ["a" * 40]
    assert github.paths() == [
        f"/repos/{REPO}",
        "/repositories/77",
        f"/repos/{REPO}/commits",
        "/repositories/77/commits",
    ]
    assert github.requests[-1].query["sha"] == "main"


def test_a_redirect_to_another_host_is_not_followed(github: FakeGitHub, blob: BlobHost, client: GitHubClient) -> None:
    github.script("*", Scripted(301, {}, {"Location": f"{blob.url}/repos/{REPO}"}))
    with pytest.raises(RedirectRefused, match="another host"):
        client.repository(REPO)
    assert blob.requests == []


def test_a_circle_of_redirects_ends(github: FakeGitHub, client: GitHubClient) -> None:
    github.script("*", *[Scripted(301, {}, {"Location": f"/repos/{REPO}"})] * 10)
    with pytest.raises(RedirectRefused, match="more than 3"):
        client.repository(REPO)


@pytest.mark.parametrize(
    ("status", "message", "error", "sentence"),
    [
        (401, "Bad credentials", Unauthorized, "renew GITHUB_TOKEN"),
        (403, "Resource not accessible by personal access token", Forbidden, "check what the token may do"),
        (404, "Not Found", NotFound, "may not see it"),
        (409, "Git Repository is empty.", EmptyRepository, "nothing yet"),
        (422, "No commit found", Rejected, "No commit found"),
        (451, "Repository access blocked", Forbidden, "blocked"),
    ],
)
def test_a_refusal_is_named_and_not_asked_again(
    github: FakeGitHub, client: GitHubClient, status: int, message: str, error: type[Exception], sentence: str
) -> None:
    github.script("*", Scripted(status, {"message": message}))
    with pytest.raises(error, match=sentence):
        client.repository(REPO)
    assert len(github.requests) == 1


def test_the_message_hints_at_a_missing_token(github: FakeGitHub, connect: Connect) -> None:
    with pytest.raises(NotFound, match="no GITHUB_TOKEN is set"):
        connect(token="").repository("not/there")
    assert "authorization" not in github.requests[0].headers


def test_a_server_error_is_retried_with_growing_waits(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient, clock: Clock
) -> None:
    github.script("*", Scripted(502, b"<html>"), Scripted(503, {"message": "busy"}))
    assert client.repository(REPO)["id"] == 77
    assert clock.slept == [2.0, 4.0]


def test_a_server_that_says_when_to_come_back_is_obeyed(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient, clock: Clock
) -> None:
    github.script("*", Scripted(503, b"", {"Retry-After": "17"}))
    assert client.repository(REPO)["id"] == 77
    assert clock.slept == [17.0]


def test_retries_end_and_say_what_github_answered(github: FakeGitHub, client: GitHubClient) -> None:
    github.script("*", *[Scripted(500, b"")] * 9)
    with pytest.raises(Unavailable, match="answered 500"):
        client.repository(REPO)
    assert len(github.requests) == 3


def test_retries_never_wait_past_the_total_limit(github: FakeGitHub, connect: Connect, clock: Clock) -> None:
    github.script("*", *[Scripted(500, b"", {"Retry-After": "100"})] * 9)
    with pytest.raises(Unavailable):
        connect(times=TimeLimits(total_s=120)).repository(REPO)
    assert clock.slept == [100.0]


def test_a_server_that_is_not_there_says_so(connect: Connect, blob: BlobHost) -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1 cannot be reached"):
        connect(base_url="http://127.0.0.1:9").repository(REPO)


def test_a_silent_server_names_the_limit_and_its_setting(github: FakeGitHub, connect: Connect) -> None:
    client = connect(times=TimeLimits(read_s=0.05))
    with github.silent(), pytest.raises(TimedOut, match=r"sent nothing for 0\.05 s \(GITHUB_READ_TIMEOUT_S"):
        client.repository(REPO)


def test_an_answer_that_is_no_api_s_is_not_taken_for_data(github: FakeGitHub, client: GitHubClient) -> None:
    github.script("*", Scripted(200, b"<html>welcome</html>"), Scripted(200, {"a": 1}), Scripted(200, [1]))
    with pytest.raises(BadAnswer, match="GITHUB_API_URL"):
        client.repository(REPO)
    with pytest.raises(BadAnswer, match="not a list"):
        list(client.runs(REPO))
    with pytest.raises(BadAnswer, match="not an object"):
        client.repository(REPO)


def test_an_answer_too_large_names_its_setting(github: FakeGitHub, connect: Connect) -> None:
    github.script("*", Scripted(200, {"x": "y" * 5000}))
    with pytest.raises(BadAnswer, match="GITHUB_MAX_ANSWER_BYTES"):
        connect(max_answer_bytes=1000).repository(REPO)


@pytest.mark.parametrize("name", ["kestrel", "a/b/c", "../x", "a/..", "a/b?x=1", "a b/c", "a/b\n", "", "-a/b"])
def test_a_name_that_is_no_repository_s_is_never_asked(github: FakeGitHub, client: GitHubClient, name: str) -> None:
    with pytest.raises(Rejected):
        client.repository(name)
    assert github.requests == []


def test_an_owner_with_an_underscore_is_a_company_s_managed_user(github: FakeGitHub, client: GitHubClient) -> None:
    github.add(FakeRepository("ida_brindle/kestrel", 78))
    assert client.repository("ida_brindle/kestrel")["id"] == 78


def test_names_in_a_path_are_quoted(github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient) -> None:
    with pytest.raises(Rejected):
        client.commit(REPO, "../../../user")
    assert github.paths() == [f"/repos/{REPO}/commits/..%2F..%2F..%2Fuser"]


@pytest.mark.parametrize("token", ["two words", "line\nend", "tókén"])
def test_a_token_that_cannot_be_sent_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(ValueError, match="GITHUB_TOKEN") as refusal:
        Options(token=token)
    assert token not in str(refusal.value)


def test_options_show_no_secret(connect: Connect) -> None:
    assert TOKEN not in repr(Options(token=TOKEN, proxy="http://u:pw@proxy.example"))
    assert "pw" not in repr(Options(token=TOKEN, proxy="http://u:pw@proxy.example"))


def test_no_request_is_written_to_the_log(
    kestrel: FakeRepository, client: GitHubClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        client.repository(REPO)
    assert not [record for record in caplog.records if record.name.startswith(("httpx", "httpcore"))]


def test_an_enterprise_address_with_a_path_is_kept(github: FakeGitHub, connect: Connect) -> None:
    github.script("*", Scripted(200, {"id": 1}))
    connect(base_url=f"{github.url}/api/v3/").repository(REPO)
    assert github.paths() == [f"/api/v3/repos/{REPO}"]


def test_cookies_are_neither_kept_nor_sent(github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient) -> None:
    github.script("*", Scripted(200, {"id": 1}, {"Set-Cookie": "session=abc"}))
    client.repository(REPO)
    client.repository(REPO)
    assert "cookie" not in github.requests[1].headers


class TestFirstParents:
    def test_merged_side_branches_are_passed_over(self) -> None:
        listed = [commit("m", "t2", "s2"), commit("s2", "s1"), commit("t2", "t1"), commit("s1", "t1"), commit("t1")]
        assert [c["sha"] for c in first_parents(iter(listed))] == ["m", "t2", "t1"]

    def test_a_parent_listed_before_its_child_is_waited_for(self) -> None:
        listed = [commit("c", "b"), commit("a"), commit("b", "a")]
        assert [c["sha"] for c in first_parents(iter(listed))] == ["c", "b", "a"]

    @given(
        st.permutations(
            [commit("m", "t2", "s2"), commit("s2", "t1"), commit("t2", "t1"), commit("t1", "t0"), commit("t0")]
        )
    )
    def test_the_trunk_is_the_same_in_whatever_order_commits_come(self, listed: list[dict[str, Any]]) -> None:
        assert [c["sha"] for c in first_parents(iter(listed), "m")] == ["m", "t2", "t1", "t0"]

    def test_it_ends_where_the_list_ends(self) -> None:
        assert [c["sha"] for c in first_parents(iter([commit("c", "b")]))] == ["c"]


def test_the_client_is_a_context(github: FakeGitHub, kestrel: FakeRepository, connect: Connect) -> None:
    with connect() as client:
        client.repository(REPO)
    with pytest.raises(RuntimeError, match="closed"):
        client.repository(REPO)
