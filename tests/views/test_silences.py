"""The pages of silences: the list, one, its editor with preview, two changes at once, debt; and who may do what."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from hud.models import Alert, AlertRule, Silence, SilenceBreak
from hud.services.silences import change_silence, check, expire_silence, make_silence
from tests.services.alert_world import AlertWorld, alerts
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
SEEK = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
CLOSE = "FAILED tests/test_net.py::test_close - KeyError: 'port'"
HOUR = timedelta(hours=1)
EVIL = "</code><svg onload=alert(4)> \u202egnp <script>alert(1)</script>"


@pytest.fixture
def kim() -> Client:
    return signed_in("admin")


@pytest.fixture
def fired() -> Alert:
    AlertWorld(commits=6).column("unit", "SFFF", line=SEEK)
    return alerts()[0]


def person(name: str = "lea") -> User:
    return User.objects.get_or_create(username=name)[0]


def matcher(name: str = "job", op: str = "=~", value: str = "un.t") -> dict[str, str]:
    return {"name": name, "op": op, "value": value}


def silenced(*matchers: dict[str, str], hours: float = 4, starts_in: float = 0, **changes: Any) -> Silence:
    start = timezone.now() + starts_in * HOUR
    typed = {"starts_at": start, "ends_at": start + hours * HOUR, "reason": "the disk is full", **changes}
    return make_silence(check(matchers=list(matchers) or [matcher()], **typed), who=person())


def body_of(client: Client, path: str, status: int = 200, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == status, answer.content[:2000]
    return answer.content.decode()


def form(*rows: tuple[str, str, str], **changes: str) -> dict[str, Any]:
    rows = rows or (("job", "=~", "un.t"),)
    return {
        "name": [r[0] for r in rows],
        "op": [r[1] for r in rows],
        "value": [r[2] for r in rows],
        "starts_at": "2026-11-30T12:00",
        "length": "4h",
        "ends_at": "",
        "reason": "the disk is full",
        "issue_url": "",
        "version": "0",
        "action": "save",
        "seen": "",
        **changes,
    }


def seen_in(body: str) -> str:
    found = re.search(r'name="seen" value="(\w*)"', body)
    assert found
    return found[1]


def numbers(body: str) -> list[int]:
    return [int(n) for n in re.findall(r'<tr data-silence="(\d+)"', body)]


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_empty_list_says_that_everybody_hears_everything(client: Client) -> None:
    assert "everybody hears of everything" in body_of(client, "/silences")
    assert "There is no silence" in body_of(client, "/silences/debt")


def test_the_list_tells_active_from_coming_from_expired_with_all_of_each(client: Client, fired: Alert) -> None:
    active = silenced(issue_url="https://x.org/7")
    coming = silenced(matcher("team", "=", "infra"), starts_in=5)
    over = silenced(matcher("branch", "!=", "main"))
    expire_silence(over.pk, who=person())
    body = body_of(client, "/silences")
    assert numbers(body) == [active.pk, coming.pk, over.pk]
    assert re.findall(r'data-silence="\d+" data-state="(\w+)"', body) == [
        "active",
        "pending",
        "expired",
    ]
    assert f'href="/alerts/{fired.pk}"' in body and "job=~&quot;un.t&quot;" in body and 'href="https://x.org/7"' in body
    assert "in 4 h" in body and "2026-11-30 16:00 UTC" in body and "lea" in body and "never" in body


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=active", [1, 2]),
        ("state=pending", [3]),
        ("state=expired", []),
        ("author=LE", [1, 2, 3]),
        ("author=kim", []),
        ("matcher=un.t", [1]),
        ("matcher=job%3D~un.t", [1]),
        ('matcher=job%3D~"un.t"', [1]),
        ("matcher=UN.T&state=active", [1]),
        ("matcher=%D1%81%D0%B1%D0%BE%D1%80", [2]),
        ("matcher=100%25_", [3]),
        ("matcher=%25", [3]),
        ("matcher=%00&author=%00", []),
        ("state=else&page=zero", [1, 2, 3]),
        ("state=active&page=99999999999999999999", [1, 2]),
        ("state=active&page=7", []),
    ],
)
def test_the_list_is_filtered_by_state_author_and_matcher(client: Client, query: str, found: list[int]) -> None:
    rows = [
        silenced(hours=1),
        silenced(matcher("job", "=", "сборка")),
        silenced(matcher("group", "=", '100%_"quoted"'), starts_in=2),
    ]
    assert numbers(body_of(client, f"/silences?{query}")) == [rows[i - 1].pk for i in found]


def test_a_long_list_goes_on_page_by_page(client: Client) -> None:
    start = timezone.now()
    for i in range(60):
        Silence.objects.create(
            matchers=[matcher()], starts_at=start, ends_at=start + (i + 1) * HOUR, reason="x", author="lea"
        )
    first = body_of(client, "/silences")
    more = re.search(r'rel="next" href="(/silences\?[^"]+)"', first)
    assert more and len(numbers(first)) == 50
    second = body_of(client, more[1].replace("&amp;", "&"))
    assert len(numbers(second)) == 10 and not set(numbers(first)) & set(numbers(second))
    assert "page=1" in second and 'rel="next"' not in second


def test_as_many_statements_whatever_the_number_of_silences_and_alerts(client: Client, kim: Client) -> None:
    def statements(path: str, who: Client) -> int:
        with CaptureQueriesContext(connection) as captured:
            body_of(who, path)
        return len(captured)

    world = AlertWorld(commits=6)
    world.column("unit", "SFFF", line=SEEK)
    silenced(), silenced(starts_in=1), expire_silence(silenced().pk, who=person())
    paths = ["/silences", "/silences?state=active&matcher=job", "/silences/debt"]
    SilenceBreak.objects.create(silence=Silence.objects.first(), alert=alerts()[0])
    counts = [statements(path, who) for path in paths for who in (client, kim)]
    for name in ("smoke", "lint"):
        world.column(name, "SFFF", line=SEEK)
    for hours in range(1, 15):
        one = silenced(matcher(value="unit|smoke"), matcher("branch", "=", "main"), hours=hours)
        silenced(starts_in=hours)
        SilenceBreak.objects.create(silence=one, alert=alerts()[0])
        expire_silence(silenced(hours=hours).pk, who=person())
    assert [statements(path, who) for path in paths for who in (client, kim)] == counts
    assert max(counts) <= 20, counts


def test_hostile_text_stays_text(kim: Client) -> None:
    world = AlertWorld(commits=6)
    world.column(EVIL, "SFFF", line=f"FAILED {EVIL} - boom")
    AlertRule.objects.filter(name="broken job").update(name=EVIL[:90])
    one = silenced(matcher("job", "=", EVIL), reason=EVIL)
    Silence.objects.filter(pk=one.pk).update(author=EVIL, issue_url="javascript:alert(1)")
    over = silenced(matcher("job", "=", EVIL), reason=EVIL)
    expire_silence(over.pk, who=person())
    SilenceBreak.objects.create(silence=one, alert=alerts()[0], before=EVIL, after=EVIL)
    pages = ["/silences", f"/silences/{one.pk}", f"/silences/{over.pk}", f"/silences/{one.pk}/edit", "/silences/debt"]
    for path in [
        *pages,
        f"/silences/new?alert={alerts()[0].pk}",
        f"/silences/new?from={over.pk}",
        "/brindle/kestrel/main",
    ]:
        body = body_of(kim, path)
        assert "<svg onload" not in body and "<script>alert" not in body, path
        assert 'href="javascript' not in body, path
        assert "\u202e" not in re.sub(r'value="[^"]*"|<textarea.*?</textarea>', "", body, flags=re.S), path
    unsafe = kim.post(
        "/silences/new", form(("job", "=", EVIL), reason=EVIL, starts_at=EVIL, issue_url=EVIL, length=EVIL)
    )
    assert "<svg onload" not in unsafe.content.decode()


# ── Who may ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_others_see_the_buttons_with_the_reason_why_they_cannot_press_them(client: Client, kim: Client) -> None:
    one = silenced()
    for path in ("/silences", f"/silences/{one.pk}", "/silences/debt"):
        for who in (client, signed_in("on-call", name=f"on-call {path}")):
            body = body_of(who, path)
            assert 'disabled aria-describedby="only-admins"' in body and 'id="only-admins"' in body
            assert "Only admins make, change and end silences: <bdi>kim</bdi>" in body
            assert f"/silences/{one.pk}/expire" not in body
        assert "disabled" not in body_of(kim, path)


@pytest.mark.parametrize("path", ["/silences/new", "/silences/{}/edit", "/silences/{}/expire"])
def test_who_may_not_is_told_and_changes_nothing(client: Client, path: str) -> None:
    one = silenced()
    address = path.format(one.pk)
    assert "You were signed out" in client.post(address, form(action="save")).content.decode()
    for role in ("viewer", "on-call"):
        refused = signed_in(role, name=role).post(address, form(action="save"))
        assert refused.status_code == 403 and "admin" in refused.content.decode()
    one.refresh_from_db()
    assert (Silence.objects.count(), one.version, one.expired_at) == (1, 1, None)


# ── A new one ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_silence_is_saved_only_after_its_preview_was_seen(kim: Client, fired: Alert) -> None:
    first = kim.post("/silences/new", form())
    body = first.content.decode()
    assert first.status_code == 200 and "Not saved yet" in body and not Silence.objects.exists()
    assert 'data-hides-now="1"' in body and f'href="/alerts/{fired.pk}"' in body
    saved = kim.post("/silences/new", form(seen=seen_in(body)))
    one = Silence.objects.get()
    assert saved["Location"] == f"/silences/{one.pk}"
    assert (one.author, one.reason, one.ends_at - one.starts_at) == ("kim", "the disk is full", 4 * HOUR)
    assert one.matchers == [matcher()]


def test_a_preview_of_other_matchers_does_not_count(kim: Client) -> None:
    seen = seen_in(kim.post("/silences/new", form(action="preview")).content.decode())
    other = kim.post("/silences/new", form(("job", "=", "lint"), seen=seen))
    assert "Not saved yet" in other.content.decode() and not Silence.objects.exists()


def test_the_preview_counts_lists_and_draws_what_would_have_been_hidden(kim: Client) -> None:
    world = AlertWorld(commits=8)
    world.column("unit", "SFFF")
    world.column("smoke", "SFFFS")
    now = timezone.now()
    Alert.objects.update(occurred_at=now - timedelta(days=3))
    Alert.objects.filter(state="resolved").update(resolved_at=now - timedelta(days=1))
    body = kim.post("/silences/new", form(("job", "=~", "unit|smoke"), action="preview")).content.decode()
    assert 'data-hides-now="1"' in body and 'data-hides-past="1"' in body and "It hides everything" in body
    assert body.count("<rect ") == 2 and "smoke broken" in body


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("job", "=~", "(unclosed")], "missing )"),
        ([("job", "=~", "x" * 10_000)], "10000 characters"),
        ([("job", "=~", ".*")], "would match every alert"),
        ([("", "=", "")], "at least one matcher"),
        ([("", "=", "unit")], "Choose a label"),
        ([("author", "=", "x")], "no label"),
        ([("job", "==", "x")], "no operator"),
        ([("job", "=", f"n{i}") for i in range(300)], "at most 20"),
    ],
)
def test_what_cannot_be_used_is_said_beside_it_and_all_that_was_typed_stays(
    kim: Client, rows: list[tuple[str, str, str]], says: str
) -> None:
    answer = kim.post("/silences/new", form(*rows, reason="kept <reason>", issue_url="https://x.org/kept"))
    body = answer.content.decode()
    assert answer.status_code == 422 and says in body and not Silence.objects.exists()
    assert "kept &lt;reason&gt;" in body and "https://x.org/kept" in body
    for _, _, value in rows:
        assert f'value="{value}"' in body


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"length": "at", "ends_at": "2026-11-30T11:00"}, "the end has passed"),
        (
            {"length": "at", "starts_at": "2026-12-02T12:00", "ends_at": "2026-12-01T12:00"},
            "the end is before the start",
        ),
        ({"length": "at", "ends_at": ""}, "no silence without an end"),
        ({"length": "at", "ends_at": "2027-03-01T12:00"}, "at most 30 days"),
        ({"length": "at", "ends_at": "soon"}, "This is no time"),
        ({"starts_at": ""}, "Say when it starts"),
        ({"starts_at": "9999-12-31T23:59"}, "too far away"),
        ({"length": ""}, "no silence without an end"),
        ({"length": "1y"}, "Choose how long"),
        ({"reason": "  "}, "Say why"),
        ({"issue_url": "javascript:alert(1)"}, "begins with https://"),
    ],
)
def test_times_and_words_are_checked_beside_their_fields(kim: Client, changes: dict[str, str], says: str) -> None:
    answer = kim.post("/silences/new", form(**changes))
    assert answer.status_code == 422 and says in answer.content.decode()
    assert not Silence.objects.exists()


def test_more_fields_than_a_form_has_are_refused_without_a_trace(kim: Client) -> None:
    answer = kim.post("/silences/new", form(*[("job", "=", "x")] * 5000))
    assert answer.status_code == 400 and "Traceback" not in answer.content.decode()


def test_more_rows_come_without_losing_what_was_typed(kim: Client) -> None:
    rows = [("job", "=", "unit"), ("", "=", ""), ("team", "!=", "infra")]
    answer = kim.post("/silences/new", form(*rows, action="add", reason="kept"))
    body = answer.content.decode()
    assert answer.status_code == 200 and body.count('name="value"') == 5 and "kept" in body
    assert body.index('value="unit"') < body.index('value="infra"')


def test_the_form_comes_filled_for_an_alert_and_from_one_that_is_over(kim: Client, fired: Alert) -> None:
    body = body_of(kim, f"/silences/new?alert={fired.pk}")
    assert 'value="brindle/kestrel"' in body and 'value="unit"' in body and 'data-hides-now="1"' in body
    over = silenced(hours=6, reason="again", issue_url="https://x.org/8")
    expire_silence(over.pk, who=person())
    body = body_of(kim, f"/silences/new?from={over.pk}")
    assert 'value="un.t"' in body and "again" in body and "2026-11-30T18:00" in body and "https://x.org/8" in body
    body_of(kim, "/silences/new?alert=999", 404)
    body_of(kim, "/silences/new?from=999", 404)
    body_of(kim, "/silences/new?from=x&alert=%00")


def test_until_it_resolves_is_a_length_with_an_end(kim: Client) -> None:
    seen = seen_in(kim.post("/silences/new", form(action="preview")).content.decode())
    kim.post("/silences/new", form(length="resolves", seen=seen))
    one = Silence.objects.get()
    assert one.until_resolved and one.ends_at - one.starts_at == timedelta(days=30)


def test_htmx_gets_the_preview_alone_and_what_is_not_typed_yet_is_not_wrong_yet(kim: Client, fired: Alert) -> None:
    answer = kim.post("/silences/new", form(reason="", action="preview"), headers={"HX-Request": "true"})
    body = answer.content.decode()
    assert "<html" not in body and 'id="silence-preview"' in body and 'data-hides-now="1"' in body
    assert "Say why" not in body and 'id="matcher-0-error" hx-swap-oob="true"' in body
    wrong = kim.post("/silences/new", form(("job", "=~", "("), action="preview"), headers={"HX-Request": "true"})
    assert "missing )" in wrong.content.decode() and "HX-Request" in wrong["Vary"]


# ── One, and its changes ─────────────────────────────────────────────────────────────────────────────────────────────
def test_a_silence_tells_what_it_hides_where_it_broke_and_who_did_what(client: Client) -> None:
    world = AlertWorld(commits=6)
    world.column("unit", "SFFF", line=SEEK)
    one = silenced()
    assert "Hides now" in body_of(client, f"/silences/{one.pk}")
    world.cell(5, "unit", "F", line=CLOSE)
    alert = alerts()[0]
    body = body_of(client, f"/silences/{one.pk}")
    assert f'data-break="{alert.pk}"' in body and "It no longer holds for" in body
    assert re.findall(r'data-did="([\w.]+)"', body) == ["silence.broke", "silence.made"]
    assert f'<a href="/silences/{one.pk}">Silence {one.pk}</a> of' in body_of(client, f"/alerts/{alert.pk}")
    grid = body_of(client, "/brindle/kestrel/main")
    assert "the silence of <bdi>lea</bdi> no longer holds" in grid and 'class="banner"' in grid
    assert "broke at" in body_of(client, "/silences")
    body_of(client, "/silences/99999999999999999999999", 404)


def test_a_banner_does_not_tell_of_breaks_of_silences_that_are_over(client: Client) -> None:
    world = AlertWorld(commits=6)
    world.column("unit", "SFFF", line=SEEK)
    one = silenced()
    world.cell(5, "unit", "F", line=CLOSE)
    expire_silence(one.pk, who=person())
    assert "no longer holds" not in body_of(client, "/brindle/kestrel/main")


def edited(one: Silence, **changes: str) -> dict[str, Any]:
    times = {"starts_at": "2026-11-30T12:00", "length": "at", "ends_at": "2026-11-30T16:00"}
    return form(**{**times, "version": str(one.version), **changes})


def saved_form(client: Client, one: Silence, **changes: str) -> dict[str, Any]:
    """The form as sent after its preview was seen."""
    seen = seen_in(client.post(f"/silences/{one.pk}/edit", edited(one, action="preview")).content.decode())
    return edited(one, seen=seen, **changes)


def test_a_silence_is_changed_with_its_history(kim: Client) -> None:
    one = silenced()
    answer = kim.post(f"/silences/{one.pk}/edit", saved_form(kim, one, reason="longer", ends_at="2026-12-01T09:30"))
    assert answer.status_code == 302
    one.refresh_from_db()
    assert (one.version, one.reason, one.author, one.ends_at.isoformat()) == (
        2, "longer", "lea", "2026-12-01T09:30:00+00:00",
    )  # fmt: skip
    body = body_of(kim, f"/silences/{one.pk}")
    assert re.findall(r'data-did="([\w.]+)"', body) == ["silence.changed", "silence.made"]
    assert "2026-12-01 09:30:00 UTC" in body


def test_two_changes_of_one_silence_are_shown_beside_each_other_and_none_is_lost(kim: Client) -> None:
    one = silenced()
    mine = saved_form(kim, one, reason="mine", issue_url="https://x.org/mine")
    wanted = check(
        matchers=[matcher()], starts_at=one.starts_at, ends_at=one.ends_at, reason="theirs", earliest=one.starts_at
    )
    change_silence(one.pk, wanted, version=1, who=person())
    answer = kim.post(f"/silences/{one.pk}/edit", mine)
    body = answer.content.decode()
    assert answer.status_code == 409 and "Nothing was saved, and nothing is lost" in body
    changed = dict(re.findall(r'data-field="(\w+)" data-changed="(\w*)"', body))
    assert changed == {
        "matchers": "", "starts_at": "", "ends_at": "", "until_resolved": "", "reason": "clash", "issue_url": "yours",
    }  # fmt: skip
    assert "the disk is full" in body and "theirs" in body and "mine" in body and "Put both together" not in body
    # "Put yours on top": what the page's own form sends.
    on_top = {**mine, "version": "2"}
    assert f'name="seen" value="{mine["seen"]}"' in body and 'name="version" value="2"' in body
    assert kim.post(f"/silences/{one.pk}/edit", on_top).status_code == 302
    one.refresh_from_db()
    assert (one.version, one.reason, one.issue_url) == (3, "mine", "https://x.org/mine")
    assert "theirs" in body_of(kim, f"/silences/{one.pk}")


def test_changes_of_different_fields_can_be_put_together(kim: Client) -> None:
    one = silenced()
    mine = saved_form(kim, one, issue_url="https://x.org/mine")
    wanted = check(
        matchers=[matcher()], starts_at=one.starts_at, ends_at=one.ends_at, reason="theirs", earliest=one.starts_at
    )
    change_silence(one.pk, wanted, version=1, who=person())
    body = kim.post(f"/silences/{one.pk}/edit", mine).content.decode()
    both = body[body.rindex("<form", 0, body.index("Put both together")) : body.index("Put both together")]
    assert ">theirs</textarea>" in both and 'value="https://x.org/mine"' in both and 'value="2"' in both


def test_a_change_of_what_ended_meanwhile_can_become_a_new_silence(kim: Client) -> None:
    one = silenced()
    mine = saved_form(kim, one, reason="mine")
    expire_silence(one.pk, who=person())
    answer = kim.post(f"/silences/{one.pk}/edit", mine)
    body = answer.content.decode()
    assert answer.status_code == 409 and "It is over" in body and "Make a new silence of yours" in body
    assert ">mine</textarea>" in body and "Put yours on top" not in body
    assert kim.get(f"/silences/{one.pk}/edit")["Location"] == f"/silences/{one.pk}"


def test_an_admin_ends_a_silence_at_once_and_recreates_it(kim: Client, fired: Alert) -> None:
    one = silenced()
    answer = kim.post(f"/silences/{one.pk}/expire", {"version": "1"})
    assert answer["Location"] == f"/silences/{one.pk}"
    one.refresh_from_db()
    assert one.expired_at == timezone.now() and Silence.objects.count() == 1
    body = body_of(kim, f"/silences/{one.pk}")
    assert "ended early" in body and f"/silences/new?from={one.pk}" in body
    assert kim.post(f"/silences/{one.pk}/expire", {"version": "1"}).status_code == 302, "ending it again is no error"
    assert kim.post("/silences/999/expire").status_code == 404
    assert kim.get(f"/silences/{one.pk}/expire").status_code == 405


def test_ending_what_was_changed_meanwhile_asks_to_look_first(kim: Client) -> None:
    one = silenced()
    wanted = check(matchers=[matcher()], starts_at=one.starts_at, ends_at=one.ends_at, reason="theirs")
    change_silence(one.pk, wanted, version=1, who=person())
    answer = kim.post(f"/silences/{one.pk}/expire", {"version": "1"}, follow=True)
    assert "It was not ended" in answer.content.decode()
    one.refresh_from_db()
    assert one.expired_at is None


# ── Debt ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_debt_is_listed_by_kind_and_counted_where_people_pass(kim: Client, client: Client) -> None:
    typo = silenced(matcher("job", "=", "uint"), hours=20 * 24)
    silenced(starts_in=3, issue_url="https://x.org/1")
    body = body_of(client, "/silences/debt")
    assert re.findall(r'data-debt="(\w+)"', body) == ["never_matched", "no_issue", "too_long"]
    assert set(numbers(body)) == {typo.pk} and "1 of the 2 silences" in body
    assert '<b class="owed">1</b>' in body_of(client, "/silences")
    assert "1 silence</a> needs a look" in body_of(kim, "/manage/")
    assert 'href="/silences"' in body_of(client, "/alerts") and 'href="/silences"' in body_of(kim, "/")
