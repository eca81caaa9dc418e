"""The merge gate's answer as plain data: the same for the API and for the check run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from classifier.verdict import Since
from hud.queries.pull import PullJob, PullState


def gate_facts(state: PullState, address_of: Callable[[str], str]) -> dict[str, Any]:
    """The gate's answer as plain data. `address_of` makes an address of a path below the repository."""
    jobs = {job.name: job for job in state.jobs}
    return {
        "may_merge": state.may_merge,
        "reason": state.reason,
        "blocking": [_job_out(state, jobs[name], address_of) for name in state.gate.blocking],
        "excused": [_job_out(state, jobs[name], address_of) for name in state.gate.excused],
        "excused_count": len(state.gate.excused),
        "max_excused": state.gate.max_excused,
        "pending": list(state.pending),
    }


def since_out(since: Since | None) -> dict[str, Any] | None:
    """Since when trunk has a failure, as plain data; None where that is not known."""
    return {"commit": since.commit, "is_first": since.is_first} if since else None


def _job_out(state: PullState, job: PullJob, address_of: Callable[[str], str]) -> dict[str, Any]:
    answer = job.answer
    return {
        "job": job.name,
        "verdict": answer.label if answer else "",
        "reason": answer.reason if answer else "",
        "action": answer.action if answer else "",
        "confidence": answer.confidence if answer else 0.0,
        "labelled_by": job.by,
        "since": since_out(answer.since) if answer else None,
        "run": job.run,
        "url": address_of(f"-/why/{state.sha}/{job.column}"),
    }
