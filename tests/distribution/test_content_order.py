"""The order of bags, and of rows in them, decides nothing: every estimator is a function of the set of bags."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.distribution import (
    BagGaussianProcess,
    BagKernelRidge,
    BagLogistic,
    BagOfWords,
    BagRidge,
    DeepSets,
    FisherVector,
    FourierEmbedding,
    KernelEmbedding,
    QuantileEmbedding,
)
from sumwise.inference.canonical import content_sorted

MODELS = {
    "Fourier features": BagRidge(random_state=0),
    "quantiles": BagRidge(QuantileEmbedding()),
    "words": BagRidge(BagOfWords(8), random_state=0),
    "Fisher vector": BagRidge(FisherVector(3), random_state=0),
    "kernel": BagKernelRidge(random_state=0),
    "few landmarks": BagKernelRidge(max_bags=10, n_landmarks=6, random_state=0),
    "process": BagGaussianProcess(random_state=0),
    "inducing bags": BagGaussianProcess(max_bags=10, n_inducing=6, random_state=0),
    "classes": BagLogistic(FourierEmbedding(8), random_state=0),
    "kernel of classes": BagLogistic(KernelEmbedding(), random_state=0),
    "network": DeepSets((8,), max_epochs=3),
}


def drawn(rng, tied):
    y = rng.uniform(1, 3, 30).round(1 if tied else 8)
    rows = [w * rng.normal(size=(rng.integers(5, 15), 2)) for w in y]
    return [np.round(x) if tied else x for x in rows], y


@pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied rows and responses"])
@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_bags_and_rows_decides_nothing(name, tied):
    from sklearn.base import clone

    rng = np.random.default_rng(0)
    rows, y = drawn(rng, tied)
    y = (y > 2).astype(int) if "classes" in name else y
    order = rng.permutation(len(y))
    bags, other = Bags.from_arrays(rows), Bags.from_arrays([rng.permutation(rows[b]) for b in order])
    new = Bags.from_arrays(drawn(rng, tied)[0])
    first, second = clone(MODELS[name]).fit(bags, y), clone(MODELS[name]).fit(other, y[order])
    said = [m.predict_proba(new) if "classes" in name else m.predict(new) for m in (first, second)]
    np.testing.assert_allclose(said[0], said[1], atol=1e-5 if name == "network" else 1e-7)
    if hasattr(first, "residuals_") and name != "network":  # of each bag, in the caller's order
        np.testing.assert_allclose(first.residuals_[order], second.residuals_, atol=1e-7)


def test_sorted_bags_hold_the_same_rows_whatever_the_units():
    rng = np.random.default_rng(1)
    rows, y = drawn(rng, True)
    bags = Bags.from_arrays(rows, weights=[rng.integers(1, 3, len(x)) for x in rows])
    alike, order = content_sorted(bags, [y])
    assert (np.diff(y[order]) >= 0).all()
    for b, x in zip(order, alike):
        np.testing.assert_array_equal(np.sort(x, axis=0), np.sort(rows[b], axis=0))
    np.testing.assert_array_equal(alike.total_weights, bags.total_weights[order])
    np.testing.assert_array_equal(content_sorted(bags.with_values(bags.values * 1e12), [y])[1], order)
