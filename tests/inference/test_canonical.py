"""The answer is a function of the set of bags: not of their order, their names, or the order of rows and columns."""

import numpy as np
import pandas as pd
import pytest

from sumwise import Bags
from sumwise.inference.canonical import column_order
from sumwise.proportions import (
    AlternatingMeanMap,
    CardinalityClassifier,
    MeanEmbeddingClassifier,
    MeanMap,
)
from sumwise.proportions.training_data import canonical, count_facts

METHODS = {
    "default": CardinalityClassifier(),
    "linear": CardinalityClassifier("linear"),
    "random intercept": CardinalityClassifier("linear", random_intercept=True),
    "a penalty given": CardinalityClassifier(penalty=[1.0, 2.0, 3.0, 4.0]),
    "mean map": MeanMap(),
    "Laplacian mean map": MeanMap(laplacian=True),
    "alternating mean map": AlternatingMeanMap(),
    "mean embedding": MeanEmbeddingClassifier(),
}


def people(n_bags=20, size=20, seed=0):
    """Bags with indicators, so that rows and columns tie, and a column with gaps; and new rows."""
    rng = np.random.default_rng(seed)
    parts = [
        np.column_stack([rng.normal(m, 1, (size, 2)), rng.random((size, 2)) < 0.3]) for m in rng.normal(size=n_bags)
    ]
    logits = [2 * part[:, 0] - part[:, 2] for part in parts]
    counts = np.array([(rng.random(size) < 1 / (1 + np.exp(-x))).sum() for x in logits])
    for part in parts[::3]:
        part[::7, 1] = np.nan
    return parts, counts, rng.normal(size=(50, 4))


@pytest.mark.filterwarnings("ignore:Counts of the bags vary")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_order_and_names_of_bags_and_rows_give_the_same_bits(name, n_classes):
    if n_classes == 3 and name == "random intercept":
        n_classes = 2
    parts, counts, new = people(10 if n_classes == 3 else 20)
    counts = counts if n_classes == 2 else np.column_stack([20 - counts, counts // 2, counts - counts // 2])
    model = METHODS[name].set_params(penalty=np.arange(1.0, 6.0)) if name == "a penalty given" else METHODS[name]
    first = model.fit(Bags.from_arrays(parts), counts).predict_proba(new)
    rng = np.random.default_rng(1)
    for k in range(10 if name == "linear" and n_classes == 2 else 2):
        order = rng.permutation(len(parts))
        shuffled = [rng.permutation(parts[i]) for i in order]
        bags = Bags.from_arrays(shuffled, ids=[f"bag {k} {i}" for i in order[::-1]])
        np.testing.assert_array_equal(model.fit(bags, counts[order]).predict_proba(new), first)


@pytest.mark.parametrize("model", [CardinalityClassifier(), CardinalityClassifier(penalty=1.0)], ids=["auto", "given"])
def test_any_order_of_columns_gives_the_same_probabilities(model):
    parts, counts, new = people(12)
    parts = [np.nan_to_num(part) for part in parts]
    first = model.fit(Bags.from_arrays(parts), counts).predict_proba(new)
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        other = model.fit(Bags.from_arrays([part[:, order] for part in parts]), counts)
        np.testing.assert_allclose(other.predict_proba(new[:, order]), first, rtol=0, atol=1e-8)


def test_order_of_a_frame_and_of_counts_does_not_matter():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"town": np.repeat(np.arange(15), 8), "age": rng.normal(size=120)})
    frame["job"] = rng.choice(["x", "y", "z"], 120)
    yes = pd.Series(rng.binomial(8, 0.5, 15), index=np.arange(15))
    clf = CardinalityClassifier()
    first = clf.fit(Bags.from_frame(frame, bag="town"), yes).predict_proba(frame)
    mixed = frame.sample(frac=1.0, random_state=0)
    again = clf.fit(Bags.from_frame(mixed, bag="town"), yes.sample(frac=1.0, random_state=1)).predict_proba(frame)
    np.testing.assert_allclose(again, first, rtol=0, atol=1e-8)


def test_bags_are_sorted_by_share_and_columns_by_what_they_hold():
    bags = Bags.from_arrays([[[1.0, 5.0]] * 2, [[2.0, 6.0], [1.0, 7.0]], [[3.0, 8.0]] * 4])
    arranged, counts, weights = canonical(bags, np.array([2, 1, 0]), np.array([1.0, 2.0, 3.0]))
    assert counts.tolist() == [0, 1, 2]  # the second class is the rarest
    assert weights.tolist() == [3.0, 2.0, 1.0]
    assert arranged.sizes.tolist() == [4, 2, 2]
    flipped = bags.with_values(bags.values[:, ::-1])
    order = column_order(bags, count_facts(bags, counts))
    np.testing.assert_array_equal(column_order(flipped, count_facts(bags, counts)), 1 - order)


def test_columns_of_one_row_bags_have_an_order_of_their_own():
    rows = np.random.default_rng(0).normal(size=(9, 4))  # each column has every rank once
    first = column_order(Bags(rows, np.arange(10)))
    turned = [2, 0, 3, 1]
    second = column_order(Bags(rows[:, turned], np.arange(10)))
    assert [turned[j] for j in second] == first.tolist()
