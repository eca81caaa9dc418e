"""How a client is told to behave. Defaults are generous; every field has its setting, named beside it."""

import hashlib
import re
from dataclasses import dataclass, field

from hud.clients.outbound import normal_host

DEFAULT_LOG_HOSTS = ("*.blob.core.windows.net", "*.actions.githubusercontent.com", "*.githubusercontent.com")
"""Where GitHub keeps job logs, after its own list of domains (https://docs.github.com/rest/meta/meta)."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """In seconds. `total_s` covers one call with its retries, `log_s` one log from first to last byte."""

    connect_s: float = 10.0  # GITHUB_CONNECT_TIMEOUT_S
    read_s: float = 30.0  # GITHUB_READ_TIMEOUT_S
    total_s: float = 120.0  # GITHUB_TOTAL_TIMEOUT_S
    log_s: float = 900.0  # GITHUB_LOG_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Retries:
    """Waits before attempt n are random between 0 and min(cap_s, base_s * 2 ** n)."""

    attempts: int = 4  # GITHUB_ATTEMPTS
    base_s: float = 0.5
    cap_s: float = 20.0


@dataclass(frozen=True, slots=True)
class Budget:
    """Requests that may go out. `reserve` of them are kept for calls that a person waits for."""

    per_hour: int = 4500  # GITHUB_BUDGET_PER_HOUR
    reserve: int = 300  # GITHUB_BUDGET_RESERVE


@dataclass(frozen=True, slots=True)
class Options:
    """All that a client needs to know. `patience_s`: a wait up to this long is slept, a longer one is raised."""

    base_url: str = "https://api.github.com"  # GITHUB_API_URL
    token: str = field(default="", repr=False)  # GITHUB_TOKEN
    times: TimeLimits = TimeLimits()
    retries: Retries = Retries()
    budget: Budget = Budget()
    patience_s: float = 2.0  # GITHUB_PATIENCE_S
    max_answer_bytes: int = 64 * 1024 * 1024  # GITHUB_MAX_ANSWER_BYTES
    max_zip_bytes: int = 1024 * 1024 * 1024  # GITHUB_MAX_LOG_ZIP_BYTES
    log_hosts: tuple[str, ...] = DEFAULT_LOG_HOSTS  # LOG_HOSTS
    proxy: str | None = field(default=None, repr=False)  # OUTBOUND_PROXY
    ca_file: str | None = None  # OUTBOUND_CA_FILE

    def __post_init__(self) -> None:
        """Raise ValueError for what could never work; the token itself is not repeated."""
        if not re.match(r"https?://[^/\s@?#]+(/[^\s?#]*)?$", self.base_url):
            raise ValueError("GITHUB_API_URL must be an http(s) address without user name and query")
        if not re.fullmatch(r"[\x21-\x7e]*", self.token):
            raise ValueError("GITHUB_TOKEN has a blank, line end or non-ASCII character in it")

    @property
    def fingerprint(self) -> str:
        """Names the quota that requests are counted on: one server and one token. Tells nothing of the token."""
        return hashlib.sha256(f"hud\0{self.base_url}\0{self.token}".encode()).hexdigest()[:16]


def hosts_named(log_hosts: tuple[str, ...], api_host: str) -> list[str]:
    """Return the hosts that may serve logs from inside: those named without wildcard, and the API's own host.

    When the API itself is on this machine (a stub, a tunnel), its logs may come from any port of this machine.
    """
    named = [host for host in log_hosts if "*" not in host]
    own = normal_host(api_host)
    here = ["localhost", "127.0.0.1", "::1"]
    return [*named, own, *(here if own in here else [])]
