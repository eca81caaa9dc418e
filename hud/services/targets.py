"""Targets: who is told. Their addresses and secrets are sealed when saved, and checked when saved and when sent."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from hud.clients.notify import Options, TargetRefused, check_target, preset_of, shown_address
from hud.clients.notify.presets import BY_NAME
from hud.core.alerts.quiet import QuietHours
from hud.core.text import storable
from hud.models import OutboxMessage, Repository, Target
from hud.services.audit import record

MOST_GROUP_S = 3600
_TAKEN = "There is a target with the name {}."


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


@dataclass(frozen=True, slots=True)
class Manner:
    """How a target is told: fields of Target."""

    together: bool = False
    group_s: int | None = None
    quiet: QuietHours | None = None


def typed_config(service: str, values: Mapping[str, str], *, known: Target | None) -> tuple[str, dict[str, Any] | None]:
    """Return the kind and the configuration of a filled-in form; None: nothing of a known target's was typed anew.

    What is left empty stays as it was; a single "-" takes it away. Raises TargetRefused.
    """
    if service not in BY_NAME:
        raise TargetRefused(f"There is no service {service[:20]!r}; there are {', '.join(BY_NAME)}.")
    preset = BY_NAME[service]
    given = {f.name: str(values.get(f.name) or "").strip() for f in preset.fields}
    if known is not None and not any(given.values()):
        return preset.kind, None
    before = _typed_before(known) if known is not None else {}
    merged = {name: {"": before.get(name, ""), "-": ""}.get(value, value) for name, value in given.items()}
    return preset.kind, preset.build(merged)


def _typed_before(known: Target) -> dict[str, str]:
    """Return what a target's form was filled in with; nothing if its address cannot be read any more."""
    try:
        config = config_of(known)
    except TargetRefused:
        return {}
    made_of = config.get("typed") or config  # one made by a program has no form
    return {name: ", ".join(value) if isinstance(value, list) else str(value) for name, value in made_of.items()}


@transaction.atomic
def save_target(
    *,
    name: str,
    kind: str,
    config: Mapping[str, Any] | None,
    who: AbstractBaseUser,
    service: str = "",
    manner: Manner | None = None,
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
    if _is_taken(name, target_id):
        raise TargetRefused(_TAKEN.format(name))
    if repository_id is not None and not Repository.objects.filter(pk=repository_id).exists():
        raise TargetRefused("The repository that was chosen for it is not there.")
    target = Target(name=name, kind=kind) if target_id is None else Target.objects.select_for_update().get(pk=target_id)
    if target.pk is not None and target.version != version:
        raise TargetConflict(f"Somebody changed it meanwhile: it is at version {target.version}, not {version}.")
    before = told(target) if target.pk is not None else None
    if config is not None or target.pk is None:
        _take_config(target, kind, config or {}, service)
    if manner is not None:
        _take_manner(target, manner)
    target.name, target.enabled, target.repository_id = name, enabled, repository_id
    target.teams = [storable(t.strip(), 100) for t in teams or [] if t.strip()]
    target.version = target.version + 1 if target.pk is not None else 1
    try:
        with transaction.atomic():
            target.save()
    except IntegrityError:  # somebody gave another one this name in the same moment
        raise TargetRefused(_TAKEN.format(name)) from None
    if before and before["quiet"] != target.quiet:
        # What waited for the old hours is looked at again: the sender puts off what still has to wait.
        target.messages.filter(state=OutboxMessage.State.WAITING, held=True).update(due_at=timezone.now())
    record(who, "target.changed" if before else "target.made", f"target {name}", before=before, after=told(target))
    return target


def _is_taken(name: str, target_id: int | None) -> bool:
    return Target.objects.filter(name=name).exclude(pk=target_id or 0).exists()


def _take_config(target: Target, kind: str, config: Mapping[str, Any], service: str) -> None:
    typed = config.get("typed")
    checked = check_target(kind, config, options())
    if isinstance(typed, Mapping):
        checked["typed"] = dict(typed)
    target.kind, target.service, target.sealed = kind, service, seal(checked)
    target.shown = shown_address(kind, checked)


def _take_manner(target: Target, manner: Manner) -> None:
    preset = preset_of(target.kind, target.service)
    if preset.together is None and manner.together:
        raise TargetRefused(f"{preset.label} takes one message for each alert.")
    if manner.quiet is not None and target.kind in (Target.Kind.ALERTMANAGER, Target.Kind.GITHUB):
        raise TargetRefused(f"Quiet hours are for people; {preset.label} wakes nobody by itself.")
    if manner.group_s is not None and not 0 <= manner.group_s <= MOST_GROUP_S:
        raise TargetRefused(f"The wait for other alerts is from 0 to {MOST_GROUP_S} seconds.")
    target.together, target.group_s = manner.together, manner.group_s
    target.quiet = manner.quiet.stored() if manner.quiet else {}


def told(target: Target) -> dict[str, Any]:
    """Return a target as the audit trail keeps it: without its secrets."""
    return {
        "name": target.name,
        "kind": target.kind,
        "shown": target.shown,
        "teams": target.teams,
        "enabled": target.enabled,
        "service": target.service,
        "together": target.together,
        "group_s": target.group_s,
        "quiet": target.quiet,
        "repository": target.repository_id,
        "version": target.version,
    }
