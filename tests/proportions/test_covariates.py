"""Individuals' columns to numbers: z-scores, levels, missing, what tells the response, components."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from messages import raises, warns
from sumwise.errors import DataError, ModelWarning, UnknownName
from sumwise.proportions import Covariates


def people(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 10, n), "code": rng.integers(1, 4, n)})
    frame["job"] = rng.choice(list("xy"), n)
    frame.loc[::10, "age"] = np.nan
    frame.loc[::7, "job"] = None
    return frame.assign(flat=1.0, same="k")


def test_numbers_are_standardised_and_levels_marked():
    frame = people()
    made = Covariates(["code"]).fit(frame)
    assert made.names_ == ["age", "age=missing", "code=1", "code=2", "code=3", "job=x", "job=y", "job=missing"]
    matrix = made.transform(frame)
    known = frame["age"].notna().to_numpy()
    np.testing.assert_allclose(matrix[known, 0].mean(), 0.0, atol=1e-12)
    np.testing.assert_allclose(matrix[known, 0].std(), 1.0)
    assert (matrix[~known, 0] == 0).all()
    np.testing.assert_array_equal(matrix[:, 1], ~known)
    np.testing.assert_array_equal(matrix[:, 2:5].sum(axis=1), 1)
    np.testing.assert_array_equal(matrix[:, 5:].sum(axis=1), 1)
    assert made.get_feature_names_out().tolist() == made.names_


def test_polars_and_floats_give_the_same_codes():
    frame = people().drop(columns=["age", "job"])
    made = Covariates(["code"]).fit(frame)
    np.testing.assert_array_equal(made.transform(pl.from_pandas(frame)), made.transform(frame))
    np.testing.assert_array_equal(made.transform(frame.astype({"code": float})), made.transform(frame))


def test_a_new_level_gets_zeros():
    made = Covariates().fit({"job": ["a", "b"]})
    with warns(ModelWarning, "feature-level-training", "job", "50.0%", 2):
        np.testing.assert_array_equal(made.transform({"job": ["c", "a"]}), [[0, 0], [1, 0]])


def test_columns_that_tell_the_response_are_left_out():
    frame = people()
    y = np.where(frame["code"] == 2, "two", "other")
    made = Covariates(["code"], max_correlation=0.7).fit(frame, y)
    assert made.dropped_ == {"code": pytest.approx(1.0)}
    assert not any(name.startswith("code") for name in made.names_)
    assert Covariates(["code"], max_correlation=0.7).fit(frame, np.arange(200) % 3).dropped_ == {}


def test_components_keep_the_variance():
    frame = people()
    full, few = Covariates(["code"]).fit(frame), Covariates(["code"], n_components=3).fit(frame)
    assert few.transform(frame).shape == (200, 3)
    assert few.get_feature_names_out().tolist() == ["pc0", "pc1", "pc2"]
    all_of_them = Covariates(["code"], n_components=50).fit(frame).transform(frame)
    np.testing.assert_allclose(all_of_them.var(axis=0).sum(), full.transform(frame).var(axis=0).sum())


def test_bad_frames_are_refused():
    with raises(DataError, "no-individuals"):
        Covariates().fit(people().iloc[:0])
    with pytest.raises(UnknownName):
        Covariates(["job2"]).fit(people())
    with raises(DataError, "max-correlation-compares"):
        Covariates(max_correlation=0.7).fit(people())
    with raises(DataError, "use-nan-cell"):
        Covariates().fit({"a": [1.0, np.inf]})
    with raises(DataError, "no-column-left"):
        Covariates().fit({"a": [1.0, 1.0]})
    with pytest.raises(UnknownName):
        Covariates().fit({"a": [1.0, 2.0]}).transform({"b": [1.0]})
