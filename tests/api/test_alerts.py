"""Alerts, silences, rules and targets through the JSON API, with the refusals that the contract names."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from hud.models import AlertRuleVersion, AuditEntry, Commit, DeliveryAttempt, OutboxMessage, Silence, Target
from hud.services import notify
from hud.services.tokens import make_token
from tests.services.alert_world import AlertWorld, alerts, at_commit
from tests.services.stub import stub_target

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


class Caller:
    """A program with a token; without a role it has none."""

    def __init__(self, role: str | None) -> None:
        self.client, self.headers = Client(), {}
        if role is not None:
            user = User.objects.create_user(f"a-{role}")
            user.groups.add(Group.objects.get_or_create(name=role)[0])
            self.headers = {"Authorization": f"Bearer {make_token(user=user)[1]}"}

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer = self.client.generic(
            method, f"/api/v1{path}", json.dumps(body or {}), content_type="application/json", headers=self.headers
        )
        return answer.status_code, answer.json()


@pytest.fixture
def admin() -> Caller:
    return Caller("admin")


def silence(**changes: Any) -> dict[str, Any]:
    now = timezone.now()
    return {
        "matchers": [{"name": "job", "op": "=", "value": "unit"}],
        "starts_at": now.isoformat(),
        "ends_at": (now + timedelta(hours=2)).isoformat(),
        "reason": "the disk is being changed",
        **changes,
    }


def test_alerts_are_listed_with_the_fields_of_the_contract(admin: Caller) -> None:
    AlertWorld(commits=6).column("unit", "SFFF")
    status, answer = Caller(None).call("GET", "/alerts")
    (item,) = answer["items"]
    assert status == 200 and answer["next"] is None
    assert (item["rule"], item["kind"], item["state"], item["priority"]) == (
        "broken job", "broken_streak", "firing", "P2",
    )  # fmt: skip
    assert (item["first_bad"], item["last_good"], item["suspects"]) == (at_commit(2), at_commit(1), [at_commit(2)])
    assert (item["acknowledged_by"], item["silenced_by"], item["jobs"]) == (None, [], ["unit"])
    assert item["url"].endswith(f"/alerts/{item['id']}")
    for wanted, count in {"state=firing": 1, "state=resolved": 0, "branch=main": 1, "priority=P1": 0}.items():
        assert len(Caller(None).call("GET", f"/alerts?{wanted}")[1]["items"]) == count
    assert len(Caller(None).call("GET", "/alerts?repository=brindle/kestrel&rule=broken job")[1]["items"]) == 1


def test_one_alert_ranks_its_suspects_and_says_why() -> None:
    world = AlertWorld(commits=8)
    Commit.objects.filter(sha=at_commit(2)).update(files=["README.md"])
    Commit.objects.filter(sha=at_commit(3)).update(files=["tests/test_io.py"])
    world.column("unit", "S...FFF", line="FAILED tests/test_io.py::test_read - assert 1 == 2")
    _, detail = Caller(None).call("GET", f"/alerts/{alerts()[0].pk}")
    ranked = detail["ranked_suspects"]
    assert [one["sha"] for one in ranked] == [at_commit(n) for n in (3, 5, 4, 2)]
    assert ranked[0]["reasons"] == ["touches tests/test_io.py, where the failing test is"]
    assert [one["files"] for one in ranked] == ["whole", "unknown", "unknown", "whole"]
    assert sum(one["probability"] for one in ranked) + detail["chance"] == pytest.approx(1, abs=0.001)


def test_a_mass_failure_ranks_no_suspects() -> None:
    world = AlertWorld(commits=6)
    for n in range(6):
        world.column(f"job {n}", "SFFF")
    mass = next(alert for alert in alerts() if alert.kind == "mass_failure")
    _, detail = Caller(None).call("GET", f"/alerts/{mass.pk}")
    assert (detail["ranked_suspects"], detail["chance"]) == ([], None)


def test_a_long_list_goes_on_at_next(admin: Caller) -> None:
    world = AlertWorld(commits=6)
    for name in ("unit", "smoke", "lint"):
        world.column(name, "SFFF")
    _, first = admin.call("GET", "/alerts?limit=2")
    _, rest = admin.call("GET", first["next"].partition("/api/v1")[2])
    assert [len(first["items"]), len(rest["items"]), rest["next"]] == [2, 1, None]


def test_a_silence_is_made_read_changed_and_ended_and_each_change_is_in_the_trail(admin: Caller) -> None:
    AlertWorld(commits=6).column("unit", "SFFF")
    status, made = admin.call("POST", "/silences", silence(author="somebody else"))
    assert (status, made["author"], made["state"], made["version"]) == (201, "a-admin", "active", 1)
    assert admin.call("GET", "/alerts")[1]["items"][0]["silenced_by"] == [made["id"]]
    path = f"/silences/{made['id']}"
    status, changed = admin.call("PUT", path, silence(reason="longer than thought", version=1))
    assert (status, changed["version"], changed["reason"]) == (200, 2, "longer than thought")
    status, problem = admin.call("PUT", path, silence(reason="lost", version=1))
    assert status == 409 and "version 2" in problem["detail"]
    assert admin.call("PUT", path, silence())[0] == 422
    status, ended = admin.call("POST", f"{path}/expire")
    assert (status, ended["state"]) == (200, "expired")
    assert admin.call("POST", f"{path}/expire")[1]["version"] == ended["version"]
    assert admin.call("PUT", path, silence(version=3))[0] == 409
    assert [s["id"] for s in Caller(None).call("GET", "/silences?state=expired")[1]] == [made["id"]]
    trail = list(AuditEntry.objects.filter(target=f"silence {made['id']}").values_list("what", "who"))
    assert trail == [("silence.expired", "a-admin"), ("silence.changed", "a-admin"), ("silence.made", "a-admin")]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"matchers": []}, "at least one matcher"),
    ({"matchers": [{"name": "job", "op": "=~", "value": ".*"}]}, "every alert"),
    ({"matchers": [{"name": "job", "op": "!=", "value": "x"}]}, "every alert"),
    ({"matchers": [{"name": "priority", "op": "=~", "value": "P[0-3]"}]}, "every alert"),
    ({"matchers": [{"name": "job", "op": "=~", "value": "("}]}, "pattern"),
    ({"matchers": [{"name": "colour", "op": "=", "value": "red"}]}, "no label"),
    ({"matchers": [{"name": "job", "op": "==", "value": "red"}]}, "no operator"),
    ({"reason": "  "}, "why"),
    ({"ends_at": None}, "ends"),
    ({"starts_at": None}, "starts"),
    ({"ends_at": "2026-11-30T11:00:00Z"}, "over before"),
    ({"ends_at": "2027-01-30T11:00:00Z"}, "at most 30 days"),
]


def test_a_silence_without_what_it_needs_is_refused_with_the_reason(admin: Caller) -> None:
    for changes, word in REFUSED:
        status, problem = admin.call("POST", "/silences", silence(**changes))
        assert status == 422 and word in problem["detail"], changes
    assert not Silence.objects.exists()


def test_who_may_not_is_told_so() -> None:
    nobody, on_call = Caller(None), Caller("on-call")
    for path in ("/silences", "/silences/preview", "/alert-rules", "/alert-rules/preview", "/targets"):
        assert nobody.call("POST", path, silence())[0] == 401
        status, problem = on_call.call("POST", path, silence())
        assert status == 403 and "admin" in problem["detail"]


def test_the_preview_tells_what_would_be_hidden_now_and_was(admin: Caller) -> None:
    world = AlertWorld(commits=6)
    world.column("unit", "SFFF")
    status, hidden = admin.call("POST", "/silences/preview", {"matchers": silence()["matchers"]})
    assert (status, [a["title"] for a in hidden["now"]]) == (200, ["unit broken on main for 3 commits"])
    world.cell(5, "unit", "S")
    _, hidden = admin.call("POST", "/silences/preview", {"matchers": silence()["matchers"]})
    assert (hidden["now"], [a["state"] for a in hidden["past"]]) == ([], ["resolved"])
    assert hidden["until"].startswith("2026-03-02T"), "nothing is newer: the days of a recording end with it"
    assert admin.call("POST", "/silences/preview", {"matchers": [{"name": "job", "op": "=", "value": "x"}]})[0] == 200


def test_on_call_acknowledges_and_the_list_names_who(admin: Caller) -> None:
    AlertWorld(commits=6).column("unit", "SFFF")
    path = f"/alerts/{alerts()[0].pk}/acknowledge"
    assert Caller(None).call("POST", path)[0] == 401
    assert Caller("viewer").call("POST", path)[0] == 403
    status, item = Caller("on-call").call("POST", path, {"note": "on it"})
    assert (status, item["acknowledged_by"]) == (200, "a-on-call")
    _, detail = admin.call("GET", f"/alerts/{item['id']}")
    assert [e["kind"] for e in detail["timeline"]] == ["raised", "acknowledged"]
    assert admin.call("POST", "/alerts/999/acknowledge")[0] == 404


def test_rules_have_defaults_a_history_and_a_dry_run(admin: Caller) -> None:
    world = AlertWorld(commits=8)
    world.column("unit", "SFFSFFFS")
    _, rules = Caller(None).call("GET", "/alert-rules?repository=brindle/kestrel")
    assert [r["name"] for r in rules] == ["broken job", "mass failure"]
    spec = {"threshold": 2, "jobs": ["unit"], "priority": "P3", "team": "io"}
    body = {"repository": "brindle/kestrel", "name": "two in a row", "spec": spec, "days": 365}
    status, dry = admin.call("POST", "/alert-rules/preview", body)
    told = [(a["first_bad"], a["opened_at"], a["resolved_at"]) for a in dry["alerts"]]
    assert status == 200
    assert told == [(at_commit(2), at_commit(3), at_commit(4)), (at_commit(5), at_commit(6), at_commit(8))]
    status, rule = admin.call("POST", "/alert-rules", body)
    assert status == 201
    made = [(a.first_bad, a.opened_at_sha, a.resolved_at_sha) for a in alerts() if a.rule_id == rule["id"]]
    assert made[0][0] in (at_commit(2), at_commit(5))
    status, changed = admin.call("PUT", f"/alert-rules/{rule['id']}", {"version": 1, "spec": {"threshold": 4}})
    assert (status, changed["version"], changed["spec"]["team"]) == (200, 2, "io")
    assert admin.call("PUT", f"/alert-rules/{rule['id']}", {"version": 1})[0] == 409
    assert admin.call("POST", "/alert-rules", {**body, "spec": {"jobs": ["("], "threshold": 0}})[0] == 422
    assert AlertRuleVersion.objects.filter(rule_id=rule["id"]).count() == 2
    assert len(admin.call("GET", f"/alert-rules/{rule['id']}")[1]["history"]) == 2


def test_what_a_change_leaves_out_stays_as_it_is(admin: Caller, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    AlertWorld(commits=1)
    body = {"repository": "brindle/kestrel", "name": "two", "spec": {"threshold": 2}, "enabled": False}
    _, rule = admin.call("POST", "/alert-rules", body)
    _, changed = admin.call("PUT", f"/alert-rules/{rule['id']}", {"version": 1, "spec": {"threshold": 4}})
    assert (changed["name"], changed["enabled"], changed["spec"]["threshold"]) == ("two", False, 4)
    config = {"url": "http://127.0.0.1:9/"}
    body = {"name": "t", "config": config, "teams": ["io"], "repository": "brindle/kestrel", "enabled": False}
    _, target = admin.call("POST", "/targets", body)
    _, changed = admin.call("PUT", f"/targets/{target['id']}", {"version": 1, "together": True})
    assert changed == {**target, "version": 2, "together": True}
    _, changed = admin.call("PUT", f"/targets/{target['id']}", {"version": 2, "repository": "", "enabled": True})
    assert (changed["repository"], changed["enabled"], changed["teams"]) == (None, True, ["io"])
    settings.SMTP_URL = "smtp://127.0.0.1:1"
    _, mail = admin.call("POST", "/targets", {"name": "m", "kind": "email", "config": {"to": ["ana@company.com"]}})
    status, changed = admin.call("PUT", f"/targets/{mail['id']}", {"version": 1, "config": {"to": ["bo@company.com"]}})
    assert (status, changed["kind"], changed["shown"]) == (200, "email", "bo@company.com")


@pytest.mark.parametrize(
    ("kind", "config"),
    [("email", {"to": 5}), ("email", {"to": [None]}), ("github", {"repository": "a/b", "token": "t", "labels": 5})],
)
def test_a_target_of_what_is_no_text_is_refused(admin: Caller, kind: str, config: Any) -> None:
    status, problem = admin.call("POST", "/targets", {"name": "t", "kind": kind, "config": config})
    assert (status, "write text" in problem["detail"]) == (422, True)


@pytest.mark.parametrize("name", ["a\x00b", "half \ud83d"])
def test_a_rules_name_that_cannot_be_kept_is_refused(admin: Caller, name: str) -> None:
    AlertWorld(commits=1)
    status, problem = admin.call("POST", "/alert-rules", {"repository": "brindle/kestrel", "name": name})
    assert (status, "can be seen" in problem["detail"]) == (422, True)


INSIDE = [
    "http://127.0.0.1:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f.1:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://169.254.169.254/latest/",
    "http://localhost.:{port}/",
    "http://user:word@127.0.0.1:{port}/",
    "ftp://127.0.0.1:{port}/",
    "json://127.0.0.1:{port}/",
    "jsons://127.0.0.1:{port}/",
    "json://2130706433:{port}/",
    "syslog://",
    "mailto://u:p@example.com?smtp=127.0.0.1&to=a@example.com",
]


def test_a_target_that_points_inside_is_refused_when_saved(admin: Caller) -> None:
    with stub_target() as stub:
        for url in INSIDE:
            config = {"url": url.format(port=stub.port)}
            kind = "webhook" if url.startswith(("http", "ftp")) else "apprise"
            status, problem = admin.call("POST", "/targets", {"name": "in", "kind": kind, "config": config})
            assert status == 422 and problem["detail"], url
        assert stub.connections == 0 and not Target.objects.exists()


@pytest.mark.parametrize("kind", ["webhook", "apprise", "alertmanager"])
def test_an_address_that_was_allowed_once_is_refused_again_when_sent(admin: Caller, settings: Any, kind: str) -> None:
    with stub_target() as stub:
        settings.NOTIFY_HOSTS = ["127.0.0.1"]
        scheme = "json" if kind == "apprise" else "http"
        config = {"url": f"{scheme}://127.0.0.1:{stub.port}/x"}
        status, target = admin.call("POST", "/targets", {"name": "t", "kind": kind, "config": config})
        assert status == 201
        status, _ = admin.call("POST", f"/targets/{target['id']}/test")
        notify.deliver_to(target["id"])
        assert (status, len(stub.got)) == (202, 1)
        settings.NOTIFY_HOSTS = []
        connections = stub.connections
        admin.call("POST", f"/targets/{target['id']}/test")
        notify.deliver_to(target["id"])
        assert stub.connections == connections
        refused = OutboxMessage.objects.latest("id")
        assert refused.state == "failed" and "Refused" in refused.error
        assert "secret" not in json.dumps(list(DeliveryAttempt.objects.values_list("error", flat=True)))


def test_an_allowed_services_redirect_does_not_lead_inside(admin: Caller, settings: Any) -> None:
    with stub_target() as inside, stub_target() as outside:
        settings.NOTIFY_HOSTS = [f"127.0.0.1:{outside.port}"]
        outside.answers, outside.location = [307], inside.url
        config = {"url": f"json://127.0.0.1:{outside.port}/x"}
        _, target = admin.call("POST", "/targets", {"name": "t", "kind": "apprise", "config": config})
        admin.call("POST", f"/targets/{target['id']}/test")
        notify.deliver_to(target["id"])
        assert (outside.connections, inside.connections) == (1, 0)
        assert OutboxMessage.objects.get().state == "waiting", "it was not taken: it is tried again"


def test_secrets_are_written_only(admin: Caller, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    config = {"url": "http://127.0.0.1:9/path-secret", "secret": "word-secret"}
    _, target = admin.call("POST", "/targets", {"name": "t", "kind": "webhook", "config": config})
    shown = json.dumps([target, admin.call("GET", "/targets")[1], list(AuditEntry.objects.values())], default=str)
    assert "path-secret" not in shown and "word-secret" not in shown
    assert Caller(None).call("GET", "/targets")[0] == 401
    status, changed = admin.call("PUT", f"/targets/{target['id']}", {"name": "u", "version": 1})
    assert (status, changed["name"], changed["kind"]) == (200, "u", "webhook")


def test_a_service_is_named_with_the_parts_of_its_form_and_how_it_is_told(admin: Caller, settings: Any) -> None:
    settings.GITHUB_TOKEN = "ghp_huds"
    night = {"from": "22:00", "to": "07:00", "zone": "Europe/Berlin", "priorities": ["P3"]}
    hook = {"webhook": "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"}
    body = {"name": "chat", "service": "slack", "fields": hook, "together": True, "group_s": 20, "quiet": night}
    status, target = admin.call("POST", "/targets", body)
    assert (status, target["kind"], target["quiet"], target["group_s"]) == (201, "apprise", night, 20)
    status, kept = admin.call("PUT", f"/targets/{target['id']}", {"name": "talk", "service": "slack", "version": 1})
    assert (status, kept["name"], kept["together"], kept["quiet"]) == (200, "talk", True, night)
    for wrong in (
        {"quiet": {**night, "zone": "Mars"}},
        {"group_s": -1},
        {"service": "pigeon"},
        {"fields": {"webhook": "x"}},
    ):
        status, problem = admin.call("PUT", f"/targets/{target['id']}", {**body, **wrong, "version": 2})
        assert status == 422 and problem["detail"], wrong
    status, made = admin.call("POST", "/targets", {"name": "i", "kind": "github", "config": {"repository": "o/n"}})
    assert (status, made["shown"]) == (201, "o/n")
