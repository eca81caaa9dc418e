"""HUD under its real kind of web server, for pages that keep a stream open: `live_server` of pytest-django cannot."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import redis
import uvicorn
from django.db import connections

from tests.conftest import wait_for


@pytest.fixture
def asgi_url(transactional_db: None, broker: redis.Redis) -> Iterator[str]:
    """The address of a uvicorn in this process, on the test database and the test broker."""
    from hud.asgi import application

    kept_s = connections.settings["default"]["CONN_MAX_AGE"]
    connections.settings["default"]["CONN_MAX_AGE"] = 0  # nothing stays connected to a database that is dropped
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the page's server listens")
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
    listener.close()
    connections.settings["default"]["CONN_MAX_AGE"] = kept_s
