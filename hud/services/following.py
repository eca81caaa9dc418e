"""What admins do with repositories: follow, track branches, stop. Each change leaves an audit entry."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from hud.models import Branch, FollowRequest, Repository
from hud.services import follow
from hud.services.audit import record
from hud.services.evaluation_requests import want_evaluation
from hud.services.repositories import named

Person = AbstractBaseUser | AnonymousUser


@transaction.atomic
def follow_repository(*, who: Person, full_name: str, branch: str, commits: int) -> FollowRequest:
    """Follow a repository and ask for a back-fill. Raises ValueError where that makes no sense."""
    before = Repository.objects.filter(named(full_name)).first()
    was_followed = bool(before and before.followed)
    had_branch = bool(before and branch and before.branches.filter(name=branch, tracked=True).exists())
    request = follow.request_follow(full_name=full_name, branch=branch, commits=commits)
    more_of_known = was_followed and branch and not had_branch
    record(
        who,
        "branch.tracked" if more_of_known else "repository.followed",
        request.repository.full_name,
        before={"followed": was_followed},
        after={"followed": True, "branch": branch or request.branch or "the default branch", "commits": commits},
    )
    return request


@transaction.atomic
def stop_following(*, who: Person, repository: Repository) -> None:
    """Ask GitHub about it no more; what HUD has of it stays."""
    row = Repository.objects.select_for_update().get(pk=repository.pk)
    if not row.followed:
        return
    follow.stop_following(repository=row)
    record(who, "repository.unfollowed", row.full_name, before={"followed": True}, after={"followed": False})


@transaction.atomic
def stop_tracking(*, who: Person, branch: Branch) -> None:
    """Let a branch rest: it is neither polled nor shown among commits' branches. Raises ValueError for the trunk."""
    row = Branch.objects.select_for_update().select_related("repository").get(pk=branch.pk)
    if row.name == row.repository.default_branch:
        raise ValueError(f"{row.name} is the repository's trunk; stop following the repository instead")
    if not row.tracked:
        return
    row.tracked = False
    row.save(update_fields=["tracked"])
    want_evaluation([row], "it is no longer tracked")
    row.repository.follow_requests.filter(branch=row.name).exclude(state=FollowRequest.State.DONE).delete()
    record(
        who,
        "branch.untracked",
        row.repository.full_name,
        before={"branch": row.name, "tracked": True},
        after={"branch": row.name, "tracked": False},
    )
