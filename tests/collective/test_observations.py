"""Observations that can't belong to a model are refused, with the table's name."""

from __future__ import annotations

import numpy as np
import pytest

from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.collective import Energy, TreeModel, map_counts
from sumwise.collective.observations import observe
from sumwise.noise import Gaussian, Geometric, Laplace, Poisson


def chain(levels=3, length=4, seed=0, weight=1.0):
    rng = np.random.default_rng(seed)
    domain = Domain({f"t{i}": levels for i in range(length)})
    edges = [(f"t{i}", f"t{i + 1}") for i in range(length - 1)]
    return TreeModel(domain, edges, {e: weight * rng.normal(size=(levels, levels)) for e in edges})


@pytest.mark.parametrize(
    ("tables", "n", "message"),
    [
        ([Table("t0", [3.0, 3.0, 3.0])], 10, ("exact-table-over", "t0", 9, 10)),
        ([Table("t0", [np.nan, 8.0, 7.0])], 10, ("exact-table-over", "t0", 15, 10)),
        ([Table("t0", [3.0, 3.0, 4.0], noise=Poisson())], 0, ("n-nobody-count",)),
        ([Table("t0", [3.0, 3.0, 4.0], noise=Poisson())], -1, ("must-least", "n", -1)),
        ([Table("t0", [3.0, 3.0, 4.0], noise=Poisson())], None, ("size-population-not",)),
        ([Table(("t0", "t2"), np.ones((3, 3)), noise=Poisson())], 9, ("table-over-lies",)),
        ([Table("t0", [1.0, 2.0, 3.0]), Table(("t0", "t1"), 2 * np.eye(3))], 6, ("exact-tables-over", "t0", 1)),
    ],
)
def test_bad_evidence_is_refused(tables, n, message):
    model = chain()
    with raises(DataError, *message):
        given = Tables(tables, model.domain)
        map_counts(model, given, n=n)


def test_evidence_on_forbidden_states_is_refused():
    domain = Domain({"a": 2, "b": 2})
    model = TreeModel(domain, [("a", "b")], {"a": [0.0, -np.inf]})
    with raises(DataError, "table-over-state", "a", 2):
        map_counts(model, Tables([Table("a", [3.0, 2.0], noise=Poisson())], domain), n=5)
    with raises(DataError, "table-over-state"):
        map_counts(model, Tables([Table("a", [3.0, 2.0])], domain), n=5)


@pytest.mark.parametrize("noise", [Poisson([0.5, 1.0, 2.0]), Gaussian(2.0), Laplace([1.0, 2.0, 3.0]), Geometric(1.5)])
def test_loss_is_minus_the_log_density(noise):
    model = chain()
    tables = Tables([Table("t1", [4.0, np.nan, 7.0], noise=noise)], model.domain, n=20)
    seen = observe(model, tables, None)
    cells = np.concatenate([model.marginals(20).nodes[a] for a in model.domain])
    expected = -noise.log_density(tables[0].counts, cells[3:6]).sum()
    assert seen.loss(cells)[0] == pytest.approx(expected, abs=1e-10)


def test_tables_may_have_their_axes_in_any_order():
    model = chain()
    truth = model.sample_tables(30, random_state=0).edges["t0", "t1"]
    one = map_counts(model, Tables([Table(("t0", "t1"), truth, noise=Poisson())], model.domain), n=30)
    other = map_counts(model, Tables([Table(("t1", "t0"), truth.T, noise=Poisson())], model.domain), n=30)
    np.testing.assert_allclose(one.nodes["t3"], other.nodes["t3"], atol=1e-8)


def test_energies_are_checked():
    model = chain()
    with raises(DataError, "energy-type-energy"):
        observe(model, None, 5, energy=[lambda z: (0.0, z)])
    with raises(DataError, "energy-over-lies"):
        observe(model, None, 5, energy=Energy(("t0", "t3"), lambda z: (0.0, z)))


def test_a_table_of_another_domain_is_refused():
    model = chain()
    other = Domain({"t0": 2})
    with raises(DataError, "table-over-shape", "(2,)", "(3,)"):
        map_counts(model, Tables([Table("t0", [1.0, 2.0], noise=Poisson())], other), n=3)
