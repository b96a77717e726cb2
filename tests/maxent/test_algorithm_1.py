"""Algorithm 1 against a version of it that goes chain by chain, cell by cell, with the same random numbers."""

import math

import numpy as np
import pytest

from messages import raises
from sumwise import DataError, Tables
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.maxent.algorithm_1 import start_chains
from sumwise.maxent.kernels.gibbs_moves import uniform
from sumwise.maxent.sufficient_statistics import sufficient_statistics

SIZES, STEPS, LAMBDAS = (3, 2, 2), (1 / 3, 1 / 3), (1.0, 5.0)


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = {a: rng.integers(0, k, n) for a, k in zip("abc", SIZES)}
    return {**frame, "y": (rng.random(n) < 0.2 + 0.5 * (frame["a"] == frame["b"])).astype(int)}


def literal(tables, chains, n_steps, rescale):
    """mu and theta by table and cell, after n_steps of the pseudo code; without rescaling by Lemma 2's gradient."""
    pairs = [tuple("abc".index(a) for a in t.attributes) for t in tables]
    d = {(p, i, j): t.counts[i, j] for p, t in zip(pairs, tables) for i, j in np.ndindex(t.counts.shape)}
    c = {(p, i, j): t.label_sums[i, j] for p, t in zip(pairs, tables) for i, j in np.ndindex(t.counts.shape)}
    mu, theta = dict.fromkeys(d, 0.0), dict.fromkeys(d, 0.0)
    n, n_chains = tables.n, len(chains.labels)

    def cells(x):
        return [(p, x[p[0]], x[p[1]]) for p in pairs]

    x, y = [list(map(int, r)) for r in chains.codes], [int(v) for v in chains.labels]
    state = [np.uint64(s) for s in chains.streams]

    def draw(i):
        with np.errstate(over="ignore"):
            state[i] = state[i] + chains.steps[i]
        return uniform(state[i])

    for _ in range(n_steps):
        d_hat, c_hat = dict.fromkeys(d, 0.0), dict.fromkeys(d, 0.0)
        for i in range(n_chains):
            for a, size in enumerate(SIZES):
                weights = []
                for v in range(size):
                    x[i][a] = v
                    weights.append(math.exp(sum(mu[k] + y[i] * theta[k] for k in cells(x[i]))))
                left, u = 0.0, draw(i) * sum(weights)
                for v in range(size):
                    left += weights[v]
                    if left > u or v == size - 1:
                        x[i][a] = v
                        break
            p = 1 / (1 + math.exp(-sum(theta[k] for k in cells(x[i]))))
            y[i] = int(draw(i) < p)
            for k in cells(x[i]):
                d_hat[k] += 1
                c_hat[k] += p
        for k in mu:
            g_mu = n / n_chains * d_hat[k] - d[k] + 2 * LAMBDAS[0] * mu[k]
            ratio = n / n_chains if not rescale else d[k] / d_hat[k] if d_hat[k] else 0.0
            g_theta = ratio * c_hat[k] - c[k] + 2 * LAMBDAS[1] * theta[k]
            mu[k] -= STEPS[0] * g_mu / (n / n_chains * d_hat[k] + 2 * LAMBDAS[0])
            theta[k] -= STEPS[1] * g_theta / (n / n_chains * c_hat[k] + 2 * LAMBDAS[1])
    return mu, theta


@pytest.mark.parametrize("rescale", [True, False])
def test_the_preset_is_the_pseudo_code(rescale):
    tables = Tables.from_frame(rows(), list("abc"), label="y")
    chains = start_chains(sufficient_statistics(tables, margins=False), 100, 0)
    mu, theta = literal(tables, chains.copy(), 4, rescale)
    options = SolverOptions(preset="paper" if rescale else "plain", n_chains=100, max_iter=4, penalty_mu=LAMBDAS[0])
    model = MaxEntClassifier(LAMBDAS[1], options=options, random_state=0).fit(tables)
    assert model.terms_ == [t.attributes for t in tables]
    assert model.offsets_.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(model.mu_, list(mu.values()), atol=1e-8)
    np.testing.assert_allclose(model.theta_[0], list(theta.values()), atol=1e-7)
    assert model.fit_.n_iter == 4


def test_it_learns_and_keeps_the_number_of_chains_that_is_given():
    tables = Tables.from_frame(rows(4000), list("abc"), label="y")
    options = SolverOptions(preset="paper", n_chains=500, max_iter=150)
    model = MaxEntClassifier(1.0, options=options, random_state=0).fit(tables)
    assert len(model.chains_["labels"]) == 500
    found = model.predict_proba({"a": [0, 0], "b": [0, 1], "c": [0, 0]})[:, 1]
    np.testing.assert_allclose(found, [0.7, 0.2], atol=0.08)


def test_three_classes_and_other_engines_are_refused():
    paper = SolverOptions(preset="paper", n_chains=100, max_iter=2)
    frame = rows()
    with raises(DataError, "algorithm-two-classes", 3):
        three = {**frame, "y": frame["a"]}
        MaxEntClassifier(options=paper).fit(Tables.from_frame(three, ["b", "c"], label="y"))
    with raises(DataError, "preset-samples-here"):
        MaxEntClassifier(engine="exact", options=paper).fit(Tables.from_frame(frame, list("abc"), label="y"))
