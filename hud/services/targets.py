"""Targets: who is told. Their addresses and secrets are sealed when saved, and checked when saved and when sent."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction

from hud.clients.notify import Options, TargetRefused, check_target, shown_address
from hud.core.text import storable
from hud.models import Target
from hud.services.audit import record


class TargetConflict(ValueError):
    """Somebody else changed the target meanwhile."""


def _box() -> Fernet:
    """The key follows from SECRET_KEY: the same on every machine of a team."""
    digest = hashlib.sha256(b"hud targets\x00" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))


def seal(config: Mapping[str, Any]) -> str:
    """Return the configuration encrypted."""
    return _box().encrypt(json.dumps(config).encode()).decode()


def config_of(target: Target) -> dict[str, Any]:
    """Return the configuration of a target. Raises TargetRefused if SECRET_KEY is not the one it was sealed with."""
    try:
        config: dict[str, Any] = json.loads(_box().decrypt(target.sealed.encode()))
    except InvalidToken:
        raise TargetRefused("Its address was sealed with another SECRET_KEY; type it again.") from None
    return config


def options() -> Options:
    """Return how targets are reached, from the settings."""
    return Options(
        allowed_hosts=tuple(settings.NOTIFY_HOSTS),
        connect_timeout_s=settings.NOTIFY_CONNECT_TIMEOUT_S,
        timeout_s=settings.NOTIFY_TIMEOUT_S,
        smtp_url=settings.SMTP_URL,
        mail_from=settings.MAIL_FROM,
        resend_s=settings.ALERTMANAGER_RESEND_S,
        has_github_token=bool(settings.GITHUB_TOKEN),
    )


@transaction.atomic
def save_target(
    *,
    name: str,
    kind: str,
    config: Mapping[str, Any] | None,
    who: AbstractBaseUser,
    teams: list[str] | None = None,
    repository_id: int | None = None,
    enabled: bool = True,
    target_id: int | None = None,
    version: int = 0,
) -> Target:
    """Make a target, or change one of which the caller saw `version`. Without `config` its address stays.

    Raises TargetRefused, TargetConflict, Target.DoesNotExist.
    """
    name = storable(name.strip(), 100)
    if not name or not name.isprintable():
        raise TargetRefused("Give the target a name.")
    if Target.objects.filter(name=name).exclude(pk=target_id or 0).exists():
        raise TargetRefused(f"There is a target with the name {name}.")
    target = Target(name=name, kind=kind) if target_id is None else Target.objects.select_for_update().get(pk=target_id)
    if target.pk is not None and target.version != version:
        raise TargetConflict(f"Somebody changed it meanwhile: it is at version {target.version}, not {version}.")
    before = told(target) if target.pk is not None else None
    if config is not None or target.pk is None:
        checked = check_target(kind, config or {}, options())
        target.kind, target.sealed, target.shown = kind, seal(checked), shown_address(kind, checked)
    target.name, target.enabled, target.repository_id = name, enabled, repository_id
    target.teams = [storable(t.strip(), 100) for t in teams or [] if t.strip()]
    target.version = target.version + 1 if target.pk is not None else 1
    target.save()
    record(who, "target.changed" if before else "target.made", f"target {name}", before=before, after=told(target))
    return target


def told(target: Target) -> dict[str, Any]:
    """Return a target as the audit trail keeps it: without its secrets."""
    return {
        "name": target.name,
        "kind": target.kind,
        "shown": target.shown,
        "teams": target.teams,
        "enabled": target.enabled,
        "repository": target.repository_id,
        "version": target.version,
    }
