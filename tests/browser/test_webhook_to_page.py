"""The whole way: a webhook posted by hand, a real worker, and a page that is open."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, expect

from hud.core.github import facts_of
from hud.services.ingest import apply_facts
from hud.services.repositories import ensure_repository
from tests.browser.serving import asgi_url
from tests.fakes.cases import sign
from tests.services.payloads import FULL_NAME, commit, event, job, push, sha

__all__ = ["asgi_url"]
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def _post(url: str, kind: str, payload: dict[str, object], delivery: str) -> int:
    body = json.dumps(payload).encode()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": kind,
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": sign(body),
    }
    return httpx.post(f"{url}/hooks/github", content=body, headers=headers).status_code


def test_a_webhook_turns_a_cell_red_on_an_open_page_without_a_reload(
    asgi_url: str, page: Page, start_worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    facts = facts_of("rest.commits", {"items": [commit("c2", "c1"), commit("c1")]})
    facts.extend(facts_of("push", push("c1", "c2")))
    facts.extend(facts_of(*event("workflow_job", job(1, 901, "c1", "unit"))))
    apply_facts(repository=repository, facts=facts)
    start_worker()
    page.goto(f"{asgi_url}/{FULL_NAME}/main?group=off")
    page.evaluate("window.stays = true")
    red = page.locator(f"[data-sha='{sha('c2')}'] [data-cell][data-state='failure']")
    expect(red).to_have_count(0)
    _, payload = event("workflow_job", job(2, 902, "c2", "unit", conclusion="failure"))
    assert _post(asgi_url, "workflow_job", payload, "d-1") == 202
    expect(red).to_have_count(1, timeout=15_000)
    _, payload = event("push", push("c2", "c3"))
    assert _post(asgi_url, "push", payload, "d-2") == 202
    expect(page.locator(f"[data-sha='{sha('c3')}']")).to_have_count(1, timeout=15_000)
    assert page.evaluate("window.stays")
