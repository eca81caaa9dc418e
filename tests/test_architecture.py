"""Imports point one way: views, api → queries, services → models; tasks → services → clients, classifier.

Read from the source with `ast`, so it needs nothing installed and nothing to run, and never skips.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PURE = ("classifier", "hud.core")
NETWORK_AND_STORE = (
    "django",
    "celery",
    "kombu",
    "redis",
    "psycopg",
    "httpx",
    "requests",
    "urllib.request",
    "socket",
    "http.client",
    "boto3",
)

# For each room: the rooms of this project that it may import from. A room may always import from itself.
ALLOWED = {
    "classifier": set(),
    "hud.core": {"classifier"},
    "hud.runtime": set(),
    "hud.variables": set(),
    "hud.logformat": set(),
    "hud.settings": {"hud.runtime", "hud.variables", "hud.clients"},  # of the clients: their defaults
    "hud.models": {"hud.core", "classifier"},
    "hud.clients": {"hud.core"},
    "hud.queries": {"hud.models", "hud.core", "classifier"},
    "hud.synthetic": {"hud.core", "classifier"},
    "hud.services": {"hud.models", "hud.queries", "hud.clients", "hud.core", "hud.synthetic", "classifier"},
    "hud.tasks": {"hud.services", "hud.queries", "hud.models", "hud.core"},
}
# Views, the API, commands and what Django itself loads may import from all of these, but nothing imports them.
TOP = {
    "hud.views",
    "hud.api",
    "hud.management",
    "hud.templatetags",
    "hud.urls",
    "hud.asgi",
    "hud.wsgi",
    "hud.celery",
    "hud.tasks",
}
# Only these read the environment.
READERS = {"hud.settings", "hud.runtime"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for package in ("hud", "classifier"):
        for path in sorted((CHECKOUT / package).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            name = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
            yield name.removesuffix(".__init__"), ast.parse(path.read_text(), str(path))


def room_of(module: str) -> str:
    """Return the room a module lies in: its first part, below hud its first two."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "hud" else parts[0]


def imported_by(module: str, tree: ast.Module, *, is_package: bool = False) -> set[str]:
    """Return the dotted names that the module imports anywhere, also inside functions and for type checking only."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: len(module.split(".")) - node.level + is_package]
                base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return names


def imports() -> Iterator[tuple[str, str]]:
    for module, tree in modules():
        is_package = (CHECKOUT / Path(*module.split(".")) / "__init__.py").exists()
        for name in sorted(imported_by(module, tree, is_package=is_package)):
            yield module, name


def is_ours(name: str) -> bool:
    return name.split(".")[0] in {"hud", "classifier"}


def test_there_is_something_to_check() -> None:
    assert sum(1 for _ in modules()) > 20


def test_each_room_imports_only_from_the_rooms_below_it() -> None:
    wrong = []
    for module, name in imports():
        room, target = room_of(module), room_of(name)
        if room in ALLOWED and is_ours(name) and target not in {room, "hud"} and target not in ALLOWED[room]:
            wrong.append(f"{module} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_nothing_below_imports_views_api_or_commands() -> None:
    above = {"hud.views", "hud.api", "hud.management", "hud.templatetags"}
    free = above | {"hud.urls"}
    wrong = [
        f"{module} imports {name}"
        for module, name in imports()
        if room_of(name) in above and room_of(module) not in free
    ]
    assert not wrong, "\n".join(wrong)


def test_pure_decisions_import_no_framework_database_or_network() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, name in imports()
        if module.startswith(PURE) and any(name == bad or name.startswith(f"{bad}.") for bad in NETWORK_AND_STORE)
    ]
    assert not wrong, "\n".join(wrong)


def test_start_up_imports_no_django() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, name in imports()
        if room_of(module) == "hud.runtime" and name.split(".")[0] == "django"
    ]
    assert not wrong, "\n".join(wrong)


def test_only_settings_and_start_up_read_the_environment() -> None:
    wrong = []
    for module, tree in modules():
        if room_of(module) in READERS:
            continue
        for node in ast.walk(tree):
            reads = (
                isinstance(node, ast.Attribute)
                and node.attr in {"environ", "getenv"}
                and not _only_sets_default(node, tree)
            )
            if reads:
                wrong.append(f"{module}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def _only_sets_default(node: ast.Attribute, tree: ast.Module) -> bool:
    """Return whether this `os.environ` is that of `os.environ.setdefault(…)`, which writes what settings then read."""
    return any(
        isinstance(outer, ast.Attribute) and outer.value is node and outer.attr == "setdefault"
        for outer in ast.walk(tree)
    )


def test_every_room_is_known() -> None:
    known = set(ALLOWED) | TOP | {"hud", "hud.middleware", "hud.staticserver", "hud.staticstore"}
    unknown = {room_of(module) for module, _ in modules()} - known
    assert not unknown, f"say in ALLOWED what may import what: {sorted(unknown)}"
