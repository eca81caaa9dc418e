"""The log page and the classifier read the same text out of the same line."""

import gzip
from itertools import islice

import pytest

from classifier.lines import clean_line
from hud.core.terminal import terminal_line

# The classifier leaves invisible characters out or in as they are; the page shows a mark in their place.
_INVISIBLE = dict.fromkeys([0x200B, 0x200D, 0x202C, 0x202E, 0x2066, 0x2069, 0xFEFF])


def page_text(raw: bytes) -> str:
    return "".join(span.text for span in terminal_line(raw).spans if span.classes != "t-odd").rstrip()


def classifier_text(raw: bytes) -> str:
    return clean_line(raw).translate(_INVISIBLE).rstrip()


@pytest.mark.parametrize(
    "line",
    [
        "plain",
        "2026-03-02T09:00:01.1234567Z ##[error]Process completed with exit code 1.",
        "\ufeff2026-03-02T09:00:01.1234567Z first",
        "\x1b]8;;https://docs.example.invalid/E12\x1b\\E12\x1b]8;;\x1b\\ see link",
        "\x1b]8;;javascript:alert(1)\x07click me\x1b]8;;\x07",
        "\x1b[38;5;196mred256\x1b[0m \x1b[38;2;0;200;0mtrue\x1b[0m",
        "\x1b[2K\x1b[1A\x1b[?25lover",
        "\u009b31mC1\u009b0m",
        "user\u202ecod.exe\u202c done\u200b",
        "FAI\x1b[1mLED\x1b[0m t/test_c.py::test_d - AssertionError",
        "\x1b]0;title never closed",
        "collecting\r",
        " 10%\r 55%\r100%\r",
        "FAILED tests/test_nul.py::test_a\x00b - AssertionError",
        "wsl: no".encode("utf-16-le").decode(),
        "Größe 日本語",
        "a\x07b\x1b(Bc\x1b7",
    ],
)
def test_both_read_the_same_text(line):
    assert page_text(line.encode()) == classifier_text(line.encode())


def test_both_read_the_same_text_in_recorded_logs(shared_data):
    logs = sorted((shared_data / "logs_pytorch").glob("*.txt")) + sorted((shared_data / "logs").glob("*.log"))[:60]
    ozone = sorted((shared_data / "github" / "ozone" / "logs").glob("*.log.gz"))[:10]
    assert logs and ozone
    for path in logs:
        compare(path.read_bytes().split(b"\n"), path.name)
    for path in ozone:
        with gzip.open(path) as file:
            compare(islice(file, 2000), path.name)


def compare(lines, name):
    """Programs' own times at the start of a line stay on the page, and go for the classifier."""
    for number, raw in enumerate(lines, 1):
        if len(raw) < 10_000:
            assert page_text(raw).endswith(classifier_text(raw)), f"{name}:{number}"
