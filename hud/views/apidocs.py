"""The page that documents the JSON API, drawn from its own OpenAPI description: no script, no foreign host."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from hud.api.v1 import api


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that the API can do."""

    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[tuple[str, str, str, bool], ...]  # name, where, type, required


def _operations(description: dict[str, Any]) -> Iterator[Operation]:
    for path, methods in description["paths"].items():
        for method, told in methods.items():
            yield Operation(
                method.upper(),
                path,
                told.get("summary", ""),
                told.get("description", ""),
                tuple(
                    (p["name"], p["in"], p.get("schema", {}).get("type", ""), bool(p.get("required")))
                    for p in told.get("parameters", ())
                ),
            )


@require_GET
def docs(request: HttpRequest) -> HttpResponse:
    """Show every operation with its parameters."""
    operations = list(_operations(api.get_openapi_schema()))
    return render(request, "hud/apidocs.html", {"operations": operations})
