"""Sending one message to one target. Addresses come from people: each is checked when saved and when connected to.

check_target("webhook", {"url": "https://hooks.example.org/x"}, options)   # raises TargetRefused, with the reason
outcome = send(Post("webhook", config, key, payload, repeat=False), options)
"""

from hud.clients.notify.alertmanager import send_again
from hud.clients.notify.post import Options, Outcome, Post, TargetRefused
from hud.clients.notify.presets import PRESETS, Preset, preset_of
from hud.clients.notify.senders import check_target, send, shown_address

__all__ = [
    "PRESETS",
    "Options",
    "Outcome",
    "Post",
    "Preset",
    "TargetRefused",
    "check_target",
    "preset_of",
    "send",
    "send_again",
    "shown_address",
]
