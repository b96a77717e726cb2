"""The Gibbs engine on Spark: chains live in the executors, parameters are broadcast, sums come back by a tree.

Chains have random streams of their own, and sums over chains are exact (see `kernels.gibbs`), so the result is that of
the local engine to the bit, on any number of executors. A partition that is lost with its executor is swept again from
the last place where chains were gathered, with the parameters that were broadcast since.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sumwise.extras import require
from sumwise.maxent.engines import Parameters, expand_chains, first_chains, large_pairs, strong_trees
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import log_weights, project, spread
from sumwise.maxent.sufficient_statistics import SufficientStatistics
from sumwise.spark import broken_workers, one_sum, spark_session

SWEEPS_PER_GATHERING = 20  # sweeps between two gatherings: what a lost executor costs at most
MAX_KEPT_BYTES = 2**30  # bytes of parameters that executors keep until then, in case a partition must be swept again


class Sums(NamedTuple):
    """Sums over chains (m, 1 + C) by cell: of all cells, or of those in `cells` (m,)."""

    values: np.ndarray
    cells: np.ndarray | None = None

    def dense(self, n_cells: int) -> np.ndarray:
        """Sums of all cells."""
        if self.cells is None:
            return self.values
        out = np.zeros((n_cells, self.values.shape[1]))
        out[self.cells] = self.values
        return out


def summed(dense: np.ndarray) -> Sums:
    """Sums to send: of the cells in use, where these and their numbers take less."""
    used = np.flatnonzero(dense[:, 0])
    return Sums(dense[used], used) if len(used) * (dense.shape[1] + 1) < dense.size else Sums(dense)


def merge(first: dict[int, Sums], second: dict[int, Sums], n_cells: int) -> dict[int, Sums]:
    """Add sums, half by half."""
    out = dict(first)
    for half, sums in second.items():
        out[half] = _add(out[half], sums, n_cells) if half in out else sums
    return out


def _add(a: Sums, b: Sums, n_cells: int) -> Sums:
    if a.cells is None or b.cells is None:
        return Sums(a.dense(n_cells) + b.dense(n_cells))
    cells = np.union1d(a.cells, b.cells)
    if len(cells) * (a.values.shape[1] + 1) >= n_cells * a.values.shape[1]:
        return Sums(a.dense(n_cells) + b.dense(n_cells))
    values = np.zeros((len(cells), a.values.shape[1]))
    for part in (a, b):
        values[np.searchsorted(cells, part.cells)] += part.values  # type: ignore[arg-type]
    return Sums(values, cells)


class _Sweep:
    """One sweep of a partition's chains on its executor; elements are (half, chains, sums of the last sweep)."""

    def __init__(self, fixed: Any, sent: Any) -> None:
        self.fixed, self.sent = fixed, sent

    def __call__(self, elements: Any) -> Any:
        plan = self.fixed.value
        mu, theta, offsets = self.sent.value
        weights = log_weights(mu, theta)
        tables = gibbs.sweep_tables(plan, weights, theta)
        for half, arrays, _ in elements:
            chains = gibbs.Chains(*(np.array(a) for a in arrays))
            yield half, tuple(chains), summed(gibbs.sweep_once(chains, plan, tables, offsets))


def _sums(element: Any) -> dict[int, Sums]:
    return {element[0]: element[2]}


def _chains(element: Any) -> tuple:
    return element[1]


class _Merge:
    def __init__(self, n_cells: int) -> None:
        self.n_cells = n_cells

    def __call__(self, first: dict[int, Sums], second: dict[int, Sums]) -> dict[int, Sums]:
        return merge(first, second, self.n_cells)


class SparkGibbs:
    """Chains in Spark's executors, under the signature of `engines.Gibbs`."""

    sampled = True

    def __init__(
        self,
        stats: SufficientStatistics,
        chains: gibbs.Chains,
        blocks: Any,
        master: str | None,
        active: int | None = None,
    ):
        self.layout, self.n, self.blocks = stats.layout, stats.n, blocks
        self.n_scores = len(stats.data.sums)
        self.session = spark_session(master)
        context = self.session.sparkContext
        plan = gibbs.plan(stats.layout, blocks, strong_trees(stats), large_pairs(stats))
        self._fixed = context.broadcast(plan)
        self._sent: list[Any] = []
        self._rdd: Any = None
        self._chains = chains
        self.active = len(chains.labels) if active is None else active
        self._place(first_chains(chains, self.active))

    def _place(self, chains: gibbs.Chains) -> None:
        """Cut the chains into partitions, each within one half, and forget what led to them."""
        context = self.session.sparkContext
        n = len(chains.labels)
        first = len(gibbs.halves_of(n)[0])
        self._sizes = (first, n - first)
        each = max(1, -(-context.defaultParallelism // 2))
        elements = []
        for half, (begin, end) in enumerate(((0, first), (first, n))):
            for part in np.array_split(np.arange(begin, end), each):
                elements.append((half, tuple(a[part] for a in chains), None))
        old, self._rdd = self._rdd, context.parallelize(elements, len(elements))
        if old is not None:
            old.unpersist()
        for sent in self._sent:
            sent.destroy()
        self._sent = []

    def moments(self, parameters: Parameters) -> tuple[Moments, Moments]:
        """Expected moments after one sweep, by each half of the chains."""
        storage = require("pyspark", extra="spark").StorageLevel
        mu, theta = spread(self.layout, parameters.mu), spread(self.layout, parameters.theta)
        if len(self._sent) >= max(2, min(SWEEPS_PER_GATHERING, MAX_KEPT_BYTES // (mu.nbytes + theta.nbytes))):
            self._place(self._gathered())
        self._sent.append(self.session.sparkContext.broadcast((mu, theta, parameters.offsets.copy())))
        swept = self._rdd.mapPartitions(_Sweep(self._fixed, self._sent[-1]), preservesPartitioning=True)
        swept.persist(storage.MEMORY_AND_DISK)
        with broken_workers("sample", self.session):
            halves = one_sum(swept.map(_sums), _Merge(self.layout.n_cells))
        self._rdd.unpersist()
        self._rdd = swept
        return tuple(self._moments(halves[h], m) for h, m in enumerate(self._sizes))  # type: ignore[return-value]

    def _moments(self, sums: Sums, m: int) -> Moments:
        total = self.n / m * project(self.layout, np.ascontiguousarray(sums.dense(self.layout.n_cells).T))
        return Moments(total[0], total[1:])

    def _gathered(self) -> gibbs.Chains:
        with broken_workers("send their chains", self.session):
            parts = self._rdd.map(_chains).collect()
        return gibbs.Chains(*(np.concatenate(arrays) for arrays in zip(*parts)))

    def state(self) -> list[np.ndarray]:
        """The chains, gathered here for a checkpoint."""
        return list(self._all())

    def _all(self) -> gibbs.Chains:
        """All chains, those that move as they are now."""
        for kept, now in zip(first_chains(self._chains, self.active), self._gathered()):
            kept[:] = now
        return self._chains

    def restore(self, arrays: list, expanded: bool = False) -> None:
        """Go on from a state."""
        self._chains = gibbs.Chains(*(np.array(a) for a in arrays))
        self.active = len(self._chains.labels) if expanded else self.active
        self._place(first_chains(self._chains, self.active))

    def expand(self) -> None:
        """Let all chains move."""
        if self.active < len(self._chains.labels):
            self.active = expand_chains(self._all(), self.active)
            self._place(self._chains)

    def named(self) -> dict[str, np.ndarray]:
        """The chains, as a fitted model keeps them."""
        self.expand()
        return self._all()._asdict()

    def close(self) -> None:
        """Free what the executors hold."""
        self._rdd.unpersist()
        for sent in (self._fixed, *self._sent):
            sent.destroy()
