"""The verdict engine's settings, as the environment has them."""

from django.conf import settings

from classifier.verdict import Settings


def verdict_settings() -> Settings:
    """Return what holds for all repositories. What was decided before a change stays until evidence comes in; the gate
    counts by today's limit."""
    return Settings(
        base_fresh_days=settings.VERDICT_BASE_FRESH_DAYS,
        base_max_days=settings.VERDICT_BASE_MAX_DAYS,
        max_excused=settings.VERDICT_MAX_EXCUSED,
    )
