"""The tables of the page on methods are those of the committed results."""

import re
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


def test_the_default_is_level_or_better_in_nine_of_ten_settings(tables):
    import json

    found = {"AUC": [], "log-loss": []}
    for name in ("proportions_few_bags", "proportions_bundled"):
        text = tables.TABLES[name](json.loads((tables.RESULTS / f"{name}.json").read_text()))
        for title, counted in zip(found, re.findall(r"in (\d+) of (\d+) settings", text), strict=True):
            found[title].append([int(n) for n in counted])
    for counted in found.values():
        good, settings = map(sum, zip(*counted, strict=True))
        assert settings == 32
        assert good >= 0.9 * settings
