"""GitHub's webhooks at the door."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.cache import cache
from django.test import Client, override_settings
from django.utils import timezone

from hud.core.pullreport import CHECK_MARKER
from hud.models import Cell, Commit, InboxItem, Run
from hud.services import inbox
from hud.services.repositories import ensure_repository, find_repository
from tests.fakes.cases import deliver, field_case, play_case, sign, work_on_inbox
from tests.services.payloads import FULL_NAME, REPOSITORY, body, check_run, commit, event, job, sha

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is a test of its own; here the inbox is worked on by hand."""
    monkeypatch.setattr("hud.views.hooks.ingest_inbox.delay", lambda: None)


def _red_unit() -> bytes:
    return body(event("workflow_job", job(861, 9501, "c2", "unit", conclusion="failure"))[1])


def test_a_signed_delivery_is_stored_before_it_is_answered(client: Client) -> None:
    answer = deliver(client, "workflow_job", _red_unit())
    assert answer.status_code == 202
    assert bytes(InboxItem.objects.get().body) == _red_unit()


@pytest.mark.parametrize("signature", ["", "sha256=", "sha1=abc", "sha256=é", "sha256=" + "0" * 64, None])
def test_a_wrong_signature_is_401_and_stores_nothing(client: Client, signature: str | None) -> None:
    wrong = sign(b"other") if signature is None else signature
    assert deliver(client, "workflow_job", _red_unit(), signature=wrong).status_code == 401
    assert not InboxItem.objects.exists()


def test_a_forged_delivery_does_not_poison_the_id_of_an_honest_one(client: Client) -> None:
    """FC-12; its last steps are in the tests of another body and of redelivery below."""
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    assert deliver(client, "workflow_job", _red_unit(), delivery="g", signature="sha256=" + "0" * 64).status_code == 401
    for _ in range(3):
        assert deliver(client, "workflow_job", _red_unit(), delivery="g").status_code == 202
    work_on_inbox()
    assert InboxItem.objects.count() == 1
    assert Run.objects.filter(external_id=861).count() == 1


def test_a_delivery_without_id_is_refused_with_a_reason(client: Client) -> None:
    answer = deliver(client, "workflow_job", _red_unit(), delivery=None)
    assert answer.status_code == 400
    assert "X-GitHub-Delivery" in answer.json()["error"]


def test_the_same_id_with_another_body_is_refused(client: Client) -> None:
    deliver(client, "workflow_job", _red_unit())
    assert deliver(client, "workflow_job", _red_unit() + b"\n").status_code == 409


@pytest.mark.parametrize(
    ("payload", "status", "reason"),
    [
        (b"{", 422, "not JSON"),
        (b"[]", 422, "JSON object"),
        (b"{}", 422, "'workflow_job' is missing"),
        (b'{"workflow_job": {"id": -1}}', 422, "'name'"),
        (b'{"workflow_job": {"id": 1, "name": "unit", "head_sha": "<b>"}}', 422, "sha"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_a_reason(
    client: Client, payload: bytes, status: int, reason: str
) -> None:
    answer = deliver(client, "workflow_job", payload)
    assert answer.status_code == status
    assert reason in answer.json()["error"]
    assert not InboxItem.objects.exists()


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000)
def test_a_body_past_the_limit_is_413_and_names_the_setting(client: Client) -> None:
    answer = deliver(client, "workflow_job", b" " * 1001)
    assert answer.status_code == 413
    assert "WEBHOOK_MAX_BYTES" in answer.json()["error"]


@pytest.mark.parametrize(
    ("app", "slug"), [("CircleCI Checks", "circleci-checks"), ("Jenkins", "jenkins"), ("", "buildkite")]
)
@pytest.mark.parametrize("conclusion", ["failure", "success"])
def test_a_check_run_of_another_app_is_a_job_of_its_own(client: Client, app: str, slug: str, conclusion: str) -> None:
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    for status, said in (("in_progress", None), ("completed", conclusion)):
        check = check_run(971, "c2", "deploy", status=status, conclusion=said, app=app, slug=slug)
        raw = body(event("check_run", check)[1])
        assert deliver(client, "check_run", raw, delivery=f"d-{status}").status_code == 202
    work_on_inbox()
    run = Run.objects.select_related("job__workflow", "commit").get()
    assert (run.external_id, run.commit.sha, run.workflow_run_id) == (971, sha("c2"), None)
    assert (run.name, run.job.name, run.job.workflow.name) == ("deploy", "deploy", app or slug)
    assert (run.status, run.conclusion) == ("completed", conclusion)
    assert run.html_url == "https://github.com/brindle/kestrel/runs/971"
    assert run.details_url == "https://ci.example.invalid/workflow/971"
    cell = Cell.objects.get()
    assert (cell.state, cell.job, cell.run, cell.commit) == (conclusion, run.job, run, run.commit)


def test_huds_own_check_run_is_no_job_of_the_pull_request_it_speaks_of(client: Client) -> None:
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    own = check_run(972, "c2", "HUD", conclusion="failure", app="Our HUD", slug="our-hud")
    raw = body(event("check_run", {**own, "external_id": CHECK_MARKER})[1])
    assert deliver(client, "check_run", raw).status_code == 202
    work_on_inbox()
    assert InboxItem.objects.get().state == InboxItem.State.DONE
    assert not Run.objects.exists()


def test_ping_and_events_without_use_are_answered_and_do_nothing(client: Client) -> None:
    assert deliver(client, "ping", b'{"zen": "Keep it small"}').status_code == 202
    assert deliver(client, "star", b"{}", delivery="d-2").json() == {"status": "ignored"}
    work_on_inbox()
    assert [i.state for i in InboxItem.objects.all()] == ["done"]


def test_an_event_of_a_repository_that_nobody_follows_is_kept_for_the_admin(client: Client) -> None:
    deliver(client, "workflow_job", _red_unit())
    work_on_inbox()
    assert InboxItem.objects.get().state == InboxItem.State.UNFOLLOWED
    assert not Run.objects.exists()


def test_a_name_with_another_id_is_another_repository_only_where_github_told_the_id(client: Client) -> None:
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=78)
    deliver(client, "workflow_job", _red_unit())
    work_on_inbox()
    assert Run.objects.get(external_id=861).repository == repository
    ensure_repository(full_name=FULL_NAME, followed=True)
    other = body(event("workflow_job", job(862, 9501, "c2", "unit"))[1])
    deliver(client, "workflow_job", other, delivery="d-2")
    work_on_inbox()
    assert InboxItem.objects.get(delivery="d-2").state == InboxItem.State.UNFOLLOWED


def test_a_form_encoded_hook_is_told_to_send_json(client: Client, shared_data: Path) -> None:
    case = field_case(shared_data, "FC-26")
    form = case["input"]["raw_body"].encode()
    answer = deliver(client, "workflow_job", b"payload=" + form, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]


def test_the_signature_is_over_the_bytes_that_came(client: Client, shared_data: Path, tmp_path: Path) -> None:
    case = field_case(shared_data, "FC-26")
    ensure_repository(full_name="brindle/kestrel", branch="main", github_id=77)
    raw = case["input"]["raw_body"].encode()
    assert deliver(client, "workflow_job", raw).status_code == 202
    work_on_inbox()
    assert Run.objects.get(external_id=921).name == "unit — café 🧪"
    assert Cell.objects.get().state == "failure"


def _replay_and_post(client: Client, case: dict[str, Any], folder: Path) -> None:
    play_case(folder, case["input"]["replay"])
    raw = case["input"]["raw_webhook"]
    assert deliver(client, raw["event"], raw["raw_body"].encode(), delivery=raw["delivery"]).status_code == 202
    work_on_inbox()


def test_text_that_postgresql_refuses_is_stored_with_a_visible_replacement(
    client: Client, shared_data: Path, tmp_path: Path
) -> None:
    case = field_case(shared_data, "FC-08")
    _replay_and_post(client, case, tmp_path)
    run = Run.objects.select_related("commit").get(external_id=502)
    assert run.commit.title == "Strip \ufffd from names \ufffd"
    assert [i.state for i in InboxItem.objects.all()] == ["done"]
    assert run.failures.get(rank=0).line.startswith("FAILED tests/test_nul.py")
    assert "\x00" not in run.failures.get(rank=0).line


def test_a_title_known_from_a_push_alone_keeps_a_mark_where_text_was_refused(client: Client) -> None:
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    told = {"ref": "refs/heads/main", "before": sha("c1"), "after": sha("c2"), "repository": REPOSITORY}
    told["commits"] = [{"id": sha("c2"), "message": "Strip TEXT"}]
    raw = json.dumps(told).replace("TEXT", "\\u0000 and \\ud83d")
    assert deliver(client, "push", raw.encode()).status_code == 202
    work_on_inbox()
    assert InboxItem.objects.get().state == "done"
    assert Commit.objects.get(sha=sha("c2")).title == "Strip \ufffd and \ufffd"


def test_a_failed_item_waits_longer_each_time_then_is_parked_and_redelivery_wakes_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    deliver(client, "workflow_job", _red_unit())

    def fail(**_: Any) -> None:
        raise RuntimeError("the disk is on fire")

    waits = []
    with monkeypatch.context() as patch:
        patch.setattr("hud.services.inbox.apply_facts", fail)
        for _ in range(6):
            InboxItem.objects.update(next_attempt_at=None)
            work_on_inbox()
            item = InboxItem.objects.get()
            if item.next_attempt_at:
                waits.append(item.next_attempt_at - item.received_at)
    assert item.state == InboxItem.State.PARKED
    assert "the disk is on fire" in item.error
    assert waits == sorted(waits)
    assert len(waits) == 5
    assert deliver(client, "workflow_job", _red_unit()).json() == {"status": "retried"}
    work_on_inbox()
    assert InboxItem.objects.get().state == "done"
    assert Run.objects.filter(external_id=861).exists()


def test_one_bad_item_does_not_hold_up_the_others(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    annotations = json.dumps({"job_id": 5, "items": []}).encode()
    InboxItem.objects.create(
        event="rest.annotations",
        full_name=FULL_NAME,
        body=annotations,
        repository_id=ensure_repository(full_name=FULL_NAME)[0].id,
    )
    deliver(client, "workflow_job", _red_unit())
    work_on_inbox()
    assert Run.objects.filter(external_id=861).exists()
    waiting = InboxItem.objects.get(event="rest.annotations")
    assert waiting.state == "waiting"
    assert "job 5" in waiting.error


def test_a_commit_list_item_is_readable_beside_bad_ones() -> None:
    from hud.services.inbox import take

    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    take(
        repository=repository,
        source="poll",
        event="rest.commits",
        payload={"items": [commit("c1"), {"sha": "no"}, commit("c2", "c1")]},
    )
    assert repository.commits.count() == 2
    assert InboxItem.objects.get().state == "waiting"


def test_a_taken_name_moves_and_its_former_holder_gives_way(client: Client) -> None:
    one, _ = ensure_repository(full_name="brindle/kestrel", branch="main", github_id=77)
    two, _ = ensure_repository(full_name="brindle/kestrel-ng", branch="main", github_id=78)
    told = json.loads(_red_unit()) | {"repository": {"id": 77, "full_name": "brindle/kestrel-ng"}}
    deliver(client, "workflow_job", body(told), delivery="d-1")
    deliver(client, "workflow_job", body(event("workflow_job", job(9, 9, "c1", "unit"))[1]), delivery="d-2")
    work_on_inbox()
    assert set(InboxItem.objects.values_list("state", flat=True)) == {"done"}
    one.refresh_from_db()
    two.refresh_from_db()
    assert (one.full_name, two.full_name) == ("brindle/kestrel-ng", "brindle/kestrel-ng.formerly-78")
    assert one.runs.count() == 2


@pytest.mark.parametrize("name", ["noslash", "a/b/c", "a/" + "b" * 10_000, "a b/c", ""])
def test_a_name_that_no_repository_can_have_is_refused(client: Client, name: str) -> None:
    told = json.loads(_red_unit()) | {"repository": {"id": 77, "full_name": name}}
    assert deliver(client, "workflow_job", body(told)).status_code == 422


def test_an_item_that_breaks_the_look_up_of_its_repository_holds_up_nobody(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    told = json.loads(_red_unit()) | {"repository": {"id": 5, "full_name": "bad/luck"}}
    deliver(client, "workflow_job", body(told), delivery="d-1")
    deliver(client, "workflow_job", _red_unit(), delivery="d-2")

    def find(fact: Any) -> Any:
        if fact.full_name == "bad/luck":
            Run.objects.create(external_id=1)
        return find_repository(fact)

    monkeypatch.setattr("hud.services.inbox.find_repository", find)
    work_on_inbox()
    states = dict(InboxItem.objects.values_list("delivery", "state"))
    assert states == {"d-1": "waiting", "d-2": "done"}
    assert "IntegrityError" in InboxItem.objects.get(delivery="d-1").error


def test_a_delivery_is_answered_202_while_the_broker_is_down(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: Any, **__: Any) -> None:
        raise redis.ConnectionError("refused")

    monkeypatch.setattr("hud.services.inbox.cache.add", down)
    assert deliver(client, "workflow_job", _red_unit()).status_code == 202
    assert InboxItem.objects.get().state == "waiting"


def test_events_that_came_before_their_repository_was_followed_are_worked_on_when_it_is(client: Client) -> None:
    deliver(client, "workflow_job", _red_unit())
    work_on_inbox()
    assert InboxItem.objects.get().state == InboxItem.State.UNFOLLOWED
    ensure_repository(full_name=FULL_NAME, branch="main", followed=True)
    work_on_inbox()
    assert InboxItem.objects.get().state == "done"


def test_an_inbox_that_nobody_drains_is_said_to_be_stuck(client: Client) -> None:
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    work_on_inbox()
    deliver(client, "workflow_job", _red_unit())
    assert inbox.stuck_for_s() < 5
    cache.set("inbox:moved", 0, timeout=None)
    InboxItem.objects.update(received_at=timezone.now() - timedelta(seconds=90))
    assert inbox.stuck_for_s() == pytest.approx(90, abs=5)
    work_on_inbox()
    assert inbox.stuck_for_s() == 0
