"""The trellis: its guide is the tilted model, its observations follow the noise."""

import numpy as np
import pytest

from collective_cases import random_evidence, random_tree
from sumwise.collective.kernels.trellis import draw_individual, find_entry, log_seen, pick
from sumwise.collective.observations import observe
from sumwise.collective.trellis import walk_of


def trellis_of(seed, g=None, **options):
    model = random_tree(seed)
    seen = observe(model, random_evidence(model, seed, **options), None)
    g = np.zeros(seen.problem.observations.size) if g is None else g(seen)
    return model, seen, walk_of(seen, model, g).trellis


@pytest.mark.parametrize("seed", range(8))
def test_the_guide_has_the_marginals_of_the_tilted_model(seed):
    rng = np.random.default_rng(seed)
    g = {}

    def slopes(seen):
        g["g"] = 0.1 * rng.normal(size=seen.problem.observations.size)
        return g["g"]

    _, seen, t = trellis_of(seed, slopes)
    _, cells, _ = seen.problem.infer(-seen.problem.observations.spread(g["g"], seen.problem.n_cells))
    assert np.allclose(np.exp(t.log_node) * seen.problem.total, cells[: len(t.base)], rtol=1e-8, atol=1e-8)


def test_a_guide_draws_individuals_by_its_marginals():
    _, _, t = trellis_of(3)
    rng = np.random.default_rng(0)
    states, entries = np.zeros(len(t.up), np.int32), np.zeros(len(t.parent), np.int32)
    counts = np.zeros(len(t.base))
    for _ in range(4000):
        draw_individual(t, states, entries, rng)
        counts[t.node_start[:-1] + states] += 1
        for k, entry in enumerate(entries):
            assert find_entry(t, k, states[t.parent[k]], states[t.child[k]]) == entry
    p = np.exp(t.log_node)
    assert (np.abs(counts / 4000 - p) < 5 * np.sqrt(p * (1 - p) / 4000) + 1e-9).all()


@pytest.mark.parametrize("u", [0.0, 0.19999, 0.2, 0.5, 0.9999999])
def test_pick_finds_the_first_larger_cumulative_probability(u):
    cum = np.array([9.0, 0.2, 0.2, 0.7, np.inf])
    assert pick(cum, 1, 5, u) == 1 + int(np.argmax(cum[1:] > u))


@pytest.mark.parametrize("seed", range(6))
def test_evidence_differs_by_what_the_noise_says(seed):
    model, seen, t = trellis_of(seed, n=30)
    n_nodes = len(model.domain)
    for node, cells, _ in seen.tables:
        if node >= n_nodes:
            continue
        others = [u for at, _, u in seen.tables if at == node]
        start = t.node_start[node]
        for cell in range(t.node_start[node + 1] - start):
            if t.base[start + cell] == -np.inf:
                continue
            at = int(np.flatnonzero(cells.ravel() == cell)[0])

            def told(n, others=others, at=at):
                ys = [np.ravel(u.counts)[at] for u in others]
                scales = [_part(u.noise, u.shape, at) for u in others]
                return sum(float(s.log_density(y, n)) for s, y in zip(scales, ys))

            if np.isfinite(told(7)) and np.isfinite(told(8)):
                ours = log_seen(t, start + cell, 8) - log_seen(t, start + cell, 7)
                assert ours == pytest.approx(told(8) - told(7), abs=1e-8)


def _part(noise, shape, at):
    name = "rate" if hasattr(noise, "rate") else "scale"
    if not hasattr(noise, name):
        return noise
    return type(noise)(float(np.broadcast_to(getattr(noise, name), shape).ravel()[at]))
