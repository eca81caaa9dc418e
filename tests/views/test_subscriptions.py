"""The page of what one follows, and the link that stops mails without signing in."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db.models import CharField, Value
from django.db.models.functions import Cast, Concat
from django.test import Client

from hud.models import Job, Mail, Subscription
from hud.services.mail import write_mail
from hud.services.subscriptions import follow, stop_token
from tests.factories import NOON, Trunk, make_trunk
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
HERE = "/subscriptions"
NEW = "/brindle/kestrel/-/follow/main"


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["XF.", "..."], ["CI / build", "CI / unit", "nightly / soak"], with_cells=True)


def body_of(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, answer.content[:2000]
    return answer.content.decode()


def user() -> User:
    return User.objects.get(username="kim")


def following(trunk: Trunk) -> Subscription:
    return follow(user(), trunk.branch, kind="job", job=trunk.jobs[0])


def test_the_job_page_and_the_grid_lead_to_following(client: Client, trunk: Trunk) -> None:
    job = trunk.jobs[0].pk
    assert f'href="{NEW}?job={job}"' in body_of(client, f"/brindle/kestrel/job/{job}")
    grid = body_of(client, f"{trunk.path}?filter=unit&blocking=1")
    assert f'href="{NEW}?filter=unit&amp;blocking=1"' in grid


def test_who_is_not_signed_in_is_asked_to_and_comes_back(client: Client, trunk: Trunk) -> None:
    assert client.get(f"{NEW}?job=1")["Location"] == f"/accounts/login/?next={NEW}%3Fjob%3D1"
    assert client.get(HERE)["Location"] == "/accounts/login/?next=/subscriptions"
    asked = client.post(f"{HERE}/1/change", {"action": "pause"})
    assert asked.status_code == 403 and f'name="next" value="{HERE}/1/change"' in asked.content.decode()


def test_a_job_a_group_and_a_view_are_followed(trunk: Trunk) -> None:
    kim, job = signed_in(), trunk.jobs[0]
    body = body_of(kim, f"{NEW}?job={job.pk}")
    assert "The job <bdi>build</bdi>" in body and 'value="group:nightly"' in body
    assert kim.post(f"{NEW}?job={job.pk}", {"what": "job"})["Location"] == HERE
    kim.post(NEW, {"what": "group:nightly"})
    kim.post(f"{NEW}?filter=uni&page=4&open=CI", {"what": "view"})
    page = body_of(kim, HERE)
    assert page.count("data-subscription=") == 3
    assert "group nightly" in page and "jobs matching “uni”" in page and "1 red" in page
    assert f'href="/brindle/kestrel/job/{job.pk}?branch=main"' in page
    assert 'href="/brindle/kestrel/main?filter=uni&amp;open=CI"' in page


@pytest.mark.parametrize("what", ["", "job", "group:nowhere", "party", "group:"])
def test_what_cannot_be_followed_is_refused(trunk: Trunk, what: str) -> None:
    answer = signed_in().post(NEW, {"what": what})
    assert answer.status_code == 422 and 'role="alert"' in answer.content.decode()
    assert Subscription.objects.count() == 0


def test_a_job_of_another_repository_cannot_be_followed_here(trunk: Trunk) -> None:
    from tests.factories import make_repository

    other = make_trunk(["X"], ["CI / x"], repository=make_repository("a/b"))
    assert signed_in().post(f"{NEW}?job={other.jobs[0].pk}", {"what": "job"}).status_code == 422


def test_pausing_resuming_and_stopping_ones_own(trunk: Trunk) -> None:
    kim = signed_in()
    row = following(trunk)
    path = f"{HERE}/{row.pk}/change"
    kim.post(path, {"action": "pause"})
    assert "paused" in body_of(kim, HERE) and "Resume" in body_of(kim, HERE)
    kim.post(path, {"action": "resume"})
    row.refresh_from_db()
    assert row.paused_at is None
    eve = signed_in(name="eve")
    assert eve.post(path, {"action": "stop"}).status_code == 404
    assert "You follow nothing yet" in body_of(eve, HERE)
    kim.post(path, {"action": "stop"})
    assert Subscription.objects.count() == 0


def test_without_an_address_it_says_so_and_takes_one(trunk: Trunk, settings: Any) -> None:
    settings.SMTP_URL = "smtp://mail.company.com"
    kim = signed_in()
    assert "Your account has no e-mail address" in body_of(kim, HERE)
    assert "no e-mail address" in body_of(kim, NEW)
    refused = kim.post(f"{HERE}/address", {"email": "kim@company.com\nBcc: eve@evil.org"})
    assert refused.status_code == 422 and "no e-mail address that HUD can write to" in refused.content.decode()
    page = kim.post(f"{HERE}/address", {"email": " kim@company.com "}, follow=True).content.decode()
    assert "A link goes to kim@company.com" in page and "Until then mails wait" in page
    (link,) = links()
    assert user().email == "" and link not in page
    reader = Client(enforce_csrf_checks=True)
    assert "Is this your address?" in body_of(reader, link) and user().email == "", "a scanner that opens it is nobody"
    answer = reader.post(link)
    assert "Confirmed" in answer.content.decode() and answer["Referrer-Policy"] == "no-referrer"
    assert user().email == "kim@company.com" and "Confirmed" in body_of(reader, link)
    page = body_of(kim, HERE)
    assert "Your account has no e-mail address" not in page and "sends no e-mail here" not in page


def links() -> list[str]:
    """Return the paths of the links that were mailed."""
    texts = Mail.objects.filter(key__startswith="own-address-").order_by("pk").values_list("text", flat=True)
    return [re.findall(r"(/subscriptions/confirm/\S+)", text)[0] for text in texts]


def test_an_address_is_used_only_once_its_reader_confirms_it(trunk: Trunk, settings: Any) -> None:
    settings.SMTP_URL = "smtp://mail.company.com"
    kim = signed_in()
    User.objects.update(email="kim@company.com")
    page = kim.post(f"{HERE}/address", {"email": "eve@company.com"}, follow=True).content.decode()
    assert "Until then mails go to kim@company.com" in page and user().email == "kim@company.com"
    kim.post(f"{HERE}/address", {"email": "ana@company.com"})
    first, second = links()
    Client().post(first)
    assert user().email == "eve@company.com"
    assert Client().post(second).status_code == 404, "it was asked for while another address was the account's"
    for wrong in (f"{first}x", f"{HERE}/confirm/x", f"{HERE}/stop/{stop_token(user())}".replace("stop", "confirm")):
        assert Client().post(wrong).status_code == 404
    User.objects.update(is_active=False)
    assert Client().post(first).status_code == 404


def test_a_link_ends_after_three_days(trunk: Trunk, settings: Any) -> None:
    settings.SMTP_URL = "smtp://mail.company.com"
    signed_in().post(f"{HERE}/address", {"email": "kim@company.com"})
    with time_machine.travel(NOON + timedelta(days=3, minutes=1), tick=False):
        assert Client().post(links()[0]).status_code == 404
    assert user().email == ""


def test_an_address_can_be_taken_away_at_once_and_the_same_again_asks_nobody(trunk: Trunk, settings: Any) -> None:
    settings.SMTP_URL = "smtp://mail.company.com"
    kim = signed_in()
    User.objects.update(email="kim@company.com")
    kim.post(f"{HERE}/address", {"email": "kim@company.com"})
    assert user().email == "kim@company.com"
    kim.post(f"{HERE}/address", {"email": ""})
    assert user().email == "" and not Mail.objects.exists()


def test_nobody_floods_anothers_mailbox_with_links(trunk: Trunk, settings: Any) -> None:
    settings.SMTP_URL = "smtp://mail.company.com"
    kim = signed_in()
    for number in range(5):
        kim.post(f"{HERE}/address", {"email": f"ana{number % 2}@company.com"})
    refused = kim.post(f"{HERE}/address", {"email": "ana5@company.com"})
    assert refused.status_code == 422 and "sent 5 links within a day" in refused.content.decode()
    Mail.objects.update(address="ana@company.com", key=Concat(Value("own-address-0-"), Cast("pk", CharField())))
    assert kim.post(f"{HERE}/address", {"email": "ana@company.com"}).status_code == 422
    kim.post(f"{HERE}/address", {"email": "bo@company.com"})
    assert Mail.objects.count() == 6


def test_without_a_mail_server_it_says_so(trunk: Trunk, settings: Any) -> None:
    settings.SMTP_URL = ""
    kim = signed_in()
    assert "HUD sends no e-mail here" in body_of(kim, HERE) and "no mail server is set" in body_of(kim, NEW)
    refused = kim.post(f"{HERE}/address", {"email": "kim@company.com"})
    assert refused.status_code == 422 and "cannot ask this address whether it is yours" in refused.content.decode()


def test_what_was_told_and_how_it_arrived_is_shown_to_its_owner_only(trunk: Trunk) -> None:
    kim = signed_in()
    mail = write_mail(
        key="k", kind="news", address="kim@company.com", subject="1 red <b>", text="WENT <i>RED</i>", user=user()
    )
    assert mail is not None
    mail.tries.create(number=1, error="The mail server could not be reached.", ended_at=mail.created_at)
    page = body_of(kim, HERE)
    assert "1 red &lt;b&gt;" in page and "WENT &lt;i&gt;RED" in page and "could not be reached" in page
    assert "data-mail=" not in body_of(signed_in(name="eve"), HERE)


def test_the_link_in_the_mail_asks_first_and_works_without_signing_in(client: Client, trunk: Trunk) -> None:
    signed_in()
    row = following(trunk)
    other = follow(user(), trunk.branch, kind="group", group="nightly")
    path = f"{HERE}/stop/{stop_token(user(), row.pk)}"
    page = body_of(client, path)
    assert "Stop mails?" in page and "build" in page and Subscription.objects.count() == 2
    assert "Stopped" in client.post(path).content.decode()
    assert list(Subscription.objects.all()) == [other]
    assert "nothing left to stop" in client.post(path).content.decode()
    assert "nothing left to stop" in body_of(client, path)


def test_one_click_of_a_mail_program_stops_everything_without_a_token_of_the_form(trunk: Trunk) -> None:
    signed_in()
    following(trunk)
    strict = Client(enforce_csrf_checks=True)
    path = f"{HERE}/stop/{stop_token(user())}"
    assert strict.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert Subscription.objects.count() == 0


def test_a_link_that_hud_did_not_sign_stops_nothing(client: Client, trunk: Trunk) -> None:
    signed_in()
    row = following(trunk)
    token = stop_token(user(), row.pk)
    for wrong in (token[:-2], token.replace(":", "x", 1), "x", "WzEsMF0:1:2"):
        assert client.post(f"{HERE}/stop/{wrong}").status_code == 404
    assert Subscription.objects.count() == 1


def test_the_page_costs_the_same_for_many_subscriptions(trunk: Trunk, django_assert_max_num_queries: Any) -> None:
    kim = signed_in()
    for i in range(12):
        follow(user(), trunk.branch, kind="view", query=f"?filter=a{i}")
        write_mail(key=f"k{i}", kind="news", address="kim@company.com", subject="s", text="t", user=user())
    for job in Job.objects.all():
        follow(user(), trunk.branch, kind="job", job=job)
    with django_assert_max_num_queries(9):
        page = body_of(kim, HERE)
    assert len(re.findall("data-subscription", page)) == 15
    assert Mail.objects.count() == 12
