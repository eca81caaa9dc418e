"""One request to GitHub's API: let out by the shared limits, retried, conditional, and its errors named."""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import orjson

from hud.clients.github import errors, refusals
from hud.clients.github.answers import Answers, KeptAnswer, answer_key
from hud.clients.github.limits import Limits, Refusal
from hud.clients.github.options import Options
from hud.clients.outbound import tls_context
from hud.core.wholenumber import whole_number

logger = logging.getLogger(__name__)

Params = dict[str, str | int]

_MOVED = frozenset({301, 302, 307, 308})
_MOST_HOPS = 3
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "hud-ci"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer. `unchanged`: GitHub said 304 and `data` is the kept one. `moved`: it came by a 301 or 308."""

    data: Any
    next_url: str | None = None
    unchanged: bool = False
    moved: bool = False


class Api:
    """Sends requests with one set of options. Safe to share between threads; close it when done."""

    def __init__(
        self,
        options: Options,
        limits: Limits,
        answers: Answers,
        *,
        interactive: bool = False,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`interactive`: a person waits for the answer, so the reserve of the budget may be used."""
        self.options = options
        self.clock = clock
        self.sleep = sleep
        self._limits = limits
        self._answers = answers
        self._interactive = interactive
        self._jitter = jitter
        self._base = urlsplit(options.base_url.rstrip("/"))
        times = options.times
        self.timeout = httpx.Timeout(times.read_s, connect=times.connect_s)
        self.tls = tls_context(options.ca_file)
        transport = httpx.HTTPTransport(verify=self.tls, proxy=options.proxy, trust_env=False)
        self._http = httpx.Client(transport=transport, timeout=self.timeout, follow_redirects=False, trust_env=False)

    @property
    def host(self) -> str:
        return self._base.hostname or ""

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, params: Params | None = None, *, conditional: bool = False) -> Answer:
        """Return the answer to GET `path` (below the API's address), following moves on the API's host.

        `conditional`: ask only for what changed since the kept answer. Raises GitHubError.
        """
        return self.get_url(self.url(path, params), conditional=conditional)

    def get_url(self, url: str, *, conditional: bool = False) -> Answer:
        """Like `get`, for an address from a Link header: only its path and query are used, the host is ours."""
        url = self._on_our_host(url)
        key = answer_key(self.options.fingerprint, url)
        kept = self._answers.get(key) if conditional else None
        deadline_s = self.clock() + self.options.times.total_s
        attempt = 0
        while True:
            try:
                answer = self._follow(url, kept, deadline_s)
                break
            except errors.Unavailable as failure:
                attempt += 1
                self._wait_or_give_up(failure, attempt, deadline_s)
        response, body, moved = answer
        if response.status_code == 304 and kept is not None:
            return self._answer(kept.body, kept.link, unchanged=True, moved=moved)
        link = response.headers.get("link", "")
        etag, last_modified = response.headers.get("etag", ""), response.headers.get("last-modified", "")
        good = self._answer(body, link, unchanged=False, moved=moved)
        if conditional and (etag or last_modified):
            self._answers.put(key, KeptAnswer(etag, last_modified, link, body))
        return good

    def send(self, method: str, path: str, data: dict[str, Any]) -> Answer:
        """Send `data` as JSON with POST or PATCH to `path`, once: after a lost answer nobody knows what was written,
        so whoever asked looks before it asks again. Raises GitHubError.
        """
        url = self.url(path)
        deadline_s = self.clock() + self.options.times.total_s
        self._pass_gate()
        headers = self._headers() | {"Content-Type": "application/json"}
        body = orjson.dumps(data)
        with self._connected(), self._http.stream(method, url, headers=headers, content=body) as response:
            self._http.cookies.clear()
            self._note_quota(response)
            answer = self.read_within(response, deadline_s)
        self.judge(response, answer, url)
        return self._answer(answer, "", unchanged=False, moved=False)

    def url(self, path: str, params: Params | None = None) -> str:
        """Return the address of `path` below the API's address."""
        query = str(httpx.QueryParams(params or {}))
        return urlunsplit((self._base.scheme, self._base.netloc, self._base.path + path, query, ""))

    def is_ours(self, url: str) -> bool:
        """Return whether `url` is on the API's own scheme, host and port: only there the token may go."""
        ours, theirs = httpx.URL(self.options.base_url), httpx.URL(url)
        return (ours.scheme, ours.host, ours.port) == (theirs.scheme, theirs.host, theirs.port)

    @contextmanager
    def open(self, url: str, headers: dict[str, str] | None = None) -> Iterator[httpx.Response]:
        """Send one GET with the token and yield the answer unread, after the shared limits let it out.

        Raises RateLimited, Unavailable; other statuses are the caller's to judge.
        """
        self._pass_gate()
        with self._connected(), self._http.stream("GET", url, headers=self._headers() | (headers or {})) as response:
            self._http.cookies.clear()
            self._note_quota(response)
            yield response

    def judge(self, response: httpx.Response, body: bytes, url: str) -> None:
        """Raise the error that a bad `response` stands for; return for a good one."""
        status = response.status_code
        if status in (200, 201, 304):
            return
        message = _message_of(body)
        where = urlsplit(url).path
        if refusals.is_refusal_for_now(response, message):
            raise self._limited(response, message)
        error = error_for(status, message, where, has_token=bool(self.options.token))
        if isinstance(error, errors.Unavailable):
            error.retry_after_s = refusals.retry_after_s(response, self.clock()) or 0.0
        raise error

    def read_within(self, response: httpx.Response, deadline_s: float) -> bytes:
        """Return the whole body, bounded in size and time."""
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > self.options.max_answer_bytes:
                raise errors.BadAnswer(
                    f"GitHub's answer is larger than {self.options.max_answer_bytes} bytes (GITHUB_MAX_ANSWER_BYTES)"
                )
            if self.clock() > deadline_s:
                raise self.out_of_time("total_s", "GITHUB_TOTAL_TIMEOUT_S")
        return bytes(body)

    def out_of_time(self, limit: str, setting: str) -> errors.TimedOut:
        seconds = getattr(self.options.times, limit)
        return errors.TimedOut(f"{self.host} took longer than {seconds:g} s in all ({setting} raises the limit)")

    def back_off_s(self, attempt: int) -> float:
        """Return a random wait before `attempt` (1 = first retry): full jitter under exponential growth."""
        retries = self.options.retries
        return self._jitter() * min(retries.cap_s, retries.base_s * 2.0**attempt)

    def _follow(self, url: str, kept: KeptAnswer | None, deadline_s: float) -> tuple[httpx.Response, bytes, bool]:
        moved = False
        for _ in range(_MOST_HOPS + 1):
            with self.open(url, kept.validators() if kept else None) as response:
                body = self.read_within(response, deadline_s)
            if response.status_code == 304 and self.options.token:
                self._limits.refund()
            if response.status_code not in _MOVED:
                self.judge(response, body, url)
                return response, body, moved
            moved = moved or response.status_code in (301, 308)
            url = self.hop(url, response)
        raise errors.RedirectRefused(f"GitHub redirected more than {_MOST_HOPS} times")

    def hop(self, url: str, response: httpx.Response) -> str:
        """Return where a redirect of the API leads; only its own host is followed, as the token goes along."""
        try:
            target = str(httpx.URL(url).join(response.headers.get("location", "")))
            ours = self.is_ours(target)
        except httpx.InvalidURL:
            ours = False
        if not ours or not response.headers.get("location"):
            raise errors.RedirectRefused("the API redirected to another host, which HUD does not follow")
        return target

    def _headers(self) -> dict[str, str]:
        token = self.options.token
        return _HEADERS | ({"Authorization": f"Bearer {token}"} if token else {})

    def _on_our_host(self, url: str) -> str:
        parts = urlsplit(url)
        return urlunsplit((self._base.scheme, self._base.netloc, parts.path, parts.query, ""))

    def _pass_gate(self) -> None:
        refusal = self._limits.admit(interactive=self._interactive)
        if refusal is not None and not refusal.own and refusal.wait_s <= self.options.patience_s:
            self.sleep(refusal.wait_s)
            refusal = self._limits.admit(interactive=self._interactive)
        if refusal is not None:
            raise self._refused(refusal)

    def _refused(self, refusal: Refusal) -> errors.RateLimited:
        kind = errors.BudgetSpent if refusal.own else errors.RateLimited
        return kind(refusal.reason, self.clock() + refusal.wait_s)

    def _limited(self, response: httpx.Response, message: str) -> errors.RateLimited:
        now_s = self.clock()
        wait_s = refusals.stated_wait_s(response, now_s)
        if wait_s is None:
            wait_s = refusals.unexplained_wait_s(self._limits.count_unexplained())
        reason = f"GitHub refuses requests for now: {message or response.status_code}"
        self._limits.close_for(wait_s, reason)
        logger.warning("%s; nothing is sent for %.0f s", reason, wait_s)
        return errors.RateLimited(reason, now_s + wait_s)

    def _note_quota(self, response: httpx.Response) -> None:
        headers = response.headers
        limit = whole_number(headers.get("x-ratelimit-limit", ""))
        remaining = whole_number(headers.get("x-ratelimit-remaining", ""))
        reset_in_s = refusals.reset_in_s(response, self.clock())
        other_quota = headers.get("x-ratelimit-resource", "core") != "core"
        if other_quota or reset_in_s is None or remaining is None:
            return
        if limit is not None:
            self._limits.note_quota(limit, remaining, reset_in_s)
        if remaining == 0 and response.status_code < 400:
            self._limits.close_for(reset_in_s, "GitHub's quota of this hour is used up")

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Turn what the network does wrong into sentences. Only plain causes are repeated: no header, no address."""
        times = self.options.times
        try:
            yield
        except httpx.ConnectTimeout:
            raise errors.TimedOut(
                f"connecting to {self.host} took longer than {times.connect_s:g} s (GITHUB_CONNECT_TIMEOUT_S)"
            ) from None
        except httpx.TimeoutException:
            raise errors.TimedOut(
                f"{self.host} sent nothing for {times.read_s:g} s (GITHUB_READ_TIMEOUT_S raises the limit)"
            ) from None
        except httpx.ConnectError as error:
            raise errors.Unavailable(f"{self.host} cannot be reached: {error}") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise errors.Unavailable(f"the connection to {self.host} broke ({type(error).__name__})") from None

    def _wait_or_give_up(self, failure: errors.Unavailable, attempt: int, deadline_s: float) -> None:
        wait_s = max(self.back_off_s(attempt), failure.retry_after_s)
        if attempt >= self.options.retries.attempts or self.clock() + wait_s > deadline_s:
            raise failure
        logger.info("%s; trying again in %.1f s", failure, wait_s)
        self.sleep(wait_s)

    def _answer(self, body: bytes, link: str, *, unchanged: bool, moved: bool) -> Answer:
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise errors.BadAnswer(
                f"{self.host} answered with something other than JSON; is GITHUB_API_URL the address of an API?"
            ) from None
        return replace(Answer(data), next_url=next_link(link), unchanged=unchanged, moved=moved)


def next_link(header: str) -> str | None:
    """Return the address with rel="next" of a Link header (RFC 8288, as GitHub writes it), or None."""
    return httpx.Response(200, headers={"Link": header}).links.get("next", {}).get("url") if header else None


def error_for(status: int, message: str, where: str, *, has_token: bool) -> errors.GitHubError:
    """Return the error that stands for a bad status."""
    said = f" ({message})" if message else ""
    hint = "" if has_token else "; no GITHUB_TOKEN is set"
    if status == 401:
        return errors.Unauthorized(f"GitHub does not accept the token{said}; renew GITHUB_TOKEN")
    if status in (403, 451):
        return errors.Forbidden(f"GitHub does not permit {where}{said}; check what the token may do{hint}")
    if status in (404, 410):
        return errors.NotFound(f"GitHub has no {where}, or the token may not see it{said}{hint}")
    if status == 409:
        return errors.EmptyRepository(f"GitHub has nothing yet at {where}{said}")
    if status >= 500 or status == 408:
        return errors.Unavailable(f"GitHub is not well: it answered {status} for {where}{said}")
    return errors.Rejected(f"GitHub does not accept the request for {where}: {status}{said}")


def _message_of(body: bytes) -> str:
    """Return GitHub's own words from an error's body, on one line, bounded, without full stop; "" if there are none."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    message = data.get("message") if isinstance(data, dict) else None
    return " ".join(message.split())[:200].rstrip(".") if isinstance(message, str) else ""
