"""Python's own values come back with their types."""

import enum
import math
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder


def back(value):
    return Decoder({}.get).decode(Encoder().encode(value, "x"), "x")


@pytest.mark.parametrize(
    "value",
    [
        0,
        2**53,
        -(2**53) - 1,
        2**64,
        1.5,
        -0.0,
        5e-324,
        math.inf,
        -math.inf,
        complex(-0.0, math.inf),
        "",
        "\x00\ud800é",
        (),
        (1, (2, [3])),
        {},
        {"a": {"b": None}},
        {1: "a", (1, "b"): "c", None: 0, 2.5: 1, True + 1: 2, frozenset({1}): 3},
        {"tuple": 1, "noun": {"class": "os.system"}},
        {1, 2, "a"},
        frozenset([(1, 2)]),
        slice(1, None, -2),
        np.float32,
        np.bool_,
        np.str_,
    ],
    ids=lambda value: type(value).__name__,  # the text of a set differs from process to process
)
def test_value_comes_back(value):
    after = back(value)
    assert type(after) is type(value)
    assert after == value
    if not isinstance(value, set | frozenset | dict):
        assert repr(after) == repr(value)  # -0.0 is no 0.0


def test_integer_of_any_length_comes_back():
    assert back(-(10**5000)) == -(10**5000)


def test_nan_comes_back():
    assert math.isnan(back(float("nan")))
    assert math.isnan(back(complex(math.nan, 1)).real)


def test_order_of_a_dict_is_kept():
    assert list(back({"b": 1, "a": 2})) == ["b", "a"]
    assert list(back({2: 1, "a": 2, 1: 3})) == [2, "a", 1]


def test_sets_give_the_same_tree_in_any_order():
    words = [f"w{i}" for i in range(50)]
    other_way = set()
    for word in words[::-1]:
        other_way.add(word)
    assert Encoder().encode(set(words), "x") == Encoder().encode(other_way, "x")


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "value",
    [OrderedDict(a=1), namedtuple("P", "x")(1), Colour.RED, b"bytes", iter([1]), dict, object, len, range(3)],
    ids=lambda value: type(value).__name__,
)
def test_other_builtins_are_refused(value):
    with raises(DataError, "cant-saved"):
        Encoder().encode({"a": value}, "x")


def test_key_that_cannot_be_saved_is_named():
    with raises(DataError, "cant-saved", "a function"):
        Encoder().encode({len: 1}, "x")


@pytest.mark.parametrize(
    "node",
    [
        {"int": 3},
        {"float": "x"},
        {"complex": [1]},
        {"set": [[1]]},
        {"slice": [1]},
        {"type": "eval"},
        {"type": "object_"},
        {"items": [[1, 1], [1, 1]]},
        {"items": 3},
        {"dict": []},
    ],
    ids=repr,
)
def test_damaged_nodes_are_refused(node):
    with raises(DataError, "file-holds-dict|file-holds-no-valid", "x"):
        Decoder({}.get).decode(node, "x")


@pytest.mark.parametrize("tag", ["set", "frozenset", "items"])
def test_keys_that_were_chosen_to_share_a_hash_are_refused(tag):
    keys = [{"int": hex(i * (2**61 - 1))} for i in range(1, 201)]  # thousands of them took very long
    node = [[key, 0] for key in keys] if tag == "items" else keys
    with raises(DataError, "file-holds-keys", "x", 200):
        Decoder({}.get).decode({tag: node}, "x")
