"""Notices: posted, changed, ended early. Every change is in the audit trail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hud.core.text import storable
from hud.core.website import is_web_address
from hud.models import Notice, Repository
from hud.queries.notices import state_of
from hud.services.audit import record

LONGEST_TEXT = 500


class NoticeRefused(ValueError):
    """The notice cannot be posted like this; `errors` says why, by field."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors


class NoticeConflict(ValueError):
    """Somebody else changed it, or it is over; `current` is how it stands."""

    def __init__(self, message: str, current: Notice) -> None:
        super().__init__(message)
        self.current = current


@dataclass(frozen=True, slots=True)
class Wanted:
    """A notice as asked for, checked."""

    kind: str
    text: str
    link: str
    repository: Repository | None
    starts_at: datetime
    ends_at: datetime


def check(
    *,
    kind: str,
    text: str,
    link: str,
    repository: Repository | None,
    starts_at: datetime | None,
    ends_at: datetime | None,
) -> Wanted:
    """Check all of it; without a start it starts now. Raises NoticeRefused."""
    now, errors = timezone.now(), {}
    text, link, start = " ".join(text.split()), link.strip(), starts_at or now
    if kind not in Notice.Kind.values:
        errors["kind"] = f"Choose one of: {', '.join(Notice.Kind.values)}."
    if not text:
        errors["text"] = "Say what happens."
    elif len(text) > LONGEST_TEXT:
        errors["text"] = f"At most {LONGEST_TEXT} characters: it stands on every page. Link to the rest."
    if link and (len(link) > 1000 or not is_web_address(link)):
        errors["link"] = "Write an address that begins with https:// or http://."
    if ends_at is None:
        errors["ends_at"] = "Say when it ends: there is no notice without an end."
    elif ends_at <= max(start, now):
        errors["ends_at"] = "It would be over before it begins."
    elif ends_at - start > timedelta(days=settings.NOTICE_MAX_DAYS):
        errors["ends_at"] = f"A notice lasts at most {settings.NOTICE_MAX_DAYS} days (setting NOTICE_MAX_DAYS)."
    if errors or ends_at is None:
        raise NoticeRefused(errors)
    return Wanted(kind, storable(text), storable(link), repository, start, ends_at)


@transaction.atomic
def post_notice(wanted: Wanted, *, who: AbstractBaseUser) -> Notice:
    """Post it; its author is who is signed in."""
    notice = Notice(author=storable(who.get_username(), 150))
    _put(notice, wanted)
    notice.save()
    record(who, "notice.posted", f"notice {notice.pk}", after=told(notice))
    return notice


@transaction.atomic
def change_notice(notice_id: int, wanted: Wanted, *, version: int, who: AbstractBaseUser) -> Notice:
    """Change a notice of which the caller saw `version`. Raises NoticeConflict, Notice.DoesNotExist."""
    notice = _locked(notice_id, version)
    if state_of(notice, timezone.now()) in ("ended", "over"):
        raise NoticeConflict("It is over and can no longer be changed; post a new one.", notice)
    before = told(notice)
    _put(notice, wanted)
    notice.version += 1
    notice.save()
    record(who, "notice.changed", f"notice {notice.pk}", before=before, after=told(notice))
    return notice


@transaction.atomic
def end_notice(notice_id: int, *, version: int, who: AbstractBaseUser) -> Notice:
    """End it now; ending one that is over changes nothing. Raises NoticeConflict, Notice.DoesNotExist."""
    notice = Notice.objects.select_for_update().get(pk=notice_id)
    if state_of(notice, timezone.now()) in ("ended", "over"):
        return notice
    notice = _locked(notice_id, version)
    before = told(notice)
    notice.ended_at = timezone.now()
    notice.version += 1
    notice.save()
    record(who, "notice.ended", f"notice {notice.pk}", before=before, after=told(notice))
    return notice


def _locked(notice_id: int, version: int) -> Notice:
    notice = Notice.objects.select_for_update().get(pk=notice_id)
    if notice.version != version:
        words = f"Somebody changed it meanwhile: it is at version {notice.version}, not {version}."
        raise NoticeConflict(words, notice)
    return notice


def _put(notice: Notice, wanted: Wanted) -> None:
    for name in ("kind", "text", "link", "repository", "starts_at", "ends_at"):
        setattr(notice, name, getattr(wanted, name))


def told(notice: Notice) -> dict[str, Any]:
    """Return a notice as the audit trail keeps it."""
    times = {name: getattr(notice, name) for name in ("starts_at", "ends_at", "ended_at")}
    return {
        "kind": notice.kind,
        "text": notice.text,
        "link": notice.link,
        "repository": notice.repository.full_name if notice.repository else None,
        "version": notice.version,
        **{name: at.isoformat() if at else None for name, at in times.items()},
    }
