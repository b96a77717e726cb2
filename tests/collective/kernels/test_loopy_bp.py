"""Messages on graphs with cycles: stationary points of the Bethe free energy, by its derivative along every way."""

from __future__ import annotations

import numpy as np
import pytest

from brute_collective import bethe_free_energy, feasible_directions
from sumwise import Domain, Table, Tables
from sumwise.collective import LoopyModel, map_counts
from sumwise.collective.kernels.loopy_bp import Edges, LoopyProblem, loopy_counts
from sumwise.noise import Gaussian, Poisson


def random_cycle(seed):
    """A graph with cycles of nodes of unequal sizes, some nodes and one edge observed."""
    rng = np.random.default_rng(seed)
    domain = Domain({a: int(rng.integers(2, 4)) for a in "abcde"})
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "d"), ("d", "e")]
    potentials = {e: 0.7 * rng.normal(size=[domain[x] for x in e]) for e in edges}
    potentials |= {a: 0.5 * rng.normal(size=domain[a]) for a in "ac"}
    seen = [
        Table("a", rng.poisson(200 / domain["a"], domain["a"]).astype(float) + 1, noise=Poisson()),
        Table("c", 200 * rng.dirichlet(np.full(domain["c"], 4.0)), noise=Gaussian(5.0)),
        Table(("b", "d"), rng.poisson(30, (domain["b"], domain["d"])).astype(float), noise=Gaussian(4.0)),
    ]
    return domain, edges, potentials, Tables(seen, domain)


@pytest.mark.parametrize("seed", range(4))
def test_the_derivative_vanishes_along_every_feasible_way(seed):
    domain, edges, potentials, tables = random_cycle(seed)
    fit = map_counts(LoopyModel(domain, edges, potentials), tables, n=200, method="nlbp-loopy", tol=1e-11)
    counts = {**{(a,): fit.nodes[a] for a in domain}, **{e: fit.edges[e] for e in edges}}
    assert fit.objective == pytest.approx(bethe_free_energy(domain, edges, potentials, tables, 200, counts), abs=1e-6)
    place, ways = feasible_directions(domain, edges)
    for way in ways.T[:8]:

        def moved(step, way=way):
            there = {k: counts[k] + step * way[place[k]] for k in counts}
            return bethe_free_energy(domain, edges, potentials, tables, 200, there)

        assert abs(moved(1e-3) - moved(-1e-3)) / 2e-3 < 1e-5
    assert np.isnan(fit.gap)
    assert fit.violation < 1e-6


def test_rounds_end_where_nothing_moves_and_own_up_where_they_stop_early():
    rng = np.random.default_rng(0)
    first, second = np.array([[0, 1], [2, 3], [4, 5]]), np.array([[2, 3], [4, 5], [0, 1]])
    edges = Edges(first, second, rng.normal(size=(3, 2, 2)), np.full((3, 2, 2), -1))
    problem = LoopyProblem(np.zeros(6), (2, 2, 2), [edges], lambda cells: (0.0, np.zeros_like(cells)), 10.0)
    found = loopy_counts(problem, 1e-10, 500)
    assert found.converged
    assert found.distance <= 1e-10
    assert found.violation < 1e-8
    again = loopy_counts(problem, 1e-10, 500, damping=0.2)
    np.testing.assert_allclose(again.cells, found.cells, atol=1e-6)
    assert again.n_iter > found.n_iter
    early = loopy_counts(problem, 1e-10, 3)
    assert not early.converged
    assert early.distance > 1e-10
