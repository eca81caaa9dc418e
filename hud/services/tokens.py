"""Makes, finds and revokes the tokens with which programs act for a person."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hud.core.text import storable
from hud.models import ApiToken
from hud.services.audit import record

PREFIX = "hud_"
"""Tells people and secret scanners what it is."""
_HINT_CHARS = len(PREFIX) + 4
_USE_NOTED_EVERY = timedelta(hours=1)


@transaction.atomic
def make_token(
    *, user: User, scope: str = ApiToken.Scope.ALL, note: str = "", days: int | None = None, who: User | None = None
) -> tuple[ApiToken, str]:
    """Make a token of `user` and return its row and the token itself, which is kept nowhere.

    `days` until it ends, None: it does not. `who` made it, None: the command line.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    ends = timezone.now() + timedelta(days=days) if days is not None else None
    row = ApiToken.objects.create(
        user=user,
        digest=_digest(token),
        hint=token[:_HINT_CHARS],
        scope=scope,
        note=storable(note, 200),
        expires_at=ends,
    )
    record(who, "api_token.made", f"token {row.hint}… of {user.get_username()}", after=_told(row))
    return row, token


@transaction.atomic
def revoke_token(*, token_id: int, who: User | None = None) -> ApiToken:
    """End a token now. Raises ApiToken.DoesNotExist. Revoking it again changes nothing."""
    row = ApiToken.objects.select_for_update().select_related("user").get(pk=token_id)
    if row.revoked_at is None:
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
        record(who, "api_token.revoked", f"token {row.hint}… of {row.user.get_username()}", before=_told(row))
    return row


def token_of(text: str) -> ApiToken | None:
    """Return the token that is valid now, with its user, or None. Its use is noted, at most once an hour."""
    if not text.startswith(PREFIX) or len(text) > 200:
        return None
    now = timezone.now()
    valid = ApiToken.objects.filter(revoked_at=None, user__is_active=True).exclude(expires_at__lte=now)
    row = valid.select_related("user").filter(digest=_digest(text)).first()
    if row is not None and (row.used_at is None or now - row.used_at >= _USE_NOTED_EVERY):
        stale = Q(used_at=None) | Q(used_at__lte=now - _USE_NOTED_EVERY)
        ApiToken.objects.filter(stale, pk=row.pk).update(used_at=now)
    return row


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _told(row: ApiToken) -> dict[str, str | None]:
    return {
        "scope": row.scope,
        "note": row.note,
        "expires_at": row.expires_at.isoformat() if row.expires_at else None,
    }
