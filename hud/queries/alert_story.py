"""What an alert's page tells besides the alert: ranked suspects, what people noted, what fixed it and its likes.

A fixed number of statements, however many alerts, commits and notes there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, IntegerField, Q, Value, When

from hud.core.alerts.rules import BROKEN_STREAK, spec_of
from hud.models import Alert, AlertEvent, Commit, Failure, Job, Streak
from hud.queries.alert_rows import JobTable
from hud.queries.alerts import StripPlace
from hud.queries.author_mail import NOT_MINE
from hud.queries.suspects import Hunt, hunt_of

MOST_SIMILAR = 5
MOST_SUSPECTS = 10


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody wrote. `is_fix`: it says what fixed it."""

    at: datetime
    who: str
    text: str
    is_fix: bool


@dataclass(frozen=True, slots=True)
class Fix:
    """The commit with which it was green again."""

    sha: str
    title: str
    author: str
    pull_number: int | None


@dataclass(frozen=True, slots=True)
class PastAlert:
    """An alert like this one, with what fixed it. `same_cause`: its signature is the same."""

    alert: Alert
    same_cause: bool
    fix: Fix | None
    fix_notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class ShownSuspect:
    """A commit that may have done it, the likeliest first. `denied`: its author says that it did not.

    `files_known`: see hud.queries.suspects.Ranked.
    """

    sha: str
    title: str
    author: str
    percent: int
    reasons: tuple[str, ...]
    denied: bool
    files_known: str


@dataclass(frozen=True, slots=True)
class Story:
    """`job_id`, `why_column`: the job, or of its shards the one, that broke at the alert's first bad commit.

    `chance_percent`: how likely it is that nobody's commit did it; None where suspects are not ranked.
    `earlier_percent`: that it began before the ranked commits. `line_query` leads to the line in the log of the run
    that the alert shows.
    """

    suspects: tuple[ShownSuspect, ...]
    more_suspects: int
    chance_percent: int | None
    earlier_percent: int
    job_id: int | None
    why_column: int | None
    line_query: str
    notes: tuple[Note, ...]
    fix: Fix | None
    past: tuple[PastAlert, ...]


def story_of(alert: Alert) -> Story:
    """Return the story of an alert."""
    similar = similar_alerts(alert)
    ids = [alert.pk, *(past.pk for past in similar)]
    notes, denied = _words_of_people(ids, alert)
    fixes = _fixes(alert, [alert, *similar])
    job = _broken_job(alert)
    hunt = hunt_of(alert.branch, *job) if job else None
    return Story(
        suspects=_shown(hunt, denied) if hunt else (),
        more_suspects=hunt.more if hunt else 0,
        chance_percent=hunt.chance_percent if hunt else None,
        earlier_percent=hunt.earlier_percent if hunt else 0,
        job_id=job[0].pk if job else None,
        why_column=job[0].column if job else None,
        line_query=_line_query(alert),
        notes=notes[alert.pk],
        fix=fixes.get(alert.resolved_at_sha),
        past=tuple(
            PastAlert(
                past,
                bool(alert.signature) and past.signature == alert.signature,
                fixes.get(past.resolved_at_sha),
                tuple(note for note in notes[past.pk] if note.is_fix),
            )
            for past in similar
        ),
    )


def hunt_of_alert(alert: Alert) -> Hunt | None:
    """Return who may have broken the alert's job, None where suspects are not ranked."""
    job = _broken_job(alert)
    return hunt_of(alert.branch, *job) if job else None


def _shown(hunt: Hunt, denied: set[str]) -> tuple[ShownSuspect, ...]:
    return tuple(
        ShownSuspect(
            sha=one.commit.sha,
            title=one.commit.title,
            author=one.commit.author_name or one.commit.author,
            percent=one.percent,
            reasons=one.suspect.reasons,
            denied=one.commit.sha in denied,
            files_known=one.files_known,
        )
        for one in hunt.suspects[:MOST_SUSPECTS]
    )


def _broken_job(alert: Alert) -> tuple[Job, Streak] | None:
    """Return the first of the alert's jobs, or of their shards, that broke at its first bad commit."""
    if alert.kind != BROKEN_STREAK or alert.first_bad_position is None:
        return None
    counted = JobTable(alert.branch.repository_id).counted(spec_of(alert.rule.spec))
    ids = [i for key in alert.job_keys if key in counted for i in counted[key].job_ids]
    covers = Q(first_bad__lte=alert.first_bad_position, last_bad__gte=alert.first_bad_position)
    streaks = Streak.objects.filter(covers, branch=alert.branch, job_id__in=ids).select_related("job__workflow")
    found = streaks.order_by("-first_bad", "job__column").first()
    return (found.job, found) if found else None


def _line_query(alert: Alert) -> str:
    """Return what leads to the line in the run's log, "" where it is from no line."""
    if alert.line_run is None:
        return ""
    row = (
        Failure.objects.filter(
            run__repository_id=alert.branch.repository_id, run__external_id=alert.line_run, source="log"
        )
        .order_by("rank")
        .values_list("line_number", flat=True)
        .first()
    )
    return f"?lines={row}#L{row}" if row else ""


def _words_of_people(ids: Sequence[int], alert: Alert) -> tuple[dict[int, tuple[Note, ...]], set[str]]:
    """Return the notes of each alert, oldest first, and the commits of this one whose authors deny it."""
    notes: dict[int, list[Note]] = defaultdict(list)
    denied: set[str] = set()
    for event in AlertEvent.objects.filter(alert_id__in=ids, kind__in=("note", NOT_MINE)).order_by("id"):
        if event.kind == "note":
            notes[event.alert_id].append(Note(event.at, event.who, event.text, bool(event.data.get("fix"))))
        elif event.alert_id == alert.pk:
            denied.add(str(event.data.get("sha", "")))
    return {pk: tuple(notes[pk]) for pk in ids}, denied


def _fixes(alert: Alert, alerts: Sequence[Alert]) -> dict[str, Fix]:
    shas = {one.resolved_at_sha for one in alerts if one.resolved_at_sha and one.state == Alert.State.RESOLVED}
    rows = Commit.objects.filter(repository_id=alert.branch.repository_id, sha__in=shas)
    fields = ("sha", "title", "author_name", "author", "pull_number")
    return {sha: Fix(sha, title, name or login, pull) for sha, title, name, login, pull in rows.values_list(*fields)}


def similar_alerts(alert: Alert, most: int = MOST_SIMILAR) -> tuple[Alert, ...]:
    """Return past alerts of the same cause, then those of the same jobs, newest first: what fixed those may help."""
    same_cause = Q(signature=alert.signature) if alert.signature else Q(pk__in=())
    past = Alert.objects.filter(
        same_cause | Q(job_keys__overlap=alert.job_keys),
        branch__repository_id=alert.branch.repository_id,
        kind=alert.kind,
        merged_into=None,
        withdrawn=False,
    )
    rank = Case(When(same_cause, then=Value(0)), default=Value(1), output_field=IntegerField())
    return tuple(past.filter(pk__lt=alert.pk).annotate(rank=rank).order_by("rank", "-id")[:most])


def strip_marks(alert: Alert, strip: Sequence[StripPlace]) -> dict[int, str]:
    """Return the mark of each position of the strip in the alert's streak: start, mid, change; others have none."""
    if alert.first_bad_position is None:
        return {}
    last = alert.last_bad_position if alert.state == Alert.State.RESOLVED else None
    changes = {p for span in alert.spans.all() if span.episode == alert.episode for p in span.changes}
    inside = [
        p.position for p in strip if p.position >= alert.first_bad_position and (last is None or p.position <= last)
    ]
    return {
        position: "start" if position == alert.first_bad_position else "change" if position in changes else "mid"
        for position in inside
    }
