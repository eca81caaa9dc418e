"""Where an alert's dashboard is when its rule names none."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from hud.core.alerts.rules import spec_of
from hud.models import Alert


def dashboard_path(alert: Alert) -> str:
    """Return the path of the history of the alert's job, of its group (the grid with it open), or of its branch."""
    repository = alert.branch.repository
    if alert.job_id and len(alert.jobs) == 1:
        if spec_of(alert.rule.spec).by != "group":
            where = reverse("job", args=[repository.owner, repository.name, alert.job_id])
            return f"{where}?{urlencode({'branch': alert.branch.name})}"
        group = {"open": alert.jobs[0]}
        return f"{reverse('grid', args=[repository.owner, repository.name, alert.branch.name])}?{urlencode(group)}"
    return reverse("grid", args=[repository.owner, repository.name, alert.branch.name])
