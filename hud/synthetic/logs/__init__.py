"""Logs of the invented project's failed runs, in the runner's format."""

from collections.abc import Iterator

from hud.synthetic.logs import builds, infra, tests
from hud.synthetic.logs.frame import framed
from hud.synthetic.logs.infra import ANNOTATIONS
from hud.synthetic.logs.script import Script
from hud.synthetic.logs.vocabulary import Vocabulary

__all__ = ["ANNOTATIONS", "SCRIPTS", "main_step", "render"]

SCRIPTS: dict[str, Script] = {**tests.SCRIPTS, **builds.SCRIPTS, **infra.SCRIPTS}


def main_step(kind: str | None) -> str:
    """The name of the step that a run with this cause failed in."""
    return SCRIPTS[kind].step if kind else "Run"


def render(
    kind: str,
    *,
    seed: object,
    story: object,
    run: object,
    repository: str,
    sha: str,
    runner: str,
    label: str,
    started_s: int,
    ended_s: int,
) -> Iterator[bytes] | None:
    """The log of a failed run in chunks of bytes, or None where GitHub would answer 404."""
    script = SCRIPTS[kind]
    if script.end == "missing":
        return None
    body = script.body(Vocabulary(seed, story, run))
    return framed(
        script, body, repository=repository, sha=sha, runner=runner, label=label, started_s=started_s, ended_s=ended_s
    )
