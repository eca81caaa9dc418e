"""`python -m hud.runtime run`."""

from __future__ import annotations

import os
import sys

from hud.runtime.supervisor import Supervisor


def main() -> int:
    if sys.argv[1:] != ["run"]:
        print("usage: python -m hud.runtime run", file=sys.stderr)
        return 2
    os.umask(0o077)  # logs and secrets are nobody else's
    return Supervisor(os.environ).run()


if __name__ == "__main__":
    sys.exit(main())
