"""What happens to each job on each commit: the named story lines first, then a background at the wanted rate.

Commits are counted from the newest: 0 is the newest when the repository was made, 5 is older, -3 comes later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hud.synthetic.columns import INTEGRATION, Column
from hud.synthetic.dice import Dice


@dataclass(frozen=True)
class Cause:
    """Why a run failed. `kind` names a log in `hud.synthetic.logs`; runs of one `variant` tell the same story."""

    kind: str
    variant: int = 0


@dataclass(frozen=True)
class Fate:
    """How one attempt ends. `by` says who started it: push, schedule, person (a rerun) or bot (a restart)."""

    conclusion: str
    cause: Cause | None = None
    by: str = "push"


@dataclass(frozen=True)
class Streak:
    """A job that is red from commit `first_bad` up to, not including, commit `fixed_at`."""

    job: str
    first_bad: int
    fixed_at: int
    cause: Cause
    breaking_title: str = ""
    fixing_title: str = ""
    change_at: int | None = None
    changed_cause: Cause | None = None
    starves: str = ""
    """Jobs whose names start so need this one, and are skipped while it is red."""

    def covers(self, commit: int) -> bool:
        return self.fixed_at < commit <= self.first_bad

    def cause_at(self, commit: int) -> Cause:
        changed = self.change_at is not None and commit <= self.change_at
        return self.changed_cause if changed and self.changed_cause else self.cause


SUCCESS = Fate("success")
SKIPPED = Fate("skipped")

_SHARD = "linux-noble-gcc13 / test (default, 2, 5, linux.large)"

STREAKS = (
    Streak(
        "broker",
        5,
        -5,
        Cause("maven_test", 1),
        "broker: Hand leases over before the drain ends",
        "Revert the early lease hand-over",
    ),
    Streak(
        _SHARD,
        9,
        -7,
        Cause("pytest_assert", 2),
        "codec: Read varints eight bytes at a time",
        "codec: Keep the sign when a varint ends a page",
        change_at=4,
        changed_cause=Cause("pytest_error", 3),
    ),
    Streak("native (gtest)", 9, 6, Cause("gtest", 2), fixing_title="codec: Mask the last byte of a varint"),
    Streak("ruff", 14, 12, Cause("ruff", 1), "console: Sort tables on the server", "Remove two unused imports"),
    Streak(
        "sphinx", 28, 18, Cause("sphinx", 1), "Document how quota grants are sized", "Fix a heading in the quota guide"
    ),
    Streak(
        "windows-2022-msvc / build",
        31,
        22,
        Cause("msvc", 1),
        "scheduler: Wake timers by absolute time",
        "scheduler: Include the right clock header on Windows",
        starves="windows-2022-msvc / test",
    ),
    Streak(
        "jest (1, 2)",
        44,
        37,
        Cause("jest", 4),
        "console: Draw the cluster map on a canvas",
        "console: Round map coordinates",
    ),
    Streak(
        "linux-noble-gcc13 / build",
        58,
        57,
        Cause("gcc", 6),
        "index: Make block handles move-only",
        "index: Name the moved handle",
        starves="linux-noble-gcc13 / test",
    ),
    Streak(
        "acceptance (secure)",
        63,
        52,
        Cause("maven_test", 7),
        "gateway: Ask for client certificates once",
        "gateway: Keep the session ticket key",
    ),
    Streak(
        "storage (cargo)",
        75,
        70,
        Cause("cargo_test", 8),
        "ledger: Seal ledgers in the background",
        "ledger: Wait for the seal on close",
    ),
    Streak(
        "agent (go)",
        88,
        84,
        Cause("go_race", 2),
        "metrics: Share label sets between scrapes",
        "metrics: Guard shared label sets",
    ),
    Streak(
        "mypy", 96, 94, Cause("mypy", 1), "client: Type the retry token", "client: Import the token type when checking"
    ),
)

# (commit, job) -> attempts, for what happens once.
EVENTS: Mapping[tuple[int, str], tuple[Fate, ...]] = {
    (2, "jest (2, 2)"): (Fate("failure", Cause("jest", 9)), Fate("success", by="bot")),
    (9, "recovery"): (Fate("failure", Cause("maven_test", 12)), Fate("success", by="person")),
    (7, "acceptance (ha)"): (Fate("failure", Cause("runner_lost")),),
    (8, "linux-noble-gcc13 / test (distributed, 1, 3, linux.gpu.a10)"): (
        Fate("failure", Cause("runner_lost", 1)),
        Fate("success", by="bot"),
    ),
    (10, "playwright (firefox)"): (
        Fate("failure", Cause("playwright", 3)),
        Fate("failure", Cause("playwright", 3), by="person"),
        Fate("success", by="person"),
    ),
    (11, "upgrade (from 3.2)"): (Fate("failure", Cause("job_timeout")),),
    (12, "image (amd64)"): (Fate("failure", Cause("disk_full")),),
    (14, "image (arm64)"): (Fate("failure", Cause("registry_429")),),
    (15, "linux-noble-clang18 / test (asan, 1, 2, linux.4xlarge)"): (Fate("failure", Cause("sanitizer", 2)),),
    (19, "linux-noble-gcc13 / test (default, 4, 5, linux.large)"): (Fate("failure", Cause("oom_killed")),),
    (20, "acceptance (unsecure)"): (Fate("timed_out", Cause("job_timeout", 1)),),
    (23, "playwright (chromium)"): (Fate("failure", Cause("bare_exit")),),
    (24, "coverage"): (Fate("failure", Cause("package_index")),),
    (25, "client"): (Fate("failure", Cause("step_timeout")),),
    (26, "agent (go)"): (Fate("failure", Cause("git_fetch")), Fate("success", by="person")),
    (33, "recovery"): (Fate("cancelled", Cause("job_timeout", 2)),),
    (35, "macos-15-arm64 / test (default, 1, 2, macos-m2)"): (Fate("failure", Cause("pytest_crash", 1)),),
    (40, "filesystem"): (Fate("cancelled", Cause("stopped")), Fate("success", by="person")),
}

SUPERSEDED_AT = 3
STARTUP_FAILURE_AT = 13
MASS_FAILURE_AT = (17, 16)

# The causes in code that a tool can show, and whether a rerun may pass.
CAUSES = {
    "pytest": ("pytest_assert", "pytest_error", "pytest_timeout", "pytest_crash"),
    "gtest": ("gtest",),
    "ctest": ("ctest", "tsan"),
    "sanitizer": ("sanitizer",),
    "maven": ("maven_test", "maven_crash"),
    "javac": ("maven_compile",),
    "cargo": ("cargo_test", "cargo_compile"),
    "go": ("go_test", "go_race"),
    "jest": ("jest", "tsc"),
    "playwright": ("playwright",),
    "gcc": ("gcc", "linker"),
    "msvc": ("msvc",),
    "ruff": ("ruff",),
    "mypy": ("mypy",),
    "eslint": ("eslint",),
    "clang_format": ("clang_format",),
    "headers": ("headers",),
    "actionlint": ("actionlint",),
    "bundle": ("bundle",),
    "sphinx": ("sphinx",),
    "links": ("links",),
    "docker": ("docker_build",),
    "scan": ("scan",),
    "benchmark": ("benchmark",),
    "fuzz": ("fuzz",),
    "soak": ("soak",),
    "generic": ("config",),
}
FLAKY_TOOLS = frozenset({"pytest", "gtest", "ctest", "maven", "cargo", "go", "jest", "playwright", "soak"})
INFRA = ("runner_lost", "disk_full", "registry_429", "dns", "artifact_503", "package_index", "git_fetch", "oom_killed")
_BLOCK = 24


@dataclass
class Stories:
    """All fates of a repository. `fail_rate` is about the share of cells that end red; at 0 everything passes."""

    dice: Dice
    columns: list[Column]
    fail_rate: float
    _streaks: dict[int, list[Streak]] = field(default_factory=dict)
    _starved: dict[int, list[Streak]] = field(default_factory=dict)
    _titles: dict[int, str] = field(default_factory=dict)
    _causes: dict[int, list[tuple[Column, Cause]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.fail_rate <= 0:
            return
        columns = {column.name: column for column in self.columns}
        for streak in STREAKS:
            if (column := columns.get(streak.job)) is not None:
                self._streaks.setdefault(column.index, []).append(streak)
                self._tell(streak, column)
        for column in self.columns:
            hungry = [streak for streak in STREAKS if streak.starves and column.name.startswith(streak.starves)]
            if hungry:
                self._starved[column.index] = hungry

    def title(self, commit: int) -> str | None:
        """The title that a story gives this commit."""
        return self._titles.get(commit)

    def fates(self, commit: int, column: Column) -> tuple[Fate, ...]:
        """The attempts of a job on a commit, oldest first."""
        if (quiet := self._quiet(commit, column)) is not None:
            return (quiet,)
        if self.fail_rate <= 0:
            return (SUCCESS,)
        return self._told(commit, column) or self._background(commit, column)

    def scheduled(self, commit: int, column: Column) -> tuple[Fate, ...]:
        """The attempt that the nightly schedule adds to a job that the push ran too."""
        red = self.told_streak(commit, column)
        if red is not None:
            return (Fate("failure", red, by="schedule"),)
        if self.fail_rate > 0 and (commit, column.name) == (29, "client"):
            return (Fate("failure", Cause("maven_test", 21), by="schedule"),)
        return (Fate("success", by="schedule"),)

    def has_startup_failure(self, commit: int) -> bool:
        return self.fail_rate > 0 and commit == STARTUP_FAILURE_AT

    def in_mass_failure(self, commit: int, column: Column) -> bool:
        """Whether the outage took this job; the outage takes no more than a quarter of all red cells."""
        if commit not in MASS_FAILURE_AT or self.fail_rate <= 0 or column.tool in ("ruff", "mypy", "eslint", "generic"):
            return False
        return self.dice.chance(min(0.6, 12 * self.fail_rate), "outage", column.index)

    def causes(self, commit: int) -> list[tuple[Column, Cause]]:
        """What this commit breaks, changes or mends by the named stories, with the jobs that show it."""
        return self._causes.get(commit, [])

    def touches_docs(self, commit: int) -> bool:
        """Whether the jobs that read documentation run on this commit."""
        return commit in (28, 18) or self.dice.chance(0.35, "docs", commit)

    def _tell(self, streak: Streak, column: Column) -> None:
        turns = (streak.first_bad, streak.fixed_at, streak.change_at)
        for commit in (turn for turn in turns if turn is not None):
            cause = streak.cause_at(max(commit, streak.fixed_at + 1))
            self._causes.setdefault(commit, []).append((column, cause))
        if streak.breaking_title:
            self._titles[streak.first_bad] = streak.breaking_title
        if streak.fixing_title:
            self._titles[streak.fixed_at] = streak.fixing_title

    def _quiet(self, commit: int, column: Column) -> Fate | None:
        """Jobs that give no signal here by the workflow's own conditions."""
        if column.name == "publish (pypi)":
            return SKIPPED
        if column.tool in ("sphinx", "links") and not self.touches_docs(commit):
            return SKIPPED
        if (
            column.tool == "generic"
            and column.name != "changes"
            and self.dice.chance(0.15, "neutral", commit, column.index)
        ):
            return Fate("neutral")
        return None

    def _told(self, commit: int, column: Column) -> tuple[Fate, ...] | None:
        if commit == SUPERSEDED_AT and column.workflow == INTEGRATION:
            return (Fate("cancelled", Cause("superseded")),)
        if (cause := self.told_streak(commit, column)) is not None:
            return (Fate("failure", cause),)
        if any(streak.covers(commit) for streak in self._starved.get(column.index, ())):
            return (SKIPPED,)
        if (commit, column.name) in EVENTS:
            return EVENTS[commit, column.name]
        if self.in_mass_failure(commit, column):
            return (Fate("failure", Cause(self.dice.pick(("dns", "artifact_503"), "outage kind", column.index))),)
        return None

    def told_streak(self, commit: int, column: Column) -> Cause | None:
        """The cause of the named streak that has the job red on this commit, None where none has."""
        for streak in self._streaks.get(column.index, ()):
            if streak.covers(commit):
                return streak.cause_at(commit)
        return None

    def _background(self, commit: int, column: Column) -> tuple[Fate, ...]:
        rate = 0.35 if column.tool == "soak" else self.fail_rate
        if (cause := self._background_streak(commit, column, rate)) is not None:
            return (Fate("failure", cause),)
        luck = self.dice.roll("luck", commit, column.index)
        if luck < 0.15 * rate:
            return (Fate("failure", Cause(self.dice.pick(INFRA, "infra", commit, column.index))),)
        if column.tool not in FLAKY_TOOLS or luck >= 0.45 * rate:
            return (SUCCESS,)
        flake = Fate("failure", self._cause(column, "flake", self.dice.between(0, 2, "flake", commit, column.index)))
        if luck < 0.27 * rate:
            return (flake,)
        return (flake, Fate("success", by="bot" if luck < 0.36 * rate else "person"))

    def _background_streak(self, commit: int, column: Column, rate: float) -> Cause | None:
        """At most one streak in each block of commits, 2 to 14 long, placed by the block's own roll."""
        block = commit // _BLOCK
        if not self.dice.chance(min(0.9, 1.8 * rate), "streak", column.index, block):
            return None
        length = self.dice.between(2, 14, "length", column.index, block)
        oldest = block * _BLOCK + self.dice.between(length - 1, _BLOCK - 1, "place", column.index, block)
        if not oldest - length < commit <= oldest:
            return None
        changes = length > 5 and self.dice.chance(0.3, "change", column.index, block)
        return self._cause(column, block, 1 if changes and commit <= oldest - length // 2 else 0)

    def _cause(self, column: Column, *parts: object) -> Cause:
        kinds = CAUSES[column.tool]
        number = self.dice.number("cause", column.index, *parts)
        return Cause(kinds[number % len(kinds)], number // 16 % 1000)
