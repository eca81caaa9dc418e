"""What every test may ask for: a real database, a real broker, a real worker, a real browser, a fixed time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests import servers as test_servers

if TYPE_CHECKING:
    import redis
    from playwright.sync_api import Browser, BrowserContext, Page

CHECKOUT = Path(__file__).resolve().parent.parent
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
OVERTAKEN = ("htmx:afterRequest", "htmx:sendAbort")
"""What htmx says of a question that was dropped because a newer one counts."""
# Chromium loads three pages of its own address bar for each new window, which costs more than most tests do. The last
# list counts, so that it begins with what Playwright switches off.
SWITCHED_OFF = (
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints"),
    *("NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"),
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
)
CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(SWITCHED_OFF)}",
]


# A busy machine is no fault of a property: how long an example takes decides nothing.
settings.register_profile("hud", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hud")


# ── Servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="session")
def servers() -> test_servers.ServerUrls:
    """The run's PostgreSQL and Valkey, started when first asked for. Tests marked `django_db` get it by themselves."""
    return test_servers.start()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: test_servers.ServerUrls) -> None:
    """pytest-django asks for this before it creates the test database."""


@pytest.fixture
def broker(servers: test_servers.ServerUrls) -> Iterator[redis.Redis]:
    """The real Valkey, emptied before and after the test."""
    import redis

    with redis.Redis.from_url(str(servers.redis_url)) as client:
        client.flushall()
        yield client
        client.flushall()


@pytest.fixture(autouse=True)
def _no_cache_between_tests(request: pytest.FixtureRequest) -> None:
    """Pages may cache in Valkey: a test with a database starts with an empty one."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None or {"db", "transactional_db", "live_server"} & set(request.fixturenames):
        test_servers.start()
        from django.core.cache import cache

        cache.clear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pages come last: Playwright's loop stays open in this thread, and no other test could start one of its own."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


# ── Recorded data ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded real data beside the checkout; skips where it is absent."""
    folder = Path(os.environ.get("HUD_SHARED") or CHECKOUT.parent / "shared") / "data"
    if not folder.is_dir():
        pytest.skip(f"the recorded data is not here ({folder}); set HUD_SHARED to the folder that holds data/")
    return folder


# ── Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def now() -> Iterator[datetime]:
    """It is noon on 2026-11-30 UTC, and stays so for the whole test."""
    import time_machine

    with time_machine.travel(NOW, tick=False):
        yield NOW


def wait_for(condition: Callable[[], object], what: str, limit_s: float = 30.0) -> None:
    """Wait until another process has made `condition` true; fail with `what` when `limit_s` passed."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"after {limit_s:g} s still not so: {what}")
        time.sleep(0.05)


# ── Worker ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def worker_environment() -> dict[str, str]:
    """The environment in which another process works on the test database."""
    from django.db import connection

    database = connection.settings_dict["NAME"]
    url = test_servers.VARIABLES["DATABASE_URL"].replace("/hud?", f"/{database}?")
    return {**os.environ, **test_servers.VARIABLES, "DATABASE_URL": url}


@pytest.fixture
def start_worker(
    transactional_db: None, broker: redis.Redis, tmp_path: Path
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start real Celery workers on the test database; each is ready when the call returns, and ended after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, name: str = "w", app: str = "hud.celery", **variables: str) -> subprocess.Popen[bytes]:
        log_path = tmp_path / f"{name}.log"
        command = [sys.executable, "-m", "celery", "-A", app, "worker", "-n", f"{name}@test"]
        command += [
            "-Q",
            "ingest,poll,work,notify",
            "--without-gossip",
            "--without-mingle",
            *(arguments or ("--concurrency", "1")),
        ]
        with log_path.open("wb") as log:
            worker = subprocess.Popen(
                command, cwd=CHECKOUT, env={**worker_environment(), **variables}, stdout=log, stderr=log
            )
        started.append(worker)

        def answers() -> bool:
            if worker.poll() is not None:
                pytest.fail(f"the worker ended:\n{log_path.read_text()[-3000:]}")
            return broker.zscore("hud:workers", f"{name}@test") is not None

        # A start is some seconds of processor time, which others may want too.
        wait_for(answers, "the worker beats", limit_s=90)
        return worker

    yield start
    for worker in started:
        if worker.poll() is None:
            worker.terminate()
    for worker in started:
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


@pytest.fixture
def celery_worker_process(start_worker: Callable[..., subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """One real worker with one process."""
    return start_worker()


# ── Browser ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Chromium through Playwright: the system's where present, else Playwright's own."""
    from playwright.sync_api import expect, sync_playwright

    # How fast pages are is measured in bench/; a busy machine is no fault of a page.
    expect.set_options(timeout=20_000)
    # Playwright's loop runs in this thread; Django would refuse the ORM beside it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    path = next(
        (p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome") if Path(p).exists()),
        None,
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A fresh page that fails the test when the console shows an error, a script throws or something does not load.

    `page.expected_errors` (a list of texts) names those that the test itself provokes.
    """
    with _context(chromium, viewport={"width": 1280, "height": 800}, reduced_motion="reduce") as context:
        yield from _watched(context.new_page())


@pytest.fixture
def without_scripts(chromium: Browser) -> Iterator[Page]:
    """A fresh page that runs no script, and is watched like `page`."""
    with _context(chromium, java_script_enabled=False) as context:
        yield from _watched(context.new_page())


@contextmanager
def _context(chromium: Browser, **options: Any) -> Iterator[BrowserContext]:
    """Keep a browser context. A test that set a page going elsewhere waits for it: Chromium forgets a close that comes
    while a page is being exchanged, and Playwright would wait for that close for ever (crbug.com/536385539)."""
    from playwright.sync_api import Error

    context = chromium.new_context(**options)
    try:
        yield context
    finally:
        for opened in context.pages:
            with suppress(Error):
                opened.wait_for_load_state(timeout=10_000)
        context.close()


def _watched(opened: Page) -> Iterator[Page]:
    errors: list[str] = []
    opened.expected_errors = []  # type: ignore[attr-defined]
    opened.on("pageerror", lambda error: errors.append(f"script error: {error}"))
    opened.on(
        "console",
        lambda message: (
            errors.append(f"console: {message.text}")
            if message.type == "error" and not message.text.startswith(OVERTAKEN)
            else None
        ),
    )
    opened.on(
        "requestfailed",
        lambda request: (
            None
            if "ABORTED" in (request.failure or "")
            else errors.append(f"not loaded: {request.url} {request.failure}")
        ),
    )
    yield opened
    expected: list[str] = opened.expected_errors  # type: ignore[attr-defined]
    unexpected = [error for error in errors if not any(text in error for text in expected)]
    assert not unexpected, "\n".join(unexpected)
