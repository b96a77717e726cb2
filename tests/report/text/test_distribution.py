"""What is said of responses of bags."""

from __future__ import annotations

import numpy as np
import pandas as pd

from study_cases import study

TEXT = 'family = "distribution"\n[data]\nfile = "data.csv"\n[columns]\nbag = "bag"\nresponse = "y"\n'


def test_a_model_that_knows_nothing_says_so(tmp_path):
    rng = np.random.default_rng(0)
    bag = np.repeat(np.arange(30), 10)
    frame = pd.DataFrame({"bag": bag, "x": rng.normal(size=300), "y": rng.normal(size=30)[bag]})
    told = study(tmp_path, frame, TEXT).summary().to_dict()
    assert told["record"]["score"] < 0.3
    assert "no better than a constant" in str(told) or told["record"]["score"] > 0
    assert "All methods, by cross-validation" in str(told)


def test_classes_are_shown_as_a_table_of_confusions(tmp_path):
    rng = np.random.default_rng(0)
    bag = np.repeat(np.arange(30), 10)
    frame = pd.DataFrame({"bag": bag, "x": rng.normal(2.0 * (bag % 2)), "y": np.array(["even", "odd"])[bag % 2]})
    told = study(tmp_path, frame, TEXT).summary().to_dict()
    assert told["record"]["scored by"] == "accuracy"
    assert told["record"]["score"] > 0.9
    assert told["sections"][0]["blocks"][0]["plot"] == "confusion"
