"""Prometheus metrics: the state of the store, read when asked, so that any web process gives the same answer."""

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from hud.queries.metrics import Counts, counts


class _Store(Collector):
    def __init__(self, told: Counts) -> None:
        self._told = told

    def collect(self) -> Iterator[GaugeMetricFamily]:
        told, now = self._told, timezone.now()
        inbox = GaugeMetricFamily("hud_inbox_items", "Inbox items that are not done", labels=["state"])
        for state in ("waiting", "parked", "unfollowed"):
            inbox.add_metric([state], told.inbox.get(state, 0))
        yield inbox
        age = (now - told.waiting_since).total_seconds() if told.waiting_since else 0
        yield GaugeMetricFamily("hud_inbox_oldest_waiting_seconds", "Age of the oldest waiting inbox item", age)
        yield GaugeMetricFamily("hud_logs_pending", "Logs that are still to be fetched", told.logs.get("pending", 0))
        streaks = GaugeMetricFamily("hud_open_streaks", "Red streaks that last", labels=["repository", "branch"])
        for repository, branch, count in told.open_streaks:
            streaks.add_metric([repository, branch], count)
        yield streaks
        polled = GaugeMetricFamily(
            "hud_polled_age_seconds", "Time since GitHub answered a poll in full", labels=["repository", "branch"]
        )
        for repository, branch, at in told.polled_at:
            polled.add_metric([repository, branch], (now - at).total_seconds())
        yield polled


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Store(counts()))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
