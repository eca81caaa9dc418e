"""The ASGI application that the web server runs."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hud.settings")
# Each request runs in a thread of its own: they share connections, instead of opening one each.
os.environ.setdefault("DATABASE_POOL_SIZE", "16")

from django.core.asgi import get_asgi_application  # noqa: E402 - the variables above come first

application = get_asgi_application()
