"""Methods of recent years that live with the benchmarks: each against its definition, and all under one test."""

import importlib.util
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, xlogy
from sklearn.metrics import roc_auc_score

from sumwise import Bags
from sumwise.proportions import CardinalityClassifier
from sumwise.proportions.counts import observe
from sumwise.proportions.shares import BagShares

FILE = Path(__file__).parents[2] / "benchmarks" / "recent_methods.py"
_spec = importlib.util.spec_from_file_location("recent_methods", FILE)
assert _spec is not None
assert _spec.loader is not None
recent = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(recent)


def people(n_bags=30, size=10, seed=0):
    """Bags of people of two classes that a line parts well, their labels, and other people."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + 1.5 * np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    labels = (values @ [2.0, -1.0] + 0.3 * rng.logistic(size=len(values)) > 0).astype(int)
    other = 1.5 * rng.normal(size=(500, 2))
    truth = (other @ [2.0, -1.0] > 0).astype(int)
    return Bags(values, np.arange(0, len(values) + 1, size)), labels.reshape(n_bags, size).sum(axis=1), other, truth


def shares_of(bags, counts):
    share = np.asarray(counts) / bags.sizes
    return BagShares(bags.values, bags.offsets, np.ones(bags.n_rows), np.column_stack([1.0 - share, share]))


@pytest.mark.parametrize(
    "make",
    [CardinalityClassifier, recent.LLPFC, recent.TransportAssignment, recent.BeliefPropagation],
    ids=lambda make: make.__name__,
)
def test_people_that_a_line_parts_are_found(make):
    bags, counts, other, truth = people()
    clf = make().fit(bags, counts)
    assert roc_auc_score(truth, clf.predict_proba(other)[:, 1]) > 0.97
    swapped = make().fit(bags, bags.sizes - counts)
    assert roc_auc_score(truth, swapped.predict_proba(other)[:, 1]) < 0.03


def test_transported_labels_fulfil_the_counts_at_the_least_cost():
    rng = np.random.default_rng(1)
    logits, counts = rng.normal(size=9), np.array([1, 3])
    data = shares_of(Bags(rng.normal(size=(9, 1)), [0, 4, 9]), counts)
    labels = recent.transported(logits, data)
    np.testing.assert_allclose(np.add.reduceat(labels, [0, 4]), counts, atol=1e-9)

    def cost(q):  # transport cost -q log p - (1 - q) log(1 - p), less the entropy times its weight
        entropy = -(xlogy(q, q) + xlogy(1 - q, 1 - q)).sum()
        return -(q @ log_expit(logits) + (1 - q) @ log_expit(-logits)) - recent.ENTROPY * entropy

    kept = [{"type": "eq", "fun": lambda q, a=a, b=b, c=c: q[a:b].sum() - c} for a, b, c in ((0, 4, 1), (4, 9, 3))]
    start = np.repeat(counts / [4, 5], [4, 5])
    best = minimize(cost, start, bounds=[(1e-9, 1 - 1e-9)] * 9, constraints=kept, method="SLSQP", tol=1e-12)
    np.testing.assert_allclose(labels, best.x, atol=1e-4)


def test_forward_correction_is_the_chance_of_the_bag_given_the_features():
    rng = np.random.default_rng(2)
    bags = Bags(rng.normal(size=(7, 1)), [0, 3, 7])
    data = shares_of(bags, np.array([1, 3]))
    likelihood = recent.ForwardLikelihood(data, np.random.default_rng(0))
    mass = {(k, c): [3, 4][k] * [[2 / 3, 1 / 3], [1 / 4, 3 / 4]][k][c] for k in (0, 1) for c in (0, 1)}
    for given in likelihood.given:  # two bags: every pairing is the same one
        for k, c in product((0, 1), (0, 1)):
            assert given[k, c] == pytest.approx(mass[k, c] / (mass[0, c] + mass[1, c]), abs=1e-5)
    logits = rng.normal(size=7)
    value = likelihood.evaluate(logits)
    chance = sum(np.repeat(likelihood.given[0][:, c], [3, 4]) * expit([-logits, logits][c]) for c in (0, 1))
    np.testing.assert_allclose(value.log_prob, np.add.reduceat(np.log(chance), [0, 3]))
    for i in range(7):
        step = np.eye(7)[i] * 1e-6
        slope = (likelihood.evaluate(logits + step).log_prob - likelihood.evaluate(logits - step).log_prob).sum() / 2e-6
        assert value.posterior[i] == pytest.approx(slope, abs=1e-6)


def test_belief_propagation_is_exact_where_factors_form_a_tree():
    rng = np.random.default_rng(3)
    unary, counts = rng.normal(size=6), np.array([1, 2])
    bags = Bags(rng.normal(size=(6, 1)), [0, 3, 6])
    edges, back = np.array([[1, 4], [4, 1]]), np.array([1, 0])  # one pair of neighbours, in different bags
    mass = np.zeros(6)
    total = 0.0
    for labels in product((0, 1), repeat=6):
        y = np.array(labels)
        if y[:3].sum() == counts[0] and y[3:].sum() == counts[1]:
            chance = np.exp(unary @ y + recent.COUPLING * (2 * y[1] - 1) * (2 * y[4] - 1))
            mass, total = mass + chance * y, total + chance
    found = recent.propagated(unary, observed_shares(bags, counts), edges, back)
    np.testing.assert_allclose(found, mass / total, atol=1e-6)


def observed_shares(bags, counts):
    data = shares_of(bags, counts)
    assert np.array_equal(np.round(data.counts[:, 1]), observe(bags, counts).observations.low)
    return data


def test_neighbours_come_in_both_directions():
    bags, counts, *_ = people(4, 10)
    edges, back = recent.neighbours(shares_of(bags, counts))
    np.testing.assert_array_equal(edges[back], edges[:, ::-1])
    assert (np.bincount(edges[:, 0]) >= recent.NEIGHBOURS).all()


def test_consistency_is_the_divergence_at_the_worst_shift(monkeypatch):
    """A linear network by hand: of all shifts of one length, one along the difference of coefficients is the worst."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    values, coef, intercept = rng.normal(size=(40, 3)), rng.normal(size=(2, 3)), rng.normal(size=2)
    params = [torch.as_tensor(coef), torch.as_tensor(intercept)]
    whole = np.arange(len(values))
    run = SimpleNamespace(
        torch=torch, values=torch.as_tensor(values), rows_of=lambda _: (whole,), rng=np.random.default_rng(3)
    )
    monkeypatch.setattr(recent.ProportionLossNetwork, "batch_loss", lambda *_: torch.tensor(0.25))
    found = float(recent.ConsistencyNetwork(hidden=()).batch_loss(run, params, None))

    along = coef[1] - coef[0]
    side = np.sign(np.random.default_rng(3).normal(size=values.shape) @ along)  # that of the draw the search began at
    logits = values @ along + intercept[1] - intercept[0]
    moved = logits + recent.REACH * side * np.linalg.norm(along)
    before, after = expit(logits), expit(moved)
    divergence = before * np.log(before / after) + (1.0 - before) * np.log((1.0 - before) / (1.0 - after))
    assert found == pytest.approx(0.25 + recent.CONSISTENCY * divergence.mean(), rel=1e-6)


@pytest.mark.check
@pytest.mark.filterwarnings("ignore:Stopped after")
def test_consistency_finds_the_classes_and_smooths_predictions(monkeypatch):
    pytest.importorskip("torch")
    bags, counts, other, truth = people()
    steepness = {}
    for weight in (0.0, 5.0):
        monkeypatch.setattr(recent, "CONSISTENCY", weight)
        network = recent.ConsistencyNetwork(hidden=(16,), max_epochs=60, random_state=0).fit(bags, counts)
        chance = network.predict_proba(other)[:, 1]
        assert roc_auc_score(truth, chance) > 0.9
        steepness[weight] = np.abs(network.predict_proba(other + np.array([0.2, -0.1]))[:, 1] - chance).mean()
    assert steepness[5.0] < 0.8 * steepness[0.0]
