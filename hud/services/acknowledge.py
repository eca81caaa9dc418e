"""Acknowledging: somebody looks after an alert. It mutes repeats, ends with the alert, and stays in its history."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hud.core.text import storable
from hud.models import Acknowledgement, Alert, AlertEvent
from hud.services.audit import record
from hud.services.live import tell_banners_changed


class NotFiring(ValueError):
    """The alert is over: there is nothing to look after."""


@transaction.atomic
def acknowledge(alert_id: int, *, who: AbstractBaseUser, note: str = "") -> Acknowledgement:
    """Note who looks after the alert; a second one takes over from the first. Raises NotFiring, Alert.DoesNotExist."""
    alert = Alert.objects.select_for_update().get(pk=alert_id)
    if alert.state == Alert.State.RESOLVED:
        raise NotFiring("This alert is over: the next time it fires it will be told again.")
    alert.acknowledgements.filter(ended_at=None).update(ended_at=timezone.now())
    note = storable(note.strip(), 4000)
    row = Acknowledgement.objects.create(alert=alert, who=storable(who.get_username(), 150), note=note)
    AlertEvent.objects.create(alert=alert, kind="acknowledged", who=row.who, text=note)
    record(who, "alert.acknowledged", f"alert {alert.pk}", after={"note": note})
    tell_banners_changed([alert.branch_id])
    return row


@transaction.atomic
def take_back_acknowledgement(alert_id: int, *, who: AbstractBaseUser) -> None:
    """Nobody looks after it any more."""
    alert = Alert.objects.select_for_update().get(pk=alert_id)
    if alert.acknowledgements.filter(ended_at=None).update(ended_at=timezone.now()):
        AlertEvent.objects.create(alert=alert, kind="unacknowledged", who=storable(who.get_username(), 150))
        record(who, "alert.unacknowledged", f"alert {alert.pk}")
        tell_banners_changed([alert.branch_id])


@transaction.atomic
def add_note(alert_id: int, *, who: AbstractBaseUser, text: str, is_fix: bool = False) -> AlertEvent:
    """Write a note into the timeline. `is_fix`: it says what fixed it. Raises ValueError for an empty one."""
    if not text.strip():
        raise ValueError("Write something.")
    alert = Alert.objects.get(pk=alert_id)
    return AlertEvent.objects.create(
        alert=alert,
        kind="note",
        who=storable(who.get_username(), 150),
        text=storable(text.strip(), 4000),
        data={"fix": True} if is_fix else {},
    )
