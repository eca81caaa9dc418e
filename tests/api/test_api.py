"""The JSON API, the shape of PyTorch's scripts, the badge and the metrics."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from defusedxml import ElementTree
from django.core.management import CommandError, call_command
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hud.core.github import facts_of
from hud.models import Branch, Repository
from hud.services import logs
from hud.services.ingest import apply_facts
from hud.services.repositories import ensure_repository, rename_repository
from tests.fakes.cases import field_case, play_case
from tests.services.payloads import FULL_NAME, commit, event, job, push, sha, workflow_run

pytestmark = pytest.mark.django_db

BASE = f"/api/v1/repositories/{FULL_NAME}"
RED_LOG = b"FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2\n"


@pytest.fixture
def kestrel() -> Repository:
    """Commits c1 to c4; unit is red from c2 on, flaky is flaky at c3, lint is green; c4 is still running."""
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="feature/a", github_id=77)
    ensure_repository(full_name=FULL_NAME, branch="main", default_branch="main")
    names = ["c1", "c2", "c3", "c4"]
    facts = facts_of("rest.commits", {"items": [commit(n, *names[i - 1 : i]) for i, n in enumerate(names)]})
    facts.extend(facts_of("push", push("c3", "c4")))
    told = [
        event("workflow_run", workflow_run(901, "c2")),
        *[
            event("workflow_job", job(10 * i + 1, 900 + i, n, "unit", conclusion="failure" if i else "success"))
            for i, n in enumerate(names[:3])
        ],
        *[event("workflow_job", job(10 * i + 2, 900 + i, n, "lint")) for i, n in enumerate(names[:3])],
        event("workflow_job", job(23, 902, "c3", "flaky", conclusion="failure")),
        event("workflow_job", job(24, 902, "c3", "flaky", attempt=2)),
        event("workflow_job", job(31, 903, "c4", "unit", status="in_progress", conclusion=None)),
    ]
    for one in told:
        facts.extend(facts_of(*one))
    apply_facts(repository=repository, facts=facts, logs_follow=True)
    logs.store_log(run=repository.runs.get(external_id=11), chunks=[RED_LOG])
    return repository


def _get(client: Client, path: str, status: int = 200) -> Any:
    answer = client.get(path)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_the_grid_tells_each_cell_as_the_page_does(client: Client, kestrel: Repository) -> None:
    grid = _get(client, f"{BASE}/branches/main/grid")
    assert [row["sha"] for row in grid["rows"]] == [sha(n) for n in ("c4", "c3", "c2", "c1")]
    assert grid["jobs"] == ["flaky", "lint", "unit"]
    cells = {row["sha"][:2]: {c["job"]: c for c in row["cells"]} for row in grid["rows"]}
    assert cells["c4"]["unit"]["state"] == "pending"
    assert cells["c3"]["flaky"]["verdict"] == "flaky"
    assert cells["c3"]["flaky"]["runs"] == 2
    red = cells["c2"]["unit"]
    assert (red["state"], red["verdict"], red["streak"], red["run"]) == ("failure", "regression", "start", 11)
    assert red["failure_line"] == "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"


def test_the_grid_can_be_filtered_and_says_what_is_wrong_with_a_pattern(client: Client, kestrel: Repository) -> None:
    assert _get(client, f"{BASE}/branches/main/grid?filter=^un&regex=1")["jobs"] == ["unit"]
    assert "Not a pattern" in _get(client, f"{BASE}/branches/main/grid?filter=(&regex=1", 422)["detail"]


def test_commits_jobs_runs_and_failures_are_told(client: Client, kestrel: Repository) -> None:
    assert _get(client, f"{BASE}/commits/{sha('c2')[:8]}")["branches"] == ["main"]
    assert [j["name"] for j in _get(client, f"{BASE}/jobs")] == ["unit", "lint", "flaky"]
    run = _get(client, f"{BASE}/runs/11")
    assert (run["state"], run["log_status"], run["origin"]) == ("failure", "stored", "push")
    (failure,) = _get(client, f"{BASE}/runs/11/failures")
    assert (failure["category"], failure["tests"]) == ("test", ["tests/test_io.py::test_seek"])


def test_the_verdict_stands_wherever_a_red_run_is_told(client: Client, kestrel: Repository) -> None:
    """The same word in grid, commit, job, run, its failures and the failure search."""
    run = _get(client, f"{BASE}/runs/11")
    red = next(cell for cell in _get(client, f"{BASE}/commits/{run['commit']}")["cells"] if cell["run"] == 11)
    rows = {row["sha"]: row for row in _get(client, f"{BASE}/branches/main/grid")["rows"]}
    in_grid = next(cell for cell in rows[run["commit"]]["cells"] if cell["run"] == 11)
    assert run["verdict"] == run["judged"]["verdict"] == red["verdict"] == in_grid["verdict"] == "regression"
    assert (run["judged"]["blocks_merge"], run["judged"]["action"]) == (True, "fix")
    assert {failure["verdict"] for failure in run["failures"]} == {"regression"}
    assert {failure["verdict"] for failure in _get(client, f"{BASE}/runs/11/failures")} == {"regression"}
    seen = [one for item in _get(client, "/api/v1/failures")["items"] for one in item["newest"]]
    assert {one["verdict"] for one in seen if one["run"] == 11} == {"regression"}
    jobs = {job["name"]: (job["state"], job["verdict"]) for job in _get(client, f"{BASE}/jobs")}
    assert jobs["unit"][0] == "pending" and jobs["flaky"] == ("success", "flaky")


def test_a_run_that_passed_has_no_verdict(client: Client, kestrel: Repository) -> None:
    cells = _get(client, f"{BASE}/commits/{sha('c1')}")["cells"]
    green = next(cell["run"] for cell in cells if cell["state"] == "success" and cell["run"])
    run = _get(client, f"{BASE}/runs/{green}")
    assert (run["verdict"], run["judged"]) == ("", None)


def test_streaks_status_and_viable_agree(client: Client, kestrel: Repository) -> None:
    (streak,) = _get(client, f"{BASE}/branches/main/streaks?open=1")
    assert (streak["job"], streak["length"], streak["is_open"]) == ("unit", 2, True)
    assert (streak["first_bad"], streak["last_good"]) == (sha("c2"), sha("c1"))
    assert streak["suspects"] == [sha("c2")]
    status = _get(client, f"{BASE}/branches/main/status")
    viable = _get(client, f"{BASE}/branches/main/viable")
    assert (status["colour"], status["streaks"], status["oldest_first_bad"]) == ("red", 1, sha("c2"))
    assert (viable["sha"], viable["behind"]) == (sha("c1"), 3) == (status["viable"], status["viable_behind"])
    assert viable["blocked"][0] == {"sha": sha("c4"), "jobs": ["unit", "lint"]}


def test_the_hud_shape_has_jobs_in_the_order_of_their_names(client: Client, kestrel: Repository) -> None:
    shape = _get(client, f"/api/hud/{FULL_NAME}/main/1")
    assert shape == _get(client, f"/api/hud/{FULL_NAME}/main/0")
    unit = shape["jobNames"].index("unit")
    assert [row["jobs"][unit].get("conclusion") for row in shape["shaGrid"]] == [
        "pending",
        "failure",
        "failure",
        "success",
    ]
    red = shape["shaGrid"][2]["jobs"][unit]
    assert red["failureCaptures"]
    assert red["durationS"] == 300
    assert all(len(row["jobs"]) == len(shape["jobNames"]) for row in shape["shaGrid"])
    assert shape["shaGrid"][0]["jobs"][shape["jobNames"].index("lint")] == {}
    assert _get(client, f"/api/hud/{FULL_NAME}/main/2")["shaGrid"] == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/v1/repositories/no/where", "no repository no/where"),
        (f"{BASE}/branches/nope/grid", "branches: main"),
        (f"{BASE}/commits/ffffffff", "No commits"),
        (f"{BASE}/runs/99", "no run 99"),
        (f"/api/hud/{FULL_NAME}/nope/1", "no branch nope"),
    ],
)
def test_a_wrong_address_gets_a_reason(client: Client, kestrel: Repository, path: str, words: str) -> None:
    answer = _get(client, path, 404)
    assert words in (answer.get("detail") or answer.get("error"))


def test_a_branch_may_hold_slashes_and_a_former_name_still_works(client: Client, kestrel: Repository) -> None:
    assert _get(client, f"{BASE}/branches/feature/a/grid")["rows"] == []
    rename_repository(repository=kestrel, full_name="brindle/swift")
    assert len(_get(client, f"{BASE}/branches/main/grid")["rows"]) == 4
    assert len(_get(client, f"/api/hud/{FULL_NAME}/main/1")["shaGrid"]) == 4


def test_the_number_of_statements_does_not_grow_with_the_page(
    client: Client, kestrel: Repository, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(14) as few:
        _get(client, f"{BASE}/branches/main/grid?per_page=3")
    assert isinstance(few, CaptureQueriesContext)
    with django_assert_max_num_queries(len(few)):
        _get(client, f"{BASE}/branches/main/grid")


def test_the_description_names_every_answer_and_the_docs_page_shows_it(client: Client) -> None:
    description = _get(client, "/api/v1/openapi.json")
    assert "/api/v1/repositories/{owner}/{name}/branches/{branch}/viable" in description["paths"]
    page = client.get("/api/v1/docs").content.decode()
    assert "/branches/{branch}/streaks" in page


def test_the_badge_says_red_and_shows_names_as_text(client: Client, kestrel: Repository) -> None:
    answer = client.get(f"/badge/{FULL_NAME}/main.svg")
    assert answer["Content-Type"] == "image/svg+xml"
    assert "main: red, 1 streak" in answer.content.decode()
    hostile = '"onload="alert(1)<script>'
    Branch.objects.create(repository=kestrel, name=hostile)
    drawn = ElementTree.fromstring(client.get(f"/badge/{FULL_NAME}/{hostile}.svg").content)
    assert not [e for e in drawn.iter() if e.tag.endswith("script")]
    assert client.get(f"/badge/{FULL_NAME}/nope.svg").status_code == 404


def test_metrics_count_what_an_operator_watches(client: Client, kestrel: Repository) -> None:
    text = client.get("/metrics").content.decode()
    assert 'hud_open_streaks{branch="main",repository="brindle/kestrel"} 1.0' in text
    assert 'hud_inbox_items{state="parked"} 0.0' in text


def _alert_history(*arguments: str) -> Any:
    out = StringIO()
    call_command("alert_history", *arguments, stdout=out)
    return json.loads(out.getvalue())


def test_the_dry_run_of_a_rule_tells_when_it_would_have_opened(kestrel: Repository) -> None:
    alerts = _alert_history(FULL_NAME, "--branch", "main", "--threshold", "2", "--count-all")
    assert alerts == [{"jobs": ["unit"], "first_bad": sha("c2"), "opened_at": sha("c3"), "resolved_at": None}]
    assert _alert_history(FULL_NAME, "--threshold", "3") == []
    assert _alert_history(FULL_NAME, "--threshold", "2", "--jobs", "lint") == []


@pytest.mark.parametrize("arguments", [["no/where"], [FULL_NAME, "--branch", "x"], [FULL_NAME, "--jobs", "("]])
def test_the_dry_run_says_what_is_wrong(kestrel: Repository, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        _alert_history(*arguments)


@pytest.mark.parametrize(("case_id", "first", "opened"), [("FC-10", "c3", "c5"), ("FC-17", "c2", "c4")])
def test_the_field_cases_alert_where_they_should(
    shared_data: Path, tmp_path: Path, case_id: str, first: str, opened: str
) -> None:
    play_case(tmp_path, field_case(shared_data, case_id)["input"]["replay"])
    (alert,) = _alert_history("brindle/kestrel", "--branch", "main", "--threshold", "3", "--count-all")
    assert (alert["first_bad"], alert["opened_at"], alert["resolved_at"]) == (sha(first), sha(opened), None)


def test_states_without_signal_never_alert(client: Client, shared_data: Path, tmp_path: Path) -> None:
    play_case(tmp_path, field_case(shared_data, "FC-45")["input"]["replay"])
    assert _alert_history("brindle/kestrel", "--branch", "main", "--threshold", "1", "--count-all") == []
