"""HUD: a heads-up display for the trunk of a busy repository."""

# Every process that queues a task must know the application, or the message goes to a broker nobody runs.
from hud.celery import app as celery_app

__all__ = ["celery_app"]
