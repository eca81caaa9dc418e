"""The words of the audit trail: what a person can change, as stored and as people read it."""

WORDS = {
    "repository.followed": "followed the repository",
    "repository.unfollowed": "stopped following the repository",
    "branch.tracked": "tracked another branch",
    "branch.untracked": "stopped tracking the branch",
    "webhook_secret.shown": "looked at the webhook secret",
    "inbox.retried": "had inbox items tried again",
    "inbox.dismissed": "dismissed the inbox item",
    "groups.changed": "changed the group rules",
    "groups.reset": "put the groups back to their default",
}


def action_words(what: str) -> str:
    """Return the action as part of a sentence; the stored word where this version does not know it."""
    return WORDS.get(what, what)
