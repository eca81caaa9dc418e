"""Static files by a name that holds their content's hash, compressed and kept by browsers for good, once collected."""

from __future__ import annotations

from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedOrSource(CompressedManifestStaticFilesStorage):
    """Falls back to a file's own name before `collectstatic` has run, as in tests."""

    manifest_strict = False

    def hashed_name(self, name: str, content: Any = None, filename: str | None = None) -> str:
        try:
            return str(super().hashed_name(name, content, filename))
        except ValueError:  # the file was not collected
            return name
