"""The editor of a silence: what it would hide is seen before it is saved, and nobody's change is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from hud.core.alerts.matchers import LABELS, OPERATORS, BadMatcher, read_matchers
from hud.core.alerts.silenceform import (
    SPARE_ROWS,
    TypedRow,
    TypedSilence,
    lengths,
    read_times,
    time_words,
    typed_like,
    typed_of,
    typed_silence,
)
from hud.core.alerts.silencevalues import SilenceValues, compare, fingerprint, put_together
from hud.core.wholenumber import whole_number
from hud.models import Alert, Silence
from hud.queries.silence_labels import known_labels
from hud.queries.silence_matching import matchers_for, matchers_of, state_of
from hud.queries.silence_preview import Hidden, hidden_by
from hud.queries.silences import last_change, values_at_version
from hud.services.silences import SilenceConflict, SilenceRefused, change_silence, check, make_silence
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby
from hud.views.partial import wants_fragment
from hud.views.silences import no_silence

PAGE = "Silencing alerts"
PURPOSE = "Admins quiet alerts here for a time, with a reason and an end. The red stays visible to everybody."
OPERATOR_WORDS = {"=": "is", "!=": "is not", "=~": "matches", "!~": "does not match"}
_TYPED = ("starts_at", "length", "ends_at", "until_resolved", "reason", "issue_url")
_MOST_ROWS = 330  # more fields than Django reads of a form are never seen here


@dataclass(frozen=True, slots=True)
class Editor:
    """Which silence is edited: `silence` is None for a new one. `version`: the one that the person began with."""

    silence: Silence | None = None
    version: int = 0

    @property
    def path(self) -> str:
        return reverse("silence-edit", args=[self.silence.pk]) if self.silence else reverse("silence-new")


@dataclass(frozen=True, slots=True)
class Checked:
    """What was typed, read: `values` is None where something is wrong; `hidden` where the matchers can be used."""

    values: SilenceValues | None
    hidden: Hidden | None
    seen: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[int, str] = field(default_factory=dict)


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def new(request: HttpRequest) -> HttpResponseBase:
    """A new silence: empty, for an alert (?alert=), or like another one (?from=)."""
    editor = Editor()
    if request.method == "POST":
        return _posted(request, editor)
    return _page(request, editor, _prefilled(request), fresh=True)


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def edit(request: HttpRequest, silence_id: int) -> HttpResponseBase:
    """Change a silence that is not over."""
    silence = Silence.objects.filter(pk=silence_id).first() or no_silence(silence_id).silence
    if request.method == "POST":
        return _posted(request, Editor(silence, _whole(request.POST.get("version", ""))))
    if state_of(silence) == "expired":
        messages.info(request, "It is over and can no longer be changed; make a new one like it.")
        return redirect("silence", silence_id)
    return _page(request, Editor(silence, silence.version), typed_of(_values_of(silence)))


def _prefilled(request: HttpRequest) -> TypedSilence:
    now = timezone.now().replace(second=0, microsecond=0)
    alert_id, from_id = _whole(request.GET.get("alert", "")), _whole(request.GET.get("from", ""))
    if from_id:
        silence = Silence.objects.filter(pk=from_id).first() or no_silence(from_id).silence
        return typed_like(_values_of(silence), now, _longest())
    rows: tuple[TypedRow, ...] = ()
    if alert_id:
        alert = Alert.objects.filter(pk=alert_id).select_related("rule", "branch__repository").first()
        if alert is None:
            raise Missing(f"There is no alert {alert_id}.", (Nearby("All alerts", "/alerts"),))
        rows = tuple(TypedRow(m.name, m.op, m.value) for m in matchers_for(alert))
    return TypedSilence(rows=rows, starts_at=time_words(now))


def _posted(request: HttpRequest, editor: Editor) -> HttpResponseBase:
    typed, action = _typed(request), request.POST.get("action", "preview")
    if action == "add":
        return _page(request, editor, typed, more_rows=SPARE_ROWS, fresh=True)
    if action != "save":
        return _page(request, editor, typed)
    checked = _check(typed, editor)
    if checked.values is None:
        return _page(request, editor, typed, checked=checked, status=422)
    if request.POST.get("seen", "") != checked.seen:
        return _page(request, editor, typed, checked=checked, look_first=True)
    return _save(request, editor, typed, checked.values)


def _save(request: HttpRequest, editor: Editor, typed: TypedSilence, values: SilenceValues) -> HttpResponseBase:
    user = request.user
    if not isinstance(user, User):  # admins_only let nobody else in
        raise TypeError("no user")
    if editor.silence is None:
        silence = make_silence(values, who=user)
        messages.success(request, f"Silence {silence.pk} is made.")
        return redirect("silence", silence.pk)
    try:
        change_silence(editor.silence.pk, values, version=editor.version, who=user)
    except SilenceConflict as conflict:
        return _conflict(request, editor, typed, values, conflict)
    messages.success(request, "The change is saved.")
    return redirect("silence", editor.silence.pk)


def _conflict(
    request: HttpRequest, editor: Editor, typed: TypedSilence, yours: SilenceValues, conflict: SilenceConflict
) -> HttpResponse:
    """Somebody was faster: what was there, theirs and yours, and what may become of them."""
    current = conflict.current
    theirs, was = _values_of(current), values_at_version(current.pk, editor.version)
    compared = compare(was, theirs, yours)
    both = put_together(theirs, yours, compared)
    context = {
        "silence": current,
        "is_over": state_of(current) == "expired",
        "last": last_change(current.pk),
        "seen_version": editor.version,
        "fields": compared,
        "yours": typed,
        "yours_seen": fingerprint(yours.matchers),
        "both": typed_of(both) if both else None,
        "path": editor.path,
    }
    return render(request, "hud/silences/conflict.html", context, status=409)


def _check(typed: TypedSilence, editor: Editor) -> Checked:
    now = timezone.now()
    starts_at = editor.silence.starts_at if editor.silence else None
    times = read_times(typed, now, _longest(), begun_at=starts_at if starts_at and starts_at <= now else None)
    values, errors, rows = None, {}, {}
    try:
        values = check(
            matchers=typed.matchers(),
            starts_at=times.starts_at,
            ends_at=times.ends_at,
            reason=typed.reason,
            until_resolved=times.until_resolved,
            issue_url=typed.issue_url,
            earliest=starts_at,
            unread=times.errors,
        )
    except SilenceRefused as refused:
        errors, rows = refused.errors, refused.rows
    try:
        matchers = values.matchers if values else read_matchers(typed.matchers(), known_labels(typed.matchers()))
    except BadMatcher:
        return Checked(values, None, "", errors, rows)
    return Checked(values, hidden_by(matchers), fingerprint(matchers), errors, rows)


def _page(
    request: HttpRequest,
    editor: Editor,
    typed: TypedSilence,
    *,
    checked: Checked | None = None,
    status: int = 200,
    more_rows: int = 0,
    fresh: bool = False,
    look_first: bool = False,
) -> HttpResponse:
    """`fresh`: what is not typed yet is not wrong yet."""
    checked = checked or _check(typed, editor)
    shown = typed.with_spare_rows(more_rows)
    fragment = wants_fragment(request)
    errors = dict(checked.errors)
    if fragment or fresh:
        errors = {name: words for name, words in errors.items() if _has_been_typed(name, typed)}
    context = {
        "editor": editor,
        "silence": editor.silence,
        "typed": shown,
        "rows": [(row, checked.rows.get(row.number, "") if row.number is not None else "") for row in shown.rows],
        "errors": errors,
        "set_error": "" if checked.rows else errors.get("matchers", ""),
        "checked": checked,
        "hidden": checked.hidden,
        "seen": checked.seen,
        "labels": LABELS,
        "operators": [(op, OPERATOR_WORDS[op]) for op in OPERATORS],
        "lengths": lengths(_longest()),
        "longest_days": settings.SILENCE_MAX_DAYS,
        "has_begun": editor.silence is not None and editor.silence.starts_at <= timezone.now(),
        "refused": status == 422,
        "look_first": look_first,
    }
    template = "hud/silences/preview_answer.html" if fragment else "hud/silences/edit.html"
    return render(request, template, context, status=status)


def _has_been_typed(name: str, typed: TypedSilence) -> bool:
    return bool(typed.matchers() if name == "matchers" else getattr(typed, name, ""))


def _typed(request: HttpRequest) -> TypedSilence:
    post = request.POST
    columns = [post.getlist(name)[:_MOST_ROWS] for name in ("name", "op", "value")]
    return typed_silence({name: post.get(name, "") for name in _TYPED}, list(zip(*columns, strict=False)))


def _values_of(silence: Silence) -> SilenceValues:
    return SilenceValues(
        matchers=matchers_of(silence),
        starts_at=silence.starts_at,
        ends_at=silence.ends_at,
        reason=silence.reason,
        until_resolved=silence.until_resolved,
        issue_url=silence.issue_url,
    )


def _longest() -> timedelta:
    return timedelta(days=settings.SILENCE_MAX_DAYS)


def _whole(text: str) -> int:
    return whole_number(text) or 0
