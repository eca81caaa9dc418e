"""What a rule that is being typed finds in one log, at once: its lines, and the primary failure before and after.

Bounded in time and size; what was left out is said.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field

from classifier import Annotation, Engine, Failure, RuleSpec
from hud.clients.logstore import LogDamagedError, LogNotFoundError
from hud.core.rulelines import MatchedLine, RuleLines
from hud.core.runlink import read_run_link
from hud.models import Log, Run
from hud.services.engines import engine_for, ruleset_of, ruleset_with
from hud.services.logs import annotations_of, log_store

READ_BYTES = 24 * 1024 * 1024
READ_LIMIT_S = 2.5
"""How long one log is read for the lines, and again as long for what would be the cause."""
MOST_LINES = 40
LINE_BYTES = 64 * 1024
LONGEST_TEXT_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """What is read: a run's stored log and annotations, or pasted text. `trouble`: why there is nothing to read."""

    run: Run | None = None
    text: str = ""
    chosen: bool = False
    trouble: str = ""

    @property
    def is_pasted(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """A line that the pattern is in. `taker`: the rule that would take it; `place` 0 for an annotation."""

    line: MatchedLine
    taker: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """What the rule finds. `rank`: the place (from 1) of its best failure among `count`; 0 where it has none."""

    sample: Sample
    lines: tuple[PreviewLine, ...] = ()
    matched: int = 0
    lines_read: int = 0
    stopped_by: str = ""
    before: Failure | None = None
    after: Failure | None = None
    rank: int = 0
    count: int = 0

    @property
    def changes(self) -> bool:
        return self.before != self.after


def choose_sample(*, asked: str, text: str, repository_id: int | None) -> Sample:
    """Return the log to look at: pasted text, the run that was asked for, else the newest stored log."""
    if text.strip():
        if len(text.encode("utf-8", "replace")) > LONGEST_TEXT_BYTES:
            kib = LONGEST_TEXT_BYTES // 1024
            return Sample(chosen=True, trouble=f"The pasted text is longer than {kib} KiB. Paste less, or name a run.")
        return Sample(text=text.replace("\r\n", "\n"), chosen=True)
    runs = Run.objects.select_related("repository", "log")
    if not asked.strip():
        stored = runs.filter(log__status=Log.Status.STORED)
        stored = stored.filter(repository_id=repository_id) if repository_id else stored
        newest = stored.order_by("-log__id").first()
        return Sample(run=newest) if newest else Sample(trouble="No log is stored yet. Paste some lines of one.")
    link = read_run_link(asked)
    if link is None:
        return Sample(chosen=True, trouble="Name a run by its id, or by a link to its page here or at GitHub.")
    found = runs.filter(external_id=link.external_id)
    if link.owner:
        found = found.filter(repository__owner__iexact=link.owner, repository__name__iexact=link.name)
    run = found.order_by("-repository_id").first() if not repository_id else _of_repository(found, repository_id)
    if run is None:
        return Sample(chosen=True, trouble=f"HUD knows no run {link.external_id}. A run's id is GitHub's job id.")
    return Sample(run=run, chosen=True)


def _of_repository(found: Iterable[Run], repository_id: int) -> Run | None:
    """Return the repository's own run of this id before any other's."""
    return min(found, key=lambda run: run.repository_id != repository_id, default=None)


def preview_rule(
    *, spec: RuleSpec, enabled: bool, rule_id: int | None, repository_id: int | None, sample: Sample
) -> Preview:
    """Look at a log with and without the rule. Never raises for what the log is like."""
    if sample.trouble:
        return Preview(sample)
    read_as = sample.run.repository_id if sample.run else repository_id
    rules = ruleset_of(read_as)
    try:
        found = _Reading(sample, RuleLines(spec.pattern, rules, spec.captures))
        tried = None
        if found.matched or rule_id is not None:  # else the rule changes nothing, and needs no engine made for it
            without = ruleset_of(read_as, without=rule_id)
            with_it = ruleset_with(read_as, spec, own=repository_id is not None, without=rule_id)
            tried = engine_for(with_it if enabled else without)
        now = engine_for(rules)
        before, after = found.failures_by(now, tried or now)
    except (LogNotFoundError, LogDamagedError):
        return Preview(Sample(run=sample.run, chosen=True, trouble="The log store no longer has this log."))
    ranks = [rank for rank, failure in enumerate(after, 1) if failure.rule == spec.name and enabled]
    return Preview(
        sample=sample,
        lines=tuple(PreviewLine(line, _taker(tried, line)) for line in found.lines),
        matched=found.matched,
        lines_read=found.lines_read,
        stopped_by=found.stopped_by,
        before=before[0] if before else None,
        after=after[0] if after else None,
        rank=ranks[0] if ranks else 0,
        count=len(after),
    )


def _taker(engine: Engine | None, line: MatchedLine) -> str:
    """Return the rule that takes the line, of all that match it."""
    failures = engine.classify(line.text.encode(), everything=True).failures if engine else ()
    return failures[0].rule if failures else ""


@dataclass
class _Reading:
    """A log, read for the lines of one rule; how far it was read holds for all that follows."""

    sample: Sample
    rule: RuleLines
    lines: list[MatchedLine] = field(default_factory=list)
    matched: int = 0
    lines_read: int = 0
    stopped_by: str = ""
    _bytes_read: int = 0

    def __post_init__(self) -> None:
        deadline, rest = time.monotonic() + READ_LIMIT_S, b""
        with closing(_chunks_of(self.sample)) as chunks:
            for chunk in chunks:
                whole, newline, rest = (rest + chunk).rpartition(b"\n")
                rest = rest[:LINE_BYTES]  # of a line without an end its beginning is enough here
                self._look_at(whole + newline)
                self._bytes_read += len(chunk)
                self.stopped_by = self._why_stop(deadline)
                if self.stopped_by:
                    break
        self._look_at(rest)
        for annotation in self._annotations():
            for line in self.rule.lines_in(annotation.message.encode("utf-8", "replace"), 0):
                self._keep(MatchedLine(0, line.text, line.start, line.end, line.captures))

    def _look_at(self, raw: bytes) -> None:
        if raw:
            for line in self.rule.lines_in(raw, self.lines_read + 1):
                self._keep(line)
            self.lines_read += raw.count(b"\n") + (not raw.endswith(b"\n"))

    def _why_stop(self, deadline: float) -> str:
        if time.monotonic() > deadline:
            return f"after {READ_LIMIT_S:g} seconds"
        return f"after {READ_BYTES >> 20} MiB" if self._bytes_read >= READ_BYTES else ""

    def _keep(self, line: MatchedLine) -> None:
        self.matched += 1
        if len(self.lines) < MOST_LINES:
            self.lines.append(line)

    def _annotations(self) -> list[Annotation]:
        return annotations_of(self.sample.run) if self.sample.run else []

    def failures_by(self, *engines: Engine) -> tuple[tuple[Failure, ...], ...]:
        """Return what each engine finds in the same part of the log."""
        deadline, left = time.monotonic() + READ_LIMIT_S, self._bytes_read
        sessions = [engine.start() for engine in engines]
        with closing(_chunks_of(self.sample)) as chunks:
            for chunk in chunks:
                for session in sessions:
                    session.feed(chunk[:left])
                left -= len(chunk)
                if left > 0 and time.monotonic() > deadline:
                    self.stopped_by = f"after {READ_LIMIT_S:g} seconds"
                if left <= 0 or self.stopped_by:
                    break
        annotations = self._annotations()
        return tuple(session.finish(annotations).failures for session in sessions)


def _chunks_of(sample: Sample) -> Generator[bytes, None, None]:
    """Yield the log's bytes."""
    if sample.is_pasted:
        yield sample.text.encode("utf-8", "replace")
    elif sample.run is not None and _has_log(sample.run):
        yield from log_store().aligned(sample.run.log.key)


def _has_log(run: Run) -> bool:
    log: Log | None = getattr(run, "log", None)
    return log is not None and log.status == Log.Status.STORED
