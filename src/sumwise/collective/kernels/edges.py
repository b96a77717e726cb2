"""Edges of a forest: how log messages pass through a table of log-potentials, dense, sparse or a margin.

Every edge joins a *first* node (rows) with a *second* node (columns) and offers the same five methods, so that
belief propagation needs no cases. Arrays are NumPy arrays or torch tensors; a leading batch axis is allowed.

========================  ===============================================================================
``send(x, back)``         log of ``sum_i exp(theta_ij + x_i)`` over the sender's states, and a memo
``tangent(memo, dx)``     its directional derivative, with the memo of the message
``table(a, b, total)``    the edge's counts, proportional to ``exp(theta_ij + a_i + b_j)``
``score(table)``          ``<theta, table>`` with ``0 * -inf = 0``
``reach(mask, back)``     which receiver states a set of sender states can reach
========================  ===============================================================================
"""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Scaled potentials lie in [0, 1]; a message below this may have lost terms to underflow and is summed again in logs.
_TINY = 1e-280
_FLUSH = 1e-300


def namespace(x: np.ndarray | Tensor) -> Any:
    """The module whose functions work on `x`: numpy, or torch when `x` is a tensor."""
    if isinstance(x, np.ndarray) or np.isscalar(x):
        return np
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) else np


def log_sum_exp(x: np.ndarray | Tensor, axis: int = -1) -> Any:
    """``log sum exp`` along an axis; ``-inf`` where all entries are."""
    xp = namespace(x)
    top = xp.amax(x, axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    out = _log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)) + top
    return out.squeeze(axis)


def softmax(x: np.ndarray) -> Any:
    """``exp(x)`` normalised along the last axis."""
    xp = namespace(x)
    weights = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return weights / xp.sum(weights, axis=-1, keepdims=True)


def probabilities(x: np.ndarray) -> np.ndarray:
    """`softmax` divided by its sum once more: what NumPy's multinomial takes."""
    p = softmax(x)
    return p / p.sum(axis=-1, keepdims=True)


def _log(x: np.ndarray | Tensor) -> Any:
    xp = namespace(x)
    if xp is np:
        with np.errstate(divide="ignore"):
            return np.log(x)
    return xp.log(x)


def _shift(x: np.ndarray | Tensor) -> tuple[Any, Any]:
    """``(exp(x - s), s)`` with s the largest entry of each vector."""
    xp = namespace(x)
    top = xp.amax(x, axis=-1, keepdims=True)
    return xp.exp(x - top), top


def _not_zero(total: np.ndarray | Tensor) -> Any:
    """Ones for zeros: what is divided by them is zero, too."""
    if total.min() > 0:
        return total
    xp = namespace(total)
    return xp.where(total > 0, total, xp.ones_like(total))


class _ScaledEdge:
    """What dense and sparse edges share: messages by products of a scaled table, summed in logs where too small."""

    rows: Any  # (L_first,) logs that the table was divided by
    cols: Any  # (L_second,)

    def _product(self, v: np.ndarray | Tensor, back: bool) -> Any:
        raise NotImplementedError

    def _exact(self, message: Any, x: np.ndarray | Tensor, back: bool, low: np.ndarray | Tensor) -> tuple[Any, Any]:
        raise NotImplementedError

    def send(self, x: np.ndarray | Tensor, back: bool = False, support: np.ndarray | None = None) -> tuple[Any, Any]:
        into, out = (self.cols, self.rows) if back else (self.rows, self.cols)
        v, top = _shift(x + into)
        total = self._product(v, back)
        message = _log(total) + (top + out)
        low = total < _TINY
        if support is not None:
            low = low & support
        exact = None
        if low.any():
            message, exact = self._exact(message, x, back, low)
        return message, (v, _not_zero(total), back, low if exact is not None else None, exact)


class DenseEdge(_ScaledEdge):
    """An edge with a full table of log-potentials, shape (L_first, L_second) or (batch, L_first, L_second).

    The table is scaled by rows and columns to entries in [0, 1] with a one in every row and column, so products
    lose a state only when it is below 1e-280 of the others; those are summed again in logs.

    Examples
    --------
    >>> import numpy as np
    >>> edge = DenseEdge(np.log([[0.9, 0.1], [0.2, 0.8]]))
    >>> np.exp(edge.send(np.log([0.5, 0.5]))[0])
    array([0.55, 0.45])
    """

    def __init__(self, theta: np.ndarray | Tensor) -> None:
        xp = namespace(theta)
        self.theta: Any = theta
        self.shape = tuple(theta.shape[-2:])
        self.n_cells = self.shape[0] * self.shape[1]
        rows = xp.amax(theta, axis=-1)
        rows = xp.where(xp.isfinite(rows), rows, xp.zeros_like(rows))
        scaled = theta - rows[..., :, None]
        cols = xp.amax(scaled, axis=-2)
        cols = xp.where(xp.isfinite(cols), cols, xp.zeros_like(cols))
        scaled = xp.exp(scaled - cols[..., None, :])
        self.rows, self.cols = rows, cols
        self.scaled = xp.where(scaled < _FLUSH, xp.zeros_like(scaled), scaled)

    def _product(self, v: np.ndarray | Tensor, back: bool) -> Any:
        table = self.scaled
        if table.ndim == 2:
            return table @ v if back and v.ndim == 1 else v @ (table.T if back else table)
        xp = namespace(v)
        table = xp.swapaxes(table, -1, -2) if back else table
        return (v[..., None, :] @ table)[..., 0, :]

    def _exact(self, message: Any, x: np.ndarray | Tensor, back: bool, low: np.ndarray | Tensor) -> tuple[Any, Any]:
        """The message with the states `low` summed in logs, and the weights that they are made of."""
        xp = namespace(x)
        theta = self.theta if not back else xp.swapaxes(self.theta, -1, -2)
        if x.ndim == 1:
            terms = theta[:, low].T + x
        else:
            batch, state = xp.where(low)
            terms = (theta[batch, :, state] if theta.ndim == 3 else theta.T[state]) + x[batch]
        message[low] = value = log_sum_exp(terms)
        top = xp.where(xp.isfinite(value), value, xp.zeros_like(value))
        return message, xp.exp(terms - top[..., None])

    def tangent(self, memo: Any, dx: np.ndarray) -> Any:
        v, total, back, low, weights = memo
        xp = namespace(dx)
        change = self._product(v * dx, back) / total
        if low is not None:
            change[low] = (weights * (dx if dx.ndim == 1 else dx[xp.where(low)[0]])).sum(-1)
        return change

    def table(self, a: np.ndarray, b: np.ndarray, total: float) -> Any:
        return _scaled_to(self.theta + a[..., :, None] + b[..., None, :], total, (-2, -1))

    def score(self, table: np.ndarray) -> float:
        xp = namespace(table)
        theta, zero = to_host(self.theta) if xp is np else self.theta, xp.zeros_like(table)
        return xp.sum(xp.where(table > 0, table * xp.where(table > 0, theta, zero), zero), axis=(-2, -1))

    def cells(self) -> tuple[Any, Any, Any]:
        """First state, second state and log-potential of every cell of the table."""
        return *(a.ravel() for a in np.indices(self.shape)), self.theta.ravel()  # type: ignore[return-value]

    def margins(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Margins of a table over the first and the second node."""
        return table.sum(axis=-1), table.sum(axis=-2)

    def draw(self, parents: np.ndarray, inner: np.ndarray, back: bool, rng: np.random.Generator) -> tuple[Any, Any]:
        """A table and the child's counts, given the parent's; `back`: the child, of log belief `inner`, is second."""
        theta = self.theta if back else self.theta.T
        table = np.zeros(theta.shape, dtype=np.int64)
        busy = np.flatnonzero(parents)
        table[busy] = rng.multinomial(parents[busy], probabilities(theta[busy] + inner))
        return (table if back else table.T), table.sum(axis=0)

    @cached_property
    def _open(self) -> Any:
        """Which moves are possible, (L_first, L_second); None where all are."""
        open_ = to_host(self.theta > -np.inf)
        open_ = open_.reshape(-1, *self.shape).any(axis=0)
        return None if open_.all() else open_

    def reach(self, mask: np.ndarray, back: bool = False) -> np.ndarray:
        if self._open is None:
            return np.full(self.shape[0 if back else 1], mask.any())
        return (self._open & mask[None, :]).any(axis=1) if back else (self._open & mask[:, None]).any(axis=0)


def _scaled_to(logs: np.ndarray, total: float | np.ndarray, axes: int | tuple[int, ...]) -> Any:
    """``exp(logs)`` scaled to sum to `total` over some axes."""
    xp = namespace(logs)
    weights = xp.exp(logs - xp.amax(logs, axis=axes, keepdims=True))
    return weights * (total / xp.sum(weights, axis=axes, keepdims=True))


class SparseEdge(_ScaledEdge):
    """An edge with few allowed moves: a scipy sparse matrix of log-potentials; what isn't stored is forbidden.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> edge = SparseEdge(sparse.csr_array(([-0.1, -2.3, -0.2], ([0, 0, 1], [0, 1, 1])), shape=(2, 2)))
    >>> np.exp(edge.send(np.zeros(2))[0]).round(3)
    array([0.905, 0.919])
    """

    def __init__(
        self, theta: np.ndarray | sparse.sparray | sparse.spmatrix, device: str | torch.device | None = None
    ) -> None:
        stored_moves: Any = sparse.coo_array(theta)
        shape: tuple[int, int] = stored_moves.shape
        first, second, data = stored_moves.row, stored_moves.col, np.asarray(stored_moves.data, float)
        stored = data > -np.inf
        if not stored.all():
            first, second, data = first[stored], second[stored], data[stored]
        place = first.astype(np.int64) * shape[1] + second
        if not (np.diff(place) > 0).all():
            order = np.argsort(place)
            first, second, data = first[order], second[order], data[order]
        self.shape, self.n_cells = shape, len(data)
        self.first, self.second = first.astype(np.int32, copy=False), second.astype(np.int32, copy=False)
        self.theta = data
        self.rows = _segment_max(data, first, shape[0])
        scaled = data - self.rows[first]
        self.cols = _segment_max(scaled, second, shape[1])
        scaled = np.exp(scaled - self.cols[second])
        scaled[scaled < _FLUSH] = 0.0
        self.back: Any = sparse.csr_array((scaled, (self.first, self.second)), shape=shape)
        self.forth: Any = self.back.T.tocsr()
        self._device = device
        if device is not None:
            self._to_torch(device)

    def _to_torch(self, device: str | torch.device) -> None:
        torch = sys.modules["torch"]
        for name in ("back", "forth"):
            m = getattr(self, name).tocoo()
            at = torch.as_tensor(np.stack([m.row, m.col]).astype(np.int64), device=device)
            values = torch.as_tensor(m.data, device=device)
            with torch.sparse.check_sparse_tensor_invariants(enable=False):  # scipy has checked them
                setattr(self, name, torch.sparse_coo_tensor(at, values, size=m.shape).coalesce())
        self.rows = torch.as_tensor(self.rows, device=device)
        self.cols = torch.as_tensor(self.cols, device=device)

    def _product(self, v: np.ndarray | Tensor, back: bool) -> Any:
        matrix = self.back if back else self.forth
        return matrix @ v if v.ndim == 1 else (matrix @ v.T).T

    def _exact(self, message: Any, x: np.ndarray | Tensor, back: bool, low: np.ndarray | Tensor) -> tuple[Any, Any]:
        """The message with every state that is low in some batch summed in logs; these states, and their weights."""
        x = np.atleast_2d(to_host(x))
        states = np.flatnonzero(np.atleast_2d(to_host(low)).any(axis=0))
        sender, receiver = (self.second, self.first) if back else (self.first, self.second)
        chosen = np.flatnonzero(np.isin(receiver, states))
        slot = np.searchsorted(states, receiver[chosen])
        terms = self.theta[chosen] + x[:, sender[chosen]]
        value = np.full((len(x), len(states)), -np.inf)
        for row, logs in zip(value, terms):
            top = _segment_max(logs, slot, len(states))
            row[:] = _log(np.bincount(slot, np.exp(logs - top[slot]), len(states))) + top
        weights = np.exp(terms - np.where(np.isfinite(value), value, 0.0)[:, slot])
        return self._patch(message, low, states, value), (states, slot, sender[chosen], weights)

    def _patch(self, message: Any, low: Any, states: np.ndarray, value: np.ndarray) -> Any:
        """A message with the values (batch, states) of states that are low."""
        full = to_host(message).copy()
        view = np.atleast_2d(full)
        where = np.atleast_2d(to_host(low))[:, states]
        view[:, states] = np.where(where, value, view[:, states])
        return full if isinstance(message, np.ndarray) else namespace(message).as_tensor(full, device=message.device)

    def tangent(self, memo: Any, dx: np.ndarray) -> Any:
        v, total, back, low, exact = memo
        change = self._product(v * dx, back) / total
        if low is not None:
            states, slot, sender, weights = exact
            moves = np.atleast_2d(to_host(dx))[:, sender] * weights
            value = np.stack([np.bincount(slot, row, len(states)) for row in moves])
            change = self._patch(change, low, states, value)
        return change

    def table(self, a: np.ndarray, b: np.ndarray, total: float) -> Any:
        """Counts of the allowed moves, in the order of ``first`` and ``second`` (batch first)."""
        logs = self.theta + to_host(a)[..., self.first] + to_host(b)[..., self.second]
        return _scaled_to(logs, to_host(total), -1)

    def matrix(self, counts: np.ndarray) -> sparse.csr_array:
        """The counts of `table` as a sparse matrix."""
        return sparse.csr_array((counts, (self.first, self.second)), shape=self.shape)

    def score(self, table: np.ndarray) -> float:
        return (table * self.theta).sum(axis=-1)

    def cells(self) -> tuple[Any, Any, Any]:
        """States and log-potentials of the allowed moves."""
        return self.first, self.second, self.theta

    def margins(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Margins of a table over the first and the second node."""
        return np.bincount(self.first, table, self.shape[0]), np.bincount(self.second, table, self.shape[1])

    def draw(self, parents: np.ndarray, inner: np.ndarray, back: bool, rng: np.random.Generator) -> tuple[Any, Any]:
        """See `DenseEdge.draw`."""
        parent, child = (self.first, self.second) if back else (self.second, self.first)
        order = np.argsort(parent, kind="stable")
        starts = np.searchsorted(parent[order], np.arange(len(parents) + 1))
        table = np.zeros(len(self.theta), dtype=np.int64)
        for x in np.flatnonzero(parents):
            moves = order[starts[x] : starts[x + 1]]
            table[moves] = rng.multinomial(parents[x], probabilities(self.theta[moves] + inner[child[moves]]))
        return table, np.bincount(child, table, self.shape[1 if back else 0]).astype(np.int64)

    def reach(self, mask: np.ndarray, back: bool = False) -> np.ndarray:
        sender, receiver = (self.second, self.first) if back else (self.first, self.second)
        out = np.zeros(self.shape[0 if back else 1], dtype=bool)
        out[receiver[mask[sender]]] = True
        return out


def _segment_max(values: np.ndarray, index: np.ndarray, length: int) -> Any:
    out = np.full(length, -np.inf)
    np.maximum.at(out, index, values)
    return np.where(np.isfinite(out), out, 0.0)


def to_host(x: np.ndarray | Tensor | float) -> Any:
    """The same numbers in the memory that NumPy reads."""
    return x if isinstance(x, (np.ndarray, float, int)) or np.isscalar(x) else x.detach().cpu().numpy()


class MarginEdge:
    """The edge between a table (first, flattened from `shape`) and its margin over `axes` (second, flattened).

    Axes are given in the table's order. The potential is one where the margin agrees with the table and zero
    elsewhere: a message to the margin is a sum over the other axes, a message to the table repeats.

    Examples
    --------
    >>> import numpy as np
    >>> edge = MarginEdge((2, 3), (0,))
    >>> np.exp(edge.send(np.zeros(6))[0])
    array([3., 3.])
    """

    def __init__(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        self.full, rest = tuple(shape), tuple(k for k in range(len(shape)) if k not in axes)
        self._order = (*axes, *rest)
        # The margin's shape, with a one for every axis that is summed.
        self._wide = tuple(size if k in axes else 1 for k, size in enumerate(self.full))
        self.shape = (int(np.prod(self.full)), int(np.prod(self._wide)))
        self.n_cells = self.shape[0]
        self._others = tuple(k - len(self.full) for k in rest)  # counted from the end: batch axes lead

    def fold(self, x: np.ndarray) -> np.ndarray:
        """(table,) to (margin, rest)."""
        return x.reshape(self.full).transpose(self._order).reshape(self.shape[1], -1)

    def spread(self, x: np.ndarray | Tensor) -> Any:
        """(..., margin) to (..., table): every cell gets its margin's value."""
        lead = x.shape[:-1]
        wide = x.reshape(*lead, *self._wide)
        return namespace(x).broadcast_to(wide, (*lead, *self.full)).reshape(*lead, self.shape[0])

    def margin(self, table: np.ndarray) -> np.ndarray:
        """Sums of a flattened table (..., cells) over the other axes."""
        lead = table.shape[:-1]
        total = table.reshape(*lead, *self.full)
        total = total.sum(self._others) if self._others else total
        return total.reshape(*lead, self.shape[1])

    def send(self, x: np.ndarray | Tensor, back: bool = False, _support: np.ndarray | None = None) -> tuple[Any, Any]:
        if back:
            return self.spread(x), None
        xp = namespace(x)
        lead = x.shape[:-1]
        cube = x.reshape(*lead, *self.full)
        top = xp.amax(cube, axis=self._others, keepdims=True) if self._others else cube
        top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
        weights = xp.exp(cube - top).reshape(x.shape)
        total = self.margin(weights)
        return _log(total) + top.reshape(*lead, self.shape[1]), (weights, _not_zero(total))

    def tangent(self, memo: Any, dx: np.ndarray) -> Any:
        if memo is None:
            return self.spread(dx)
        weights, total = memo
        return self.margin(weights * dx) / total

    def table(self, a: np.ndarray, b: np.ndarray, total: float) -> Any:
        """Counts of the table's cells; the margin's own axis would repeat them."""
        return _scaled_to(a + self.spread(b), total, -1)

    def cells(self) -> tuple[Any, Any, Any]:
        """Cell of the table, its margin's state, and zero, for every cell of the table."""
        return np.arange(self.shape[0]), self.spread(np.arange(self.shape[1])), np.zeros(self.shape[0])

    def margins(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The table itself, and its margin."""
        return table, self.margin(table)

    def draw(self, parents: np.ndarray, inner: np.ndarray, back: bool, rng: np.random.Generator) -> tuple[Any, Any]:
        """See `DenseEdge.draw`."""
        if back:  # the child is the margin of its parent
            return parents, self.margin(parents)
        folded = self.fold(inner)
        cells = np.zeros(folded.shape, dtype=np.int64)
        busy = np.flatnonzero(parents)
        cells[busy] = rng.multinomial(parents[busy], probabilities(folded[busy]))
        table = np.zeros(self.shape[0], dtype=np.int64)
        table[self.fold(np.arange(self.shape[0])).ravel()] = cells.ravel()
        return table, table

    def score(self, table: np.ndarray) -> float:
        return 0.0 * table.sum(-1)

    def reach(self, mask: np.ndarray, back: bool = False) -> Any:
        return self.spread(mask) if back else self.fold(mask).any(-1)


Edge = DenseEdge | SparseEdge | MarginEdge
