"""Reminds the owners of silences before they end: once for each end, by mail where there is an address.

Without an address, or without a server for mail, nothing is sent: the silence's page and the list of silence debt say
that it ends.
"""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from hud.core.ago import span_words
from hud.core.alerts.silencedebt import reminder_at
from hud.core.alerts.words import listed
from hud.core.mailaddress import mail_address
from hud.models import Mail, Silence
from hud.queries.silence_matching import firing_alerts, hidden_among, matchers_of
from hud.queries.silences import reminder_keys
from hud.services.mail import is_mail_on, write_mail

_MOST_TITLES = 10


def remind_owners() -> int:
    """Remind the owners of the silences that end soon. Safe to repeat, and to run twice at once. Returns how many."""
    now = timezone.now()
    notice = timedelta(hours=settings.SILENCE_REMIND_H)
    soon = Silence.objects.filter(
        expired_at=None, reminded_at=None, starts_at__lte=now, ends_at__gt=now, ends_at__lte=now + notice
    )
    due = [s.pk for s in soon.order_by("ends_at") if reminder_at(s.starts_at, s.ends_at, notice) <= now]
    return sum(_remind(silence_id, now) for silence_id in due)


@transaction.atomic
def _remind(silence_id: int, now: datetime) -> bool:
    """Write the mail and that it was written. Another worker at the same silence, or a change of it, is left alone."""
    rows = Silence.objects.select_for_update(skip_locked=True)
    silence = rows.filter(pk=silence_id, expired_at=None, reminded_at=None, ends_at__gt=now).first()
    if silence is None:
        return False
    Silence.objects.filter(pk=silence_id).update(reminded_at=now)
    owner = User.objects.filter(pk=silence.author_user_id or 0, is_active=True).first()
    if owner is not None and is_mail_on() and mail_address(owner.email):
        _write(silence, owner, now)
    return True


def _write(silence: Silence, owner: User, now: datetime) -> None:
    left = span_words((silence.ends_at - now).total_seconds())
    words = " ".join(map(str, matchers_of(silence)))
    key = f"{reminder_keys(silence.pk)}{silence.ends_at:%Y%m%d%H%M%S%f}"
    mail = write_mail(
        key=key,
        kind=Mail.Kind.OWNER,
        address=owner.email,
        subject=f"Your silence ends in {left}: {words}",
        text=_text(silence, words),
        user=owner,
    )
    if mail is None:  # the end was moved away before the mail was sent, and back again
        Mail.objects.filter(key=key, state=Mail.State.CANCELLED).update(state=Mail.State.WAITING, due_at=now)


def drop_reminders(silence: Silence) -> None:
    """Its end is another one now: a mail about the old end that was not sent yet stays unsent."""
    waiting = Mail.objects.filter(key__startswith=reminder_keys(silence.pk), state=Mail.State.WAITING, attempts=0)
    waiting.update(state=Mail.State.CANCELLED)


def _text(silence: Silence, words: str) -> str:
    hidden = hidden_among(firing_alerts(), [silence])[silence.pk].hidden
    hides = listed([alert.title for alert in hidden], _MOST_TITLES) if hidden else "nothing at the moment"
    page = settings.PUBLIC_URL.rstrip("/") + reverse("silence", args=[silence.pk])
    return "\n".join(
        [
            f"Ends at: {silence.ends_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
            f"Matchers: {words}",
            f"Reason: {silence.reason}",
            f"Hides: {hides}",
            "When it ends, what is still red is told again.",
            f"Extend or end it: {page}",
        ]
    )
