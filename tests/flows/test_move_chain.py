"""Chains of moves against sums over all paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

from sumwise.flows.move_chain import MoveChain, chain_of

N, STEPS = 3, 4


def path_probability(chain, start, path):
    """By the definition."""
    steps = [s.toarray() if sparse.issparse(s) else s for s in chain.steps]
    return np.prod([steps[(start + k) % STEPS][i, j] for k, (i, j) in enumerate(pairwise(path))])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_products_tracks_and_returns_are_sums_over_paths(kind):
    chain = MoveChain([kind(p) for p in np.random.default_rng(0).dirichlet(np.ones(N), size=(STEPS, N))])
    tracks = tuple(np.array(v) for v in ([0, 1, 2, 0], [0, 3, 2, 1], [1, 1, 0, 0], [3, 2, 4, 0]))
    plain, (joint, total) = chain.track_probabilities(tracks), chain.returning_probabilities(tracks)
    for k, (i, start, j, n) in enumerate(zip(*tracks)):
        paths = [p for p in product(range(N), repeat=n + 1) if p[0] == i and p[-1] == j]
        wanted = sum(path_probability(chain, start, p) for p in paths)
        assert plain[k] == pytest.approx(wanted)
        assert sparse.csr_array(chain.product(start, n)).toarray()[i, j] == pytest.approx(wanted)
        loops = [p for p in product(range(N), repeat=STEPS + 1) if p[0] == i and p[-1] == i]
        assert total[k] == pytest.approx(sum(path_probability(chain, start, p) for p in loops))
        through = sum(path_probability(chain, start, p) for p in loops if p[n] == j)
        assert joint[k] == pytest.approx(through)
        assert sparse.csr_array(chain.returning(start, n)).toarray()[i, j] == pytest.approx(through)


def test_chain_of_flows_divides_by_who_is_there():
    chain = chain_of([np.array([[1.0, 3.0], [0.0, 0.0]])])
    np.testing.assert_allclose(chain.steps[0], [[0.25, 0.75], [0.0, 1.0]])
