"""Sums, means and maxima over the rows of each bag, for ragged batches, without padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.extras import require

POOLS = ("mean", "sum", "max")
LONG_BAGS = 64  # mean rows per bag from which one sum per bag is quicker than one pass over all, on the CPU


class Segments:
    """Which rows of a batch belong to which bag, and how to pool over them.

    Parameters
    ----------
    sizes : integer array of shape (n_bags,)
        Rows of each bag, none of them empty; bags lie one after the other.
    weights : array of shape (n_rows,), optional
        What a row counts in sums and means; maxima don't depend on it.
    device : torch.device, default the CPU

    Examples
    --------
    >>> import numpy as np, torch
    >>> from sumwise.inference.networks.pooling import Segments
    >>> Segments(np.array([1, 2])).pool(torch.tensor([[1.0], [2.0], [4.0]]), "mean")
    tensor([[1.],
            [3.]])
    """

    def __init__(self, sizes: np.ndarray, weights: np.ndarray | None = None, device: Any = "cpu"):
        self.torch = require("torch")
        self.sizes = [int(n) for n in sizes]
        self.equal = self.sizes[0] if len(set(self.sizes)) == 1 else None
        self.lengths = self.torch.tensor(self.sizes, dtype=self.torch.int64, device=device)
        self.weights = None
        self.totals = self.lengths[:, None]
        if weights is not None:
            given = np.ascontiguousarray(weights, dtype=np.float32)
            self.weights = self.torch.from_numpy(given.copy()).to(device)[:, None]
            self.totals = self._reduce(self.weights, "sum")

    def pool(self, rows: Any, how: str) -> Any:
        """Return the pooled rows, (n_bags, width); how is one of `POOLS`."""
        if how == "max":
            return self._reduce(rows, "max")
        sums = self._reduce(rows if self.weights is None else rows * self.weights, "sum")
        return sums if how == "sum" else sums / self.totals

    def attend(self, rows: Any, scores: Any) -> tuple[Any, Any]:
        """Return means of rows weighted by the softmax of scores (n_rows, 1) over each bag, and these weights."""
        shares = self.torch.exp(scores - self.spread(self._reduce(scores, "max")))
        shares = shares if self.weights is None else shares * self.weights
        shares = shares / self.spread(self._reduce(shares, "sum"))
        return self._reduce(rows * shares, "sum"), shares

    def spread(self, pooled: Any) -> Any:
        """Return what belongs to a bag once for each of its rows, (n_rows, width)."""
        if self.equal is not None:
            return pooled[:, None, :].expand(-1, self.equal, -1).reshape(-1, pooled.shape[1])
        return self.torch.repeat_interleave(pooled, self.lengths, dim=0, output_size=sum(self.sizes))

    def _reduce(self, rows, how):
        if self.equal is not None:
            parted = rows.reshape(len(self.sizes), self.equal, rows.shape[1])
            return parted.amax(dim=1) if how == "max" else parted.sum(dim=1)
        if rows.device.type == "cpu" and len(rows) >= LONG_BAGS * len(self.sizes):
            parts = rows.split(self.sizes)
            return self.torch.stack([p.amax(dim=0) if how == "max" else p.sum(dim=0) for p in parts])
        return self.torch.segment_reduce(rows, how, lengths=self.lengths, axis=0, unsafe=True)
