"""Chains of moves, with memory and without, against sums over all paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

from sumwise.collective.move_chain import MoveChain, chain_of

N, STEPS = 3, 4
MOVES = np.divmod(np.arange(N * N), N)


def random_chain(second, seed=0):
    rng = np.random.default_rng(seed)
    steps = [rng.dirichlet(np.ones(N), size=N) for _ in range(STEPS)]
    if not second:
        return MoveChain(steps)
    pairs = []
    for _ in range(STEPS - 1):
        table = np.zeros((N * N, N * N))
        for m in range(N * N):
            table[m, MOVES[1][m] * N : (MOVES[1][m] + 1) * N] = rng.dirichlet(np.ones(N))
        pairs.append(sparse.csr_array(table))
    return MoveChain([sparse.csr_array(s) for s in steps], pairs, MOVES)


def path_probability(chain, start, path):
    """By the definition: each move given the one before, but not over the end of the chain."""
    steps = [np.asarray(s.todense() if sparse.issparse(s) else s) for s in chain.steps]
    value = 1.0
    for k, (i, j) in enumerate(pairwise(path)):
        at = (start + k) % STEPS
        if chain.pairs is None or k == 0 or at == 0:
            value *= steps[at][i, j]
        else:
            value *= chain.pairs[at - 1].toarray()[path[k - 1] * N + i, i * N + j]
    return value


@pytest.mark.parametrize("second", [False, True], ids=["first order", "second order"])
def test_products_tracks_and_returns_are_sums_over_paths(second):
    chain = random_chain(second)
    tracks = tuple(np.array(v) for v in ([0, 1, 2, 0], [0, 3, 2, 1], [1, 1, 0, 0], [3, 2, 4, 0]))
    plain, (joint, whole) = chain.track_probabilities(tracks), chain.returning_probabilities(tracks)
    for k, (i, start, j, n) in enumerate(zip(*tracks)):
        paths = [p for p in product(range(N), repeat=n + 1) if p[0] == i and p[-1] == j]
        wanted = sum(path_probability(chain, start, p) for p in paths)
        assert plain[k] == pytest.approx(wanted)
        assert np.asarray(sparse.csr_array(chain.product(start, n)).todense())[i, j] == pytest.approx(wanted)
        loops = [p for p in product(range(N), repeat=STEPS + 1) if p[0] == i and p[-1] == i]
        assert whole[k] == pytest.approx(sum(path_probability(chain, start, p) for p in loops))
        through = sum(path_probability(chain, start, p) for p in loops if p[n] == j)
        assert joint[k] == pytest.approx(through)
        assert sparse.csr_array(chain.returning(start, n)).toarray()[i, j] == pytest.approx(through)


def test_chain_of_flows_divides_by_who_is_there():
    chain = chain_of([np.array([[1.0, 3.0], [0.0, 0.0]])])
    np.testing.assert_allclose(chain.steps[0], [[0.25, 0.75], [0.0, 1.0]])
    assert chain.where(1).tolist() == [False, True]
