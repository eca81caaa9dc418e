"""What GitHub said, in HUD's words: plain data between the payloads and the database.

Webhooks, API answers, recordings and the synthetic repository all become these, and one service applies them.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hud.core.touched import Lack


@dataclass(frozen=True, slots=True)
class CommitFact:
    """A commit. `parents` is None unless the source knows them (only the API does); `authoritative` says it does.

    `files` are the paths it touches, None where they are not told; `files_lack` says what is amiss with them (see
    hud.core.touched).
    """

    sha: str
    title: str = ""
    message: str = ""
    author: str = ""
    author_name: str = ""
    author_email: str = ""
    authored_at: datetime | None = None
    committed_at: datetime | None = None
    pull_number: int | None = None
    parents: tuple[str, ...] | None = None
    guessed_parent: str = ""
    files: tuple[str, ...] | None = None
    files_lack: Lack = ""


@dataclass(frozen=True, slots=True)
class HeadFact:
    """Somebody's word that `branch` points at `sha`."""

    branch: str
    sha: str
    before: str = ""
    forced: bool = False
    polled: bool = False
    reported_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class WorkflowRunFact:
    """One attempt of a workflow."""

    run_id: int
    attempt: int
    workflow_id: int | None
    name: str
    path: str
    event: str
    head_branch: str
    head_sha: str
    status: str
    conclusion: str
    actor: str = ""
    actor_is_bot: bool = False
    run_number: int | None = None
    html_url: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobRunFact:
    """One attempt of a job. `app` names the app of a check run that is not GitHub Actions' own, `details_url` its page
    about it."""

    job_id: int
    run_id: int | None
    attempt: int
    name: str
    workflow_name: str
    head_sha: str
    status: str
    conclusion: str
    created_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    runner_name: str = ""
    labels: tuple[str, ...] = ()
    html_url: str = ""
    details_url: str = ""
    steps: tuple[dict[str, Any], ...] | None = None
    app: str = ""


@dataclass(frozen=True, slots=True)
class PullFact:
    """A pull request as an event or the API tells it.

    `labels` are sorted names, None where they are not told. `partial`: told in passing by one of its workflow runs, of
    which only number, heads and base are known, as of `told_at`; such a fact never replaces a whole one.
    """

    number: int
    title: str
    author: str
    state: str
    merged: bool
    head_sha: str
    base_ref: str
    base_sha: str
    merge_commit_sha: str
    updated_at: datetime | None
    previous_head_sha: str = ""
    labels: tuple[str, ...] | None = None
    partial: bool = False
    told_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AnnotationFact:
    """One check-run annotation."""

    level: str
    title: str
    message: str
    path: str
    start_line: int | None


@dataclass(frozen=True, slots=True)
class AnnotationsFact:
    """All annotations of a run, in GitHub's order."""

    job_id: int
    annotations: tuple[AnnotationFact, ...]


@dataclass(frozen=True, slots=True)
class RepositoryFact:
    """Who sent it."""

    github_id: int | None
    full_name: str
    default_branch: str = ""


@dataclass(slots=True)
class Facts:
    """A batch. `unreadable` keeps elements of a page that could not be read, with the reason: they are parked."""

    commits: list[CommitFact] = field(default_factory=list)
    heads: list[HeadFact] = field(default_factory=list)
    workflow_runs: list[WorkflowRunFact] = field(default_factory=list)
    job_runs: list[JobRunFact] = field(default_factory=list)
    pulls: list[PullFact] = field(default_factory=list)
    annotations: list[AnnotationsFact] = field(default_factory=list)
    jobs_listed: list[tuple[int, int]] = field(default_factory=list)  # (run_id, attempt)
    want_annotations: list[int] = field(default_factory=list)  # job ids whose annotations GitHub announced
    renamed_to: str = ""
    notes: list[str] = field(default_factory=list)
    unreadable: list[tuple[Any, str]] = field(default_factory=list)

    def extend(self, other: "Facts") -> None:
        """Add the facts of `other`."""
        for name in (
            "commits",
            "heads",
            "workflow_runs",
            "job_runs",
            "pulls",
            "annotations",
            "jobs_listed",
            "want_annotations",
            "notes",
            "unreadable",
        ):
            getattr(self, name).extend(getattr(other, name))
        self.renamed_to = other.renamed_to or self.renamed_to
