"""Refits on parts of the data: nothing that is predicted was seen, and the model itself is left alone."""

import numpy as np
import pytest

from sumwise import synthetic
from sumwise.distribution import BagLogistic, BagRidge, LinearEmbedding
from sumwise.ecological import Goodman
from sumwise.estimator import Estimator
from sumwise.proportions import CardinalityClassifier, MeanEmbeddingClassifier
from sumwise.report.held_out import cross_predict, cross_predict_shares, split_half, subgroup_shares


class Memory(Estimator):
    """Predicts whether it has seen a bag."""

    def fit(self, bags, y):
        self.seen_ = {float(b[0, 0]) for b in bags}
        return self

    def predict(self, bags):
        return np.array([float(b[0, 0]) in self.seen_ for b in bags], dtype=float)


def test_no_bag_is_predicted_by_a_fit_that_saw_it():
    data = synthetic.gamma(23, 10, random_state=0)
    model = Memory()
    assert cross_predict(model, data.bags, data.response, n_folds=4).sum() == 0
    assert not hasattr(model, "seen_")


def test_classes_get_probabilities_and_the_seed_decides():
    data = synthetic.gamma(30, 20, random_state=0)
    y = (data.response > np.median(data.response)).astype(int)
    model = BagLogistic(LinearEmbedding(), target="classes", penalty=0.1)
    found = cross_predict(model, data.bags, y, n_folds=3, random_state=1)
    assert found.shape == (30, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    ridge = BagRidge(LinearEmbedding())
    same = [cross_predict(ridge, data.bags, data.response, 3, seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(same[0], same[1])
    assert not np.array_equal(same[0], same[2])


@pytest.fixture(scope="module")
def election():
    return synthetic.election(40, 20, n_categorical=1, mean_weight=1, weight_spread=0, random_state=0)


def test_held_out_shares_add_up(election):
    found = cross_predict_shares(MeanEmbeddingClassifier(), election.bags, election.counts[:, 1])
    np.testing.assert_allclose(found.sum(axis=1), 1)
    true = election.counts[:, 1] / election.counts.sum(axis=1)
    assert np.corrcoef(found[:, 1], true)[0, 1] > 0.3


@pytest.mark.parametrize(
    "model", [CardinalityClassifier(penalty=1.0), MeanEmbeddingClassifier()], ids=["draws", "none"]
)
def test_subgroup_shares_hold_their_interval_and_agree_with_the_counts(election, model):
    counts = election.counts[:, 1]
    groups = {"sex": np.array(["m", "f"])[election.codes["sex"]]}
    frame = subgroup_shares(model.fit(election.bags, counts), election.bags, counts, groups, ["no", "yes"])
    if isinstance(model, CardinalityClassifier):
        assert (frame["low"] <= frame["share"] + 1e-9).all()
        assert (frame["share"] <= frame["high"] + 1e-9).all()
    else:
        assert frame[["low", "high"]].isna().all(axis=None)  # withheld, not invented
    assert set(frame["level"]) == {"all", "m", "f"}
    if isinstance(model, CardinalityClassifier):
        every = frame[(frame["group"] == "everybody") & (frame["class"] == "yes")]["share"].iloc[0]
        assert every == pytest.approx(counts.sum() / election.bags.n_rows, abs=1e-6)


def test_halves_share_no_unit_and_differ():
    m = synthetic.precincts(60, random_state=0).margins
    one, two = split_half(Goodman(), m)
    assert one.shape == two.shape == (2, 2)
    assert 0 < np.abs(one - two).max() < 0.5
