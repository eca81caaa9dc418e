"""The ASGI application that the web server runs."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hud.settings")
application = get_asgi_application()
