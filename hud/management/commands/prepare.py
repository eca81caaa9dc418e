"""`manage.py prepare`: tables, static files, groups and the first admin. `make run` does it at each start."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from hud.models import Repository
from hud.services.first_start import ADMIN, GROUPS, make_groups_and_admin, migrate


class Command(BaseCommand):
    help = "Bring database and static files up to date, and make the groups and the user admin."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="say the outcome as one JSON line")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            migrate()
            call_command("collectstatic", interactive=False, verbosity=0)
            made = make_groups_and_admin(password=settings.ADMIN_PASSWORD)
        except OperationalError as error:
            raise CommandError(f"The database does not answer: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps({"repositories": Repository.objects.count(), "admin_password": made}))
            return
        self.stdout.write(f"The database is up to date; groups: {', '.join(GROUPS)}.")
        if made:
            self.stdout.write(f"Sign in as {ADMIN} with the password {made} (shown this once).")
