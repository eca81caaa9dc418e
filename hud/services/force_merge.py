"""Records that a person merged a pull request although the gate was closed."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from hud.core.text import storable
from hud.models import ForceMerge, Repository
from hud.queries.pull import PullPage
from hud.services.audit import record
from hud.services.live import tell_open_pages

Person = AbstractBaseUser | AnonymousUser
LONGEST_REASON = 1000


class CannotForce(Exception):
    """The message says why."""


@transaction.atomic
def force_merge(*, who: Person, repository: Repository, page: PullPage, reason: str) -> ForceMerge:
    """Record it, with what stood against the merge. Raises CannotForce; a second time for one head as well.

    After the merge it can be recorded whatever the gate says by then: a rerun may have opened it.
    """
    reason = storable(reason.strip(), LONGEST_REASON)
    if not reason:
        raise CannotForce("Say why: a forced merge without a reason helps nobody who looks for what broke.")
    if page.shown is None or page.state is None:
        raise CannotForce("HUD knows no commit of this pull request, so there is nothing to force.")
    if page.state.may_merge and not (page.row and page.row.merged):
        raise CannotForce("The gate is open: it may be merged without force.")
    Repository.objects.select_for_update().get(pk=repository.pk)
    if ForceMerge.objects.filter(repository=repository, pull_number=page.number, head_sha=page.shown.sha).exists():
        raise CannotForce("It is recorded already for this commit.")
    state = page.state
    against = [*state.gate.blocking, *state.pending]
    row = ForceMerge.objects.create(
        repository=repository,
        pull_number=page.number,
        head_sha=page.shown.sha,
        who=who.get_username(),
        reason=reason,
        blocking=against,
    )
    after = {"head": row.head_sha, "reason": reason, "against": against[:50]}
    record(who, "pull.force_merged", f"{repository.full_name}#{page.number}", after=after)
    tell_open_pages(repository)
    return row
