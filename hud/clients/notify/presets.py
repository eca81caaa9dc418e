"""The forms of targets: what is asked for each service, and the address or configuration that comes of it.

Chats and pagers are reached through Apprise (https://appriseit.com/services/); its addresses are built here, so that
nobody has to know how they are written.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hud.clients.notify.post import TargetRefused

Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that is asked for. `secret`: it is never shown again. `choices`: a list to choose from."""

    name: str
    label: str
    example: str = ""
    secret: bool = True
    required: bool = True
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Preset:
    """The form of one service. `together`: several alerts go as one message unless somebody says otherwise; None: the
    service takes one message for each alert."""

    name: str
    label: str
    kind: str
    fields: tuple[Field, ...]
    help: str
    config: Callable[[Values], dict[str, Any]]
    together: bool | None = False

    def build(self, values: Values) -> dict[str, Any]:
        """Return the configuration. `typed` in it is what it was made of. Raises TargetRefused."""
        typed = {field.name: str(values.get(field.name) or "").strip() for field in self.fields}
        for field in self.fields:
            if field.required and not typed[field.name]:
                raise TargetRefused(f"{field.label}: this is needed.")
            if field.choices and typed[field.name] not in dict(field.choices):
                raise TargetRefused(f"{field.label}: choose one of the list.")
        return {**self.config(typed), "typed": typed}


def _same(values: Values) -> dict[str, Any]:
    return dict(values)


def _matched(label: str, pattern: str, text: str) -> str:
    if not re.fullmatch(pattern, text):
        raise TargetRefused(f"{label}: this does not look like one; see the example.")
    return text


def _slack(values: Values) -> dict[str, Any]:
    pattern = r"https://hooks\.slack(-gov)?\.com/(services|workflows|triggers)/[\w/-]{5,300}"
    return {"url": _matched("Webhook address", pattern, values["webhook"])}


def _discord(values: Values) -> dict[str, Any]:
    pattern = r"https://discord(app)?\.com/api/webhooks/[0-9]{5,30}/[\w-]{5,200}/?"
    return {"url": _matched("Webhook address", pattern, values["webhook"])}


def _teams(values: Values) -> dict[str, Any]:
    pattern = r"https://[\w.-]+(:\d+)?/[\w/-]*workflows/[\w-]+/triggers/manual/paths/invoke/?\?[\w%&=.~-]{5,1500}"
    return {"url": _matched("Workflow address", pattern, values["webhook"])}


def _telegram(values: Values) -> dict[str, Any]:
    token = _matched("Bot token", r"[0-9]{5,20}:[\w-]{10,100}", values["token"])
    chat = _matched("Chat", r"-?[0-9]{1,20}(:[0-9]{1,10})?|@[\w]{3,50}", values["chat"])
    return {"url": f"tgram://{token}/{chat}/"}


def _pagerduty(values: Values) -> dict[str, Any]:
    key = _matched("Integration key", r"[A-Za-z0-9_-]{10,100}", values["key"])
    # The end of an alert resolves the incident that its beginning triggered: both carry the same deduplication key.
    return {"url": f"pagerduty://{key}@events/HUD/?action=map&region={values['region']}"}


def _opsgenie(values: Values) -> dict[str, Any]:
    key = _matched("API key", r"[A-Za-z0-9-]{10,100}", values["key"])
    # Apprise takes a blank for the end of a name.
    team = _matched("Team", r"[\w.-]{1,100}", values["team"]) if values["team"] else ""
    team = f"%23{quote(team, safe='')}/" if team else ""
    return {"url": f"opsgenie://{key}/{team}?region={values['region']}"}


_REGIONS = (("us", "US"), ("eu", "EU"))
_PLACE = "Its host must be public, or be named in the setting NOTIFY_HOSTS."
PRESETS: tuple[Preset, ...] = (
    Preset(
        "webhook", "Webhook", "webhook",
        (
            Field("url", "Address", "https://hooks.example.org/ci"),
            Field("secret", "Secret that signs messages", required=False),
        ),
        "A POST with JSON for each message; the header Idempotency-Key names it, and with a secret X-HUD-Signature-256 "
        f"signs it. {_PLACE}",
        _same,
    ),
    Preset(
        "email", "E-mail", "email",
        (Field("to", "Addresses, parted by commas", "oncall@example.org", secret=False),),
        "Sent through the server of the setting SMTP_URL.", _same, together=True,
    ),
    Preset(
        "slack", "Slack", "apprise",
        (Field("webhook", "Webhook address", "https://hooks.slack.com/services/T…/B…/…"),),
        "In Slack: Apps, Incoming Webhooks, Add to Slack, choose the channel, copy the address.", _slack, together=True,
    ),
    Preset(
        "discord", "Discord", "apprise",
        (Field("webhook", "Webhook address", "https://discord.com/api/webhooks/…/…"),),
        "In Discord: the channel's settings, Integrations, Webhooks, New Webhook, copy the address.",
        _discord, together=True,
    ),
    Preset(
        "teams", "Microsoft Teams", "apprise",
        (Field("webhook", "Workflow address", "https://….logic.azure.com/workflows/…/triggers/manual/paths/invoke?…"),),
        "In Teams: the channel's Workflows, “Send webhook alerts to a channel”, copy the address.",
        _teams, together=True,
    ),
    Preset(
        "telegram", "Telegram", "apprise",
        (
            Field("token", "Bot token", "123456789:AA…"),
            Field("chat", "Chat", "-1001234567890 or @channel", secret=False),
        ),
        "The bot is made by @BotFather, and must be a member of the chat.", _telegram, together=True,
    ),
    Preset(
        "pagerduty", "PagerDuty", "apprise",
        (
            Field("key", "Integration key"),
            Field("region", "Region", secret=False, choices=_REGIONS),
        ),
        "In PagerDuty: the service, Integrations, Events API v2. The end of an alert resolves its incident.",
        _pagerduty, together=None,
    ),
    Preset(
        "opsgenie", "Opsgenie", "apprise",
        (
            Field("key", "API key"),
            Field("team", "Team, by id or by a name without blanks", secret=False, required=False),
            Field("region", "Region", secret=False, choices=_REGIONS),
        ),
        "In Opsgenie: the team, Integrations, API. The end of an alert closes its alert there.",
        _opsgenie, together=None,
    ),
    Preset(
        "apprise", "Any service that Apprise knows", "apprise",
        (Field("url", "Apprise address", "ntfy://…, matrixs://…, pover://…"),),
        f"Written as Apprise's list of services says; only services over HTTP and e-mail are taken. {_PLACE}",
        _same, together=True,
    ),
    Preset(
        "alertmanager", "Prometheus Alertmanager", "alertmanager",
        (Field("url", "Address", "https://alertmanager.example.org"),),
        "Its v2 API: your own routes, groups and silences there decide. It is told every minute what still fires, as "
        f"it forgets what it does not hear of. {_PLACE}",
        _same, together=None,
    ),
    Preset(
        "github", "GitHub issue", "github",
        (
            Field("repository", "Repository of the issues", "owner/name", secret=False),
            Field("token", "Token that may write issues there", required=False),
            Field("labels", "Labels, parted by commas", "ci", secret=False, required=False),
        ),
        "One issue for each cause: opened, commented on when something happens, closed when it is over. An issue that "
        "somebody closes by hand is left alone. Without a token HUD's own is used (GITHUB_TOKEN).",
        _same, together=None,
    ),
)  # fmt: skip
BY_NAME = {preset.name: preset for preset in PRESETS}


def preset_of(kind: str, service: str) -> Preset:
    """Return the form of a target; one made without a form has that of its kind."""
    return BY_NAME.get(service) or BY_NAME[kind]
