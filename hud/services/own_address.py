"""Where a user's own mails go. An address is used once a link in a mail to it was opened, and for nothing before that.

Nothing is stored until then: the link says whose address it is to become. What an account came with is not asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from hud.core.mailaddress import mail_address
from hud.models import Mail
from hud.services.mail import is_mail_on, one_line, write_mail

LINK_DAYS = 3
MOST_LINKS = 5
"""So many links may a user ask for in a day, and so many may go to one address: nobody floods another's mailbox."""
_DAY = timedelta(days=1)
_KEY = "own-address-"
_SALT = "hud.own-address"


class AddressNotTaken(ValueError):
    """The address cannot be used; the message is for the person who typed it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a link asks for: that mails to this user go to this address. `is_done`: they do already."""

    user: User
    address: str
    is_done: bool


def ask_for_address(user: User, typed: str) -> bool:
    """Mail a link to the address, unless it is the user's already; "" means nowhere, at once.

    Returns whether a link goes out. Raises AddressNotTaken.
    """
    typed = typed.strip()
    if typed == user.email:
        return False
    if not typed:
        _set(user, "")
        return False
    if mail_address(typed) is None:
        raise AddressNotTaken("This is no e-mail address that HUD can write to. Write it like ana@company.com.")
    if not is_mail_on():
        raise AddressNotTaken("HUD sends no e-mail here, so it cannot ask this address whether it is yours.")
    _write_link(user, typed)
    return True


@transaction.atomic
def _write_link(user: User, address: str) -> None:
    user = User.objects.select_for_update().get(pk=user.pk)
    lately = Mail.objects.filter(key__startswith=_KEY, created_at__gt=timezone.now() - _DAY)
    for asked, who in ((Q(key__startswith=f"{_KEY}{user.pk}-"), "You have"), (Q(address__iexact=address), "It has")):
        if lately.filter(asked).count() >= MOST_LINKS:
            raise AddressNotTaken(f"{who} been sent {MOST_LINKS} links within a day; try again tomorrow.")
    site = settings.PUBLIC_URL.rstrip("/")
    link = f"{site}{reverse('address-confirm', args=[_token(user, address)])}"
    text = (
        f"The user {one_line(user.get_username())} of {site} wants HUD to write to this address.\n\n"
        f"If that is you, open this page within {LINK_DAYS} days and confirm it:\n{link}\n\n"
        "If it is not, do nothing: nothing more is sent here."
    )
    # Without `user`: what a user was told is shown to that user, and the link is for whoever reads the address.
    write_mail(
        key=f"{_KEY}{user.pk}-{uuid4()}",
        kind=Mail.Kind.OWNER,
        address=address,
        subject="[HUD] Confirm your address",
        text=text,
    )


def _token(user: User, address: str) -> str:
    return signing.dumps([user.pk, address, user.email], salt=_SALT)


def claimed_by(token: str) -> Claim | None:
    """Return what a link asks for; None for one that HUD did not sign, that is too old, or that others overtook."""
    try:
        user_id, address, before = signing.loads(token, salt=_SALT, max_age=timedelta(days=LINK_DAYS))
    except (signing.BadSignature, ValueError, TypeError):
        return None
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or user.email not in (before, address):
        return None
    return Claim(user, address, user.email == address)


def confirm(claim: Claim) -> None:
    """Send the user's mails to the address from now on."""
    _set(claim.user, claim.address)


def _set(user: User, address: str) -> None:
    User.objects.filter(pk=user.pk).update(email=address)
    user.email = address
