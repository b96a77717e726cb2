"""process_counts against a brute-force search over path tables and fields together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from messages import raises
from sumwise import Domain, Table, Tables
from sumwise.collective import GraphModel, TreeModel, map_counts, process_counts
from sumwise.collective.kernels.smooth_field import factor
from sumwise.errors import DataError
from sumwise.noise import Poisson

PLACES = np.array([[0.0, 0.0], [1.0, 0.0]])


def problem(seed, n=30.0, steps=3):
    rng = np.random.default_rng(seed)
    domain = Domain({f"t{t}": 2 for t in range(steps)})
    edges = [(f"t{t}", f"t{t + 1}") for t in range(steps - 1)]
    model = TreeModel(domain, edges, {e: rng.normal(size=(2, 2)) for e in edges} | {"t0": rng.normal(size=2)})
    counts = rng.poisson(n / 2, size=(steps, 2)).astype(float)
    counts[1, 0] = np.nan
    tables = [Table(f"t{t}", counts[t], noise=Poisson()) for t in range(steps)]
    return model, Tables(tables, domain, n=n), counts


def brute(model, counts, n, lengths, scale, seed):
    """The least joint objective over tables of whole paths (softmax) and weights of the field."""
    steps = len(counts)
    rng = np.random.default_rng(0)
    a = scale * factor(np.arange(steps, dtype=float), lengths[0], rng=rng)
    b = factor(PLACES, lengths[1], rng=rng)
    paths = np.array(list(product(range(2), repeat=steps)))
    own = np.zeros(len(paths))
    for key, table in model.log_potentials.items():
        names = (key,) if isinstance(key, str) else key
        own += table[tuple(paths[:, int(name[1:])] for name in names)]

    def value(x):
        u, w = x[: len(paths)], x[len(paths) :]
        field = a @ w.reshape(a.shape[1], -1) @ b.T
        energy = own + field[np.arange(steps), paths].sum(axis=1)
        logs = u - logsumexp(u)
        q = n * np.exp(logs)
        z = np.array([np.bincount(paths[:, t], q, 2) for t in range(steps)])
        fit = np.where(
            np.isnan(counts), 0.0, z - np.nan_to_num(counts) * np.log(z) + gammaln(np.nan_to_num(counts) + 1)
        )
        return (q * (logs + np.log(n) - energy)).sum() + n * logsumexp(energy) + fit.sum() + 0.5 * w @ w

    start = np.random.default_rng(seed).normal(size=len(paths) + a.shape[1] * b.shape[1])
    return minimize(value, start, method="BFGS", options={"gtol": 1e-6})


@pytest.mark.parametrize("seed", range(4))
def test_counts_and_field_are_the_joint_optimum(seed):
    model, tables, counts = problem(seed)
    found = process_counts(model, tables, PLACES, time_length=1.0, space_length=1.5, scale=0.8, tol=1e-9)
    slow = brute(model, counts, 30.0, (1.0, 1.5), 0.8, seed)
    assert found.objective == pytest.approx(slow.fun, abs=1e-6)


def test_each_part_is_proven_given_the_other():
    model, tables, _ = problem(7)
    found = process_counts(model, tables, PLACES, time_length=1.0, space_length=1.0)
    again = map_counts(found.model, tables)
    assert found.converged
    assert found.counts.gap < 1e-4 * abs(found.counts.objective)
    assert found.counts.nodes["t1"] == pytest.approx(again.nodes["t1"], rel=1e-3)
    assert found.field_gap <= 1e-4 * 5


def test_a_field_of_no_size_leaves_the_counts_as_the_model_has_them():
    model, tables, _ = problem(3)
    found = process_counts(model, tables, PLACES, time_length=1.0, space_length=1.0, scale=1e-6)
    assert found.counts.nodes["t1"] == pytest.approx(map_counts(model, tables).nodes["t1"], abs=1e-3)


def test_lengths_are_chosen_by_held_out_counts():
    model, tables, _ = problem(5, n=60.0, steps=5)
    found = process_counts(model, tables, PLACES, space_length=1.0)
    assert (found.time_length, 1.0) == max(found.scores, key=found.scores.__getitem__)
    assert len(found.scores) == 3


def test_what_does_not_fit_is_refused():
    model, tables, _ = problem(0)
    with raises(DataError, "attribute-levels-positions", 3):
        process_counts(model, tables, np.zeros((3, 2)))
    with raises(DataError, "times-attributes-dont"):
        process_counts(model, tables, PLACES, times=[0, 0, 1])
    with raises(DataError, "model-type-treemodel", "GraphModel"):
        process_counts(GraphModel(model.domain, [("t0", "t1")]), tables, PLACES)
    with raises(DataError, "tables-tables-table", "list"):
        process_counts(model, [], PLACES)
