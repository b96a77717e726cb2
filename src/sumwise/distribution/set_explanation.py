"""Which rows of a bag decide a network's answer: critical sets, upper sets, and attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.distribution.set_network import embed
from sumwise.extras import require

if TYPE_CHECKING:
    from sumwise.distribution.set_training import Network, RowSource

ROUNDING = 1e-6  # by which a coordinate of a row may exceed the bag's maximum: float32 sums depend on the batch


def critical_rows(network: Network, source: RowSource) -> np.ndarray:
    """Rows that suffice for every maximum that is taken, one per bag and coordinate: (n_rows,) bool."""
    torch = require("torch")
    found = torch.zeros(source.bags.n_rows, dtype=torch.bool)
    begin = 0
    for rows, bags in source.blocks():
        for pooled in _maxima(network, rows, bags):
            first = begin
            for part in pooled.cpu().split(bags.sizes):
                found[first + part.argmax(dim=0)] = True
                first += len(part)
        begin += len(rows)
    return found.numpy()


def unchanged_by(network: Network, source: RowSource, rows: Any) -> np.ndarray:
    """Which of other rows (n_candidates, n_features) leave each bag's maxima as they are: (n_bags, n_candidates) bool.

    A row that attains no new maximum in any layer changes nothing that other rows see, so the bag with all such rows
    added has the same answer: the set N_S of Qi et al. 2017, Theorem 2.
    """
    out = []
    with require("torch").no_grad():
        for b in range(len(source.bags)):
            own, bag = source.take(np.array([b]))
            added = _Added([pooled.amax(dim=0, keepdim=True) for pooled in _maxima(network, own, bag)], len(rows))
            embed(network.plan, network.weights, rows, added)
            out.append(added.unchanged.cpu().numpy())
    return np.stack(out)


def attention(network: Network, source: RowSource) -> np.ndarray:
    """How much each row counts in its bag's pool, (n_rows,); they sum to one over a bag."""
    seen: list = []
    with require("torch").no_grad():
        for rows, bags in source.blocks():
            embed(network.plan, network.weights, rows, bags, attended=seen)
    return np.concatenate([part.cpu().numpy()[:, 0] for part in seen]).astype(np.float64)


def _maxima(network: Network, rows: Any, bags: Any) -> list:
    """Every matrix of which maxima over bags are taken."""
    seen: list = []
    with require("torch").no_grad():
        embed(network.plan, network.weights, rows, bags, seen)
    return seen


class _Added:
    """In place of `Segments`: rows that are added to a bag one at a time, whose pools are known."""

    def __init__(self, pools: list, n_rows: int):
        self.pools, self.n_rows = iter(pools), n_rows
        self.unchanged: Any = True

    def pool(self, rows: Any, _how: str) -> Any:
        """Return the bag's pool; rows that exceed it would change it."""
        top = next(self.pools)
        self.unchanged = self.unchanged & (rows <= top + ROUNDING * (1.0 + top.abs())).all(dim=1)
        return top

    def spread(self, pooled: Any) -> Any:
        """Return the same for every row."""
        return pooled.expand(self.n_rows, -1)
