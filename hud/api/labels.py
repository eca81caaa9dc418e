"""People's labels and how often they say what the engine says, for programs: the same as on the page."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import Query, Router, Schema
from ninja.errors import HttpError

from hud.api.schemas import Problem
from hud.core.agreement import EngineRow
from hud.core.labelfilter import DAYS, MOST_DAYS, MOST_PAGES, LabelFilter
from hud.models import Repository
from hud.queries.labels import JobDisagreement, ListedLabel, labels_page
from hud.queries.places import repository_at, repository_once_at

router = Router(tags=["verdicts"])


class ListedLabelOut(Schema):
    """A person's label. `engine`: what the engine says of the same failure, "" where it says nothing."""

    job: str
    job_id: int
    commit: str
    label: str
    engine: str
    reason: str
    who: str
    at: datetime
    undone_at: datetime | None
    undone_by: str
    undone_because: str
    url: str


class EngineRowOut(Schema):
    """What people said where the engine says `engine` ("" where it says nothing): label -> how often."""

    engine: str
    said: dict[str, int]
    agreed: int
    total: int
    at_least: float


class DisagreementOut(Schema):
    """On this job, where the engine says `engine`, people said `said` on `count` of `total` labelled failures."""

    job: str
    job_id: int
    engine: str
    said: str
    count: int
    total: int
    at_least: float


class LabelsOut(Schema):
    """`items`: labels, newest first, 50 a page. `agreed` of `total` labels that hold say what the engine says, whatever
    else is asked for than `days`; `at_least`: of rates, with 95 % confidence. `worst`: the surest disagreements."""

    items: list[ListedLabelOut]
    next_page: int | None
    agreed: int
    total: int
    at_least: float
    engine: list[EngineRowOut]
    worst: list[DisagreementOut]


@router.get(
    "/repositories/{owner}/{name}/labels",
    response={200: LabelsOut, 404: Problem},
    summary="Labels by people, and how often they agree with the engine",
)
def labels(
    request: HttpRequest,
    owner: str,
    name: str,
    days: int = Query(DAYS, ge=0, le=MOST_DAYS, description="set in so many last days; 0: ever"),
    engine: str = Query("", description="what the engine says; none: nothing"),
    said: str = Query("", description="what the person says"),
    job: str = Query("", description="the name of a job, or a part of names"),
    who: str = Query("", description="the account that set it"),
    state: str = Query("", description="hold or undone; empty: both"),
    page: int = Query(1, ge=1, le=MOST_PAGES),
) -> dict[str, Any]:
    repository = repository_at(owner, name) or repository_once_at(owner, name)
    if repository is None:
        raise HttpError(404, f"There is no repository {owner}/{name} here; /api/v1/repositories lists those there are.")
    words = {"engine": engine, "said": said, "job": job, "who": who, "state": state}
    asked = replace(LabelFilter.of(words), days=days, page=page)
    found = labels_page(repository, asked)
    whole = found.agreement.whole
    return {
        "items": [_label_out(request, repository, one) for one in found.labels],
        "next_page": page + 1 if found.has_more else None,
        "agreed": whole.agreed,
        "total": whole.total,
        "at_least": whole.at_least,
        "engine": [_row_out(row, found.agreement.said) for row in found.agreement.rows],
        "worst": [_disagreement_out(one) for one in found.worst],
    }


def _label_out(request: HttpRequest, repository: Repository, one: ListedLabel) -> dict[str, Any]:
    word = one.row
    why = reverse("why", args=[repository.owner, repository.name, word.commit.sha, word.job.column])
    names = ("label", "reason", "who", "at", "undone_at", "undone_by", "undone_because", "job_id")
    told = {name: getattr(word, name) for name in names}
    named = {"job": one.job, "commit": word.commit.sha, "engine": word.engine_label}
    return {**told, **named, "url": request.build_absolute_uri(why)}


def _row_out(row: EngineRow, said: tuple[str, ...]) -> dict[str, Any]:
    counts = {word: count for word, count in zip(said, row.counts, strict=True) if count}
    told = {"engine": row.engine, "agreed": row.agreed, "total": row.total, "at_least": row.at_least}
    return {**told, "said": counts}


def _disagreement_out(one: JobDisagreement) -> dict[str, Any]:
    told = one.told
    fields = ("job_id", "engine", "said", "count", "total", "at_least")
    return {"job": one.job, **{name: getattr(told, name) for name in fields}}
