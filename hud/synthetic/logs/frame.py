"""The runner's frame around a script's output: its own lines before and after, a time on every line, groups."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from hud.synthetic.logs.script import Script

_BOM = "\ufeff"
_CHUNK_LINES = 500


def framed(
    script: Script,
    body: Iterable[str],
    *,
    repository: str,
    sha: str,
    runner: str,
    label: str,
    started_s: int,
    ended_s: int,
) -> Iterator[bytes]:
    """The log as bytes in chunks of some hundred lines, times from `started_s` to `ended_s`."""
    tail = list(_after(script))
    middle = list(body)
    head = [*_before(repository, sha, runner, label), *_command(script)]
    lines = [*head, *middle, *tail]
    stamps = _stamps(len(lines), started_s, ended_s)
    pending = [_BOM]
    for number, (stamp, line) in enumerate(zip(stamps, lines, strict=True), 1):
        pending.append(f"{stamp} {line}\n")
        if number % _CHUNK_LINES == 0:
            yield "".join(pending).encode()
            pending.clear()
    text = "".join(pending).encode()
    yield text[:-1] if script.end == "cut" else text


def _before(repository: str, sha: str, runner: str, label: str) -> Iterator[str]:
    yield "Current runner version: '2.330.0'"
    yield f"Runner name: '{runner}'"
    yield "##[group]Operating System"
    yield label
    yield "##[endgroup]"
    yield "##[group]GITHUB_TOKEN Permissions"
    yield "Contents: read"
    yield "Metadata: read"
    yield "##[endgroup]"
    yield "Prepare workflow directory"
    yield "Prepare all required actions"
    yield "##[group]Run actions/checkout@v5"
    yield "with:"
    yield f"  repository: {repository}"
    yield "##[endgroup]"
    yield f"Syncing repository: {repository}"
    yield f"HEAD is now at {sha[:7]}"
    yield "##[group]Restore caches"
    for name in ("toolchain", "dependencies", "objects"):
        yield f"Cache restored from key: {name}-{sha[:8]}"
    yield "##[endgroup]"


def _command(script: Script) -> Iterator[str]:
    yield f"##[group]Run {script.command}"
    yield f"\x1b[36;1m{script.command}\x1b[0m"
    yield "shell: /usr/bin/bash -e {0}"
    yield "env:"
    yield "  SHARD: from the job's name"
    yield "##[endgroup]"


def _after(script: Script) -> Iterator[str]:
    if script.end == "cut":
        return
    if script.end == "cancelled":
        yield "##[error]The operation was canceled."
    else:
        yield f"##[error]Process completed with exit code {script.exit_code}."
    yield "Post job cleanup."
    yield "Cleaning up orphan processes"


def _stamps(count: int, started_s: int, ended_s: int) -> Iterator[str]:
    """`count` times with the runner's seven digits, evenly from start to end."""
    step = max(1, (ended_s - started_s) * 10_000_000 // max(1, count))
    second, prefix = -1, ""
    for index in range(count):
        ticks = started_s * 10_000_000 + index * step
        if ticks // 10_000_000 != second:
            second = ticks // 10_000_000
            prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        yield f"{prefix}.{ticks % 10_000_000:07d}Z"
