"""To the author: whoever alone can have broken something is told by mail, once, where the repository allows it."""

from __future__ import annotations

import logging
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core import signing
from django.db import transaction
from django.urls import reverse

from hud.core.alerts.authors import is_sole_suspect, masked, why_not_told
from hud.core.text import storable
from hud.models import Alert, AlertEvent, AuthorTelling, Commit, Mail, Repository
from hud.queries.alert_links import dashboard_path
from hud.queries.author_mail import (
    NOT_MINE,
    NOT_TOLD,
    TOLD,
    Suspected,
    alerts_to_decide,
    tells_authors,
    unsent_author_mails,
)
from hud.services.audit import record
from hud.services.locks import lock_repository
from hud.services.mail import is_mail_on, one_line, write_mail
from hud.services.telling import is_muted

logger = logging.getLogger(__name__)

_SALT = "hud.not-mine"
LONGEST_ANSWER = 1000


@transaction.atomic
def set_author_telling(*, who: AbstractBaseUser, repository: Repository, enabled: bool) -> bool:
    """Say whether authors are told. Returns whether that is a change."""
    lock_repository(repository)
    before = tells_authors(repository)
    if before == enabled:
        return False
    AuthorTelling.objects.update_or_create(repository=repository, defaults={"enabled": enabled})
    record(who, "authors.changed", repository.full_name, before={"enabled": before}, after={"enabled": enabled})
    return True


# ── Telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def tell_authors() -> int:
    """Write to the authors of commits that alone can have broken what fires. Returns how many mails were written."""
    if not is_mail_on():
        return 0
    _cancel_muted()
    written = 0
    for one in alerts_to_decide():
        if is_sole_suspect(one.case):
            try:
                written += _decide(one.alert.pk)
            except Exception:  # one alert's author must not keep the others' back
                logger.exception("the author of alert %d could not be told", one.alert.pk)
    return written


@transaction.atomic
def _decide(alert_id: int) -> bool:
    """Tell the author, or note why not: once in an episode. Looks again with the alert locked."""
    if not Alert.objects.select_for_update(skip_locked=True).filter(pk=alert_id).exists():
        return False
    for one in alerts_to_decide(only=alert_id):
        if is_sole_suspect(one.case):
            return _tell(one)
    return False


def _tell(one: Suspected) -> bool:
    alert, commit = one.alert, one.commit
    name = one_line(commit.author_name or commit.author, 100) or "the author"
    if reason := why_not_told(commit.author_email, commit.author):
        _note(
            alert,
            NOT_TOLD,
            f"{name}, whose commit {commit.sha[:10]} alone is suspected, was not told: {reason}.",
            commit,
        )
        return False
    mail = write_mail(
        key=f"author-{alert.pk}-{alert.episode}",
        kind=Mail.Kind.AUTHOR,
        address=commit.author_email,
        subject=f"[HUD] Did {commit.sha[:10]} break {', '.join(alert.jobs[:2])} on {alert.branch.name}?",
        text=_text(alert, commit, name),
        alert=alert,
        wait_s=settings.ALERT_GROUP_WAIT_S,
    )
    if mail is None:
        return False
    words = f"Wrote to {name} ({masked(commit.author_email)}), whose commit {commit.sha[:10]} alone is suspected."
    _note(alert, TOLD, words, commit)
    return True


def _note(alert: Alert, kind: str, text: str, commit: Commit) -> None:
    data = {"episode": alert.episode, "sha": commit.sha}
    AlertEvent.objects.create(alert=alert, kind=kind, text=storable(text, 1000), data=data)


def _text(alert: Alert, commit: Commit, name: str) -> str:
    """Return what the author reads: what broke, the line, where to look, how to say that it was not them."""
    root = settings.PUBLIC_URL.rstrip("/")
    base = f"{root}/{quote(alert.branch.repository.full_name)}"
    page = root + reverse("alert", args=[alert.pk])
    not_mine = root + reverse("alert-not-mine", args=[alert.pk, not_mine_token(alert, commit.sha)])
    where = f"{alert.branch.repository.full_name} {alert.branch.name}"
    jobs = [f"  {one_line(job)}" for job in alert.jobs[:10]]
    if len(alert.jobs) > 10:
        jobs.append(f"  and {len(alert.jobs) - 10} more")
    lines = [
        f"Hello {name},",
        "",
        f"this was green on {where} before your commit, and is red since:",
        *jobs,
        "",
        f"Your commit: {commit.sha[:10]} {one_line(commit.title, 200)}",
        f"  {base}/commit/{commit.sha}",
    ]
    if alert.line:
        lines += ["", "The failure:", f"  {one_line(alert.line, 500)}"]
        lines += [f"  {base}/run/{alert.line_run}"] if alert.line_run else []
    lines += [
        "",
        f"You get this because no other commit came in between the last good one, {alert.last_good[:10]}, and yours.",
        "",
        f"Alert:       {page}",
        f"History:     {root}{dashboard_path(alert)}",
        f"Not yours?   {not_mine}",
        "",
        "You are told once. People who look after the branch are told by other ways.",
    ]
    return "\n".join(lines)


def _cancel_muted() -> None:
    """Take back mails that were not sent yet, of alerts that are over or that a silence or a mass failure mutes."""
    for mail in unsent_author_mails():
        alert = mail.alert
        if alert is None or (alert.state == Alert.State.FIRING and not is_muted(alert)):
            continue
        with transaction.atomic():
            gone = Mail.objects.filter(pk=mail.pk, state=Mail.State.WAITING, attempts=0)
            if gone.update(state=Mail.State.CANCELLED):
                why = "it is over" if alert.state != Alert.State.FIRING else "it is muted"
                data = {"episode": alert.episode, "sha": alert.first_bad}
                text = f"The mail to the author was not sent: {why}."
                AlertEvent.objects.create(alert=alert, kind=NOT_TOLD, text=text, data=data)


# ── "Not mine" ───────────────────────────────────────────────────────────────────────────────────────────────────────
def not_mine_token(alert: Alert, sha: str) -> str:
    """Return what lets the reader of the mail answer without an account."""
    return signing.dumps([alert.pk, alert.episode, sha], salt=_SALT)


def commit_of_token(alert: Alert, token: str) -> tuple[int, Commit] | None:
    """Return the episode and the commit that the token is about, None for one that HUD did not sign for this alert."""
    try:
        alert_id, episode, sha = signing.loads(token, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    commit = Commit.objects.filter(repository_id=alert.branch.repository_id, sha=sha).first()
    return (episode, commit) if alert_id == alert.pk and commit is not None else None


@transaction.atomic
def say_not_mine(alert_id: int, token: str, text: str) -> bool:
    """Write the author's answer into the timeline, once in an episode. Returns whether it was written now."""
    alert = Alert.objects.select_for_update().get(pk=alert_id)
    known = commit_of_token(alert, token)
    if known is None or AlertEvent.objects.filter(alert=alert, kind=NOT_MINE, data__episode=known[0]).exists():
        return False
    episode, commit = known
    said = storable(" ".join(text.split()), LONGEST_ANSWER)
    who = storable(commit.author_name or commit.author, 150)
    AlertEvent.objects.create(
        alert=alert,
        kind=NOT_MINE,
        who=who,
        text=f"{commit.sha[:10]} did not break it, says its author{f': {said}' if said else '.'}",
        data={"episode": episode, "sha": commit.sha},
    )
    return True
