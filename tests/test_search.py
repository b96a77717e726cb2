"""Readers find pages by the words they would type: over a hundred queries, each with its page among the first three.

The scorer follows the search of the built pages (Sphinx's searchtools.js, without the names of the reference). Words
are stemmed, and every word of the query must occur. An entry of the index or a term of the glossary that contains the
query counts most, then a heading that contains it, then single words in headings, then in the text; pages of the same
score come in the order of their titles.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[1] / "docs"
INDEX, TITLE, TERM, PART_OF_TITLE, PART_OF_TERM = 100, 15, 5, 7, 2  # as Sphinx scores them
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
    "k-anonymity": ["how-to/count-rows-into-tables", "glossary"],
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
    "BISG": ["how-to/infer-cells-from-margins", "glossary"],
    "Goodman regression": ["explanation/ecological-inference", "glossary"],
    "King's EI": ["how-to/coming-from-ei-packages", "explanation/ecological-inference", "glossary"],
    "homogeneous precincts": ["tutorials/racially-polarised-voting", "glossary"],
    "turnout by race": [
        "how-to/infer-cells-from-margins",
        "tutorials/racially-polarised-voting",
        "glossary",
        "tutorials/who-voted-how",
    ],
    "candidate of choice": [
        "tutorials/racially-polarised-voting",
        "how-to/coming-from-ei-packages",
        "how-to/infer-cells-from-margins",
    ],
    "Gingles": ["tutorials/racially-polarised-voting", "glossary", "how-to/infer-cells-from-margins"],
    "tomography plot": ["gallery"],
    "CVAP": ["glossary", "how-to/read-your-files"],
    "split ticket": ["how-to/infer-cells-from-margins"],
    "court report": ["tutorials/racially-polarised-voting", "how-to/from-files-to-findings"],
    "exit poll": ["tutorials/who-voted-how", "how-to/prepare-microdata"],
    "click through rate": ["glossary", "tutorials/bids-from-a-noisy-report"],
    "privacy sandbox": ["how-to/read-bucketed-reports", "glossary"],
    "negative counts": ["tutorials/bids-from-a-noisy-report", "how-to/learn-from-tables", "how-to/solve-problems"],
    "suppressed cells": ["how-to/read-bucketed-reports", "glossary", "how-to/learn-from-tables"],
    "sql": ["how-to/learn-from-tables", "tutorials/bids-from-a-noisy-report"],
    "bigquery": ["how-to/learn-from-tables", "how-to/read-your-files"],
    "laplace mechanism": ["explanation/privacy", "how-to/release-tables", "glossary"],
    "census disclosure avoidance": ["glossary", "how-to/infer-cells-from-margins", "explanation/privacy"],
    "privacy budget": ["explanation/privacy", "how-to/release-tables", "tutorials/a-private-release", "glossary"],
    "synthetic rows": ["how-to/learn-from-tables", "how-to/release-tables", "tutorials/a-private-release"],
    "abundance maps": ["tutorials/blackbirds", "how-to/map-a-migration"],
    "band recoveries": ["tutorials/blackbirds", "glossary"],
    "stopover": ["how-to/map-a-migration", "glossary"],
    "netcdf": ["how-to/map-a-migration", "how-to/read-your-files"],
    "animation": ["how-to/map-a-migration", "tutorials/blackbirds", "gallery"],
    "commuting flows": [
        "gallery",
        "how-to/recover-flows-from-counts",
        "tutorials/mobility-and-privacy",
        "tutorials/tower-counts",
    ],
    "movement model": ["how-to/map-a-migration", "explanation/collective-models", "glossary"],
    "scikit-learn pipeline": [
        "tutorials/labels-from-bag-counts",
        "how-to/learn-from-bag-counts",
        "how-to/predict-from-bags",
    ],
    "cross validation": [
        "how-to/learn-from-bag-counts",
        "glossary",
        "tutorials/labels-from-bag-counts",
        "how-to/predict-from-bags",
    ],
    "pytorch": ["how-to/train-at-scale", "explanation/deep-sets", "how-to/learn-from-bag-counts", "glossary"],
    "GPU": ["how-to/train-at-scale", "explanation/scale"],
    "point cloud": ["tutorials/a-response-from-samples", "gallery", "explanation/deep-sets"],
    "mean map": ["explanation/label-proportion-methods"],
    "attention pooling": ["explanation/deep-sets"],
    "calibration": ["how-to/learn-from-bag-counts", "gallery", "explanation/ecological-inference", "glossary"],
    "missing values": [
        "how-to/learn-from-bag-counts",
        "how-to/learn-from-tables",
        "how-to/read-your-files",
        "how-to/solve-problems",
    ],
    "save model": ["explanation/persistence", "how-to/use-the-command-line"],
    "pickle": ["explanation/persistence", "how-to/predict-from-bags", "glossary"],
    "onnx": ["how-to/learn-from-tables"],
    "random seed": ["explanation/architecture", "explanation/versions", "glossary", "how-to/solve-problems"],
    "too few bags": [
        "explanation/label-proportion-methods",
        "how-to/learn-from-bag-counts",
        "how-to/choose-a-bag-method",
    ],
    "learning from label proportions": [
        "tutorials/labels-from-bag-counts",
        "explanation/label-proportions",
        "glossary",
    ],
    "pdf": [
        "tutorials/without-python",
        "how-to/use-the-command-line",
        "how-to/from-files-to-findings",
        "how-to/use-the-app",
    ],
    "quickstart": ["tutorials/first-steps", "glossary"],
    "statistical significance": ["glossary"],
    "p-value": ["glossary", "explanation/ecological-inference"],
    "sample size": ["glossary", "explanation/identification", "explanation/ecological-inference"],
    "latex table": ["tutorials/racially-polarised-voting", "how-to/from-files-to-findings"],
    "regression on aggregate data": ["explanation/identification", "explanation/ecological-inference", "glossary"],
    "voting rights act section 2": ["tutorials/racially-polarised-voting"],
    "crossover voting": ["tutorials/racially-polarised-voting", "how-to/infer-cells-from-margins"],
    "ecological regression": ["explanation/ecological-inference", "how-to/coming-from-ei-packages"],
    "RxC": ["how-to/coming-from-ei-packages", "explanation/ecological-inference"],
    "double equation": ["how-to/infer-cells-from-margins"],
    "voter file": ["how-to/infer-cells-from-margins", "how-to/read-your-files"],
    "redistricting": ["how-to/infer-cells-from-margins", "glossary"],
    "district plan": ["how-to/infer-cells-from-margins"],
    "conversion report": ["how-to/read-bucketed-reports"],
    "clean room": ["how-to/read-bucketed-reports"],
    "cpa bidding": ["tutorials/bids-from-a-noisy-report"],
    "cost per acquisition": ["tutorials/bids-from-a-noisy-report"],
    "synthetic microdata": ["how-to/learn-from-tables"],
    "statistical disclosure control": ["glossary"],
    "gaussian mechanism": ["explanation/privacy"],
    "geojson": ["how-to/map-a-migration", "how-to/read-your-files"],
    "birdflow": ["tutorials/blackbirds", "how-to/map-a-migration", "book/comparison"],
    "mark recapture": ["glossary"],
    "connectivity matrix": ["how-to/map-a-migration"],
    "missing week": ["tutorials/bird-migration", "how-to/map-a-migration"],
    "traffic counts": ["glossary"],
    "raster": ["how-to/map-a-migration"],
    "prediction intervals": ["how-to/predict-from-bags"],
    "aggregated labels": ["explanation/label-proportions"],
    "gridsearchcv": ["how-to/learn-from-bag-counts", "how-to/predict-from-bags"],
    "wasserstein distance": ["explanation/distribution-regression"],
    "kernel mean embedding": ["explanation/distribution-regression"],
    "pandas dataframe": ["tutorials/first-steps"],
    "polars": ["tutorials/first-steps"],
    "export to word": ["how-to/from-files-to-findings"],
    "offline documentation": ["how-to/use-the-command-line"],
    "eipack": ["how-to/coming-from-ei-packages"],
    "standard error": ["glossary"],
    "margin of error": ["glossary"],
    "method of bounds": ["explanation/identification"],
    "few precincts": ["how-to/infer-cells-from-margins"],
    "minority turnout": ["how-to/infer-cells-from-margins"],
    "majority minority district": ["how-to/infer-cells-from-margins"],
    "outliers": ["how-to/infer-cells-from-margins"],
    "swing voters": ["glossary"],
    "census blocks": ["glossary"],
    "aggregated measurement API": ["how-to/read-bucketed-reports"],
    "skadnetwork": ["glossary"],
    "bid optimization": ["tutorials/bids-from-a-noisy-report"],
    "lookalike": ["glossary"],
    "marketing mix model": ["glossary"],
    "utility loss": ["tutorials/a-private-release"],
    "zcdp": ["explanation/privacy"],
    "cell suppression": ["how-to/count-rows-into-tables"],
    "migratory connectivity": ["how-to/map-a-migration"],
    "gps tracks": ["tutorials/blackbirds"],
    "tracking data": ["tutorials/blackbirds"],
    "presence absence": ["glossary"],
    "hidden markov model": ["glossary"],
    "multi-class": ["how-to/learn-from-bag-counts"],
    "class imbalance": ["glossary"],
    "feature importance": ["how-to/learn-from-bag-counts"],
    "gaussian process": ["how-to/predict-from-bags"],
    "large dataset": ["explanation/scale"],
    "speed": ["explanation/scale"],
    "upgrade": ["explanation/versions"],
    "csv encoding": ["how-to/read-your-files"],
    "word document": ["how-to/from-files-to-findings"],
    "docker": ["glossary"],
    "benchmarks": ["book/index"],
    "acs pums": ["how-to/prepare-microdata"],
    "sensitivity analysis": ["explanation/ecological-inference", "how-to/infer-cells-from-margins"],
    "choropleth": ["how-to/from-files-to-findings"],
    "map of precincts": ["how-to/from-files-to-findings"],
    "ad campaign": ["tutorials/bids-from-a-noisy-report"],
    "xgboost": ["how-to/learn-from-bag-counts"],
    "random forest": ["how-to/learn-from-bag-counts"],
    "logistic regression": ["explanation/maximum-entropy"],
    "flow cytometry": ["tutorials/a-response-from-samples"],
    "image bags": ["tutorials/a-response-from-samples"],
    "tutorial for beginners": ["tutorials/first-steps"],
    "example data": ["reference/datasets"],
    "r vs python": ["how-to/coming-from-ei-packages"],
    "compare two elections": ["how-to/use-the-command-line"],
    "change over time": ["how-to/use-the-command-line"],
    "api reference": ["reference/index"],
    "slow": ["explanation/scale", "how-to/solve-problems"],
    "how long does it take": ["explanation/scale"],
    "animal movement": ["tutorials/blackbirds"],
    "human mobility": ["tutorials/tower-counts", "tutorials/mobility-and-privacy"],
    "population flow": ["tutorials/tower-counts"],
    "spatial autocorrelation": ["explanation/dependence"],
    "hispanic voters": ["tutorials/who-voted-how"],
    "vote share by race": ["tutorials/who-voted-how", "how-to/infer-cells-from-margins"],
    "interval too wide": ["how-to/solve-problems"],
    "MAUP": ["glossary"],
    "areal interpolation": ["glossary"],
    "semi-supervised": ["glossary"],
    "multi-instance": ["glossary"],
    "pymc": ["glossary"],
    "five families": ["tutorials/five-families"],
    "overdispersion": ["glossary", "explanation/ecological-inference"],
    "stata": ["how-to/read-your-files"],
    "poststratification": ["tutorials/who-voted-how"],
    "ledger": ["tutorials/a-private-release", "how-to/release-tables"],
    "pyei": ["how-to/coming-from-ei-packages"],
    "voting rights act": ["tutorials/racially-polarised-voting"],
    "attribution report": ["how-to/read-bucketed-reports"],
    "click prediction": ["how-to/learn-from-tables", "how-to/count-rows-into-tables"],
    "cookies": ["how-to/read-bucketed-reports"],
    "third-party cookies": ["how-to/read-bucketed-reports"],
    "sdc": ["how-to/release-tables"],
    "commuting matrix": ["how-to/recover-flows-from-counts"],
    "transition matrix": ["how-to/recover-flows-from-counts"],
    "migration routes": ["how-to/map-a-migration", "tutorials/bird-migration"],
    "capture-recapture": ["tutorials/blackbirds"],
    "mark-recapture": ["tutorials/blackbirds"],
    "weak supervision": ["tutorials/labels-from-bag-counts"],
    "gpu": ["how-to/train-at-scale"],
    "out of memory": ["how-to/solve-problems"],
    "reproducible": ["how-to/solve-problems", "explanation/versions"],
    "load model": ["explanation/persistence"],
    "surname": ["how-to/infer-cells-from-margins"],
    "bisg": ["how-to/infer-cells-from-margins"],
    "hypothesis test": ["explanation/ecological-inference"],
    "p value": ["explanation/ecological-inference"],
    "school board": ["tutorials/racially-polarised-voting"],
    "gingles": ["tutorials/racially-polarised-voting"],
    "census": ["how-to/prepare-microdata"],
    "raking": ["explanation/ecological-inference"],
    "mcmc": ["explanation/ecological-inference"],
    "posterior": ["explanation/label-proportions", "explanation/collective-models"],
    "laplace noise": ["tutorials/mobility-and-privacy"],
    "parquet": ["how-to/count-rows-into-tables"],
    "exercises": ["explanation/deep-sets", "explanation/collective-models", "explanation/identification"],
    "expert report voting rights act": ["tutorials/racially-polarised-voting"],
    "google privacy sandbox": ["how-to/read-bucketed-reports"],
    "import csv": ["how-to/read-your-files"],
    "missing data": ["how-to/read-your-files"],
    "logistic regression on aggregate data": ["how-to/learn-from-tables"],
    "single cell": ["tutorials/a-response-from-samples"],
    "ebird status and trends": ["how-to/map-a-migration"],
    "install offline": ["how-to/solve-problems"],
    "no network": ["how-to/solve-problems"],
    "python version": ["how-to/solve-problems"],
    "confidence interval too wide": ["how-to/solve-problems"],
    "mobile phone data": ["tutorials/tower-counts", "tutorials/mobility-and-privacy"],
    "point cloud classification": ["gallery", "how-to/choose-a-bag-method", "tutorials/a-response-from-samples"],
    "R package eiCompare": ["how-to/coming-from-ei-packages"],
    "pdf report": ["tutorials/without-python", "how-to/from-files-to-findings"],
}


class Page(NamedTuple):
    """What the search knows of a page."""

    title: str
    headings: list[str]
    entries: list[str]  # of the index and of a glossary
    title_words: frozenset[str]
    words: frozenset[str]


@cache
def stemmer():
    return pytest.importorskip("snowballstemmer", reason="Sphinx brings the stemmer").stemmer("english")


@cache
def stopwords() -> frozenset[str]:
    return frozenset(pytest.importorskip("sphinx.search.en").SearchEnglish.stopwords)


@cache
def stem(word: str) -> str:
    return stemmer().stemWord(word)


def words(text: str) -> frozenset[str]:
    """The stems of a text's words."""
    found = set(re.findall(r"\w+", text.lower())) - stopwords()
    return frozenset(stem(word) for word in found)


def page_of(path: Path) -> Page:
    text = path.read_text("utf-8")
    if path.name == "gallery.md":  # its directive adds the titles, captions and code of the scripts
        text += "".join(script.read_text("utf-8") for script in sorted((DOCS / "gallery").glob("*.py")))
    entries = [entry for line in re.findall(r"^```{index} (.*)$", text, re.MULTILINE) for entry in line.split(",")]
    glossaries = re.findall(r"^```{glossary}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    entries += [line for glossary in glossaries for line in glossary.splitlines() if line and not line.startswith(" ")]
    prose = re.sub(r"^```.*$|<!--.*?-->", "", text, flags=re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    entries = [entry.strip().removeprefix("!").lower() for entry in entries]
    return Page(headings[0], headings, entries, words(" ".join(headings)), words(prose))


@cache
def index() -> dict[str, Page]:
    """Every page that isn't generated from docstrings."""
    pages = [path for path in sorted(DOCS.rglob("*.md")) if not {"_build", "generated"} & set(path.parts)]
    return {path.relative_to(DOCS).with_suffix("").as_posix(): page_of(path) for path in pages}


@cache
def all_words() -> tuple[frozenset[str], frozenset[str]]:
    """The words of all texts and of all headings: part of a word is looked for only where the whole is nowhere."""
    pages = index().values()
    return frozenset().union(*(page.words for page in pages)), frozenset().union(*(page.title_words for page in pages))


def word_score(word: str, page: Page) -> int:
    """What a word counts on a page; 0 if it isn't there."""
    in_texts, in_titles = all_words()
    parts = len(word) > 2
    if word in page.title_words:
        return TITLE
    if parts and word not in in_titles and any(word in other for other in page.title_words):
        return PART_OF_TITLE
    if word in page.words:
        return TERM
    return PART_OF_TERM if parts and word not in in_texts and any(word in other for other in page.words) else 0


def share(query: str, phrases: list[str]) -> float:
    """The largest part of a phrase that the query makes up, where it is half of it or more."""
    return max((len(query) / len(one) for one in phrases if query in one and len(query) >= len(one) / 2), default=0.0)


def score(query: str, page: Page) -> float:
    asked = [word_score(word, page) for word in words(query)]
    by_words = max(asked) if asked and all(asked) else 0
    headings = [heading.lower() for heading in page.headings]
    return max(INDEX * share(query, page.entries), TITLE * share(query, headings), by_words)


def search(query: str) -> list[str]:
    """Pages that answer the query, best first."""
    scores = {name: score(query.lower(), page) for name, page in index().items()}
    return sorted(
        (name for name in scores if scores[name]), key=lambda name: (-scores[name], index()[name].title.lower())
    )


def test_there_are_thirty_queries_for_pages_that_exist():
    assert len(QUERIES) >= 30
    assert {page for pages in QUERIES.values() for page in pages} <= index().keys()


@pytest.mark.parametrize("query", QUERIES)
def test_query_finds_its_page(query):
    found = search(query)[:FIRST]
    assert set(found) & set(QUERIES[query]), f"{query!r} finds {found}"


def test_a_query_that_no_page_answers_finds_none():
    assert search("zebra crossing xylophone") == []
