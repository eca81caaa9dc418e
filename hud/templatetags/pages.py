"""What the pages of a commit and of a job share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hud.core.ago import duration_words, span_words
from hud.core.cell import Detail, State
from hud.core.cellcode import CellLook
from hud.core.glyph import cell_words
from hud.core.terminal import safe_text
from hud.queries.commit import JobResult
from hud.queries.evidence import Attempt, Cause, Mention
from hud.templatetags.hud import cell as cell_glyph
from hud.templatetags.hud import time_element, web_link

register = template.Library()


@register.simple_tag
def state_words(state: str, verdict: str = "", detail: str = "") -> str:
    """The cell in words: "failed, regression"."""
    return cell_words(CellLook(State(state), Detail(detail or ""), verdict or ""))


@register.simple_tag
def commit_link(base: str, mention: Mention | None, query: str = "") -> SafeString:
    """A link to a commit: its short sha, the title on hover. `base`: the path of the repository."""
    if mention is None:
        return format_html('<span class="quiet">{}</span>', "a commit that HUD does not know")
    return format_html(
        '<a class="sha" href="{}/commit/{}{}" title="{}">{}</a>',
        base,
        mention.sha,
        query,
        safe_text(mention.title),
        mention.sha[:7],
    )


@register.simple_tag
def cause_line(base: str, run: int, cause: Cause) -> SafeString:
    """The failing line, as a link to its place in the log where it has one."""
    line = format_html("<bdi>{}</bdi>", safe_text(cause.line))
    if not (cause.line_number and cause.source == "log"):
        return format_html('<span class="failure-line">{}</span>', line)
    return format_html(
        '<a class="failure-line" href="{}/run/{}?lines={}#L{}">{}</a>',
        base,
        run,
        cause.line_number,
        cause.line_number,
        line,
    )


@register.filter
def spaced(name: object) -> str:
    """A word of a list as people write it: "infra_disk" → "infra disk"."""
    return str(name).replace("_", " ")


@register.filter
def without_pull(title: str, number: int | None) -> str:
    """A commit's title without the pull request's number at its end, where that is shown beside it."""
    return title.removesuffix(f"(#{number})").rstrip() if number else title


@register.filter
def span(seconds: float | None) -> str:
    """A length of time in its greatest unit, for places with little room."""
    return "" if seconds is None else span_words(seconds)


_MOST_ORIGINS = 4


@register.simple_tag
def job_rows(jobs: Sequence[JobResult], base: str, query: str, running: bool, at_github: bool) -> SafeString:
    """The rows of a table of jobs that need little room. In Python rather than a template: there may be thousands.

    `running`: they have no duration yet. `at_github`: their runs can be opened at GitHub.
    """
    table = _JobTable(escape(base), escape(query), running, at_github, timezone.now())
    return SafeString("\n".join(map(table.row, jobs)))


@dataclass(slots=True)
class _JobTable:
    """What the rows have in common. `base` and `query` are escaped; the dictionaries keep what rows repeat."""

    base: str
    query: str
    running: bool
    at_github: bool
    now: datetime
    glyphs: dict[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)
    times: dict[datetime, str] = field(default_factory=dict)

    def row(self, job: JobResult) -> str:
        glyph, words = self._look((str(job.state), job.verdict, str(job.detail)))
        name, run = escape(safe_text(job.name)), job.shown
        took = duration_words(run.duration_s) if run and run.duration_s is not None else ""
        return (
            f'<tr data-job="{name}" data-state="{job.state}"><th scope="row">{glyph} '
            f'<a href="{self.base}/job/{job.job_id}{self.query}"><bdi>{name}</bdi></a></th><td>{words}</td>'
            f'<td class="nowrap">{escape(_origins(job.attempts))}</td>'
            + ("" if self.running else f'<td class="nowrap">{took}</td>')
            + f'<td class="nowrap">{self._time(run.started_at) if run else ""}</td>'
            f'<td class="nowrap">{self._links(run, name) if run else ""}</td></tr>'
        )

    def _look(self, look: tuple[str, str, str]) -> tuple[str, str]:
        if look not in self.glyphs:
            self.glyphs[look] = cell_glyph(*look), escape(state_words(*look))
        return self.glyphs[look]

    def _time(self, then: datetime | None) -> str:
        if then is None:
            return ""
        if then not in self.times:
            self.times[then] = time_element(then, self.now)
        return self.times[then]

    def _links(self, run: Attempt, name: str) -> str:
        """`name` is escaped already."""
        own = f'<a href="{self.base}/run/{run.external_id}" aria-label="Run of {name}">Run</a>'
        address = web_link(run.html_url) if self.at_github else ""
        if not address:
            return own
        return f'{own} <a href="{escape(address)}" rel="noopener noreferrer" aria-label="{name} on GitHub">GitHub</a>'


def _origins(attempts: Sequence[Attempt]) -> str:
    words = ", ".join(attempt.origin for attempt in attempts[:_MOST_ORIGINS])
    more = len(attempts) - _MOST_ORIGINS
    return f"{words} and {more} more" if more > 0 else words
