"""The documentation as plain HTML, as any `pip install` carries it."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import sys

    sys.path.insert(0, str(DOCS))
    from plain_pages import render

    return render(tmp_path_factory.mktemp("html"), DOCS)


def test_every_link_leads_to_a_page_and_a_heading(folder):
    pages = {page: page.read_text("utf-8") for page in folder.rglob("*.html")}
    broken = []
    for page, text in pages.items():
        for link in re.findall(r'(?:href|src)="(?!https?:)([^"]+)"', text):
            name, _, heading = unquote(link).partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (heading and f'id="{heading}"' not in pages[target]):
                broken.append(f"{page.name}: {link}")
    assert len(pages) > 60
    assert not broken


def test_no_markup_of_sphinx_is_left(folder):
    left = [
        page.name
        for page in folder.rglob("*.html")
        if re.search(r"\{[a-z:-]+\}(`|<code>)|```", page.read_text("utf-8"))
    ]
    assert not left
