"""`python -m classifier.accuracy [SHARED] [--logs DIR]`: how often the primary line and its category are right.

Labelled cases: the folder `tests/logs/` of this project (the cause is marked in the file, see `own_cases`), and, where
it exists, the shared folder of recorded logs (`data/logs`, `logs_pytorch`, `logs_mozilla`, `annotations`).
"""

import argparse
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from classifier.engine import Engine
from classifier.results import Annotation, Classification

ROOT: Final = Path(__file__).resolve().parent.parent
MARK: Final = "#? "
"""Lines of tests/logs/ that begin with this are the label, and no part of the log."""

LineRange = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """A log with its label. No accepted lines: the category alone counts; no categories: the line alone."""

    name: str
    tool: str
    log: Callable[[], bytes]
    lines: tuple[LineRange, ...] = ()
    categories: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    group: str = ""
    nothing: bool = False
    """The log holds no failure at all: nothing but generic lines may be found."""


@dataclass(frozen=True)
class Outcome:
    """How one case went."""

    case: Case
    result: Classification
    line_right: bool
    in_top3: bool
    category_right: bool

    def complaint(self) -> str:
        """What was found instead, in a line."""
        failures = self.result.failures
        found = (
            f"{failures[0].line_number} [{failures[0].category}] {failures[0].rule}: {failures[0].line[:90]}"
            if failures
            else "nothing"
        )
        wanted = "nothing" if self.case.nothing else f"{list(self.case.lines[:3])} {'|'.join(self.case.categories)}"
        marks = ("" if self.line_right else " LINE") + ("" if self.category_right else " CATEGORY")
        return f"{self.case.group}/{self.case.name}:{marks} wanted {wanted}; found {found}"


def judged(case: Case, engine: Engine) -> Outcome:
    """Classifies the case's log and compares."""
    result = engine.classify(case.log(), case.annotations)
    failures = result.failures
    if case.nothing:
        silent = all(failure.generic for failure in failures)
        return Outcome(case, result, silent, silent, silent)
    numbers = [failure.line_number for failure in failures]
    right = [any(low <= number <= high for low, high in case.lines) for number in numbers]
    line_right = not case.lines or bool(right and right[0])
    in_top3 = not case.lines or any(right[:3])
    category_right = not case.categories or bool(failures and failures[0].category in case.categories)
    return Outcome(case, result, line_right, in_top3, category_right)


# Cases


def own_cases(folder: Path) -> Iterator[Case]:
    """`tests/logs/<tool>-<what>.log`: lines that begin with `#? ` are the label (`#? category: test`, `#? tests: a, b`,
    `#? nothing`), and `#? ->` on a line of its own marks the line after it as the cause."""
    for path in sorted(folder.glob("*.log")):
        yield own_case(path)


def own_case(path: Path) -> Case:
    """One file of `tests/logs/`."""
    log: list[bytes] = []
    lines: list[LineRange] = []
    said: dict[str, str] = {}
    for raw in path.read_bytes().splitlines(keepends=True):
        if not raw.startswith(MARK.encode()):
            log.append(raw)
            continue
        note = raw.decode()[len(MARK) :].strip()
        if note == "->":
            lines.append((len(log) + 1, len(log) + 1))
        else:
            key, _, value = note.partition(":")
            said[key.strip()] = value.strip()
    whole = b"".join(log)
    categories = tuple(part.strip() for part in said.get("category", "").split("|") if part.strip())
    tests = tuple(part.strip() for part in said.get("tests", "").split(", ") if part.strip())
    return Case(
        path.stem,
        path.stem.partition("-")[0],
        lambda: whole,
        tuple(lines),
        categories,
        tests,
        group="own",
        nothing="nothing" in said,
    )


def shared_cases(data: Path) -> Iterator[Case]:
    """The labelled cases of the shared folder; none where it is absent."""
    for name, reader in (
        ("logs", _log_case),
        ("logs_pytorch", _pytorch_case),
        ("logs_mozilla", _mozilla_case),
        ("annotations", _annotation_case),
    ):
        index = data / name / "index.json"
        if index.exists():
            for entry in json.loads(index.read_text(encoding="utf-8")):
                case = reader(data / name, entry)
                if case:
                    yield case


def _log_case(folder: Path, entry: dict[str, Any]) -> Case:
    lines = tuple((low, high) for low, high in entry["accepted_lines"])
    source = entry["id"].split("-")[0]
    tool = entry.get("tool") or entry["language"]
    return Case(entry["id"], tool, _reader(folder / entry["file"]), lines, tuple(entry["categories"]),
                tuple(entry.get("tests", ())), group=f"logs/{source}")  # fmt: skip


def _pytorch_case(folder: Path, entry: dict[str, Any]) -> Case | None:
    number = entry["line_number"]
    lines = ((number, number),) if number else ()
    return Case(entry["id"], "pytorch", _reader(folder / entry["file"]), lines, group="logs_pytorch") if lines else None


def _mozilla_case(folder: Path, entry: dict[str, Any]) -> Case:
    lines = tuple((error["line_number"], error["line_number"]) for error in entry["error_lines"])
    return Case(entry["id"], "mozilla", _reader(folder / entry["file"]), lines, group="logs_mozilla", nothing=not lines)


def _annotation_case(folder: Path, entry: dict[str, Any]) -> Case:
    items = json.loads((folder / entry["file"]).read_text(encoding="utf-8"))
    annotations = tuple(
        Annotation(item["annotation_level"], item["message"], item["title"], item["path"]) for item in items
    )
    return Case(
        entry["id"],
        "annotation",
        lambda: b"",
        ((0, 0),),
        tuple(entry["categories"]),
        annotations=annotations,
        group="annotations",
    )


def _reader(path: Path) -> Callable[[], bytes]:
    return lambda: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


# Report


def table(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> list[str]:
    """Lines of a table: cases, right line, right line in the first three, right category, by the key."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[key(outcome)].append(outcome)
    rows = [f"{'':32} {'cases':>6} {'line':>7} {'top 3':>7} {'category':>9}"]
    rows.extend(_row(name, group) for name, group in sorted(groups.items()))
    return rows


def _row(name: str, group: Sequence[Outcome]) -> str:
    shares = [
        sum(map(right, group)) / len(group)
        for right in (lambda o: o.line_right, lambda o: o.in_top3, lambda o: o.category_right)
    ]
    return f"{name[:32]:32} {len(group):6} {shares[0]:7.1%} {shares[1]:7.1%} {shares[2]:9.1%}"


def main(arguments: list[str] | None = None) -> int:
    """Prints the tables and each miss."""
    parser = argparse.ArgumentParser(
        prog="python -m classifier.accuracy", description="Measures the classifier on labelled logs."
    )
    parser.add_argument(
        "shared", nargs="?", type=Path, default=ROOT.parent / "shared", help="the folder that holds data/ (../shared)"
    )
    parser.add_argument("--logs", type=Path, default=ROOT / "tests" / "logs", help="the project's own labelled logs")
    options = parser.parse_args(arguments)
    cases = [*shared_cases(options.shared / "data"), *own_cases(options.logs)]
    engine = Engine()
    outcomes = [judged(case, engine) for case in cases]
    handed = [outcome for outcome in outcomes if outcome.case.group != "own"]
    print("\n".join(["By source", *table(outcomes, lambda o: o.case.group)]))
    print("\n".join(["", "By tool", *table(outcomes, lambda o: o.case.tool)]))
    print("\n".join(["", "By category", *table(outcomes, lambda o: (o.case.categories or ("not labelled",))[0])]))
    misses = [outcome for outcome in outcomes if not (outcome.line_right and outcome.category_right)]
    print("\n".join(["", f"Misses ({len(misses)})", *(outcome.complaint() for outcome in misses)]))
    print(
        "\n".join(
            [
                "",
                "In all",
                table(outcomes, lambda o: "x")[0],
                *(_row(name, group) for name, group in (("handed", handed), ("all", outcomes)) if group),
            ]
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
