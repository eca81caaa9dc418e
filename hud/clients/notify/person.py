"""One mail to one person, with the headers by which programs know it and stop it."""

from __future__ import annotations

from dataclasses import dataclass
from email.message import EmailMessage

from hud.clients.notify.email import NO_SERVER, hand_over, message_id
from hud.clients.notify.post import Options, Outcome


@dataclass(frozen=True, slots=True)
class Letter:
    """What is sent. `address` was checked (hud.core.mailaddress); `repeat`: an earlier attempt may have arrived.

    `unsubscribe_url` takes a POST without sign-in (RFC 8058), "" where there is nothing to stop.
    """

    key: str
    address: str
    subject: str
    text: str
    unsubscribe_url: str = ""
    repeat: bool = False


def send_letter(letter: Letter, options: Options) -> Outcome:
    """Send it."""
    return hand_over(mail_of(letter, options), options) if options.smtp_url else NO_SERVER


def mail_of(letter: Letter, options: Options) -> EmailMessage:
    """Return the mail. Its subject is one line, whatever it was made from."""
    sender = options.mail_from or "hud@localhost"
    mark = "Repeated: an earlier attempt to send this may have arrived.\n\n" if letter.repeat else ""
    mail = EmailMessage()
    mail["Subject"] = " ".join(letter.subject.split())[:300]
    mail["From"] = sender
    mail["To"] = letter.address
    mail["Message-ID"] = message_id(letter.key, sender)
    mail["X-HUD-Key"] = letter.key
    mail["Auto-Submitted"] = "auto-generated"
    if letter.repeat:
        mail["X-HUD-Repeat"] = "true"
    if letter.unsubscribe_url:
        mail["List-Unsubscribe"] = f"<{letter.unsubscribe_url}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    mail.set_content(mark + letter.text)
    return mail
