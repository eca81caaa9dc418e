"""Following repositories as admins do it: each change leaves an audit entry, and no entry is without its change."""

import pytest
from django.contrib.auth.models import User

from hud.models import AuditEntry, Branch, FollowRequest, Repository
from hud.services.following import follow_repository, stop_following, stop_tracking
from tests.factories import make_repository

pytestmark = pytest.mark.django_db


@pytest.fixture
def kim() -> User:
    return User.objects.create_user("kim")


def test_following_makes_the_repository_asks_for_a_back_fill_and_is_noted(kim: User) -> None:
    request = follow_repository(who=kim, full_name="apache/ozone", branch="", commits=40)
    repository = Repository.objects.get()
    assert repository.followed and request.commits == 40 and request.state == FollowRequest.State.WAITING
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.what, entry.target) == ("kim", "repository.followed", "apache/ozone")
    assert entry.before == {"followed": False} and entry.after["commits"] == 40


def test_a_further_branch_is_noted_as_such(kim: User) -> None:
    follow_repository(who=kim, full_name="apache/ozone", branch="master", commits=10)
    follow_repository(who=kim, full_name="apache/ozone", branch="release/1.x", commits=10)
    assert [e.what for e in AuditEntry.objects.order_by("id")] == ["repository.followed", "branch.tracked"]
    assert set(Branch.objects.filter(tracked=True).values_list("name", flat=True)) == {"master", "release/1.x"}


def test_what_cannot_be_followed_leaves_no_entry(kim: User) -> None:
    make_repository(synthetic=True)
    with pytest.raises(ValueError, match="synthetic"):
        follow_repository(who=kim, full_name="brindle/kestrel", branch="", commits=10)
    assert not AuditEntry.objects.exists() and not Repository.objects.get().followed


def test_stopping_keeps_the_data_and_is_noted_once(kim: User) -> None:
    follow_repository(who=kim, full_name="apache/ozone", branch="", commits=40)
    repository = Repository.objects.get()
    stop_following(who=kim, repository=repository)
    stop_following(who=kim, repository=repository)
    repository.refresh_from_db()
    assert not repository.followed and not FollowRequest.objects.exists()
    assert AuditEntry.objects.filter(what="repository.unfollowed").count() == 1


def test_a_branch_rests_but_the_trunk_never_does(kim: User) -> None:
    follow_repository(who=kim, full_name="apache/ozone", branch="master", commits=10)
    follow_repository(who=kim, full_name="apache/ozone", branch="release/1.x", commits=10)
    stop_tracking(who=kim, branch=Branch.objects.get(name="release/1.x"))
    assert not Branch.objects.get(name="release/1.x").tracked
    assert not FollowRequest.objects.filter(branch="release/1.x").exists()
    with pytest.raises(ValueError, match="trunk"):
        stop_tracking(who=kim, branch=Branch.objects.get(name="master"))
    assert AuditEntry.objects.filter(what="branch.untracked").count() == 1
