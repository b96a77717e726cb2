"""Encoding: fitted once, applied again to individuals, written down and read back."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from messages import raises
from sumwise.encoding import Encoding, held_out_rows
from sumwise.encoding.rules import Cross, Cuts, Levels, cross_cell
from sumwise.errors import DataError, UnknownName

NASTY = [
    "it's",
    'a "quoted" one',
    "ünïcode ✓",
    "select",
    "'; DROP TABLE rows; --",
    " spaces ",
    "",
    "a\nb",
    "%s{}\\",
]


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    n = 500
    return pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "select * from": rng.choice(NASTY, n),
            "site": rng.integers(0, 80, n),
            "flag": rng.random(n) < 0.3,
            "click": rng.integers(0, 2, n),
        }
    )


SPEC = {
    "age": "quartiles",
    "text": {"kind": "levels", "column": "select * from", "missing": True},
    "site": {"kind": "target", "count_bins": 2, "rate_bins": 3},
    "site#": {"kind": "hash", "column": "site", "cells": 7},
    "flag": "levels",
    "age x text": {"kind": "cross", "of": ["age", "text"], "cells": 11},
}


@pytest.fixture
def encoding(rows):
    return Encoding.fit(rows, SPEC, label="click", held_out=0.2, random_state=0)


def test_domain_has_every_level_in_code_order(encoding):
    domain = encoding.domain
    assert domain.attributes == tuple(SPEC)
    assert domain.levels("text") == (*sorted(NASTY), "missing")
    assert domain["age"] == 4
    assert domain["age x text"] == 11
    assert list(map(repr, domain.levels("flag"))) == ["False", "True"]


def test_codes_agree_with_the_decoded_frame(rows, encoding):
    codes, levels = encoding.codes(rows), encoding.transform(rows)
    for name in SPEC:
        assert codes[name].dtype == np.int64
        assert [encoding.domain.levels(name)[c] for c in codes[name]] == levels[name].tolist()
    assert levels["text"].tolist() == rows["select * from"].tolist()
    assert np.array_equal(codes["age x text"], cross_cell([codes["age"], codes["text"]], 11))


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas, lambda df: df.to_dict("list")])
def test_any_frame_gives_the_same_encoding_and_codes(rows, encoding, convert):
    other = Encoding.fit(convert(rows), SPEC, label="click", held_out=0.2, random_state=0)
    assert other == encoding
    for name, codes in encoding.codes(convert(rows)).items():
        assert np.array_equal(codes, encoding.codes(rows)[name])


def test_same_seed_same_encoding_other_seed_another(rows, encoding):
    again = Encoding.fit(rows, SPEC, label="click", held_out=0.2, random_state=0)
    other = Encoding.fit(rows, SPEC, label="click", held_out=0.2, random_state=1)
    assert again == encoding
    assert other != encoding


def test_target_learns_from_the_held_out_rows_alone(rows, encoding):
    mask = held_out_rows(len(rows), 0.2, random_state=0)
    by_mask = Encoding.fit(rows, SPEC, label="click", held_out=mask)
    by_frame = Encoding.fit(rows, SPEC, label="click", held_out=rows[mask])
    assert by_mask == by_frame == encoding
    assert set(encoding["site"].values) == set(rows["site"][mask])


def test_rows_may_have_any_index(rows, encoding):
    moved = rows.set_axis(np.arange(len(rows))[::-1] + 7)
    assert np.array_equal(encoding.codes(moved)["age"], encoding.codes(rows)["age"])


def test_unseen_level_raises_with_row_and_value():
    encoding = Encoding({"x": Levels("col", ("a",))})
    with raises(UnknownName, "attribute-no-level-rows", "x", 2, 3, 1, "z"):
        encoding.codes({"col": ["a", "z", None]})
    with raises(UnknownName, "attribute-no-level-rows", 0):
        encoding.codes({"col": [None]})


def test_unseen_code_is_minus_one_through_a_cross():
    encoding = Encoding({"x": Levels("x", ("a",)), "y": Cuts("y", (0,)), "xy": Cross(("x", "y"), 5)})
    codes = encoding.codes({"x": ["a", "z"], "y": [1, 1]}, unseen="code")
    assert codes["x"].tolist() == [0, -1]
    assert codes["xy"][1] == -1
    assert encoding.decode(codes)["x"].tolist() == ["a", None]


def test_unseen_takes_two_values():
    with raises(DataError, "is-takes", "unseen"):
        Encoding({"x": Cuts("x", ())}).codes({"x": [1]}, unseen="ignore")


def test_column_that_is_not_there_is_named(encoding):
    with raises(UnknownName, "there-is-no", "age"):
        encoding.codes({"x": [1]})


def test_not_a_frame_is_refused(encoding):
    with raises(DataError, "type-pandas-polars", "list"):
        encoding.codes([1, 2])


def test_json_round_trip(encoding):
    text = json.dumps(encoding.to_dict())
    assert Encoding.from_dict(json.loads(text)) == encoding


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"x": {"kind": "pickle"}}, ("attribute-no-known",)),
        ({"x": 3}, ("attribute-no-known",)),
        ({"x": {"kind": "cuts", "column": "x", "edges": [1], "evil": 1}}, ("rule-unknown-field", "evil")),
        ({"x": {"kind": "cuts"}}, ("rule-incomplete-fields", "column")),
        ({"x": {"kind": "cuts", "column": "x", "edges": [2, 1]}}, ("cut-points-must-increase",)),
        ({}, ("encoding-needs-rule",)),
    ],
)
def test_json_edited_by_hand_is_refused(data, words):
    with raises(DataError, *words):
        Encoding.from_dict(data)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({}, ("encoding-needs-rule",)),
        ({3: Cuts("x", ())}, ("attributes-name-must",)),
        ({"x": "deciles"}, ("attribute-rule-see",)),
        ({"xy": Cross(("x", "y"), 3)}, ("cross-needs-attribute-no", "x")),
        (
            {"x": Cuts("x", ()), "y": Cuts("y", ()), "c": Cross(("x", "y"), 3), "d": Cross(("x", "c"), 3)},
            ("cross-needs-attribute-no",),
        ),
    ],
)
def test_encoding_refuses(rules, words):
    with raises(DataError, *words):
        Encoding(rules)


def test_target_needs_label_and_held_out_rows(rows):
    with raises(DataError, "target-encoding-needs-label"):
        Encoding.fit(rows, {"site": "target"}, label="click")
    with raises(DataError, "target-encoding-needs-label"):
        Encoding.fit(rows, {"site": "target"}, held_out=0.1)


def test_decode_refuses_codes_out_of_range():
    with raises(DataError, "codes-must-got", 1):
        Encoding({"x": Cuts("x", (0,))}).decode({"x": [2]})


def test_project_keeps_what_a_cross_needs(encoding):
    assert encoding.project(["age x text"]).attributes == ("age", "text", "age x text")
    with raises(UnknownName, "there-is-no", "nope"):
        encoding.project(["nope"])


def test_list_of_columns_means_levels(rows):
    assert Encoding.fit(rows, ["flag"]) == Encoding.fit(rows, {"flag": "levels"})


def test_encoding_is_frozen_and_shows_itself(encoding):
    with pytest.raises(FrozenInstanceError):
        encoding.rules = {}
    assert "age: cuts, 4 levels" in repr(encoding)
    assert "<table>" in encoding._repr_html_()
    assert encoding.describe()["site"]["unseen"] == "unseen"
    assert encoding.columns == ("age", "select * from", "site", "flag")
    assert len(encoding) == 6
    assert "flag" in encoding


@pytest.mark.parametrize(
    "rule", [{"kind": ["levels"]}, {"kind": "levels", "column": ["city"]}, {"kind": "cross", "of": 5}]
)
def test_requests_of_another_shape_are_refused(rule):
    with pytest.raises(DataError):
        Encoding.fit(pd.DataFrame({"city": ["a", "b"]}), {"x": rule})


def test_an_encoding_is_read_from_a_mapping_only():
    with raises(DataError, "type-dict", "encoding", "NoneType"):
        Encoding.from_dict(None)


def test_a_file_keeps_what_the_levels_cost():
    spent = {"mechanism": "laplace", "of": "levels and cut points", "epsilon": 0.5, "delta": 0.0}
    encoding = Encoding({"x": Cuts("x", (0,)), "y": Cuts("y", (1,))}, releases=[spent])
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    assert again == encoding
    assert again.releases == (spent,)
    with raises(DataError, "type-dict"):
        Encoding.from_dict({"x": encoding.to_dict()["x"] | {"releases": ["none"]}})
