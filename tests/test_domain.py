import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages import raises
from sumwise import Domain
from sumwise.errors import DataError, UnknownName


@pytest.fixture
def domain():
    return Domain({"age": 3, "sex": ["f", "m"]})


def test_sizes_levels_and_shape(domain):
    assert domain.attributes == ("age", "sex")
    assert domain.shape == (3, 2)
    assert domain.size() == 6
    assert domain.size(["sex"]) == 2
    assert domain.levels("age") == (0, 1, 2)
    assert "sex" in domain
    assert list(domain) == ["age", "sex"]
    assert len(domain) == 2
    assert domain.axes(["sex", "age"]) == (1, 0)
    assert domain.describe()["cells"] == 6


def test_project_keeps_the_order_asked_for(domain):
    assert domain.project(["sex", "age"]).shape == (2, 3)
    assert domain.project("sex") == Domain({"sex": ["f", "m"]})
    with raises(UnknownName, "no-did-you", "sex"):
        domain.project(["sx"])


def test_encode_refuses_levels_it_lacks(domain):
    assert domain.encode("sex", np.array(["m", "f", "m"])).tolist() == [1, 0, 1]
    with raises(UnknownName, "column-holds-levels-outside", "x"):
        domain.encode("sex", ["f", "x"])
    with pytest.raises(UnknownName):
        domain.encode("age", [3])


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, ("domain-needs-least",)),
        ({"a": 0}, ("attribute-levels-needs", 0)),
        ({"a": -1}, ("attribute-levels-needs", -1)),
        ({"a": []}, ("attribute-no-levels",)),
        ({"a": ["x", "x"]}, ("holds-duplicates-first",)),
        ({"a": "xy"}, ("attribute-levels-number", "a")),
        ({"a": 2.5}, ("attribute-levels-number", "a")),
        ({"a": True}, ("attribute-levels-number", "a")),
        ({"a": [float("nan")]}, ("attribute-level-levels", "nan")),
        ({"a": [("t",)]}, ("attribute-level-levels",)),
        ({1: 2}, ("attribute-not-text",)),
        ([("a", 2)], ("domain-built-dict",)),
        (None, ("domain-built-dict",)),
    ],
)
def test_bad_specs_are_refused(spec, words):
    with raises(DataError, *words):
        Domain(spec)


def test_from_frame_reads_any_frame():
    data = {"a": ["y", "x", "y"], "b": [3, 1, 3]}
    for frame in (pd.DataFrame(data), pl.DataFrame(data)):
        assert Domain.from_frame(frame) == Domain({"a": ["x", "y"], "b": [1, 3]})
    assert Domain.from_frame(data, ["b"]).attributes == ("b",)
    with pytest.raises(UnknownName):
        Domain.from_frame(data, ["c"])


def test_a_size_equals_its_spelled_out_levels():
    assert Domain({"a": 2}) == Domain({"a": [0, 1]})
    assert hash(Domain({"a": 2})) == hash(Domain({"a": [0, 1]}))
    assert Domain({"a": 2}) != Domain({"b": 2})
    assert Domain({"a": 2}) != "a"


def test_copies_and_pickles(domain):
    assert copy.deepcopy(domain) == domain
    assert pickle.loads(pickle.dumps(domain)) == domain


def test_repr_and_html_are_readable_and_escaped():
    assert repr(Domain({"a": 2, "b": 3})) == "Domain(a: 2, b: 3)"
    assert "&lt;i&gt;" in Domain({"<i>": 2})._repr_html_()
    assert "40 in all" in repr(Domain({f"x{i}": 2 for i in range(40)}))


names = st.text(min_size=1, max_size=8)


@given(
    st.dictionaries(
        names, st.one_of(st.integers(1, 5), st.lists(names, min_size=1, max_size=4, unique=True)), min_size=1
    )
)
def test_any_names_make_a_domain(spec):
    domain = Domain(spec)
    assert domain.project(domain.attributes) == domain
    for a in domain:
        assert domain.encode(a, list(domain.levels(a))).tolist() == list(range(domain[a]))


def test_one_attribute_by_its_name_and_no_list_of_them(domain):
    wide = Domain({"ab": 2, "a": 3, "b": 5})
    assert (wide.size("ab"), wide.axes("ab")) == (2, (0,))
    for ask in (wide.size, wide.axes):
        with raises(DataError, "is-give-a"):
            ask(5)
    assert ["a"] not in wide


def test_columns_that_are_one_name_as_text_are_refused():
    with raises(DataError, "holds-duplicates-first", 1):
        Domain.from_frame(pd.DataFrame([[1, 2]], columns=["1", 1]))
