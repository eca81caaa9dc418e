"""How many jobs a second come in from recorded REST answers, and how long their logs take."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from bench.report import Report
from bench.store import database
from hud.runtime.embedded import CHECKOUT

BUDGET_JOBS_S = 2000.0
NOW_S = 1_796_040_000


def run() -> Report:
    """Play the recording of a real project where it is at hand, else one of an invented project of the same size."""
    from hud.services.replay import Recording, play

    report = Report("replay")
    folder = _recording()
    ends: dict[str, float] = {}
    with database("bench_replay", fresh=True):
        recording = Recording(folder)
        started, used = time.perf_counter(), time.process_time()

        def note(what: str, done: int, total: int) -> None:
            if done == total:
                ends[what] = time.perf_counter() - started
                if what == "runs":
                    report.facts["processor_s_answers"] = round(time.process_time() - used, 2)

        played = play(recording=recording, full_name=recording.full_name(), branch=recording.branch(), progress=note)
        whole_s = time.perf_counter() - started
    report.add(
        "jobs from recorded answers", played.runs / ends["runs"], "a second", budget=BUDGET_JOBS_S, at_least=True
    )
    if played.logs:
        report.add("logs stored and classified", played.logs / max(whole_s - ends["runs"], 0.001), "a second")
    report.add("jobs, their logs included", played.runs / whole_s, "a second")
    report.facts |= {"recording": folder.name, "runs": played.runs, "logs": played.logs, "seconds": round(whole_s, 2)}
    return report


def _recording() -> Path:
    shared = Path(os.environ.get("HUD_SHARED") or CHECKOUT.parent / "shared") / "data" / "github" / "ozone"
    return shared if shared.is_dir() else _invented()


def _invented() -> Path:
    from django.conf import settings

    from hud.synthetic import SyntheticRepository, write_recording

    folder = Path(settings.DATA_DIR) / "recording"
    if not (folder / "MANIFEST.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        source = SyntheticRepository("bench/replay", now_s=NOW_S, commits=320, jobs=60, fail_rate=0.02, seed=4)
        write_recording(folder, source)
    return folder
