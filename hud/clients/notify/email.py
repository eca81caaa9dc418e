"""E-mail through the server of the setting SMTP_URL: targets name people, not servers."""

import smtplib
import ssl
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import parseaddr
from typing import Any
from urllib.parse import unquote, urlsplit

from hud.clients.notify.post import Options, Outcome, Post, TargetRefused
from hud.core.mailaddress import mail_address

MOST_ADDRESSES = 50
NO_SERVER = Outcome(False, None, "No server for e-mail is set (SMTP_URL).", final=True)


def check(config: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Check the addresses. Raises TargetRefused."""
    given = config.get("to") or []
    addresses = [a.strip() for a in (given.replace(",", "\n").splitlines() if isinstance(given, str) else given)]
    addresses = [a for a in addresses if a]
    if not addresses or len(addresses) > MOST_ADDRESSES:
        raise TargetRefused(f"Write one to {MOST_ADDRESSES} e-mail addresses.")
    for address in addresses:
        if mail_address(address) is None:
            raise TargetRefused(f"{address[:80]} is no e-mail address.")
    if not options.smtp_url:
        raise TargetRefused("No server for e-mail is set: give SMTP_URL and MAIL_FROM.")
    return {"to": addresses}


def send(post: Post, options: Options) -> Outcome:
    """Send one mail to all addresses of the target."""
    return hand_over(_mail(post, options), options) if options.smtp_url else NO_SERVER


def message_id(key: str, sender: str) -> str:
    """Return the id of a mail: the same key is the same mail, so that most programs show a repeat once."""
    return f"<{key}@{parseaddr(sender)[1].rpartition('@')[2] or 'localhost'}>"


def hand_over(mail: EmailMessage, options: Options) -> Outcome:
    """Give a mail to the server of SMTP_URL."""
    sent = taken = False
    refused: dict[str, tuple[int, bytes]] = {}
    try:
        with _connected(options) as client:
            sent = True
            refused = client.send_message(mail)
            taken = True
    except (smtplib.SMTPException, OSError) as error:
        # Once the server took the text, whatever goes wrong is the good-bye: the mail is on its way.
        return _taken(refused) if taken else _failed(error, options, sent=sent)
    return _taken(refused)


def _taken(refused: Mapping[str, tuple[int, bytes]]) -> Outcome:
    """Return what became of a mail that the server took for somebody. `refused`: for whom it did not."""
    if not refused:
        return Outcome(True, 250)
    return Outcome(True, 250, f"The mail server took it, but not for {', '.join(sorted(refused))}.")


def _failed(error: Exception, options: Options, *, sent: bool) -> Outcome:
    """Return what went wrong. `sent`: the text may have gone out before."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = [code for code, _ in error.recipients.values()]
        final = all(code >= 500 for code in codes)
        return Outcome(False, codes[0], f"The mail server refuses the address ({codes[0]}).", final=final)
    if isinstance(error, smtplib.SMTPResponseException):
        return Outcome(False, error.smtp_code, f"The mail server answered {error.smtp_code}.")
    if isinstance(error, smtplib.SMTPException):
        return Outcome(False, None, f"The mail server refused it ({type(error).__name__}).", may_have_arrived=sent)
    if isinstance(error, TimeoutError):
        words = f"The mail server was silent for {options.timeout_s:g} s (setting NOTIFY_TIMEOUT_S)."
        return Outcome(False, None, words, may_have_arrived=sent)
    return Outcome(False, None, "The mail server could not be reached.", may_have_arrived=sent)


def _connected(options: Options) -> smtplib.SMTP:
    """Return a connection that may send."""
    server = urlsplit(options.smtp_url)
    context = ssl.create_default_context()
    secure = server.scheme == "smtps"
    host, port = server.hostname or "localhost", server.port or (465 if secure else 25)
    if secure:
        client: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=options.timeout_s, context=context)
    else:
        client = smtplib.SMTP(host, port, timeout=options.timeout_s)
    try:
        if server.scheme == "smtp+tls":
            client.starttls(context=context)
        if server.username:
            client.login(unquote(server.username), unquote(server.password or ""))
    except BaseException:
        client.close()
        raise
    return client


def _mail(post: Post, options: Options) -> EmailMessage:
    sender = options.mail_from or "hud@localhost"
    mail = EmailMessage()
    mail["Subject"] = " ".join(post.subject.split())[:300]
    mail["From"] = sender
    mail["To"] = ", ".join(post.config["to"])
    mail["X-HUD-Key"] = post.key
    mail["Message-ID"] = message_id(post.key, sender)
    if post.repeat:
        mail["X-HUD-Repeat"] = "true"
    if "id" in post.payload:
        mail["References"] = f"<alert-{post.payload['id']}@hud>"
    mail.set_content(post.text)
    return mail
