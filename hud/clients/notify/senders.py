"""Which kind of target is reached how."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from hud.clients.notify import alertmanager, email, issue, service, webhook
from hud.clients.notify.post import Options, Outcome, Post, TargetRefused

_CHECKS: dict[str, Callable[[Mapping[str, Any], Options], dict[str, Any]]] = {
    "webhook": webhook.check,
    "email": email.check,
    "apprise": service.check,
    "alertmanager": alertmanager.check,
    "github": issue.check,
}
_SENDERS: dict[str, Callable[[Post, Options], Outcome]] = {
    "webhook": webhook.send,
    "email": email.send,
    "apprise": service.send,
    "alertmanager": alertmanager.send,
}


def check_target(kind: str, config: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Return the configuration as it is kept, without `typed` (see Preset.build). Raises TargetRefused."""
    if kind not in _CHECKS:
        raise TargetRefused(f"There is no kind of target {kind[:20]!r}; there are {', '.join(_CHECKS)}.")
    for name, value in config.items():
        if name != "typed" and not _is_text(value):
            raise TargetRefused(f"{name[:40]}: write text, or a list of texts.")
    return _CHECKS[kind](config, options)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def send(post: Post, options: Options) -> Outcome:
    """Send one message. Refusals of addresses come back as an outcome that is final."""
    try:
        return _SENDERS[post.kind](post, options)
    except TargetRefused as error:
        return Outcome(False, None, f"Refused: {error}", final=True)


def shown_address(kind: str, config: Mapping[str, Any]) -> str:
    """Return what pages may show of an address: enough to know it again, nothing to use it."""
    if kind == "email":
        return ", ".join(config.get("to", []))[:300]
    if kind == "github":
        return str(config.get("repository", ""))
    parts = urlsplit(str(config.get("url", "")))
    if kind == "apprise":
        return "an address of its own" if parts.scheme.startswith("http") else f"{parts.scheme}://…"
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}/…"
