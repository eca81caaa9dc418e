"""Subscriptions: made, paused, ended, and told.

Nothing of it runs while events are taken in: a branch's version grows with every change of a cell, and whoever sends
mails looks at the branches that somebody follows and whose version grew. An error here holds back mails, never a cell.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from urllib.parse import quote
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.db.models import F, Min, Q
from django.urls import reverse
from django.utils import timezone

from hud.core.following import News, news_of, standing_of, without_news
from hud.core.mailaddress import mail_address
from hud.core.text import storable
from hud.models import Branch, FollowedBranch, FollowedJob, Job, Mail, Subscription
from hud.queries.evidence import Mention
from hud.queries.subscriptions import Followable, Kind, mended_by, red_jobs, view_of, words_of
from hud.services.mail import is_mail_on, one_line, write_mail

logger = logging.getLogger(__name__)

MOST_SUBSCRIPTIONS = 200
LONGEST_QUERY = 2000
MOST_TOLD = 40
MOST_NEWS_CHARS = 50_000
"""So much is told in one mail; what stops it stands below that, and is never cut off."""
_LOOK_AGAIN = timedelta(minutes=5)
"""A change of rules or lists that moves no version is seen within this time."""
_SALT = "hud.unsubscribe"


class FollowRefused(ValueError):
    """It cannot be followed; the message is for the person who asked."""


# ── What people do ───────────────────────────────────────────────────────────────────────────────────────────────────
@transaction.atomic
def follow(
    user: User, branch: Branch, *, kind: str, job: Job | None = None, group: str = "", query: str = ""
) -> Subscription:
    """Follow a job, a group or a view; following twice is following once. What is red already is no news.

    Raises FollowRefused.
    """
    if kind == Kind.VIEW:
        query = view_of(query).query(page=1)
        job, group = None, ""
    elif kind == Kind.GROUP:
        job, query = None, ""
    elif kind == Kind.JOB and job is not None:
        group = query = ""
    else:
        raise FollowRefused("Say what to follow: a job, a group or a view.")
    group = storable(group, 300)
    if len(query) > LONGEST_QUERY:
        raise FollowRefused(f"The address of this view has more than {LONGEST_QUERY} characters.")
    followable = Followable(branch)
    if kind == Kind.GROUP and group not in followable.groups():
        raise FollowRefused("There is no such group any more.")
    User.objects.select_for_update().get(pk=user.pk)
    known = Subscription.objects.filter(user=user, branch=branch, kind=kind, job=job, group=group, query=query).first()
    if known is not None:
        return known
    if Subscription.objects.filter(user=user).count() >= MOST_SUBSCRIPTIONS:
        raise FollowRefused(f"You follow {MOST_SUBSCRIPTIONS} things already; stop following some first.")
    made = Subscription.objects.create(user=user, branch=branch, kind=kind, job=job, group=group, query=query)
    _begin_anew(made, followable)
    return made


def _begin_anew(subscription: Subscription, followable: Followable) -> None:
    """Count what is red now as told."""
    red = red_jobs(subscription.branch, followable.meant_by(subscription))
    subscription.followed.all().delete()
    FollowedJob.objects.bulk_create(
        FollowedJob(subscription=subscription, job_id=job_id, told=now.as_json(), now=now.as_json())
        for job_id, now in red.items()
    )
    Subscription.objects.filter(pk=subscription.pk).update(waiting_since=None)


@transaction.atomic
def pause(subscription_id: int, user: User) -> None:
    """Tell nothing of it for now. Raises Subscription.DoesNotExist, also for one of somebody else."""
    row = Subscription.objects.select_for_update().get(pk=subscription_id, user=user)
    row.paused_at = row.paused_at or timezone.now()
    row.waiting_since = None
    row.save(update_fields=["paused_at", "waiting_since"])


@transaction.atomic
def resume(subscription_id: int, user: User) -> None:
    """Tell of it again, from now on: what happened meanwhile is no news. Raises Subscription.DoesNotExist."""
    row = Subscription.objects.select_for_update().get(pk=subscription_id, user=user)
    if row.paused_at is not None:
        row.paused_at = None
        row.save(update_fields=["paused_at"])
        _begin_anew(row, Followable(row.branch))


def stop(subscription_id: int, user: User) -> None:
    """Follow it no more; ending what is ended changes nothing, and what is somebody else's stays."""
    Subscription.objects.filter(pk=subscription_id, user=user).delete()


# ── Stopping without sign-in ─────────────────────────────────────────────────────────────────────────────────────────
def stop_token(user: User, subscription_id: int = 0) -> str:
    """Return what stops one subscription, or with 0 all of the user's mails, for whoever holds it."""
    return signing.dumps([user.pk, subscription_id], salt=_SALT)


def stop_address(user: User, subscription_id: int = 0) -> str:
    """Return the full address for a mail."""
    return settings.PUBLIC_URL.rstrip("/") + reverse("subscription-stop", args=[stop_token(user, subscription_id)])


def meant_by_token(token: str) -> list[Subscription] | None:
    """Return what the token would stop, None for a token that HUD did not sign."""
    try:
        user_id, subscription_id = signing.loads(token, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    rows = Subscription.objects.filter(user_id=user_id).select_related("branch__repository", "job")
    return list(rows.filter(pk=subscription_id) if subscription_id else rows)


def stop_by_token(token: str) -> int:
    """Stop what the token stands for. Returns how many subscriptions that were."""
    rows = meant_by_token(token) or []
    Subscription.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


# ── Looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def look_at_followed() -> int:
    """Find out what is news on the branches that changed. Returns how many branches were looked at.

    An error on one branch is logged, and the branch is looked at again when it changes.
    """
    ids = _branches_to_look_at()
    for branch in Branch.objects.filter(pk__in=ids).select_related("repository"):
        try:
            with transaction.atomic():
                _look_at(branch)
        except Exception:  # one branch must not keep the others' followers from hearing
            logger.exception("looking at what people follow on %s %s failed", branch.repository, branch.name)
            FollowedBranch.objects.update_or_create(
                branch=branch, defaults={"version": branch.version, "looked_at": timezone.now()}
            )
    return len(ids)


def _branches_to_look_at() -> list[int]:
    followed = Branch.objects.filter(subscriptions__paused_at=None, subscriptions__isnull=False)
    changed = Q(followed=None) | ~Q(followed__version=F("version"))
    changed |= Q(followed__looked_at__lt=timezone.now() - _LOOK_AGAIN)
    return sorted(set(followed.filter(changed).values_list("pk", flat=True)))


def _look_at(branch: Branch) -> None:
    """Compare how followed jobs stand with what was told. A fixed number of statements, however many follow."""
    rows = list(
        Subscription.objects.select_for_update(of=("self",))
        .filter(branch=branch, paused_at=None, user__is_active=True)
        .order_by("pk")
    )
    followable = Followable(branch)
    meant = {row.pk: followable.meant_by(row) for row in rows}
    red = red_jobs(branch, frozenset().union(*meant.values()))
    kept: dict[int, dict[int, FollowedJob]] = defaultdict(dict)
    for one in FollowedJob.objects.filter(subscription__in=rows):
        kept[one.subscription_id][one.job_id] = one
    changed: list[FollowedJob] = []
    for row in rows:
        now = {job_id: red[job_id].as_json() for job_id in meant[row.pk] & red.keys()}
        _compare(row, now, kept[row.pk], changed)
    _keep(changed)
    _note_waiting(rows, kept)
    FollowedBranch.objects.update_or_create(
        branch=branch, defaults={"version": branch.version, "looked_at": timezone.now()}
    )


def _compare(
    row: Subscription, now: Mapping[int, dict[str, object]], kept: dict[int, FollowedJob], changed: list[FollowedJob]
) -> None:
    """Bring the followed jobs of one subscription up to date; `changed` collects those to be written."""
    for job_id in sorted(now.keys() - kept.keys()):
        kept[job_id] = FollowedJob(subscription=row, job_id=job_id)
    for job_id, one in kept.items():
        told, stands = standing_of(one.told), standing_of(now.get(job_id))
        news = news_of(told, stands)
        before = (one.told, one.now, one.news)
        one.now, one.news = now.get(job_id), news.value if news else ""
        if told and stands and not news:
            one.told = without_news(told, stands).as_json()
        if one.pk is None or before != (one.told, one.now, one.news):
            changed.append(one)


def _keep(rows: Sequence[FollowedJob]) -> None:
    gone = [row for row in rows if row.told is None and row.now is None]
    FollowedJob.objects.filter(pk__in=[row.pk for row in gone if row.pk]).delete()
    stay = [row for row in rows if row not in gone]
    FollowedJob.objects.bulk_update([row for row in stay if row.pk], ["told", "now", "news"])
    FollowedJob.objects.bulk_create(row for row in stay if not row.pk)


def _note_waiting(rows: Sequence[Subscription], kept: Mapping[int, Mapping[int, FollowedJob]]) -> None:
    """Note since when something waits to be told, or that nothing does any more."""
    news = {row.pk for row in rows if any(one.news for one in kept[row.pk].values())}
    fresh = [row.pk for row in rows if row.pk in news and row.waiting_since is None]
    settled = [row.pk for row in rows if row.pk not in news and row.waiting_since is not None]
    if fresh:
        Subscription.objects.filter(pk__in=fresh).update(waiting_since=timezone.now())
    if settled:
        Subscription.objects.filter(pk__in=settled).update(waiting_since=None)


# ── Telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def tell_followers() -> int:
    """Write a mail to everybody for whom something waits since the window. Returns how many were written."""
    if not is_mail_on():
        return 0
    waiting = Subscription.objects.filter(waiting_since__isnull=False, paused_at=None, user__is_active=True)
    due = timezone.now() - timedelta(seconds=settings.FOLLOW_WINDOW_S)
    users = waiting.exclude(user__email="").values_list("user_id").annotate(first=Min("waiting_since"))
    written = 0
    for user_id, _ in users.filter(first__lte=due).order_by("first"):
        try:
            written += bool(_tell(user_id))
        except Exception:  # one person's mail must not keep the others' back
            logger.exception("the mail to user %d could not be written", user_id)
    return written


@transaction.atomic
def _tell(user_id: int) -> Mail | None:
    """Write one mail with all that is news to a user, and note that it is told, in one transaction."""
    rows = list(
        Subscription.objects.select_for_update(of=("self",), skip_locked=True)
        .filter(user_id=user_id, waiting_since__isnull=False, paused_at=None)
        .select_related("branch__repository", "user")
        .order_by("pk")
    )
    changes = list(FollowedJob.objects.filter(subscription__in=rows).exclude(news="").order_by("pk"))
    if not rows or not changes:
        return None
    user = rows[0].user
    if not isinstance(user, User) or mail_address(user.email) is None:
        return None
    subject, text = _compose(user, rows, changes)
    mail = write_mail(
        key=f"news-{user.pk}-{uuid4()}",
        kind=Mail.Kind.NEWS,
        address=user.email,
        subject=subject,
        text=text,
        user=user,
        unsubscribe_url=stop_address(user),
    )
    for one in changes:
        one.told, one.news = one.now, ""
    _keep(changes)
    Subscription.objects.filter(pk__in=[row.pk for row in rows]).update(waiting_since=None)
    told = {one.subscription_id for one in changes}
    Subscription.objects.filter(pk__in=told).update(told_at=timezone.now())
    return mail


_ORDER = (News.RED, News.AGAIN, News.CAUSE, News.GREEN)
_HEADS = {
    News.RED: "WENT RED",
    News.AGAIN: "RED AGAIN (it was mended in between)",
    News.CAUSE: "STILL RED, NEW CAUSE",
    News.GREEN: "GREEN AGAIN",
}
_SHORT = {News.RED: "red", News.AGAIN: "red again", News.CAUSE: "red by a new cause", News.GREEN: "green again"}


def _compose(user: User, rows: Sequence[Subscription], changes: Sequence[FollowedJob]) -> tuple[str, str]:
    """Return subject and text. A job that is followed in several ways is told once."""
    by_pk = {row.pk: row for row in rows}
    branches = {row.branch_id: row.branch for row in rows}
    names: dict[int, str] = {}
    for branch in branches.values():
        names |= Followable(branch).names
    reasons: dict[tuple[int, int], list[Subscription]] = defaultdict(list)
    shown: dict[tuple[int, int], FollowedJob] = {}
    for one in changes:
        key = (by_pk[one.subscription_id].branch_id, one.job_id)
        reasons[key].append(by_pk[one.subscription_id])
        shown.setdefault(key, one)
    mended = {
        branch_id: mended_by(
            branch, {j: told for (b, j), one in shown.items() if b == branch_id and (told := standing_of(one.told))}
        )
        for branch_id, branch in branches.items()
    }
    ordered = sorted(
        shown.items(), key=lambda item: (item[0][0], _ORDER.index(News(item[1].news)), names.get(item[0][1], ""))
    )
    blocks = [
        _block(
            branches[b],
            names.get(j, "a job that is gone"),
            one,
            mended[b].get(j),
            [words_of(r, names) for r in reasons[b, j]],
        )
        for (b, j), one in ordered[:MOST_TOLD]
    ]
    if len(ordered) > MOST_TOLD:
        blocks.append(f"and {len(ordered) - MOST_TOLD} more jobs")
    news = storable("\n\n".join(blocks), MOST_NEWS_CHARS)
    return _subject(branches, ordered), f"{news}\n\n{_foot(user, rows, names)}"


def _subject(branches: Mapping[int, Branch], ordered: Sequence[tuple[tuple[int, int], FollowedJob]]) -> str:
    counts = {news: sum(one.news == news for _, one in ordered) for news in _ORDER}
    words = ", ".join(f"{count} {_SHORT[news]}" for news, count in counts.items() if count)
    where = {branches[b] for (b, _), _ in ordered}
    place = (
        f"{next(iter(where)).repository.full_name} {next(iter(where)).name}"
        if len(where) == 1
        else f"{len(where)} branches"
    )
    return f"[HUD] {place}: {words}"


def _block(branch: Branch, name: str, one: FollowedJob, mended: Mention | None, reasons: Sequence[str]) -> str:
    """Return what is told of one job."""
    base = f"{settings.PUBLIC_URL.rstrip('/')}/{quote(branch.repository.full_name)}"
    news, now = News(one.news), standing_of(one.now)
    lines = [f"{_HEADS[news]}: {one_line(name)}", f"  {branch.repository.full_name}, branch {branch.name}"]
    if news in (News.GREEN, News.AGAIN):
        by = f"by {mended.sha[:10]} {one_line(mended.title, 100)} ({one_line(mended.author, 80)})" if mended else ""
        none = "no failure that counts is left: it passed on a rerun, or turned out to be chance or a machine's fault"
        lines.append(f"  mended {by}" if by else f"  {none}" if news is News.GREEN else "  mended in between")
    if now is not None:
        lines.append(f"  first bad {now.sha[:10]} {one_line(now.title, 100)} ({one_line(now.author, 80)})")
        if now.suspects > 1:
            lines.append(f"  one of {now.suspects} commits since {now.last_good[:10]}, the last good one")
        if now.line:
            lines.append(f"  {one_line(now.line)}")
        if now.run is not None:
            lines.append(f"  Log: {base}/run/{now.run}")
    lines.append(f"  History: {base}/job/{one.job_id}?branch={quote(branch.name, safe='')}")
    lines.append(f"  You follow: {'; '.join(dict.fromkeys(map(one_line, reasons)))}")
    return "\n".join(lines)


def _foot(user: User, rows: Sequence[Subscription], names: Mapping[int, str]) -> str:
    page = settings.PUBLIC_URL.rstrip("/") + reverse("subscriptions")
    lines = ["-- ", f"What you follow: {page}"]
    lines += [f"Stop “{one_line(words_of(row, names))}”: {stop_address(user, row.pk)}" for row in rows[:10]]
    return "\n".join([*lines, f"Stop all of it: {stop_address(user)}"])
