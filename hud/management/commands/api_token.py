"""`manage.py api_token USER`: makes a token for programs, shown once; lists and revokes them too."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from hud.models import ApiToken
from hud.services.tokens import make_token, revoke_token


class Command(BaseCommand):
    help = "Make a token with which a program acts for USER; it is printed once and kept as a hash only."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--results", action="store_true", help="a token that may hand in test results, and no more")
        parser.add_argument("--note", default="", help="what it is for")
        parser.add_argument("--days", type=int, metavar="N", help="it ends after N days (default: it does not)")
        parser.add_argument("--list", action="store_true", help="list the tokens of USER instead")
        parser.add_argument("--revoke", type=int, metavar="ID", help="end this token of USER instead")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            names = ", ".join(User.objects.order_by("username").values_list("username", flat=True)[:20])
            raise CommandError(f"There is no user {options['user']} here; users: {names or 'none'}.")
        if options["list"]:
            self._list(user)
        elif options["revoke"] is not None:
            self._revoke(user, options["revoke"])
        else:
            self._make(user, options)

    def _make(self, user: User, options: dict[str, Any]) -> None:
        if options["days"] is not None and not 1 <= options["days"] <= 3650:
            raise CommandError("--days must be from 1 to 3650.")
        if not user.is_active:
            raise CommandError(f"The account {user.username} is switched off: a token of it would open nothing.")
        scope = ApiToken.Scope.RESULTS if options["results"] else ApiToken.Scope.ALL
        row, token = make_token(user=user, scope=scope, note=options["note"], days=options["days"])
        self.stderr.write(f"Token {row.pk} of {user.username}, {row.get_scope_display()}. It is not shown again:")
        self.stdout.write(token)

    def _list(self, user: User) -> None:
        rows = list(ApiToken.objects.filter(user=user).order_by("id"))
        for row in rows:
            used = f"used {row.used_at:%Y-%m-%d}" if row.used_at else "never used"
            parts = [str(row.pk), f"{row.hint}…", row.get_scope_display(), _state(row), used, row.note]
            self.stdout.write("  ".join(part for part in parts if part))
        if not rows:
            self.stderr.write(f"{user.username} has no tokens.")

    def _revoke(self, user: User, token_id: int) -> None:
        if not ApiToken.objects.filter(user=user, pk=token_id).exists():
            raise CommandError(f"{user.username} has no token {token_id}; --list shows those there are.")
        row = revoke_token(token_id=token_id)
        self.stderr.write(f"Token {row.pk} ({row.hint}…) of {user.username} is revoked.")


def _state(row: ApiToken) -> str:
    if row.revoked_at:
        return f"revoked {row.revoked_at:%Y-%m-%d}"
    if row.expires_at is None:
        return "does not end"
    return f"{'ended' if row.expires_at <= timezone.now() else 'ends'} {row.expires_at:%Y-%m-%d}"
