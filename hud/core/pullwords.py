"""The one sentence on top of a pull request's page, comment and check run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from classifier.verdict import Since

GROUPS = ("yours", "unknown", "infra", "flaky", "broken_trunk", "unstable", "cancelled", "pending")
"""In the order of the page: what asks most of the reader comes first."""

TITLES = {
    "yours": "Yours: fix or revert",
    "unknown": "Unknown: somebody has to look",
    "infra": "Infrastructure: rerun",
    "flaky": "Flaky: not your change",
    "broken_trunk": "Broken on trunk: not your change",
    "unstable": "Unstable: nobody waits for these",
    "cancelled": "Cancelled: no signal",
    "pending": "Not done yet",
}
GROUP_OF = {
    "regression": "yours",
    "unknown": "unknown",
    "infra": "infra",
    "flaky": "flaky",
    "broken_trunk": "broken_trunk",
    "unstable": "unstable",
    "cancelled": "cancelled",
}


# group -> what is said of one, of several; "{since}" is filled in, with a blank before it.
_PHRASES = {
    "yours": ("is yours", "are yours"),
    "unknown": ("is of unknown cause", "are of unknown cause"),
    "broken_trunk": ("was broken on trunk{since}", "were broken on trunk{since}"),
    "infra": ("needs a rerun", "need a rerun"),
    "flaky": ("is flaky", "are flaky"),
    "unstable": ("is of an unstable job", "are of unstable jobs"),
    "cancelled": ("was cancelled", "were cancelled"),
}


def since_words(found: Collection[Since | None], trunks: Iterable[Mapping[str, int]] = ()) -> str:
    """Return since when trunk has these failures, one entry for each: "since 41f3c2a", "since 41f3c2a at the latest",
    or "(the oldest since 41f3c2a)"; "" where that is not known of all.

    `trunks`: for each branch sha -> place; asked only where several commits are named, of the first that has them all.
    """
    known = {since for since in found if since is not None}
    commits = {since.commit for since in known}
    if not known or None in found:
        return ""
    # One of which only "at the latest" is known may be older than the oldest that is named.
    is_first = all(since.is_first for since in known)
    if len(commits) == 1:
        (commit,) = commits
        return Since(commit, is_first).words(commit[:7])
    places = next((places for places in trunks if commits <= places.keys()), None)
    if places is None:
        return ""
    oldest = min(commits, key=lambda sha: places[sha])
    return f"(the oldest {Since(oldest, is_first).words(oldest[:7])})"


def sentence(counts: Mapping[str, int], passed: int, since: str = "", workflows: int = 0, unexplained: int = 0) -> str:
    """Return "2 failures are yours, 1 was broken on trunk since 41f3c2a, 3 need a rerun."

    `counts`: group -> jobs; `passed`: jobs that passed; `since`: `since_words` of those that trunk broke; `workflows`:
    those that have not ended; `unexplained`: those that did not succeed, by a job that is not known.
    """
    told = [(group, counts[group]) for group in _PHRASES if counts.get(group)]
    still = _still(counts.get("pending", 0), workflows, unexplained)
    if not told:
        return _quiet(still, passed)
    parts: list[str] = []
    for group, number in told:
        phrase = _PHRASES[group][number > 1].format(since=f" {since}" if since else "")
        noun = ("" if parts else " job" if group == "cancelled" else " failure") + (
            "s" if not parts and number > 1 else ""
        )
        parts.append(f"{number}{noun} {phrase}")
    return f"{', '.join([*parts, *still])}."


def _quiet(still: Sequence[str], passed: int) -> str:
    if still:
        return f"Nothing failed so far; {', '.join(still)}."
    return f"Nothing failed: {passed} {'job' if passed == 1 else 'jobs'} passed." if passed else "No job has run yet."


def _still(jobs: int, workflows: int, unexplained: int) -> list[str]:
    found = [f"{jobs} {'job is' if jobs == 1 else 'jobs are'} not done yet"] if jobs else []
    if workflows:
        found.append(f"{workflows} {'workflow has' if workflows == 1 else 'workflows have'} not ended yet")
    if unexplained:
        noun = "workflow" if unexplained == 1 else "workflows"
        found.append(f"{unexplained} {noun} did not succeed, by a job not known yet")
    return found
