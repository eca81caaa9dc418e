"""Field cases that only a browser can judge, played from the recording to every page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.models import Annotation, Job, Run
from tests.fakes.cases import field_case, play_case

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
STRANGE = "a[href^='javascript' i], img[src=x], svg[onload], iframe, [onmouseover], main script:not([src])"
FULL_NAME = "brindle/kestrel"


def recording(strings: dict[str, str]) -> dict[str, Any]:
    """A green commit, then a red one, in which everything that people choose a name for is hostile."""

    def commit(letter: str, title: str, author: str, parents: list[str]) -> dict[str, Any]:
        person = {"name": author, "email": "dev@example.invalid", "date": f"2026-03-02T0{letter}:00:00Z"}
        told = {"message": title, "author": person, "committer": person}
        return {"sha": f"c{letter}" * 20, "commit": told, "author": None, "parents": [{"sha": sha} for sha in parents]}

    def run(number: int, letter: str, conclusion: str) -> dict[str, Any]:
        return {
            "id": number,
            "name": strings["job"],
            "path": ".github/workflows/ci.yml",
            "workflow_id": 41,
            "event": "push",
            "head_branch": "main",
            "head_sha": f"c{letter}" * 20,
            "run_attempt": 1,
            "status": "completed",
            "conclusion": conclusion,
            "created_at": f"2026-03-02T0{letter}:00:00Z",
            "updated_at": f"2026-03-02T0{letter}:30:00Z",
            "run_started_at": f"2026-03-02T0{letter}:00:00Z",
            "repository": {"id": 77, "full_name": FULL_NAME},
            "head_repository": {"full_name": FULL_NAME},
            "pull_requests": [],
        }

    def job(number: int, run_id: int, letter: str, conclusion: str) -> dict[str, Any]:
        return {
            "id": number,
            "run_id": run_id,
            "run_attempt": 1,
            "name": strings["job"],
            "workflow_name": strings["job"],
            "head_sha": f"c{letter}" * 20,
            "status": "completed",
            "conclusion": conclusion,
            "started_at": f"2026-03-02T0{letter}:01:00Z",
            "completed_at": f"2026-03-02T0{letter}:09:00Z",
            "runner_name": strings["author"],
        }

    red = commit("2", strings["title"], strings["author"], ["c1" * 20])
    return {
        "repo": FULL_NAME,
        "branch": "main",
        "commits": [red, commit("1", "Step 1", "Ida Moor", [])],
        "workflow_runs": [run(9100, "2", "failure"), run(9000, "1", "success")],
        "jobs": {"9100": [job(502, 9100, "2", "failure")], "9000": [job(501, 9000, "1", "success")]},
        "logs": {"502": strings["log"]},
    }


def test_fc21_markup_in_every_name_is_text_on_every_page(
    page: Page, live_server: LiveServer, shared_data: Path, tmp_path: Path
) -> None:
    strings = field_case(shared_data, "FC-21")["input"]["strings"]
    play_case(tmp_path, recording(strings))
    run = Run.objects.get(external_id=502)
    Annotation.objects.create(run=run, number=1, level="failure", message=strings["annotation"], title=strings["title"])
    job = Job.objects.get()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))

    def look(address: str, *expected: str) -> None:
        answer = page.goto(live_server.url + address)
        assert answer is not None and answer.ok, address
        assert "unsafe" not in answer.headers["content-security-policy"], address
        told = page.locator("body").inner_text()
        for text in expected:
            assert text in told, (address, text)
        assert page.locator(STRANGE).count() == 0, address

    title = strings["title"].removesuffix(" (#12)")
    line = "FAILED t/test_x.py::test_<b>y</b> - see javascript:alert(6)"
    look(f"/{FULL_NAME}/main?group=off", title, strings["author"])
    assert page.locator("th[data-job]").first.get_attribute("data-job") == strings["job"]
    page.locator("tbody tr").first.locator("[data-cell]").first.click()
    expect(page.locator("#cell-card")).to_contain_text(line)
    assert page.locator(STRANGE).count() == 0
    look(f"/{FULL_NAME}/commit/{run.commit.sha}", title, strings["job"], line)
    look(f"/{FULL_NAME}/job/{job.pk}", strings["job"], line)
    look(f"/{FULL_NAME}/run/502", strings["job"], line, "<script>alert(5)</script>", strings["annotation"])
    look("/failures", line)
    look(f"/{FULL_NAME}/-/flaky")
    look("/alerts")
    page.goto(f"{live_server.url}/badge/{FULL_NAME}/main.svg")
    assert page.locator("svg").count() == 1 and page.locator(STRANGE).count() == 0
    assert dialogs == []


def test_fc22_and_fc48_line_numbers_and_terminal_tricks_agree_from_log_to_page(
    page: Page, live_server: LiveServer, shared_data: Path, tmp_path: Path
) -> None:
    plain = {"title": "Step 2", "author": "Ida Moor", "job": "unit"}
    progress = field_case(shared_data, "FC-22")["input"]["log"]
    tricks = field_case(shared_data, "FC-48")["input"]["log"]
    play_case(tmp_path, recording({**plain, "log": progress + "\n" + tricks}))
    failures = list(Run.objects.get(external_id=502).failures.order_by("line_number"))
    assert [(failure.line_number, failure.line) for failure in failures][:2] == [
        (3, "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"),
        (11, "FAILED t/test_c.py::test_d - AssertionError"),
    ]

    page.goto(f"{live_server.url}/{FULL_NAME}/run/502?lines=1-13#L3")
    lines = page.eval_on_selector_all("#log .t", "found => found.map(one => one.innerText)")
    assert lines[2] == failures[0].line and lines[10] == failures[1].line
    assert lines[3] == "tail without newline"
    assert lines[4].startswith("E12") and "click me" in lines[5] and lines[12] == "last line"
    assert not re.search(r"\]8;;|\[38;5|\[2K|[\u202e\u200b\x80-\x9f]", "".join(lines))
    assert page.locator(STRANGE).count() == 0
    raw = page.request.get(f"{live_server.url}/{FULL_NAME}/run/502/log").body().split(b"\n")
    assert b"test_seek" in raw[2] and b"LED" in raw[10]
