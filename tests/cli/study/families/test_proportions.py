"""Problems on bags with class counts: labels in the file, counts in a second one, subgroups, prediction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from messages import raises
from study_cases import people, study
from sumwise.cli.study.fitting import fit_problem, predict_file
from sumwise.errors import DataError

TEXT = """family = "proportions"
sensitivity = false
[data]
file = "data.csv"
[columns]
bag = "area"
label = "vote"
[options]
penalty = 1.0
"""


def test_only_counts_are_used_and_subgroup_shares_are_near_the_truth(tmp_path):
    frame = people()
    made = study(tmp_path, frame, TEXT)
    counted = frame.groupby("area")["vote"].apply(lambda v: (v == "yes").sum())
    np.testing.assert_array_equal(made.counts[:, 1], counted.to_numpy())
    frames = made.report().frames
    told = frames["estimates"].set_index(["group", "level", "class"])
    for sex in "fm":
        row = told.loc[("sex", sex, "yes")]
        assert row["truth"] == pytest.approx((frame.loc[frame["sex"] == sex, "vote"] == "yes").mean())
        assert row["low"] <= row["truth"] <= row["high"]
    individuals = frames["individuals"]
    assert individuals["row"].tolist() == list(range(1, len(frame) + 1))
    old = individuals["p(yes)"].to_numpy()[frame["age"].to_numpy() > 60]
    assert old.mean() > individuals["p(yes)"].mean()


def test_counts_in_a_second_file_are_scaled_and_matched(tmp_path):
    frame = people()
    counts = (
        frame.assign(yes=frame["vote"] == "yes", no=frame["vote"] == "no").groupby("area")[["no", "yes"]].sum() * 10
    )
    counts.reset_index().rename(columns={"area": "region"}).sample(frac=1, random_state=0).to_csv(
        tmp_path / "c.csv", index=False
    )
    text = TEXT.replace('label = "vote"', 'counts = ["no", "yes"]\ncounts_bag = "region"').replace(
        "[columns]", 'counts_file = "c.csv"\n[columns]'
    )
    made = study(tmp_path, frame.drop(columns="vote"), text + 'totals = "scale"\n')
    assert made.classes == ["no", "yes"]
    np.testing.assert_array_equal(made.counts, counts.loc[list(made.bags.ids)].to_numpy())
    assert made.truth is None
    counts.reset_index().head(20).to_csv(tmp_path / "c.csv", index=False)
    with raises(DataError, "two-files-dont", 4, "A20", "A21", "A22", "A23", 0):
        study(tmp_path, frame, text.replace("region", "area"), fit=False)
    made = study(
        tmp_path, frame, text.replace("region", "area").replace("[columns]", 'unmatched = "drop"\n[columns]'), fit=False
    )
    assert len(made.bags) == 20


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('label = "vote"', ""), ("columns-names-no-label",)),
        (('bag = "area"', 'bag = "sex"'), ("bags-learning-counts", 2)),
        (('label = "vote"', 'label = "vot"'), ("no-did-you", "column", "vot", "vote")),
        (('label = "vote"', 'label = "vote"\nfeatures = ["ag"]'), ("no-did-you", "column", "ag")),
        (('label = "vote"', 'label = "age"'), ("column-classes-column", 30)),
    ],
)
def test_bad_problems_are_told(tmp_path, change, told):
    with raises(DataError, *told):
        study(tmp_path, people(), TEXT.replace(*change), fit=False)


def test_people_without_a_label_are_left_out_in_the_open(tmp_path):
    frame = people()
    frame.loc[3, "vote"] = None
    made = study(tmp_path, frame, TEXT, fit=False)
    assert made.bags.n_rows == len(frame) - 1
    assert "1 of 960 individuals have no 'vote'" in " ".join(made.notes)


def test_result_and_prediction_of_others(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT)
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    others = people(seed=5)
    others.drop(columns=["area", "vote"]).to_csv(tmp_path / "o.csv", index=False)
    found = predict_file(tmp_path / "r", tmp_path / "o.csv")
    assert found.columns.tolist() == ["row", "p(no)", "p(yes)", "class"]
    right = (found["class"].to_numpy() == others["vote"].to_numpy()).mean()
    assert right > 0.6
    same = predict_file(tmp_path / "r", tmp_path / "data.csv")
    np.testing.assert_allclose(same["p(yes)"], pd.read_parquet(tmp_path / "r" / "individuals.parquet")["p(yes)"])


def test_names_replace_columns_levels_and_classes(tmp_path):
    names = '[names]\nsex = "gender"\n"sex = f" = "women"\n"vote = yes" = "in favour"\n'
    made = study(tmp_path, people(), TEXT + names, fit=False)
    assert made.classes == ["no", "in favour"]
    assert set(made.groups["gender"].tolist()) == {"women", "m"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ('sexx = "gender"', ("names-not-column", "sexx")),
        ('sex = "age"', ("each-name-own",)),
        ('"vote = yes" = "no"', ("each-name-own",)),
    ],
)
def test_names_of_nothing_and_names_given_twice_are_refused(tmp_path, names, message):
    with raises(DataError, *message):
        study(tmp_path, people(), TEXT + f"[names]\n{names}\n", fit=False)
