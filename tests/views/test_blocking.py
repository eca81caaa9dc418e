"""Admins say which jobs must pass, which are unstable and what each of them is; everything then asks that list."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from hud.core.jobrules import BLOCKING, KINDS, UNSTABLE, Line, fingerprint
from hud.models import AuditEntry, Cell, JobRule
from tests.factories import Trunk, note_change
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
PAGE = "/manage/jobs/brindle/kestrel"
API = "/api/v1/repositories/brindle/kestrel/branches/main"


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


@pytest.fixture
def admin() -> Client:
    return signed_in("admin")


def save(client: Client, topic: str, lines: str, seen: str | None = None, action: str = "save") -> Any:
    form = {"topic": topic, "lines": lines, "action": action, "seen": fingerprint([]) if seen is None else seen}
    return client.post(PAGE, form)


def viable(client: Client) -> Any:
    return client.get(f"{API}/viable").json()


def test_only_admins_edit(client: Client, trunk: Trunk) -> None:
    assert client.get(PAGE).status_code == 302
    assert signed_in("on-call").get(PAGE).status_code == 403


def test_the_list_decides_what_is_viable_and_what_the_grid_filters(admin: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-1], trunk, job=1)
    assert viable(admin)["behind"] == 1
    assert save(admin, BLOCKING, "must pass = unit").status_code == 302
    answer = viable(admin)
    assert (answer["behind"], answer["blocking_jobs"]) == (0, ["unit (1)", "unit (2)"])
    grid = admin.get("/brindle/kestrel/main?blocking=1").content.decode()
    assert 'data-job="build"' not in grid
    assert "2 of 3 jobs" in grid
    entry = AuditEntry.objects.get()
    assert (entry.what, entry.after) == ("jobs.changed", {"blocking": ["must pass = unit"]})


def test_a_job_may_be_skipped_where_that_is_declared(admin: Client, trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    newest.cells = newest.cells[:1] + " " + newest.cells[2:]
    newest.save()
    save(admin, BLOCKING, "must pass = .")
    assert viable(admin)["blocked"] == [{"sha": newest.sha, "jobs": ["build"]}]
    seen = fingerprint([Line(".", "must pass")])
    save(admin, BLOCKING, "may skip = build\nmust pass = .", seen)
    assert viable(admin)["behind"] == 0
    newest.cells = ""
    newest.save()
    note_change(trunk)
    assert viable(admin)["behind"] == 1, "a commit on which nothing passed is never viable"


def test_an_unstable_job_is_so_on_trunk_and_in_pull_requests(admin: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-1], trunk)
    commit = open_pull(trunk)
    fails(commit, trunk)
    judge_all()
    save(admin, UNSTABLE, r"unstable = unit \(1\)")
    judge_all()
    found = {c.commit_id: c.verdict for c in Cell.objects.filter(job=trunk.jobs[0], state="failure")}
    assert found == {trunk.commits[-1].pk: "unstable", commit.pk: "unstable"}
    save(admin, UNSTABLE, "", fingerprint([Line(r"unit \(1\)", "unstable")]))
    judge_all()
    found = {c.commit_id: c.verdict for c in Cell.objects.filter(job=trunk.jobs[0], state="failure")}
    assert found == {trunk.commits[-1].pk: "regression", commit.pk: "broken_trunk"}


@pytest.mark.parametrize(
    ("topic", "lines", "why"),
    [
        (BLOCKING, "must pass = (", "Not a pattern"),
        (BLOCKING, "perhaps = x", "Choose one of"),
        (KINDS, "unit", "Choose one of"),
        (UNSTABLE, "unstable =", "The pattern is empty"),
        (KINDS, "build = x\n" * 201, "At most 200"),
    ],
)
def test_what_cannot_be_is_said_and_what_was_typed_stays(
    admin: Client, trunk: Trunk, topic: str, lines: str, why: str
) -> None:
    response = save(admin, topic, lines)
    assert response.status_code == 422
    page = response.content.decode()
    assert why in page
    assert lines.split("\n")[0].split("=")[-1].strip() in page
    assert not JobRule.objects.exists()


def test_a_preview_names_the_jobs_and_saves_nothing(admin: Client, trunk: Trunk) -> None:
    page = save(admin, BLOCKING, "must pass = unit\nignore = .", action="preview").content.decode()
    assert "2 jobs" in page
    assert "CI / unit (1)" in page
    assert not JobRule.objects.exists()


def test_nobody_overwrites_what_another_saved(admin: Client, trunk: Trunk) -> None:
    save(admin, BLOCKING, "must pass = unit")
    response = save(admin, BLOCKING, "must pass = build")
    assert response.status_code == 409
    page = response.content.decode()
    assert "somebody else has changed this list" in page
    assert "must pass = build" in page
    assert JobRule.objects.get().pattern == "unit"
