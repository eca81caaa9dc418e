"""What admins see of repositories, back-fills, the inbox and the audit trail at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from hud.models import AuditEntry, Branch, FollowRequest, InboxItem, Repository

MOST_REPOSITORIES = 200
MOST_REQUESTS = 20


@dataclass(frozen=True, slots=True)
class BranchState:
    """A branch as the poller left it. `error` and `retry_at`: why GitHub gave no answer, and when it is asked again."""

    id: int
    name: str
    is_trunk: bool
    tracked: bool
    polled_at: datetime | None
    changed_at: datetime | None
    error: str
    retry_at: datetime | None


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """A repository with its branches, the trunk first. `jobs`: how many columns it has."""

    id: int
    full_name: str
    default_branch: str
    synthetic: bool
    followed: bool
    jobs: int
    group_rules: int
    branches: tuple[BranchState, ...]
    former_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BackFill:
    """A back-fill and how far it is. `total` is 0 until GitHub's list of commits was read."""

    id: int
    full_name: str
    branch: str
    commits: int
    state: str
    done: int
    total: int
    message: str
    created_at: datetime
    updated_at: datetime
    retry_at: datetime | None

    @property
    def is_over(self) -> bool:
        return self.state in (FollowRequest.State.DONE, FollowRequest.State.FAILED)

    @property
    def percent(self) -> int:
        return min(100, self.done * 100 // self.total) if self.total else 0


@dataclass(frozen=True, slots=True)
class InboxCounts:
    """How many items need a look. `failing` wait for another try after an error, `waiting` for their first."""

    parked: int = 0
    failing: int = 0
    unfollowed: int = 0
    noted: int = 0
    waiting: int = 0

    @property
    def attention(self) -> int:
        return self.parked + self.failing + self.unfollowed + self.noted


def repository_states() -> tuple[RepositoryState, ...]:
    """Return all repositories, followed ones first. Three statements."""
    rows = list(
        Repository.objects.annotate(
            job_count=Count("jobs", distinct=True), rule_count=Count("group_rules", distinct=True)
        )
        .prefetch_related("branches", "aliases")
        .order_by("-followed", "synthetic", "owner", "name")[:MOST_REPOSITORIES]
    )
    return tuple(
        RepositoryState(
            id=row.pk,
            full_name=row.full_name,
            default_branch=row.default_branch,
            synthetic=row.synthetic,
            followed=row.followed,
            jobs=row.job_count,
            group_rules=row.rule_count,
            branches=_branches(row),
            former_names=tuple(f"{alias.owner}/{alias.name}" for alias in row.aliases.all()),
        )
        for row in rows
    )


def _branches(row: Repository) -> tuple[BranchState, ...]:
    found = [
        BranchState(
            id=branch.pk,
            name=branch.name,
            is_trunk=branch.name == row.default_branch,
            tracked=branch.tracked,
            polled_at=branch.polled_at,
            changed_at=branch.changed_at,
            error=branch.poll_error,
            retry_at=branch.poll_retry_at,
        )
        for branch in row.branches.all()
    ]
    return tuple(sorted(found, key=lambda b: (not b.is_trunk, not b.tracked, b.name)))


def back_fills() -> tuple[BackFill, ...]:
    """Return the newest back-fills, those that are not over first."""
    rows = FollowRequest.objects.select_related("repository").order_by("-id")[:MOST_REQUESTS]
    return tuple(sorted((_back_fill(row) for row in rows), key=lambda b: b.is_over))


def back_fill_at(request_id: int) -> BackFill | None:
    """Return one back-fill."""
    row = FollowRequest.objects.select_related("repository").filter(pk=request_id).first()
    return _back_fill(row) if row else None


def _back_fill(row: FollowRequest) -> BackFill:
    return BackFill(
        id=row.pk,
        full_name=row.repository.full_name,
        branch=row.branch,
        commits=row.commits,
        state=row.state,
        done=row.done,
        total=row.total,
        message=row.message,
        created_at=row.created_at,
        updated_at=row.updated_at,
        retry_at=_retry_at(row.cursor) if row.state == FollowRequest.State.WAITING else None,
    )


def _retry_at(cursor: Mapping[str, object]) -> datetime | None:
    text = cursor.get("retry_at")
    return datetime.fromisoformat(text) if isinstance(text, str) else None


def inbox_counts() -> InboxCounts:
    """Return how many items need a look, in one statement over the partial indexes."""
    state = InboxItem.State
    looked_at = Q(state__in=[state.PARKED, state.UNFOLLOWED, state.WAITING]) | ~Q(note="")
    found = InboxItem.objects.filter(looked_at).aggregate(
        parked=Count("pk", filter=Q(state=state.PARKED)),
        failing=Count("pk", filter=Q(state=state.WAITING, attempts__gt=0)),
        unfollowed=Count("pk", filter=Q(state=state.UNFOLLOWED)),
        noted=Count("pk", filter=Q(state=state.DONE) & ~Q(note="")),
        waiting=Count("pk", filter=Q(state=state.WAITING, attempts=0)),
    )
    return InboxCounts(**found)


def branch_of(branch_id: int) -> Branch | None:
    """Return a branch with its repository."""
    return Branch.objects.select_related("repository").filter(pk=branch_id).first()


def repository_of(repository_id: int) -> Repository | None:
    """Return a repository."""
    return Repository.objects.filter(pk=repository_id).first()


def audit_entries(
    *, before_id: int | None = None, who: str = "", about: str = "", most: int = 50
) -> tuple[list[AuditEntry], bool]:
    """Return entries, newest first, and whether older ones follow. `about`: part of the target or of the action."""
    rows = AuditEntry.objects.all()
    if before_id is not None:
        rows = rows.filter(pk__lt=before_id)
    if who:
        rows = rows.filter(who=who)
    if about:
        rows = rows.filter(Q(target__icontains=about) | Q(what__icontains=about))
    found = list(rows.order_by("-id")[: most + 1])
    return found[:most], len(found) > most


def audit_of(target: str, most: int = 20) -> list[AuditEntry]:
    """Return what was done to one thing, newest first."""
    return list(AuditEntry.objects.filter(target=target).order_by("-id")[:most])
