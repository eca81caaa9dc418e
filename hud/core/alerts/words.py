"""The sentences of an alert: its title, its reason with the numbers."""

from collections.abc import Sequence

from hud.core.alerts.rules import BROKEN_STREAK, MASS_FAILURE, RuleSpec

_MOST_NAMES = 3


def listed(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Return names as part of a sentence: "a, b and 4 more"."""
    if len(names) <= most:
        return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else ""
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"


def title_of(spec: RuleSpec, jobs: Sequence[str], *, failing_commits: int, branch: str) -> str:
    """Return the alert in one line."""
    if spec.kind == MASS_FAILURE:
        return f"{len(jobs)} jobs red on {branch} for {commits(failing_commits)}: infrastructure?"
    if spec.kind == BROKEN_STREAK:
        return f"{listed(jobs)} broken on {branch} for {commits(failing_commits)}"
    return f"{listed(jobs) or branch}: {spec.kind.replace('_', ' ')} on {branch}"


def reason_of(spec: RuleSpec, *, jobs: int, failing_commits: int) -> str:
    """Return why it fires, with the numbers of the rule and of the case."""
    numbers = [
        f"Failure_Threshold={spec.threshold}",
        f"Number_of_Commits_Failing={failing_commits}",
        f"Number_of_Jobs_Failing={jobs}",
    ]
    if spec.kind == MASS_FAILURE:
        numbers.append(f"Job_Threshold={spec.min_jobs}")
    return ", ".join(numbers)
