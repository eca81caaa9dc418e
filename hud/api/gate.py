"""The merge gate, forced merges, verdicts with their evidence, and people's labels, for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import Router, Schema
from ninja.errors import HttpError

from hud.api.auth import CALLERS, REFUSALS, require_on_call
from hud.api.schemas import Problem
from hud.models import Commit, Label, Repository
from hud.queries.commit import commits_like
from hud.queries.gate import gate_facts, since_out
from hud.queries.places import repository_at, repository_once_at
from hud.queries.pull import PullPage, pull_page
from hud.queries.verdictsettings import verdict_settings
from hud.queries.why import Answer, Why, why_of_job
from hud.services.force_merge import CannotForce, force_merge
from hud.services.labels import BadLabel, set_label, undo_label

router = Router(tags=["verdicts"])

_PULL = "/repositories/{owner}/{name}/pulls/{int:number}"
_CELL = "/repositories/{owner}/{name}/commits/{sha}/jobs/{int:job_id}"
_MISSING = {404: Problem}


class SinceOut(Schema):
    """Since when trunk has the failure. `is_first`: the job passed below; else trunk may have it for longer."""

    commit: str
    is_first: bool


class GateJobOut(Schema):
    """A job that the gate looked at. `verdict` is a person's where `labelled_by` names one, else the engine's.

    `since`: null where trunk is not what broke it, or nobody knows since when.
    """

    job: str
    verdict: str
    reason: str
    action: str
    confidence: float
    labelled_by: str
    since: SinceOut | None
    run: int | None
    url: str


class ForcedOut(Schema):
    head_sha: str
    who: str
    reason: str
    at: datetime


class GateOut(Schema):
    """May this pull request merge? `blocking` and `excused` are jobs with reasons; `pending` are names of jobs that
    have no result yet, and of workflows that have not ended or whose failed job is not known yet. More excused than
    `max_excused`: those block too."""

    repository: str
    pull: int
    head_sha: str | None
    may_merge: bool
    reason: str
    blocking: list[GateJobOut]
    excused: list[GateJobOut]
    excused_count: int
    max_excused: int
    pending: list[str]
    forced: list[ForcedOut]
    url: str


class Reason(Schema):
    reason: str


class LabelIn(Schema):
    label: str
    reason: str


class LabelOut(Schema):
    label: str
    reason: str
    who: str
    at: datetime
    undone_at: datetime | None
    undone_by: str
    undone_because: str


class AnswerOut(Schema):
    """The engine's answer for one run. `evidence`: addresses of what shows it."""

    run: int
    verdict: str
    reason: str
    confidence: float | None
    blocks_merge: bool | None
    action: str
    engine_version: int | None
    since: SinceOut | None
    evidence: list[str]


class VerdictOut(Schema):
    """What holds for the cell, the engine's own answers, and all that people said."""

    job: str
    job_id: int
    commit: str
    state: str
    verdict: str
    reason: str
    engine: list[AnswerOut]
    labels: list[LabelOut]
    url: str


@router.get(_PULL + "/gate", response={200: GateOut, **_MISSING}, summary="May this pull request merge?")
def gate(request: HttpRequest, owner: str, name: str, number: int) -> dict[str, Any]:
    """Of its current head. Ask again when `pending` is empty; `infra` blocks until a rerun gives a signal."""
    repository = _repository(owner, name)
    return _gate_out(request, repository, _pull(repository, number))


@router.post(
    _PULL + "/force-merge",
    auth=CALLERS,
    response={200: GateOut, **_MISSING, **REFUSALS, 409: Problem},
    summary="Record that a person merged it although the gate was closed",
)
def force(request: HttpRequest, owner: str, name: str, number: int, body: Reason) -> dict[str, Any]:
    """For on-call and admins. It is kept with who, when and why, and marked on the grid."""
    user = require_on_call(request)
    repository = _repository(owner, name)
    try:
        force_merge(who=user, repository=repository, page=_pull(repository, number), reason=body.reason)
    except CannotForce as error:
        raise HttpError(409, str(error)) from error
    return _gate_out(request, repository, _pull(repository, number))


@router.get(_CELL + "/verdict", response={200: VerdictOut, **_MISSING}, summary="Why a job is red on a commit")
def verdict(request: HttpRequest, owner: str, name: str, sha: str, job_id: int) -> dict[str, Any]:
    repository = _repository(owner, name)
    return _verdict_out(request, repository, _why(repository, sha, job_id))


@router.post(
    _CELL + "/label",
    auth=CALLERS,
    response={200: VerdictOut, **_MISSING, **REFUSALS, 422: Problem},
    summary="Say what a failure is",
)
def label(request: HttpRequest, owner: str, name: str, sha: str, job_id: int, body: LabelIn) -> dict[str, Any]:
    """For on-call and admins. It wins over the engine's answer until it is undone."""
    user = require_on_call(request)
    repository = _repository(owner, name)
    found = _why(repository, sha, job_id)
    try:
        set_label(
            who=user,
            repository=repository,
            commit=found.commit,
            job=found.job,
            label=body.label,
            reason=body.reason,
        )
    except BadLabel as error:
        raise HttpError(422, str(error)) from error
    return _verdict_out(request, repository, _why(repository, sha, job_id))


@router.delete(
    _CELL + "/label",
    auth=CALLERS,
    response={200: VerdictOut, **_MISSING, **REFUSALS, 409: Problem},
    summary="Take a label back",
)
def unlabel(request: HttpRequest, owner: str, name: str, sha: str, job_id: int) -> dict[str, Any]:
    user = require_on_call(request)
    repository = _repository(owner, name)
    found = _why(repository, sha, job_id)
    if found.word is None:
        raise HttpError(409, "No label holds for this job on this commit.")
    try:
        undo_label(who=user, word=found.word)
    except BadLabel as error:
        raise HttpError(409, str(error)) from error
    return _verdict_out(request, repository, _why(repository, sha, job_id))


# ── What is named, and what is answered ──────────────────────────────────────────────────────────────────────────────
def _repository(owner: str, name: str) -> Repository:
    found = repository_at(owner, name) or repository_once_at(owner, name)
    if found is None:
        raise HttpError(404, f"There is no repository {owner}/{name} here; /api/v1/repositories lists those there are.")
    return found


def _pull(repository: Repository, number: int) -> PullPage:
    found = pull_page(repository, number)
    if found is None:
        raise HttpError(404, f"HUD has not heard of pull request {number} of {repository.full_name}.")
    return found


def _why(repository: Repository, sha: str, job_id: int) -> Why:
    commits: list[Commit] = commits_like(repository, sha)
    if len(commits) != 1:
        raise HttpError(404, f"{len(commits) or 'No'} commits of {repository.full_name} here begin with {sha}.")
    found = why_of_job(repository, commits[0], job_id)
    if found is None:
        raise HttpError(404, f"Job {job_id} has no result on {commits[0].sha[:10]}.")
    return found


def _gate_out(request: HttpRequest, repository: Repository, page: PullPage) -> dict[str, Any]:
    state, address = page.state, reverse("pull", args=[repository.owner, repository.name, page.number])
    told: dict[str, Any] = {
        "repository": repository.full_name,
        "pull": page.number,
        "head_sha": page.shown.sha if page.shown else None,
        "forced": list(page.forced),
        "url": request.build_absolute_uri(address),
    }
    if state is None:
        nothing = {"blocking": [], "excused": [], "excused_count": 0, "pending": []}
        limit = verdict_settings().max_excused
        return {
            **told,
            **nothing,
            "max_excused": limit,
            "may_merge": False,
            "reason": "No job has run on its head yet.",
        }
    return {**told, **gate_facts(state, lambda path: request.build_absolute_uri(f"/{repository.full_name}/{path}"))}


def _verdict_out(request: HttpRequest, repository: Repository, found: Why) -> dict[str, Any]:
    base = f"/{repository.full_name}"
    answers = [found.answer, *found.others] if found.answer else list(found.others)
    return {
        "job": found.name,
        "job_id": found.job.pk,
        "commit": found.commit.sha,
        "state": found.state.value,
        "verdict": found.cell.verdict,
        "reason": found.cell.verdict_reason,
        "engine": [_answer_out(request, base, answer) for answer in answers],
        "labels": [_label_out(word) for word in found.history],
        "url": request.build_absolute_uri(f"{base}/-/why/{found.commit.sha}/{found.job.column}"),
    }


def _answer_out(request: HttpRequest, base: str, answer: Answer) -> dict[str, Any]:
    return {
        "run": answer.run,
        "verdict": answer.label,
        "reason": answer.reason,
        "confidence": answer.confidence,
        "blocks_merge": answer.blocks,
        "action": answer.action,
        "engine_version": answer.engine_version,
        "since": since_out(answer.since),
        "evidence": [request.build_absolute_uri(f"{base}/{witness.path}") for witness in answer.witnesses],
    }


def _label_out(word: Label) -> dict[str, Any]:
    names = ("label", "reason", "who", "at", "undone_at", "undone_by", "undone_because")
    return {name: getattr(word, name) for name in names}
