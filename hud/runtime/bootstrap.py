"""Makes the environment that HUD runs in: `python3 hud/runtime/bootstrap.py [dev] [browser]`.

Run by make with the machine's own Python, before anything is installed, so it uses the standard library alone and
says a clear word to a Python that is too old for the rest. It does nothing when nothing has changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from typing import Any

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLDEST = (3, 11)
ALERTMANAGER = "prometheus-alertmanager"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STEP_LIMIT = "INSTALL_TIMEOUT_S"
STEP_LIMIT_S = 3600


def main() -> int:
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        print(f"HUD needs Python {OLDEST[0]}.{OLDEST[1]} or newer; {sys.executable} is {found}.")
        print("Say which one to use: make run PYTHON=python3.12")
        return 1
    folder = os.environ.get("VENV") or os.path.join(CHECKOUT, ".venv")
    names = ["requirements.txt"] + (["requirements-dev.txt"] if "dev" in sys.argv[1:] else [])
    try:
        code = 0 if is_installed(folder, names) else install_alone(folder, names)
    except PermissionError as error:
        print(f"{error.filename} belongs to another user. Make an environment of your own: make run VENV=~/hud-venv")
        return 1
    if code or "browser" not in sys.argv[1:]:
        return code
    if find_alertmanager() is None:
        print("No Prometheus Alertmanager was found: the tests against the real server will be skipped.")
    return find_browser(folder)


def install_alone(folder: str, names: list[str]) -> int:
    """Install, one at a time: of two that start at once, the second waits and then finds it done."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "bootstrap.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return install(folder, names)


def is_installed(folder: str, names: list[str]) -> bool:
    """Return whether exactly these requirements, or those of the tests, are installed already."""
    stamp = os.path.join(folder, "installed")
    enough = {fingerprint(names), fingerprint(["requirements.txt", "requirements-dev.txt"])}
    if not os.path.exists(stamp):
        return False
    with open(stamp) as file:
        return file.read() in enough


def install(folder: str, names: list[str]) -> int:
    """Install the pinned requirements unless exactly these are installed already."""
    if is_installed(folder, names):
        return 0
    python = os.path.join(folder, "bin", "python")
    if not works(python, "import pip") and not make_environment(folder):
        return 1
    print("Installing " + ", ".join(names) + " …", flush=True)
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    if run([*command, "-r", os.path.join(CHECKOUT, names[-1])]) != 0:
        print("The requirements could not be installed; pip's own words are above.")
        return 1
    with open(os.path.join(folder, "installed"), "w") as file:  # last, so that an interrupted install is done again
        file.write(fingerprint(names))
    return 0


def make_environment(folder: str) -> bool:
    """Make the virtual environment. Debian ships Python without `ensurepip`: then the machine's pip is used."""
    is_broken = os.path.exists(os.path.join(folder, "pyvenv.cfg"))  # made by a Python that has gone
    base = [sys.executable, "-m", "venv", *(["--clear"] if is_broken else []), folder]
    print(f"Making the environment in {folder} …", flush=True)
    if works(sys.executable, "import ensurepip, venv") and run(base) == 0:
        return True
    if is_debian_root():
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        if apt_install(package, "python3-pip") and run(base) == 0:
            return True
    print("Python's venv module is not complete here. On Debian and Ubuntu: apt-get install python3-venv")
    return False


def find_browser(folder: str) -> int:
    """See that there is a Chromium for the tests that open pages: the machine's, Debian's package, or Playwright's."""
    if any(shutil.which(name) for name in BROWSERS):
        return 0
    if is_debian_root() and apt_install("chromium"):
        return 0
    python = os.path.join(folder, "bin", "python")
    if run([python, "-m", "playwright", "install", "chromium"]) == 0:
        return 0
    print("No Chromium was found and none could be installed; the tests marked `browser` will fail. Install Chromium.")
    return 0


def find_alertmanager() -> str | None:
    """Return the program of Prometheus Alertmanager, for the tests against the real server; root on Debian gets it.

    Debian's package starts a service that listens on all addresses: where there is systemd, it is kept from that.
    """
    found = shutil.which(ALERTMANAGER)
    if found or not is_debian_root():
        return found
    has_services = os.path.isdir("/run/systemd/system")
    if has_services:
        succeeds(["systemctl", "mask", "--runtime", ALERTMANAGER])
    apt_install(ALERTMANAGER)
    if has_services:
        succeeds(["systemctl", "disable", ALERTMANAGER])
        succeeds(["systemctl", "unmask", "--runtime", ALERTMANAGER])
    return shutil.which(ALERTMANAGER)


def apt_install(*packages: str) -> bool:
    print("Installing " + ", ".join(packages) + " with apt-get …", flush=True)
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for step in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        quiet = subprocess.DEVNULL
        if run(["apt-get", *step], env=environment, stdin=quiet, stdout=quiet) != 0:
            return False
    return True


def run(command: list[str], **options: Any) -> int:
    """Run one step of the installation and return its exit code; -1 when it took longer than a step may."""
    limit_s = float(os.environ.get(STEP_LIMIT) or STEP_LIMIT_S)
    try:
        return subprocess.run(command, check=False, timeout=limit_s, **options).returncode
    except subprocess.TimeoutExpired:
        print(f"“{' '.join(command[:4])} …” was ended after {limit_s:g} s; {STEP_LIMIT} raises this limit.", flush=True)
        return -1


def succeeds(command: list[str]) -> bool:
    """Run a command silently."""
    quiet = subprocess.DEVNULL
    return run(command, stdin=quiet, stdout=quiet, stderr=quiet) == 0


def is_debian_root() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def works(python: str, statement: str) -> bool:
    try:
        return run([python, "-c", statement], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def fingerprint(names: list[str]) -> str:
    """Return what an environment must have been made from to be used as it is."""
    digest = hashlib.sha256(sys.version.encode() + sys.prefix.encode())
    for name in ("requirements.txt", *names):
        with open(os.path.join(CHECKOUT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
