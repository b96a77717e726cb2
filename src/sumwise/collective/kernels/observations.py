"""What was observed of the cells of a forest, as one flat vector: losses, slopes and convex conjugates.

With ``l(n) = -log p(y | n)`` every observed cell has a multiplier g, the slope of its loss, and a conjugate
``l*(g) = sup_n g n - l(n)``. Three kinds cover the noise models:

- *gaussian*: ``l* = g y + var g^2 / 2``;
- *poisson* (y > 0): ``l* = y log(y / (rate - g)) - y`` for ``g < rate``; where y = 0 the best g is the rate itself, so
  those cells only lower their node's log-potential and have no multiplier;
- *linear*: ``l = max(low (n - y), high (n - y))``, ``l* = g y`` on ``low <= g <= high``. Laplace and geometric noise
  have finite ends, exact counts infinite ones, and a cell known only to lie between two counts has one of each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import xlogy


@dataclass(frozen=True)
class Observations:
    """Observed cells, ordered gaussian, poisson, linear. `index` points into the flat vector of all cells."""

    index: np.ndarray
    y: np.ndarray
    n_gaussian: int
    n_poisson: int
    var: np.ndarray  # (n_gaussian,)
    rate: np.ndarray  # (n_poisson,)
    low: np.ndarray  # (n_linear,)
    high: np.ndarray
    shift: np.ndarray  # (n_cells,) added to the log-potentials: -rate of poisson cells with y = 0
    constant: float  # parts of -log p that depend on no count
    source: np.ndarray  # number of the table of each observation

    @property
    def size(self) -> int:
        """Number of multipliers."""
        return len(self.index)

    def slices(self) -> tuple[slice, slice, slice]:
        """Where the three kinds lie."""
        a, b = self.n_gaussian, self.n_gaussian + self.n_poisson
        return slice(0, a), slice(a, b), slice(b, self.size)

    @cached_property
    def run(self) -> slice | None:
        """Where the observed cells are one run of cells, that run; else None."""
        if self.size and (np.diff(self.index) == 1).all():
            return slice(int(self.index[0]), int(self.index[-1]) + 1)
        return None

    @cached_property
    def times(self) -> np.ndarray:
        """How often the cell of each observation is observed."""
        if self.run is not None:
            return np.ones(self.size, dtype=int)
        return np.unique(self.index, return_inverse=True, return_counts=True)[2][self._slot] if self.size else self.y

    @cached_property
    def _slot(self) -> np.ndarray:
        return np.unique(self.index, return_inverse=True)[1]

    @cached_property
    def repeated(self) -> bool:
        """Whether some cell is observed more than once."""
        return bool(self.size and self.times.max() > 1)

    @cached_property
    def soft(self) -> bool:
        """Whether no loss has an infinite slope, as those of exact counts and bounds have."""
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())

    def pick(self, cells: np.ndarray) -> np.ndarray:
        """The observed ones of all cells."""
        return cells[self.index] if self.run is None else cells[self.run]

    @property
    def lower(self) -> np.ndarray:
        """Least multipliers."""
        return np.concatenate([np.full(self.n_gaussian + self.n_poisson, -np.inf), self.low])

    @property
    def upper(self) -> np.ndarray:
        """Largest multipliers; for poisson cells the end is excluded."""
        return np.concatenate([np.full(self.n_gaussian, np.inf), self.rate, self.high])

    def conjugate(self, g: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """``sum l*(g)`` (without constants), its gradient and its second derivative."""
        s, p, e = self.slices()
        y, value = self.y, 0.0
        first, second = y.copy(), np.zeros_like(g)
        if self.n_gaussian:
            value += g[s] @ y[s] + 0.5 * self.var @ (g[s] * g[s])
            first[s] += self.var * g[s]
            second[s] = self.var
        if self.n_poisson:
            q = self.rate - g[p]
            value += float((y[p] * (np.log(y[p] / q) - 1.0)).sum())
            first[p] = y[p] / q
            second[p] = first[p] / q
        if len(self.low):
            value += g[e] @ y[e]
        return float(value), first, second

    def fenchel(self, g: np.ndarray, n: np.ndarray) -> tuple[float, float]:
        """``(gap, violation)``: sum of ``l(n) + l*(g) - g n``, never negative, and how far exact cells are off."""
        s, p, e = self.slices()
        gap, violation = 0.0, 0.0
        if self.n_gaussian:
            gap += 0.5 * float((((n[s] - self.y[s]) - self.var * g[s]) ** 2 / self.var).sum())
        if self.n_poisson:
            u = (self.rate - g[p]) * n[p] / self.y[p]
            with np.errstate(divide="ignore", invalid="ignore"):
                each = np.where(u > 0, u - 1.0 - np.log(u), np.inf)
            gap += float((self.y[p] * np.maximum(each, 0.0)).sum())
        if len(self.low):
            off = n[e] - self.y[e]
            end = np.where(off > 0, self.high, self.low)
            hard = np.isinf(end) & (off != 0)
            soft = np.where(hard, 0.0, np.where(np.isinf(end), 0.0, end) - g[e])
            gap += float((soft * off)[~hard].clip(min=0.0).sum() + np.abs(g[e] * off)[hard].sum())
            violation = float(np.abs(off[hard]).max(initial=0.0))
        return gap, violation

    def loss(self, cells: np.ndarray, smoothing: float = 0.0) -> tuple[float, np.ndarray]:
        """``-log p(y | cells)`` with constants, and its gradient per cell (a subgradient at kinks).

        `smoothing` > 0 replaces the kinks of two-sided noise by Nesterov's smooth maximum (a Huber loss), which
        is below the loss by at most ``smoothing / 2`` per cell and unit of slope squared.
        """
        s, p, e = self.slices()
        n = cells[self.index]
        slope = np.zeros(self.size)
        value = self.constant - float(self.shift @ np.where(self.shift == 0, 0.0, cells))
        if self.n_gaussian:
            slope[s] = (n[s] - self.y[s]) / self.var
            value += 0.5 * float(slope[s] @ (n[s] - self.y[s]))
        if self.n_poisson:
            with np.errstate(divide="ignore"):
                value += float((self.rate * n[p] - xlogy(self.y[p], n[p])).sum())
                slope[p] = self.rate - self.y[p] / n[p]
        if len(self.low):
            off = n[e] - self.y[e]
            if smoothing > 0:
                slope[e] = np.clip(off / smoothing, self.low, self.high)
                value += float((slope[e] * off - 0.5 * smoothing * slope[e] ** 2).sum())
            else:
                slope[e] = np.where(off > 0, self.high, np.where(off < 0, self.low, 0.0))
                value += float(np.where(off == 0, 0.0, slope[e] * off).sum())
        gradient = np.bincount(self.index, slope, len(cells)) if self.size else np.zeros(len(cells))
        return value, gradient - self.shift

    def tempered(self, heat: float) -> Observations:
        """Observations whose loss is divided by `heat` (exact counts and bounds stay as they are)."""
        y = self.y.copy()
        y[self.slices()[1]] /= heat
        return replace(
            self,
            y=y,
            var=self.var * heat,
            rate=self.rate / heat,
            low=self.low / heat,
            high=self.high / heat,
            shift=self.shift / heat,
            constant=self.constant / heat,
        )

    def spread(self, g: np.ndarray, n_cells: int) -> np.ndarray:
        """Sum of the multipliers at every cell."""
        if self.run is not None:
            out = np.zeros(n_cells)
            out[self.run] = g
            return out
        return np.bincount(self.index, g, n_cells) if self.size else np.zeros(n_cells)


def gather(parts: list[dict[str, np.ndarray | float | str]], n_cells: int) -> Observations:
    """One `Observations` from parts ``dict(kind, index, y, ...)``; a part's order among its kind is kept.

    Kinds: ``gaussian`` (var), ``poisson`` (rate), ``linear`` (low, high); each with ``source`` and ``constant``.
    """
    shift = np.zeros(n_cells)
    chosen = {"gaussian": [], "poisson": [], "linear": []}
    constant = 0.0
    for given in parts:
        part: dict[Any, Any] = given
        constant += part["constant"]
        if part["kind"] == "poisson":
            zero = part["y"] == 0
            np.subtract.at(shift, part["index"][zero], part["rate"][zero])
            part = {k: v[~zero] if isinstance(v, np.ndarray) else v for k, v in part.items()}
        chosen[part["kind"]].append(part)

    def join(kind: str, field: str) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(p[field] for p in chosen[kind])])

    kinds = ("gaussian", "poisson", "linear")
    index = np.concatenate([join(k, "index") for k in kinds]).astype(np.int64)
    source = [np.full(len(p["index"]), p["source"]) for k in kinds for p in chosen[k]]
    return Observations(
        index=index,
        y=np.concatenate([join(k, "y") for k in kinds]),
        n_gaussian=len(join("gaussian", "y")),
        n_poisson=len(join("poisson", "y")),
        var=join("gaussian", "var"),
        rate=join("poisson", "rate"),
        low=join("linear", "low"),
        high=join("linear", "high"),
        shift=shift,
        constant=float(constant),
        source=np.concatenate([np.zeros(0), *source]).astype(int),
    )
