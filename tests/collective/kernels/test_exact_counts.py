"""Exact inference over integer tables, against every population."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from brute_collective import population_distribution
from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.collective import GraphModel, TreeModel, map_counts
from sumwise.collective.kernels.exact_counts import compositions
from sumwise.noise import Geometric, Poisson


def models():
    rng = np.random.default_rng(0)
    domain = Domain({"a": 2, "b": 2, "c": 2})
    tree = TreeModel(domain, [("a", "b"), ("c", "b")], {("a", "b"): rng.normal(size=(2, 2)), "c": [0.2, 0.0]})
    forest = TreeModel(domain, [("a", "b")], {("a", "b"): rng.normal(size=(2, 2)), "c": [0.2, 0.0]})
    triangle = [("a", "b"), ("b", "c"), ("c", "a")]
    graph = GraphModel(domain, triangle, {e: rng.normal(size=(2, 2)) for e in triangle})
    return {"tree": tree, "forest": forest, "graph": graph}


@pytest.mark.parametrize("kind", ["tree", "forest", "graph"])
@pytest.mark.parametrize("edge", [False, True])
def test_mode_mean_and_evidence_equal_enumeration(kind, edge):
    model = models()[kind]
    groups = {"tree": [("a", "b"), ("c", "b")], "forest": [("a", "b"), ("c",)], "graph": [("a", "b", "c")]}[kind]
    seen = [Table("b", [2, 1], noise=Poisson(0.8)), Table("c", [np.nan, 2], noise=Geometric(1.5))]
    if edge:
        seen.append(Table(("b", "a"), [[1.0, 0.0], [2.0, 1.0]], noise=Poisson()))
    tables = Tables(seen, model.domain)
    fit = map_counts(model, tables, n=3, method="exact")
    logs, values = [], []
    for key, chance in population_distribution(model.domain, model.log_potentials, groups, 3).items():
        counts = {g: np.reshape(v, [2] * len(g)) for g, v in zip(groups, key)}
        log = np.log(chance)
        for t in tables:
            holder = next(g for g in groups if set(t.attributes) <= set(g))
            drop = tuple(i for i, x in enumerate(holder) if x not in t.attributes)
            kept = [x for x in holder if x in t.attributes]
            table = np.transpose(counts[holder].sum(axis=drop), [kept.index(x) for x in t.attributes])
            log += t.noise.log_density(t.counts, table).sum()
        logs.append(log)
        values.append(counts)
    logs = np.array(logs)
    p = np.exp(logs - logsumexp(logs))
    assert fit.history["log_evidence"][0] == pytest.approx(logsumexp(logs), abs=1e-10)
    for g in groups:
        expected = sum(w * v[g] for w, v in zip(p, values))
        np.testing.assert_allclose(fit.mean.table(*g), expected, atol=1e-10)
    best = {g: fit.table(*g) for g in groups}
    found = next(i for i, v in enumerate(values) if all((v[g] == best[g]).all() for g in groups))
    assert logs[found] == pytest.approx(logs.max(), abs=1e-10)


def test_compositions_are_all_and_sorted():
    rows = compositions(4, 3)
    assert len(rows) == 15
    assert (rows.sum(axis=1) == 4).all()
    assert rows.tolist() == sorted(rows.tolist())


def test_too_large_and_impossible_cases_are_refused():
    domain = Domain({"a": 5, "b": 5})
    model = TreeModel(domain, [("a", "b")])
    one = Tables([Table("a", [1, 1, 1, 1, 1], noise=Poisson())], domain)
    with raises(DataError, "edge-possible-tables"):
        map_counts(model, one, n=50, method="exact")
    with raises(DataError, "exact-inference-counts"):
        map_counts(model, one, n=2.5, method="exact")
    small = TreeModel(Domain({"a": 2}), [])
    half = Tables([Table("a", [1.5, 0.5])], small.domain)
    with raises(DataError, "observations-impossible-under"):
        map_counts(small, half, n=2, method="exact")
