"""Individuals in bags, in the shapes that people keep them in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import public_data
from study_cases import people
from sumwise.study.profile_file import profile_file
from sumwise.study.recognise import recognise


def guessed(tmp_path, *frames, header=True):
    profiles = []
    for k, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{k}.csv", index=False, header=header)
        profiles.append(profile_file(tmp_path / f"{k}.csv"))
    return recognise(profiles)


def test_a_label_in_bags_is_a_problem_of_proportions(tmp_path):
    found = guessed(tmp_path, people())
    assert found.family == "proportions"
    assert found.columns["bag"] == "area"
    assert found.columns["label"] == "vote"


def test_results_in_a_second_file_are_counts(tmp_path):
    frame = people()
    counts = pd.crosstab(frame["area"], frame["vote"]).reset_index()
    found = guessed(tmp_path, frame.drop(columns="vote"), counts)
    assert found.data["counts_file"] == str(tmp_path / "1.csv")
    assert found.columns["counts"] == ["no", "yes"]
    assert found.options == {"totals": "scale"}


def test_one_value_per_bag_is_a_response(tmp_path):
    rng = np.random.default_rng(0)
    bag = np.repeat(np.arange(20), 10)
    frame = pd.DataFrame({"y": rng.normal(size=20)[bag], "bag": bag, "x": rng.normal(size=200)})
    found = guessed(tmp_path, frame)
    assert (found.family, found.columns["bag"], found.columns["response"]) == ("distribution", "bag", "y")
    found = guessed(tmp_path, frame.assign(y=bag % 2), header=False)
    assert (found.columns["bag"], found.columns["response"], found.data["header"]) == ("c2", "c1", False)
    one = frame.groupby("bag")["y"].first().reset_index()
    found = guessed(tmp_path, frame.drop(columns="y"), one)
    assert (found.family, found.columns["response"]) == ("distribution", "y")


@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
@pytest.mark.parametrize(
    ("path", "family", "columns"),
    [
        ("dr/mil_musk1.csv.gz", "distribution", {"bag": "c2", "response": "c1"}),
        ("llp/pums_ma2019.csv.gz", "proportions", {"bag": "PUMA", "label": "DEAR"}),
        ("mrf/adult.train.csv.gz", "maxent", {"label": "c15"}),
    ],
)
def test_public_files_are_recognised(path, family, columns):
    found = recognise([profile_file(public_data.folder() / path)])
    assert found.family == family
    assert {k: found.columns[k] for k in columns} == columns
