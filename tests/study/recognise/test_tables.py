"""Cells, and rows with a label."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sumwise.study.profile_file import profile_file
from sumwise.study.recognise.tables import guess


def guessed(tmp_path, frame):
    frame.to_csv(tmp_path / "a.csv", index=False)
    return guess([profile_file(tmp_path / "a.csv")])


def test_cells_have_counts_and_sums_that_are_no_larger(tmp_path):
    frame = pd.DataFrame({"sex": ["f", "m"], "age": ["y", "o"], "impressions": [10, 20], "clicks": [1, 5]})
    (found,) = guessed(tmp_path, frame)
    assert found.columns == {"attributes": ["sex", "age"], "count": "impressions", "label_sum": "clicks"}
    assert guessed(tmp_path, frame.assign(clicks=[11, 5])) == []


def test_rows_have_a_label_and_ids_are_left_out(tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {"id": np.arange(n), "age": rng.integers(20, 60, n), "job": ["a", "?"] * 100, "bought": ["no", "yes"] * 100}
    )
    (found,) = guessed(tmp_path, frame)
    assert found.columns == {"label": "bought", "attributes": ["age", "job"]}
    assert found.data["missing"] == ["?"]
