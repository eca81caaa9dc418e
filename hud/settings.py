"""HUD's settings: one file, and the only reader of the environment once Django runs.

Every variable is declared here with its default and meaning; README.md lists them, and a test compares the two.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from hud.clients.github.options import DEFAULT_LOG_HOSTS
from hud.runtime.limits import worker_processes
from hud.runtime.urls import celery_broker_url
from hud.variables import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = Environment(os.environ)
_env = ENVIRONMENT

# ── Where things are ─────────────────────────────────────────────────────────────────────────────────────────────────
DATA_DIR = Path(
    _env.text(
        "DATA_DIR",
        str(BASE_DIR / ".data"),
        "where the embedded database, its secrets and the log store live",
        shown_default=".data in the checkout",
    )
).absolute()
PORT = _env.whole_number("PORT", 8000, "port of the page", least=1, most=65535)
BIND = _env.text("BIND", "127.0.0.1", "address the page is bound to; 0.0.0.0 opens it to the network")
PUBLIC_URL = _env.web_address(
    "PUBLIC_URL",
    f"http://127.0.0.1:{PORT}",
    "address people use; its host is accepted, links in notifications start with it, https makes cookies secure",
    shown_default="http://127.0.0.1:PORT",
)


def _kept_secret(name: str) -> str:
    """Return the secret kept in DATA_DIR/secrets under `name`, made at first use, readable by its owner only."""
    path = DATA_DIR / "secrets" / name
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(48))
    try:
        os.link(fresh, path)  # of two processes that start at once, one wins and both read its secret
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text().strip()


# ── Security: safe as it comes ───────────────────────────────────────────────────────────────────────────────────────
DEBUG = False
SECRET_KEY = _env.text(
    "SECRET_KEY", "", "signs sessions; the same on every machine of a team", shown_default="made once, kept in DATA_DIR"
) or _kept_secret("secret_key")
_public = urlsplit(PUBLIC_URL)
ALLOWED_HOSTS = list(
    dict.fromkeys(
        [
            "127.0.0.1",
            "localhost",
            "[::1]",
            _public.hostname or "localhost",
            *_env.words("ALLOWED_HOSTS", "", "further host names the page answers to"),
        ]
    )
)
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _public.scheme == "https"
CSRF_FAILURE_VIEW = "hud.views.kept.stale_form"
SECURE_PROXY_SSL_HEADER: tuple[str, str] | None = None
SECURE_REDIRECT_EXEMPT = [r"^health$", r"^metrics$"]  # asked by machines, from inside
if _env.flag("TLS_PROXY", False, "yes: believe X-Forwarded-Proto; only behind a proxy that sets it itself"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE
SECURE_HSTS_SECONDS = _env.whole_number("HSTS_S", 0, "seconds that browsers shall insist on TLS (needs https)")
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
ADMIN_PASSWORD = _env.text(
    "ADMIN_PASSWORD", "", "password of the user admin, set at start", shown_default="made and printed once"
)
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "/"
SIGN_IN_TRIES = _env.whole_number(
    "SIGN_IN_TRIES",
    10,
    "wrong passwords of one name from one address in SIGN_IN_WINDOW_S; ten times as many of all names, or API tokens",
    least=1,
)
SIGN_IN_WINDOW_S = _env.whole_number(
    "SIGN_IN_WINDOW_S", 900, "longest wait of who tried too many wrong passwords or API tokens", least=1
)
CLIENT_ADDRESS_HEADER = _env.text(
    "CLIENT_ADDRESS_HEADER",
    "",
    "header in which the proxy names the caller, X-Real-IP or X-Forwarded-For; only behind one that sets it itself",
)
DATA_UPLOAD_MAX_MEMORY_SIZE = _env.whole_number(
    "WEBHOOK_MAX_BYTES", 25_000_000, "largest webhook body taken; GitHub sends up to 25 MB", least=100_000
)

# ── Django ───────────────────────────────────────────────────────────────────────────────────────────────────────────
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "django_htmx",
    "hud",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "hud.middleware.SecurityHeadersMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "hud.urls"
ASGI_APPLICATION = "hud.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

# ── Database and broker: a team's own, or the embedded ones, whose addresses hud.runtime puts into the variables ─────
_database_url = _env.text(
    "DATABASE_URL", "", "PostgreSQL to use, postgresql://user:password@host/name", shown_default="the embedded one"
)
_pool_size = _env.whole_number(
    "DATABASE_POOL_SIZE", 0, "connections that one process may share out; 0: each thread keeps its own (web: 16)"
)


def _database(url: str) -> dict[str, object]:
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError:  # its text may repeat the password
        raise ImproperlyConfigured("DATABASE_URL cannot be read; write postgresql://user:password@host/name.") from None
    named = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    database: dict[str, object] = {key: parts.pop(part, "") or "" for key, part in named.items()}
    options: dict[str, object] = {"connect_timeout": 10, "application_name": "hud", **parts}
    if _pool_size:
        options["pool"] = {"min_size": 1, "max_size": _pool_size, "timeout": 10, "max_idle": 300}
    return {
        **database,
        "ENGINE": "django.db.backends.postgresql",
        "OPTIONS": options,
        "CONN_MAX_AGE": 0 if _pool_size else 300,
        "CONN_HEALTH_CHECKS": True,
    }


DATABASES = {"default": _database(_database_url or "postgresql:///hud")}
REDIS_URL = _env.text(
    "REDIS_URL", "unix:///nowhere", "Redis or Valkey to use, redis://host:6379/0", shown_default="the embedded one"
)
CACHES = {
    "default": {
        "BACKEND": "hud.clients.sharedcache.SharedRedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "hud",
        "OPTIONS": {"socket_timeout": 5, "socket_connect_timeout": 5},
    },
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},  # for what must count without the broker
}
SESSION_ENGINE = "django.contrib.sessions.backends.cached_db"

# ── Files ────────────────────────────────────────────────────────────────────────────────────────────────────────────
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
WHITENOISE_USE_FINDERS = True  # what is not collected yet is served from the checkout
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(DATA_DIR / "files")},
    },
    "staticfiles": {"BACKEND": "hud.staticstore.CollectedOrSource"},
}

# ── Worker ───────────────────────────────────────────────────────────────────────────────────────────────────────────
CELERY_BROKER_URL = celery_broker_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a broker may be away for a weekend
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "work"
CELERY_TASK_ROUTES = {
    "hud.tasks.sweep": {"queue": "ingest"},
    "hud.tasks.ingest*": {"queue": "ingest"},  # the way from an event to the grid never waits for logs
    "hud.tasks.poll*": {"queue": "poll"},  # taken in turn with "work": a thousand logs do not hold up a poll
    "hud.tasks.back_fill": {"queue": "poll"},
    "hud.tasks.notify*": {"queue": "notify"},  # threads of their own: a slow target holds up nothing else
}
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
# A task is done when its effect is committed, not when it was handed out: that of a killed worker comes back. A living
# worker renews the lease of the tasks it holds (hud.runtime.leases), so the lease can be shorter than the longest task.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 8,
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
    "unacked_restore_limit": 1000,
    "socket_timeout": 30,
    "socket_connect_timeout": 10,
}
CELERY_WORKER_CONCURRENCY = worker_processes(
    asked=_env.whole_number(
        "WORKER_CONCURRENCY", 0, "processes of a worker; 0: the CPUs it may use, at most 16", most=512
    )
)
CELERY_WORKER_MAX_TASKS_PER_CHILD = 2000
CELERY_TASK_TIME_LIMIT = _env.whole_number(
    "TASK_TIME_LIMIT_S", 1800, "longest time of one background task before its process is ended", least=60
)
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    "sweep": {"task": "hud.tasks.sweep", "schedule": 10.0, "options": {"expires": 30}},
    "poll": {"task": "hud.tasks.poll_due", "schedule": 10.0, "options": {"expires": 30}},
    "forget old inbox items": {"task": "hud.tasks.forget_old_items", "schedule": 3600.0},
    "forget old test results": {"task": "hud.tasks.forget_old_test_results", "schedule": 3600.0},
}

# ── GitHub ───────────────────────────────────────────────────────────────────────────────────────────────────────────
GITHUB_API_URL = _env.web_address(
    "GITHUB_API_URL", "https://api.github.com", "GitHub's REST API, or your GitHub Enterprise's"
)
GITHUB_TOKEN = _env.text("GITHUB_TOKEN", "", "token for the REST API; without one GitHub allows 60 requests an hour")
GITHUB_APP_ID = _env.text("GITHUB_APP_ID", "", "number or client ID of a GitHub App, which check runs are written as")
GITHUB_APP_PRIVATE_KEY = _env.text(
    "GITHUB_APP_PRIVATE_KEY",
    "",
    "private key of that App: PEM text (\\n for line ends is fine), or the path of its file",
)
if GITHUB_APP_PRIVATE_KEY and not GITHUB_APP_PRIVATE_KEY.startswith("-----BEGIN"):
    try:
        GITHUB_APP_PRIVATE_KEY = Path(GITHUB_APP_PRIVATE_KEY).read_text()
    except OSError as error:
        raise ImproperlyConfigured(
            f"GITHUB_APP_PRIVATE_KEY names a file that cannot be read: {error.strerror}"
        ) from None
GITHUB_APP_PRIVATE_KEY = GITHUB_APP_PRIVATE_KEY.replace("\\n", "\n")
if bool(GITHUB_APP_ID) != bool(GITHUB_APP_PRIVATE_KEY):
    raise ImproperlyConfigured("GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY belong together: set both or none")
GITHUB_WEBHOOK_SECRET = _env.text(
    "GITHUB_WEBHOOK_SECRET",
    "",
    "secret that GitHub signs webhooks with",
    shown_default="made once, kept in DATA_DIR, shown to admins",
) or _kept_secret("webhook_secret")

POLL_INTERVAL_S = _env.seconds(
    "POLL_INTERVAL_S",
    60,
    "how often GitHub is asked for news of each branch; at api.github.com without a token at most every 300 s",
    least=1,
)
if not GITHUB_TOKEN and GITHUB_API_URL == "https://api.github.com":
    POLL_INTERVAL_S = max(POLL_INTERVAL_S, 300)
GITHUB_CONNECT_TIMEOUT_S = _env.seconds(
    "GITHUB_CONNECT_TIMEOUT_S", 10, "longest wait for a connection to GitHub", least=0.1
)
GITHUB_READ_TIMEOUT_S = _env.seconds(
    "GITHUB_READ_TIMEOUT_S", 30, "longest silence of GitHub within an answer", least=0.1
)
GITHUB_TOTAL_TIMEOUT_S = _env.seconds(
    "GITHUB_TOTAL_TIMEOUT_S", 120, "longest time of one call with its retries", least=1
)
GITHUB_LOG_TIMEOUT_S = _env.seconds("GITHUB_LOG_TIMEOUT_S", 900, "longest time to fetch one log", least=1)
GITHUB_ATTEMPTS = _env.whole_number("GITHUB_ATTEMPTS", 4, "tries of one call before it is put off", least=1, most=20)
GITHUB_BUDGET_PER_HOUR = _env.whole_number(
    "GITHUB_BUDGET_PER_HOUR", 4500, "requests an hour that HUD allows itself", least=1
)
GITHUB_BUDGET_RESERVE = _env.whole_number("GITHUB_BUDGET_RESERVE", 300, "of these, kept for what a person waits for")
TOUCHED_FILES_PER_HOUR = _env.whole_number(
    "TOUCHED_FILES_PER_HOUR",
    600,
    "commits an hour of which GitHub is asked which files they touch, to rank suspects; 0: none; without a token at"
    " most 10",
)
# What may be excused on a pull request (docs/verdicts.md).
VERDICT_MAX_EXCUSED = _env.whole_number(
    "VERDICT_MAX_EXCUSED",
    10,
    "failures of one pull request that may be excused; where there are more, all of them block",
)
VERDICT_BASE_FRESH_DAYS = _env.whole_number(
    "VERDICT_BASE_FRESH_DAYS", 3, "age of a base in days up to which one look-alike excuses; beyond it takes two"
)
VERDICT_BASE_MAX_DAYS = _env.whole_number(
    "VERDICT_BASE_MAX_DAYS", 7, "age of a base in days beyond which no look-alike excuses"
)
GITHUB_PATIENCE_S = _env.seconds(
    "GITHUB_PATIENCE_S", 2, "a wait up to this is slept by the worker, a longer one is put off"
)
GITHUB_MAX_ANSWER_BYTES = _env.whole_number(
    "GITHUB_MAX_ANSWER_BYTES", 64 * 1024 * 1024, "largest API answer taken", least=1024
)
GITHUB_MAX_LOG_ZIP_BYTES = _env.whole_number(
    "GITHUB_MAX_LOG_ZIP_BYTES", 1024**3, "largest zipped log taken", least=1024
)
LOG_HOSTS = _env.words(
    "LOG_HOSTS",
    ",".join(DEFAULT_LOG_HOSTS),
    "hosts that may serve logs; * stands for any name, a full name may lie inside",
)
OUTBOUND_PROXY = _env.text("OUTBOUND_PROXY", "", "proxy for calls to GitHub, http://host:port")
OUTBOUND_CA_FILE = _env.text("OUTBOUND_CA_FILE", "", "certificates to trust for calls to GitHub, a PEM file")

# ── Logs and inbox ───────────────────────────────────────────────────────────────────────────────────────────────────
LOG_MAX_BYTES = _env.whole_number(
    "LOG_MAX_BYTES", 512 * 1024 * 1024, "a longer log keeps head and tail only", least=1024
)
LOG_HEAD_BYTES = _env.whole_number("LOG_HEAD_BYTES", 64 * 1024 * 1024, "head that is kept of a longer log", least=512)
LOG_TAIL_BYTES = _env.whole_number("LOG_TAIL_BYTES", 128 * 1024 * 1024, "tail that is kept of a longer log", least=512)
REREAD_CONCURRENCY = _env.whole_number(
    "REREAD_CONCURRENCY",
    1,
    "processes of all workers together that may read stored logs again, for changed rules and for trials",
    least=1,
    most=64,
)
CLASSIFY_TIMEOUT_S = _env.seconds("CLASSIFY_TIMEOUT_S", 600, "longest time in the classifier for one log", least=1)
INBOX_STUCK_AFTER_S = _env.whole_number(
    "INBOX_STUCK_AFTER_S",
    60,
    "events that wait so long while nobody takes any up make /health fail, and `make run` starts their worker again",
    least=1,
    most=86_400,
)
INBOX_KEEP_DAYS = _env.whole_number(
    "INBOX_KEEP_DAYS", 14, "days that inbox items are kept after they are done", least=1
)
SEARCH_TIMEOUT_S = _env.seconds("SEARCH_TIMEOUT_S", 8, "longest time of one search over all failures", least=0.1)
JUNIT_MAX_BYTES = _env.whole_number("JUNIT_MAX_BYTES", 50_000_000, "largest file of test results taken", least=1024)
JUNIT_MAX_TESTS = _env.whole_number(
    "JUNIT_MAX_TESTS", 100_000, "most tests taken from one file of test results", least=1
)
TEST_RESULTS_KEEP_DAYS = _env.whole_number(
    "TEST_RESULTS_KEEP_DAYS", 90, "days that test results and their counts are kept", least=7
)
TEST_RESULTS_WAIT_HOURS = _env.whole_number(
    "TEST_RESULTS_WAIT_HOURS", 24, "hours that test results wait for a run that HUD has not heard of", least=1
)

# ── Alerts ───────────────────────────────────────────────────────────────────────────────────────────────────────────
ALERT_REOPEN_S = _env.seconds(
    "ALERT_REOPEN_S", 7200, "what breaks again within this time after it was mended is the same alert"
)
ALERT_REPEAT_S = _env.seconds(
    "ALERT_REPEAT_S", 14_400, "how often targets are reminded of an alert that nobody acknowledged", least=1
)
ALERT_GROUP_WAIT_S = _env.seconds(
    "ALERT_GROUP_WAIT_S", 1, "wait before an alert is told, in which a mass failure may show up above it"
)
SILENCE_MAX_DAYS = _env.whole_number("SILENCE_MAX_DAYS", 30, "longest silence, in days", least=1)
SILENCE_LONG_DAYS = _env.whole_number(
    "SILENCE_LONG_DAYS", 14, "a silence for more days than this is listed as debt", least=1
)
SILENCE_DEBT_DAYS = _env.whole_number(
    "SILENCE_DEBT_DAYS", 7, "a silence over what is red for more days than this is listed as debt", least=1
)
SILENCE_REMIND_H = _env.whole_number(
    "SILENCE_REMIND_H", 24, "hours before its end that a silence's owner is reminded, at most", least=1
)
NOTICE_MAX_DAYS = _env.whole_number("NOTICE_MAX_DAYS", 90, "longest notice on top of pages, in days", least=1)
FOLLOW_WINDOW_S = _env.seconds(
    "FOLLOW_WINDOW_S", 60, "what changes within this time is told in one mail to those who follow it"
)
NOTIFY_HOSTS = _env.words(
    "NOTIFY_HOSTS", "", "hosts inside your network that notifications may go to, name or name:port"
)
NOTIFY_CONNECT_TIMEOUT_S = _env.seconds(
    "NOTIFY_CONNECT_TIMEOUT_S", 10, "longest wait for a connection to a target of notifications", least=0.1
)
NOTIFY_TIMEOUT_S = _env.seconds("NOTIFY_TIMEOUT_S", 30, "longest silence of a target of notifications", least=0.1)
NOTIFY_RETRY_FIRST_S = _env.seconds(
    "NOTIFY_RETRY_FIRST_S", 5, "wait before a failed notification is tried again; it doubles each time", least=0.1
)
NOTIFY_RETRY_MOST_S = _env.seconds("NOTIFY_RETRY_MOST_S", 3600, "longest wait between such tries", least=0.1)
NOTIFY_ATTEMPTS = _env.whole_number("NOTIFY_ATTEMPTS", 24, "tries of one notification before it is given up", least=1)
NOTIFY_SWEEP_S = _env.seconds(
    "NOTIFY_SWEEP_S", 5, "how often due notifications and reminders are looked for", least=0.5
)
ALERTMANAGER_RESEND_S = _env.seconds(
    "ALERTMANAGER_RESEND_S",
    60,
    "how often an Alertmanager is sent the alerts that fire; after five times it forgets",
    least=1,
)
ISSUE_REMINDER_S = _env.seconds(
    "ISSUE_REMINDER_S", 86_400, "least time between two reminders that are written to the issue of an alert"
)
SMTP_URL = _env.text("SMTP_URL", "", "server for e-mail: smtp://, smtp+tls:// or smtps://user:password@host:port")
MAIL_FROM = _env.text("MAIL_FROM", "", "sender of e-mail", shown_default="hud@localhost")
CELERY_BEAT_SCHEDULE["look after alerts"] = {
    "task": "hud.tasks.notify_due",
    "schedule": NOTIFY_SWEEP_S,
    "options": {"expires": 30},
}

MAIL_KEEP_DAYS = _env.whole_number("MAIL_KEEP_DAYS", 90, "days that mails to followers are kept and shown", least=1)
CELERY_BEAT_SCHEDULE["forget old mails"] = {"task": "hud.tasks.forget_old_mails", "schedule": 3600.0}
CELERY_BEAT_SCHEDULE["tell people"] = {
    "task": "hud.tasks.notify_people",
    "schedule": NOTIFY_SWEEP_S,
    "options": {"expires": 30},
}

LOG_STORE_URL = _env.text(
    "LOG_STORE_URL",
    "",
    "S3-compatible store for logs, s3://bucket/prefix; keys from AWS_ variables",
    shown_default="files in DATA_DIR",
)
LOG_STORE_ENDPOINT = _env.text("LOG_STORE_ENDPOINT", "", "address of an S3-compatible server that is not Amazon's")
LOG_STORE_TIMEOUT_S = _env.seconds(
    "LOG_STORE_TIMEOUT_S", 60, "longest wait for an answer of the S3-compatible store", least=1
)


def _log_storage(url: str) -> dict[str, object]:
    if not url:
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(DATA_DIR / "files")},
        }
    from botocore.config import Config  # large: only who keeps logs there pays for it

    parts = urlsplit(url)
    if parts.scheme != "s3" or not parts.netloc:
        raise ImproperlyConfigured(f"LOG_STORE_URL is {url!r}; write s3://bucket or s3://bucket/prefix.")
    options: dict[str, object] = {
        "bucket_name": parts.netloc,
        "location": parts.path.strip("/"),
        "default_acl": None,
        "file_overwrite": True,
        "client_config": Config(connect_timeout=LOG_STORE_TIMEOUT_S, read_timeout=LOG_STORE_TIMEOUT_S),
    }
    if LOG_STORE_ENDPOINT:
        options["endpoint_url"] = LOG_STORE_ENDPOINT
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


STORAGES["logs"] = _log_storage(LOG_STORE_URL)

# ── What HUD says of itself ──────────────────────────────────────────────────────────────────────────────────────────
LOG_LEVEL = _env.choice("LOG_LEVEL", "info", "how much is logged", ("debug", "info", "warning", "error")).upper()
LOG_FORMAT = _env.choice("LOG_FORMAT", "text", "text for people, json for machines", ("text", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "hud.logformat.SecretFreeFormatter",
            "as_json": LOG_FORMAT == "json",
            "secrets": [
                SECRET_KEY,
                GITHUB_WEBHOOK_SECRET,
                GITHUB_TOKEN,
                GITHUB_APP_PRIVATE_KEY,
                ADMIN_PASSWORD,
                str(DATABASES["default"].get("PASSWORD", "")),
                unquote(urlsplit(SMTP_URL).password or ""),
            ],
        }
    },
    "filters": {"lost connections": {"()": "hud.logformat.OneLineForLostConnections"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["lost connections"]}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "django.server": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "uvicorn": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        "celery.utils.functional": {"level": "WARNING"},
        "kombu": {"level": "WARNING"},
    },
}
