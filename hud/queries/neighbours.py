"""What stands around the failed runs of some commits. Each function is one statement, however many there are of them,
unless it says otherwise."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from classifier.verdict import Failure as Cause
from hud.models import BranchCommit, Commit, Failure, Label, PullRequest, Repository, Run

TRUNK_BELOW = 60
TRUNK_ABOVE = 200
"""Rows of trunk looked at below the base and above it, whenever they were committed."""
TRUNK_FAR_ABOVE = 2_000
"""Rows above the base looked at where they were committed until the run ended, or soon after: a trunk with 300 commits
a day is 600 above the base of a change that is two days old."""
MOST_ALIKE = 30
"""Runs elsewhere with one signature, newest first: enough to find two other authors."""
DEEPEST = 40
"""Parents followed from a pull request's head to the trunk."""

_CAUSE = ("rule", "category", "captures", "signature", "generic", "line", "context", "tests")
_OF_A_ROW = ("commit_id", "sha", "title", "author", "committed_at", "pull_number", "cells")


@dataclass(frozen=True, slots=True)
class TrunkRow:
    """What verdicts read of a commit of trunk. `cells`: one character a column (hud.core.cellcode)."""

    pk: int
    sha: str
    title: str
    author: str
    committed_at: datetime | None
    pull_number: int | None
    cells: str


def runs_of(commits: Collection[Commit]) -> dict[int, list[Run]]:
    """Return all runs of the commits by the commits' ids, oldest first."""
    by_id = {commit.pk: commit for commit in commits}
    found: dict[int, list[Run]] = {pk: [] for pk in by_id}
    for run in _plain(Run.objects.filter(commit__in=list(by_id))).order_by("external_id"):
        run.commit = by_id[run.commit_id]
        found[run.commit_id].append(run)
    return found


def causes_of(run_ids: Iterable[int]) -> dict[int, tuple[Cause, ...]]:
    """Return what the classifier found, as the verdict engine reads it, by row id of the run; primary first."""
    found: dict[int, list[Cause]] = defaultdict(list)
    rows = Failure.objects.filter(run_id__in=set(run_ids)).order_by("run_id", "rank")
    for run_id, rule, category, captures, signature, generic, line, context, tests in rows.values_list(
        "run_id", *_CAUSE
    ):
        found[run_id].append(
            Cause(
                rule=rule,
                category=category,
                captures=tuple(captures),
                signature=signature or None,
                generic=generic,
                line=line,
                context=tuple(context),
                tests=tuple(tests),
            )
        )
    return {run_id: tuple(causes) for run_id, causes in found.items()}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked about one commit: runs of these jobs on other commits off trunk whose primary failure has one of
    the signatures, ended within the window."""

    commit_id: int
    job_ids: frozenset[int]
    signatures: frozenset[str]
    window: tuple[datetime, datetime]


def alike_elsewhere(wanted: Sequence[Wanted]) -> dict[int, list[Run]]:
    """Return by commit id what was asked for, the newest of too many, in the order of their rows. Two statements: the
    first names just those runs."""
    asked = [(one, signature) for one in wanted for signature in sorted(one.signatures)]
    sql = (
        "SELECT wanted.commit_id, found.run_id FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::timestamptz[],"
        " %s::timestamptz[]) AS wanted (commit_id, signature, jobs, since, until), LATERAL ("
        " SELECT failure.run_id FROM hud_failure AS failure JOIN hud_run AS run ON run.id = failure.run_id"
        " WHERE failure.rank = 0 AND failure.signature = wanted.signature"
        " AND run.job_id = ANY (string_to_array(wanted.jobs, ',')::bigint[])"
        " AND run.completed_at BETWEEN wanted.since AND wanted.until AND run.commit_id <> wanted.commit_id"
        " AND NOT EXISTS (SELECT 1 FROM hud_branchcommit AS place JOIN hud_branch AS branch"
        "  ON branch.id = place.branch_id AND branch.tracked WHERE place.commit_id = run.commit_id)"
        " ORDER BY failure.run_id DESC LIMIT %s) AS found"
    )
    columns: list[list[Any]] = [
        [one.commit_id for one, _ in asked],
        [signature for _, signature in asked],
        [",".join(map(str, sorted(one.job_ids))) for one, _ in asked],
        [one.window[0] for one, _ in asked],
        [one.window[1] for one, _ in asked],
    ]
    found: dict[int, set[int]] = defaultdict(set)
    if asked:
        with connection.cursor() as cursor:
            cursor.execute(sql, [*columns, MOST_ALIKE])
            for commit_id, run_id in cursor.fetchall():
                found[commit_id].add(run_id)
    runs = _with_commits({run_id for ids in found.values() for run_id in ids})
    return {commit_id: [runs[pk] for pk in sorted(ids) if pk in runs] for commit_id, ids in found.items()}


def explained_cells(commit_ids: Collection[int]) -> set[tuple[int, int]]:
    """Return the cells (commit id, job id) of these commits that a person calls a regression or infrastructure: what
    has its cause there is no sign of chance elsewhere. One statement."""
    if not commit_ids:
        return set()
    words = Label.objects.filter(commit_id__in=commit_ids, label__in=("regression", "infra"), undone_at=None)
    return set(words.values_list("commit_id", "job_id"))


def green_elsewhere(pairs: Collection[tuple[int, int]]) -> dict[tuple[int, int], Run]:
    """Return for each (commit id, job id) one run of the job on another commit that passed, if there is one: the job
    did run before. Two statements."""
    sql = (
        "SELECT wanted.commit_id, wanted.job_id, found.id FROM unnest(%s::bigint[], %s::bigint[])"
        " AS wanted (commit_id, job_id), LATERAL ("
        " SELECT id FROM hud_run WHERE hud_run.job_id = wanted.job_id AND conclusion = 'success'"
        " AND hud_run.commit_id <> wanted.commit_id LIMIT 1) AS found"
    )
    asked = sorted(pairs)
    if not asked:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(sql, [[commit_id for commit_id, _ in asked], [job_id for _, job_id in asked]])
        found = {(commit_id, job_id): pk for commit_id, job_id, pk in cursor.fetchall()}
    runs = _with_commits(set(found.values()))
    return {pair: runs[pk] for pair, pk in found.items() if pk in runs}


def _with_commits(run_ids: Collection[int]) -> dict[int, Run]:
    if not run_ids:
        return {}
    runs = _plain(Run.objects.filter(pk__in=run_ids)).select_related("log", "commit").defer("commit__cells")
    return {run.pk: run for run in runs.order_by("pk")}


def pulls_of(
    repository: Repository, shas: Collection[str], numbers: Collection[int]
) -> tuple[dict[str, PullRequest], dict[int, PullRequest]]:
    """Return the pull requests of which these commits were heads, and those with these numbers: by head and by number.

    By number also those on top of which one of them is meant to go.
    """
    # Sha by sha: the index serves each, where "any of these" may have all pull requests looked through.
    sql = (
        "WITH named AS ("
        " SELECT pull.id, pull.base_sha FROM unnest(%s::varchar[]) AS wanted (sha)"
        " JOIN hud_pullrequest AS pull ON pull.head_shas @> ARRAY[wanted.sha] AND pull.repository_id = %s"
        " UNION SELECT id, base_sha FROM hud_pullrequest WHERE repository_id = %s AND number = ANY (%s::int[])),"
        " below AS ("
        " SELECT pull.id FROM (SELECT DISTINCT base_sha FROM named WHERE base_sha <> '') AS base"
        " JOIN hud_pullrequest AS pull ON pull.head_shas @> ARRAY[base.base_sha] AND pull.repository_id = %s)"
        " SELECT * FROM hud_pullrequest WHERE id = ANY (ARRAY(SELECT id FROM named UNION SELECT id FROM below))"
        " ORDER BY number"
    )
    here = repository.pk
    pulls = list(PullRequest.objects.raw(sql, [list(shas), here, here, list(numbers), here]))
    wanted = set(shas)
    by_sha = {sha: pull for pull in pulls for sha in pull.head_shas if sha in wanted}
    return by_sha, {pull.number: pull for pull in pulls}


def lines_to_trunk(repository: Repository, shas: Collection[str]) -> dict[str, dict[str, bool]]:
    """Return for each commit its ancestors down to trunk: sha -> does it stand on a tracked branch?

    The walk ends on each way at the first commit of trunk, which is where the change began. Where GitHub has not told a
    commit's parents it goes on by what a push implied: that says what a change is made of, not where it began.
    """
    sql = (
        "WITH RECURSIVE line (root, sha, depth, landed, guessed) AS ("
        " SELECT wanted, wanted, 0, false, false FROM unnest(%(shas)s::text[]) AS wanted"
        " UNION SELECT line.root, parent::text, line.depth + 1, EXISTS ("
        "  SELECT 1 FROM hud_commit AS known JOIN hud_branchcommit AS place ON place.commit_id = known.id"
        "  JOIN hud_branch AS branch ON branch.id = place.branch_id AND branch.tracked"
        "  WHERE known.repository_id = %(repository)s AND known.sha = parent),"
        "  line.guessed OR child.parents IS NULL"
        " FROM line JOIN hud_commit AS child ON child.repository_id = %(repository)s AND child.sha = line.sha,"
        " LATERAL unnest(coalesce(child.parents, array_remove(ARRAY[child.guessed_parent], ''))) AS parent"
        " WHERE NOT line.landed AND line.depth < %(deepest)s)"
        " SELECT root, sha, bool_or(landed), bool_and(guessed) FROM line WHERE depth > 0 GROUP BY root, sha"
    )
    found: dict[str, dict[str, bool]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(sql, {"shas": list(shas), "repository": repository.pk, "deepest": DEEPEST})
        for root, sha, landed, guessed in cursor.fetchall():
            if not (landed and guessed):
                found[root][sha] = landed
    return found


def places_of(repository: Repository, shas: Collection[str]) -> list[BranchCommit]:
    """Return where these commits stand on tracked branches."""
    rows = BranchCommit.objects.filter(commit__repository=repository, commit__sha__in=shas, branch__tracked=True)
    rows = rows.select_related("branch", "commit").defer("commit__cells", "commit__message", "commit__files")
    return list(rows.order_by("branch__name", "position"))


@dataclass(frozen=True, slots=True)
class Around:
    """A base on a branch, and until when trunk above it is of interest."""

    branch_id: int
    position: int
    until: datetime


def trunk_around(bases: Collection[Around]) -> dict[Around, list[TrunkRow]]:
    """Return for each base the rows of trunk around it, oldest first: `TRUNK_BELOW` and `TRUNK_ABOVE` of them, and of
    the next ones above, `TRUNK_FAR_ABOVE` in all, those that were committed until then."""
    if not bases:
        return {}
    rows: dict[int, list[tuple[int, TrunkRow]]] = defaultdict(list)
    for branch_id, position, row in _rows_of(_merged(bases)):
        rows[branch_id].append((position, row))
    return {base: _around(base, rows[base.branch_id]) for base in bases}


def _around(base: Around, rows: Sequence[tuple[int, TrunkRow]]) -> list[TrunkRow]:
    """`rows`: (position, row), lowest first."""
    start = bisect_left(rows, base.position - TRUNK_BELOW, key=itemgetter(0))
    near = bisect_right(rows, base.position + TRUNK_ABOVE, key=itemgetter(0))
    end = bisect_right(rows, base.position + TRUNK_FAR_ABOVE, key=itemgetter(0))
    far = (row for _, row in rows[near:end] if row.committed_at and row.committed_at <= base.until)
    return [*(row for _, row in rows[start:near]), *far]


@dataclass(frozen=True, slots=True)
class _Range:
    """Rows of a branch from position `low` to `high`, and up to `far` those that were committed until then."""

    branch_id: int
    low: int
    high: int
    far: int
    until: datetime


def _merged(bases: Collection[Around]) -> list[_Range]:
    """Return the rows around the bases as few ranges."""
    ranges: list[_Range] = []
    for base in sorted(bases, key=lambda base: (base.branch_id, base.position)):
        at = base.position
        one = _Range(base.branch_id, at - TRUNK_BELOW, at + TRUNK_ABOVE, at + TRUNK_FAR_ABOVE, base.until)
        last = ranges[-1] if ranges else None
        if last and last.branch_id == one.branch_id and one.low <= last.high:
            ranges[-1] = replace(one, low=last.low, until=max(last.until, one.until))
        else:
            ranges.append(one)
    return ranges


def _rows_of(ranges: Sequence[_Range]) -> list[tuple[int, int, TrunkRow]]:
    """Return (branch id, position, row) of these rows, lowest first. One statement, which looks at a commit's text only
    where its row is wanted."""
    sql = (
        "WITH wanted AS (SELECT DISTINCT place.branch_id, place.position, place.commit_id"
        " FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::int[], %s::timestamptz[])"
        " AS asked (branch_id, low, high, far, until)"
        " JOIN hud_branchcommit AS place"
        "  ON place.branch_id = asked.branch_id AND place.position BETWEEN asked.low AND asked.far"
        " WHERE place.position <= asked.high OR asked.until >="
        "  (SELECT committed_at FROM hud_commit AS dated WHERE dated.id = place.commit_id))"
        " SELECT wanted.branch_id, wanted.position, told.* FROM wanted, LATERAL ("
        "  SELECT id, sha, title, author, committed_at, pull_number, cells FROM hud_commit"
        "  WHERE hud_commit.id = wanted.commit_id OFFSET 0) AS told"
        " ORDER BY wanted.branch_id, wanted.position"
    )
    columns: list[list[Any]] = [
        [one.branch_id for one in ranges],
        [one.low for one in ranges],
        [one.high for one in ranges],
        [one.far for one in ranges],
        [one.until for one in ranges],
    ]
    with connection.cursor() as cursor:
        cursor.execute(sql, columns)
        return [(branch_id, position, TrunkRow(*values)) for branch_id, position, *values in cursor.fetchall()]


Days = tuple[str, datetime, datetime]
"""(name of a branch, from when, until when)."""


def trunk_between(repository: Repository, asked: Collection[Days]) -> dict[Days, list[TrunkRow]]:
    """Return the rows of a branch that were committed in these days, oldest first; the newest of too many."""
    if not asked:
        return {}
    wanted = Q()
    for name, since, until in asked:
        wanted |= Q(branch__name=name, commit__committed_at__range=(since, until))
    rows = BranchCommit.objects.filter(wanted, branch__repository=repository).order_by("position")
    fields = ("branch__name", *(name if name == "commit_id" else f"commit__{name}" for name in _OF_A_ROW))
    found = [(name, TrunkRow(*values)) for name, *values in rows.values_list(*fields)]
    return {
        (name, since, until): [
            row for of, row in found if of == name and row.committed_at and since <= row.committed_at <= until
        ][-(TRUNK_ABOVE + TRUNK_BELOW + 1) :]
        for name, since, until in asked
    }


def runs_behind(cells: Collection[tuple[int, int]]) -> list[Run]:
    """Return the runs of these cells (commit id, job id). Two statements: the first names just those runs."""
    pairs = sorted(cells)
    if not pairs:
        return []
    sql = (
        "SELECT hud_run.id FROM unnest(%s::bigint[], %s::bigint[]) AS cell (commit_id, job_id)"
        " JOIN hud_run ON hud_run.commit_id = cell.commit_id AND hud_run.job_id = cell.job_id"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [[commit_id for commit_id, _ in pairs], [job_id for _, job_id in pairs]])
        ids = [row[0] for row in cursor.fetchall()]
    return list(_plain(Run.objects.filter(pk__in=ids)).order_by("pk"))


def _plain(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("log").defer("steps", "labels")
