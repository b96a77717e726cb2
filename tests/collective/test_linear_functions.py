"""Linear functions of tables are read, or refused with a reason."""

import numpy as np
import pytest
from scipy import sparse

from messages import raises
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
        ([1, 2], ("type-dict", "functions")),
        ({"f": [1, 2]}, ("function-type-must",)),
        ({"f": {}}, ("function-type-must",)),
        ({"f": {"z": [1, 2]}}, ("there-is-no", "z")),
        ({"f": {("a", "c"): np.ones((2, 2))}}, ("function-weights-over",)),
        ({"f": {"a": [1, 2, 3]}}, ("function-weights-shape",)),
        ({"f": {"a": [1, np.nan]}}, ("drop-fill-such",)),
        ({"f": {("a", "b"): [1, 2]}}, ("dimensions-shape-needs",)),
    ],
)
def test_bad_functions_are_refused(given, told):
    with raises(SumwiseError, *told):
        read_functions(given, MODEL)
