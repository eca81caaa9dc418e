"""The settings as they come, and how they answer to variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hud.management.commands.settings_table import settings_table
from hud.runtime.urls import celery_broker_url
from tests.conftest import CHECKOUT

SHOW = """
import json, hud.settings as s
print(json.dumps({name: getattr(s, name) for name in dir(s) if name.isupper()}, default=str))
"""


def settings_with(tmp_path: Path, **variables: str) -> dict[str, object]:
    """Return the settings of a process with only these variables."""
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data"), **variables}
    done = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown: dict[str, object] = json.loads(done.stdout)
    return shown


def refusal(tmp_path: Path, **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data"), **variables}
    command = [sys.executable, "-c", "import hud.settings"]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr.strip().splitlines()[-1]


def test_they_are_safe_as_they_come(tmp_path: Path) -> None:
    settings = settings_with(tmp_path)
    assert settings["DEBUG"] is False
    assert settings["BIND"] == "127.0.0.1"
    assert settings["ALLOWED_HOSTS"] == ["127.0.0.1", "localhost", "[::1]"]
    assert settings["SESSION_COOKIE_HTTPONLY"] is True
    assert len(str(settings["SECRET_KEY"])) >= 50


def test_secrets_are_made_once_and_readable_by_their_owner_alone(tmp_path: Path) -> None:
    first, second = settings_with(tmp_path), settings_with(tmp_path)
    assert first["SECRET_KEY"] == second["SECRET_KEY"]
    assert first["GITHUB_WEBHOOK_SECRET"] == second["GITHUB_WEBHOOK_SECRET"] != first["SECRET_KEY"]
    folder = tmp_path / "data" / "secrets"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_an_https_address_makes_cookies_secure_and_its_host_known(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, PUBLIC_URL="https://hud.example.org/", TLS_PROXY="yes", HSTS_S="3600")
    for name in ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT"):
        assert settings[name] is True
    assert "hud.example.org" in settings["ALLOWED_HOSTS"]  # type: ignore[operator]
    assert settings["CSRF_TRUSTED_ORIGINS"] == ["https://hud.example.org"]
    assert settings["SECURE_HSTS_SECONDS"] == 3600


def test_a_forwarded_protocol_is_not_believed_unasked(tmp_path: Path) -> None:
    assert settings_with(tmp_path, PUBLIC_URL="https://hud.example.org")["SECURE_PROXY_SSL_HEADER"] is None


def test_a_database_url_is_read_with_its_options(tmp_path: Path) -> None:
    url = "postgresql://hud:p%40ss@db.example.org:6432/ci?sslmode=require"
    database = settings_with(tmp_path, DATABASE_URL=url, DATABASE_POOL_SIZE="4")["DATABASES"]["default"]  # type: ignore[index]
    assert {key: database[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")} == {
        "NAME": "ci",
        "USER": "hud",
        "PASSWORD": "p@ss",
        "HOST": "db.example.org",
        "PORT": "6432",
    }
    assert database["OPTIONS"]["sslmode"] == "require"
    assert database["OPTIONS"]["pool"]["max_size"] == 4


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"PORT": "http"}, "PORT is 'http'; write a whole number"),
        ({"DATABASE_URL": "mysql://x"}, "DATABASE_URL cannot be read"),
        ({"PUBLIC_URL": "hud.example.org"}, "PUBLIC_URL is 'hud.example.org'; write an address"),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT is 'xml'; it may be text, json"),
        ({"TLS_PROXY": "perhaps"}, "TLS_PROXY is 'perhaps'; write yes or no"),
    ],
)
def test_a_bad_value_is_refused_by_name(tmp_path: Path, variables: dict[str, str], sentence: str) -> None:
    assert sentence in refusal(tmp_path, **variables)


def test_a_bad_database_url_is_refused_without_its_password(tmp_path: Path) -> None:
    assert "s3cret" not in refusal(tmp_path, DATABASE_URL="nonsense://u:s3cret@h/db")


def test_workers_come_from_their_variable(tmp_path: Path) -> None:
    assert settings_with(tmp_path, WORKER_CONCURRENCY="3")["CELERY_WORKER_CONCURRENCY"] == 3


@pytest.mark.parametrize(
    ("given", "for_celery"),
    [
        ("redis://host:6379/2", "redis://host:6379/2"),
        ("rediss://:pw@host:6380/0", "rediss://:pw@host:6380/0"),
        ("unix:///run/valkey.sock?db=3", "redis+socket:///run/valkey.sock?virtual_host=3"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock?virtual_host=0"),
    ],
)
def test_the_broker_is_the_same_redis_in_celerys_spelling(given: str, for_celery: str) -> None:
    assert celery_broker_url(given) == for_celery


def test_the_readme_lists_every_setting_as_it_is_declared() -> None:
    text = (CHECKOUT / "README.md").read_text()
    assert settings_table() in text, "run `python manage.py settings_table --write`"
