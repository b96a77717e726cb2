"""A fitted model on other files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from study_cases import ecological, long_votes, votes
from sumwise import load, save
from sumwise.aggregate import aggregate
from sumwise.errors import DataError
from sumwise.readers.tables_folder import write_tables_folder
from sumwise.study.fitting import fit_problem
from sumwise.study.initialise import suggest_problem
from sumwise.study.predicting import predict_file


def test_expected_outcomes_of_other_units(tmp_path):
    fit_problem(ecological(tmp_path, method='"EcologicalEM"'), tmp_path / "r")
    others = votes(40).tail(5).drop(columns=["yes", "no"])
    others.to_csv(tmp_path / "others.csv", index=False)
    frame = predict_file(tmp_path / "r", tmp_path / "others.csv")
    model = load(tmp_path / "r" / "model.sumwise")
    expected = others[["young", "old"]].to_numpy() @ model.shares_
    np.testing.assert_allclose(frame["count"], expected.ravel())
    np.testing.assert_allclose(frame["share"] * np.repeat(expected.sum(axis=1), 2), frame["count"])
    np.testing.assert_allclose(frame["share_low"] * np.repeat(expected.sum(axis=1), 2), frame["count_low"])
    assert frame["unit"].unique().tolist() == others["precinct"].tolist()
    assert (frame["count_low"] < frame["count"]).all()
    assert (frame["count"] < frame["count_high"]).all()
    truth = votes(40).tail(5)[["yes", "no"]].to_numpy().ravel()
    assert ((frame["count_low"] <= truth) & (truth <= frame["count_high"])).mean() >= 0.8


def test_missing_files_and_columns_are_told(tmp_path):
    with pytest.raises(DataError, match="no result"):
        predict_file(tmp_path, tmp_path / "x.csv")
    fit_problem(ecological(tmp_path), tmp_path / "r")
    with pytest.raises(DataError, match=r"no file .*x.csv"):
        predict_file(tmp_path / "r", tmp_path / "x.csv")
    votes().rename(columns={"old": "olde"}).to_csv(tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"no column 'old'. Hint: did you mean 'olde'"):
        predict_file(tmp_path / "r", tmp_path / "x.csv")


@pytest.mark.parametrize("change", [lambda shares: shares.astype(str), lambda shares: None])
def test_a_model_whose_parts_do_not_fit_is_no_defect_of_ours(tmp_path, change):
    fit_problem(ecological(tmp_path, method='"Goodman"'), tmp_path / "r")
    model = load(tmp_path / "r" / "model.sumwise")
    model.shares_ = change(model.shares_)
    save(model, tmp_path / "r" / "model.sumwise")
    votes().to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(DataError, match=r"model.sumwise' can't predict: its parts don't fit together"):
        predict_file(tmp_path / "r", tmp_path / "x.csv")


def test_names_from_a_second_file_are_kept_for_prediction(tmp_path):
    frame = long_votes(votes(12), option="k").replace({"k": {"young": 0, "old": 1, "yes": 0, "no": 1}})
    frame.to_csv(tmp_path / "a.csv", index=False)
    names = pd.DataFrame({"row": [0, 1], "row_name": ["young", "old"], "col": [0, 1], "col_name": ["yes", "no"]})
    names.to_csv(tmp_path / "names.csv", index=False)
    suggest_problem([tmp_path / "a.csv", tmp_path / "names.csv"], tmp_path / "p.toml").write()
    text = (tmp_path / "p.toml").read_text()
    (tmp_path / "p.toml").write_text(text.replace('method = "auto"', 'method = "Goodman"'))
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    (tmp_path / "names.csv").unlink()
    assert predict_file(tmp_path / "r", tmp_path / "a.csv")["outcome"].unique().tolist() == ["yes", "no"]


def test_codes_beside_a_letter_are_levels_where_the_tables_have_them_as_texts(tmp_path):
    frame = pd.DataFrame({"code": ["1", "2", "N"] * 40, "sex": [1, 2] * 60, "ill": [0, 1, 1] * 40})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    write_tables_folder(aggregate(tmp_path / "rows.csv", ["code", "sex"], "ill"), tmp_path / "tables")
    lines = ['family = "maxent"', 'method = "NaiveBayesTables"', "[data]", 'file = "tables"', 'kind = "folder"']
    (tmp_path / "p.toml").write_text("\n".join(lines))
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    found = predict_file(tmp_path / "r", tmp_path / "rows.csv")["p(1)"].to_numpy()
    assert (found[1:3] > 0.9).all()
    assert found[0] < 0.1
