"""What can go wrong between HUD and GitHub. Every message is a sentence that says what to do, and holds no secret.

GitHubError
├── RateLimited            GitHub said wait: nothing goes out before `until`
│   └── BudgetSpent        HUD's own budget, or what must be left for people, is used up until `until`
├── Unavailable            network or GitHub broken, after retries: try again later
│   └── TimedOut           one of HUD's own time limits was hit: the message names it and its setting
├── Unauthorized           the token is wrong or expired
├── Forbidden              the token may not do this
├── NotFound               no such thing, or the token may not see it
│   └── LogGone            GitHub no longer has (or never had) the log
├── EmptyRepository        no commits yet
├── Rejected               GitHub does not accept the request
├── BadAnswer              the answer is not what the API promises
└── RedirectRefused        an answer points to a place that HUD will not ask
"""

from datetime import UTC, datetime


class GitHubError(Exception):
    """Base of all. `transient`: the same call may succeed later without anybody doing anything."""

    transient = False


class RateLimited(GitHubError):
    """Nothing may be sent before `until` (aware, UTC); reschedule the work for then."""

    transient = True

    def __init__(self, sentence: str, until_epoch_s: float) -> None:
        super().__init__(sentence)
        self.until = datetime.fromtimestamp(until_epoch_s, UTC)


class BudgetSpent(RateLimited):
    """Not GitHub's refusal but HUD's own restraint."""


class Unavailable(GitHubError):
    """`retry_after_s`: the least wait that the server asked for; 0 if it asked for none."""

    transient = True
    retry_after_s: float = 0.0


class TimedOut(Unavailable):
    pass


class Unauthorized(GitHubError):
    pass


class Forbidden(GitHubError):
    pass


class NotFound(GitHubError):
    pass


class LogGone(NotFound):
    pass


class EmptyRepository(GitHubError):
    transient = True


class Rejected(GitHubError):
    pass


class BadAnswer(GitHubError):
    transient = True


class RedirectRefused(GitHubError):
    pass
