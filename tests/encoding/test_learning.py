"""Fitting rules: what is asked becomes what is kept."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise.encoding import Encoding
from sumwise.encoding.learning import FrameSummary, fitted_rule, held_out_frame, held_out_rows, parsed_spec
from sumwise.encoding.rules import Cuts, Hashed, Levels
from sumwise.errors import DataError


def rule_of(values, asked, label=None):
    frame = pd.DataFrame({"x": values})
    if label is not None:
        frame["y"] = label
    return fitted_rule("x", parsed_spec({"x": asked})["x"], FrameSummary(frame, "x", "y"))


def test_deciles_hold_a_tenth_each():
    x = np.random.default_rng(0).normal(size=1000)
    rule = rule_of(x, "deciles")
    assert np.bincount(rule.codes(pd.Series(x))).tolist() == [100] * 10
    assert np.allclose(rule.edges, np.quantile(x, np.arange(1, 10) / 10))


def test_quantiles_of_ties_leave_no_empty_level():
    x = [0] * 90 + [1] * 10
    rule = rule_of(x, "deciles")
    assert np.bincount(rule.codes(pd.Series(x)), minlength=len(rule.levels)).min() > 0


def test_deciles_keep_the_many_who_have_nothing_apart():
    x = [0] * 95 + [10, 20, 30, 40, 50]
    rule = rule_of(x, "deciles")
    assert np.bincount(rule.codes(pd.Series(x))).tolist() == [95, 1, 1, 1, 1, 1]
    assert rule.edges[0] == 10.0


def test_a_value_of_many_leaves_the_other_parts_to_the_rest():
    x = np.concatenate([np.arange(1, 101), np.full(800, 150), np.arange(201, 301)])
    counts = np.bincount(rule_of(x, {"kind": "quantiles", "bins": 5}).codes(pd.Series(x)))
    assert counts.tolist() == [100, 800, 33, 33, 34]


@pytest.mark.parametrize("seed", range(20))
def test_as_many_parts_as_asked_for_or_as_there_are_values(seed):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=rng.integers(1, 40)))
    x = np.repeat(values, rng.geometric(rng.uniform(0.01, 1), size=len(values)))
    bins = int(rng.integers(1, 12))
    counts = np.bincount(rule_of(x, {"kind": "quantiles", "bins": bins}).codes(pd.Series(x)), minlength=1)
    assert counts.min() > 0
    assert min(bins, len(values)) // 2 <= len(counts) <= min(bins, len(values))


def test_width_makes_equal_steps():
    assert rule_of([0, 10, 3], {"kind": "width", "bins": 5}) == Cuts("x", (2, 4, 6, 8))


def test_constant_column_has_one_level():
    assert rule_of([5, 5], "deciles").levels == ("any number",)


def test_given_cut_points_are_kept():
    assert rule_of([1, 2], [18, 65]) == Cuts("x", (18, 65))


def test_levels_are_sorted_and_missing_gets_a_level():
    assert rule_of(["b", None, "a"], "levels") == Levels("x", ("a", "b"), missing="missing")


def test_levels_keep_the_order_of_categories():
    raw = pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True)
    assert rule_of(raw, "levels").values == ("lo", "mid", "hi")


def test_rare_levels_go_to_other():
    values = ["a"] * 5 + ["b"] * 2 + ["c"]
    assert rule_of(values, {"kind": "levels", "min_count": 2}) == Levels("x", ("a", "b"), other="other")
    assert rule_of(values, {"kind": "levels", "max_levels": 1, "other": "rest"}) == Levels("x", ("a",), other="rest")


def test_max_levels_breaks_ties_by_order():
    assert rule_of(["b", "a", "c"], {"kind": "levels", "max_levels": 2}).values == ("a", "b")


def test_hash_needs_no_values():
    assert rule_of(["q"], {"kind": "hash", "cells": 8}) == Hashed("x", 8)


def test_target_bins_counts_and_rates_together():
    # frequent low, frequent high, rare low, rare high: a merged level each
    values = ["a"] * 100 + ["b"] * 100 + ["c"] * 10 + ["d"] * 10
    label = [0] * 100 + [1] * 100 + [0] * 10 + [1] * 10
    rule = rule_of(values, {"kind": "target", "count_bins": 12, "rate_bins": 2}, label)
    assert len(set(rule.codes(pd.Series(["a", "b", "c", "d", "new"])))) == 5
    assert rule.levels[rule.codes(pd.Series(["d"]))[0]] == "10 to 10 rows, rate 1 to 1"


def test_target_equal_rates_share_a_level():
    rule = rule_of(["a", "a", "b", "b"], {"kind": "target", "count_bins": 1, "rate_bins": 4}, [0, 1, 1, 0])
    assert rule.codes(pd.Series(["a"])) == rule.codes(pd.Series(["b"]))


def test_target_levels_hold_about_equal_weight():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 200, 50_000)
    label = rng.random(50_000) < rng.random(200)[values]
    rule = rule_of(values, {"kind": "target", "count_bins": 1, "rate_bins": 10}, label)
    sizes = np.bincount(rule.codes(pd.Series(values)))
    assert len(sizes) == 10
    assert sizes.max() < 1.3 * sizes.min()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("octiles", ("attribute-asks-unknown", "octiles")),
        ({"kind": "nope"}, ("attribute-asks-unknown",)),
        ({"kind": "width", "bin": 3}, ("attribute-unknown-option", "bin")),
        ({"kind": "quantiles", "range": [0, 9]}, ("attribute-unknown-option", "range")),
        ({"kind": "width", "bins": 0}, ("must-least", 1)),
        ({"kind": "quantiles", "bins": 2.5}, ("must-least",)),
        ({"kind": "levels", "min_count": "many"}, ("must-least",)),
        ({"kind": "levels", "max_levels": 1, "other": None}, ("column-rare-levels",)),
        ({"kind": "cross", "of": ["x"]}, ("cross-needs-two",)),
        ([3, 1], ("cut-points-must-increase",)),
    ],
)
def test_bad_requests_are_refused(asked, words):
    with raises(DataError, *words):
        rule_of([1, 2, 3], asked)


@pytest.mark.parametrize("spec", ["x", {}, 3, None, {3: "levels"}])
def test_spec_of_the_wrong_shape_is_refused(spec):
    with pytest.raises(DataError):
        parsed_spec(spec)


def test_missing_false_refuses_missing_values():
    with raises(DataError, "column-missing-values-no", 2):
        rule_of([1.0, None, None], {"kind": "levels", "missing": False})


def test_missing_true_keeps_a_level_for_later():
    assert rule_of(["a"], {"kind": "levels", "missing": True}).missing == "missing"


def test_cuts_refuse_infinite_and_empty_columns():
    with raises(DataError, "column-ranges-intervals", "1.0", "inf"):
        rule_of([1.0, np.inf], "deciles")
    with raises(DataError, "column-ranges-intervals"):
        rule_of([np.nan], "width")


def test_mixed_levels_are_refused():
    with raises(DataError, "column-mixes-levels", "number and text"):
        rule_of(["a", 1], "levels")


def test_target_refuses_labels_beyond_zero_and_one():
    with raises(DataError, "label-must-rows-not", 1, 2):
        rule_of(["a", "b"], "target", [0, 2])


def test_held_out_rows_is_reproducible_and_of_the_share_asked():
    mask = held_out_rows(1000, 0.1, random_state=5)
    assert mask.sum() == 100
    assert np.array_equal(mask, held_out_rows(1000, 0.1, random_state=5))


@pytest.mark.parametrize("share", [0.0, 1.0, -1, True, "half"])
def test_held_out_share_outside_zero_and_one_is_refused(share):
    with raises(DataError, "must-lie-between", "held_out"):
        held_out_rows(10, share)


def test_held_out_frame_takes_mask_rows_and_frame():
    frame = pd.DataFrame({"x": [1, 2, 3, 4]})
    for held_out in ([False, True, True, False], [1, 2], pd.DataFrame({"x": [2, 3], "z": 0})):
        assert held_out_frame(frame, held_out, ("x",))["x"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("held_out", "words"),
    [
        ([True, False], ("held-out-shape",)),
        ([], ("no-row-held",)),
        ([False] * 4, ("no-row-held",)),
        ([4], ("held-out-row", 4)),
        ([-1], ("held-out-row", 4)),
        ([[1, 2]], ("held-out-shape",)),
        (["a"], ("held-out-shape",)),
    ],
)
def test_held_out_frame_refuses(held_out, words):
    with raises(DataError, *words):
        held_out_frame(pd.DataFrame({"x": [1, 2, 3, 4]}), held_out, ("x",))


def test_an_empty_held_out_part_is_refused():
    rows = pd.DataFrame({"site": ["a", "b"], "click": [0, 1]})
    for held_out in ([], np.zeros(2, dtype=bool)):
        with raises(DataError, "no-row-held"):
            Encoding.fit(rows, {"site": "target"}, label="click", held_out=held_out)
    with raises(DataError, "column-no-value"):
        Encoding.fit(rows, {"site": "target"}, label="click", held_out=rows.iloc[:0])
    with raises(DataError, "must-lie-between", "held_out"):
        Encoding.fit(rows, {"site": "target"}, label="click", held_out=0.0)
