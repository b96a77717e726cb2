"""Problems on bags with a response."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from messages import raises
from study_cases import study
from sumwise.cli.study.fitting import fit_problem, predict_file
from sumwise.errors import DataError

TEXT = """family = "distribution"
[data]
file = "data.csv"
[columns]
bag = "sample"
response = "dose"
"""


def samples(n: int = 40, size: int = 25, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    bag = np.repeat(np.arange(n), size)
    return pd.DataFrame(
        {"sample": bag, "x": rng.normal(mean[bag]), "z": rng.normal(size=len(bag)), "dose": mean[bag].round(6)}
    )


def test_regression_predicts_bags_it_has_not_seen(tmp_path):
    made = study(tmp_path, samples(), TEXT)
    told = made.report().frames["estimates"]
    assert made.classes is None
    assert np.corrcoef(told["actual"], told["predicted"])[0, 1] > 0.9
    inside = (told["low"] <= told["actual"]) & (told["actual"] <= told["high"])
    assert inside.mean() >= 0.95
    assert made.model.weights_["constant"] < 0.1


def test_classes_are_predicted_as_such(tmp_path):
    frame = samples(size=100)  # a bag's mean to within 0.1: classes are clear
    frame["dose"] = np.where(frame["dose"] > 0, "high", "low")
    told = (
        study(tmp_path, frame, TEXT.replace('family = "distribution"', 'family = "distribution"\nmethod = "means"'))
        .report()
        .frames["estimates"]
    )
    assert (told["actual"] == told["predicted"]).mean() > 0.9
    assert told.columns.tolist()[-2:] == ["score(high)", "score(low)"]
    frame["dose"] = np.array(["a", "b", "c"])[frame["sample"] % 3]
    made = study(tmp_path, frame, TEXT.replace('family = "distribution"', 'family = "distribution"\nmethod = "means"'))
    assert made.report().frames["estimates"]["predicted"].isin(["a", "b", "c"]).all()


def test_responses_in_a_second_file(tmp_path):
    frame = samples()
    one = frame.groupby("sample")["dose"].first().reset_index().sample(frac=1, random_state=1)
    one.to_csv(tmp_path / "r.csv", index=False)
    text = TEXT.replace("[columns]", 'responses_file = "r.csv"\n[columns]')
    made = study(tmp_path, frame.drop(columns="dose"), text, fit=False)
    np.testing.assert_allclose(made.response, frame.groupby("sample")["dose"].first())
    one[one["sample"] != 3].to_csv(tmp_path / "r.csv", index=False)
    with raises(DataError, "two-files-dont", 1, 3, 0):
        study(tmp_path, frame.drop(columns="dose"), text, fit=False)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('response = "dose"', 'response = "z"'), ("rows-first-response", "z")),
        (('response = "dose"', 'response = "dos"'), ("no-did-you", "column", "dos", "dose")),
        (('response = "dose"', 'response = "dose"\ntask = "guess"'), ("regression-classification",)),
    ],
)
def test_bad_problems_are_told(tmp_path, change, told):
    with raises(DataError, *told):
        study(tmp_path, samples(), TEXT.replace(*change), fit=False)


def test_result_predicts_other_bags(tmp_path):
    samples().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "p.toml").write_text(
        TEXT.replace('family = "distribution"', 'family = "distribution"\nmethod = "moments"')
    )
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    others = samples(seed=7)
    others.drop(columns="dose").to_csv(tmp_path / "o.csv", index=False)
    found = predict_file(tmp_path / "r", tmp_path / "o.csv")
    truth = others.groupby("sample")["dose"].first().to_numpy()
    assert np.corrcoef(found["predicted"], truth)[0, 1] > 0.9
    assert ((found["low"] <= truth) & (truth <= found["high"])).mean() > 0.8


def test_a_result_of_an_earlier_version_is_refused_with_what_to_do(tmp_path):
    samples().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "p.toml").write_text(
        TEXT.replace('family = "distribution"', 'family = "distribution"\nmethod = "means"')
    )
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    (tmp_path / "r" / "features.json").write_text('{"features": [], "classes": null, "half_width": 1.0}')
    with raises(DataError, "written-earlier-version"):
        predict_file(tmp_path / "r", tmp_path / "data.csv")


def test_names_replace_the_response_and_its_classes(tmp_path):
    frame = samples()
    frame["dose"] = np.where(frame["dose"] > 0, "1", "0")
    names = '[names]\ndose = "treatment"\n"dose = 1" = "treated"\n'
    made = study(tmp_path, frame, TEXT + names, fit=False)
    assert made.classes == ["0", "treated"]
    assert made.details["response"] == "treatment"
