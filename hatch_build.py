"""The documentation as HTML goes into the wheel: as `make docs` built it, or plain, from the Markdown alone."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BundledPages(BuildHookInterface):
    """Packs ``docs/_build/wheel``, which ``docs/bundle.py`` writes, or what ``docs/plain_pages.py`` renders."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Called by hatchling before it packs a wheel."""
        if version != "standard":  # an editable installation reads the source
            return
        docs = Path(self.root, "docs")
        pages = docs / "_build" / "wheel"
        if not (pages / "index.html").exists():
            sys.path.insert(0, str(docs))
            from plain_pages import render

            pages = render(Path(tempfile.mkdtemp(prefix="sumwise-docs-")), docs)
        build_data["force_include"][str(pages)] = "sumwise/bundled_docs/html"
