"""`python -m bench [NAME ...]`: measures HUD on this machine, one JSON line for each benchmark."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

from bench.store import bench_servers
from hud.runtime.embedded import CHECKOUT

# In the order in which they run. A script prints its line itself, in a process of its own.
SCRIPTS = ("classifier",)
# Modules of this folder with `run() -> Report`.
WITHOUT_STORE = ("verdicts_pure",)
WITH_STORE = ("grid", "verdicts", "ingest", "replay", "live", "alerts", "paint")


def main() -> int:
    names = (*SCRIPTS, *WITHOUT_STORE, *WITH_STORE)
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of: {', '.join(names)} (all)")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=CHECKOUT / ".data" / "bench",
        help="its own store, reused between runs (.data/bench)",
    )
    options = parser.parse_args()
    wanted = options.names or list(names)
    if unknown := set(wanted) - set(names):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(names)}")
    for name in SCRIPTS:
        if name in wanted:
            subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=CHECKOUT, check=True)
    _run([name for name in WITHOUT_STORE if name in wanted])
    if with_store := [name for name in names if name in wanted and name in WITH_STORE]:
        with bench_servers(options.data_dir.absolute()):
            _run(with_store)
    return 0


def _run(names: list[str]) -> None:
    for name in names:
        print(f"bench {name} …", file=sys.stderr, flush=True)
        print(importlib.import_module(f"bench.{name}").run().line(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
