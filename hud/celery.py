"""The Celery application: workers and beat find it here."""

import os

from celery import Celery

from hud.runtime.leases import KeepLeases

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hud.settings")
app = Celery("hud")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["hud"])
app.steps["consumer"].add(KeepLeases)
