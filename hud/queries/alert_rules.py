"""What the pages of alert rules show beside the rules themselves."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count

from hud.models import Alert, AlertRule, Branch, EvaluationRequest, Repository

MOST_ALERTS = 10
MOST_FAILED = 20


def firing_by_rule(rules: Sequence[AlertRule]) -> dict[int, int]:
    """Return how many alerts of each rule fire, where some do. One statement."""
    firing = Alert.objects.filter(rule__in=rules, state=Alert.State.FIRING, merged_into=None).order_by()
    return dict(firing.values_list("rule_id").annotate(Count("pk")))


def newest_alerts(rule: AlertRule) -> list[Alert]:
    """Return the newest alerts of a rule."""
    found = Alert.objects.filter(rule=rule, merged_into=None).select_related("branch").order_by("-id")
    return list(found[:MOST_ALERTS])


def tracked_branches(repository: Repository) -> list[str]:
    """Return the names of the branches that a rule can look at."""
    return list(
        Branch.objects.filter(repository=repository, tracked=True).order_by("name").values_list("name", flat=True)
    )


def rule_at(repository: Repository, rule_id: int) -> AlertRule | None:
    """Return a rule of the repository."""
    return AlertRule.objects.filter(repository=repository, pk=rule_id).select_related("repository").first()


def failed_evaluations() -> list[EvaluationRequest]:
    """Return the branches whose alerts could not be evaluated, the oldest trouble first."""
    failed = EvaluationRequest.objects.filter(attempts__gt=0).select_related("branch__repository")
    return list(failed.order_by("requested_at")[:MOST_FAILED])
