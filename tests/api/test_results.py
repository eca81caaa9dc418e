"""Test results are handed in by programs with a token, and read by anybody."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from hud.models import ApiToken, Run
from hud.services.tokens import make_token
from hud.services.waiting_results import attach_waiting
from tests.factories import Trunk, make_run, make_trunk, sha_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

ADDRESS = "/api/v1/repositories/brindle/kestrel/test-results"
RED = "<failure message='boom'/>"
FILE = f"<testsuite><testcase classname='c' name='ok'/><testcase classname='c' name='red'>{RED}</testcase></testsuite>"
HEALED = "<testsuite><testcase classname='c' name='heals'><flakyFailure message='m'/></testcase></testsuite>"


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["."], ["CI / unit"])


@pytest.fixture
def run(trunk: Trunk) -> Run:
    return make_run(trunk.commits[0], trunk.jobs[0], conclusion="failure")


@pytest.fixture
def token() -> str:
    user = User.objects.create_user("kim")
    user.groups.add(Group.objects.get_or_create(name="on-call")[0])
    return make_token(user=user)[1]


def send(query: str, token: str, body: Any = FILE, content_type: str = "application/xml") -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if content_type == "multipart":
        answer = Client().post(ADDRESS + query, body, headers=headers)
    else:
        answer = Client().post(ADDRESS + query, body, content_type=content_type, headers=headers)
    return answer.status_code, json.loads(answer.content)


def test_a_file_attaches_to_its_run(run: Run, token: str, client: Client) -> None:
    status, told = send(f"?run={run.external_id}", token)
    assert status == 200 and told["url"].endswith(f"/brindle/kestrel/run/{run.external_id}")
    assert {k: told[k] for k in ("tests", "passed", "failed", "flaky", "skipped", "files", "new_files")} == {
        "tests": 2, "passed": 1, "failed": 1, "flaky": 0, "skipped": 0, "files": 1, "new_files": 1,
    }  # fmt: skip
    read = client.get(f"/api/v1/repositories/brindle/kestrel/runs/{run.external_id}/test-results?passed=true").json()
    assert [(t["name"], t["outcome"], t["message"]) for t in read["listed"]] == [("red", "failed", "boom")]
    assert read["passed_tests"] == [{"owner": "c", "name": "ok"}]


def test_several_files_come_as_a_form_and_twice_counts_once(run: Run, token: str) -> None:
    for new in (2, 0):
        files = [SimpleUploadedFile(f"{i}.xml", text.encode()) for i, text in enumerate((FILE, HEALED))]
        status, told = send(f"?run={run.external_id}", token, {"files": files}, "multipart")
        assert (status, told["files"], told["new_files"], told["flaky"], told["tests"]) == (200, 2, new, 1, 3)


@pytest.mark.parametrize("job", ["unit", "CI / unit"])
def test_commit_and_job_name_the_run_too(run: Run, token: str, job: str) -> None:
    assert send(f"?commit={sha_of(1)}&job={job.replace(' ', '+')}", token)[1]["run"] == run.external_id


def test_a_cut_file_is_taken_and_said_to_be_cut(run: Run, token: str) -> None:
    status, told = send(f"?run={run.external_id}", token, FILE[:-30])
    assert status == 200 and told["complete"] is False and "ends before its end" in told["problems"][0]


def test_a_token_made_for_results_is_enough(run: Run) -> None:
    token = make_token(user=User.objects.create_user("ci"), scope=ApiToken.Scope.RESULTS)[1]
    assert send(f"?run={run.external_id}", token)[0] == 200


def test_nobody_and_people_without_a_role_are_refused(run: Run) -> None:
    viewer = make_token(user=User.objects.create_user("viewer"))[1]
    assert send(f"?run={run.external_id}", "")[0] == 401
    assert send(f"?run={run.external_id}", "hud_wrong")[0] == 401
    status, told = send(f"?run={run.external_id}", viewer)
    assert status == 403 and "api_token USER --results" in told["detail"]


@pytest.mark.parametrize(
    ("query", "status", "why"),
    [
        ("?run=99", 202, "no run 99"),
        ("", 422, "Say which run"),
        (f"?commit={sha_of(1)}", 422, "Say which run"),
        (f"?commit={sha_of(1)}&job=lint", 202, "jobs there: unit"),
        ("?commit=abc&job=unit", 404, "too short"),
        ("?commit=abcdef1234&job=unit", 202, "no commit abcdef1234"),
        ("?commit=main-branch&job=unit", 404, "no commit main-branch"),
        ("?run=-7", 404, "no run -7"),
        (f"?run={10**30}", 404, "no run 1000"),
        (f"?commit={sha_of(1)}&job=a%00b", 202, "jobs there: unit"),
        ("?commit=abcdef1234&job=a%00b", 202, "no commit abcdef1234"),
        ("?run=x", 422, ""),
    ],
)
def test_a_run_that_is_not_found_is_explained(run: Run, token: str, query: str, status: int, why: str) -> None:
    answered, told = send(query, token)
    assert answered == status and why in str(told["detail"])


def test_results_of_a_run_that_is_not_known_yet_wait_for_it(
    trunk: Trunk, token: str, client: Client, settings: Settings
) -> None:
    settings.TEST_RESULTS_WAIT_HOURS = 5
    status, told = send("?run=4711", token)
    assert (status, told["waiting"]) == (202, 1)
    assert datetime.fromisoformat(told["until"]) == timezone.now() + timedelta(hours=5)
    assert "nothing has to be sent again" in told["detail"]
    make_run(trunk.commits[0], trunk.jobs[0], conclusion="failure", external_id=4711)
    attach_waiting()
    read = client.get("/api/v1/repositories/brindle/kestrel/runs/4711/test-results").json()
    assert (read["passed"], read["failed"]) == (1, 1)


def test_a_bad_file_of_an_unknown_run_is_refused_at_once(trunk: Trunk, token: str) -> None:
    assert send("?run=4711", token, "<html/>")[0] == 422


def test_two_jobs_of_one_name_are_told_apart_by_workflow(token: str) -> None:
    trunk = make_trunk(["."], ["CI / unit", "nightly / unit"])
    for job in trunk.jobs:
        make_run(trunk.commits[0], job)
    status, told = send(f"?commit={sha_of(1)}&job=unit", token)
    assert status == 422 and "nightly / unit" in told["detail"]
    assert send(f"?commit={sha_of(1)}&job=nightly+/+unit", token)[0] == 200


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("<!DOCTYPE t [<!ENTITY a 'b'>]><testsuite/>", "entities"),
        ("<html/>", "begins with"),
        ("<testsuite>" + "<a>" * 200, "nests"),
    ],
)
def test_what_is_not_safe_or_no_report_is_refused_and_nothing_is_kept(
    run: Run, token: str, client: Client, body: str, why: str
) -> None:
    status, told = send(f"?run={run.external_id}", token, body)
    assert status == 422 and why in told["detail"]
    assert client.get(f"/api/v1/repositories/brindle/kestrel/runs/{run.external_id}/test-results").status_code == 404


def test_one_bad_file_of_a_form_refuses_all(run: Run, token: str, client: Client) -> None:
    files = [SimpleUploadedFile("a.xml", FILE.encode()), SimpleUploadedFile("b.xml", b"<html/>")]
    assert send(f"?run={run.external_id}", token, {"files": files}, "multipart")[0] == 422
    assert client.get(f"/api/v1/repositories/brindle/kestrel/runs/{run.external_id}/test-results").status_code == 404
    assert send(f"?run={run.external_id}", token, {"note": "x"}, "multipart")[1]["detail"] == "The form has no file."


def test_too_much_is_refused_with_the_setting_that_raises_it(run: Run, token: str, settings: Settings) -> None:
    settings.JUNIT_MAX_BYTES = 200
    status, told = send(f"?run={run.external_id}", token, FILE * 3)
    assert status == 413 and "JUNIT_MAX_BYTES" in told["detail"]
    settings.JUNIT_MAX_BYTES, settings.JUNIT_MAX_TESTS = 50_000, 1
    assert send(f"?run={run.external_id}", token)[0] == 413


def test_packed_files_are_together_no_larger_than_one_may_be(run: Run, token: str, settings: Settings) -> None:
    settings.JUNIT_MAX_BYTES = 3_000
    packed = gzip.compress(FILE.replace("</testsuite>", " " * 2_000 + "</testsuite>").encode())
    query, name = f"?run={run.external_id}", "a.xml.gz"
    assert send(query, token, {"files": [SimpleUploadedFile(name, packed)]}, "multipart")[0] == 200
    status, told = send(query, token, {"files": [SimpleUploadedFile(name, packed) for _ in range(2)]}, "multipart")
    assert status == 413 and told["detail"].startswith("Unpacked, the files together are larger than 3000 bytes")


def test_a_request_of_unknown_length_is_refused(run: Run, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Length": ""}
    answer = Client().generic("POST", f"{ADDRESS}?run={run.external_id}", FILE, headers=headers, CONTENT_LENGTH="")
    assert answer.status_code == 411


def test_another_repository_is_not_written(run: Run, token: str) -> None:
    answer = Client().post(
        f"/api/v1/repositories/brindle/other/test-results?run={run.external_id}",
        FILE,
        content_type="application/xml",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 404


def test_the_answer_is_described_in_the_openapi_document(client: Client) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    post = paths["/api/v1/repositories/{owner}/{name}/test-results"]["post"]
    assert {"200", "401", "403", "404", "413", "422"} <= set(post["responses"]) and post["security"]


@pytest.mark.parametrize("tests", [2, 200])
def test_reading_costs_the_same_for_many_tests(
    run: Run, token: str, client: Client, django_assert_num_queries: DjangoAssertNumQueries, tests: int
) -> None:
    cases = "".join(f"<testcase name='t{i}'>{RED}</testcase>" for i in range(tests))
    send(f"?run={run.external_id}", token, f"<testsuite>{cases}</testsuite>")
    with django_assert_num_queries(4):
        told = client.get(f"/api/v1/repositories/brindle/kestrel/runs/{run.external_id}/test-results").json()
    assert len(told["listed"]) == tests
