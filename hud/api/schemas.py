"""What the JSON API answers. Times are ISO 8601 in UTC; positions grow with newer commits."""

from datetime import datetime

from ninja import Schema


class Problem(Schema):
    """Why there is no answer, in a sentence that says what to do."""

    detail: str


class RepositoryOut(Schema):
    full_name: str
    default_branch: str
    branches: list[str]
    synthetic: bool
    followed: bool
    url: str


class RunVerdictOut(Schema):
    """Whose fault a run is: a person's word where `labelled_by` names one, else the engine's."""

    verdict: str
    reason: str
    confidence: float | None
    blocks_merge: bool
    action: str
    labelled_by: str


class FailureOut(Schema):
    """`verdict` is that of the run in which it was found, "" where there is none (yet)."""

    verdict: str = ""
    rule: str
    category: str
    line_number: int
    line: str
    captures: list[str]
    tests: list[str]
    context: list[str]
    signature: str
    generic: bool
    step: str
    source: str


class CellOut(Schema):
    job: str
    job_id: int
    state: str
    detail: str
    verdict: str
    reason: str
    confidence: float | None
    flaky: bool
    runs: int
    run: int | None
    streak: str
    duration_s: int | None
    failure_line: str


class RowOut(Schema):
    sha: str
    title: str
    author: str
    committed_at: datetime | None
    pull_number: int | None
    cells: list[CellOut]


class GridOut(Schema):
    repository: str
    branch: str
    page: int
    per_page: int
    has_older: bool
    jobs: list[str]
    rows: list[RowOut]


class JobOut(Schema):
    """`state` and `verdict` of its newest cell among the newest 50 rows of the default branch, "" where it has none."""

    id: int
    name: str
    workflow: str
    url: str
    state: str
    verdict: str


class StreakOut(Schema):
    job: str
    job_id: int
    first_bad: str
    last_bad: str
    last_good: str | None
    first_good_after: str | None
    is_open: bool
    length: int
    changes: list[str]
    suspects: list[str]


class RunOut(Schema):
    """`verdict` is "" and `judged` null where nothing is said of the run: it passed, or is not judged yet."""

    verdict: str
    judged: RunVerdictOut | None
    id: int
    job: str
    job_id: int
    workflow: str
    commit: str
    state: str
    detail: str
    status: str
    conclusion: str
    origin: str
    attempt: int
    started_at: datetime | None
    completed_at: datetime | None
    duration_s: int | None
    runner_name: str
    html_url: str
    details_url: str
    log_status: str
    failures: list[FailureOut]


class CommitOut(Schema):
    sha: str
    title: str
    message: str
    author: str
    committed_at: datetime | None
    pull_number: int | None
    parents: list[str] | None
    branches: list[str]
    cells: list[CellOut]


class StatusOut(Schema):
    colour: str
    streaks: int
    oldest_first_bad: str | None
    viable: str | None
    viable_behind: int | None
    updated_at: datetime | None
    poll_error: str


class BlockedOut(Schema):
    sha: str
    jobs: list[str]


class ViableOut(Schema):
    """`behind`: commits that are newer than the viable one. `blocked`: the newest 100 of them at most, newest first,
    each with the blocking jobs that are not green on it; `more_blocked` counts the others. `looked_at`: commits, from
    the newest down, that it took to know. `more_commits`: nothing is viable so far, and the branch goes on below."""

    sha: str | None
    behind: int | None
    blocking_jobs: list[str]
    blocked: list[BlockedOut]
    more_blocked: int
    looked_at: int
    more_commits: bool
