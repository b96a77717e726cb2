"""The report on classifiers from tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sumwise import Tables, synthetic
from sumwise.maxent import BestPair, NaiveBayesTables
from sumwise.report import report
from sumwise.report.text.maxent import _contrasts


def split():
    frame = synthetic.rows(2000, sizes=[3, 2, 4], random_state=0).frame()
    tables = Tables.from_frame(frame.iloc[:1500], ["f0", "f1", "f2"], label="label")
    return tables, frame.iloc[1500:]


def test_contrasts_name_the_widest_attributes_and_leave_rare_levels_out():
    frame = pd.DataFrame(
        {
            "attribute": ["a", "a", "b", "b", "c", "c"],
            "level": ["x", "y", "x", "y", "x", "rare"],
            "count": [50, 50, 50, 50, 99, 1],
            "share": [0.1, 0.2, 0.1, 0.9, 0.5, 1.0],
        }
    )
    found = _contrasts(frame, "yes", split()[0], 0.95)
    assert [f["what"] for f in found] == ["yes where b is y", "yes where a is y"]
    assert "The lowest share is 10.0%, where b is x" in found[0]["because"]


def test_without_rows_nothing_is_claimed_about_predictions():
    tables, _ = split()
    found = report(NaiveBayesTables().fit(tables), tables)
    assert "No individual rows are at hand" in found.summary["lead"][0]
    assert "Accuracy" not in " ".join(found.findings)


def test_held_out_rows_score_the_model_and_others():
    tables, rows = split()
    found = report(NaiveBayesTables().fit(tables), tables, truth=(rows, rows["label"]), compare=[BestPair()])
    right = found.summary["record"]["held out"]["accuracy"]
    frame = found.frames["held_out"]
    assert right == np.mean(frame["actual"] == frame["class"])
    scores = next(
        b for s in found.summary["sections"] for b in s["blocks"] if b.get("title") == "Scores on held-out rows"
    )
    assert [row[0] for row in scores["rows"]] == ["NaiveBayesTables", "BestPair"]
    assert f"{100 * right:.1f}% correctly" in found.summary["lead"][0] or "no more accurate" in found.summary["lead"][0]
