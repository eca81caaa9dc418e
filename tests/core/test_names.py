"""Names of columns: unique, short, in an order people expect."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hud.core.names import ColumnName, display_names, natural_key, short_label, short_labels, told_apart
from hud.synthetic.columns import make_columns

texts = st.text("abc (),12/", max_size=12)
columns = st.lists(
    st.builds(ColumnName, column=st.integers(0, 99), workflow=texts, job=texts, path=texts, is_start=st.booleans()),
    unique_by=lambda c: c.column,
    max_size=12,
)


def test_the_jobs_own_name_is_enough_where_it_is_unique() -> None:
    names = display_names([ColumnName(0, "CI", "unit"), ColumnName(1, "CI", "lint"), ColumnName(2, "Docs", "lint")])
    assert names == {0: "unit", 1: "CI / lint", 2: "Docs / lint"}


def test_workflows_of_one_name_are_told_apart_by_their_files() -> None:
    names = display_names(
        [ColumnName(0, "CI", "unit", ".github/workflows/a.yml"), ColumnName(1, "CI", "unit", ".github/workflows/b.yml")]
    )
    assert names == {0: "CI / unit [a.yml]", 1: "CI / unit [b.yml]"}


def test_the_engine_is_told_the_file_where_two_have_a_job_of_one_stable_name() -> None:
    columns = [
        ColumnName(0, "CI", "unit (default, 1, 2, a)", ".github/workflows/linux.yml"),
        ColumnName(1, "CI", "unit (default, 2, 2, b)", ".github/workflows/windows.yml"),
        ColumnName(2, "CI", "lint", ".github/workflows/linux.yml"),
        ColumnName(3, "CI", "unit (default, 1, 1)"),
        ColumnName(4, "Docs", "unit", "a/x.yml"),
        ColumnName(5, "Docs", "unit", "b/x.yml"),
        ColumnName(6, "Docs", "build", "b/x.yml"),
    ]
    assert list(told_apart(columns).values()) == [
        "CI [linux.yml] / unit (default, 1, 2, a)",
        "CI [windows.yml] / unit (default, 2, 2, b)",
        "CI / lint",
        "CI [no file] / unit (default, 1, 1)",
        "Docs [a/x.yml] / unit",
        "Docs [b/x.yml] / unit",
        "Docs / build",
    ]


def test_a_name_that_looks_like_a_longer_one_of_another_job_is_not_taken_twice() -> None:
    names = display_names(
        [ColumnName(0, "", "CI / unit"), ColumnName(1, "CI", "unit"), ColumnName(2, "Nightly", "unit")]
    )
    assert len(set(names.values())) == 3


@given(columns)
def test_every_column_gets_a_name_and_no_two_the_same(made: list[ColumnName]) -> None:
    names = display_names(made)
    assert set(names) == {c.column for c in made}
    assert len(set(names.values())) == len(made)


def test_a_workflow_that_is_known_by_its_file_only_is_called_by_the_files_name() -> None:
    column = ColumnName(0, ".github/workflows/mirror.yml", "", is_start=True)
    assert (column.group_name, column.plain) == ("mirror", "start of mirror")


def test_shards_sort_by_number() -> None:
    names = ["test (10, 12)", "test (2, 12)", "Test (1, 12)", "build"]
    assert sorted(names, key=natural_key) == ["build", "Test (1, 12)", "test (2, 12)", "test (10, 12)"]


@given(st.lists(st.text(max_size=20)))
def test_any_names_can_be_sorted(names: list[str]) -> None:
    assert len(sorted(names, key=natural_key)) == len(names)


def test_a_short_name_is_left_alone() -> None:
    assert short_label("build (linux)", 24) == "build (linux)"


def test_what_tells_shards_apart_is_kept() -> None:
    label = short_label("linux-jammy-py3.9-gcc11 / test (default, 3, 5, linux.4xlarge)", 24)
    assert len(label) <= 24
    assert label.endswith("(default, 3, 5…)")


def test_shards_stay_apart_when_cut() -> None:
    names = [f"a-very-long-name-of-a-job-in-a-matrix / test (default, {i}, 12, linux.4xlarge)" for i in range(12)]
    labels = short_labels(names, 24)
    assert len(set(labels)) == 12 and all(len(label) <= 24 for label in labels)


def test_of_names_that_would_look_alike_the_words_that_differ_are_kept() -> None:
    names = [
        f"windows-2025-py{v}-msvc-with-all-extras / test (default, {i}, 3)" for v in ("3.13", "3.14") for i in (1, 2)
    ]
    assert short_labels(names, 10) == ["py3.13 1", "py3.13 2", "py3.14 1", "py3.14 2"]


def test_where_there_is_room_words_that_all_share_come_back_beginning_at_the_shard() -> None:
    names = [f"linux-noble-gcc13 / test (slow, {shard}, 3, linux.large)" for shard in (1, 2, 3)]
    assert short_labels(names, 24)[0] == "noble gcc13 test slow 1"
    assert short_labels(names, 12)[2] == "test slow 3"


def test_labels_that_stay_too_long_keep_their_end_where_the_shard_is() -> None:
    names = [f"{'x' * 30}{v} / {'y' * 30}{v} / shard {i}" for v in "ab" for i in (1, 2)]
    labels = short_labels(names, 20)
    assert [label[-1] for label in labels] == ["1", "2", "1", "2"]


PLATFORMS = [
    f"linux-{kind}-py3.{minor}-{cc}" for kind in ("jammy", "aarch64") for minor in (9, 14) for cc in ("gcc", "xlc")
]


def test_shards_of_many_platforms_say_platform_configuration_and_shard() -> None:
    names = [
        f"{platform} / test ({configuration}, {shard}, {total}, {'big' if 'arm' in platform else 'small'}.runner)"
        for platform in PLATFORMS
        for configuration, total in (("default", 3), ("single-core", 2))
        for shard in range(1, total + 1)
    ]
    labels = short_labels(names, 24, 42)
    assert labels[0] == "jammy py3.9 gcc default 1", "neither what all share nor what the rest implies"
    assert labels[-1] == "aarch64 py3.14 xlc single-core 2"
    assert len(set(labels)) == len(names)


def test_a_word_that_only_some_names_have_is_shown() -> None:
    names = [f"linux-jammy-py3.{minor}-gcc11{tag} / build" for minor in (11, 12) for tag in ("", "-v2")]
    assert short_labels(names, 9, 42) == ["py3.11", "py3.11 v2", "py3.12", "py3.12 v2"]


def test_what_fits_in_no_height_loses_implied_words_first() -> None:
    names = [f"linux-{'x' * 20}-{n} / b / test (c, {s}, 2)" for n in ("one", "two") for s in (1, 2)]
    names += [f"macos-{'y' * 20}-{n} / b / test (c, {s}, 2)" for n in ("one", "two") for s in (1, 2)]
    labels = short_labels(names, 20, 28)
    assert labels[0] == f"{'x' * 20} one 1"
    assert len(set(labels)) == len(names)


def test_all_jobs_of_the_largest_invented_project_look_different() -> None:
    by_workflow: dict[str, list[str]] = {}
    for column in make_columns(1500):
        by_workflow.setdefault(column.workflow.name, []).append(column.name)
    for names in by_workflow.values():
        labels = short_labels(names, 24, 42)
        assert len(set(labels)) == len(names)
        assert max(map(len, labels)) <= 42


@given(st.lists(st.text("ab (),1", max_size=40), unique=True), st.integers(8, 30), st.integers(0, 20))
def test_no_label_is_longer_than_asked_for(names: list[str], limit: int, more: int) -> None:
    labels = short_labels(names, limit, limit + more)
    assert len(labels) == len(names) and all(len(label) <= limit + more for label in labels)
    assert all(
        label == name
        for label, name in zip(labels, names, strict=True)
        if len(name) <= limit and labels.count(name) == 1
    )
