"""Files that a page needs together come as one, once they were collected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.template import Context, Template

from hud.staticstore import BUNDLES, CollectedOrSource

PAGE = '{% load assets %}{% bundle "page.css" %}{% bundle "grid.js" %}'


@pytest.fixture
def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CollectedOrSource:
    """What `collectstatic` leaves, made twice: every start of HUD makes it again."""
    monkeypatch.setattr(staticfiles_storage, "location", str(tmp_path), raising=False)
    monkeypatch.setattr(staticfiles_storage, "base_location", str(tmp_path), raising=False)
    monkeypatch.setattr(staticfiles_storage._wrapped, "hashed_files", {})
    for _ in range(2):
        call_command("collectstatic", interactive=False, verbosity=0)
    return staticfiles_storage._wrapped  # type: ignore[no-any-return]


def test_before_collecting_a_bundle_is_its_parts_in_their_order() -> None:
    told = Template(PAGE).render(Context())
    assert re.findall(r'(?:href|src)="/static/([^"]+)"', told) == [
        *BUNDLES["bundles/page.css"],
        *BUNDLES["bundles/grid.js"],
    ]
    assert all(finders.find(part) for parts in BUNDLES.values() for part in parts)


def test_after_collecting_it_is_one_file_with_all_parts_and_a_compressed_copy(collected: CollectedOrSource) -> None:
    told = re.findall(r'(?:href|src)="/static/([^"]+)"', Template(PAGE).render(Context()))
    assert [re.sub(r"\.[0-9a-f]{12}", "", name) for name in told] == ["bundles/page.css", "bundles/grid.js"]
    for name, bundle in zip(told, ("bundles/page.css", "bundles/grid.js"), strict=True):
        text = Path(collected.path(name)).read_text()
        places = [text.index(Path(str(finders.find(part))).read_text()) for part in BUNDLES[bundle]]
        assert places == sorted(places)
        assert Path(collected.path(name) + ".gz").exists()
