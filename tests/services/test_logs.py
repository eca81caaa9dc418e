"""Logs of failed runs: fetched once, kept, classified, and every dead end said."""

import errno
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ReadTimeoutError
from django.utils import timezone

import classifier
from hud.clients.github import GitHubClient, MemoryAnswers, MemoryLimits, Options, Retries
from hud.clients.logstore import LogWriter, store_failure_words
from hud.core.github import facts_of
from hud.models import Cell, Failure, Log, Repository, Run, Streak
from hud.services import logs
from hud.services.ingest import Applied, apply_facts
from hud.services.repositories import ensure_repository
from hud.settings import _log_storage
from tests.fakes.github import BlobHost, FakeGitHub, FakeRepository, Scripted
from tests.services.payloads import FULL_NAME, commit, event, job, workflow_run

pytestmark = pytest.mark.django_db

RED_LOG = b"2026-03-02T09:12:01.1234567Z FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2\n"


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as server:
        server.add(FakeRepository(FULL_NAME, 77))
        yield server


@pytest.fixture
def client(github: FakeGitHub) -> Iterator[GitHubClient]:
    options = Options(base_url=github.url, token="ghp_not-a-real-one", retries=Retries(attempts=1), patience_s=0)
    with GitHubClient(options, MemoryLimits(), MemoryAnswers()) as made:
        yield made


def _kestrel(github: FakeGitHub) -> FakeRepository:
    return github._by_name[FULL_NAME]


def _take(*events: tuple[str, dict[str, Any]]) -> Applied:
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    facts = facts_of("rest.commits", {"items": [commit("c3", "c2"), commit("c2", "c1"), commit("c1")]})
    facts.extend(facts_of("push", {"ref": "refs/heads/main", "after": commit("c3")["sha"], "commits": []}))
    for told in events:
        facts.extend(facts_of(*told))
    return apply_facts(repository=repository, facts=facts)


def _red(job_id: int = 501, name: str = "c2", conclusion: str = "failure") -> tuple[str, dict[str, Any]]:
    return event("workflow_job", job(job_id, 900, name, "unit", conclusion=conclusion))


def test_a_failed_runs_log_is_kept_and_classified_and_its_cell_gets_a_verdict(
    github: FakeGitHub, client: GitHubClient
) -> None:
    _kestrel(github).logs = {501: RED_LOG}
    applied = _take(_red())
    assert len(applied.logs_wanted) == 1
    logs.fetch_due_logs(client=client)
    run = Run.objects.get(external_id=501)
    assert (run.log.status, run.log.line_count, run.log.size_bytes) == ("stored", 1, len(RED_LOG))
    assert b"".join(logs.log_store().raw(run.log.key)) == RED_LOG
    failure = run.failures.get(rank=0)
    assert (failure.category, failure.line_number, failure.tests) == ("test", 1, ["tests/test_io.py::test_seek"])
    assert Cell.objects.get().verdict == "regression"


def test_a_log_is_asked_for_once_however_often_the_task_comes(github: FakeGitHub, client: GitHubClient) -> None:
    _kestrel(github).logs = {501: RED_LOG}
    (run_id,) = _take(_red()).logs_wanted
    assert _take(_red()).logs_wanted == []
    assert run_id
    assert [logs.fetch_due_logs(client=client) for _ in range(3)] == [False, False, False]
    assert sum(path.endswith("/501/logs") for path in github.paths()) == 1


def test_a_killed_workers_log_is_taken_up_when_its_lease_ends(github: FakeGitHub, client: GitHubClient) -> None:
    (run_id,) = _take(_red()).logs_wanted
    assert logs._claim_next() == run_id
    assert not logs.has_due_logs()
    Log.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))
    assert logs._claim_next() == run_id


def test_the_newest_red_is_fetched_before_a_back_fills_logs(github: FakeGitHub, client: GitHubClient) -> None:
    old, new = (_take(_red(501, "c1")).logs_wanted, _take(_red(502, "c2")).logs_wanted)
    assert [logs._claim_next(), logs._claim_next()] == [*new, *old]


def test_a_log_for_which_the_disk_has_no_room_waits_and_says_so_however_often(
    github: FakeGitHub, client: GitHubClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    _kestrel(github).logs = {501: RED_LOG}
    assert _take(_red()).logs_wanted
    with monkeypatch.context() as full:
        full.setattr(LogWriter, "close", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        for _ in range(logs.ATTEMPTS + 1):
            logs.fetch_due_logs(client=client)
            log = Log.objects.get()
            assert (log.status, log.attempts) == ("pending", 0)
            assert "could not be kept" in log.error and "No space left" in log.error
            assert log.next_attempt_at > timezone.now() + timedelta(minutes=4)
            Log.objects.update(next_attempt_at=timezone.now())
    logs.fetch_due_logs(client=client)
    assert (Log.objects.get().status, Log.objects.get().error) == ("stored", "")


def test_a_store_that_does_not_answer_names_the_setting_of_its_limit() -> None:
    words = store_failure_words(ReadTimeoutError(endpoint_url="http://store.test"))
    assert "Read timeout" in words and "LOG_STORE_TIMEOUT_S" in words
    assert "LOG_STORE_TIMEOUT_S" not in store_failure_words(OSError("no room"))
    made = _log_storage("s3://logs/hud")["OPTIONS"]
    assert isinstance(made, dict)
    config = made["client_config"]
    assert (config.connect_timeout, config.read_timeout) == (60, 60)


def test_a_log_that_github_no_longer_has_is_said_to_be_gone(github: FakeGitHub, client: GitHubClient) -> None:
    assert _take(_red()).logs_wanted
    logs.fetch_due_logs(client=client)
    log = Log.objects.get()
    assert (log.status, log.next_attempt_at) == ("gone", None)
    assert Cell.objects.get().verdict == "unknown"


def test_a_time_out_told_only_in_an_annotation_makes_the_cancelled_cell_red(
    github: FakeGitHub, client: GitHubClient
) -> None:
    said = {"annotation_level": "failure", "path": ".github", "title": "", "raw_details": ""}
    _kestrel(github).annotations = {
        501: [
            {**said, "message": "The job running on runner r-1 has exceeded the maximum execution time of 60 minutes."}
        ]
    }
    assert _take(_red(conclusion="cancelled")).logs_wanted
    assert Cell.objects.get().state == "cancelled"
    logs.fetch_due_logs(client=client)
    assert Run.objects.get(external_id=501).failures.get(rank=0).category == "timeout"
    assert Cell.objects.get().state == "timed_out"
    assert Streak.objects.get().length == 1
    assert not any(path.endswith("/logs") for path in github.paths())


def test_a_superseded_run_stays_cancelled_and_gives_no_signal(github: FakeGitHub, client: GitHubClient) -> None:
    message = "Canceling since a higher priority waiting request for ci-refs/heads/main exists"
    _kestrel(github).annotations = {501: [{"annotation_level": "failure", "path": ".github", "message": message}]}
    assert _take(_red(conclusion="cancelled")).logs_wanted
    logs.fetch_due_logs(client=client)
    assert Cell.objects.get().state == "cancelled"
    assert not Streak.objects.exists()


def test_a_rate_limit_puts_the_log_off_without_counting_as_a_failure(github: FakeGitHub, client: GitHubClient) -> None:
    _kestrel(github).logs = {501: RED_LOG}
    assert _take(_red()).logs_wanted
    github.script("*", Scripted(429, {"message": "Too many requests"}, {"Retry-After": "30"}))
    logs.fetch_due_logs(client=client)
    log = Log.objects.get()
    assert (log.status, log.attempts) == ("pending", 0)
    assert log.next_attempt_at is not None
    assert timedelta(seconds=25) < log.next_attempt_at - timezone.now() < timedelta(seconds=35)


def test_a_broken_github_is_tried_again_with_growing_waits_then_given_up_and_said(
    github: FakeGitHub, client: GitHubClient
) -> None:
    assert _take(_red()).logs_wanted
    waits = []
    for _ in range(logs.ATTEMPTS):
        github.script("*", Scripted(502, {"message": "Bad gateway"}))
        Log.objects.update(next_attempt_at=None)
        logs.fetch_due_logs(client=client)
        log = Log.objects.get()
        if log.next_attempt_at:
            waits.append((log.next_attempt_at - timezone.now()).total_seconds())
    assert log.status == "failed"
    assert log.error
    assert waits[:3] == sorted(waits[:3])
    assert waits[2] > 100


def test_a_redirect_to_a_host_that_is_not_configured_is_refused_and_said(
    github: FakeGitHub, client: GitHubClient
) -> None:
    assert _take(_red()).logs_wanted
    inside = "http://169.254.169.254/latest/meta-data"
    github.script("/repos/brindle/kestrel/check-runs/501/annotations", Scripted(200, []))
    github.script("/repos/brindle/kestrel/actions/jobs/501/logs", Scripted(302, None, {"Location": inside}))
    logs.fetch_due_logs(client=client)
    log = Log.objects.get()
    assert log.status == "refused"
    assert "169.254.169.254" in log.error


def test_a_refused_redirect_is_asked_for_again_and_its_signature_is_kept_nowhere(
    github: FakeGitHub, client: GitHubClient, caplog: pytest.LogCaptureFixture
) -> None:
    with BlobHost() as blob:
        blob.script("/log", Scripted(403, b"<Error><Code>AuthenticationFailed</Code></Error>"), Scripted(200, RED_LOG))
        for number in ("one", "two"):
            place = {"Location": f"{blob.url}/log?sig={number}"}
            github.script("/repos/brindle/kestrel/actions/jobs/501/logs", Scripted(302, None, place))
        assert _take(_red()).logs_wanted
        logs.fetch_due_logs(client=client)
        assert [s.query["sig"] for s in blob.requests] == ["one", "two"]
        assert not any({"authorization", "cookie"} & s.headers.keys() for s in blob.requests)
    log = Log.objects.get()
    assert log.status == "stored"
    assert b"".join(logs.log_store().raw(log.key)) == RED_LOG
    assert "sig=" not in caplog.text + log.error


def test_a_crash_of_the_classifier_costs_no_log_and_excuses_nothing(
    github: FakeGitHub, client: GitHubClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(classifier.Session, "feed", crash)
    _kestrel(github).logs = {501: RED_LOG}
    assert _take(_red()).logs_wanted
    logs.fetch_due_logs(client=client)
    log = Log.objects.get()
    assert log.status == "stored"
    assert "The classifier crashed: RecursionError" in log.error
    assert Cell.objects.get().verdict == "unknown"


def test_classification_past_its_time_limit_names_the_setting(
    github: FakeGitHub, client: GitHubClient, settings: Any
) -> None:
    settings.CLASSIFY_TIMEOUT_S = 0
    _kestrel(github).logs = {501: RED_LOG}
    assert _take(_red()).logs_wanted
    logs.fetch_due_logs(client=client)
    assert "CLASSIFY_TIMEOUT_S" in Log.objects.get().error


def test_a_log_past_its_limit_keeps_head_and_tail_and_says_what_was_cut(
    github: FakeGitHub, client: GitHubClient, settings: Any
) -> None:
    settings.LOG_MAX_BYTES, settings.LOG_HEAD_BYTES, settings.LOG_TAIL_BYTES = 3_000_000, 1_000_000, 1_000_000
    filler = b"".join(b"line %07d of many\n" % i for i in range(1, 200_001))
    _kestrel(github).logs = {501: filler + RED_LOG}
    assert _take(_red()).logs_wanted
    logs.fetch_due_logs(client=client)
    log = Log.objects.get()
    assert (log.line_count, log.size_bytes) == (200_001, len(filler) + len(RED_LOG))
    assert log.cut
    assert log.cut["bytes"] > 500_000
    assert Failure.objects.get(rank=0).line_number == 200_001


def test_a_second_cause_in_a_streak_is_marked_as_a_change(github: FakeGitHub, client: GitHubClient) -> None:
    other = RED_LOG.replace(b"test_io.py::test_seek", b"test_net.py::test_bind")
    _kestrel(github).logs = {501: RED_LOG, 502: RED_LOG, 503: other}
    applied = _take(_red(501, "c1"), _red(502, "c2"), _red(503, "c3"))
    assert applied.logs_wanted
    logs.fetch_due_logs(client=client)
    streak = Streak.objects.get()
    assert (streak.length, len(streak.changes)) == (3, 1)
    cells = Cell.objects.order_by("run__external_id")
    assert [c.verdict for c in cells] == ["regression", "broken_trunk", "regression"]


def test_a_workflow_that_did_not_start_is_a_matter_of_configuration(github: FakeGitHub, client: GitHubClient) -> None:
    applied = _take(event("workflow_run", workflow_run(950, "c2", conclusion="startup_failure")))
    assert applied.logs_wanted
    logs.fetch_due_logs(client=client)
    assert Failure.objects.get().category == "config"
    assert github.paths() == []


def test_a_synthetic_repository_asks_github_for_nothing(github: FakeGitHub, client: GitHubClient) -> None:
    assert _take(_red()).logs_wanted
    Repository.objects.update(synthetic=True)
    logs.fetch_due_logs(client=client)
    assert github.paths() == []
    assert Log.objects.get().status == "gone"


def test_annotations_that_are_announced_later_are_read_and_classified(github: FakeGitHub, client: GitHubClient) -> None:
    (run_id,) = _take(_red()).logs_wanted
    logs.fetch_due_logs(client=client)
    said = {"annotation_level": "failure", "path": ".github", "title": ""}
    _kestrel(github).annotations = {
        501: [{**said, "message": "The job has exceeded the maximum execution time of 20m0s"}]
    }
    check = {"id": 501, "status": "completed", "app": {"slug": "github-actions"}, "output": {"annotations_count": 1}}
    applied = _take(event("check_run", check))
    assert applied.annotations_wanted == [run_id]
    logs.fetch_annotations(run_id=run_id, client=client)
    assert Failure.objects.get(rank=0).category == "timeout"
    assert _take(event("check_run", check)).logs_wanted == []


def test_annotations_whose_message_was_lost_are_found_by_the_sweep(github: FakeGitHub, client: GitHubClient) -> None:
    (run_id,) = _take(_red()).logs_wanted
    logs.fetch_due_logs(client=client)
    assert logs.due_classifications() == []
    items = [{"annotation_level": "failure", "message": "No space left on device", "path": ".github"}]
    _take(("rest.annotations", {"job_id": 501, "items": items}))
    assert logs.due_classifications() == [run_id]
    logs.classify_again(Run.objects.get(pk=run_id))
    assert logs.due_classifications() == []
    assert Failure.objects.get(rank=0).category == "infra_disk"
