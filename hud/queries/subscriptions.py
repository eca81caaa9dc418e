"""What people follow: which jobs that means, which of them are red, and what followers were told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import parse_qs, parse_qsl, quote

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count, Q, QuerySet

from hud.core.alerting import EXCUSED
from hud.core.following import Standing
from hud.core.gridview import GridView, parse_view
from hud.core.groups import group_columns, workflow_to_split
from hud.core.jobfilter import BadPatternError, JobFilter
from hud.models import Branch, Mail, Streak, Subscription
from hud.queries.evidence import Mention, mentions_at
from hud.queries.grid import GridJob, blocking_columns, group_rules, newest_rows, repository_jobs

MOST_MAILS = 15
Kind = Subscription.Kind


# ── Which jobs a subscription means ──────────────────────────────────────────────────────────────────────────────────
def view_of(query: str) -> GridView:
    """Return the view of a stored query string."""
    text = query.removeprefix("?")
    return parse_view(dict(parse_qsl(text)), parse_qs(text).get("open", []))


@dataclass(slots=True)
class Followable:
    """The jobs of a branch as subscriptions name them. Groups and blocking jobs are read when first asked for."""

    branch: Branch
    jobs: Mapping[int, GridJob] = field(init=False)
    _groups: dict[str, frozenset[int]] | None = None
    _blocking: frozenset[int] | None = None

    def __post_init__(self) -> None:
        self.jobs = repository_jobs(self.branch.repository_id)

    @property
    def names(self) -> dict[int, str]:
        """Return job id -> the name that pages show."""
        return {job.job_id: job.display for job in self.jobs.values()}

    def groups(self) -> dict[str, frozenset[int]]:
        """Return group -> ids of its jobs."""
        if self._groups is None:
            names = tuple(job.name for job in self.jobs.values())
            found = group_columns(names, group_rules(self.branch.repository_id), workflow_to_split(names))
            self._groups = {g.name: frozenset(self.jobs[c.column].job_id for c in g.columns) for g in found}
        return self._groups

    def blocking(self) -> frozenset[int]:
        """Return the ids of the jobs that must be green."""
        if self._blocking is None:
            columns, _ = blocking_columns(self.branch, newest_rows(self.branch), self.jobs)
            self._blocking = frozenset(self.jobs[c].job_id for c in columns if c in self.jobs)
        return self._blocking

    def meant_by(self, subscription: Subscription) -> frozenset[int]:
        """Return the ids of the jobs that are followed. Of a view, its filter and "blocking" choose jobs."""
        if subscription.kind == Kind.JOB:
            return frozenset({subscription.job_id} if subscription.job_id else ())
        if subscription.kind == Kind.GROUP:
            return self.groups().get(subscription.group, frozenset())
        return self.shown_by(view_of(subscription.query))

    def shown_by(self, view: GridView) -> frozenset[int]:
        """Return the ids of the jobs that a view is about. A filter that is no pattern means none."""
        try:
            wanted = JobFilter(view.filter, regex=view.regex)
        except BadPatternError:
            return frozenset()
        found = frozenset(job.job_id for job in self.jobs.values() if not view.filter or job.is_meant_by(wanted))
        return found & self.blocking() if view.blocking else found


def words_of(subscription: Subscription, names: Mapping[int, str]) -> str:
    """Return what is followed, in words. `names`: job id -> name."""
    if subscription.kind == Kind.JOB:
        return names.get(subscription.job_id or 0, "a job that is gone")
    return f"group {subscription.group}" if subscription.kind == Kind.GROUP else view_words(subscription.query)


@lru_cache(maxsize=256)
def view_words(query: str) -> str:
    """Return a view in words: "jobs matching “linux”, blocking ones"."""
    view = view_of(query)
    kind = "blocking jobs" if view.blocking else "jobs"
    if view.filter:
        return f"{kind} matching {'the pattern ' if view.regex else ''}“{view.filter}”"
    return f"all {kind}"


def address_of(subscription: Subscription) -> str:
    """Return the path of what is followed."""
    branch = subscription.branch
    base = f"/{quote(branch.repository.full_name)}"
    if subscription.kind == Kind.JOB:
        return f"{base}/job/{subscription.job_id}?branch={quote(branch.name, safe='')}"
    query = GridView(open=(subscription.group,)).query() if subscription.kind == Kind.GROUP else subscription.query
    return f"{base}/{quote(branch.name)}{query}"


# ── How jobs stand ───────────────────────────────────────────────────────────────────────────────────────────────────
_RED = """
SELECT streak.job_id, streak.first_bad, streak.last_bad, streak.last_good, streak.changes, counted.position
  FROM hud_streak AS streak
  JOIN LATERAL (
       SELECT place.position FROM hud_branchcommit AS place
         JOIN hud_cell AS cell ON cell.commit_id = place.commit_id AND cell.job_id = streak.job_id
        WHERE place.branch_id = streak.branch_id AND place.position BETWEEN streak.first_bad AND streak.last_bad
          AND cell.state IN ('failure', 'timed_out') AND cell.verdict <> ALL(%(excused)s)
        ORDER BY place.position LIMIT 1) AS counted ON TRUE
 WHERE streak.branch_id = %(branch)s AND streak.first_good_after IS NULL AND streak.job_id = ANY(%(jobs)s)
"""
_CAUSES = """
SELECT told.job_id, coalesce(failure.signature, ''), coalesce(failure.line, ''), run.external_id
  FROM unnest(%(jobs)s::bigint[], %(positions)s::int[]) AS told (job_id, position)
  JOIN hud_branchcommit AS place ON place.branch_id = %(branch)s AND place.position = told.position
  JOIN hud_cell AS cell ON cell.commit_id = place.commit_id AND cell.job_id = told.job_id
  LEFT JOIN hud_run AS run ON run.id = cell.run_id
  LEFT JOIN hud_failure AS failure ON failure.run_id = cell.run_id AND failure.rank = 0
"""


def red_jobs(branch: Branch, job_ids: Collection[int]) -> dict[int, Standing]:
    """Return the jobs of these that are red now, by a failure that is more than chance, machines or declared.

    Three statements, however many jobs.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RED, {"branch": branch.pk, "excused": sorted(EXCUSED), "jobs": sorted(job_ids)})
        rows = cursor.fetchall()
    if not rows:
        return {}
    causes = _causes(branch, {job_id: max([p for p in changes if p >= first] or [first]) for
                              job_id, _, _, _, changes, first in rows})  # fmt: skip
    mentions = mentions_at(branch, {p for row in rows for p in (row[5], row[3]) if p is not None})
    found = {}
    for job_id, first_bad, last_bad, last_good, _, first in rows:
        cause, signature, line, run = causes[job_id]
        mention = mentions.get(first)
        good = mentions.get(last_good) if last_good is not None else None
        found[job_id] = Standing(
            first_bad=first_bad,
            last_bad=last_bad,
            cause=cause,
            signature=signature,
            line=line[:500],
            run=run,
            sha=mention.sha if mention else "",
            title=mention.title[:200] if mention else "",
            author=mention.author[:100] if mention else "",
            last_good=good.sha if good else "",
            suspects=first - last_good if last_good is not None else 0,
        )
    return found


def _causes(branch: Branch, places: Mapping[int, int]) -> dict[int, tuple[int, str, str, int | None]]:
    """Return job id -> where its newest cause began, its signature, its line and GitHub's id of the run."""
    jobs = sorted(places)
    with connection.cursor() as cursor:
        positions = [places[job] for job in jobs]
        cursor.execute(_CAUSES, {"branch": branch.pk, "jobs": jobs, "positions": positions})
        told = {job_id: (signature, line, run) for job_id, signature, line, run in cursor.fetchall()}
    return {job: (places[job], *told.get(job, ("", "", None))) for job in jobs}


def mended_by(branch: Branch, told: Mapping[int, Standing]) -> dict[int, Mention]:
    """Return for jobs that were told to be red the commit that made each green, where one did. Two statements."""
    oldest = min((standing.first_bad for standing in told.values()), default=0)
    ended = Streak.objects.filter(
        branch=branch, job_id__in=list(told), last_bad__gte=oldest, first_good_after__isnull=False
    )
    positions: dict[int, int] = {}
    for job_id, last_bad, good in ended.order_by("first_bad").values_list("job_id", "last_bad", "first_good_after"):
        if good is not None and last_bad >= told[job_id].first_bad and job_id not in positions:
            positions[job_id] = good
    mentions = mentions_at(branch, positions.values())
    return {job_id: mentions[position] for job_id, position in positions.items() if position in mentions}


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """A subscription as its page shows it. `red`: how many of its jobs are red by what followers count."""

    subscription: Subscription
    words: str
    address: str
    red: int


def subscriptions_of(user: User) -> list[SubscriptionRow]:
    """Return what a user follows, in two statements and one for each repository."""
    own = Subscription.objects.filter(user_id=user.pk)
    rows = list(_with_places(own).annotate(red=Count("followed", filter=_IS_RED)))
    names: dict[int, str] = {}
    for repository_id in {row.branch.repository_id for row in rows if row.kind == Kind.JOB}:
        names |= {job.job_id: job.display for job in repository_jobs(repository_id).values()}
    return [SubscriptionRow(row, words_of(row, names), address_of(row), row.red) for row in rows]


_IS_RED = Q(followed__now__isnull=False)


def _with_places(rows: QuerySet[Subscription]) -> QuerySet[Subscription]:
    return rows.select_related("branch__repository", "job").order_by("branch_id", "id")


def own_subscription(user: User, subscription_id: int) -> Subscription | None:
    """Return the user's own subscription, None for one of somebody else."""
    return _with_places(Subscription.objects.filter(user=user, pk=subscription_id)).first()


def mails_to(user: User, most: int = MOST_MAILS) -> Sequence[Mail]:
    """Return the newest mails to a user, with their attempts. Two statements."""
    return list(Mail.objects.filter(user=user).prefetch_related("tries").order_by("-id")[:most])
