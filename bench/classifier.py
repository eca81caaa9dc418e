"""The classifier's benchmark: `python bench/classifier.py [--mb 200]` prints one JSON line.

The big log is synthetic: GitHub's timestamps, ninja and pytest lines, few failures. ripgrep runs with the same patterns
in the same run where the machine has it; `of_ripgrep` is null otherwise. Each figure is the best of three, in seconds
of one processor, so that other work on the machine counts little.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from classifier import Engine, Ruleset, RuleSpec  # noqa: E402  (the path above is needed first)
from classifier.hints import required_texts  # noqa: E402

PORTION_BYTES: Final = 1 << 18
ROUNDS: Final = 3
RIPGREP_BYTES: Final = 20_000_000
SMALL_LOG_BYTES: Final = 66_000
FAILURE_EVERY_LINES: Final = 400_000


def synthetic_lines(seed: int = 7) -> Iterator[bytes]:
    """An endless CI log: what a large build and its tests print, with a failure now and then."""
    rnd = random.Random(seed)
    parts = ["core", "error_handling", "net", "render", "failure_injection", "codec", "store", "fatal", "timeout"]
    for number in range(1, 10**9):
        clock = f"{number // 36000 % 24:02}:{number // 600 % 60:02}:{number // 10 % 60:02}.{number % 10**7:07}"
        stamp = f"2026-03-{1 + number // 10**7 % 28:02}T{clock}Z "
        area, file = rnd.choice(parts), rnd.choice(parts)
        if number % FAILURE_EVERY_LINES == 0:
            text = f"FAILED tests/{area}/test_{file}.py::test_case_{number} - AssertionError: 1 != 2"
        elif number % 3:
            target = f"src/{area}/CMakeFiles/{area}.dir/{file}_{number % 977}.cpp.o"
            text = f"[{number % 9000}/9000] Building CXX object {target}"
        else:
            test = f"tests/{area}/test_{file}.py::Test{area.title()}::test_{file}_case_{number % 1000}"
            text = f"{test} PASSED [{number % 100:3}%]"
        yield (stamp + text + "\n").encode()


def write_log(path: Path, size_bytes: int) -> int:
    """Writes a log of about this size; returns its lines."""
    written = lines = 0
    with path.open("wb") as file:
        for line in synthetic_lines():
            written += file.write(line)
            lines += 1
            if written >= size_bytes:
                return lines
    return lines


def portions(path: Path) -> Iterator[bytes]:
    """The file as a worker would read it."""
    with path.open("rb") as file:
        while portion := file.read(PORTION_BYTES):
            yield portion


def processor_s() -> float:
    """Seconds of processor that this process and the children it waited for have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def best_s(work: Callable[[], Any]) -> float:
    """The quickest of some rounds, seconds of processor."""
    times = []
    for _ in range(ROUNDS):
        begun = processor_s()
        work()
        times.append(processor_s() - begun)
    return max(min(times), 0.001)


def doubled(ruleset: Ruleset) -> Ruleset:
    """Every rule twice, the second time about other words: as many new texts to look for."""
    again = [rule for rule in ruleset.rules if rule.inside is None and not rule.hint]
    return replace(ruleset, rules=ruleset.rules + tuple(_with_other_words(rule) for rule in again))


def _with_other_words(rule: RuleSpec) -> RuleSpec:
    hints = tuple(_other_words(text) for text in rule.hints)
    return replace(rule, name=f"{rule.name} again", pattern=_other_words(rule.pattern), hints=hints)


def _other_words(pattern: str) -> str:
    """The pattern with its words spelled backwards: a rule of the same shape that looks for other texts."""
    return re.sub(r"(?<![\\\w<])[A-Za-z]{4,}(?![\w>])", lambda word: word.group()[::-1], pattern)


def ripgrep_mb_per_s(path: Path, patterns: list[str], *options: str) -> float | None:
    """ripgrep's speed with these patterns, on one thread, over the log's beginning; None without ripgrep."""
    program = shutil.which("rg")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        listed, sample = Path(folder) / "patterns.txt", Path(folder) / "sample.log"
        listed.write_text("\n".join(patterns) + "\n", encoding="utf-8")
        with path.open("rb") as log:
            sample.write_bytes(log.read(RIPGREP_BYTES))
        command = [
            program,
            "-j1",
            "-c",
            "--no-config",
            "--regex-size-limit",
            "200M",
            "--dfa-size-limit",
            "200M",
            *options,
        ]
        return sample.stat().st_size / 1e6 / best_s(lambda: _searched([*command, "-f", str(listed), str(sample)]))


def rule_patterns(ruleset: Ruleset) -> list[str]:
    """The patterns that every line is asked for. ripgrep joins them into one, where groups' names would clash."""
    return [re.sub(r"\(\?P<\w+>", "(", rule.pattern) for rule in ruleset.rules if rule.inside is None]


def fixed_texts(ruleset: Ruleset) -> list[str]:
    """The texts that the scan looks for: what ripgrep finds fastest."""
    texts = {
        text
        for rule in ruleset.rules
        if rule.inside is None
        for text in rule.hints or required_texts(rule.pattern) or ()
    }
    return sorted(text.strip("\n") for text in texts)


def _searched(command: list[str]) -> None:
    """Runs ripgrep; 0 (found) and 1 (nothing found) are fine, anything else is a fault of the benchmark."""
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    if found.returncode > 1:
        raise RuntimeError(f"ripgrep: {found.stderr[-300:]}")


def small_logs() -> list[bytes]:
    """Logs of the median size of real ones, each with one of the failures of tests/logs."""
    lines = synthetic_lines()
    quiet = b"".join(next(lines) for _ in range(SMALL_LOG_BYTES // 120))
    return [quiet + path.read_bytes() for path in sorted((ROOT / "tests" / "logs").glob("*.log"))]


def peak_mb(path: Path) -> float:
    """Peak memory of a process of its own that classifies the file."""
    code = (f"import sys; sys.path.insert(0, {str(ROOT)!r}); from classifier import Engine\n"
            f"file = open({str(path)!r}, 'rb'); Engine().classify(iter(lambda: file.read({PORTION_BYTES}), b''))\n"
            "print(open('/proc/self/status').read())")  # fmt: skip
    status = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measured(path: Path, size_mb: int) -> dict[str, Any]:
    """All figures of the benchmark."""
    lines = write_log(path, size_mb * 1_000_000)
    ruleset = Ruleset.builtin()
    engine, twice = Engine(ruleset), Engine(doubled(ruleset))
    size = path.stat().st_size / 1e6
    one_s = best_s(lambda: engine.classify(portions(path)))
    two_s = best_s(lambda: twice.classify(portions(path)))
    grep = ripgrep_mb_per_s(path, rule_patterns(ruleset))
    grep_texts = ripgrep_mb_per_s(path, fixed_texts(ruleset), "-F")
    logs = small_logs()
    small_s = best_s(lambda: [engine.classify(log) for log in logs])
    long_line = b"2026-03-01T00:00:00.0000000Z " + b"progress error: " * (50_000_000 // 16)
    long_s = best_s(lambda: engine.classify(long_line))
    return {
        "bench": "classifier",
        "rules": len(ruleset.rules),
        "log_mb": round(size, 1),
        "mb_per_s": round(size / one_s, 1),
        "lines_per_s": round(lines / one_s),
        "mb_per_s_rules_doubled": round(size / two_s, 1),
        "slower_with_rules_doubled": round(1 - one_s / two_s, 3),
        "ripgrep_mb_per_s": grep and round(grep, 1),
        "of_ripgrep": grep and round(size / one_s / grep, 2),
        "of_ripgrep_with_fixed_texts": grep_texts and round(size / one_s / grep_texts, 2),
        "peak_mb": round(peak_mb(path), 1),
        "small_logs_per_s": round(len(logs) / small_s),
        "small_log_median_bytes": statistics.median(len(log) for log in logs),
        "line_of_50_mb_s": round(long_s, 3),
    }


def main() -> None:
    """Prints the JSON line."""
    parser = argparse.ArgumentParser(description="Measures the classifier's speed and memory.")
    parser.add_argument("--mb", type=int, default=200, help="size of the synthetic log (200)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(BrokenPipeError):
        print(json.dumps(measured(Path(folder) / "big.log", options.mb)))


if __name__ == "__main__":
    main()
