"""People's words over the engine's verdicts: a list of them, and how often they say what the engine says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, QuerySet
from django.utils import timezone

from hud.core.agreement import Agreement, Disagreement, LabelCount, agreement_of
from hud.core.labelfilter import HOLD, NOTHING, UNDONE, LabelFilter
from hud.models import Label, Repository
from hud.queries.grid import repository_jobs

PER_PAGE = 50
MOST_WORST = 10
"""Jobs on which people disagree that are told of: the surest ones."""


@dataclass(frozen=True, slots=True)
class ListedLabel:
    """A person's word with the name of its job as it is shown."""

    row: Label
    job: str


@dataclass(frozen=True, slots=True)
class JobDisagreement:
    """A disagreement with the name of its job as it is shown."""

    told: Disagreement
    job: str


@dataclass(frozen=True, slots=True)
class LabelsPage:
    """The labels that are asked for, newest first, and the engine's answers against all that people said in these days.

    `agreement` counts labels that hold, whatever else is asked for. `worst` names the surest disagreements,
    `more_worst` counts the others.
    """

    labels: tuple[ListedLabel, ...]
    has_more: bool
    agreement: Agreement
    worst: tuple[JobDisagreement, ...]
    more_worst: int


def labels_page(repository: Repository, asked: LabelFilter) -> LabelsPage:
    """Return a page of labels with the table over them. Three statements, whatever there is."""
    jobs = {job.job_id: job.display for job in repository_jobs(repository.pk).values()}
    agreement = agreement_of(_counts(repository, asked.days))
    start = (asked.page - 1) * PER_PAGE
    rows = list(_asked(repository, asked, jobs)[start : start + PER_PAGE + 1])
    return LabelsPage(
        labels=tuple(ListedLabel(row, jobs.get(row.job_id, row.job.name)) for row in rows[:PER_PAGE]),
        has_more=len(rows) > PER_PAGE,
        agreement=agreement,
        worst=tuple(JobDisagreement(one, jobs.get(one.job_id, "")) for one in agreement.worst[:MOST_WORST]),
        more_worst=max(0, len(agreement.worst) - MOST_WORST),
    )


def _counts(repository: Repository, days: int) -> list[LabelCount]:
    """Count what people said in these days and did not take back, by job and by what the engine says of the cell."""
    rows = _since(repository, days).filter(undone_at=None).order_by()
    counted = rows.values_list("job_id", "engine_label", "label").annotate(count=Count("pk"))
    return [LabelCount(job_id, engine, said, count) for job_id, engine, said, count in counted]


def _since(repository: Repository, days: int) -> QuerySet[Label]:
    rows = Label.objects.filter(repository=repository)
    return rows.filter(at__gte=timezone.now() - timedelta(days=days)) if days else rows


def _asked(repository: Repository, asked: LabelFilter, jobs: dict[int, str]) -> QuerySet[Label]:
    rows = _since(repository, asked.days).select_related("commit", "job").order_by("-pk")
    if asked.engine:
        rows = rows.filter(engine_label="" if asked.engine == NOTHING else asked.engine)
    if asked.said:
        rows = rows.filter(label=asked.said)
    if asked.who:
        rows = rows.filter(who=asked.who)
    if asked.state:
        rows = rows.filter(undone_at__isnull={HOLD: True, UNDONE: False}[asked.state])
    if asked.job:
        rows = rows.filter(job_id__in=_jobs_named(asked.job, jobs))
    return rows.defer("commit__cells", "commit__message", "commit__files")


def _jobs_named(text: str, jobs: dict[int, str]) -> list[int]:
    """Return the job that is shown by this name; where there is none, all whose names hold it."""
    exact = [job_id for job_id, name in jobs.items() if name == text]
    needle = text.casefold()
    return exact or [job_id for job_id, name in jobs.items() if needle in name.casefold()]
