"""An early pytest plugin: a PostgreSQL and a Valkey for this test run alone, in a folder that goes away with it.

Django reads its settings before any conftest.py is loaded, so the servers' addresses must be known by then; the
servers themselves start only when a test asks for one (fixture `servers`).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import quote

from hud.runtime.embedded import EmbeddedServers, ServerUrls

# A short path: a Unix socket's address holds about a hundred bytes.
FOLDER = Path(tempfile.mkdtemp(prefix="hud-test-", dir="/tmp"))
FOLDER.chmod(0o711)  # PostgreSQL's user passes through it when the tests run as root
DATA_DIR = FOLDER / "data"
(DATA_DIR / "static").mkdir(parents=True, mode=0o711)
DATA_DIR.chmod(0o711)
_SOCKETS = quote(str(DATA_DIR / "servers" / "run"), safe="")
VARIABLES = {
    "DATA_DIR": str(DATA_DIR),
    "DATABASE_URL": f"postgresql://hud@/hud?host={_SOCKETS}",
    "REDIS_URL": f"unix://{DATA_DIR}/servers/run/valkey.sock?db=0",
    "DATABASE_POOL_SIZE": "0",
    "SECRET_KEY": "only-for-tests-" + "0" * 40,
    "GITHUB_WEBHOOK_SECRET": "only-for-tests-webhook",
    "GITHUB_TOKEN": "",
    "GITHUB_API_URL": "http://127.0.0.1:9",  # nobody answers there: a test never asks the real GitHub
}
# Variables of the person's own HUD must not reach the tests.
for name in (
    "ADMIN_PASSWORD",
    "ALLOWED_HOSTS",
    "BIND",
    "BRANCH",
    "DEMO",
    "PORT",
    "PUBLIC_URL",
    "REPLAY",
    "REPO",
    "WORKER_CONCURRENCY",
):
    os.environ.pop(name, None)
os.environ.update(VARIABLES)

_hold = EmbeddedServers(DATA_DIR, fsync=False)
_started: ServerUrls | None = None


def start() -> ServerUrls:
    """Start the servers at the first call. Raises when they are not where the settings expect them."""
    global _started
    if _started is None:
        _started = _hold.start()
        expected = ServerUrls(VARIABLES["DATABASE_URL"], VARIABLES["REDIS_URL"])
        if _started != expected:
            raise RuntimeError(f"the tests' servers are at {_started}, not at {expected}")
    return _started


@atexit.register
def _stop() -> None:
    _hold.stop()
    shutil.rmtree(FOLDER, ignore_errors=True)
