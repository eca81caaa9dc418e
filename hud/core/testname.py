"""One test under the names that logs, reports and people use.

pytest prints `tests/test_a.py::TestB::test_c`, its JUnit file says class `tests.test_a.TestB`, name `test_c`; Maven
prints `test_c(pkg.TestB)`, `TestB.test_c` or `pkg.TestB.test_c`; Go prints the name alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID

NAME_CHARS = 500
_INSIDE_PARENTHESES = re.compile(r"^(?P<name>[\w$]+(?:\[[^\]]*\])?)\s*\((?P<owner>[\w$]+(?:\.[\w$]+)+)\)$")
_FILE_ENDING = re.compile(r"\.(?:py|[cm]?[jt]sx?|rb|exs?)(?=::|\.|$| › | > )")
_SEPARATORS = re.compile(r"::| › | > |[/#\\]")
_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class NameKeys:
    """Three hashes of a name, from the most to the least telling: all of it, class and name, the name alone.

    `bare` is that of the name alone; a short name that stands without any class is found through it.
    """

    full: int
    tail: int
    bare: int


def keys_of(name: str, owner: str = "") -> NameKeys:
    """Return the keys of a test. `owner`: its class, package or suite, where that is told apart."""
    parts = _parts(f"{owner}.{_own(name)}" if owner else name)
    # The name of a test may hold dots and slashes; where the owner is known, it is taken whole.
    bare = _own(name) if owner else (parts[-1] if len(parts) > 1 else _own(name))
    return NameKeys(_hash(".".join(parts)), _hash(".".join(parts[-2:])), _hash(".".join(_parts(bare))))


def identity_of(name: str, owner: str) -> UUID:
    """Return what tells a test apart from all others of its repository."""
    return UUID(bytes=blake2b(f"{owner}\x00{name}".encode("utf-8", "replace"), digest_size=16).digest())


def readable(name: str) -> str:
    """Return the name with the letters that pytest writes as escapes in parameters: `a[\\xfc]` → `a[ü]`."""
    head, bracket, parameters = name.partition("[")
    return head + bracket + _ESCAPED.sub(_character, parameters) if bracket and "\\" in parameters else name


def _character(match: re.Match[str]) -> str:
    number = int(match[1] or match[2] or match[3], 16)
    legal = 0x80 <= number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if legal else match[0]


def _own(name: str) -> str:
    return readable(name.strip())


def _parts(name: str) -> list[str]:
    """Split a name into what it is made of; parameters stay whole, with the part that they belong to."""
    found = _INSIDE_PARENTHESES.match(name)
    name = f"{found['owner']}.{found['name']}" if found else _own(name)
    cut = min((i for i in (name.find("["), name.find("(")) if i > 0), default=len(name))
    head, parameters = name[:cut], name[cut:]
    dotted = _SEPARATORS.sub(".", _FILE_ENDING.sub("", head))
    parts = [part for part in dotted.split(".") if part] or [""]
    parts[-1] += parameters
    return parts


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)
