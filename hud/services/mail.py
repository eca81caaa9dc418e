"""Mails to persons: written with the change that they tell of, sent by a worker, every attempt kept.

At least once; what may have arrived before is marked as a repeat. One sender at a time, held by a lock of the database
session: a worker that is killed lets go of it at once. An attempt is written before it is made: one without an end is
one of which nobody knows whether it arrived.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from hud.clients.notify import Outcome
from hud.clients.notify.person import Letter, send_letter
from hud.core.alerts.telling import retry_wait_s
from hud.core.terminal import safe_text
from hud.core.text import storable
from hud.models import Alert, Mail, MailAttempt
from hud.services.targets import options

logger = logging.getLogger(__name__)

_LOCK_CLASS = 0x48554430  # "HUD", 48: the advisory lock of whoever sends mails
_MOST_AT_ONCE = 200


def one_line(text: str, most: int = 300) -> str:
    """Return what others wrote as one line of a mail: it cannot pass for a line of HUD's."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def is_mail_on() -> bool:
    """Tell whether HUD can send e-mail."""
    return bool(settings.SMTP_URL)


def write_mail(
    *,
    key: str,
    kind: str,
    address: str,
    subject: str,
    text: str,
    user: User | None = None,
    alert: Alert | None = None,
    unsubscribe_url: str = "",
    wait_s: float = 0.0,
) -> Mail | None:
    """Write a mail in the caller's transaction. Returns None if one with this key is written already.

    `address` was checked with hud.core.mailaddress; what others wrote into subject and text is made visible here.
    """
    mail, made = Mail.objects.get_or_create(
        key=key,
        defaults={
            "kind": kind,
            "address": address,
            "subject": storable(safe_text(" ".join(subject.split())), 300),
            "text": storable("\n".join(safe_text(line) for line in text.split("\n")), 60_000),
            "user": user,
            "alert": alert,
            "unsubscribe_url": unsubscribe_url,
            "due_at": timezone.now() + timedelta(seconds=wait_s),
        },
    )
    return mail if made else None


def deliver_mails() -> int:
    """Send what is due, unless somebody is at it. Returns how many mails were looked at."""
    tried = 0
    # What is written while somebody sends finds the lock taken: whoever holds it looks again.
    while is_mail_on() and _due().exists():
        with _alone() as mine:
            due = list(_due().order_by("due_at", "id")[:_MOST_AT_ONCE]) if mine else []
            for mail in due:
                _send_one(mail)
        if not due:
            break
        tried += len(due)
    return tried


def forget_old_mails() -> int:
    """Delete mails to followers that are over for so long. Those about alerts stay with their alert's timeline."""
    before = timezone.now() - timedelta(days=settings.MAIL_KEEP_DAYS)
    over = Mail.objects.filter(created_at__lt=before, alert=None).exclude(state=Mail.State.WAITING)
    deleted, _ = over.delete()
    return deleted


def _due() -> QuerySet[Mail]:
    return Mail.objects.filter(state=Mail.State.WAITING, due_at__lte=timezone.now())


@contextmanager
def _alone() -> Iterator[bool]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, 0)", [_LOCK_CLASS])
        mine = bool(cursor.fetchone()[0])
    try:
        yield mine
    finally:
        if mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, 0)", [_LOCK_CLASS])


def _send_one(mail: Mail) -> None:
    attempt = _begin(mail)
    if attempt is None:  # it was taken back while those before it were sent
        return
    letter = Letter(mail.key, mail.address, mail.subject, mail.text, mail.unsubscribe_url, attempt.repeat)
    try:
        outcome = send_letter(letter, options())
    except Exception as error:  # whatever the mail library raises, the attempt must not stay without a word
        logger.exception("sending mail %d failed", mail.pk)
        outcome = Outcome(False, None, f"{type(error).__name__} while sending", may_have_arrived=True)
    _finish(mail, attempt, outcome)


@transaction.atomic
def _begin(mail: Mail) -> MailAttempt | None:
    """Write the attempt before it is made; None for a mail that waits no more."""
    earlier = mail.tries.filter(may_have_arrived=True, delivered=False)
    mail.attempts += 1
    if not Mail.objects.filter(pk=mail.pk, state=Mail.State.WAITING).update(attempts=mail.attempts):
        return None
    return MailAttempt.objects.create(mail=mail, number=mail.attempts, repeat=earlier.exists())


@transaction.atomic
def _finish(mail: Mail, attempt: MailAttempt, outcome: Outcome) -> None:
    now, error = timezone.now(), storable(outcome.error, 1000)
    MailAttempt.objects.filter(pk=attempt.pk).update(
        ended_at=now, delivered=outcome.delivered, may_have_arrived=outcome.may_have_arrived, error=error
    )
    if outcome.delivered:
        values: dict[str, object] = {"state": Mail.State.DELIVERED, "delivered_at": now, "error": ""}
    elif outcome.final or mail.attempts >= settings.NOTIFY_ATTEMPTS:
        values = {"state": Mail.State.FAILED, "error": error}
    else:
        wait_s = retry_wait_s(mail.attempts, first_s=settings.NOTIFY_RETRY_FIRST_S, most_s=settings.NOTIFY_RETRY_MOST_S)
        values = {"due_at": now + timedelta(seconds=wait_s), "error": error}
    Mail.objects.filter(Q(pk=mail.pk) & Q(state=Mail.State.WAITING)).update(**values)
