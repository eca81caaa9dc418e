"""Edit what a repository declares about its jobs: which must pass, which are unstable, what each of them is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hud.core.jobrules import (
    BLOCKING,
    FLAKY,
    KINDS,
    LABELS,
    MOST_LINES,
    UNSTABLE,
    VALUES,
    Checked,
    Line,
    check,
    fingerprint,
    text_of,
    typed_lines,
)
from hud.models import Repository
from hud.queries.grid import repository_jobs
from hud.queries.jobrules import job_lists, rows_under_review
from hud.queries.places import repository_at, repository_once_at
from hud.services.blocking import JUDGED_AGAIN_ROWS, StaleLines, save_job_list
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby

PAGE = "Jobs that block"
PURPOSE = "Admins say here which jobs must pass, which are unstable, and which are builds, lint or tests."
_ORDER = (BLOCKING, UNSTABLE, KINDS, FLAKY, LABELS)
_ABOUT = {
    BLOCKING: (
        "Blocking jobs",
        (
            "One list for everything: the grid's filter, the viable commit, the status sentence and the merge gate."
            " While it is empty, trunk asks for the jobs that regularly give a signal, a pull request for every job."
        ),
    ),
    UNSTABLE: ("Unstable jobs", "Their failures block nobody, and are no evidence for others."),
    KINDS: (
        "Kinds of jobs",
        "What a job is, before HUD's own patterns are asked. Only tests can be flaky; what no pattern finds is a test.",
    ),
    FLAKY: ("Tests known to be flaky", "Whole test ids as the failure shows them, one a line."),
    LABELS: (
        "Labels that switch jobs off",
        (
            "label = pattern: on a pull request with this label, jobs that the pattern finds block nothing. A label may"
            " have several lines. Trunk has no labels: there nothing is switched off."
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Form:
    """One list as it is shown for editing. `current`: the stored text, where somebody else changed it meanwhile."""

    topic: str
    title: str
    about: str
    values: tuple[str, ...]
    text: str
    seen: str
    checked: Sequence[Checked]
    error: str = ""
    current: str | None = None

    @property
    def is_good(self) -> bool:
        return not self.error and not any(line.error for line in self.checked)


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def blocking(request: HttpRequest, owner: str, name: str) -> HttpResponseBase:
    """The editor of all lists. A POST saves one of them, or shows what it would do."""
    repository = repository_at(owner, name)
    if repository is None:
        return _moved_or_missing(owner, name)
    topic = request.POST.get("topic", "")
    if request.method != "POST" or topic not in VALUES:
        return _page(request, repository)
    form = _form(repository, topic, typed_lines(topic, request.POST.get("lines", "")), request.POST.get("seen", ""))
    if request.POST.get("action") != "save":
        return _page(request, repository, form)
    if not form.is_good:
        return _page(request, repository, form, status=422)
    lines = [checked.line for checked in form.checked]
    try:
        changed = save_job_list(who=request.user, repository=repository, topic=topic, lines=lines, seen=form.seen)
    except StaleLines:
        current = text_of(topic, job_lists(repository.pk).of(topic))
        stale = _form(repository, topic, lines, form.seen, current=current)
        return _page(request, repository, stale, status=409)
    messages.success(request, "The list is saved." if changed else "Nothing was different, so nothing was saved.")
    return redirect(_path(repository))


def _moved_or_missing(owner: str, name: str) -> HttpResponse:
    moved = repository_once_at(owner, name)
    if moved is None:
        raise Missing(f"HUD does not follow {owner}/{name}.", (Nearby("The repositories", "/manage/follow"),))
    return redirect(_path(moved))


def _path(repository: Repository) -> str:
    return f"/manage/jobs/{quote(repository.full_name)}"


def _form(repository: Repository, topic: str, lines: Sequence[Line], seen: str, current: str | None = None) -> Form:
    names = [job.name.full for job in repository_jobs(repository.pk).values()]
    title, about = _ABOUT[topic]
    error = f"At most {MOST_LINES} lines are kept." if len(lines) > MOST_LINES else ""
    checked = check(topic, lines, names)
    return Form(topic, title, about, VALUES[topic], text_of(topic, lines), seen, checked, error, current)


def _page(request: HttpRequest, repository: Repository, typed: Form | None = None, status: int = 200) -> HttpResponse:
    lists = job_lists(repository.pk)
    forms = [
        typed
        if typed is not None and typed.topic == topic
        else _form(repository, topic, lists.of(topic), fingerprint(lists.of(topic)))
        for topic in _ORDER
    ]
    context = {
        "repository": repository,
        "forms": forms,
        "typed": typed,
        "path": _path(repository),
        "under_review": rows_under_review(repository.pk),
        "at_once": JUDGED_AGAIN_ROWS,
        "jobs": sorted(job.name.full for job in repository_jobs(repository.pk).values()),
    }
    return render(request, "hud/blocking.html", context, status=status)
