"""Reading GitHub's "not now" and "not you": both come as 403, and only one of them is worth waiting for.

After GitHub's guide (https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api):
`Retry-After` decides; else `x-ratelimit-reset` when nothing remains; else at least a minute, longer each time.
"""

import re
from email.utils import parsedate_to_datetime

import httpx

UNEXPLAINED_WAIT_S = 60.0
LONGEST_UNEXPLAINED_WAIT_S = 900.0
LONGEST_WAIT_S = 24 * 3600.0
_TRUSTED_SKEW_S = 3600.0

_LIMIT_PHRASE = re.compile(r"rate limit|abuse detection|too many requests", re.IGNORECASE)


def is_refusal_for_now(response: httpx.Response, message: str) -> bool:
    """Return whether a 403 or 429 is about how often, not about who."""
    if response.status_code == 429:
        return True
    if response.status_code != 403:
        return False
    # With nothing left everything is refused anyway; a 403 that is about permission comes again after the reset.
    nothing_left = response.headers.get("x-ratelimit-remaining") == "0"
    return nothing_left or "retry-after" in response.headers or bool(_LIMIT_PHRASE.search(message))


def stated_wait_s(response: httpx.Response, now_s: float) -> float | None:
    """Return the seconds to wait that the headers ask for, or None if they ask for none."""
    wait_s = retry_after_s(response, now_s)
    if wait_s is None and response.headers.get("x-ratelimit-remaining") == "0":
        wait_s = reset_in_s(response, now_s)
    return None if wait_s is None else min(max(wait_s, 1.0), LONGEST_WAIT_S)


def unexplained_wait_s(times_in_a_row: int) -> float:
    """Return the wait for a refusal that names no time: a minute, doubled each time in a row, at most 15 minutes."""
    return min(UNEXPLAINED_WAIT_S * 2.0 ** min(times_in_a_row - 1, 10), LONGEST_UNEXPLAINED_WAIT_S)


def retry_after_s(response: httpx.Response, now_s: float) -> float | None:
    """Return `Retry-After` in seconds; it may be a number or a date."""
    text = response.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}", text):
        return float(text)
    date_s = _http_date_s(text)
    return None if date_s is None else date_s - _server_now_s(response, now_s)


def reset_in_s(response: httpx.Response, now_s: float) -> float | None:
    """Return the seconds until the quota is renewed, by the server's clock where it tells the time.

    The header has whole seconds, so one is added: a request sent in the very second would be refused again.
    """
    text = response.headers.get("x-ratelimit-reset", "")
    if not re.fullmatch(r"\d{1,12}", text):
        return None
    return float(text) - _server_now_s(response, now_s) + 1.0


def _server_now_s(response: httpx.Response, now_s: float) -> float:
    server_s = _http_date_s(response.headers.get("date", ""))
    return now_s if server_s is None or abs(server_s - now_s) > _TRUSTED_SKEW_S else server_s


def _http_date_s(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
