"""Columns to numbers, once learned and then applied."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sumwise.errors import DataError, ModelWarning
from sumwise.readers.files import open_sheet
from sumwise.study.features import MISSING, MOST_LEVELS, OTHER, Features, column_kind, learn_features, typed_frame


def sheet(**columns):
    return open_sheet(pd.DataFrame(columns))


def test_numbers_are_standardised_and_missing_ones_marked():
    rows = sheet(a=[1.0, 3.0, None], b=["x", "y", None])
    features = learn_features(rows, ["a", "b"])
    assert features.names == ["a", f"a {MISSING}", f"b = {MISSING}", "b = x", "b = y"]
    np.testing.assert_allclose(features.matrix(rows), [[-1, 0, 0, 1, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 0]])


def test_rules_survive_json_and_unknown_levels_have_no_indicator():
    features = Features(json.loads(json.dumps(learn_features(sheet(b=["x", "y", "y"]), ["b"]).rules)))
    assert features.matrix(sheet(b=["y", "z"])).tolist() == [[0, 1], [0, 0]]


def test_rare_levels_share_one():
    texts = [f"v{i:03d}" for i in range(MOST_LEVELS)] * 2 + ["rare1", "rare2"]
    features = learn_features(sheet(b=texts), ["b"])
    assert features.names[-1] == f"b = {OTHER}"
    assert features.matrix(sheet(b=["rare2", "v000"]))[:, -1].tolist() == [1, 0]


def test_constant_columns_say_nothing():
    assert learn_features(sheet(a=[1, 1], b=[1, 2]), ["a", "b"]).names == ["b"]
    with pytest.raises(DataError, match="the same in every row"):
        learn_features(sheet(a=[1, 1]), ["a"])


def test_codes_can_be_called_categorical():
    assert learn_features(sheet(a=[1, 2, 10]), ["a"], ["a"]).names == ["a = 1", "a = 10", "a = 2"]
    assert column_kind(sheet(a=["007", "010"]), "a") == "levels"
    assert column_kind(sheet(a=[True, False]), "a") == "levels"


def test_a_mixture_is_refused_with_the_two_remedies():
    with pytest.raises(
        DataError, match=r"mixes numbers with text \('N'\).*row 1.*add it to categorical, or set missing = \[\"N\"\]"
    ):
        learn_features(sheet(a=["1", "N", "2"]), ["a"])


def test_missing_values_that_the_fit_never_saw_are_refused():
    features = learn_features(sheet(a=[1.0, 2.0]), ["a"])
    with pytest.raises(DataError, match="column 'a' is missing in 1 of 2 rows"):
        features.matrix(sheet(a=[1.0, None]))


def test_typed_frames_keep_what_is_missing():
    frame = typed_frame(sheet(a=["1,5", "2,5"], b=["x", None], c=[1, 2]), ["a", "b", "c"], ["c"])
    assert frame["c"].tolist() == ["1", "2"]
    assert frame["b"].tolist() == ["x", None]


def test_levels_that_are_numbers_keep_every_digit():
    features = learn_features(sheet(zip=[1234567, 1234568, 0.5]), ["zip"], ["zip"])
    assert features.rules[0]["levels"] == ["0.5", "1234567", "1234568"]


def test_unseen_levels_are_a_warning_and_only_such_an_error():
    features = learn_features(sheet(zip=["01234", "05678"] * 20, flag=["yes", "no"] * 20), ["zip", "flag"])
    with pytest.warns(ModelWarning, match="5% of column 'zip' are levels that the model has not seen, such as '99999'"):
        features.matrix(sheet(zip=["01234", "99999"] + ["01234"] * 18, flag=["yes"] * 20))
    with pytest.raises(DataError, match="no entry of column 'zip' is one of its levels: it has '1234', .* '01234'"):
        features.matrix(sheet(zip=[1234, 5678] * 20, flag=["yes"] * 40))
    with pytest.raises(DataError, match="no entry of column 'flag'"):
        features.matrix(sheet(zip=["01234"] * 20, flag=[True, False] * 10))


def test_the_same_file_predicts_alike_through_pandas(tmp_path):
    rows = pd.DataFrame({"zip": ["01234", "05678"] * 20, "day": ["2020-11-03", "2020-11-04"] * 20, "x": range(40)})
    rows.to_csv(tmp_path / "a.csv", index=False)
    from_file = open_sheet(tmp_path / "a.csv")
    features = learn_features(from_file, ["zip", "day", "x"])
    through_pandas = open_sheet(pd.read_csv(tmp_path / "a.csv", dtype={"zip": str}))
    np.testing.assert_array_equal(features.matrix(from_file), features.matrix(through_pandas))
    with pytest.raises(DataError, match="column 'zip'"):
        features.matrix(open_sheet(pd.read_csv(tmp_path / "a.csv")))  # 01234 has become 1234
