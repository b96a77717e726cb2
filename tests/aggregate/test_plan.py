"""CountPlan: what can be asked, and what can't."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from messages import raises
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
        ({"attributes": "ab"}, ("list-names", "attributes", "ab")),
        ({"attributes": []}, ("empty-name-least",)),
        ({"attributes": ["a", "a"]}, ("holds-duplicates-first",)),
        ({"attributes": ["a", 3]}, ("holds-columns-named", 3)),
        ({"attributes": 3}, ("list-names", "attributes", 3)),
        ({"label": ""}, ("is-name-a", "label")),
        ({"label": "a"}, ("column-plays-two",)),
        ({"weight": "b"}, ("column-plays-two",)),
        ({"label": "y", "weight": "y"}, ("column-plays-two",)),
        ({"order": 0}, ("must-least", "order", 0)),
        ({"order": 3}, ("order-attributes", 3, 2)),
        ({"order": 1.5}, ("must-least", "order", "1.5")),
        ({"subsets": []}, ("subsets-list-such",)),
        ({"subsets": "a"}, ("subsets-list-such", "a")),
        ({"subsets": [("a", "z")]}, ("there-is-no", "attribute", "z")),
        ({"subsets": [("a", "b"), ("b", "a")]}, ("holds-duplicates-first",)),
        ({"subsets": [()]}, ("empty-name-least",)),
        ({"encoding": {"a": "deciles"}}, ("encoding-type-see", "dict")),
        ({"domain": {"a": 2}}, ("domain-type-domain", "dict")),
        ({"domain": Domain({"a": 2})}, ("there-is-no", "attribute", "b")),
        ({"domain": Domain({"a": ["x", None], "b": 2})}, ("domain-level-missing", "a")),
        ({"suppress_below": -1}, ("must-least", "suppress_below")),
        ({"table": 3}, ("is-name-a", "table", 3)),
    ],
)
def test_plan_refuses(options, words):
    with raises(DataError, *words):
        CountPlan(**{"source": "x", "attributes": ["a", "b"], **options})


def test_domain_and_encoding_exclude_each_other():
    encoding = Encoding.fit({"a": [1]}, ["a"])
    with raises(DataError, "both-domain-encoding"):
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
        ("a > 3", ("list-such-age", "a > 3")),
        (3, ("list-such-age", 3)),
        ([("a",)], ("condition-column-operation", "('a',)")),
        (["a"], ("condition-column-operation", "a")),
        ([(3, "==", 3)], ("condition-names-column", 3)),
        ([("a", "=", 3)], ("did-you-mean",)),
        ([("a", "like", "x")], ("the-operation-on",)),
        ([("a", "==")], ("condition-lacks-value", "a")),
        ([("a", "in", "xyz")], ("condition-needs-list", "a")),
        ([("a", "==", None)], ("condition-compares-compare", "None")),
        ([("a", "==", float("nan"))], ("condition-compares-compare", "nan")),
        ([("a", "in", [[1]])], ("condition-compares-compare",)),
    ],
)
def test_conditions_refuse(where, words):
    with raises(DataError, *words):
        checked_conditions(where)


def test_every_operation_is_known():
    for operation in OPERATIONS:
        value = [1] if operation.endswith("in") else 1
        assert checked_conditions([("a", operation, value)])[0][1] == operation
