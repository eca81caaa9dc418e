"""The template tag for styles and scripts that a page needs together."""

from __future__ import annotations

from typing import cast

from django import template
from django.contrib.staticfiles.storage import staticfiles_storage
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from hud.staticstore import CollectedOrSource

register = template.Library()
_STYLE, _SCRIPT = '<link rel="stylesheet" href="{}">', '<script src="{}" defer></script>'


@register.simple_tag
def bundle(name: str) -> SafeString:
    """`<link>` or deferred `<script>`: one for the bundle once it was made, before that one for each of its files."""
    element = _STYLE if name.endswith(".css") else _SCRIPT
    storage = cast(CollectedOrSource, staticfiles_storage)
    addresses = [storage.url(part) for part in storage.parts_of(f"bundles/{name}")]
    return format_html_join("\n", element, ((address,) for address in addresses))
