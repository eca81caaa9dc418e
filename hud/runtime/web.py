"""Runs the web server on the address that the variables name."""

from __future__ import annotations

import os

import uvicorn

from hud.runtime.plan import read_plan


def main() -> None:
    plan = read_plan({name: value for name, value in os.environ.items() if name not in {"REPO", "BRANCH", "REPLAY"}})
    uvicorn.run(
        "hud.asgi:application",
        host=plan.bind,
        port=plan.port,
        workers=plan.web_processes,
        lifespan="off",
        log_config=None,  # HUD's own logging, which knows the secrets
        access_log=False,
        server_header=False,
        proxy_headers=False,  # TLS_PROXY decides what is believed
        timeout_graceful_shutdown=3,  # an open live stream would otherwise hold the stop
    )


if __name__ == "__main__":
    main()
