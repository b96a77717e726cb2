"""Sentences of reports on ecological inference that quote figures."""

from __future__ import annotations

import json
from pathlib import Path

from sumwise.report.text.ecological.wording import COVERED, KNOWN_TABLES, MEASURED_SHARES

RESULTS = Path(__file__).parents[4] / "benchmarks" / "results"


def test_the_coverage_that_reports_quote_is_the_measured_one():
    found = json.loads((RESULTS / "ecological_intervals.json").read_text("utf-8"))
    assert f"covered {found['elections left out']['all']['coverage']:.1%} of the true cells" in COVERED
    for kind in ("own", "shared"):
        assert f"{found['slopes'][kind]['0.5']['coverage']:.0%} where" in COVERED


def test_the_coverage_of_other_methods_is_the_measured_one():
    found = json.loads((RESULTS / "ecological_unseen.json").read_text("utf-8"))
    measured = {name: f"{found['result']['all'][name]['covered']:.0%}" for name in MEASURED_SHARES}
    assert found["seeds"] == KNOWN_TABLES
    assert measured == MEASURED_SHARES
