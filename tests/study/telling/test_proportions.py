"""What is said of individuals learned from counts."""

from __future__ import annotations

import pandas as pd
import pytest

from study_cases import people, study
from sumwise.errors import DataError

TEXT = """family = "proportions"
[data]
file = "data.csv"
[columns]
bag = "area"
label = "vote"
[options]
penalty = 1.0
"""


def test_the_report_says_what_bags_can_tell_and_checks_against_labels(tmp_path):
    made = study(tmp_path, people(), TEXT)
    told = made.summary().to_dict()
    assert "who they are is not" in told["lead"][0]
    assert "Share of yes by sex: highest for f" in " ".join(told["lead"])
    text = str(told["sections"])
    for words in (
        "bags tell the effects",
        "Bags that the fit has not seen",
        "MeanMap",
        "Against the labels",
        "calibration",
        "converged",
    ):
        assert words in text


def test_a_survey_is_set_beside_the_estimates(tmp_path):
    survey = pd.DataFrame({"group": ["sex", "sex"], "level": ["f", "m"], "class": ["yes", "yes"], "share": [0.6, 0.05]})
    survey.to_csv(tmp_path / "survey.csv", index=False)
    text = TEXT.replace("[columns]", 'survey_file = "survey.csv"\n[columns]').replace(
        "[data]", "sensitivity = false\n[data]"
    )
    told = str(study(tmp_path, people(), text).summary().to_dict())
    assert "Against the survey" in told
    assert "inside the interval in 1 of 2 subgroups" in told
    survey.assign(group="age").to_csv(tmp_path / "survey.csv", index=False)
    with pytest.raises(DataError, match="line 5: no row of the survey matches"):
        study(tmp_path, people(), text).summary()
