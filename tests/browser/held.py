"""Answers that are fetched at once and given to the page when the test says so: what was asked first may come last."""

from __future__ import annotations

import re
from contextlib import suppress

from playwright.sync_api import APIResponse, Error, Page, Route


class Held:
    """Holds the first answer to a question whose address the pattern finds; further ones pass."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page = page
        self._held: tuple[Route, APIResponse] | None = None
        self._pattern = re.compile(pattern)
        page.route(self._pattern, lambda route: self._take(route))

    def _take(self, route: Route) -> None:
        if self._held is None:
            self._held = (route, route.fetch())
        else:
            route.continue_()

    def wait(self) -> None:
        """Until the question has been asked and answered."""
        for _ in range(1000):
            if self._held is not None:
                return
            self._page.wait_for_timeout(20)
        raise AssertionError(f"nobody asked for {self._pattern.pattern}")

    def release(self) -> None:
        """Give the answer, whether the page still wants it or not, and time to do something with it."""
        assert self._held is not None
        route, answer = self._held
        with suppress(Error):  # the page has given the question up
            route.fulfill(response=answer)
        self._page.wait_for_timeout(300)
