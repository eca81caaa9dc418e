"""Admins say which jobs must pass, which are unstable and what each of them is; everything then asks that list."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from hud.core.jobrules import BLOCKING, KINDS, LABELS, UNSTABLE, Line, fingerprint
from hud.models import AuditEntry, Cell, JobRule, PullRequest, TrunkReview, Verdict
from hud.services import blocking, judging
from tests.factories import Trunk, make_run, note_change
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, passes, refresh
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


@pytest.mark.parametrize("listed", ["", "must pass = ."])
def test_nobody_waits_for_an_unstable_job(admin: Client, trunk: Trunk, listed: str) -> None:
    if listed:
        save(admin, BLOCKING, listed)
    breaks(trunk.commits[-1], trunk)
    head = open_pull(trunk)
    for job in (1, 2):
        passes(head, trunk, job=job)
    make_run(head, trunk.jobs[0], status="in_progress", conclusion="")
    refresh(head, trunk, 0)

    def answers() -> tuple[int, bool]:
        judge_all()
        gate = admin.get("/api/v1/repositories/brindle/kestrel/pulls/7/gate").json()
        return viable(admin)["behind"], gate["may_merge"]

    assert answers() == (1, False)
    save(admin, UNSTABLE, r"unstable = unit \(1\)")
    assert answers() == (0, True)


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


def test_a_build_that_failed_and_passed_is_marked_but_never_called_flaky(client: Client, trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    for job in (0, 1):
        breaks(newest, trunk, job)
        passes(newest, trunk, job)
    unit, build = (Cell.objects.get(commit=newest, job=trunk.jobs[job]) for job in (0, 1))
    assert (unit.flaky, unit.verdict) == (True, "flaky")
    assert (build.flaky, build.verdict) == (True, "")
    assert "a build failure is never called flaky" in build.verdict_reason
    note_change(trunk)
    row = client.get(trunk.path).content.decode().split(f'data-sha="{newest.sha}"')[1].split("data-sha=")[0]
    assert row.count('data-verdict="flaky"') == 1
    shown = client.get(f"/api/v1/repositories/brindle/kestrel/commits/{newest.sha}").json()
    told = {cell["job"]: (cell["state"], cell["flaky"], cell["verdict"]) for cell in shown["cells"]}
    assert told["unit (1)"] == ("success", True, "flaky")
    assert told["build"] == ("success", True, "")


def test_a_job_that_is_declared_a_test_may_be_flaky_then(admin: Client, trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk, 1)
    passes(newest, trunk, 1)
    save(admin, KINDS, "test = build")
    assert Cell.objects.get(commit=newest, job=trunk.jobs[1]).verdict == "flaky"


# ── Labels ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_label_switches_jobs_off_for_its_pull_request_alone(admin: Client, trunk: Trunk) -> None:
    worn = fails(open_pull(trunk, 7, "dora"), trunk)
    bare = fails(open_pull(trunk, 8, "emil"), trunk, line="FAILED test_io.py::test_other - no")
    PullRequest.objects.filter(number=7).update(labels=["Skip-Units"])
    assert save(admin, LABELS, "skip-units = unit\nother = build").status_code == 302
    judge_all()
    assert Verdict.objects.get(run=worn).label == "unstable"
    assert "label on this change" in Verdict.objects.get(run=worn).reason
    assert Verdict.objects.get(run=bare).label == "regression"


def test_nobody_waits_for_a_job_that_a_label_switched_off(admin: Client, trunk: Trunk) -> None:
    save(admin, BLOCKING, "must pass = .")
    save(admin, LABELS, "skip-units = unit")
    passes(open_pull(trunk), trunk, job=1)
    gate = "/api/v1/repositories/brindle/kestrel/pulls/7/gate"
    assert admin.get(gate).json()["pending"] == ["unit (1)", "unit (2)"]
    PullRequest.objects.update(labels=["Skip-Units"])
    assert admin.get(gate).json()["may_merge"]


def test_trunk_wears_no_labels(admin: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-1], trunk)
    save(admin, LABELS, "skip-units = unit")
    judge_all()
    assert Cell.objects.get(commit=trunk.commits[-1], job=trunk.jobs[0]).verdict == "regression"


def test_a_line_without_a_label_is_refused(admin: Client, trunk: Trunk) -> None:
    answer = save(admin, LABELS, "= unit")
    assert answer.status_code == 422 and b"Write a label" in answer.content


# ── Older rows ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_older_rows_follow_in_steps_and_the_page_says_so(
    admin: Client, trunk: Trunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (blocking, judging):
        monkeypatch.setattr(module, "JUDGED_AGAIN_ROWS", 1)
    for commit in trunk.commits:
        breaks(commit, trunk)

    def verdicts() -> list[str]:
        cells = Cell.objects.filter(job=trunk.jobs[0]).order_by("commit__committed_at")
        return [cell.verdict for cell in cells]

    assert "unstable" not in verdicts()
    breaks(trunk.commits[0], trunk, 1)
    save(admin, KINDS, "test = build")
    assert TrunkReview.objects.get().below == 3
    page = admin.get(PAGE).content.decode()
    assert "3 older rows of trunk are still to be judged again" in page
    assert "the newest 200 rows of each branch at once" in page
    assert judging.review_step()
    assert TrunkReview.objects.get().below == 2
    while judging.review_step():
        pass
    assert not TrunkReview.objects.exists()
    assert "still to be judged" not in admin.get(PAGE).content.decode()


def test_an_old_healed_build_is_judged_by_the_new_list_at_last(
    admin: Client, trunk: Trunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (blocking, judging):
        monkeypatch.setattr(module, "JUDGED_AGAIN_ROWS", 1)
    oldest = trunk.commits[0]
    breaks(oldest, trunk, 1)
    passes(oldest, trunk, 1)
    save(admin, KINDS, "test = build")
    assert Cell.objects.get(commit=oldest, job=trunk.jobs[1]).verdict == ""
    while judging.review_step():
        pass
    assert Cell.objects.get(commit=oldest, job=trunk.jobs[1]).verdict == "flaky"
