"""Rows to bags: equal on every engine, and equal to bags made here."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from nasty_names import NASTY_NAMES as N
from sumwise import Bags
from sumwise.aggregate import aggregate_bags
from sumwise.errors import DataError

FEATURES = [N["number"], N["kind"], N["flag"], N["lower"]]


def expected(rows, weight=None):
    """Bags of the same rows, sorted by bag and then by every column, as engines sort them."""
    columns = [N["text"], *FEATURES, N["label"], *([] if weight is None else [weight])]
    ordered = rows.sort_values(columns, kind="stable")
    return Bags.from_frame(ordered, bag=N["text"], features=FEATURES, weight=weight), ordered


def test_bags_and_counts_equal_pandas(engine, rows):
    bags, counts = aggregate_bags(rows, N["text"], FEATURES, label=N["label"], engine=engine)
    here, _ = expected(rows)
    assert bags == here
    assert counts.tolist() == rows.groupby(N["text"])[N["label"]].sum().tolist()


def test_weights_and_classes_equal_pandas(rows):
    bags, counts = aggregate_bags(rows, N["upper"], [N["lower"]], weight=N["weight"], label=N["kind"])
    by = rows.pivot_table(index=N["upper"], columns=N["kind"], values=N["weight"], aggfunc="sum")
    assert np.allclose(counts, by.to_numpy())
    assert bags.ids.tolist() == [0, 1, 2]
    assert np.allclose([bags.weights[a:b].sum() for a, b in zip(bags.offsets, bags.offsets[1:])], by.sum(axis=1))


def test_without_label_bags_come_alone(rows):
    bags = aggregate_bags(rows, N["dots"], [N["upper"]], where=[(N["upper"], ">", 0)])
    assert isinstance(bags, Bags)
    assert bags.values.min() == 1


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"b": [1, None], "x": [1, 2]}, {}, ("column-missing-rows", "b", 1, 2)),
        ({"b": [1, 2], "x": [1, None]}, {}, ("column-missing-rows", "x", 1, 2)),
        ({"b": [1, 2], "x": ["u", None]}, {}, ("column-missing-rows", "x", 1, 2)),
        ({"b": [1, 2], "x": [1, 2]}, {"features": "x"}, ("features-list-columns", "x")),
        ({"b": [1, 2], "x": [1, 2]}, {"features": []}, ("features-list-columns",)),
        ({"b": [1, 2], "x": [1, 2]}, {"features": ["b"]}, ("holds-duplicates-first",)),
        ({"b": [1, 2], "x": [1, 2], "w": [-1, 1]}, {"weight": "w"}, ("rows-correct-such", "negative", 1, 2)),
    ],
)
def test_bad_input_is_refused(columns, options, words):
    with raises(DataError, *words):
        aggregate_bags(pd.DataFrame(columns), **{"bag": "b", "features": ["x"], **options})
