"""Why a run exists: what a reader of a cell with several attempts wants to know first."""

_BY_EVENT = {
    "push": "push",
    "pull_request": "pull_request",
    "pull_request_target": "pull_request",
    "merge_group": "merge_queue",
    "schedule": "schedule",
    "workflow_dispatch": "restart",
    "repository_dispatch": "restart",
}


def origin_of(event: str, attempt: int, actor_is_bot: bool, *, app: bool = False) -> str:
    """Return the origin (a value of Run.Origin) of a run from its workflow run's event, attempt and actor."""
    if app:
        return "check"
    if attempt > 1:
        return "rerun_bot" if actor_is_bot else "rerun"
    return _BY_EVENT.get(event, "unknown")
