"""Whatever is thrown at a constructor, what comes out is an object or one of our own errors."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from sumwise import Bags, Domain, Estimate, Fit, Margins, Table, Tables
from sumwise.errors import ModelWarning, SumwiseError
from sumwise.noise import Poisson


def junk() -> list:
    """Return values that no constructor asked for, and a few that some can use."""
    plain = [None, 3, -1, 2.5, "abc", b"x", True, np.nan, np.inf, object(), int, range(3), {1, 2}, (x for x in [1])]
    nested = [[], [[]], [1, 2], [[1, 2], [3, 4]], [[1, 2], [3]], [np.nan], [[np.nan, 1]], [["a", "b"]], [True, False]]
    dicts = [{}, {"a": 1}, {"a": [1, 2]}]
    huge = [[10**400, 1], [[10**400]], [datetime.date(2020, 1, 1)], [[decimal.Decimal("1.5"), 2]]]
    arrays = [np.zeros((2, 2, 2)), np.zeros((0, 2)), np.array(5), np.array([1 + 2j]), np.ma.masked_all((2, 2))]
    arrays += [np.array(["2020"], dtype="datetime64[Y]"), np.array([[1, 2]], dtype=object), sp.csr_matrix(np.eye(2))]
    columns = [pd.Series([1, 2]), pd.Categorical(["a", "b"]), pd.array([1, None], dtype="Int64")]
    frames = [pd.DataFrame(), pd.DataFrame({"a": [1, 2], "b": [3, 4]}), pd.DataFrame({"a": ["x", "y"]})]
    frames += [pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame({0: [1, 2], 1: [3, 4]})]
    frames += [pd.DataFrame({("a", "b"): [1, 2]}), pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [None, "x"]})]
    return [*plain, *nested, *dicts, *huge, *arrays, *columns, *frames, pa.table({"a": [1, None]})]


DOMAIN = Domain({"a": 2, "b": 2})
TWO = ([[1, 2], [3, 4]], [[2, 1], [4, 3]])
ONE = [[1.0], [2.0]]
WAYS_IN = {
    "Margins": Margins,
    "Margins names": lambda x, y: Margins(*TWO, units=x, row_names=y),
    "Margins weights": lambda x, y: Margins(*TWO, weights=x, covariates=y),
    "Margins rows": lambda x, y: Margins.from_frame(x, y, ["b"]),
    "Margins cols": lambda x, y: Margins.from_frame(x, ["a"], y),
    "Margins unit": lambda x, y: Margins.from_frame(x, ["a"], ["b"], unit=y),
    "Margins total": lambda x, y: Margins.from_frame(x, ["a"], ["b"], total=y, mismatch="rescale"),
    "Bags": Bags,
    "Bags weights": lambda x, y: Bags(ONE, [0, 2], weights=x, ids=y),
    "Bags levels": lambda x, y: Bags(ONE, [0, 2], features=x, levels=y),
    "Bags arrays": lambda x, y: Bags.from_arrays(x, weights=y),
    "Bags ids": lambda x, y: Bags.from_arrays(ONE, ids=x, features=y),
    "Bags frame": Bags.from_frame,
    "Bags features": lambda x, y: Bags.from_frame(x, "a", y),
    "Bags weight": lambda x, y: Bags.from_frame(x, "a", weight=y),
    "Bags subset": lambda x, y: Bags.from_arrays(ONE).subset(x),
    "Domain": lambda x, y: Domain({"a": x, "b": y}),
    "Domain spec": lambda x, y: Domain(x),
    "Domain frame": Domain.from_frame,
    "Domain encode": lambda x, y: DOMAIN.encode("a", x),
    "Domain project": lambda x, y: DOMAIN.project(x),
    "Table": lambda x, y: Table("a", x, y),
    "Table noise": lambda x, y: Table(x, [1, 2], noise=y),
    "Table bounds": lambda x, y: Table("a", [1, np.nan], bounds=(x, y)),
    "Tables": Tables,
    "Tables n": lambda x, y: Tables([Table("a", [1, 2])], DOMAIN, n=x, classes=y),
    "Tables frame": lambda x, y: Tables.from_frame(x, y, order=1),
    "Tables label": lambda x, y: Tables.from_frame(x, ["a"], label=y, order=1),
    "Tables order": lambda x, y: Tables.from_frame(x, ["a"], order=y),
    "Tables weight": lambda x, y: Tables.from_frame(x, ["a"], order=1, weight=y),
    "Tables domain": lambda x, y: Tables.from_frame(x, ["a"], order=1, domain=y),
    "Estimate": lambda x, y: Estimate(x, y, y, level=0.9),
    "Estimate labels": lambda x, y: Estimate([0.5], labels=x, axes=y),
    "Estimate level": lambda x, y: Estimate([0.5], low=[0.1], high=[0.9], level=x),
    "Poisson": lambda x, y: Poisson(x),
    "Fit": lambda x, y: Fit(history=x),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_only_our_errors_come_out(way):
    refused = 0
    for x in junk():
        for y in junk():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ModelWarning)  # for users, of input that is taken
                try:
                    WAYS_IN[way](x, y)
                except SumwiseError:
                    refused += 1
    assert refused > 100
