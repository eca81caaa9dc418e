#!/usr/bin/env python
"""Django's command line for HUD, on the same store as `make run`, whether that is running or not."""

import atexit
import os
import sys

from hud.runtime.errors import StartError
from hud.runtime.store import open_store
from hud.variables import BadVariable

# These work on code and files alone.
WITHOUT_STORE = {
    "help",
    "version",
    "--help",
    "--version",
    "-h",
    "check",
    "collectstatic",
    "findstatic",
    "diffsettings",
    "settings_table",
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hud.settings")
    os.umask(0o077)  # logs and secrets are nobody else's
    if len(sys.argv) > 1 and sys.argv[1] not in WITHOUT_STORE and not {"--help", "-h"} & set(sys.argv):
        try:
            store = open_store()
        except StartError as error:
            sys.exit(str(error))
        if store is not None:
            atexit.register(store.stop)
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        import hud.settings  # noqa: F401 - read here first, so that a bad variable is a sentence and not a trace
    except (BadVariable, ImproperlyConfigured) as error:
        sys.exit(str(error))
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
