"""A log line is readable, and tells no secret."""

import json
import logging
import sys

import pytest

from hud.logformat import OneLineForLostConnections, SecretFreeFormatter


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("hud.poll", logging.WARNING, "x.py", 1, message, arguments, None)
    vars(made).update(extra)
    return made


def test_extra_facts_follow_the_message() -> None:
    line = SecretFreeFormatter().format(record("polled %s", "a/b", commits=3))
    assert line == "warning hud.poll: polled a/b commits=3"


def test_json_holds_message_and_extra_facts() -> None:
    line = json.loads(SecretFreeFormatter(as_json=True).format(record("polled", commits=3)))
    assert (line["message"], line["commits"], line["level"], line["logger"]) == ("polled", 3, "warning", "hud.poll")


def test_a_known_secret_is_hidden_wherever_it_stands() -> None:
    formatter = SecretFreeFormatter(secrets=["hunter2-hunter2", ""])
    try:
        raise ValueError("got hunter2-hunter2")
    except ValueError:
        told = record("with hunter2-hunter2", note="hunter2-hunter2")
        told.exc_info = sys.exc_info()
    line = formatter.format(told)
    assert "hunter2" not in line
    assert "ValueError: got [hidden]" in line


def test_a_short_value_is_not_taken_for_a_secret() -> None:
    assert "abc" in SecretFreeFormatter(secrets=["abc"]).format(record("abcdef"))


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://hud:s3cret-word@db/hud",
        "redis://:s3cret-word@host:6379/0",
        "token ghp_s3cretword0123456789",
        "github_pat_11ABCDEFG_s3cretword",
        "Authorization: Bearer s3cret-word",
        "{'Authorization': 'token s3cret-word'}",
        "GET https://x.blob.example/log.txt?sv=1&sig=s3cret-word%3D&se=2",
        "https://bucket/x?X-Amz-Signature=s3cret-word",
        "password=s3cret-word",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    line = SecretFreeFormatter().format(record("asked %s now", text))
    assert "s3cret" not in line
    assert "[hidden]" in line
    assert line.endswith(" now")


def test_ordinary_addresses_stay_readable() -> None:
    text = "GET https://api.github.com/repos/a/b/actions/runs?per_page=100&page=2"
    assert text in SecretFreeFormatter().format(record(text))


def lost_connection(logger: str, error: Exception) -> logging.LogRecord:
    try:
        try:
            raise ConnectionRefusedError(111, "Connection refused")
        except OSError as lost:
            raise error from lost
    except type(error) as raised:
        trouble = (type(raised), raised, raised.__traceback__)
    return logging.LogRecord(logger, logging.ERROR, "beat.py", 1, "Message Error: %s\n%s", ("no", ["stack"]), trouble)


def test_a_lost_broker_is_one_line_of_celerys() -> None:
    record = lost_connection("celery.beat", RuntimeError("Couldn't apply scheduled task"))
    assert OneLineForLostConnections().filter(record)
    assert SecretFreeFormatter().format(record) == "error   celery.beat: Message Error: no"


def test_a_task_that_fails_keeps_its_trace_whatever_the_error_is() -> None:
    record = lost_connection("celery.app.trace", RuntimeError("the task failed"))
    OneLineForLostConnections().filter(record)
    assert "ConnectionRefusedError" in SecretFreeFormatter().format(record)


def test_celerys_announcement_of_its_next_version_is_not_repeated_at_each_loss() -> None:
    warning = logging.LogRecord(
        "py.warnings", logging.WARNING, "w.py", 1, "%s", ("x: CPendingDeprecationWarning: y",), None
    )
    other = logging.LogRecord("py.warnings", logging.WARNING, "w.py", 1, "%s", ("x: ResourceWarning: y",), None)
    assert [OneLineForLostConnections().filter(each) for each in (warning, other)] == [False, True]
