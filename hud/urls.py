"""Every address of HUD. The contract's paths are fixed; see docs/architecture.md.

A branch may hold slashes, so its pattern comes last. Addresses below a repository that only the pages themselves
use begin with "-": no branch can.
"""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path, register_converter
from django.urls.converters import IntConverter

from hud.api.hud_shape import hud
from hud.api.v1 import api
from hud.views import (
    alert_rules,
    author_mail,
    blocking,
    card,
    comment,
    flaky,
    grid,
    hooks,
    live,
    pull,
    rule_editor,
    rules,
    silences_editor,
    why,
)
from hud.views import alerts as alert_pages
from hud.views import notices as notice_pages
from hud.views import silences as silence_pages
from hud.views import subscriptions as subscription_pages
from hud.views.apidocs import docs
from hud.views.badge import badge
from hud.views.commit import commit
from hud.views.failures import failures
from hud.views.health import health
from hud.views.icon import favicon
from hud.views.job import job
from hud.views.labels import labels
from hud.views.manage import audit as manage_audit
from hud.views.manage import follow as manage_follow
from hud.views.manage import groups as manage_groups
from hud.views.manage import inbox as manage_inbox
from hud.views.manage import overview as manage_overview
from hud.views.manage import targets as manage_targets
from hud.views.metrics import metrics
from hud.views.run import raw_log, run_page
from hud.views.signin import SignIn


class SignedIntConverter(IntConverter):
    """A whole number that may be negative: the id of a workflow's own start."""

    regex = "-?[0-9]{1,18}"


register_converter(SignedIntConverter, "signed")

urlpatterns: list[URLPattern | URLResolver] = [
    path("", grid.home, name="home"),
    path("favicon.ico", favicon, name="favicon"),
    path("health", health, name="health"),
    path("hooks/github", hooks.github, name="github-hook"),
    path("metrics", metrics, name="metrics"),
    path("failures", failures, name="failures"),
    path("flaky", flaky.home, name="flaky-home"),
    path("badge/<owner>/<name>/<path:branch>.svg", badge, name="badge"),
    path("api/hud/<owner>/<name>/<path:branch>/<int:page>", hud, name="api-hud"),
    path("api/v1/docs", docs, name="api-docs"),
    path("api/v1/", api.urls),
    path("accounts/login/", SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("alerts", alert_pages.alerts, name="alerts"),
    path("alerts/<int:alert_id>", alert_pages.alert, name="alert"),
    path("alerts/<int:alert_id>/acknowledge", alert_pages.acknowledge, name="alert-acknowledge"),
    path("alerts/<int:alert_id>/note", alert_pages.note, name="alert-note"),
    path("alerts/<int:alert_id>/silence", alert_pages.silence, name="alert-silence"),
    path("alerts/<int:alert_id>/not-mine/<str:token>", author_mail.not_mine, name="alert-not-mine"),
    path("alerts/<int:alert_id>/review.md", alert_pages.review, name="alert-review"),
    path("silences", silence_pages.silences, name="silences"),
    path("silences/new", silences_editor.new, name="silence-new"),
    path("silences/debt", silence_pages.debt, name="silence-debt"),
    path("silences/<int:silence_id>", silence_pages.silence, name="silence"),
    path("silences/<int:silence_id>/edit", silences_editor.edit, name="silence-edit"),
    path("silences/<int:silence_id>/expire", silence_pages.expire, name="silence-expire"),
    # ── Subscriptions ────────────────────────────────────────────────────────────────────────────────────────────────
    path("subscriptions", subscription_pages.subscriptions, name="subscriptions"),
    path("subscriptions/address", subscription_pages.address, name="subscription-address"),
    path("subscriptions/confirm/<str:token>", subscription_pages.confirm, name="address-confirm"),
    path("subscriptions/<int:subscription_id>/change", subscription_pages.change, name="subscription-change"),
    path("subscriptions/stop/<str:token>", subscription_pages.stop, name="subscription-stop"),
    # ── For admins ───────────────────────────────────────────────────────────────────────────────────────────────────
    path("manage/", manage_overview.overview, name="manage"),
    path("manage/follow", manage_follow.follow, name="follow"),
    path("manage/follow/<int:request_id>", manage_follow.progress, name="back-fill"),
    path("manage/follow/stop", manage_follow.stop, name="stop-following"),
    path("manage/follow/untrack", manage_follow.untrack, name="stop-tracking"),
    path("manage/follow/secret", manage_follow.secret, name="webhook-secret"),
    path("manage/inbox", manage_inbox.inbox, name="inbox"),
    path("manage/inbox/<int:item_id>", manage_inbox.item, name="inbox-item"),
    path("manage/inbox/retry", manage_inbox.retry, name="inbox-retry"),
    path("manage/inbox/dismiss", manage_inbox.dismiss, name="inbox-dismiss"),
    path("manage/groups/<owner>/<name>", manage_groups.groups, name="groups"),
    path("manage/jobs/<owner>/<name>", blocking.blocking, name="job-lists"),
    path("manage/audit", manage_audit.audit, name="audit"),
    path("manage/authors/<owner>/<name>", author_mail.authors, name="authors"),
    path("manage/notices", notice_pages.notices, name="notices"),
    path("manage/notices/<int:notice_id>", notice_pages.edit, name="notice-edit"),
    path("manage/notices/<int:notice_id>/end", notice_pages.end, name="notice-end"),
    path("manage/targets", manage_targets.targets, name="targets"),
    path("manage/targets/test", manage_targets.test, name="target-test"),
    # ── Alert rules ──────────────────────────────────────────────────────────────────────────────────────────────────
    path("manage/alert-rules", alert_rules.home, name="alert-rules"),
    path("manage/alert-rules/<owner>/<name>", alert_rules.rules, name="alert-rules-of"),
    path("manage/alert-rules/<owner>/<name>/new", alert_rules.new, name="alert-rule-new"),
    path("manage/alert-rules/<owner>/<name>/<int:rule_id>", alert_rules.rule, name="alert-rule"),
    path("manage/alert-rules/<owner>/<name>/<int:rule_id>/edit", alert_rules.edit, name="alert-rule-edit"),
    path("manage/alert-rules/<owner>/<name>/<int:rule_id>/switch", alert_rules.switch, name="alert-rule-switch"),
    path("manage/alert-rules/<owner>/<name>/<int:rule_id>/undo", alert_rules.undo, name="alert-rule-undo"),
    # ── Classifier rules ─────────────────────────────────────────────────────────────────────────────────────────────
    path("rules", rules.rules, name="rules"),
    path("rules/new", rule_editor.new, name="rule-new"),
    path("rules/works", rules.works, name="rule-works"),
    path("rules/trials/<int:trial_id>", rules.trial, name="rule-trial"),
    path("rules/trials/<int:trial_id>/cancel", rules.cancel, name="rule-trial-cancel"),
    path("rules/<int:rule_id>", rules.rule, name="rule"),
    path("rules/<int:rule_id>/edit", rule_editor.edit, name="rule-edit"),
    path("rules/<int:rule_id>/undo", rules.undo, name="rule-undo"),
    path("rules/<int:rule_id>/switch", rules.switch, name="rule-switch"),
    # ── Below a repository ───────────────────────────────────────────────────────────────────────────────────────────
    path("<owner>/<name>/-/flaky", flaky.flaky, name="flaky"),
    path("<owner>/<name>/-/cell/<sha>/<int:column>", card.cell, name="cell"),
    path("<owner>/<name>/-/card/<sha>/<int:column>", card.card, name="card"),
    path("<owner>/<name>/-/card/<sha>/group", card.group, name="group-card"),
    path("<owner>/<name>/-/why/<sha>/<int:column>", why.why, name="why"),
    path("<owner>/<name>/-/labels", labels, name="labels"),
    path("<owner>/<name>/-/pulls", pull.pulls, name="pulls"),
    path("<owner>/<name>/-/follow/<path:branch>", subscription_pages.new, name="subscription-new"),
    path("<owner>/<name>/-/live/<path:branch>", live.live, name="live"),
    path("<owner>/<name>/-/changes/<path:branch>", live.changes, name="changes"),
    path("<str:owner>/<str:name>/commit/<str:sha>", commit, name="commit"),
    path("<str:owner>/<str:name>/pull/<int:number>", pull.pull, name="pull"),
    path("<str:owner>/<str:name>/pull/<int:number>/report", comment.report, name="pull-report"),
    path("<str:owner>/<str:name>/job/<int:job_id>", job, name="job"),
    path("<str:owner>/<str:name>/run/<signed:external_id>", run_page, name="run"),
    path("<str:owner>/<str:name>/run/<signed:external_id>/log", raw_log, name="raw-log"),
    # ── Last, because a branch may hold slashes ──────────────────────────────────────────────────────────────────────
    path("<owner>/<name>/<path:branch>", grid.grid, name="grid"),
]

handler404 = "hud.views.errors.page_not_found"
handler403 = "hud.views.errors.permission_denied"
