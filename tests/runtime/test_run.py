"""The real `make run`: its supervisor started, used, stopped, killed and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hud.runtime.accounts import Account, can_enter
from tests.conftest import CHECKOUT, wait_for
from tests.runtime.running import Hud, free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc to find what is left behind"),
]


def test_it_serves_shares_its_store_refuses_a_second_and_leaves_nothing(hud: Hud, folder: Path) -> None:
    hud.start().wait_until_ready()
    assert hud.said().count("HUD ready at") == 1
    assert f"HUD ready at http://127.0.0.1:{hud.port}\n" in hud.said()
    assert hud.status("/health") == 200
    assert "a fine password" not in hud.said()

    assert hud.ask("print(User.objects.count())") == "1"

    second = hud.run_again(PORT=str(free_port()))
    assert second.returncode == 1
    assert f"it already runs on {hud.data_dir}" in second.stderr
    assert "Traceback" not in second.stderr

    elsewhere = hud.run_again(DATA_DIR=str(folder / "other"))
    assert elsewhere.returncode == 1
    assert f"port {hud.port} at 127.0.0.1 cannot be used" in elsewhere.stderr
    assert hud.status("/health") == 200, "neither of them disturbed the one that runs"

    assert hud.stop(signal.SIGINT) == 0
    hud.assert_nothing_is_left()
    assert hud.ask("print(User.objects.count())") == "1", "manage.py starts the same store when nothing runs"
    hud.assert_nothing_is_left()


def test_killed_it_leaves_no_process_and_starts_again_with_its_data(hud: Hud) -> None:
    hud.start().wait_until_ready()
    hud.ask("Group.objects.create(name='kept')")
    hud.stop(signal.SIGKILL)
    wait_for(lambda: not hud.processes(), "all of it ended with the supervisor", limit_s=60)
    hud.start().wait_until_ready()
    assert hud.ask("print(Group.objects.filter(name='kept').exists())") == "True"
    assert hud.stop() == 0
    hud.assert_nothing_is_left()


@pytest.mark.parametrize("reached", ["data in", "preparing the database"])
def test_stopped_while_it_starts_it_leaves_nothing(hud: Hud, reached: str) -> None:
    hud.start()
    wait_for(lambda: reached in hud.said(), f"start-up says {reached!r}")
    assert hud.stop() == 0
    hud.assert_nothing_is_left()
    assert "HUD ready" not in hud.said()


def test_a_second_ctrl_c_waits_for_nobody_and_leaves_nothing(hud: Hud) -> None:
    hud.start().wait_until_ready()
    for pid in hud.processes("worker@%h"):
        os.kill(pid, signal.SIGSTOP)  # it hears no request to stop
    assert hud.process is not None
    hud.process.send_signal(signal.SIGINT)
    wait_for(lambda: "stopping" in hud.said(), "it began to stop")
    assert hud.stop(signal.SIGINT) == 0
    assert "stopped" in hud.said()
    hud.assert_nothing_is_left()


def test_a_worker_that_dies_is_started_again(hud: Hud) -> None:
    hud.start().wait_until_ready()
    for pid in hud.processes("worker@%h"):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: "starting it again" in hud.said(), "the supervisor says so")
    wait_for(lambda: hud.processes("worker@%h"), "the worker runs again")
    assert hud.stop() == 0
    hud.assert_nothing_is_left()


def test_it_runs_as_an_ordinary_user(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("these tests run as an ordinary user already, so the others show it")
    nobody = pwd.getpwnam("nobody")
    account = Account("nobody", nobody.pw_uid, nobody.pw_gid)
    python, variables = python_for(account, folder / "python")
    copy = copied_checkout(folder / "checkout")
    os.chown(folder, account.uid, account.gid)
    hud = Hud(folder / "data", python=python, checkout=copy, **account.popen_arguments())
    hud.environment |= variables
    hud.start().wait_until_ready()
    assert hud.status("/health") == 200
    assert (hud.data_dir / "servers" / "postgres").stat().st_uid == account.uid
    assert hud.data_dir.stat().st_mode & 0o777 == 0o700
    assert hud.stop() == 0
    hud.assert_nothing_is_left()


def python_for(account: Account, folder: Path) -> tuple[str, dict[str, str]]:
    """Return a Python that `account` may run, copied to `folder` if need be, and the variables that it needs."""
    packages = next(entry for entry in sys.path if entry.endswith("site-packages"))
    environment = {"PYTHONPATH": packages, "HOME": "/", "LD_LIBRARY_PATH": str(folder / "lib")}
    python = Path(sys.executable)
    if not can_enter(account, python.resolve()):
        python = copied_python(folder)
    trial = [python, "-c", "import celery, django, psycopg, redis"]
    as_account = account.popen_arguments()
    tried = subprocess.run(trial, cwd="/", env=environment, capture_output=True, check=False, **as_account)  # type: ignore[call-overload]
    if tried.returncode != 0:
        pytest.skip(f"{account.name} can run no Python with these packages here: {tried.stderr[-300:]!r}")
    return str(python), environment


def copied_python(target: Path) -> Path:
    """Copy this interpreter and its standard library, which may lie in root's home, to `target`."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = Path(os.__file__).parent
    unneeded = shutil.ignore_patterns("site-packages", "test", "__pycache__", "config-*", "idlelib", "lib2to3")
    shutil.copytree(library, target / "lib" / version, ignore=unneeded)
    for shared in library.parent.glob("libpython*"):
        shutil.copy(shared, target / "lib")
    (target / "bin").mkdir()
    copied = Path(shutil.copy(Path(sys.executable).resolve(), target / "bin" / version))
    open_up(target)
    copied.chmod(0o755)
    return copied


def copied_checkout(target: Path) -> Path:
    for name in ("hud", "classifier", "templates", "static"):
        shutil.copytree(CHECKOUT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "manage.py", target)
    open_up(target)
    return target


def open_up(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
