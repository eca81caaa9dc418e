"""The words of the audit trail: what a person can change, as stored and as people read it."""

WORDS = {
    "repository.followed": "followed",
    "repository.unfollowed": "stopped following",
    "branch.tracked": "tracked another branch of",
    "branch.untracked": "stopped tracking a branch of",
    "webhook_secret.shown": "looked at the webhook secret",
    "inbox.retried": "tried again",
    "inbox.dismissed": "dismissed",
    "groups.changed": "changed the groups of",
    "rule.created": "wrote the",
    "rule.changed": "changed the",
    "rule.undone": "took back changes of the",
    "rule.switched_on": "switched on the",
    "rule.switched_off": "switched off the",
    "groups.reset": "put back the default groups of",
    "alert_rule.made": "made the alert rule",
    "alert_rule.changed": "changed the alert rule",
    "alert_rule.undone": "took back changes of the alert rule",
    "alert_rule.switched_on": "switched on the alert rule",
    "alert_rule.switched_off": "switched off the alert rule",
    "alert.acknowledged": "acknowledged",
    "alert.unacknowledged": "took back the acknowledgement of",
    "silence.made": "made",
    "silence.changed": "changed",
    "silence.expired": "ended",
    "authors.changed": "changed whether HUD writes to authors of commits of",
    "notice.posted": "posted",
    "notice.changed": "changed",
    "notice.ended": "ended",
    "target.made": "made the",
    "target.changed": "changed the",
    "target.tested": "sent a test message to",
    "verdict.labelled": "labelled",
    "verdict.unlabelled": "took back the label of",
    "jobs.changed": "changed what is declared about jobs of",
    "reporting.changed": "changed whether HUD writes to pull requests of",
    "pull.force_merged": "forced the merge of",
    "api_token.made": "made",
    "api_token.revoked": "revoked",
}


def action_words(what: str) -> str:
    """Return the action as it stands between who and target; the stored word where this version does not know it."""
    return WORDS.get(what, what)
