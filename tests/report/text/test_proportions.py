"""What is said of individuals learned from counts."""

from __future__ import annotations

import pandas as pd
import pytest

from study_cases import people, study
from sumwise.errors import DataError
from sumwise.report.text.proportions import lead_lines

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


def test_contrasts_that_intervals_leave_open_are_told(tmp_path):
    made = study(tmp_path, people(), TEXT.replace("[data]", "sensitivity = false\n[data]"))
    frame = pd.DataFrame({"group": "sex", "level": ["f", "m"], "class": made.classes[1], "people": 1e6})
    apart = frame.assign(share=[0.6, 0.2], low=[0.5, 0.1], high=[0.7, 0.3])
    assert "not settled" not in lead_lines(made, apart)[1]
    wide = apart.assign(high=[0.7, 0.55], truth=[0.6, 0.9])
    assert "not settled" in lead_lines(made, wide)[1]
    assert "1 of 2 rows (50%, where 95% is promised)" in lead_lines(made, wide)[2]


def test_bags_that_tell_nothing_are_told_first(tmp_path):
    text = TEXT.replace("[data]", "sensitivity = false\n[data]")
    frame = people()
    assert "Read with care" not in " ".join(study(tmp_path, frame, text).summary().lead)
    few = frame[frame["area"].isin(frame["area"].unique()[:3])]
    assert "Read with care: 3 bags tell the effects of 0 of" in study(tmp_path, few, text).summary().lead[-1]
