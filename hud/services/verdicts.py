"""Decides and keeps the verdicts of runs off trunk. The only writer of `Verdict`.

Ingest notes in its own transaction which cells changed (`ask`); `judge_due` later decides again what those touch:
the runs of the same commit, and elsewhere only verdicts of the same job that may rest on the change. Trunk's cells are
judged by hud.services.streaks.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from classifier.verdict import Run as Attempt
from classifier.verdict import Verdict as Answer
from classifier.verdict import decide, jobs
from classifier.verdict.mass import mass_failure_of
from hud.core.cell import FAILING
from hud.core.text import storable
from hud.models import (
    BranchCommit,
    Cell,
    Commit,
    Failure,
    PostedReport,
    Reporting,
    Repository,
    Run,
    Verdict,
)
from hud.queries.grid import repository_jobs
from hud.queries.known_jobs import JobsOf
from hud.queries.mass import lone_cells
from hud.queries.pulls import pull_numbers_of
from hud.services.batch import Batch
from hud.services.bulk import update_rows
from hud.services.cells import character_of, write_characters
from hud.services.evidence import SETTINGS, Gathered, gather_all
from hud.services.locks import lock_repository
from hud.services.overlay import overlay, told_of

logger = logging.getLogger(__name__)

_LOCK_CLASS = 0x48554412  # "HUD", 18: the advisory locks of judging
_TOGETHER = 20
"""Commits that are judged in one transaction, with the same statements as one."""
_OLDEST_BASE = timedelta(days=30)
"""A result on trunk concerns changes that were pushed until so long after it."""
MOST_EVIDENCE = 50
OF_PULLS = (Run.Origin.PULL_REQUEST, Run.Origin.MERGE_QUEUE)
_TRUNK_MATTERS = ("regression", "unknown", "broken_trunk", "flaky")
"""Labels that a result on trunk can change. Infrastructure, stops and declarations stand by themselves."""


# ── Asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def ask(repository: Repository, cells: Iterable[tuple[int, int]]) -> None:
    """Note that these cells (commit id, job id) changed, where a verdict may rest on them. One statement.

    Cells without a signal are left out; so are those of trunk, and those that are green and never failed, while the
    repository has no verdict off trunk and writes to no pull request.
    """
    pairs = sorted(cells)
    if not pairs:
        return
    sql = (
        "INSERT INTO hud_judgerequest (repository_id, commit_id, job_id, own_only, with_trunk)"
        " SELECT %(repository)s, cell.commit_id, cell.job_id, false, false"
        " FROM unnest(%(commits)s::bigint[], %(jobs)s::bigint[]) AS told (commit_id, job_id)"
        " JOIN hud_cell AS cell ON cell.commit_id = told.commit_id AND cell.job_id = told.job_id"
        " WHERE cell.state IN ('success', 'failure', 'timed_out', 'cancelled')"
        " AND (EXISTS (SELECT 1 FROM hud_verdict AS kept WHERE kept.repository_id = %(repository)s)"
        "  OR EXISTS (SELECT 1 FROM hud_reporting AS wanted WHERE wanted.repository_id = %(repository)s"
        "   AND (wanted.comment OR wanted.check_run))"
        "  OR ((cell.state <> 'success' OR cell.flaky) AND NOT EXISTS (SELECT 1 FROM hud_branchcommit AS place"
        "   JOIN hud_branch AS branch ON branch.id = place.branch_id AND branch.tracked"
        "   WHERE place.commit_id = cell.commit_id)))"
    )
    with connection.cursor() as cursor:
        commits, job_ids = [c for c, _ in pairs], [j for _, j in pairs]
        cursor.execute(sql + _ASKED_ALREADY, {"repository": repository.pk, "commits": commits, "jobs": job_ids})


# One that somebody works on already gets another id, so that it outlives that work.
_ASKED_ALREADY = (
    " ON CONFLICT (commit_id, job_id) DO UPDATE SET own_only = hud_judgerequest.own_only AND excluded.own_only,"
    " with_trunk = hud_judgerequest.with_trunk OR excluded.with_trunk,"
    " id = nextval(pg_get_serial_sequence('hud_judgerequest', 'id'))"
)


def ask_about(repository: Repository, shas: Iterable[str], *, own_only: bool = False) -> None:
    """Note that something became known of these commits, where verdicts of their runs may rest on it: their parents,
    their pull request. `own_only`: it concerns no verdict of another commit (a label does not)."""
    wanted = set(shas)
    if not wanted:
        return
    rows = Verdict.objects.filter(repository=repository, run__commit__sha__in=wanted)
    _request(repository, set(rows.values_list("run__commit_id", "run__job_id")), own_only=own_only)


def ask_own(repository: Repository, cells: Iterable[tuple[int, int]]) -> None:
    """Ask for the verdicts of these cells' commits (commit id, job id) and for no other commit's."""
    _request(repository, set(cells), own_only=True)


def ask_of_mass(repository: Repository, run_ids: Collection[int]) -> None:
    """Ask for the cells that show these runs, members of a mass failure, and don't say so yet: each is asked for once,
    when so many have come in that it is one. One statement or two; none without members."""
    cells = lone_cells(run_ids) if run_ids else []
    if cells:
        ask_own(repository, cells)


def ask_all(repository: Repository) -> int:
    """Ask for every verdict of the repository off trunk to be decided again, those of healed cells too: what it
    declares about its jobs has changed."""
    return _ask_off_trunk(repository, Q(), Q())


def ask_of_jobs(repository: Repository, job_ids: Collection[int]) -> int:
    """The same for some jobs alone: they are called otherwise now."""
    return _ask_off_trunk(repository, Q(run__job_id__in=job_ids), Q(job_id__in=job_ids))


def _ask_off_trunk(repository: Repository, which: Q, cells: Q) -> int:
    kept = Verdict.objects.filter(which, repository=repository).values_list("run__commit_id", "run__job_id")
    on_trunk = BranchCommit.objects.filter(branch__tracked=True, commit_id=OuterRef("commit_id"))
    healed = Cell.objects.filter(cells, ~Exists(on_trunk), flaky=True, commit__repository=repository)
    return _request(repository, {*kept, *healed.values_list("commit_id", "job_id")}, own_only=True)


def _request(repository: Repository, pairs: Collection[tuple[int, int]], *, own_only: bool) -> int:
    cells = sorted(pairs)
    sql = (
        "INSERT INTO hud_judgerequest (repository_id, commit_id, job_id, own_only, with_trunk)"
        " SELECT %s, commit_id, job_id, %s, %s FROM unnest(%s::bigint[], %s::bigint[]) AS told (commit_id, job_id)"
    )
    with connection.cursor() as cursor:
        columns = [[c for c, _ in cells], [j for _, j in cells]]
        cursor.execute(sql + _ASKED_ALREADY, [repository.pk, own_only, own_only, *columns])
    return len(cells)


# ── Deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _wait_for_turn(repository: Repository) -> None:
    """One at a time judges a repository, so that an older look never overwrites a newer one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_CLASS, repository.pk])


def commits_touched_by(repository: Repository, cells: Collection[tuple[int, int]]) -> list[int]:
    """Return the ids of the commits off trunk whose verdicts may change by these cells.

    Those of the cells themselves, and of verdicts in the same job: by a cell of trunk, all that trunk can change and
    that were pushed within the window, in sibling configurations too; by any other cell, those with the same signature
    or that rest on one of its runs. A fixed number of statements.
    """
    commit_ids = {commit_id for commit_id, _ in cells}
    places = BranchCommit.objects.filter(commit_id__in=commit_ids, branch__tracked=True)
    on_trunk = set(places.values_list("commit_id", flat=True))
    touched = has_own_verdicts(commit_ids)
    names = {job.job_id: job.name.full for job in repository_jobs(repository.pk).values()}
    times = dict(Commit.objects.filter(pk__in=commit_ids).values_list("pk", "committed_at"))
    now = timezone.now()
    wanted = Q(pk__in=())
    for job_id in {job_id for _, job_id in cells} & names.keys():
        here = [commit_id for commit_id, of_job in cells if of_job == job_id and commit_id in on_trunk]
        if here:
            moments = [min(times.get(commit_id) or now, now) for commit_id in here]
            pushed = (min(moments) - SETTINGS.window, max(moments) + _OLDEST_BASE)
            kin = _families_near(names[job_id], names.values())
            wanted |= Q(family__in=kin, label__in=_TRUNK_MATTERS, pushed_at__range=pushed)
    found = Verdict.objects.filter(wanted, repository=repository)
    touched |= set(found.values_list("run__commit_id", flat=True))
    return sorted(touched | _look_alikes(repository, {cell for cell in cells if cell[0] not in on_trunk}, names))


def has_own_verdicts(commit_ids: Collection[int]) -> set[int]:
    """Return those of the commits that have verdicts of their own: off trunk, or runs of a pull request on it."""
    places = BranchCommit.objects.filter(commit_id__in=commit_ids, branch__tracked=True)
    on_trunk = set(places.values_list("commit_id", flat=True))
    pulled = Run.objects.filter(commit_id__in=on_trunk, origin__in=OF_PULLS).values_list("commit_id", flat=True)
    return (set(commit_ids) - on_trunk) | set(pulled)


def _look_alikes(repository: Repository, cells: Collection[tuple[int, int]], names: Mapping[int, str]) -> set[int]:
    """Return the commits whose verdicts are about the same failure as these cells off trunk, rest on their runs, or
    took the job for one that had passed nowhere."""
    rows = Run.objects.filter(commit_id__in={c for c, _ in cells}, job_id__in={j for _, j in cells})
    runs = list(rows.only("external_id", "job_id", "created_at", "started_at", "completed_at"))
    times = [at for run in runs for at in (run.created_at, run.started_at, run.completed_at) if at]
    if not times:
        return set()
    told = Failure.objects.filter(run__in=runs, rank=0).values_list("signature", flat=True)
    alike = Q(run__failures__signature__in=set(told))
    alike |= Q(evidence__overlap=[str(run.external_id) for run in runs])
    alike |= Q(label="unknown", run__job_id__in=_first_passed_by(cells))
    families = {jobs.family_of(names[run.job_id]) for run in runs if run.job_id in names}
    pushed = (min(times) - SETTINGS.window, max(times) + SETTINGS.window)
    found = Verdict.objects.filter(alike, repository=repository, family__in=families, pushed_at__range=pushed)
    return set(found.values_list("run__commit_id", flat=True))


def _first_passed_by(cells: Collection[tuple[int, int]]) -> set[int]:
    """Return the jobs that passed in these cells and on no other commit."""
    commit_ids, job_ids = {c for c, _ in cells}, {j for _, j in cells}
    passed = Run.objects.filter(job_id__in=job_ids, conclusion="success")
    elsewhere = Run.objects.filter(job_id=OuterRef("job_id"), conclusion="success").exclude(commit_id__in=commit_ids)
    return set(passed.filter(~Exists(elsewhere), commit_id__in=commit_ids).values_list("job_id", flat=True))


def _families_near(name: str, names: Iterable[str]) -> set[str]:
    """Return the stable names of the job and its sibling configurations."""
    return {jobs.family_of(name), *(jobs.family_of(other) for other in names if jobs.is_sibling(other, name))}


def judge(repository: Repository, commit_ids: Iterable[int]) -> None:
    """Decide the verdicts of these commits' failed and stopped runs, and show them in their cells. Safe to repeat."""
    reports, known = _writes_reports(repository), JobsOf.read(repository)
    ids = sorted(set(commit_ids))
    for start in range(0, len(ids), _TOGETHER):
        commits = list(Commit.objects.filter(pk__in=ids[start : start + _TOGETHER]).order_by("pk"))
        for commit in commits:
            commit.repository = repository
        with transaction.atomic():  # one for some commits: ingest waits for the last lines of it at most
            _wait_for_turn(repository)
            gathered = gather_all(repository, commits, known)
            _write(repository, gathered)
            lock_repository(repository)
            show_verdicts(repository, commits)
            ask_of_mass(repository, _members_of_mass(repository, gathered))
        for number in pull_numbers_of(repository, commits) if reports else ():
            want_report(repository, number)


def _members_of_mass(repository: Repository, gathered: Mapping[int, Gathered]) -> set[int]:
    """Return the row ids of the runs that died of infrastructure together with runs of these commits."""
    numbers: set[int] = set()
    for found in gathered.values():
        for scenario in found.scenarios.values():
            mass = mass_failure_of(scenario.run, (*scenario.same_change, *scenario.same_minutes))
            numbers.update(int(number) for number in (mass.runs if mass else ()))
    if not numbers:
        return set()
    runs = Run.objects.filter(repository=repository, external_id__in=numbers)
    return set(runs.values_list("pk", flat=True))


def _answers(gathered: Gathered) -> dict[int, Answer]:
    answers = {}
    for run_id, scenario in gathered.scenarios.items():
        try:
            answers[run_id] = decide(scenario, gathered.kinds)
        except Exception as error:  # a fault of ours must cost one answer, not all of the commit's
            logger.exception("the verdict of run %s could not be decided", scenario.run.id)
            reason = f"Our verdict engine failed on it ({type(error).__name__}); that says nothing about the run."
            answers[run_id] = Answer("unknown", True, "look", reason, 0.1)
    return answers


def _write(repository: Repository, gathered: Mapping[int, Gathered]) -> None:
    """Write what changed of these commits' verdicts. Those of runs that failed no more go. Four statements at most."""
    kept = {row.run_id: row for row in Verdict.objects.filter(run__commit__in=list(gathered))}
    made, changed = [], []
    for found in gathered.values():
        for run_id, answer in _answers(found).items():
            row = kept.pop(run_id, None)
            values = _values(answer, found.scenarios[run_id].run, found.families[run_id])
            if row is None:
                made.append(Verdict(run_id=run_id, repository=repository, **values))
            elif any(getattr(row, name) != value for name, value in values.items()):
                for name, value in values.items():
                    setattr(row, name, value)
                changed.append(row)
    Verdict.objects.bulk_create(made, ignore_conflicts=True, batch_size=1000)
    update_rows(changed, [*_WRITTEN, "decided_at"])
    if kept:
        Verdict.objects.filter(pk__in=[row.pk for row in kept.values()]).delete()


_WRITTEN = (
    "label", "blocks", "action", "reason", "confidence", "evidence", "engine_version", "since_sha", "since_is_first",
    "family", "pushed_at",
)  # fmt: skip


def _values(answer: Answer, run: Attempt, family: str) -> dict[str, Any]:
    """What stands in a verdict's row."""
    return dict(
        zip(
            _WRITTEN,
            (
                answer.label,
                answer.blocks_merge,
                answer.action,
                storable(answer.reason, 4000),
                round(answer.confidence, 3),
                list(answer.evidence[:MOST_EVIDENCE]),
                answer.engine_version,
                answer.since.commit if answer.since else "",
                answer.since is not None and answer.since.is_first,
                family[:800],
                run.pushed_at or run.completed_at or timezone.now(),
            ),
            strict=True,
        )
    )


# ── Showing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def show_verdicts(repository: Repository, commits: Sequence[Commit]) -> None:
    """Bring the cells of commits off trunk up to date with the verdicts of their runs and with what people said.

    The caller holds the repository's lock. Leaves commits of trunk alone, whose cells the streaks judge.
    """
    places = BranchCommit.objects.filter(commit__in=commits, branch__tracked=True)
    off_trunk = {commit.pk for commit in commits} - set(places.values_list("commit_id", flat=True))
    if not off_trunk:
        return
    cells = list(Cell.objects.filter(commit_id__in=off_trunk, state__in=[state.value for state in FAILING]))
    answers = {row.run_id: row for row in Verdict.objects.filter(run_id__in=[cell.run_id for cell in cells])}
    before = [told_of(cell) for cell in cells]
    for cell in cells:
        answer = answers.get(cell.run_id or 0)
        cell.verdict = answer.label if answer else ""
        cell.verdict_reason = answer.reason if answer else ""
        cell.verdict_confidence = answer.confidence if answer else None
    overlay(cells)
    changed = [cell for cell, was in zip(cells, before, strict=True) if told_of(cell) != was]
    update_rows(changed, ["verdict", "verdict_reason", "verdict_confidence"])
    write_characters(Batch(repository), {(cell.commit_id, cell.job_id): character_of(cell) for cell in changed})


def want_report(repository: Repository, number: int) -> None:
    """Note that what GitHub shows of this pull request may be out of date, where HUD writes to it at all."""
    if _writes_reports(repository):
        PostedReport.objects.update_or_create(repository=repository, pull_number=number, defaults={"wanted": True})


def want_reports_on(repository: Repository, commit_ids: Collection[int]) -> None:
    """Note the same of the pull requests of these commits: a workflow began or ended there, of which no cell tells."""
    if commit_ids and _writes_reports(repository):
        for number in pull_numbers_of(repository, list(Commit.objects.filter(pk__in=commit_ids))):
            want_report(repository, number)


def _writes_reports(repository: Repository) -> bool:
    return Reporting.objects.filter(Q(comment=True) | Q(check_run=True), repository=repository).exists()
