"""Links between pages lead somewhere; those that don't are named with file and line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import check_links  # noqa: E402


def test_links_of_all_pages_lead_somewhere():
    assert [line for path in check_links.markdown_files() for line in check_links.broken_links(path)] == []


@pytest.mark.parametrize("target", ["gone.md", "here.md#nowhere", "#not-on-this-page"])
def test_a_broken_link_is_named_with_its_line(tmp_path, target):
    (tmp_path / "here.md").write_text("# A heading, `code` and all\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n[good](here.md#a-heading-code-and-all), [bad]({target})\n", "utf-8")
    assert check_links.broken_links(page) == [f"{page}:3: {target}"]


def test_links_in_code_and_to_the_outside_are_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("`[a](gone.md)` [b](https://example.org)\n\n```python\nx[0](gone.md)\n```\n", "utf-8")
    assert check_links.broken_links(page) == []


def test_every_chapter_of_the_explanation_is_in_its_index():
    folder = ROOT / "docs" / "explanation"
    listed = (folder / "index.md").read_text("utf-8").splitlines()
    assert [p.stem for p in folder.glob("*.md") if p.stem not in ("index", *listed)] == []
