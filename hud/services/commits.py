"""Writes commits and their order on branches."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import connection
from django.db.models import Q

from hud.core.facts import CommitFact, HeadFact
from hud.core.join import earliest, join_list, join_text, latest
from hud.core.touched import join_touched
from hud.core.trunk import Head, arrange
from hud.models import Branch, BranchCommit, Commit, HeadReport
from hud.services.batch import Batch
from hud.services.bulk import update_rows

_FIELDS = [
    "title",
    "message",
    "author",
    "author_name",
    "author_email",
    "authored_at",
    "committed_at",
    "pull_number",
    "parents",
    "guessed_parent",
]
_TOUCHED = ["files", "files_lack"]
"""What no row of a branch shows: to know it disturbs no open page."""


def ensure_commits(batch: Batch, shas: Iterable[str]) -> dict[str, Commit]:
    """Return sha -> commit; those that nobody has told about yet are made as bare rows."""
    wanted = set(shas)
    rows = Commit.objects.filter(repository=batch.repository, sha__in=wanted)
    known = {c.sha: c for c in rows.defer("message", "files")}
    missing = sorted(wanted - known.keys())
    if missing:
        made = Commit.objects.bulk_create([Commit(repository=batch.repository, sha=sha) for sha in missing])
        known.update({c.sha: c for c in made})
        _fill_gaps(batch, missing)
    return known


def _fill_gaps(batch: Batch, shas: list[str]) -> None:
    """Look again at branches whose oldest known row has been waiting for one of these parents."""
    _rearrange(batch, Branch.objects.filter(repository=batch.repository, missing_parents__overlap=shas))


def _rearrange(batch: Batch, branches: Iterable[Branch]) -> None:
    for branch in branches:
        batch.touch([branch])
        batch.rearranged_branches.add(branch.id)


def write_commits(batch: Batch, facts: Sequence[CommitFact]) -> None:
    """Join what is told about commits with what is known."""
    if not facts:
        return
    told: dict[str, list[CommitFact]] = defaultdict(list)
    for fact in facts:
        told[fact.sha].append(fact)
    ensure_commits(batch, told)
    changed: list[Commit] = []
    touched: list[Commit] = []
    moved = False
    for commit in Commit.objects.filter(repository=batch.repository, sha__in=told).order_by("id"):
        before, parent, files = _values(commit, _FIELDS), commit.first_parent, _values(commit, _TOUCHED)
        for fact in told[commit.sha]:
            _join_commit(commit, fact)
        if _values(commit, _FIELDS) != before:
            changed.append(commit)
            moved = moved or commit.first_parent != parent
        elif _values(commit, _TOUCHED) != files:
            touched.append(commit)
    update_rows([*changed, *touched], [*_FIELDS, *_TOUCHED])
    if moved:
        _rearrange(batch, Branch.objects.filter(repository=batch.repository, tracked=True))
    batch.touch_branches_of([c.id for c in changed])


def _values(commit: Commit, fields: list[str]) -> list[object]:
    return [getattr(commit, field) for field in fields]


def _join_commit(commit: Commit, fact: CommitFact) -> None:
    """The API tells a commit's two times apart and events do not: its word on them replaces theirs."""
    api_knows, api_says = commit.parents is not None, fact.parents is not None
    if api_says or not api_knows:
        if api_says and not api_knows:
            commit.authored_at = commit.committed_at = None
        commit.authored_at = earliest(commit.authored_at, fact.authored_at)
        commit.committed_at = earliest(commit.committed_at, fact.committed_at)
    if api_says:
        commit.parents = join_list(commit.parents, fact.parents)
    commit.title = join_text(commit.title, fact.title)
    commit.message = join_text(commit.message, fact.message)
    commit.pull_number = max(commit.pull_number or 0, fact.pull_number or 0) or None
    commit.author = join_text(commit.author, fact.author)
    commit.author_name = join_text(commit.author_name, fact.author_name)
    commit.author_email = join_text(commit.author_email, fact.author_email)
    commit.guessed_parent = join_text(commit.guessed_parent, fact.guessed_parent)
    told = None if fact.files is None else list(fact.files)
    commit.files, commit.files_lack = join_touched((commit.files, commit.files_lack), (told, fact.files_lack))


def write_heads(batch: Batch, facts: Sequence[HeadFact]) -> None:
    """Keep reports about the heads of tracked branches; other branches are no rows of HUD."""
    if not facts:
        return
    branches = {
        b.name: b
        for b in Branch.objects.filter(repository=batch.repository, tracked=True, name__in={f.branch for f in facts})
    }
    for fact in facts:
        branch = branches.get(fact.branch)
        if branch is None:
            continue
        ensure_commits(batch, [fact.sha])
        report, made = HeadReport.objects.get_or_create(
            branch=branch,
            before=fact.before,
            sha=fact.sha,
            polled=fact.polled,
            defaults={"forced": fact.forced, "reported_at": fact.reported_at},
        )
        if not made:
            report.forced = report.forced or fact.forced
            report.reported_at = latest(report.reported_at, fact.reported_at)
            report.save(update_fields=["forced", "reported_at"])
        if fact.polled:
            HeadReport.objects.filter(branch=branch, polled=True, reported_at__lt=report.reported_at).delete()
        _rearrange(batch, [branch])


def arrange_branches(batch: Batch) -> None:
    """Put the rows of the touched branches in first-parent order."""
    for branch_id in sorted(batch.rearranged_branches):
        _arrange_branch(batch, batch.touched_branches[branch_id])


def _arrange_branch(batch: Batch, branch: Branch) -> None:
    parent_of, ids, times = _parents_of_repository(branch)
    heads = [
        Head(r.sha, r.before, r.forced, r.polled, r.reported_at or times.get(r.sha))
        for r in HeadReport.objects.filter(branch=branch)
    ]
    wanted, missing = arrange(heads, parent_of)
    if missing != branch.missing_parents:
        branch.missing_parents = missing
        Branch.objects.filter(pk=branch.pk).update(missing_parents=missing)
    placed = list(BranchCommit.objects.filter(branch=branch).order_by("-position").values_list("commit_id", "position"))
    rows = [ids[sha] for sha in wanted]
    if rows == [commit_id for commit_id, _ in placed]:
        return
    _place(batch, branch, rows, placed)
    head_id = rows[0] if rows else None
    if branch.head_id != head_id:
        branch.head_id = head_id
        Branch.objects.filter(pk=branch.pk).update(head_id=head_id)


def _parents_of_repository(branch: Branch) -> tuple[dict[str, str], dict[str, int], dict[str, datetime | None]]:
    """Return sha -> first parent, sha -> commit id, sha -> commit time of all commits of the repository."""
    parent_of: dict[str, str] = {}
    ids: dict[str, int] = {}
    times: dict[str, datetime | None] = {}
    rows = Commit.objects.filter(repository_id=branch.repository_id)
    for pk, sha, parents, guess, at in rows.values_list("id", "sha", "parents", "guessed_parent", "committed_at"):
        ids[sha] = pk
        times[sha] = at
        parent_of[sha] = (parents[0] if parents else "") if parents is not None else guess
    return parent_of, ids, times


def _place(batch: Batch, branch: Branch, rows: list[int], placed: list[tuple[int, int]]) -> None:
    """Write positions. Rows that stay keep theirs: an append, a back-fill or a rewritten top moves no other row."""
    old = [commit_id for commit_id, _ in placed]
    start = rows.index(old[0]) if old and old[0] in rows else -1
    if start >= 0 and rows[start : start + len(old)] == old:
        top, bottom = placed[0][1], placed[-1][1]
        newer = [(c, top + start - i) for i, c in enumerate(rows[:start])]
        older = [(c, bottom - 1 - i) for i, c in enumerate(rows[start + len(old) :])]
        additions = newer + older
    else:
        kept = _common_tail(rows, old)
        cut = placed[len(placed) - kept][1] if kept else (placed[-1][1] - 1 if placed else -1)
        _forget_above(batch, branch, cut)
        fresh = rows[: len(rows) - kept]
        additions = [(c, cut + len(fresh) - i) for i, c in enumerate(fresh)]
    BranchCommit.objects.bulk_create(
        [BranchCommit(branch=branch, commit_id=c, position=p) for c, p in additions], batch_size=1000
    )
    _note_cells_of(batch, [c for c, _ in additions])


def _common_tail(one: list[int], other: list[int]) -> int:
    count = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        count += 1
    return count


def _forget_above(batch: Batch, branch: Branch, cut: int) -> None:
    """Take rows above position `cut` off the branch. Streaks that reached past it are found again from their start."""
    past = branch.streaks.filter(Q(last_bad__gt=cut) | Q(first_good_after__gt=cut) | Q(first_good_after=None))
    starts = dict(
        BranchCommit.objects.filter(
            branch=branch, position__lte=cut, position__in=past.values("first_bad")
        ).values_list("position", "commit_id")
    )
    for job_id, first_bad in past.values_list("job_id", "first_bad"):
        if first_bad in starts:
            batch.dirty_streaks.add((starts[first_bad], job_id))
    past.delete()
    gone = BranchCommit.objects.filter(branch=branch, position__gt=cut)
    # What trunk said of them is no longer theirs, nor is it evidence of trunk's.
    _note_cells_of(batch, list(gone.values_list("commit_id", flat=True)))
    gone.delete()


def _note_cells_of(batch: Batch, commit_ids: list[int]) -> None:
    """Cells that came before their commit had a place are part of streaks from now on, or no longer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT commit_id, job_id FROM hud_cell WHERE commit_id = ANY(%(ids)s)", {"ids": commit_ids})
        batch.dirty_streaks.update(cursor.fetchall())
