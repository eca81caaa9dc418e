"""What an admin types to follow a repository."""

import pytest

from hud.core.followform import MOST_COMMITS, read_follow_form


@pytest.mark.parametrize(
    "typed",
    [
        "apache/ozone",
        "  apache/ozone ",
        "https://github.com/apache/ozone",
        "https://github.com/apache/ozone/",
        "https://github.com/apache/ozone.git",
        "https://github.com/apache/ozone/tree/master/hadoop-hdds",
        "http://git.example.com/apache/ozone",
        "git@github.com:apache/ozone.git",
        "ssh://git@github.com/apache/ozone.git",
    ],
)
def test_a_repository_is_known_by_name_or_address(typed: str) -> None:
    form = read_follow_form(typed, "", "100")
    assert (form.full_name, form.errors) == ("apache/ozone", {})


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " ",
        "ozone",
        "apache/",
        "/ozone",
        "apache/ozone/more",
        "a b/c",
        "apache/..",
        "-x/y",
        "a/b\x00",
        "<b>/x",
        "https://github.com/apache",
    ],
)
def test_what_names_no_repository_is_refused_and_kept(typed: str) -> None:
    form = read_follow_form(typed, "", "100")
    assert set(form.errors) == {"full_name"} and form.full_name == typed.strip()


@pytest.mark.parametrize("branch", ["", "main", "release/1.x", "refs/heads/main", "feat/x'y", "Ünïcode"])
def test_branches_as_git_allows_them(branch: str) -> None:
    form = read_follow_form("a/b", branch, "1")
    assert form.errors == {} and form.branch == branch.removeprefix("refs/heads/")


@pytest.mark.parametrize(
    "branch",
    [
        "a b",
        "a..b",
        "/a",
        "a/",
        "-a",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[",
        "a\\b",
        "a@{b",
        "a.lock",
        ".a",
        "a/.b",
        "a//b",
        "a\x07",
        "x" * 256,
    ],
)
def test_branches_that_git_refuses(branch: str) -> None:
    assert set(read_follow_form("a/b", branch, "1").errors) == {"branch"}


@pytest.mark.parametrize("commits", ["1", " 50 ", str(MOST_COMMITS)])
def test_a_number_of_commits(commits: str) -> None:
    form = read_follow_form("a/b", "", commits)
    assert form.errors == {} and form.commits == int(commits)


@pytest.mark.parametrize("commits", ["", "0", "-1", "1.5", "many", str(MOST_COMMITS + 1), "٣", "9" * 30])
def test_what_is_no_number_of_commits(commits: str) -> None:
    assert set(read_follow_form("a/b", "", commits).errors) == {"commits"}


def test_all_that_is_wrong_is_said_at_once() -> None:
    assert set(read_follow_form("", "a b", "x").errors) == {"full_name", "branch", "commits"}
