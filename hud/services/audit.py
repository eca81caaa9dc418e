"""Writes the audit trail."""

from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser

from hud.core.text import storable
from hud.models import AuditEntry

COMMAND = "command line"
"""Who did it, where nobody was signed in: a management command."""
BY_ITSELF = "HUD"
"""Who did it, where no person did."""


def record(
    who: AbstractBaseUser | AnonymousUser | str | None,
    what: str,
    target: str = "",
    *,
    before: Any = None,
    after: Any = None,
) -> AuditEntry:
    """Note a change; call it in the transaction of the change, so that there is never one without the other.

    `before` and `after` are what JSON can hold; never a secret. `who` may be BY_ITSELF.
    """
    return AuditEntry.objects.create(
        who=storable(_name_of(who), 150), what=what, target=storable(target, 400), before=before, after=after
    )


def _name_of(who: AbstractBaseUser | AnonymousUser | str | None) -> str:
    if isinstance(who, str):
        return who
    return who.get_username() if who is not None and who.is_authenticated else COMMAND
