"""QuantileEmbedding: quantile functions on a grid, column by column or on random slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.columns import Columns
from sumwise.distribution.embedding import Embedding, seeded
from sumwise.distribution.kernels.quantiles import cell_quantiles


def draw_slices(dimension: int, n: int, random_state: Any) -> np.ndarray:
    """Return `n` random directions of length 1 as columns, orthogonal in groups; for 0 the axes.

    Examples
    --------
    >>> from sumwise.distribution.quantile import draw_slices
    >>> draw_slices(2, 0, None)
    array([[1., 0.], [0., 1.]])
    """
    if n == 0:
        return np.eye(dimension)
    rng = seeded(random_state)
    groups = [np.linalg.qr(rng.standard_normal((dimension, dimension)))[0] for _ in range(-(-n // dimension))]
    return np.hstack(groups)[:, :n]


def grid_quantiles(bags: Bags, columns: Columns, n: int, directions: np.ndarray) -> np.ndarray:
    """Return the quantile functions of scaled rows along directions, as means over n cells, (n_bags, m, n).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution.columns import Columns
    >>> from sumwise.distribution.quantile import grid_quantiles
    >>> bags = Bags.from_arrays([[0.0, 2.0], [4.0, 6.0]])
    >>> grid_quantiles(bags, Columns.learn(bags, standardize=False), 2, np.eye(1))[:, 0]
    array([[-3., -1.], [ 1.,  3.]])
    """
    scaled = directions / columns.scale[:, None]
    options = {"directions": scaled, "columns": columns.numeric, "centre": columns.centre}
    return cell_quantiles(bags.values, bags.offsets, bags.given_weights, n, **options)


@dataclass(eq=False, repr=False)
class QuantileEmbedding(Embedding):
    """Quantile functions on a grid: Euclidean distances of vectors are 2-Wasserstein distances of bags.

    Column by column this is the linear embedding of W2 on lines; on random slices it sees joint structure too, and
    distances are sliced Wasserstein distances.

    Parameters
    ----------
    n_quantiles : int >= 1, default 50
        Cells of equal probability per column or slice.
    slices : int >= 0, default 0
        Number of random directions; 0 takes the columns.
    random_state : int, numpy.random.Generator or None, default None
        None is the seed of the estimator that this is part of, else 0.
        For the slices.

    See Also
    --------
    MomentEmbedding : Means, central moments and covariances of the rows of a bag.
    FourierEmbedding : Mean random Fourier features: the kernel mean embedding of a Gaussian kernel, at several widths
        at once.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution import QuantileEmbedding
    >>> vectors = QuantileEmbedding(2).fit_transform(Bags.from_arrays([[0.0, 2.0], [4.0, 6.0]]))
    >>> vectors.round(2)
    array([[-0.95, -0.32],
           [ 0.32,  0.95]])
    """

    _learned = "columns_.numeric: len d; directions_?: float d +"

    n_quantiles: int = 50
    slices: int = 0
    random_state: Any = None

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """Whether directions are drawn."""
        return self.slices > 0

    def _learn(self, _bags: Bags, /) -> None:
        checks.at_least(self.n_quantiles, "n_quantiles", 1)
        checks.at_least(self.slices, "slices", 0)
        self.directions_ = draw_slices(self.columns_.dimension, int(self.slices), self.random_state)

    def _embed(self, bags: Bags) -> np.ndarray:
        cells = grid_quantiles(bags, self.columns_, int(self.n_quantiles), self.directions_)
        return cells.reshape(len(bags), -1) / np.sqrt(cells.shape[1] * cells.shape[2])

    def _number_names(self, n_shares: int, /) -> list[str]:
        if self.slices:
            return super()._number_names(n_shares)
        n = int(self.n_quantiles)
        columns = [str(self.columns_.features[j]) for j in self.columns_.numeric]
        return [f"{c}, {100 * k / n:.3g} to {100 * (k + 1) / n:.3g}%" for c in columns for k in range(n)]
