"""Static files by a name that holds their content's hash, compressed and kept by browsers for good, once collected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

BUNDLES = {
    "bundles/page.css": ("css/variables.css", "css/base.css"),
    "bundles/grid.css": ("css/grid.css", "css/card.css", "css/banners.css"),
    "bundles/grid.js": (
        "js/nohxon.js",
        "vendor/htmx-2.0.11.min.js",
        "js/grid.js",
        "js/card.js",
        "js/keys.js",
        "js/live.js",
        "js/history.js",
    ),
}
"""Files that a page needs together, in their order. Each request costs a browser some milliseconds before it paints."""

_BETWEEN = {"css": b"\n", "js": b"\n;\n"}


class CollectedOrSource(CompressedManifestStaticFilesStorage):
    """Falls back to a file's own name, and to a bundle's parts, before `collectstatic` has run, as in tests."""

    manifest_strict = False

    def hashed_name(self, name: str, content: Any = None, filename: str | None = None) -> str:
        try:
            return str(super().hashed_name(name, content, filename))
        except ValueError:  # the file was not collected
            return name

    def parts_of(self, bundle: str) -> Sequence[str]:
        """Return the names to ask for: the bundle where it was made, else what it would be made of."""
        return (bundle,) if bundle in self.hashed_files else BUNDLES[bundle]

    def post_process(self, paths: dict[str, Any], *args: Any, **kwargs: Any) -> Iterator[tuple[Any, ...]]:
        """Make the bundles of what was collected, then names with hashes and compressed copies of everything."""
        if not kwargs.get("dry_run"):
            for bundle, parts in BUNDLES.items():
                self._write(bundle, parts)
                paths[bundle] = (self, bundle)
        yield from super().post_process(paths, *args, **kwargs)

    def _write(self, bundle: str, parts: Sequence[str]) -> None:
        texts = []
        for part in parts:
            with self.open(part) as file:
                texts.append(file.read())
        self.delete(bundle)
        self.save(bundle, ContentFile(_BETWEEN[bundle.rpartition(".")[2]].join(texts)))
