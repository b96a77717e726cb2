"""The tables of the page on methods are those of the committed results."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import proportions_tables

    yield proportions_tables
    sys.modules.pop("proportions_tables", None)


def test_the_page_shows_the_committed_results(tables):
    page = tables.PAGE.read_text()
    assert page.count("<!-- table:") == len(tables.TABLES)
    assert tables.filled(page) == page


def test_every_cell_rests_on_ten_draws_or_more(tables):
    import json

    few = json.loads((tables.RESULTS / "proportions_few_bags.json").read_text())
    assert all(len(v) >= 20 for cell in few["cells"] for v in cell["scores"].values())
    bundled = json.loads((tables.RESULTS / "proportions_bundled.json").read_text())
    assert all(len(v) >= 20 for c in bundled["cells"] for part in ("scores", "losses") for v in c[part].values())
    sums = json.loads((tables.RESULTS / "proportions_sums.json").read_text())
    assert all(len(found["scores"]) >= 10 for found in sums["sets"].values())
