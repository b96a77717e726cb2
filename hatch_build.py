"""The built documentation goes into the wheel where it was made (``make dist``); other installations have its text."""

from __future__ import annotations

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BundledPages(BuildHookInterface):
    """Packs ``docs/_build/wheel``, which ``docs/bundle.py`` writes."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Called by hatchling before it packs a wheel."""
        pages = Path(self.root, "docs", "_build", "wheel")
        if version == "standard" and (pages / "index.html").exists():
            build_data["force_include"][str(pages)] = "sumwise/bundled_docs/html"
