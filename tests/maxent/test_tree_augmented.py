"""The tree follows the dependence, and the closed form is the maximum entropy model of its tables."""

import numpy as np
import pandas as pd
import pytest

from sumwise import Tables
from sumwise.maxent import MaxEntClassifier, SolverOptions, TreeAugmentedNaiveBayes


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 6000)
    b = np.where(rng.random(6000) < 0.7, a, rng.integers(0, 3, 6000))
    c = np.where(rng.random(6000) < 0.7, b, rng.integers(0, 3, 6000))
    y = (rng.random(6000) < 0.2 + 0.2 * (a == c) + 0.2 * (b == 1)).astype(int)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": y})


def test_tree_joins_neighbours(frame):
    model = TreeAugmentedNaiveBayes().fit(Tables.from_frame(frame, ["a", "b", "c"], label="y"))
    edges = {frozenset((child, parent)) for child, parent in model.parents_.items() if parent}
    assert edges == {frozenset("ab"), frozenset("bc")}


def test_is_the_maximum_entropy_model_of_the_trees_tables(frame):
    whole = Tables.from_frame(frame, ["a", "b", "c"], label="y")
    tree = whole.with_tables([whole["a", "b"], whole["b", "c"]])
    closed = TreeAugmentedNaiveBayes(smoothing=0.0).fit(tree)
    trained = MaxEntClassifier(penalty_theta=1e-8, penalty_mu=1e-8, options=SolverOptions(max_iter=5000, tol=1e-3)).fit(
        tree
    )
    np.testing.assert_allclose(closed.predict_proba(frame), trained.predict_proba(frame), atol=1e-3)


def test_without_pairs_it_is_naive_bayes(frame):
    from sumwise.maxent import NaiveBayesTables

    tables = Tables.from_frame(frame, ["a", "b", "c"], label="y", order=1)
    tree, naive = TreeAugmentedNaiveBayes(smoothing=0.0).fit(tables), NaiveBayesTables(smoothing=0.0).fit(tables)
    np.testing.assert_allclose(tree.predict_proba(frame), naive.predict_proba(frame), atol=1e-9)


def test_unknown_levels_drop_out_or_fall_back(frame):
    model = TreeAugmentedNaiveBayes().fit(Tables.from_frame(frame, ["a", "b", "c"], label="y"))
    nothing = model.predict_proba({"a": [9], "b": [9], "c": [9]})[0, 1]
    assert nothing == pytest.approx(frame["y"].mean())
    assert np.isfinite(model.predict_proba({"a": [0], "b": [9], "c": [1]})).all()
