"""The walk: which file knows what, and how a refusal reads."""

import numpy as np

from messages import raises
from sumwise.errors import DataError
from sumwise.io.persistence import load, save
from sumwise.io.saved import json_tree
from sumwise.io.saved.json_tree import Decoder, Encoder, refuse


def test_every_tag_has_a_file_that_reads_it():
    assert len(json_tree.FILE_OF_TAG) == sum(map(len, json_tree.TAGS.values()))  # no tag twice
    handlers = {name for names in json_tree.HANDLERS.values() for name in names}
    assert handlers == set(json_tree.TAGS)
    for name in handlers:
        assert callable(json_tree._handler(name).decode)


def test_plain_values_stay_as_they_are():
    for value in (None, True, 3, -0.5, "text", ["a", 1]):
        assert Encoder().encode(value, "x") == value
        assert Decoder({}.get).decode(value, "x") == value


def test_arrays_are_put_aside_uncopied():
    array = np.arange(3)
    encoder = Encoder()
    encoder.encode([array], "x")
    assert encoder.arrays[0] is array


def test_array_in_two_places_stays_one(tmp_path):
    shared = np.arange(3)
    save({"a": shared, "b": [shared], "c": shared.copy()}, tmp_path / "x")
    after = load(tmp_path / "x")
    assert after["a"] is after["b"][0]
    assert after["a"] is not after["c"]
    for layout in (True, False):
        encoder = Encoder(layout)
        encoder.encode([shared, shared], "x")
        assert len(encoder.arrays) == (1 if layout else 2)


def test_subclass_of_a_plain_type_is_refused():
    class Name(str):
        pass

    with raises(DataError, "cant-saved", "Name"):
        Encoder().encode(Name("x"), "x")


def test_refusals_say_what_and_where():
    with raises(DataError, "cant-saved", "b", "a function", "don"):
        refuse(len, "a.b", hint="don't.")
    with raises(DataError, "cant-saved", "the class builtins.dict"):
        refuse(dict, "x")
    with raises(DataError, "cant-saved", "an array of dtype object"):
        refuse(np.array([None]), "x")


def test_unknown_tag_is_refused():
    with raises(DataError, "file-holds-value-unknown", "pickle"):
        Decoder({}.get).decode([{"pickle": "gASV"}], "x")


def test_failure_inside_a_value_says_where():
    with raises(DataError, "file-holds-no-valid", "int", "ValueError"):
        Decoder({}.get).decode({"tuple": [1, {"int": "zz"}]}, "x")


def test_helpers_refuse_what_they_are_not_for():
    decoder = Decoder({}.get)
    with raises(DataError, "file-holds-no-list"):
        decoder.each({}, "x")
    with raises(DataError, "file-holds-no-attributes"):
        decoder.named([], "x")
    with raises(DataError, "file-holds-no-array"):
        decoder.array([1, 2], "x")
