"""Penalised logistic regression against scikit-learn, for two classes and for three."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sumwise.maxent.kernels.loglinear import layout
from sumwise.maxent.kernels.table_logistic import cell_design, fit_softmax, fit_sums


@pytest.mark.parametrize("n_classes", [2, 3])
def test_equals_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, 3, 300), rng.integers(0, 4, 300)])
    y = (codes.sum(axis=1) + rng.integers(0, 3, 300)) % n_classes
    lay = layout((3, 4), [(0, 1), (0,), (1,)])
    design = cell_design(lay, codes)
    theta, offsets, _, n_iter = fit_softmax(design, np.eye(n_classes)[y], np.full(lay.n_params, 2.0), tol=1e-8)
    reference = LogisticRegression(C=1 / 4.0, tol=1e-8, max_iter=2000).fit(design, y)
    score = design @ theta.T + (offsets[1:] if n_classes == 2 else offsets)
    shares = 1 / (1 + np.exp(-score[:, 0])) if n_classes == 2 else np.exp(score) / np.exp(score).sum(1, keepdims=True)
    expected = reference.predict_proba(design)
    np.testing.assert_allclose(shares, expected[:, 1] if n_classes == 2 else expected, atol=1e-4)
    assert n_iter > 1


def test_cell_design_marks_one_cell_per_term():
    lay = layout((2, 3), [(0, 1), (1,)])
    design = cell_design(lay, np.array([[1, 2], [0, 0]])).toarray()
    assert design.sum(axis=1).tolist() == [2.0, 2.0]
    assert design[0].nonzero()[0].tolist() == [5, 8]


def test_sums_of_labels_say_what_labels_say():
    """Where the rows are those whose labels were summed, both fits have the same optimum, for two classes and three."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, 3, 400), rng.integers(0, 2, 400)])
    design = cell_design(layout((3, 2), [(0, 1), (0,), (1,)]), codes)
    for n_classes in (2, 3):
        labels = np.eye(n_classes)[rng.integers(0, n_classes, 400)]
        penalty = np.full(11, 0.5)
        theta, offsets, *_ = fit_softmax(design, labels, penalty, tol=1e-8)
        kept = labels[:, 1:] if n_classes == 2 else labels
        sums = (design.T @ kept).T
        again, shifted, *_ = fit_sums(design, sums, labels.mean(axis=0), 400.0, np.broadcast_to(penalty, sums.shape))
        np.testing.assert_allclose(design @ again.T + shifted[-1], design @ theta.T + offsets[-1], atol=0.02)
