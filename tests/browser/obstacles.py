"""What keeps people from reading a page: axe's finds, and a page that is wider than its window."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def wear(page: Page, scheme: str, width: int) -> None:
    """Look at pages in this colour scheme, this wide."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 844})


def obstacles(page: Page, name: str) -> list[str]:
    """A line for each obstacle of the page as it is, with all of it open that stays open beside others."""
    page.evaluate("document.querySelectorAll('details').forEach(d => { if (!d.name) d.open = true })")
    found = [f"{name}: {v['id']} {v['nodes'][0]['html'][:200]}" for v in Axe().run(page).response["violations"]]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        found.append(f"{name} is wider than its window")
    return found
