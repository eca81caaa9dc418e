"""A store made ready for people."""

import pytest
from django.contrib.auth.models import Group, User

from hud.services.first_start import GROUPS, make_groups_and_admin

pytestmark = pytest.mark.django_db


def test_the_first_start_makes_the_groups_and_an_admin_with_a_password_of_its_own() -> None:
    made = make_groups_and_admin()
    assert made is not None
    assert len(made) >= 16
    admin = User.objects.get(username="admin")
    assert admin.check_password(made)
    assert admin.groups.filter(name="admin").exists()
    assert set(GROUPS) <= set(Group.objects.values_list("name", flat=True))


def test_a_later_start_changes_nothing_and_tells_no_password() -> None:
    made = make_groups_and_admin()
    assert made is not None
    assert make_groups_and_admin() is None
    assert User.objects.get(username="admin").check_password(made)


def test_a_given_password_is_set_and_not_printed() -> None:
    assert make_groups_and_admin(password="given by the operator") is None
    assert User.objects.get(username="admin").check_password("given by the operator")


def test_a_given_password_replaces_a_lost_one() -> None:
    make_groups_and_admin()
    make_groups_and_admin(password="a new one, given later")
    assert User.objects.get(username="admin").check_password("a new one, given later")


def test_permissions_taken_from_admin_by_a_person_stay_taken() -> None:
    make_groups_and_admin()
    User.objects.filter(username="admin").update(is_active=False)
    make_groups_and_admin()
    assert not User.objects.get(username="admin").is_active
