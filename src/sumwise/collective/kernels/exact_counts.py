"""Exact inference over integer tables by message passing (Sun 2019, Theorem 1): tiny populations only.

The values of an edge's table are all ways to place n individuals in its cells. Messages are functions of the node
tables; sums give the mean E[n | y], maxima the mode.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln

from sumwise.collective.kernels.edges import MarginEdge, SparseEdge
from sumwise.errors import DataError

if TYPE_CHECKING:
    from sumwise.collective.kernels.count_problem import CountProblem
    from sumwise.collective.kernels.edges import Edge

MAX_TABLES = 4_000_000


def compositions(total: int, parts: int) -> np.ndarray:
    """All ways to write `total` as a sum of `parts` non-negative whole numbers, one per row, sorted.

    Examples
    --------
    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    rows = np.zeros((1, 0), dtype=np.int16)
    left = np.array([total])
    for _ in range(parts - 1):
        counts = left + 1
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        value = np.arange(counts.sum()) - starts
        rows = np.concatenate([np.repeat(rows, counts, axis=0), value[:, None].astype(np.int16)], axis=1)
        left = np.repeat(left, counts) - value
    return np.concatenate([rows, left[:, None].astype(np.int16)], axis=1)


def _codes(tables: np.ndarray, total: int) -> np.ndarray:
    """One number per row, in the order of the rows of `compositions`."""
    out = np.zeros(len(tables), dtype=np.float64 if (total + 1.0) ** tables.shape[1] > 2**62 else np.int64)
    for column in tables.T:
        out = out * (total + 1) + column
    return out


def exact_tables(
    problem: CountProblem, log_likelihood: Callable[..., Any]
) -> tuple[tuple[np.ndarray, list[np.ndarray]], tuple[np.ndarray, list[np.ndarray]], float]:
    """Mode and mean of the integer tables.

    Parameters
    ----------
    problem : CountProblem
        Its observations aren't used.
    log_likelihood : callable
        ``log_likelihood(node, tables) -> array``: log p(y | table) of every row of `tables`.

    Returns
    -------
    mode, mean : pairs (flat node counts, list of edge tables in the forest's format)
    log_evidence : float
        log p(y).
    """
    work = _Integers(problem, log_likelihood)
    log_evidence = work.pass_up(np.logaddexp)
    mean = work.mean()
    work.pass_up(np.maximum)
    return work.mode(), mean, log_evidence


class _Integers:
    """Every value of every node's and edge's table, with its log weight."""

    def __init__(self, problem: CountProblem, log_likelihood: Callable[..., Any]) -> None:
        self.problem, forest = problem, problem.forest
        self.total = int(problem.total)
        if self.total != problem.total:
            raise DataError(f"Exact inference counts whole individuals; n is {problem.total:g}.")
        self._check_size()
        self.values, self.codes, self.weights = [], [], []
        base = problem.split(problem.base)
        for i, size in enumerate(forest.sizes):
            values = compositions(self.total, size)
            self.values.append(values)
            self.codes.append(_codes(values, self.total))
            with np.errstate(invalid="ignore"):
                prior = np.where(values > 0, values * base[i], 0.0).sum(axis=1)
            factorials = (problem.degrees[i] - 1.0) * gammaln(values + 1.0).sum(axis=1)
            self.weights.append(prior + factorials + log_likelihood(i, values))
        self.edges = [self._edge(*edge) for edge in forest.edges]

    def _check_size(self) -> None:
        for _first, _second, operator in self.problem.forest.edges:
            size = comb(self.total + operator.n_cells - 1, self.total)
            if size > MAX_TABLES:
                raise DataError(
                    f"An edge has {size:,} possible tables; exact inference takes up to {MAX_TABLES:,}.",
                    hint="use method='dual', or a smaller population.",
                )
        for size in self.problem.forest.sizes:
            if comb(self.total + size - 1, self.total) > MAX_TABLES:
                raise DataError(f"A node of {size} states has too many tables for exact inference.")

    def _edge(self, first: int, second: int, operator: Edge) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(tables, index of the first node's value, of the second's, log weight)."""
        tables, (left, right, theta) = compositions(self.total, operator.n_cells), operator.cells()
        with np.errstate(invalid="ignore"):
            weight = np.where(tables > 0, tables * theta, 0.0).sum(axis=1) - gammaln(tables + 1.0).sum(axis=1)
        index = []
        for node, states, size in ((first, left, operator.shape[0]), (second, right, operator.shape[1])):
            margins = np.zeros((len(tables), size), dtype=np.int16)
            for k, state in enumerate(states):
                margins[:, state] += tables[:, k]
            index.append(np.searchsorted(self.codes[node], _codes(margins, self.total)))
        return tables, index[0], index[1], weight

    def _gather(self, join: np.ufunc, index: np.ndarray, logs: np.ndarray, size: int) -> np.ndarray:
        if join is np.maximum:
            out = np.full(size, -np.inf)
            np.maximum.at(out, index, logs)
            return out
        top = logs.max()
        if top == -np.inf:
            return np.full(size, -np.inf)
        with np.errstate(divide="ignore"):
            return np.log(np.bincount(index, np.exp(logs - top), size)) + top

    def pass_up(self, join: np.ufunc) -> float:
        """Messages from the leaves to the roots; log p(y) (or the largest log-probability) of all components."""
        forest = self.problem.forest
        self.acc, self.up = list(self.weights), []
        for child, parent, e, back in forest.steps:
            _, first, second, weight = self.edges[e]
            here, there = (second, first) if back else (first, second)
            message = self._gather(join, there, weight + self.acc[child][here], len(self.codes[parent]))
            self.up.append(message)
            self.acc[parent] = self.acc[parent] + message
        roots = sum(float(join.reduce(self.acc[r])) for r in forest.roots)
        if roots == -np.inf:
            raise DataError("The observations are impossible under the model for any integer tables.")
        log_z = self.problem.infer(-self.problem.observations.shift)[2]
        return roots + len(forest.roots) * float(gammaln(self.total + 1.0)) - self.total * log_z

    def mean(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Expected tables: a pass from the roots down."""
        forest = self.problem.forest
        beliefs = list(self.acc)
        tables: list[Any] = [None] * len(forest.edges)
        for k in range(len(forest.steps) - 1, -1, -1):
            child, parent, e, back = forest.steps[k]
            values, first, second, weight = self.edges[e]
            here, there = (second, first) if back else (first, second)
            with np.errstate(invalid="ignore"):
                cavity = np.where(np.isfinite(self.up[k]), beliefs[parent] - self.up[k], -np.inf)
            logs = weight + self.acc[child][here] + cavity[there]
            p = np.exp(logs - logs.max())
            tables[e] = self._shape(e, (p / p.sum()) @ values)
            down = self._gather(np.logaddexp, here, weight + cavity[there], len(self.codes[child]))
            beliefs[child] = self.acc[child] + down
        cells = []
        for values, logs in zip(self.values, beliefs):
            p = np.exp(logs - logs.max())
            cells.append((p / p.sum()) @ values)
        return np.concatenate(cells), tables

    def mode(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The most likely tables: follow the maxima from the roots down."""
        forest = self.problem.forest
        chosen: list[Any] = [None] * len(forest.sizes)
        tables: list[Any] = [None] * len(forest.edges)
        for root in forest.roots:
            chosen[root] = int(np.argmax(self.acc[root]))
        for k in range(len(forest.steps) - 1, -1, -1):
            child, parent, e, back = forest.steps[k]
            values, first, second, weight = self.edges[e]
            here, there = (second, first) if back else (first, second)
            rows = np.flatnonzero(there == chosen[parent])
            best = rows[np.argmax(weight[rows] + self.acc[child][here[rows]])]
            chosen[child] = int(here[best])
            tables[e] = self._shape(e, values[best].astype(float))
        cells = [values[c].astype(float) for values, c in zip(self.values, chosen)]
        return np.concatenate(cells), tables

    def _shape(self, e: int, flat: np.ndarray) -> np.ndarray:
        operator = self.problem.forest.edges[e][2]
        plain = isinstance(operator, (SparseEdge, MarginEdge))
        return flat if plain else flat.reshape(operator.shape)
