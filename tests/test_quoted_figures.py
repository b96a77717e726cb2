"""Figures that pages quote are those of the committed results (docs/figures.json)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from quoted_figures import present, renewed, sidecar  # noqa: E402


@pytest.mark.parametrize("page", sidecar())
def test_quoted_figures_are_those_of_the_results(page):
    assert renewed((ROOT / page).read_text("utf-8"), sidecar()[page])[2] == []


def test_the_readme_quotes_results():
    assert len(sidecar()["README.md"]) >= 5


def test_a_stale_figure_is_found_and_renewed():
    entries = [["It has ", "9.99", "published.json ecological/mvn_pdf_sym .2f"]]
    text, kept, problems = renewed("It has 9.99 percent.", entries)
    assert (text, problems) == ("It has 7.65 percent.", ["9.99 != 7.65 (published.json ecological/mvn_pdf_sym .2f)"])
    assert renewed(text, kept)[2] == []


def test_a_figure_that_was_rewritten_is_found():
    assert renewed("It has none.", [["It has ", "7.65", "published.json ecological/mvn_pdf_sym .2f"]])[2]


def test_a_figure_without_source_is_an_error():
    with pytest.raises(KeyError):
        present("published.json ecological/nothing .0f")
