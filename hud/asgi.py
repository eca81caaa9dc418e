"""The ASGI application that the web server runs."""

import gc
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

# What is loaded now lives as long as the process: the collector need not look at it again and again. A page makes ten
# thousand small objects and drops them; at the default thresholds each page paid for several looks at everything.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 20)
