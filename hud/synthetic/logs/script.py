"""A script says how a run that failed in one way looks: its main step, command, output and end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from hud.synthetic.logs.vocabulary import Vocabulary

Body = Callable[[Vocabulary], Iterator[str]]
End = Literal["error", "cut", "cancelled", "missing"]


@dataclass(frozen=True)
class Script:
    """`end` is how the log ends: with an exit code, cut in mid-line, cancelled, or there is no log at all (404)."""

    step: str
    command: str
    body: Body
    exit_code: int = 1
    end: End = "error"


Scripts = dict[str, Script]


def register(
    scripts: Scripts, kind: str, step: str, command: str, exit_code: int = 1, end: End = "error"
) -> Callable[[Body], Body]:
    """Enter the decorated body in `scripts` under `kind`."""

    def enter(body: Body) -> Body:
        scripts[kind] = Script(step, command, body, exit_code, end)
        return body

    return enter
