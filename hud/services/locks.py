"""Who writes what at a time."""

from django.db import connection

from hud.models import Repository

_INGEST = 0x48554401  # "HUD", 1: the advisory locks of ingest


def lock_repository(repository: Repository) -> None:
    """Hold other ingest of this repository until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_INGEST, repository.pk])
    repository.refresh_from_db()
