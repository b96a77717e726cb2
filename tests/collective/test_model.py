"""The distribution of a population's tables, against every population."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from brute_collective import population_distribution
from collective_cases import random_tree
from messages import raises
from sumwise import DataError, Domain
from sumwise.collective import TreeModel


def chain(levels=2, length=3, seed=0):
    rng = np.random.default_rng(seed)
    domain = Domain({f"t{i}": levels for i in range(length)})
    edges = [(f"t{i}", f"t{i + 1}") for i in range(length - 1)]
    return TreeModel(
        domain, edges, {e: rng.normal(size=(levels, levels)) for e in edges} | {"t0": rng.normal(size=levels)}
    )


@pytest.mark.parametrize("form", ["potentials", "marginals"])
@pytest.mark.parametrize("forest", [False, True])
def test_log_probability_equals_enumeration_of_populations(form, forest):
    model = chain()
    if forest:
        model = TreeModel(
            model.domain, [("t0", "t1")], {("t0", "t1"): model.log_potentials["t0", "t1"], "t2": [0.3, -1.0]}
        )
    groups = [*model.edges, ("t2",)] if forest else list(model.edges)
    every = population_distribution(model.domain, model.log_potentials, groups, 3)
    total = 0.0
    for key, chance in every.items():
        tables = {g: np.reshape(v, [model.domain[a] for a in g]) for g, v in zip(groups, key)}
        assert model.log_probability(tables, form=form) == pytest.approx(np.log(chance), abs=1e-10)
        total += np.exp(model.log_probability(tables, form=form))
    assert total == pytest.approx(1.0, abs=1e-10)


def test_log_probability_is_minus_infinity_outside_the_polytope():
    model = chain()
    good = model.sample_tables(6, random_state=0)
    tables = {e: np.array(good.edges[e]) for e in model.edges}
    tables["t0", "t1"] = tables["t0", "t1"][:, ::-1]
    tables["t1"] = np.array(good.nodes["t1"])
    assert model.log_probability(tables) == -np.inf
    assert model.log_probability({e: 0.5 * np.array(good.edges[e]) for e in model.edges}) == -np.inf


@pytest.mark.check
@pytest.mark.parametrize("kind", ["dense", "sparse", "individuals"])
def test_sampled_tables_have_the_distribution_of_the_population(kind):
    model = chain()
    if kind == "sparse":
        stored = {e: sparse.csr_array(t) for e, t in model.log_potentials.items() if e != "t0"}
        model = TreeModel(model.domain, model.edges, stored | {"t0": model.log_potentials["t0"]})
    groups = list(model.edges)
    every = population_distribution(model.domain, {**model.log_potentials}, groups, 2)
    rng = np.random.default_rng(0)
    seen: dict = {}
    draws = 1500
    for _ in range(draws):
        if kind == "individuals":
            people = model.sample(2, rng)
            tables = {g: np.zeros((2, 2)) for g in groups}
            for person in people:
                for g in groups:
                    tables[g][tuple(person[list(model.domain.axes(g))])] += 1
        else:
            tables = model.sample_tables(2, rng).edges
        key = tuple(tuple(np.asarray(_dense(tables[g])).ravel()) for g in groups)
        seen[key] = seen.get(key, 0) + 1
    assert set(seen) <= set(every)
    chi = sum((seen.get(k, 0) - draws * p) ** 2 / (draws * p) for k, p in every.items())
    assert chi < len(every) + 5 * np.sqrt(2 * len(every))


def _dense(table):
    return table.toarray() if sparse.issparse(table) else table


def test_sampled_tables_lie_in_the_polytope_and_seeds_repeat():
    model = random_tree(3)
    counts = model.sample_tables(50, random_state=1)
    model.check_counts(counts)
    assert np.isfinite(model.log_probability(counts))
    again = model.sample_tables(50, random_state=1)
    for e in model.edges:
        np.testing.assert_array_equal(counts.edges[e], again.edges[e])


def test_check_counts_says_where_the_margins_differ():
    model = chain()
    counts = model.sample_tables(6, random_state=0)
    tables = {e: np.array(counts.edges[e]) for e in model.edges} | {a: np.array(counts.nodes[a]) for a in model.domain}
    tables["t0", "t1"] = tables["t0", "t1"] + np.array([[1.0, -1.0], [0.0, 0.0]])
    with raises(DataError, "table-over-margin", "t0 x t1", "t1", 1):
        model.check_counts(tables)
    tables["t1"] = tables["t1"] + 1
    with raises(DataError, "table-over-sums", "t1", 8, 6):
        model.check_counts(tables)
    tables["t0"] = tables["t0"] - 7
    with raises(DataError, "table-over-cell"):
        model.check_counts(tables)
