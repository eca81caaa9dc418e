"""Who counts as admin and as on-call."""

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from pytest_django import DjangoAssertNumQueries

from hud.services.permissions import admin_names, is_admin, is_on_call

pytestmark = pytest.mark.django_db


def person(name: str, *roles: str, **fields: bool) -> User:
    user = User.objects.create_user(name, **fields)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return user


@pytest.mark.parametrize(
    ("roles", "fields", "admin", "on_call"),
    [
        ((), {}, False, False),
        (("viewer",), {}, False, False),
        (("on-call",), {}, False, True),
        (("admin",), {}, True, True),
        ((), {"is_superuser": True}, True, True),
        (("viewer",), {"is_staff": True}, False, False),
        (("admin",), {"is_active": False}, False, False),
        ((), {"is_superuser": True, "is_active": False}, False, False),
    ],
)
def test_roles_are_groups_and_a_superuser_is_an_admin(
    roles: tuple[str, ...], fields: dict[str, bool], admin: bool, on_call: bool
) -> None:
    user = person("kim", *roles, **fields)
    assert (is_admin(user), is_on_call(user)) == (admin, on_call)


def test_nobody_is_neither() -> None:
    assert not is_admin(AnonymousUser()) and not is_on_call(AnonymousUser())


def test_roles_are_asked_for_once_for_each_user_object(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    user = User.objects.get(pk=person("kim", "on-call").pk)
    with django_assert_num_queries(1):
        assert is_on_call(user) and not is_admin(user) and is_on_call(user)


def test_the_people_to_ask_are_the_active_admins() -> None:
    person("ana", "admin")
    person("bo", is_superuser=True)
    person("cem", "admin", is_active=False)
    person("dee", "viewer")
    assert admin_names() == ["ana", "bo"]
