"""What an open page asks for: changes since what it shows, and a stream that tells when to ask."""

from __future__ import annotations

import pytest
from django.test import Client

from hud.core.cellcode import put
from tests.factories import make_trunk, note_change, sha_of
from tests.picture import PICTURE
from tests.services.alert_world import AlertWorld

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
CHANGES = "/brindle/kestrel/-/changes/main"


def test_a_page_that_has_all_rows_gets_their_names_only(client: Client) -> None:
    make_trunk(["p.", "X."], ["CI / unit", "CI / lint"])
    first = client.get(CHANGES).json()
    have = ",".join(row["digest"] for row in first["rows"])
    again = client.get(CHANGES, headers={"HUD-Have": have, "HUD-Layout": first["layout"]}).json()
    assert [sorted(row) for row in again["rows"]] == [["digest", "sha"]] * 2
    assert "main is red" in again["status"]


def test_only_rows_that_differ_are_sent(client: Client) -> None:
    trunk = make_trunk(["p.", "X.", ".."], ["CI / unit", "CI / lint"])
    first = client.get(CHANGES).json()
    headers = {"HUD-Have": ",".join(row["digest"] for row in first["rows"]), "HUD-Layout": first["layout"]}
    newest = trunk.commits[-1]
    newest.cells = put(newest.cells, 0, PICTURE["."])
    newest.save()
    note_change(trunk)
    rows = client.get(CHANGES, headers=headers).json()["rows"]
    assert [row["sha"] for row in rows if "html" in row] == [sha_of(3)]


def test_rows_of_another_layout_are_not_sent(client: Client) -> None:
    make_trunk(["p."], ["CI / unit", "CI / lint"])
    told = client.get(CHANGES, headers={"HUD-Layout": "of-before"}).json()
    assert "html" not in told["rows"][0]
    assert told["layout"] == client.get(CHANGES + "?filter=").json()["layout"]
    assert told["layout"] != client.get(CHANGES + "?group=off").json()["layout"]


def test_the_age_of_a_commit_is_no_change(client: Client) -> None:
    import time_machine as clock

    make_trunk(["p."], ["CI / unit", "CI / lint"])
    digest = client.get(CHANGES).json()["rows"][0]["digest"]
    with clock.travel("2026-12-01T12:00:00Z", tick=False):
        assert client.get(CHANGES).json()["rows"][0]["digest"] == digest


def test_where_a_stream_would_hold_a_thread_it_answers_once(client: Client) -> None:
    trunk = make_trunk(["p."], ["CI / unit", "CI / lint"])
    trunk.branch.version = 41
    trunk.branch.save()
    answer = client.get("/brindle/kestrel/-/live/main")
    assert answer["Content-Type"] == "text/event-stream"
    assert answer.content == b"retry: 10000\n\nevent: changed\ndata: 41\n\nevent: alerts\ndata: 0\n\n"


def test_the_stream_of_an_unknown_branch_is_not_there(client: Client) -> None:
    assert client.get("/brindle/kestrel/-/live/main").status_code == 404


def test_it_tells_what_fires(client: Client) -> None:
    world = AlertWorld(commits=4)
    world.column("unit", "SFFF", line="FAILED a::b - x")
    assert "unit broken on main" in client.get(CHANGES).json()["banners"]
    world.cell(4, "unit", "S", minute=90)
    assert "data-alert" not in client.get(CHANGES).json()["banners"]
