"""Every address of HUD. The contract's paths are fixed; see docs/architecture.md."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
