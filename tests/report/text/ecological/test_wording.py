"""Sentences of reports on ecological inference that quote figures."""

from __future__ import annotations

import json
from pathlib import Path

from sumwise.report.text.ecological.wording import CALIBRATION, COVARIATES, CURVED, VARIED

RESULTS = Path(__file__).parents[4] / "benchmarks" / "results" / "ecological.json"


def test_the_coverage_that_reports_quote_is_the_measured_one():
    rows = json.loads(RESULTS.read_text("utf-8"))["contests"]["result"]["summary"]
    chosen, reported = ({r["contests of"]: r for r in rows}[f"all {kind}"] for kind in ("chosen on", "reported"))
    assert f"chosen on {chosen['contests']} contests" in CALIBRATION
    assert f"on {reported['contests']} contests of three other elections" in CALIBRATION
    widths = json.loads(RESULTS.with_name("ecological_intervals.json").read_text("utf-8"))
    simulated = widths["simulated, odd seeds"]["composition 1.0"]["coverage"]
    assert f"covered {reported['coverage']:.1%} of the true cells" in CALIBRATION
    assert f"they covered {simulated:.0%} of the true cells" in CALIBRATION
    assert f"at most {widths['overdispersion']['all']['max']:.3f} there" in VARIED
    with_some = widths["covariates"]["reported, with covariates"]["coverage"]
    assert f"they covered {with_some:.1%} of the true cells" in COVARIATES
    rejected = widths["contests by the test of aggregation bias"]["True"]["coverage"]
    assert (
        f"covered {rejected:.0%} of the true cells; in simulated ones with stronger dependence, {simulated:.0%}"
        in CURVED
    )
