"""Who may do what. Roles are Django groups; views ask here, and so do templates and the API.

Everyone may read. On-call may also acknowledge and label. Admins may do everything; a superuser is an admin.
"""

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User

from hud.services.first_start import GROUPS

VIEWER, ON_CALL, ADMIN = GROUPS
Person = AbstractBaseUser | AnonymousUser
_KEPT = "_hud_roles"


def roles_of(user: Person) -> frozenset[str]:
    """Return the names of the user's roles; asks the database once for each user object, so once a request."""
    if not (user.is_authenticated and user.is_active and isinstance(user, User)):
        return frozenset()
    roles: frozenset[str] | None = getattr(user, _KEPT, None)
    if roles is None:
        roles = frozenset(user.groups.values_list("name", flat=True))
        setattr(user, _KEPT, roles)
    return roles


def is_admin(user: Person) -> bool:
    """May silence, edit rules, follow repositories, look into the inbox."""
    if isinstance(user, User) and user.is_active and user.is_superuser:
        return True
    return ADMIN in roles_of(user)


def is_on_call(user: Person) -> bool:
    """May acknowledge alerts and label failures. Every admin may."""
    return is_admin(user) or ON_CALL in roles_of(user)


def admin_names(most: int = 5) -> list[str]:
    """Return the names of accounts that are admins: whom to ask."""
    active = User.objects.filter(is_active=True)
    named = active.filter(groups__name=ADMIN) | active.filter(is_superuser=True)
    return list(named.distinct().order_by("username").values_list("username", flat=True)[:most])
