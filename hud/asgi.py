"""The ASGI application that the web server runs."""

import multiprocessing
import os

from hud.runtime.processes import follow_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hud.settings")
# Each request runs in a thread of its own: they share connections, instead of opening one each.
os.environ.setdefault("DATABASE_POOL_SIZE", "16")
if multiprocessing.parent_process() is not None:  # one of several web processes: none outlives the one that made it
    follow_parent()

from django.core.asgi import get_asgi_application

application = get_asgi_application()
