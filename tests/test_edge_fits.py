"""At the edges an estimator gives finite numbers within bounds, or one of our errors, or a warning that says why."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from sumwise import Bags, Margins, Tables
from sumwise.distribution import (
    BagGaussianProcess,
    BagKernelRidge,
    BagLogistic,
    BagRidge,
    FourierEmbedding,
    MomentEmbedding,
    SizeMatched,
)
from sumwise.ecological import Bounds, EcologicalEM, Goodman, King
from sumwise.errors import SumwiseError
from sumwise.maxent import BestPair, MaxEntClassifier, NaiveBayesTables, TreeAugmentedNaiveBayes
from sumwise.proportions import (
    AggregateRegressor,
    AlternatingMeanMap,
    CardinalityClassifier,
    CentralLimitClassifier,
    MeanEmbeddingClassifier,
    MeanMap,
    ProportionLossClassifier,
)

RNG = np.random.default_rng(0)
ROWS = RNG.integers(20, 200, (12, 2)).astype(float)
YES = np.round(0.7 * ROWS[:, 0] + 0.2 * ROWS[:, 1])
MARGINS = {
    "one unit": (ROWS[:1], YES[:1]),
    "one class": (ROWS, ROWS.sum(1)),
    "all zeros": (np.zeros((5, 2)), np.zeros(5)),
    "some empty units": (np.where(np.arange(12)[:, None] < 3, 0, ROWS), np.where(np.arange(12) < 3, 0, YES)),
    "1e15 counts": (ROWS * 1e13, YES * 1e13),
    "constant rows": (np.full((12, 2), 50.0), np.arange(12) + 40.0),
    "separable": (np.array([[100.0, 0], [0, 100]] * 6), np.array([100.0, 0] * 6)),
    "an empty group": (np.stack([ROWS[:, 0], np.zeros(12)], 1), np.round(0.5 * ROWS[:, 0])),
}
VALUES = RNG.normal(size=(10, 15, 2))
COUNTS = (VALUES[:, :, 0] > 0).sum(1)
BAGS = {
    "one bag": (VALUES[:1], COUNTS[:1]),
    "one class": (VALUES, np.full(10, 15)),
    "no class": (VALUES, np.zeros(10, int)),
    "constant column": (np.concatenate([VALUES, np.ones((10, 15, 1))], 2), COUNTS),
    "only constants": (np.ones((10, 15, 2)), COUNTS),
    "duplicated columns": (np.concatenate([VALUES, VALUES], 2), COUNTS),
    "separable": (np.sign(VALUES) * 100, COUNTS),
    "1e15 values": (VALUES * 1e15, COUNTS),
    "bags of one": (VALUES.reshape(150, 1, 2), (VALUES[:, :, 0] > 0).astype(int).ravel()),
}


def watched(fit):
    """What a fit and its answers gave: numbers, an error of ours, or numbers with a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return fit(), [str(w.message) for w in caught]
        except SumwiseError as error:
            return error, []


def judge(found, low=-np.inf, high=np.inf):
    """Numbers are finite and within bounds, or a warning came with them."""
    answer, said = found
    if isinstance(answer, SumwiseError):
        assert len(str(answer)) > 10
        return
    arrays = [np.asarray(a, dtype=float) for a in answer]
    good = all(np.isfinite(a).all() and (a >= low - 1e-9).all() and (a <= high + 1e-9).all() for a in arrays)
    assert good or said, arrays


@pytest.mark.parametrize("edge", MARGINS)
@pytest.mark.parametrize("kind", [Bounds, Goodman, EcologicalEM, King])
def test_ecological_edges(kind, edge):
    rows, yes = MARGINS[edge]

    def fit():
        model = kind().fit(Margins(rows, np.stack([yes, rows.sum(1) - yes], 1)))
        return [model.total_ / max(rows.sum(), 1), *model.interval(0.9)] if kind is not Bounds else model.interval(0.9)

    judge(watched(fit), *((0, 1) if kind is not Goodman else ()))


@pytest.mark.parametrize("edge", BAGS)
@pytest.mark.parametrize(
    "kind",
    [
        CardinalityClassifier,
        MeanMap,
        AlternatingMeanMap,
        MeanEmbeddingClassifier,
        CentralLimitClassifier,
        ProportionLossClassifier,
    ],
)
def test_proportions_edges(kind, edge):
    values, counts = BAGS[edge]
    bags = Bags.from_arrays(list(values))
    judge(watched(lambda: [kind().fit(bags, counts).predict_proba(bags.values)]), 0, 1)


@pytest.mark.parametrize("edge", BAGS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: BagRidge(FourierEmbedding(50)),
        lambda: BagRidge(MomentEmbedding()),
        BagKernelRidge,
        BagGaussianProcess,
        SizeMatched,
        AggregateRegressor,
    ],
)
def test_regression_edges(make, edge):
    values, counts = BAGS[edge]
    bags = Bags.from_arrays(list(values))
    judge(watched(lambda: [make().fit(bags, counts.astype(float)).predict(bags)]))


@pytest.mark.parametrize("edge", BAGS)
def test_bag_classification_edges(edge):
    values, counts = BAGS[edge]
    bags = Bags.from_arrays(list(values))
    judge(watched(lambda: [BagLogistic().fit(bags, (counts > 7).astype(int)).predict_proba(bags)]), 0, 1)


def table_edges():
    frame = pd.DataFrame(RNG.integers(0, 2, (60, 2)), columns=["a", "b"])
    label = frame["a"] ^ (RNG.random(60) < 0.2)
    return {
        "one class": frame.assign(y=1),
        "constant column": frame.assign(c=0, y=label),
        "duplicated columns": frame.assign(c=frame["a"], y=label),
        "separable": frame.assign(y=frame["a"]),
        "one row": frame[:1].assign(y=1),
        "1e15 counts": frame.assign(y=label, w=1e13),
    }


@pytest.mark.parametrize("edge", table_edges())
@pytest.mark.parametrize("kind", [MaxEntClassifier, NaiveBayesTables, BestPair, TreeAugmentedNaiveBayes])
def test_maxent_edges(kind, edge):
    frame = table_edges()[edge]
    frame["y"] = frame["y"].astype(int)
    names = [c for c in frame if c not in ("y", "w")]

    def fit():
        tables = Tables.from_frame(frame, names, label="y", weight="w" if "w" in frame else None)
        return [kind().fit(tables).predict_proba(frame[names])]

    judge(watched(fit), 0, 1)
