"""The fitted model by itself: probabilities, densities and draws against sums over the joint table."""

import numpy as np
import pytest

from messages import raises
from sumwise import DataError, Domain
from sumwise.maxent import fitted_model
from sumwise.maxent.engines import Parameters
from sumwise.maxent.fitted_model import LogLinearModel, Schema, layout_of

DOMAIN = Domain({"a": 3, "b": ["x", "y"]})


def model(n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    lay = layout_of(Schema(DOMAIN, None, "y", np.arange(n_classes)), [("a", "b"), ("a",), ("b",)], None)
    rows = 1 if n_classes == 2 else n_classes
    parameters = Parameters(*(rng.normal(size=s) for s in (lay.n_params, (rows, lay.n_params), n_classes)))
    return LogLinearModel(Schema(DOMAIN, None, "y", np.arange(n_classes)), lay, parameters, 100.0)


def by_hand(made):
    """p(y, a, b), one cell at a time."""
    mu, theta, offsets = made.parameters.mu, made.parameters.theta, made.parameters.offsets
    n_classes, joint = len(offsets), np.zeros((len(offsets), 3, 2))
    for y in range(n_classes):
        row = theta[y] if len(theta) > 1 else y * theta[0]
        for a in range(3):
            for b in range(2):
                at = [2 * a + b, 6 + a, 9 + b]
                joint[y, a, b] = np.exp(offsets[y] + (mu + row)[at].sum())
    return joint / joint.sum()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_joint_probabilities_and_densities_are_those_of_the_formula(n_classes):
    made = model(n_classes)
    joint = by_hand(made)
    np.testing.assert_allclose(made.joint(), joint, rtol=1e-12)
    frame = {"a": [0, 2], "b": ["y", "x"]}
    cells = np.stack([joint[:, 0, 1], joint[:, 2, 0]])
    np.testing.assert_allclose(made.predict_proba(frame), cells / cells.sum(axis=1, keepdims=True), rtol=1e-12)
    gap = made.log_density(made.schema.codes(frame)) - np.log(cells)
    assert np.ptp(gap) < 1e-12


def test_draws_have_the_shares_of_the_joint_by_enumeration_and_by_chains(monkeypatch):
    made = model()
    joint = by_hand(made)
    for limit in (fitted_model.ENUMERABLE, 0):
        monkeypatch.setattr(fitted_model, "ENUMERABLE", limit)
        codes, labels = made.draw(20_000, np.random.default_rng(1))
        share = np.bincount(labels * 6 + codes[:, 0] * 2 + codes[:, 1], minlength=12) / 20_000
        np.testing.assert_allclose(share, joint.ravel(), atol=0.015)


def test_labels_that_are_no_classes_are_refused():
    schema = model().schema
    assert schema.label_codes([1, 0], 2).tolist() == [1, 0]
    with raises(DataError, "there-is-no", "class", 5):
        schema.label_codes([5], 1)
    with raises(DataError, "labels-rows-each", 1, 2):
        schema.label_codes([0], 2)
