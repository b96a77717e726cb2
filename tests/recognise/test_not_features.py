"""Identifiers and weights are left out of the features, and init says so."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sumwise.cli import main
from sumwise.recognise.not_features import not_features
from sumwise.recognise.profile_file import profile_file

N = 400


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "person_id": [f"P{i:05d}" for i in rng.permutation(N)],
            "case": rng.permutation(N) + 7,
            "phone": rng.permutation(N) * 13 + 10**8,
            "age": rng.integers(18, 90, N),
            "income": rng.permutation(N) * 97 + 2000,  # whole, and no two alike: a measurement all the same
            "weight_kg": np.round(rng.normal(70, 9, N), 1),
            "change_in_weight": rng.normal(0, 1, N),
            "finalweight": np.round(rng.gamma(4, 30, N), 2),
            "ill": rng.integers(0, 2, N),
        }
    )


@pytest.fixture
def file(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    return "people.csv"


def test_identifiers_and_weights_are_known_from_measurements(file):
    found = not_features(profile_file(file), {"ill"})
    assert list(found) == ["person_id", "case", "phone", "finalweight"]
    assert found["case"] == "an identifier: no two rows have the same"


def test_nearly_unique_names_are_identifiers(people, tmp_path):
    people.loc[:9, "person_id"] = "P00000"
    people.to_csv(tmp_path / "a.csv", index=False)
    assert not_features(profile_file(tmp_path / "a.csv"), set())["person_id"].startswith("an identifier: 390 values")


def test_a_file_of_nothing_else_keeps_its_columns(tmp_path):
    pd.DataFrame({"id": range(50), "bag": np.arange(50) % 5}).to_csv(tmp_path / "a.csv", index=False)
    assert not_features(profile_file(tmp_path / "a.csv"), {"bag"}) == {}


def test_init_says_what_it_leaves_out_of_tables(file, capsys):
    assert main(["init", file, "--yes"]) == 0
    shown = capsys.readouterr().out
    assert "not used: person_id: an identifier: no two rows have the same" in shown
    assert "not used: finalweight: looks like the weight of a survey" in shown
    assert 'attributes = ["age", "income", "weight_kg", "change_in_weight"]' in Path("problem.toml").read_text()


def test_init_says_what_it_leaves_out_of_bags(people, file, capsys):
    people.assign(bag=np.arange(N) % 40).to_csv("bags.csv", index=False)
    assert main(["init", "bags.csv", "--family", "proportions", "--yes"]) == 0
    shown = capsys.readouterr().out
    assert "not used: person_id: an identifier" in shown
    text = Path("problem.toml").read_text()
    assert 'features = ["age", "income", "weight_kg", "change_in_weight"]' in text
    assert 'weight = "finalweight" would use that weight' in text
