"""Linear functions of tables are read, or refused with a reason."""

import numpy as np
import pytest
from scipy import sparse

from sumwise import Domain
from sumwise.collective import TreeModel
from sumwise.collective.linear_functions import read_functions
from sumwise.errors import SumwiseError

MODEL = TreeModel(Domain({"a": 2, "b": 3, "c": 2}), [("a", "b"), ("b", "c")])


def test_weights_of_any_kind_become_arrays():
    given = {"f": {("b", "a"): np.ones((3, 2), bool), "c": [1, 2]}, "g": {("a", "b"): sparse.eye_array(2, 3)}}
    read = read_functions(given, MODEL)
    assert read["f"][("b", "a")].shape == (3, 2)
    assert read["f"][("c",)].tolist() == [1.0, 2.0]
    assert read["g"][("a", "b")][1, 1] == 1.0
    assert read_functions(None, MODEL) == {}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([1, 2], "functions"),
        ({"f": [1, 2]}, "must be a dict"),
        ({"f": {}}, "must be a dict"),
        ({"f": {"z": [1, 2]}}, "'z'"),
        ({"f": {("a", "c"): np.ones((2, 2))}}, "no clique"),
        ({"f": {"a": [1, 2, 3]}}, "shape"),
        ({"f": {"a": [1, np.nan]}}, "NaN"),
        ({"f": {("a", "b"): [1, 2]}}, "dimensions"),
    ],
)
def test_bad_functions_are_refused(given, told):
    with pytest.raises(SumwiseError, match=told):
        read_functions(given, MODEL)
