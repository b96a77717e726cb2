"""Measurements in the shape that mbi has them."""

from types import SimpleNamespace

import numpy as np
import pytest

from sumwise.collective import tables_from_measurements
from sumwise.errors import DataError

DOMAIN = {"a": 2, "b": 3}


def test_triples_and_objects_give_the_same_tables():
    y = np.arange(6.0)
    one = tables_from_measurements([(y, ("a", "b"), 2.0), (y[:2], "a", 1.0)], DOMAIN, n=15)
    objects = [SimpleNamespace(noisy_measurement=y, clique=("a", "b"), stddev=2.0)]
    two = tables_from_measurements([*objects, (y[:2], ["a"], 1.0)], DOMAIN, n=15)
    for tables in (one, two):
        np.testing.assert_array_equal(tables["a", "b"].counts, y.reshape(2, 3))
        assert tables["a", "b"].noise.scale == 2.0
        assert tables.n == 15


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no measurements"),
        ([(np.arange(5), ("a", "b"), 1.0)], "5 values; its table has 6 cells"),
        ([(np.arange(2), ("z",), 1.0)], "z"),
        ([(np.arange(2), ("a",), 0.0)], "standard deviation of measurement 0"),
        ([(np.arange(2), ("a",))], "isn't a triple"),
        ([([np.nan, 1.0], ("a",), 1.0)], "NaN"),
    ],
)
def test_bad_measurements_are_refused(given, words):
    with pytest.raises(DataError, match=words):
        tables_from_measurements(given, DOMAIN)
