"""Ridge regression for a whole path of penalties from one decomposition, judged by closed-form leave-one-out errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

GRID = 10.0 ** np.arange(-10, 3.01, 0.5)
"""Penalties that are tried, relative to the largest squared singular value of the centred features."""


class Path(NamedTuple):
    """The decomposition of weighted, centred features, and leave-one-out errors along a path of penalties."""

    left: np.ndarray  # (n, r) left singular vectors
    squares: np.ndarray  # (r,) squared singular values
    targets: np.ndarray  # (n, k) centred responses times root weights
    mean: np.ndarray  # (D,) of the features
    level: np.ndarray  # (k,) of the responses
    root: np.ndarray  # (n,) root weights, of mean square 1
    penalties: np.ndarray  # (p,)
    each: np.ndarray  # (n, p, k) leave-one-out errors times root weights
    groups: np.ndarray | None = None  # (n,) units of the same number are left out together

    @property
    def errors(self) -> np.ndarray:
        """Weighted mean squared leave-one-out errors at every penalty, (p, k)."""
        return np.mean(self.each**2, axis=0)

    @property
    def top(self) -> float:
        """The largest squared singular value; 1 where the features have no spread."""
        return float(self.squares.max(initial=0.0)) or 1.0

    def leave_one_out(self, penalties: float | np.ndarray, weights: float | np.ndarray = 1.0) -> np.ndarray:
        """Errors y_i - f_{-i}(x_i) of every unit, left out with its group, (n, k), for penalties and weights as of
        `dual`."""
        penalties = np.atleast_1d(penalties)
        weights = np.broadcast_to(weights, (len(penalties), self.targets.shape[1]))
        errors = [each @ of_output for each, of_output in zip(_left_out(self, penalties), weights.T)]
        return np.column_stack(errors) / self.root[:, None]

    def dual(self, penalties: float | np.ndarray, weights: float | np.ndarray = 1.0) -> np.ndarray:
        """Coefficients (n, k) of the units, times their root weights; none where the features have no spread.

        They are those of one penalty, or averaged over penalties (p,) with weights (p, k).
        """
        squares, penalties = self.squares[:, None], np.atleast_1d(penalties)
        weights = np.broadcast_to(weights, (len(penalties), self.targets.shape[1]))
        share = np.where(squares > 0, 1.0 / (squares + penalties), 0.0) @ weights
        dual = self.left @ (share * (self.left.T @ self.targets))
        # They sum to 0. Of a smooth kernel's many eigenvalues near 0 rounding keeps some, and these alone need not.
        return dual - np.outer(self.root, self.root @ dual / len(self.root))

    def leverages(self, penalty: float) -> np.ndarray:
        """Leverage of each unit for a fit to all others, with their mean as centre, (n,).

        With z the centred features of unit i, w its weight, a = z'(S + penalty)^-1 z and c = n / (n - w), the others
        have the centre c z away and the squares S - w c z z', so that it is c^2 a / (1 - w c a).
        """
        weights, n = self.root**2, len(self.root)
        own = (self.left**2) @ (self.squares / (self.squares + penalty))  # w a
        moved = n / np.maximum(n - weights, 1e-12)
        return moved**2 * own / np.maximum(weights, 1e-300) / np.maximum(1.0 - moved * own, 1e-12)

    def axes(self, features: np.ndarray, penalty: float) -> np.ndarray:
        """Axes (D, r) such that ``|z|^2 / penalty - |z axes|^2`` is the leverage of centred features z."""
        kept = self.squares > 0
        right = ((features - self.mean) * self.root[:, None]).T @ self.left[:, kept]  # times singular values
        return right / np.sqrt(penalty * (self.squares[kept] + penalty))

    def coefficients(
        self, features: np.ndarray, penalties: float | np.ndarray, weights: float | np.ndarray = 1.0
    ) -> np.ndarray:
        """Coefficients (D, k) of the features that the path was made from, for penalties and weights as of `dual`."""
        return ((features - self.mean) * self.root[:, None]).T @ self.dual(penalties, weights)


def ridge_path(
    features: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None = None,
    penalties: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> Path:
    """Decompose once, then evaluate leave-one-out errors at every penalty.

    Minimises ``sum_i w_i |y_i - b - B'f_i|^2 + penalty |B|^2``. features (n, D), targets (n, k), weights (n,).
    With F the weighted, centred features, F = U S V', and h_i(l) = sum_k U_ik^2 s_k^2 / (s_k^2 + l), the error of
    unit i predicted from all others is r_i(l) / (1 - h_i(l) - w_i / sum w), r the residual. Costs
    O(n D min(n, D)), then O(n r) per penalty. With groups (n,) the units of a group are left out together: the errors
    of group g are (I - H_gg)^-1 r_g, H the whole smoother, which costs O(n c r) per penalty for groups of c.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.ridge import ridge_path
    >>> x = np.arange(5.0)[:, None]
    >>> path = ridge_path(x, 2 * x + 1)
    >>> path.coefficients(x, 1e-9).round(6), float(path.errors[0].round(9)[0])
    (array([[2.]]), 0.0)
    """
    n = len(features)
    scaled = np.ones(n) if weights is None else weights * (n / np.sum(weights))
    root = np.sqrt(scaled)
    mean, level = scaled @ features / n, scaled @ targets / n
    centred = (features - mean) * root[:, None]
    left, squares = _decompose(centred)
    centred_targets = (targets - level) * root[:, None]
    path = Path(left, squares, centred_targets, mean, level, root, np.zeros(0), np.zeros((0, 0, 0)), groups)
    return _judged(path, penalties)


def gram_path(
    gram: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None = None,
    penalties: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> tuple[Path, float]:
    """The same from a Gram matrix (n, n): kernel ridge regression with a free intercept.

    Also returns the least eigenvalue of the centred matrix relative to the largest. Where it is clearly below 0 the
    kernel is not positive semidefinite; negative eigenvalues count as 0. ``mean`` of the path is that of the columns of
    the Gram matrix: the prediction is level + (k(x) - mean) (root dual).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.ridge import gram_path
    >>> x = np.arange(5.0)[:, None]
    >>> path, least = gram_path(x @ x.T, 2 * x + 1)
    >>> ((x @ x.T - path.mean) @ path.dual(1e-9) + path.level).round(6).ravel()
    array([1., 3., 5., 7., 9.])
    """
    n = len(gram)
    scaled = np.ones(n) if weights is None else weights * (n / np.sum(weights))
    root = np.sqrt(scaled)
    mean, level = scaled @ gram / n, scaled @ targets / n
    centred = gram - mean - mean[:, None] + scaled @ mean / n
    squares, left = np.linalg.eigh(centred if weights is None else centred * np.outer(root, root))
    top = max(squares[-1], 1e-300)
    none = np.zeros(0), np.zeros((0, 0, 0))
    rounding = n * np.finfo(float).eps * np.abs(np.diag(gram)).max(initial=0.0)  # not small beside smooth kernels
    path = Path(left, _cleared(squares, rounding), (targets - level) * root[:, None], mean, level, root, *none, groups)
    return _judged(path, penalties), float(squares[0] / top)


def _judged(path: Path, penalties: np.ndarray | None) -> Path:
    grid = GRID * path.top if penalties is None else np.asarray(penalties, dtype=float)
    return path._replace(penalties=grid, each=np.stack(list(_left_out(path, grid)), axis=2))


def _cleared(squares: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Eigenvalues with those that are rounding errors, or negative, set to 0."""
    return np.where(squares > max(1e-14 * squares.max(initial=0.0), rounding, 1e-300), squares, 0.0)


def _decompose(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and squared singular values, from the smaller of the two Gram matrices."""
    n, d = centred.shape
    if n <= d:
        squares, left = np.linalg.eigh(centred @ centred.T)
        return left, _cleared(squares)
    squares, right = np.linalg.eigh(centred.T @ centred)
    kept = _cleared(squares) > 0
    squares = squares[kept]
    return centred @ right[:, kept] / np.sqrt(squares), squares


def _left_out(path: Path, penalties: np.ndarray) -> Iterator[np.ndarray]:
    """Yield, output by output, leave-one-out errors times root weights at each penalty, (n, p).

    Residual and 1 - h both vanish where the fit interpolates; from penalty / (s^2 + penalty) they keep their ratio.
    """
    kept = penalties / (path.squares[:, None] + penalties)  # (r, p)
    members = _members(path.groups, len(path.left))
    spare = [_spare(path, kept, each) for each in members]
    unreached = path.left.shape[1] < len(path.left)  # what no feature reaches stays in the residual
    for target in path.targets.T:
        product = path.left.T @ target
        residual = path.left @ (kept * product[:, None])
        if unreached:
            residual += (target - path.left @ product)[:, None]
        for each, room in zip(members, spare):
            if each.shape[1] == 1:
                residual[each[:, 0]] /= room[:, :, 0, 0]
            else:
                residual[each] = np.linalg.solve(room, residual[each].swapaxes(1, 2)[..., None])[..., 0].swapaxes(1, 2)
        yield residual


def _members(groups: np.ndarray | None, n: int) -> list[np.ndarray]:
    """Positions of the members of each group, one array (number of groups, c) for every size c of a group."""
    if groups is None:
        return [np.arange(n)[:, None]]
    _, counts = np.unique(groups, return_counts=True)
    order, starts = np.argsort(groups, kind="stable"), np.cumsum(counts) - counts
    return [order[starts[counts == c][:, None] + np.arange(c)] for c in np.unique(counts).tolist()]


def _spare(path: Path, kept: np.ndarray, members: np.ndarray) -> np.ndarray:
    """I - H of each group at each penalty, (number of groups, p, c, c): what of a response a fit to it doesn't take."""
    c = members.shape[1]
    parts = [path.left[members[:, a]] for a in range(c)]
    roots = path.root[members] / np.sqrt(len(path.root))
    unreached = path.left.shape[1] < len(path.left)
    out = np.empty((len(members), kept.shape[1], c, c))
    for a in range(c):
        for b in range(a, c):
            product = parts[a] * parts[b]
            each = product @ kept - (roots[:, a] * roots[:, b])[:, None]
            if unreached:
                each += (float(a == b) - product.sum(axis=1))[:, None]
            out[:, :, a, b] = out[:, :, b, a] = each
    own = np.arange(c)
    if c == 1:
        return np.maximum(out, 1e-13)
    out[:, :, own, own] = (1 + 1e-10) * np.maximum(out[:, :, own, own], 1e-13)  # members that are the same row
    return out
