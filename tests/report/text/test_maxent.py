"""The report on classifiers from tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sumwise import Domain, Table, Tables, synthetic
from sumwise.maxent import BestPair, MaxEntClassifier, NaiveBayesTables
from sumwise.noise import Gaussian
from sumwise.report import report
from sumwise.report.context import Context
from sumwise.report.text.maxent import _contrasts, _level, prediction_scores


def split():
    frame = synthetic.rows(2000, sizes=[3, 2, 4], random_state=0).frame()
    tables = Tables.from_frame(frame.iloc[:1500], ["f0", "f1", "f2"], label="label")
    return tables, frame.iloc[1500:]


def test_contrasts_name_the_widest_attributes_and_leave_rare_levels_out():
    frame = pd.DataFrame(
        {
            "attribute": ["a", "a", "b", "b", "c", "c"],
            "level": ["x", "y", "x", "y", "x", "rare"],
            "count": [500, 500, 500, 500, 990, 10],
            "share": [0.1, 0.2, 0.1, 0.9, 0.5, 1.0],
        }
    )
    found = _contrasts(Context(None, None, names={"b = x": "low"}), frame, "yes", split()[0])
    assert [f["what"] for f in found] == ["Share of yes for b y", "Share of yes for a y"]
    assert "The lowest share is 10.0%, for b low" in found[0]["because"]


def test_the_widest_difference_among_independent_attributes_is_no_finding():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 4, (1000, 12)), columns=[f"a{j}" for j in range(12)])
    frame["y"] = (rng.random(1000) < 0.1).astype(int)
    tables = Tables.from_frame(frame, [f"a{j}" for j in range(12)], label="y", order=1)
    found = report(NaiveBayesTables().fit(tables), tables).summary
    assert not any(f["what"].startswith("Share of") for f in found["findings"])
    assert f"is {100 * frame['y'].mean():.1f}% among 1,000 individuals. " in found["lead"][0]


def test_without_rows_nothing_is_claimed_about_predictions():
    tables, _ = split()
    found = report(NaiveBayesTables().fit(tables), tables)
    assert "There are no individual rows" in found.summary["lead"][0]
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
    area = next(f for f in found.summary["findings"] if f["what"].startswith("AUC"))
    assert 0 < area["low"] < area["value"] < area["high"] < 1
    assert f"{100 * right:.1f}% correctly" in found.summary["lead"][0] or "no more accurate" in found.summary["lead"][0]


def test_held_out_rows_of_one_class_leave_out_what_is_not_defined():
    tables, rows = split()
    rows = rows[rows["label"] == 1]
    found = report(NaiveBayesTables().fit(tables), tables, truth=(rows, rows["label"]))
    assert set(found.summary["record"]["held out"]) == {"accuracy", "mean prediction", "rate"}


def test_log_loss_slope_and_mean_prediction_follow_the_contrasts():
    tables, rows = split()
    model = MaxEntClassifier(random_state=0).fit(tables)
    found = report(model, tables)
    assert found.findings[0].startswith("Share of ")
    assert found.summary["findings"][0]["clause"] in found.summary["lead"][0]
    expected = [f["what"] for f in found.summary["findings"][-3:]]
    assert expected == [
        "Expected log-loss of the predictions",
        "Expected calibration slope",
        "Mean prediction of the model",
    ]
    measured = {f["what"]: f for f in report(model, tables, truth=(rows, rows["label"])).summary["findings"]}
    of = " on rows that were not counted"
    assert measured[f"Log-loss{of}"]["value"] == pytest.approx(-model.score(rows, rows["label"]))
    assert measured[f"Mean prediction{of}"]["value"] == pytest.approx(model.predict_proba(rows)[:, 1].mean())


def test_calibration_slope_is_that_of_a_logistic_regression():
    rng = np.random.default_rng(0)
    score = rng.normal(size=20_000)
    y = (rng.random(20_000) < 1 / (1 + np.exp(-0.5 * score))).astype(int)
    p = 1 / (1 + np.exp(-score))
    assert prediction_scores(y, np.column_stack([1 - p, p]))["calibration slope"] == pytest.approx(0.5, abs=0.05)
    alike = np.tile([0.5, 0.5], (len(y), 1))
    assert "calibration slope" not in prediction_scores(y, alike)


def test_names_are_shown_in_title_findings_and_tables():
    tables, _ = split()
    names = {"f0": "region", "label": "outcome", "f0 = 1": "north", "label = 1": "bought"}
    found = report(NaiveBayesTables().fit(tables), tables, names=names)
    assert found.summary["title"].startswith("Share of bought by region")
    assert "bought" in found.summary["findings"][0]["what"]
    shown = next(b for s in found.summary["sections"] for b in s["blocks"] if b.get("file") == "estimates.csv")
    assert ["region", "north"] in [row[:2] for row in shown["rows"]]


def test_shares_that_noise_leaves_open_are_not_shown():
    domain, noise = Domain({"a": ["common", "rare"]}), Gaussian(6.0)
    one = Table("a", [900.0, 0.6], [300.0, 5.7], noise=noise)
    tables = Tables([one], domain, n=900, label="y", classes=["no", "yes"])
    found = report(NaiveBayesTables().fit(tables), tables)
    shown = next(b for s in found.summary["sections"] for b in s["blocks"] if b.get("file") == "estimates.csv")
    share = [c["name"] for c in shown["columns"]].index("share")
    assert [row[share] for row in shown["rows"]] == [300 / 900, None]
    assert found.frames["estimates"]["share"].tolist()[3] > 1  # as released
    assert "The counts carry noise (gaussian of scale 6): small counts say little." in found.summary["lead"]


def test_cut_points_have_separators_and_other_levels_are_left_alone():
    names = ["below 20400", "[20400, 28500)", "49400 and above", "[0.5, 12000.5)", "zip 94110", "94110"]
    assert [_level(name) for name in names] == [
        "below 20,400", "20,400 to below 28,500", "49,400 and above", "0.5 to below 12000.5", "zip 94110", "94110",
    ]  # fmt: skip
