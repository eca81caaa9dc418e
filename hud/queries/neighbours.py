"""What stands around the failed runs of a commit. Each function is one statement, however many neighbours there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import connection
from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from classifier.verdict import Failure as Cause
from hud.models import BranchCommit, Commit, Failure, PullRequest, Repository, Run

TRUNK_BELOW = 60
TRUNK_ABOVE = 200
"""Rows of trunk looked at below the base and above it. What is further away says nothing about a change of today."""
MOST_ALIKE = 30
"""Runs elsewhere with one signature, newest first: enough to find two other authors."""
DEEPEST = 40
"""Parents followed from a pull request's head to the trunk."""


def runs_of(commit: Commit) -> list[Run]:
    """Return all runs of the commit, oldest first."""
    runs = list(_plain(Run.objects.filter(commit=commit)).order_by("external_id"))
    for run in runs:
        run.commit = commit
    return runs


def causes_of(run_ids: Iterable[int]) -> dict[int, tuple[Cause, ...]]:
    """Return what the classifier found, as the verdict engine reads it, by row id of the run; primary first."""
    found: dict[int, list[Cause]] = defaultdict(list)
    rows = Failure.objects.filter(run_id__in=set(run_ids)).order_by("run_id", "rank")
    fields = ("rule", "category", "captures", "signature", "generic", "line", "context", "tests")
    for run_id, rule, category, captures, signature, generic, line, context, tests in rows.values_list(
        "run_id", *fields
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


def alike_elsewhere(
    commit: Commit, job_ids: Collection[int], signatures: Collection[str], window: tuple[datetime, datetime]
) -> list[Run]:
    """Return runs of these jobs on other commits off trunk whose primary failure has one of the signatures."""
    rows = Failure.objects.filter(
        rank=0, signature__in=signatures, run__job_id__in=job_ids, run__completed_at__range=window
    )
    rows = rows.exclude(run__commit=commit).exclude(run__commit__places__branch__tracked=True)
    place = Window(RowNumber(), partition_by=F("signature"), order_by=F("run_id").desc())
    newest = rows.annotate(place=place).filter(place__lte=MOST_ALIKE).values("run_id")
    return list(_plain(Run.objects.filter(pk__in=newest)).select_related("log", "commit").order_by("pk"))


def green_elsewhere(commit: Commit, job_ids: Collection[int]) -> list[Run]:
    """Return for each job one run on another commit that passed, if there is one: the job did run before. Two
    statements."""
    sql = (
        "SELECT found.id FROM unnest(%s::bigint[]) AS wanted (job_id), LATERAL ("
        " SELECT id FROM hud_run WHERE hud_run.job_id = wanted.job_id AND conclusion = 'success'"
        " AND commit_id <> %s LIMIT 1) AS found"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [sorted(job_ids), commit.pk])
        ids = [row[0] for row in cursor.fetchall()]
    return list(_plain(Run.objects.filter(pk__in=ids)).select_related("log", "commit").order_by("pk"))


def pulls_of(
    repository: Repository, shas: Collection[str], numbers: Collection[int]
) -> tuple[dict[str, PullRequest], dict[int, PullRequest]]:
    """Return the pull requests of which these commits were heads, and those with these numbers."""
    pulls = list(
        PullRequest.objects.filter(
            Q(head_shas__overlap=list(shas)) | Q(number__in=numbers), repository=repository
        ).order_by("number")
    )
    wanted = set(shas)
    by_sha = {sha: pull for pull in pulls for sha in pull.head_shas if sha in wanted}
    return by_sha, {pull.number: pull for pull in pulls}


def lines_to_trunk(repository: Repository, shas: Collection[str]) -> dict[str, dict[str, bool]]:
    """Return for each commit its ancestors down to trunk: sha -> does it stand on a tracked branch?

    The walk ends on each way at the first commit of trunk, which is where the change began.
    """
    sql = (
        "WITH RECURSIVE line (root, sha, depth, landed) AS ("
        " SELECT wanted, wanted, 0, false FROM unnest(%(shas)s::text[]) AS wanted"
        " UNION SELECT line.root, parent::text, line.depth + 1, EXISTS ("
        "  SELECT 1 FROM hud_commit AS known JOIN hud_branchcommit AS place ON place.commit_id = known.id"
        "  JOIN hud_branch AS branch ON branch.id = place.branch_id AND branch.tracked"
        "  WHERE known.repository_id = %(repository)s AND known.sha = parent)"
        " FROM line JOIN hud_commit AS child ON child.repository_id = %(repository)s AND child.sha = line.sha,"
        " LATERAL unnest(child.parents) AS parent"
        " WHERE NOT line.landed AND line.depth < %(deepest)s)"
        " SELECT root, sha, bool_or(landed) FROM line WHERE depth > 0 GROUP BY root, sha"
    )
    found: dict[str, dict[str, bool]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(sql, {"shas": list(shas), "repository": repository.pk, "deepest": DEEPEST})
        for root, sha, landed in cursor.fetchall():
            found[root][sha] = landed
    return found


def places_of(repository: Repository, shas: Collection[str]) -> list[BranchCommit]:
    """Return where these commits stand on tracked branches."""
    rows = BranchCommit.objects.filter(commit__repository=repository, commit__sha__in=shas, branch__tracked=True)
    return list(rows.select_related("branch", "commit").order_by("branch__name", "position"))


def trunk_around(base: BranchCommit) -> list[Commit]:
    """Return the rows of trunk around the base, oldest first."""
    around = (base.position - TRUNK_BELOW, base.position + TRUNK_ABOVE)
    return _commits(BranchCommit.objects.filter(branch_id=base.branch_id, position__range=around))


def trunk_between(repository: Repository, branch: str, window: tuple[datetime, datetime]) -> list[Commit]:
    """Return the rows of a branch that were committed in the window, oldest first; the newest of too many."""
    return _commits(
        BranchCommit.objects.filter(
            branch__repository=repository, branch__name=branch, commit__committed_at__range=window
        )
    )


def _commits(rows: QuerySet[BranchCommit]) -> list[Commit]:
    newest = rows.select_related("commit").defer("commit__message", "commit__files").order_by("-position")
    return [row.commit for row in reversed(newest[: TRUNK_ABOVE + TRUNK_BELOW + 1])]


def runs_behind(cells: Collection[tuple[int, int]]) -> list[Run]:
    """Return the runs of these cells (commit id, job id). Two statements: the first names just those runs."""
    pairs = sorted(cells)
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
