"""Accounts for tests of pages that not everyone may use."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.test import Client


def signed_in(*roles: str, name: str = "kim") -> Client:
    """Return a client signed in as a new account with these roles."""
    user = User.objects.create_user(name)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    client = Client()
    client.force_login(user)
    return client
