"""An independent GitHub: Stoplight's Prism, checking requests and answers against GitHub's published API description.

It stands between the client and the fake. With `--errors` it answers a request that breaks the description with 422 and
an answer that breaks it with 500, so a test only has to see the client succeed. It follows redirects itself, so logs
are tested without it. Both packages come from npm, once, into a cache.
"""

import hashlib
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("@stoplight/prism-cli@5.16.0", "@octokit/openapi@23.0.2")
PATHS_KEPT = re.compile(r"/repos/\{owner\}/\{repo\}(/(branches|commits|actions|check-runs|pulls|compare|issues)\b.*)?$")
INSTALL_LIMIT_S = 150
START_LIMIT_S = 60
_OFFLINE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH")


def installed(cache: Path) -> Path:
    """Return the folder that holds Prism and `github.json`, installing them at first; skip where npm cannot."""
    kept = hashlib.sha256(PATHS_KEPT.pattern.encode()).hexdigest()[:8]
    folder = cache / "_".join([*(re.sub(r"[^\w.]+", "-", package) for package in PACKAGES), kept])
    if not (folder / "github.json").exists():
        if not (shutil.which("npm") and shutil.which("node")):
            pytest.skip("npm and node are not installed, so the independent GitHub cannot be")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        _npm_install(folder)
        description = folder / "node_modules/@octokit/openapi/generated/api.github.com.json"
        trimmed = json.dumps(_trimmed(json.loads(description.read_text())))
        shutil.rmtree(folder / "node_modules/@octokit/openapi")  # 400 MB of descriptions of other GitHubs
        (folder / "github.json").write_text(trimmed)
    return folder


def _npm_install(folder: Path) -> None:
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False)
    if done.returncode and _OFFLINE.search(done.stderr):
        pytest.skip("npm's registry cannot be reached, so the independent GitHub cannot be installed")
    if done.returncode:
        pytest.fail(f"npm install failed:\n{done.stderr[-2000:]}")


def _trimmed(description: dict[str, Any]) -> dict[str, Any]:
    """Return the description with only the paths that HUD asks: the rest takes Prism seconds to read.

    `created` of workflow runs is told to be a date-time; GitHub's own text on it says a range is meant too.
    """
    description["components"]["parameters"]["created"]["schema"].pop("format", None)
    return description | {"paths": {p: item for p, item in description["paths"].items() if PATHS_KEPT.match(p)}}


@contextmanager
def prism_in_front_of(upstream_url: str, folder: Path, log_path: Path) -> Iterator[str]:
    """Run Prism before `upstream_url`; yield its own address. `log_path` gets what it says."""
    script = folder / "node_modules/@stoplight/prism-cli/dist/index.js"
    command = ["node", str(script), "proxy", "--errors", "-h", "127.0.0.1", "-p", "0", str(folder / "github.json")]
    with log_path.open("w") as log:
        process = subprocess.Popen([*command, upstream_url], stdout=log, stderr=log, cwd=folder)
    try:
        yield _address_told(process, log_path)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address_told(process: "subprocess.Popen[bytes]", log_path: Path) -> str:
    deadline_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline_s:
        if told := re.search(r"listening on (http://[\d.:]+)", log_path.read_text()):
            return told[1]
        if process.poll() is not None:
            break
        time.sleep(0.05)
    return pytest.fail(f"Prism did not start within {START_LIMIT_S} s:\n{log_path.read_text()[-2000:]}")
