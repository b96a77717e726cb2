"""CountPlan: what can be asked, and what can't."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from sumwise import Domain
from sumwise.aggregate import CountPlan
from sumwise.aggregate.plan import OPERATIONS, checked_conditions
from sumwise.encoding import Encoding
from sumwise.errors import DataError, UnknownName


def test_order_gives_every_subset_in_order():
    assert CountPlan("x", ["a", "b", "c"], order=2).wanted == (("a", "b"), ("a", "c"), ("b", "c"))
    assert CountPlan("x", ["a", "b"], order=1).wanted == (("a",), ("b",))


def test_named_subsets_replace_the_order():
    assert CountPlan("x", ["a", "b", "c"], subsets=["a", ("c", "b")]).wanted == (("a",), ("c", "b"))


def test_plan_is_frozen():
    with pytest.raises(FrozenInstanceError):
        CountPlan("x", ["a"], order=1).order = 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"attributes": "ab"}, "attributes is 'ab'"),
        ({"attributes": []}, "empty"),
        ({"attributes": ["a", "a"]}, "duplicates"),
        ({"attributes": ["a", 3]}, "contains 3"),
        ({"attributes": 3}, "attributes is 3"),
        ({"label": ""}, "label is ''"),
        ({"label": "a"}, "two parts"),
        ({"weight": "b"}, "two parts"),
        ({"label": "y", "weight": "y"}, "two parts"),
        ({"order": 0}, "order is 0"),
        ({"order": 3}, "order is 3, but there are 2"),
        ({"order": 1.5}, "order is 1.5"),
        ({"subsets": []}, r"subsets is \[\]"),
        ({"subsets": "a"}, "subsets is 'a'"),
        ({"subsets": [("a", "z")]}, "no attribute 'z'"),
        ({"subsets": [("a", "b"), ("b", "a")]}, "duplicates"),
        ({"subsets": [()]}, "empty"),
        ({"encoding": {"a": "deciles"}}, "encoding is of type dict"),
        ({"domain": {"a": 2}}, "domain is of type dict"),
        ({"domain": Domain({"a": 2})}, "no attribute 'b'"),
        ({"domain": Domain({"a": ["x", None], "b": 2})}, "missing values of 'a'"),
        ({"suppress_below": -1}, "suppress_below"),
        ({"table": 3}, "table is 3"),
    ],
)
def test_plan_refuses(options, words):
    with pytest.raises(DataError, match=words):
        CountPlan(**{"source": "x", "attributes": ["a", "b"], **options})


def test_domain_and_encoding_exclude_each_other():
    encoding = Encoding.fit({"a": [1]}, ["a"])
    with pytest.raises(DataError, match="Both a domain and an encoding"):
        CountPlan("x", ["a"], order=1, domain=Domain({"a": 2}), encoding=encoding)


def test_unknown_attribute_of_a_subset_is_an_unknown_name():
    with pytest.raises(UnknownName):
        CountPlan("x", ["a"], subsets=[("b",)])


def test_conditions_become_plain_values():
    asked = [["a", "==", np.int64(3)], ("b", "in", {"x"}), ("c", "not missing")]
    assert checked_conditions(asked) == (("a", "==", 3), ("b", "in", ("x",)), ("c", "not missing", None))


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("a > 3", "where is 'a > 3'"),
        (3, "where is 3"),
        ([("a",)], r"A condition is \('a',\)"),
        (["a"], "A condition is 'a'"),
        ([(3, "==", 3)], "the column 3"),
        ([("a", "=", 3)], "The operation on 'a' is '='"),
        ([("a", "like", "x")], "is 'like'"),
        ([("a", "==")], "lacks a value"),
        ([("a", "in", "xyz")], "needs a list"),
        ([("a", "==", None)], "compares with None"),
        ([("a", "==", float("nan"))], "compares with nan"),
        ([("a", "in", [[1]])], r"compares with \[1\]"),
    ],
)
def test_conditions_refuse(where, words):
    with pytest.raises(DataError, match=words):
        checked_conditions(where)


def test_every_operation_is_known():
    for operation in OPERATIONS:
        value = [1] if operation.endswith("in") else 1
        assert checked_conditions([("a", operation, value)])[0][1] == operation
