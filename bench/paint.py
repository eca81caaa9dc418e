"""What a reader waits for, in Chromium: the grid painted, a filter's answer painted, bytes of a first visit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.grid import SIZES, big_store, path_of
from bench.processes import web_server
from bench.report import Report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SAMPLES = 7
WINDOW_MS = 2000
"""How long a new window is left alone: Chromium loads the pages of its own address bar for most of this time, on the
processors that are to paint ours. A reader's window is open already."""
BUDGET_PAINT_MS = {300: 450.0, 1500: 700.0}
BUDGET_FILTER_MS = {300: 100.0, 1500: 200.0}
BUDGET_VISIT_KB = {300: 150.0, 1500: 200.0}
# Times come from the page's own clock: from the start of the navigation to two frames after all rows are there.
_TWO_FRAMES = (
    "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
)
_TYPE = """text => new Promise(done => {
  const box = document.querySelector("input[name=filter]");
  const begun = performance.now();
  document.addEventListener("htmx:afterSwap", () => requestAnimationFrame(() => requestAnimationFrame(
    () => done(performance.now() - begun))), { once: true });
  box.focus();
  box.value = text;
  box.dispatchEvent(new InputEvent("input", { bubbles: true, data: text }));
})"""


def run() -> Report:
    """Load the full grid afresh, then type a filter into it."""
    from django.conf import settings
    from django.core.management import call_command

    report = Report("paint")
    call_command("collectstatic", interactive=False, verbosity=0)  # as `make run` does: small files, compressed
    log = Path(settings.DATA_DIR) / "bench-logs" / "web.log"
    with big_store() as url, web_server(url, log) as (address, _), _chromium() as browser:
        report.facts["browser"] = browser.version
        floor = _blank_ms(browser, address)
        report.add("painted, a page of one line", floor, "ms")
        for jobs in SIZES:
            _measure(report, browser, address, jobs, floor)
    return report


def _blank_ms(browser: Browser, address: str) -> float:
    """What this browser on this machine takes for next to nothing: a connection, a page's process, two frames."""
    taken = []
    for _ in range(SAMPLES):
        with _page(browser) as page:
            page.goto(address + "/health", wait_until="domcontentloaded")
            taken.append(page.evaluate(_TWO_FRAMES))
    return float(median(taken))


def _measure(report: Report, browser: Browser, address: str, jobs: int, floor: float) -> None:
    painted, typed = [], []
    for _ in range(SAMPLES):
        with _page(browser) as page:
            page.goto(address + path_of(jobs, "full"), wait_until="domcontentloaded")
            painted.append(page.evaluate(_TWO_FRAMES))
            page.wait_for_load_state("load")
            page.wait_for_timeout(300)
            typed.append(page.evaluate(_TYPE, "default"))
    counted = _counted(browser, address, jobs)
    name = f"50 × {jobs}"
    report.add(f"painted, full {name}", median(painted), "ms", budget=BUDGET_PAINT_MS[jobs], floor=floor)
    report.add(f"painted, full {name}, of it the page's processor time", counted.busy_ms, "ms")
    report.add(f"filter typed → painted, {name}", median(typed), "ms", budget=BUDGET_FILTER_MS[jobs], floor=floor)
    report.add(f"first visit, {name}", counted.visit_kb, "kB", budget=BUDGET_VISIT_KB[jobs])
    report.add(f"elements, {name}", counted.elements, "")


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a first visit brings over the wire, holds and costs the page's main thread (processor time)."""

    visit_kb: float
    elements: int
    busy_ms: float


def _counted(browser: Browser, address: str, jobs: int) -> _Counted:
    """Visit once more, under the browser's own instruments: these cost time that no reader waits for."""
    with _page(browser) as page:
        received: list[float] = []

        def count(event: dict[str, Any]) -> None:
            received.append(event["encodedDataLength"])

        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        session.on("Network.loadingFinished", count)
        page.goto(address + path_of(jobs, "full"), wait_until="domcontentloaded")
        page.evaluate(_TWO_FRAMES)
        metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
        page.wait_for_load_state("load")
        elements = page.evaluate("() => document.querySelectorAll('*').length")
        return _Counted(sum(received) / 1000, elements, float(metrics["TaskDuration"]) * 1000)


@contextmanager
def _chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright's loop runs in this thread
    found = [path for path in ("/usr/bin/chromium", "/usr/bin/google-chrome") if Path(path).exists()]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0] if found else None, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def _page(browser: Browser) -> Iterator[Page]:
    """A page of a fresh visitor, in a window that has come to rest."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    try:
        page = context.new_page()
        page.wait_for_timeout(WINDOW_MS)
        yield page
    finally:
        context.close()
