"""What `make run` understands from its variables."""

from pathlib import Path

import pytest

from hud.runtime.errors import StartError
from hud.runtime.plan import read_plan


def test_without_variables_it_serves_this_machine_alone_on_port_8000() -> None:
    plan = read_plan({})
    assert plan.own_address == "http://127.0.0.1:8000"
    assert plan.fill is None
    assert plan.demo


def test_repo_and_branch_are_followed() -> None:
    plan = read_plan({"REPO": "apache/ozone", "BRANCH": "release/1.4"})
    assert plan.fill == ("follow", "apache/ozone", "--branch", "release/1.4")


def test_replay_plays_a_folder_under_its_own_name(tmp_path: Path) -> None:
    assert read_plan({"REPLAY": str(tmp_path)}).fill == ("replay", str(tmp_path))


def test_replay_with_repo_plays_the_folder_under_that_name(tmp_path: Path) -> None:
    plan = read_plan({"REPLAY": str(tmp_path), "REPO": "a/b", "BRANCH": "main"})
    assert plan.fill == ("replay", str(tmp_path), "--repo", "a/b", "--branch", "main")


def test_bound_to_every_address_it_still_names_one_that_works() -> None:
    assert read_plan({"BIND": "0.0.0.0", "PORT": "9"}).own_address == "http://127.0.0.1:9"
    assert read_plan({"BIND": "::1", "PORT": "9"}).own_address == "http://[::1]:9"


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"PORT": "80a"}, "PORT is '80a'; write a whole number from 1 to 65535"),
        ({"PORT": "0"}, "PORT is '0'; write a whole number"),
        ({"PORT": "70000"}, "PORT is '70000'; write a whole number"),
        ({"WEB_PROCESSES": "-1"}, "WEB_PROCESSES is '-1'"),
        ({"REPO": "https://github.com/a/b"}, "write it as owner/name"),
        ({"REPO": "--help/x"}, "write it as owner/name"),
        ({"BRANCH": "main"}, "BRANCH is set without REPO"),
        ({"REPLAY": "/nowhere/at/all"}, "which is no folder"),
        ({"DEMO": "perhaps"}, "write yes or no"),
    ],
)
def test_a_variable_that_makes_no_sense_is_refused_with_what_to_write(variables: dict[str, str], sentence: str) -> None:
    with pytest.raises(StartError, match=sentence.replace("'", ".")):
        read_plan(variables)
