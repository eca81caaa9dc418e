"""GitHub's payloads -> facts. Pure: no network, no database.

Shapes: GitHub's published REST description and webhook events. Fields that HUD does not need are not looked at, so
that a payload with more, or with parts missing, still reads.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from hud.core.cell import Detail, state_of
from hud.core.facts import (
    AnnotationFact,
    AnnotationsFact,
    CommitFact,
    Facts,
    HeadFact,
    JobRunFact,
    PullFact,
    RepositoryFact,
    WorkflowRunFact,
)
from hud.core.pullreport import CHECK_MARKER
from hud.core.text import storable
from hud.core.touched import GONE, MOST_OF_ANSWER, MOST_OF_PUSH, Lack, touched
from hud.core.wholenumber import MOST_STORED, whole_number

NULL_SHA = re.compile(r"^0+$")
_FULL_NAME = re.compile(r"^[^/\s\x00-\x1f]{1,100}/[^/\s\x00-\x1f]{1,200}$")
_SHA = re.compile(r"^[0-9a-f]{7,64}$")
_PULL_AT_END = re.compile(r"\(#(\d{1,9})\)\s*$")
_PULL_MERGE = re.compile(r"^Merge pull request #(\d{1,9})\b")
_PULL_RESOLVED = re.compile(r"^Pull[ -]Request(?: resolved)?: \S*/pull/(\d{1,9})\s*$", re.MULTILINE | re.IGNORECASE)
_MERGE_TITLE = re.compile(r"^Merge (?:branch|pull request|remote|tag|commit)\b")

Payload = Mapping[str, Any]


class BadPayload(ValueError):
    """The payload cannot be read. The message says which part and what was expected."""


def _object(value: object, what: str) -> Payload:
    if not isinstance(value, Mapping):
        raise BadPayload(f"{what} must be a JSON object, not {type(value).__name__}")
    return value


def _object_or_empty(value: object) -> Payload:
    return value if isinstance(value, Mapping) else {}


def _part(payload: Payload, name: str) -> Payload:
    if name not in payload:
        raise BadPayload(f"the field {name!r} is missing")
    return _object(payload[name], f"the field {name!r}")


def _text(value: object, limit: int = 255) -> str:
    return storable(value, limit) if isinstance(value, str) else ""


def _id(payload: Payload, name: str, *, required: bool = True) -> int | None:
    value = payload.get(name)
    if isinstance(value, str):
        value = value if (number := whole_number(value)) is None else number
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_STORED:
        return value
    if required:
        raise BadPayload(f"{name!r} must be a positive whole number, not {value!r:.60}")
    return None


def _count(value: object, default: int = 1) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else default


def _sha(value: object, what: str) -> str:
    if isinstance(value, str) and _SHA.match(value.lower()):
        return value.lower()
    raise BadPayload(f"{what} must be a commit sha in hexadecimal, not {value!r:.60}")


def time_of(value: object) -> datetime | None:
    """Read ISO 8601 or a Unix time in seconds; None where there is none. Raises BadPayload for anything else."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise BadPayload(f"{value!r:.60} is not a time: {error}") from error
    raise BadPayload(f"{value!r:.60} is not a time in ISO 8601")


def pull_number_of(message: str) -> int | None:
    """Return the pull request that a commit message names as its own, or None."""
    title = message.split("\n", 1)[0]
    match = _PULL_MERGE.search(title) or _PULL_AT_END.search(title) or _PULL_RESOLVED.search(message)
    number = int(match.group(1)) if match else 0
    return number if 0 < number < 2**31 else None


def _person(person: object) -> tuple[str, bool]:
    if not isinstance(person, Mapping):
        return "", False
    login = _text(person.get("login"))
    return login, person.get("type") == "Bot" or login.endswith("[bot]")


def repository_fact(payload: Payload) -> RepositoryFact | None:
    """Return the repository that a payload is about, None where it names none. Raises BadPayload for no name."""
    repository = payload.get("repository")
    if not isinstance(repository, Mapping) or not isinstance(repository.get("full_name"), str):
        return None
    if not _FULL_NAME.match(repository["full_name"]):
        raise BadPayload(f"'repository.full_name' must be owner/name, not {repository['full_name']!r:.80}")
    return RepositoryFact(
        _id(repository, "id", required=False),
        repository["full_name"],
        _text(repository.get("default_branch")),
    )


# ---- elements -------------------------------------------------------------------------------------------------------


def commit_fact(item: Payload) -> CommitFact:
    """Read an element of REST's commit list: the only source that knows parents."""
    commit = _part(item, "commit")
    message = _text(commit.get("message"), 20_000)
    author = _object_or_empty(commit.get("author"))
    committer = _object_or_empty(commit.get("committer"))
    parents = item.get("parents")
    if not isinstance(parents, list):
        raise BadPayload("'parents' of a commit must be a list")
    files, lack = _files_of_answer(item)
    return CommitFact(
        sha=_sha(item.get("sha"), "'sha'"),
        title=storable(message.split("\n", 1)[0], 500),
        message=message,
        author=_person(item.get("author"))[0],
        author_name=_text(author.get("name")),
        author_email=_text(author.get("email"), 320),
        authored_at=time_of(author.get("date")),
        committed_at=time_of(committer.get("date")),
        pull_number=pull_number_of(message),
        parents=tuple(_sha(p.get("sha"), "a parent's 'sha'") for p in parents),
        files=files,
        files_lack=lack,
    )


def _files_of_answer(item: Payload) -> tuple[tuple[str, ...] | None, Lack]:
    """Read the `files` of a commit as REST gives them; a file that was moved is touched in both places."""
    files = item.get("files")
    if not isinstance(files, list):
        return None, ""
    told = [_text(_object_or_empty(f).get(name), 1000) for f in files for name in ("filename", "previous_filename")]
    return touched(filter(None, told), cut=len(files) >= MOST_OF_ANSWER)


def _event_commit(item: Payload, guessed_parent: str = "") -> CommitFact:
    """Read a commit as push and workflow_run events describe it: no parents, one time."""
    message = _text(item.get("message"), 20_000)
    author = _object_or_empty(item.get("author"))
    at = time_of(item.get("timestamp"))
    paths = [_text(path, 1000) for name in ("added", "removed", "modified") for path in item.get(name) or ()]
    files, lack = touched(paths, cut=len(paths) >= MOST_OF_PUSH)
    return CommitFact(
        sha=_sha(item.get("id"), "'id' of a commit"),
        title=storable(message.split("\n", 1)[0], 500),
        message=message,
        author=_text(author.get("username")),
        author_name=_text(author.get("name")),
        author_email=_text(author.get("email"), 320),
        authored_at=at,
        committed_at=at,
        pull_number=pull_number_of(message),
        guessed_parent=guessed_parent,
        # No path tells nothing: other events than pushes bring no lists, and a push may have none for a merge.
        files=files or None,
        files_lack=lack,
    )


def workflow_run_fact(item: Payload) -> tuple[WorkflowRunFact, CommitFact | None]:
    """Read a workflow run and, where it brings one, its head commit."""
    actor, bot = _person(item.get("triggering_actor") or item.get("actor"))
    fact = WorkflowRunFact(
        run_id=_id(item, "id") or 0,
        attempt=_count(item.get("run_attempt")),
        workflow_id=_id(item, "workflow_id", required=False),
        name=_text(item.get("name")),
        path=_text(item.get("path"), 500),
        event=_text(item.get("event"), 50),
        head_branch=_text(item.get("head_branch")),
        head_sha=_sha(item.get("head_sha"), "'head_sha'"),
        status=_text(item.get("status"), 30) or "queued",
        conclusion=_text(item.get("conclusion"), 30),
        actor=actor,
        actor_is_bot=bot,
        run_number=_count(item.get("run_number"), 0) or None,
        html_url=_text(item.get("html_url"), 1000),
        created_at=time_of(item.get("created_at")),
        updated_at=time_of(item.get("updated_at")),
    )
    head = item.get("head_commit")
    commit = _event_commit(head) if isinstance(head, Mapping) and head.get("id") else None
    return fact, commit


_STEP_FIELDS = ("name", "number", "status", "conclusion", "started_at", "completed_at")


def job_run_fact(item: Payload) -> JobRunFact:
    """Read a job as REST and `workflow_job` give it."""
    labels = item.get("labels")
    steps = item.get("steps")
    name = item.get("name")
    if not isinstance(name, str) or not name:
        raise BadPayload("'name' of a job must be text")
    return JobRunFact(
        job_id=_id(item, "id") or 0,
        run_id=_id(item, "run_id", required=False),
        attempt=_count(item.get("run_attempt")),
        name=_text(name, 500),
        workflow_name=_text(item.get("workflow_name")),
        head_sha=_sha(item.get("head_sha"), "'head_sha'"),
        status=_text(item.get("status"), 30) or "queued",
        conclusion=_text(item.get("conclusion"), 30),
        created_at=time_of(item.get("created_at")),
        started_at=time_of(item.get("started_at")),
        completed_at=time_of(item.get("completed_at")),
        runner_name=_text(item.get("runner_name")),
        labels=tuple(_text(label) for label in labels) if isinstance(labels, list) else (),
        html_url=_text(item.get("html_url"), 1000),
        steps=_steps(steps) if isinstance(steps, list) and _keeps_steps(item) else None,
    )


def _keeps_steps(item: Payload) -> bool:
    """Only a run that ended badly keeps its steps; reading them is most of the work of reading a job."""
    return item.get("status") == "completed" and item.get("conclusion") not in ("success", "skipped", "neutral")


def _steps(steps: Iterable[object]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {f: storable(v, 300) if isinstance(v := s.get(f), str) else v for f in _STEP_FIELDS}
        for s in steps
        if isinstance(s, Mapping)
    )


def annotations_fact(job_id: int, items: Iterable[Payload]) -> AnnotationsFact:
    """Read REST's list of a check run's annotations."""
    return AnnotationsFact(
        job_id,
        tuple(
            AnnotationFact(
                _text(item.get("annotation_level"), 20),
                _text(item.get("title"), 1000),
                _text(item.get("message"), 8000),
                _text(item.get("path"), 1000),
                _count(item.get("start_line"), 0) or None,
            )
            for item in items
        ),
    )


def pull_fact(item: Payload, previous_head_sha: str = "") -> PullFact:
    """Read a pull request."""
    head, base = _part(item, "head"), _part(item, "base")
    return PullFact(
        number=_id(item, "number") or 0,
        title=_text(item.get("title"), 500),
        author=_person(item.get("user"))[0],
        state=_text(item.get("state"), 10) or "open",
        merged=bool(item.get("merged") or item.get("merged_at")),
        head_sha=_sha(head.get("sha"), "'head.sha'"),
        base_ref=_text(base.get("ref")),
        base_sha=_text(base.get("sha"), 64),
        merge_commit_sha=_text(item.get("merge_commit_sha"), 64),
        updated_at=time_of(item.get("updated_at")),
        previous_head_sha=previous_head_sha,
        labels=_label_names(item.get("labels")),
    )


MOST_LABELS = 100
MOST_PULLS_OF_RUN = 20


def _label_names(labels: object) -> tuple[str, ...] | None:
    if not isinstance(labels, list):
        return None
    names = {_text(label.get("name") if isinstance(label, Mapping) else label, 100) for label in labels[:MOST_LABELS]}
    return tuple(sorted(names - {""}))


def pulls_of_run(item: Payload) -> list[PullFact]:
    """Read the pull requests that a workflow run of theirs names. The run's head was theirs when it began; theirs may
    be newer by now.

    GitHub names none for a pull request from a fork. What cannot be read is left out: the run matters more.
    """
    named = item.get("pull_requests")
    if not isinstance(named, list) or item.get("event") != "pull_request":
        return []
    found = []
    for one in named[:MOST_PULLS_OF_RUN]:
        with suppress(BadPayload):
            found.append(_pull_of_run(_object(one, "an element of 'pull_requests'"), item))
    return found


def _pull_of_run(one: Payload, run: Payload) -> PullFact:
    head, base = _part(one, "head"), _object_or_empty(one.get("base"))
    return PullFact(
        number=_id(one, "number") or 0,
        title="",
        author="",
        state="open",
        merged=False,
        head_sha=_sha(head.get("sha"), "'head.sha'"),
        base_ref=_text(base.get("ref")),
        base_sha=_text(base.get("sha"), 64),
        merge_commit_sha="",
        updated_at=None,
        previous_head_sha=_sha(run.get("head_sha"), "'head_sha'"),
        partial=True,
        told_at=time_of(run.get("updated_at")) or time_of(run.get("created_at")),
    )


# ---- webhook events -------------------------------------------------------------------------------------------------


def _push(payload: Payload) -> Facts:
    ref = payload.get("ref")
    if not isinstance(ref, str):
        raise BadPayload("'ref' of a push must be text")
    if not ref.startswith("refs/heads/") or payload.get("deleted"):
        return Facts()
    after = _sha(payload.get("after"), "'after'")
    if NULL_SHA.match(after):
        return Facts()
    before = _text(payload.get("before"), 64).lower()
    before = "" if NULL_SHA.match(before) else before
    forced = bool(payload.get("forced"))
    items = [_object(c, "an element of 'commits'") for c in payload.get("commits") or ()]
    repository = payload.get("repository")
    pushed_at = repository.get("pushed_at") if isinstance(repository, Mapping) else None
    head = HeadFact(
        branch=storable(ref.removeprefix("refs/heads/"), 255),
        sha=after,
        before=before,
        forced=forced,
        reported_at=time_of(pushed_at),
    )
    guesses = _guess_parents([_sha(c.get("id"), "'id' of a commit") for c in items], items, before, after, forced)
    commits = [_event_commit(c, guesses.get(str(c["id"]).lower(), "")) for c in items]
    return Facts(commits=commits, heads=[head])


def _guess_parents(shas: list[str], items: list[Payload], before: str, after: str, forced: bool) -> dict[str, str]:
    """Guess first parents from a push, which does not tell them.

    One commit stands on what was there before. Of several, a merge on top stands on what was there before and the
    others came in with it; without a merge they are a chain. The API's word replaces every guess.
    """
    if not shas or shas[-1] != after or forced or not before:
        chain = dict(zip(shas[1:], shas, strict=False))
        return chain if shas and shas[-1] == after else {}
    if len(shas) > 1 and _MERGE_TITLE.match(str(items[-1].get("message") or "")):
        return dict(zip(shas[1:-1], shas, strict=False)) | {after: before}
    return dict(zip(shas, [before, *shas], strict=False))


def _workflow_run(payload: Payload) -> Facts:
    item = _part(payload, "workflow_run")
    run, commit = workflow_run_fact(item)
    commits = [commit] if commit else []
    return Facts(workflow_runs=[run], commits=commits, pulls=pulls_of_run(item), notes=_unknown_words(run))


def _workflow_job(payload: Payload) -> Facts:
    job = job_run_fact(_part(payload, "workflow_job"))
    return Facts(job_runs=[job], notes=_unknown_words(job))


def _check_run(payload: Payload) -> Facts:
    item = _part(payload, "check_run")
    job_id = _id(item, "id") or 0
    app = _object_or_empty(item.get("app"))
    if app.get("slug") == "github-actions":
        # The same run as the `workflow_job` of this id; only its annotations are news.
        output = item.get("output")
        announced = isinstance(output, Mapping) and _count(output.get("annotations_count"), 0)
        return Facts(want_annotations=[job_id] if announced and item.get("status") == "completed" else [])
    if item.get("external_id") == CHECK_MARKER:
        return Facts()
    job = JobRunFact(
        job_id=job_id,
        run_id=None,
        attempt=1,
        name=_text(item.get("name"), 500) or "check",
        workflow_name="",
        head_sha=_sha(item.get("head_sha"), "'head_sha'"),
        status=_text(item.get("status"), 30) or "queued",
        conclusion=_text(item.get("conclusion"), 30),
        started_at=time_of(item.get("started_at")),
        completed_at=time_of(item.get("completed_at")),
        html_url=_text(item.get("html_url"), 1000),
        details_url=_text(item.get("details_url"), 1000),
        app=_text(app.get("name") or app.get("slug")) or "checks",
    )
    return Facts(job_runs=[job], notes=_unknown_words(job))


def _pull_request(payload: Payload) -> Facts:
    before = payload.get("before") if payload.get("action") == "synchronize" else ""
    return Facts(pulls=[pull_fact(_part(payload, "pull_request"), _text(before, 64))])


def _repository(payload: Payload) -> Facts:
    fact = repository_fact(payload)
    if payload.get("action") in ("renamed", "transferred") and fact:
        return Facts(renamed_to=fact.full_name)
    return Facts()


def _unknown_words(fact: WorkflowRunFact | JobRunFact) -> list[str]:
    if state_of(fact.status, fact.conclusion or None)[1] is Detail.UNKNOWN:
        word = fact.conclusion or fact.status
        return [f"GitHub says {word!r}, a state that this version does not know: shown as unknown, no signal."]
    return []


# ---- pages of REST answers ------------------------------------------------------------------------------------------


def _each(items: object, read: Callable[[Payload, Facts], None]) -> Facts:
    """Read a page element by element: one that cannot be read is kept aside and hides no other."""
    if not isinstance(items, list):
        raise BadPayload("the answer must be a list")
    facts = Facts()
    for item in items:
        try:
            read(_object(item, "an element"), facts)
        except BadPayload as error:
            facts.unreadable.append((item, str(error)))
    return facts


def _rest_commits(payload: Payload) -> Facts:
    return _each(payload.get("items"), lambda item, facts: facts.commits.append(commit_fact(item)))


def _rest_commit_files(payload: Payload) -> Facts:
    def read(item: Payload, facts: Facts) -> None:
        files, lack = _files_of_answer(item)
        fact = CommitFact(_sha(item.get("sha"), "'sha'"), files=files, files_lack=GONE if files is None else lack)
        facts.commits.append(fact)

    return _each(payload.get("items"), read)


def _rest_workflow_runs(payload: Payload) -> Facts:
    def read(item: Payload, facts: Facts) -> None:
        run, commit = workflow_run_fact(item)
        facts.workflow_runs.append(run)
        facts.commits.extend([commit] if commit else [])
        facts.pulls.extend(pulls_of_run(item))
        facts.notes.extend(_unknown_words(run))

    return _each(payload.get("items"), read)


def _rest_jobs(payload: Payload) -> Facts:
    def read(item: Payload, facts: Facts) -> None:
        job = job_run_fact(item)
        facts.job_runs.append(job)
        facts.notes.extend(_unknown_words(job))

    facts = _each(payload.get("items"), read)
    for listed in payload.get("listed") or ():
        facts.jobs_listed.append((_id({"id": listed[0]}, "id") or 0, _count(listed[1])))
    return facts


def _rest_annotations(payload: Payload) -> Facts:
    items = payload.get("items")
    if not isinstance(items, list):
        raise BadPayload("the answer must be a list")
    return Facts(annotations=[annotations_fact(_id(payload, "job_id") or 0, items)])


def _rest_pulls(payload: Payload) -> Facts:
    return _each(payload.get("items"), lambda item, facts: facts.pulls.append(pull_fact(item)))


_READERS: dict[str, Callable[[Payload], Facts]] = {
    "push": _push,
    "workflow_run": _workflow_run,
    "workflow_job": _workflow_job,
    "check_run": _check_run,
    "pull_request": _pull_request,
    "repository": _repository,
    # Answers of the API, wrapped as {"items": [...], ...}.
    "rest.commits": _rest_commits,
    "rest.commit_files": _rest_commit_files,  # of each commit its sha and files; null where GitHub does not tell them
    "rest.workflow_runs": _rest_workflow_runs,
    "rest.jobs": _rest_jobs,  # {"items", "listed": [[workflow run id, attempt] whose whole list was read, ...]}
    "rest.annotations": _rest_annotations,  # {"items", "job_id"}
    "rest.pulls": _rest_pulls,
}
KNOWN_EVENTS = frozenset(_READERS) | {"ping"}


def facts_of(event: str, payload: object) -> Facts:
    """Read one webhook payload, or one wrapped API answer (`rest.…`).

    Events that HUD has no use for give no facts. Raises BadPayload when a part that is needed is missing or wrong.
    """
    reader = _READERS.get(event)
    return reader(_object(payload, "the payload")) if reader else Facts()
