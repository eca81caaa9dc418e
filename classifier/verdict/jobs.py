"""Job names: which runs belong to one job, and what kind of job it is.

A job keeps its identity while its shards are renumbered and its runners move. What a job *is* (a build, a lint, a
test …) is data: ordered patterns with defaults, which a repository can replace. Patterns are RE2, so that one typed
by an admin takes linear time whatever it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import re2

Kind = Literal["build", "lint", "docs", "compatibility", "sanity", "test"]
KINDS: frozenset[str] = frozenset(get_args(Kind))

NEVER_FLAKY_KINDS: frozenset[str] = KINDS - {"test"}

KIND_OF_CATEGORY: dict[str, Kind] = {
    "build": "build",
    "lint": "lint",
    "docs": "docs",
    "compatibility": "compatibility",
    "config": "sanity",
}
"""Categories of failures that are a check's whatever job they are found in."""

_NUMBER = re2.compile(r"^[0-9]{1,4}$")
_SHARD_WORD = re2.compile(r"(?i)^(?:shard|part|group|split|chunk)?[ #:=-]*([0-9]{1,4}) ?(?:/|of) ?([0-9]{1,4})$")
_MOVED_RUNNER = re2.compile(r"^lf\.(?:c\.)?")
_MOVED_JOB = re2.compile(r"-osdc$")
_MATRIX_VALUE = re2.compile(
    r"(?i)^(?:v?[0-9]+(?:\.(?:[0-9]+|x))*"
    r"|(?:c?py|python|pypy|node|deno|bun|go|java|jdk|jre|openjdk|temurin|zulu|ruby|jruby|php|perl|rust|scala|dotnet|net"
    r"|gcc|clang|llvm|msvc|cuda|django|rails|spring|spark|pg|postgres(?:ql)?|mysql|mariadb|redis|kafka|k8s|chrome|firefox)"
    r"[-_@=]?v?[0-9][0-9a-z.]*"
    r"|chrome|chromium|firefox|webkit|safari|edge|electron|jsdom|stable|beta|nightly|oldest|latest|lts|msrv|debug|release)$"
)
"""Versions, tools with one, browsers, channels. Behind a shard stands the runner, whatever people call it, unless it is
one of these: jobs that differ in them are two jobs."""
_SPACES = re2.compile(r"\s+")
_KNOWN_LIMIT = 65536


class PatternError(ValueError):
    """A pattern that a repository set is not valid RE2, or names a kind that does not exist."""


@dataclass(frozen=True)
class JobName:
    """A job's name taken apart.

    `family` is the stable name: workflow, job and configuration, without shard and runner. `shard` is (number, of how
    many), both from 1, or None. `flags` are words behind the runner (`mem_leak_check`), which are part of the family.
    """

    full: str
    family: str
    shard: tuple[int, int] | None
    runner: str | None
    path: tuple[str, ...]
    config: tuple[str, ...]

    @property
    def word(self) -> str:
        """The last word of the path: `test` of `pull / linux / test (default, 1, 5, linux.4xlarge)`."""
        return self.path[-1] if self.path else ""

    @property
    def environment(self) -> tuple[str, ...]:
        """All of the path before its last word."""
        return self.path[:-1]


@dataclass(frozen=True)
class KindPattern:
    """One line of the ordered list: names that `pattern` finds (in the lower-case family) are of this kind."""

    kind: Kind
    pattern: str


def _words(kind: Kind, words: str) -> KindPattern:
    """A pattern for any of the words (RE2, parted by spaces) standing alone: between letters they don't count."""
    return KindPattern(kind, f"(?:^|[^a-z])(?:{'|'.join(words.split())})(?:[^a-z]|$)")


_LINT = (
    r"(?:^|[^a-z])(?:es|js|ts|py|css|html|json|yaml|md|markdown|go|cpp|swift|kt|k|ox|tf|h|sql|proto|style"
    r"|ansible-|golangci-)?lint"
)

# The first that finds something decides. A compatibility check that runs as a test configuration is still a check, so
# checks stand before builds; a name that both builds and tests is a test, its compile errors are told by category.
DEFAULT_KINDS: tuple[KindPattern, ...] = (
    KindPattern("compatibility", r"(?:^|[^a-z])(?:back|for)wards?[-_ ]?compat"),
    _words("compatibility", r"(?:bc|fc|api|abi|schema|binary)[-_\s](?:lint\w*|compat\w*|check\w*)"),
    _words("compatibility", r"compat compatibility japicmp revapi api-extractor semver(?:-checks?)? abi api-?diff"),
    _words("compatibility", r"(?:buf[-_\s])?breaking(?:[-_\s]changes?)?"),
    KindPattern("lint", _LINT),
    _words("lint", r"ruff flake8 clang-?(?:format|tidy) checkstyle pre-?commit spotless rubocop mypy pyright clippy"),
    _words("lint", r"shellcheck hadolint actionlint spotbugs findbugs pmd rat rustfmt gofmt prettier isort"),
    _words(
        "lint",
        r"licen[cs]es? type[-_\s]?check(?:s|ing)? commitlint typos codespell spell(?:ing|[-_\s]?check(?:er|ing)?)",
    ),
    _words("lint", r"golangci gofumpt go[-_\s]vet static[-_\s]analysis codeql semgrep check[-_\s](?:format|style|fmt)"),
    _words(
        "lint", r"cargo[-_\s](?:fmt|deny|machete|udeps) code[-_\s]style check[-_\s]formatting tsc staticcheck gosec"
    ),
    _words("lint", r"detekt scala(?:fmt|fix|style) cppcheck cpplint yapf autopep8 bandit vulture biome dprint taplo"),
    _words("lint", r"buildifier phpcs phpstan psalm swiftformat stylua luacheck credo dialyzer hlint nixfmt vale tidy"),
    _words("lint", r"terraform[-_\s](?:fmt|validate) cmake-format"),
    KindPattern("lint", r"(?:^|/ |\()(?:code-?)?(?:style|fmt|format|formatting|black)(?:[- ]check)?(?: \(|\)|$)"),
    KindPattern("docs", r"(?:^|[^a-z_])(?:docs?|documentation|javadoc|sphinx|doxygen|rustdoc|linkcheck)(?:[^a-z_]|$)"),
    _words("docs", r"(?:build|publish|check)[-_]docs? link[-_\s]?check(?:er)?s? mkdocs docusaurus vitepress"),
    KindPattern("sanity", r"sanity|mergeability|(?:^|[^a-z])check[-_ ]?(?:pr|labels?|title|change|dependenc)"),
    _words("sanity", r"labell?er dco cla dependency(?:[-_\s](?:review|check))? pr[-_\s](?:checks?|title)"),
    _words("sanity", r"deps?[-_\s]check (?:workflow|quick)[-_\s]checks? changesets? bundle[-_\s]size"),
    _words("sanity", r"(?:check|verify)[-_\s]generated? generated?[-_\s]check"),
    _words("sanity", r"semantic[-_\s](?:pull[-_\s]request|pr|title) changelog(?:[-_\s]check)?"),
    KindPattern("sanity", r"(?:^|/ )(?:[a-z]+-)?audit$|\.ya?ml$"),
    KindPattern("lint", r"(?:^|/ )vet$"),
    KindPattern("test", r"(?:^|/ )[^/(]*test[^/]*$"),
    KindPattern(
        "build",
        r"(?:^|/ |(?:^|/ )[^/(]*[^a-z/(])"
        r"(?:(?:re)?(?:build|compile|package|wheel|image)s?|compilation|packaging|assemble[a-z]*)(?:[^a-z/][^/]*)?$",
    ),
    # A job without a telling name in a workflow that has one: `build / linux`, but not `Build and test / linux`.
    KindPattern("test", r"test|spec|e2e|(?:^|[^a-z])(?:unit|integration|acceptance|smoke)(?:[^a-z]|$)"),
    KindPattern(
        "build",
        r"(?:^|[^a-z])(?:re)?(?:build|compile|package)s?(?:[^a-z][^/]*)? / |(?:bazel|cargo|go|make) build"
        r"|(?:^|/ )(?:docker|sdist|cargo[- ]check|compile(?:java|kotlin|scala))(?: \(|$)",
    ),
)


@lru_cache(maxsize=_KNOWN_LIMIT)
def parse(name: str) -> JobName:
    """Takes a job's name apart. Never fails: a name without any of the known shapes is its own family."""
    full = _SPACES.sub(" ", name).strip()
    head, arguments = _split_arguments(full)
    path = tuple(part.strip() for part in head.split(" / "))
    path = (*path[:-1], _MOVED_JOB.sub("", path[-1]))
    config, shard, runner = _split_shard(arguments)
    stem = " / ".join(path)
    family = f"{stem} ({', '.join(config)})" if config else stem
    return JobName(full, family, shard, runner, path, config)


def _split_arguments(full: str) -> tuple[str, tuple[str, ...]]:
    """`a / b (c, d)` -> (`a / b`, (`c`, `d`)). Only a closing parenthesis at the very end counts."""
    if not full.endswith(")"):
        return full, ()
    start = full.rfind(" (")
    if start <= 0:
        return full, ()
    return full[:start], tuple(_MOVED_RUNNER.sub("", part.strip()) for part in full[start + 2 : -1].split(","))


def _split_shard(arguments: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[int, int] | None, str | None]:
    """Configuration, shard and runner. Numbers are a shard only behind a configuration, as `k, n` with k <= n."""
    for at, argument in enumerate(arguments):
        spelled = _SHARD_WORD.match(argument)
        if spelled and _is_shard(spelled.group(1), spelled.group(2)):
            return arguments[:at] + arguments[at + 1 :], (int(spelled.group(1)), int(spelled.group(2))), None
        if at == 0 or at + 1 >= len(arguments):
            continue
        if _is_shard(argument, arguments[at + 1]):
            shard, behind = (int(argument), int(arguments[at + 1])), arguments[at + 2 :]
            runner = behind[0] if behind and not _MATRIX_VALUE.match(behind[0]) else None
            return arguments[:at] + (behind if runner is None else behind[1:]), shard, runner
    return arguments, None, None


def _is_shard(number: str, count: str) -> bool:
    return bool(_NUMBER.match(number) and _NUMBER.match(count)) and 1 <= int(number) <= int(count)


def family_of(name: str) -> str:
    """The stable name of a job: shard, runner and the marks of moved runners taken out."""
    return parse(name).family


def is_same_job(one: str, other: str) -> bool:
    return family_of(one) == family_of(other)


def is_same_shard(one: str, other: str) -> bool:
    """The same job, and the same shard of as many. Only then does a success of one say something about the other."""
    first, second = parse(one), parse(other)
    return first.family == second.family and first.shard == second.shard


def is_sibling(one: str, other: str) -> bool:
    """Another configuration of the same job: the same last word, and either the environment or the config is equal."""
    first, second = parse(one), parse(other)
    if first.family == second.family or first.word != second.word:
        return False
    return first.environment == second.environment or first.config == second.config


class JobKinds:
    """The ordered patterns of one repository, compiled once."""

    def __init__(self, patterns: Sequence[KindPattern] = DEFAULT_KINDS) -> None:
        """Raises PatternError on the first pattern that is not valid RE2 or has an unknown kind."""
        self._compiled = tuple(_compiled(pattern) for pattern in patterns)
        self._known: dict[str, Kind] = {}

    @classmethod
    def with_own(cls, own: Iterable[tuple[str, str]]) -> JobKinds:
        """A repository's own (kind, pattern) pairs, asked before the defaults."""
        return cls((*(_pattern(kind, text) for kind, text in own), *DEFAULT_KINDS))

    def kind_of(self, name: str) -> Kind:
        """The kind of the job with this name (any shard, any runner). What no pattern finds is a test."""
        family = family_of(name).lower()
        known = self._known.get(family)
        if known is not None:
            return known
        kind: Kind = next((kind for kind, pattern in self._compiled if pattern.search(family)), "test")
        if len(self._known) < _KNOWN_LIMIT:
            self._known[family] = kind
        return kind

    def kind_of_failure(self, name: str, category: str | None) -> Kind:
        """The kind of the job, sharpened by the failure's category: a compile error in a test job is a compile error,
        it does not come and go."""
        kind = self.kind_of(name)
        return KIND_OF_CATEGORY.get(category or "", kind) if kind == "test" else kind


def _pattern(kind: str, text: str) -> KindPattern:
    for known in get_args(Kind):
        if kind == known:
            return KindPattern(known, text)
    raise PatternError(f"unknown kind of job {kind!r}; known are {', '.join(sorted(KINDS))}")


def _compiled(pattern: KindPattern) -> tuple[Kind, re2._Regexp]:
    if pattern.kind not in KINDS:
        raise PatternError(f"unknown kind of job {pattern.kind!r}; known are {', '.join(sorted(KINDS))}")
    try:
        return pattern.kind, re2.compile(pattern.pattern, _quiet())
    except re2.error as error:
        raise PatternError(f"pattern {pattern.pattern!r} of kind {pattern.kind}: {error}") from error


def _quiet() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options


DEFAULT = JobKinds()


def kind_of(name: str) -> Kind:
    """The kind by the default patterns."""
    return DEFAULT.kind_of(name)
