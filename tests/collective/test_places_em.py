"""benchmarks/collective_parts/places_em.py: the batched EM of Figure 2.8 against `CollectiveEM`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sumwise import synthetic
from sumwise.collective import CollectiveEM, FreeTables, TreeModel, map_counts
from sumwise.collective.realisations import read_realisations
from sumwise.errors import NotConverged

torch = pytest.importorskip("torch")
KINDS = ("moves", "places", "places, own noise", "places, as Laplace")


@pytest.fixture(scope="module")
def em():
    folder = str(Path(__file__).parents[2] / "benchmarks" / "collective_parts")
    sys.path.insert(0, folder)
    try:
        import places_em
    finally:
        sys.path.remove(folder)
    return places_em


def drawn(em, kind, seeds=(4000, 4001)):
    mornings = [synthetic.mobility((3, 2), 4, 3000, scale=10.0, random_state=s) for s in seeds]
    return [em.places_moves.evidence(m, 10.0, s)[kind] for m, s in zip(mornings, seeds)]


def starts(tables):
    rng = np.random.default_rng
    return torch.as_tensor(np.stack([FreeTables().first(read_realisations(t), rng(k)) for k, t in enumerate(tables)]))


@pytest.mark.parametrize("kind", KINDS)
def test_e_step_finds_the_most_likely_tables(em, kind):
    tables = drawn(em, kind)
    seen, theta = em.observed(tables, "cpu"), starts(tables)
    found = em.e_step(seen, theta, torch.zeros_like(seen.y), torch.full((2,), 1e-6, dtype=torch.float64))
    assert float(found.gap.max()) <= 1e-6
    z = seen.counts(found.chain).numpy()
    for k, each in enumerate(tables):
        data = read_realisations(each)
        model = TreeModel(data.domain, data.edges, FreeTables().potentials(theta[k].numpy(), data))
        best = map_counts(model, each, tol=1e-10)
        wanted = [best.edges[e] for e in data.edges] if kind == "moves" else [best.nodes[w] for w in data.weeks]
        np.testing.assert_allclose(z[k], np.stack(wanted), atol=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_plain_iterations_are_those_of_collective_em(em, kind, monkeypatch):
    monkeypatch.setattr(em, "MOST_GAP", 1e-6)
    tables = drawn(em, kind)
    seen = em.observed(tables, "cpu")
    theta = em.ignoring_noise(seen) if kind == "moves" else starts(tables)
    batch = em.EM(seen, theta, False)
    for _ in range(12):
        batch.step()
    for k, each in enumerate(tables):
        fit = CollectiveEM(
            FreeTables(), max_iter=12, accelerate=False, tol=1e-12, start=theta[k].numpy(), standard_errors=False
        )
        with pytest.warns(NotConverged):
            fit.fit(each)
        wanted = fit.model().marginals()
        found = em.shared_chain(batch.theta[k : k + 1], torch.zeros(1, 4, 6, dtype=torch.float64))
        nodes = np.stack([wanted.nodes[f"t{t}"] for t in range(4)])
        np.testing.assert_allclose(found.nodes[0].numpy(), nodes, atol=5e-4)
    falls = -np.diff(np.stack([v.numpy() for v in batch.values]), axis=0)
    assert (falls >= 0).all()
    assert (falls[0] > 1).all()


def test_least_norm_changes_no_probability_and_is_the_least(em):
    theta = torch.as_tensor(np.random.default_rng(5).normal(size=(1, 2 * 4 + 16)))
    found, zero = em.least_norm(theta, 4), torch.zeros(1, 3, 4, dtype=torch.float64)
    before, after = em.shared_chain(theta, zero), em.shared_chain(found, zero)
    assert torch.allclose(before.nodes, after.nodes)
    assert torch.allclose(before.edges, after.edges)
    ways = []
    for k in range(4):  # a(x) = 1 at one state
        moves = torch.zeros(4, 4)
        moves[k] += 1
        moves[:, k] -= 1
        first = torch.zeros(4)
        first[k] = 1
        ways.append(torch.cat([-first, first, moves.flatten()]))
    ways += [torch.cat([torch.full((n,), float(n == m)) for n in (4, 4, 16)]) for m in (16,)]
    for way in ways:
        assert abs(float((found[0] * way).sum())) < 1e-9
