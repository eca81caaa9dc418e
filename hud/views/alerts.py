"""Alerts: the list, and one with its timeline."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from hud.models import Alert


@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    """All alerts."""
    return render(request, "hud/alerts.html", {"alerts": Alert.objects.filter(merged_into=None)[:100]})


@require_safe
def alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    """One alert."""
    return render(request, "hud/alert.html", {"alert": get_object_or_404(Alert, pk=alert_id)})
