"""Readers find pages by the words they would type: thirty queries and more, each with its page among the first three.

The scorer follows the search of the built pages: words are stemmed, every word of the query must occur in a page (or
begin one of its words), and a word in the title counts more than one in a heading or in the text. Where Sphinx lists
pages in no particular order among equal scores, pages with more occurrences come first here.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
TITLE, HEADING = 15, 5  # Sphinx scores titles 15 and terms of the text 5; headings of a page lie between
FIRST = 3

QUERIES = {
    "racially polarized voting": ["tutorials/racially-polarised-voting", "glossary"],
    "RPV": ["glossary", "tutorials/racially-polarised-voting"],
    "voting rights": ["tutorials/racially-polarised-voting", "glossary"],
    "ecological fallacy": ["explanation/identification", "glossary"],
    "ecological inference": ["explanation/ecological-inference"],
    "confidence interval": ["glossary", "how-to/infer-cells-from-margins"],
    "credible interval": ["glossary"],
    "excel": ["how-to/read-your-files", "tutorials/without-python"],
    "differential privacy": ["explanation/privacy", "glossary", "how-to/release-tables"],
    "epsilon": ["explanation/privacy", "glossary", "how-to/release-tables"],
    "LLP": ["glossary", "explanation/label-proportions", "how-to/learn-from-bag-counts"],
    "label proportions": ["explanation/label-proportions", "how-to/learn-from-bag-counts"],
    "OD matrix": ["glossary", "how-to/recover-flows-from-counts"],
    "origin destination": ["glossary", "how-to/recover-flows-from-counts"],
    "bird migration": ["tutorials/bird-migration"],
    "read-only": ["how-to/train-at-scale", "explanation/persistence", "how-to/read-your-files", "glossary"],
    "multiple instance learning": ["glossary", "explanation/label-proportions", "explanation/distribution-results"],
    "distribution regression": ["explanation/distribution-regression"],
    "deep sets": ["explanation/deep-sets"],
    "maximum entropy": ["explanation/maximum-entropy"],
    "contingency table": ["glossary", "how-to/learn-from-tables", "explanation/maximum-entropy"],
    "iterative proportional fitting": ["glossary"],
    "small area estimation": ["glossary"],
    "command line": ["how-to/use-the-command-line"],
    "spark": ["how-to/run-on-a-cluster", "how-to/count-rows-into-tables"],
    "which method": ["choose", "how-to/choose-a-bag-method"],
    "identifiability": ["explanation/identification", "glossary"],
    "plot": ["gallery"],
    "checkpoint resume": ["how-to/resume-long-work"],
    "survey weights": ["glossary", "tutorials/who-voted-how", "how-to/prepare-microdata", "tutorials/election-study"],
    "attribution reporting": ["how-to/read-bucketed-reports", "glossary"],
    "synthetic data": ["explanation/generators", "reference/datasets"],
    "simpson's paradox": ["glossary"],
    "MRP": ["glossary"],
    "expert witness": ["glossary"],
    "weakly supervised": ["glossary"],
    "hyperparameter": ["glossary"],
    "conversion rate": ["glossary"],
    "k-anonymity": ["glossary"],
    "ebird": ["glossary", "tutorials/blackbirds"],
    "shapefile": ["glossary"],
    "mcmc convergence": ["glossary"],
    "jupyter notebook": ["glossary"],
    "license": ["glossary"],
    "how to cite": ["glossary"],
    "gravity model": ["glossary"],
    "mobile phone towers": ["tutorials/tower-counts"],
    "what does low confidence mean": ["how-to/solve-problems"],
    "percentages instead of counts": ["how-to/solve-problems", "how-to/read-your-files"],
    "r package eiPack": ["how-to/coming-from-ei-packages"],
    "screen reader": ["how-to/use-the-app"],
    "dark mode": ["how-to/use-the-app"],
    "error message totals disagree": ["how-to/solve-problems"],
    "FAQ": ["how-to/solve-problems"],
    "install": ["how-to/solve-problems", "tutorials/first-steps"],
    "memory error": ["how-to/solve-problems", "explanation/scale"],
    "geopandas": ["how-to/map-a-migration", "glossary"],
}


@cache
def stemmer():
    return pytest.importorskip("snowballstemmer", reason="Sphinx brings the stemmer").stemmer("english")


def words(text: str) -> list[str]:
    """The stems of a text's words."""
    return [stem(word) for word in re.findall(r"[a-z0-9]+", text.lower())]


@cache
def stem(word: str) -> str:
    return stemmer().stemWord(word)


@cache
def index() -> dict[str, tuple[list[str], list[str], list[str]]]:
    """Stems of title, headings and text of every page."""
    found = {}
    for path in sorted(DOCS.rglob("*.md")):
        if {"_build", "generated"} & set(path.parts):
            continue
        text = path.read_text("utf-8")
        if path.name == "gallery.md":  # its directive adds the titles, captions and code of the scripts
            text += "".join(script.read_text("utf-8") for script in sorted((DOCS / "gallery").glob("*.py")))
        prose = re.sub(r"^```(console|text|toml)?$", "", text, flags=re.MULTILINE)
        headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
        name = path.relative_to(DOCS).with_suffix("").as_posix()
        found[name] = words(headings[0] if headings else ""), words(" ".join(headings[1:])), words(prose)
    return found


def search(query: str) -> list[str]:
    """Pages that contain every word of the query, best first."""
    asked, scored = words(query), []
    for name, (title, headings, text) in index().items():
        hits = [sum(word.startswith(start) for word in text) for start in asked]
        if all(hits):
            bonus = sum(TITLE * (word in title) + HEADING * (word in headings) for word in asked)
            together = sum(text[i : i + len(asked)] == asked for i in range(len(text))) if len(asked) > 1 else 0
            scored.append((-bonus - 3 * min(together, 5), -min(hits), name))
    return [name for *_, name in sorted(scored)]


def test_there_are_thirty_queries_for_pages_that_exist():
    assert len(QUERIES) >= 30
    assert {page for pages in QUERIES.values() for page in pages} <= index().keys()


@pytest.mark.parametrize("query", QUERIES)
def test_query_finds_its_page(query):
    found = search(query)[:FIRST]
    assert set(found) & set(QUERIES[query]), f"{query!r} finds {found}"


def test_a_query_that_no_page_answers_finds_none():
    assert search("zebra crossing xylophone") == []
