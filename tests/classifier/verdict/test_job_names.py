"""Names of jobs: what belongs together, and what kind it is."""

import pytest

from classifier.verdict import jobs
from classifier.verdict.jobs import JobKinds, PatternError, family_of, is_same_shard, is_sibling, kind_of, parse


@pytest.mark.parametrize(
    ("name", "family", "shard", "runner"),
    [
        (
            "pull / linux / test (default, 2, 5, linux.4xlarge)",
            "pull / linux / test (default)",
            (2, 5),
            "linux.4xlarge",
        ),
        (
            "pull / linux / test (default, 2, 5, lf.linux.4xlarge)",
            "pull / linux / test (default)",
            (2, 5),
            "linux.4xlarge",
        ),
        ("pull / linux / test-osdc (default, 2, 5, m-16)", "pull / linux / test (default)", (2, 5), "m-16"),
        ("pull / linux / build-osdc", "pull / linux / build", None, None),
        ("test (shard 1/4)", "test", (1, 4), None),
        ("test (ubuntu, 3 of 4)", "test (ubuntu)", (3, 4), None),
        ("test (ubuntu-latest, 3.12)", "test (ubuntu-latest, 3.12)", None, None),
        ("ci / unit (server)", "ci / unit (server)", None, None),
        ("test (8, 17)", "test (8, 17)", None, None),
        ("test (jdk, 17, 8)", "test (jdk, 17, 8)", None, None),
        ("test (a, 1, 3, r, mem_leak_check)", "test (a, mem_leak_check)", (1, 3), "r"),
        ("test (ubuntu-latest, 1, 4, 3.9)", "test (ubuntu-latest, 3.9)", (1, 4), None),
        ("test (chrome, 1, 3, node20)", "test (chrome, node20)", (1, 3), None),
        ("e2e (admin, 2, 3, Firefox)", "e2e (admin, Firefox)", (2, 3), None),
        ("test (a, 1, 3, linux.2)", "test (a)", (1, 3), "linux.2"),
        ("  odd   spaces / test ", "odd spaces / test", None, None),
        ("(lonely)", "(lonely)", None, None),
        ("", "", None, None),
    ],
)
def test_a_name_is_taken_apart(name: str, family: str, shard: tuple[int, int] | None, runner: str | None) -> None:
    parsed = parse(name)
    assert (parsed.family, parsed.shard, parsed.runner) == (family, shard, runner)


def test_a_shard_of_another_number_of_shards_is_another_shard() -> None:
    assert is_same_shard("t / test (a, 1, 2, r)", "t / test (a, 1, 2, lf.r)")
    assert not is_same_shard("t / test (a, 1, 2, r)", "t / test (a, 1, 3, r)")
    assert not is_same_shard("t / test (a, 1, 2, r)", "t / test (a, 2, 2, r)")


def test_a_value_of_the_matrix_behind_the_shard_makes_another_job() -> None:
    assert not is_same_shard("CI / test (ubuntu, 1, 4, 3.9)", "CI / test (ubuntu, 1, 4, 3.12)")
    assert not is_same_shard("CI / test (x, 1, 4, chrome)", "CI / test (x, 1, 4, firefox)")


def test_a_sibling_differs_in_environment_or_configuration_but_not_in_both() -> None:
    mine = "pull / linux / test (default, 1, 2, r)"
    assert is_sibling(mine, "pull / linux-clang / test (default, 1, 2, r)")
    assert is_sibling(mine, "pull / linux / test (slow, 1, 2, r)")
    assert not is_sibling(mine, "pull / windows / test (slow, 1, 2, r)")
    assert not is_sibling(mine, "pull / linux / build")
    assert not is_sibling(mine, "pull / linux / test (default, 2, 2, r)")


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("build", ["pull / linux / build", "ci / compile (17)", "docker-builds / docker-build (noble)"]),
        ("lint", ["lint / ruff / linux-job", "Lint / lintrunner-clang", "ci / basic (checkstyle)", "ci / basic (rat)"]),
        ("docs", ["docs / build (html)", "linux-docs / build-docs-python", "javadoc", "ci / basic (docs)"]),
        ("compatibility", ["pull / x / test (backwards_compat, 1, 1, r)", "bc_linter", "api-compat"]),
        ("sanity", ["pr-sanity-checks", "Check labels / Check labels", "ci / .github/workflows/ci.yml"]),
        ("lint", ["ktlint", "ci / detekt", "swiftlint", "go mod tidy", "terraform fmt", "ci / cppcheck", "cargo deny"]),
        ("build", ["compileJava", "CI / cargo check (stable)", "docker", "release / sdist"]),
        ("compatibility", ["buf breaking", "breaking-changes", "api-diff", "semver", "ci / abi"]),
        ("sanity", ["ci / quick-checks", "verify generated code", "changeset", "bundle size"]),
        ("docs", ["mkdocs", "ci / docusaurus"]),
        ("test", ["ci / splint", "docker compose tests", "ci / semverity", "ci / sdistance"]),
        ("test", ["pull / linux-split-build / test (default, 1, 2, r)", "Build and test (ubuntu)"]),
        ("test", ["wheels / cp312", "unit-black-box", "splint", "pull / x / test (docs_test, 1, 1, r)"]),
    ],
)  # fmt: skip
def test_a_job_has_the_kind_its_name_says(kind: str, names: list[str]) -> None:
    assert {name: kind_of(name) for name in names} == dict.fromkeys(names, kind)


def test_a_repositorys_own_patterns_come_first() -> None:
    kinds = JobKinds.with_own([("sanity", "^ci / unit"), ("build", "wheels")])
    assert kinds.kind_of("ci / unit (server)") == "sanity"
    assert kinds.kind_of("wheels / cp312") == "build"
    assert kinds.kind_of("lint / ruff") == "lint"


@pytest.mark.parametrize(("kind", "pattern"), [("sanity", "("), ("build", "(?=x)"), ("nonsense", "x")])
def test_a_pattern_that_cannot_work_is_refused_by_name(kind: str, pattern: str) -> None:
    with pytest.raises(PatternError, match=r"pattern|unknown kind"):
        JobKinds.with_own([(kind, pattern)])


def test_a_malicious_pattern_takes_linear_time() -> None:
    """With a backtracking engine this would not end."""
    assert JobKinds.with_own([("build", "^(a+)+$")]).kind_of("a" * 5000 + "!") == "test"


def test_only_tests_may_be_flaky() -> None:
    assert {"build", "lint", "docs", "compatibility", "sanity"} == jobs.NEVER_FLAKY_KINDS


def test_moved_runners_share_a_family() -> None:
    names = ["x / test (a, 1, 5, linux)", "x / test (a, 3, 6, lf.linux)", "x / test-osdc (a, 1, 5, other)"]
    assert {family_of(name) for name in names} == {"x / test (a)"}
