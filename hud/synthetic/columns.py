"""The jobs of the invented project: eleven workflows, sixty jobs, and as many more platforms as asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, product


@dataclass(frozen=True)
class Workflow:
    """A workflow file. `every` says on which share of commits it runs: on each n-th."""

    number: int
    name: str
    path: str
    event: str = "push"
    every: int = 1


@dataclass(frozen=True)
class Column:
    """One job. `tool` names the family of its logs; `after_s` is how long it waits for the jobs it needs."""

    index: int
    workflow: Workflow
    name: str
    tool: str
    runner: str
    median_s: int
    after_s: int = 0


def _workflow(number: int, name: str, event: str = "push", every: int = 1) -> Workflow:
    return Workflow(number, name, f".github/workflows/{name}.yml", event, every)


LINT = _workflow(1, "lint")
BUILD = _workflow(2, "build")
UNIT = _workflow(3, "unit")
INTEGRATION = _workflow(4, "integration")
WEB = _workflow(5, "web")
DOCS = _workflow(6, "docs")
DOCKER = _workflow(7, "docker")
PERIODIC = _workflow(8, "periodic", every=4)
NIGHTLY = _workflow(9, "nightly", event="schedule", every=12)
SECURITY = _workflow(10, "security")
RELEASE = _workflow(11, "release")

WORKFLOWS = (LINT, BUILD, UNIT, INTEGRATION, WEB, DOCS, DOCKER, PERIODIC, NIGHTLY, SECURITY, RELEASE)

_HOSTED = "ubuntu-24.04"
_BUILD_S = 420

_Row = tuple[Workflow, str, str, str, int, int]  # workflow, name, tool, runner, median_s, after_s


def _shards(
    workflow: Workflow, platform: str, config: str, total: int, runner: str, tool: str, median_s: int
) -> Iterator[_Row]:
    for shard in range(1, total + 1):
        yield workflow, f"{platform} / test ({config}, {shard}, {total}, {runner})", tool, runner, median_s, _BUILD_S


def _core() -> Iterator[_Row]:
    """The sixty jobs that every larger repository has too."""
    for name, tool in (
        ("ruff", "ruff"),
        ("mypy", "mypy"),
        ("eslint", "eslint"),
        ("clang-format", "clang_format"),
        ("licence headers", "headers"),
        ("workflow syntax", "actionlint"),
    ):
        yield LINT, name, tool, _HOSTED, 70, 0
    for name, tool, runner in (
        ("linux-noble-gcc13 / build", "gcc", "linux.4xlarge"),
        ("linux-noble-clang18 / build", "gcc", "linux.4xlarge"),
        ("macos-15-arm64 / build", "gcc", "macos-15"),
        ("windows-2022-msvc / build", "msvc", "windows-2022"),
        ("jvm 17 / build", "javac", _HOSTED),
        ("jvm 21 / build", "javac", _HOSTED),
    ):
        yield BUILD, name, tool, runner, _BUILD_S, 0
    yield from _shards(UNIT, "linux-noble-gcc13", "default", 5, "linux.large", "pytest", 1500)
    yield from _shards(UNIT, "linux-noble-gcc13", "distributed", 3, "linux.gpu.a10", "pytest", 2100)
    yield from _shards(UNIT, "linux-noble-clang18", "asan", 2, "linux.4xlarge", "sanitizer", 2700)
    yield from _shards(UNIT, "macos-15-arm64", "default", 2, "macos-m2", "pytest", 1800)
    yield from _shards(UNIT, "windows-2022-msvc", "default", 2, "windows.xlarge", "pytest", 2400)
    yield UNIT, "native (gtest)", "gtest", "linux.large", 600, _BUILD_S
    yield UNIT, "native (ctest, tsan)", "ctest", "linux.large", 900, _BUILD_S
    yield UNIT, "storage (cargo)", "cargo", _HOSTED, 540, 0
    yield UNIT, "agent (go)", "go", _HOSTED, 300, 0
    for name, median_s in (
        ("client", 1100),
        ("filesystem", 1700),
        ("broker", 1900),
        ("recovery", 2300),
        ("upgrade (from 3.2)", 1500),
        ("acceptance (secure)", 2600),
        ("acceptance (unsecure)", 2500),
        ("acceptance (ha)", 3100),
    ):
        yield INTEGRATION, name, "maven", _HOSTED, median_s, _BUILD_S
    yield WEB, "jest (1, 2)", "jest", _HOSTED, 240, 0
    yield WEB, "jest (2, 2)", "jest", _HOSTED, 240, 0
    yield WEB, "playwright (chromium)", "playwright", _HOSTED, 480, 90
    yield WEB, "playwright (firefox)", "playwright", _HOSTED, 540, 90
    yield WEB, "bundle size", "bundle", _HOSTED, 110, 0
    yield DOCS, "changes", "generic", _HOSTED, 12, 0
    yield DOCS, "sphinx", "sphinx", _HOSTED, 260, 15
    yield DOCS, "link check", "links", _HOSTED, 180, 15
    yield DOCKER, "image (amd64)", "docker", _HOSTED, 620, 0
    yield DOCKER, "image (arm64)", "docker", "ubuntu-24.04-arm", 840, 0
    yield DOCKER, "scan image", "scan", _HOSTED, 90, 640
    yield from _shards(PERIODIC, "linux-noble-gcc13", "slow", 3, "linux.large", "pytest", 4200)
    yield PERIODIC, "benchmark (micro)", "benchmark", "linux.metal", 1300, _BUILD_S
    yield NIGHTLY, "fuzz (codec)", "fuzz", "linux.4xlarge", 3600, 0
    yield NIGHTLY, "soak (unstable)", "soak", "linux.metal", 5400, 0
    yield NIGHTLY, "coverage", "pytest", "linux.large", 2800, 0
    yield NIGHTLY, "compat (python 3.14t)", "pytest", "linux.large", 1700, 0
    yield SECURITY, "codeql (python)", "generic", _HOSTED, 380, 0
    yield SECURITY, "dependency review", "generic", _HOSTED, 40, 0
    yield RELEASE, "publish (pypi)", "generic", _HOSTED, 60, 0


def _platforms() -> Iterator[tuple[str, str, str]]:
    """Endless (platform, runner for tests, tool of its build)."""
    compilers = ("gcc11", "gcc14", "clang15", "clang19")
    pythons = ("py3.11", "py3.12", "py3.13", "py3.14")
    for generation in range(1, 1000):
        tag = "" if generation == 1 else f"-v{generation}"
        for python, compiler, system in product(pythons, compilers, ("linux-jammy", "linux-aarch64")):
            yield (
                f"{system}-{python}-{compiler}{tag}",
                "linux.large" if system == "linux-jammy" else "linux.arm64.large",
                "gcc",
            )
        for python in pythons:
            yield f"macos-14-arm64-{python}{tag}", "macos-m1", "gcc"
            yield f"windows-2025-{python}-msvc{tag}", "windows.xlarge", "msvc"


def _more() -> Iterator[_Row]:
    """Platform after platform; three quarters of the jobs fall in `unit`, so that one group grows past 1,000."""
    for platform, runner, build_tool in _platforms():
        yield BUILD, f"{platform} / build", build_tool, runner, _BUILD_S, 0
        yield from _shards(UNIT, platform, "default", 8, runner, "pytest", 1500)
        yield from _shards(UNIT, platform, "native", 4, runner, "gtest", 900)
        yield from _shards(UNIT, platform, "dynamo", 6, runner, "pytest", 2100)
        yield from _shards(UNIT, platform, "single-core", 3, runner, "pytest", 2600)
        yield from _shards(UNIT, platform, "legacy-wire", 4, runner, "pytest", 1200)
        yield INTEGRATION, f"{platform} / client", "maven", runner, 1100, _BUILD_S
        yield INTEGRATION, f"{platform} / recovery", "maven", runner, 2300, _BUILD_S
        yield DOCKER, f"{platform} / wheel image", "docker", runner, 500, 0
        yield from _shards(PERIODIC, platform, "slow", 2, runner, "pytest", 4200)


def make_columns(count: int) -> list[Column]:
    """The first `count` jobs, in the order of their workflows. A small `count` still has a job of each workflow."""
    core = list(_core())
    if count < len(core):
        seen = dict.fromkeys(WORKFLOWS, 0)
        ranked = []
        for row in core:
            ranked.append((seen[row[0]], row))
            seen[row[0]] += 1
        chosen = {id(row) for _, row in sorted(ranked, key=lambda pair: pair[0])[:count]}
        rows = [row for row in core if id(row) in chosen]
    else:
        rows = list(islice(chain(core, _more()), count))
    rows.sort(key=lambda row: row[0].number)
    return [Column(index, *row) for index, row in enumerate(rows)]
