"""`manage.py settings_table`: every setting with its default and meaning, as README.md shows them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from hud.runtime.plan import VARIABLES
from hud.settings import ENVIRONMENT

START, END = "<!-- settings: written by `python manage.py settings_table --write` -->", "<!-- end of settings -->"


class Command(BaseCommand):
    help = "Print the table of settings, or write it into README.md."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--write", action="store_true", help="put it into README.md")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["write"]:
            self.stdout.write(settings_table())
            return
        readme = settings.BASE_DIR / "README.md"
        before, rest = readme.read_text().split(START)
        readme.write_text(f"{before}{START}\n{settings_table()}\n{END}{rest.split(END)[1]}")


def settings_table() -> str:
    """Return the Markdown table: those of start-up first, then in the order of hud/settings.py."""
    rows = [(name, default, meaning) for name, (default, meaning) in VARIABLES.items()]
    rows += [(variable.name, variable.default, variable.meaning) for variable in ENVIRONMENT.declared.values()]
    lines = [f"| `{name}` | {_cell(default)} | {_cell(meaning)} |" for name, default, meaning in rows]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *lines])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*") or "–"
