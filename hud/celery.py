"""The Celery application: workers and beat find it here."""

import os
import warnings

from celery import Celery
from celery.platforms import SecurityWarning

from hud.runtime import quickstop, tasklimit  # noqa: F401 - they connect themselves to the worker's signals
from hud.runtime.leases import KeepLeases

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hud.settings")
# Celery warns root because messages may hold pickled code; HUD takes JSON only.
warnings.filterwarnings("ignore", category=SecurityWarning)
app = Celery("hud")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["hud"])
app.steps["consumer"].add(KeepLeases)
