"""Movement: how likely one individual is to move between two places in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.display import record_html
from sumwise.flows.places import Places


@dataclass(frozen=True)
class Movement:
    """Log-probabilities of a step: a cost of leaving, a cost per distance, and how the size of a place attracts.

    ``log p(i -> j) = -stay [i != j] - distance(i, j) / scale + attraction log area_j``, normalised over j.

    Parameters
    ----------
    stay : float, default 0.0
        Cost of leaving a place, whatever the distance, in units of log-probability.
    scale : float > 0, default 1.0
        A distance that makes a move e times less likely, in the unit of the places (km for longitude and latitude).
    attraction : float, default 0.0
        Exponent of the area of the destination; needs ``Places(area=...)``.

    See Also
    --------
    FlowModel : Flows of a population between places, from counts over time: who went where, along which routes, and
        where next.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.flows import Movement, Places
    >>> np.exp(Movement(stay=1.0, scale=2.0).log_moves(Places(x=[0.0, 2.0], y=[0.0, 0.0]))).round(3)
    array([[0.881, 0.119],
           [0.119, 0.881]])
    """

    stay: float = 0.0
    scale: float = 1.0
    attraction: float = 0.0

    _repr_html_ = record_html

    def __post_init__(self):
        checks.finite(self.stay, "stay", ndim=0)
        checks.positive(self.scale, "scale", ndim=0)
        checks.finite(self.attraction, "attraction", ndim=0)

    def log_moves(self, places: Places, far: Any = None) -> Any:
        """Return log-probabilities (L, L) of moves; sparse where the places have a reach (`far`: their distances)."""
        far = places.moves() if far is None else far
        pull: Any = 0.0 if self.attraction == 0 or places.area is None else self.attraction * np.log(places.area)
        if sparse.issparse(far):
            out: Any = sparse.coo_array(far)
            scores = -self.stay * (out.row != out.col) - out.data / self.scale
            scores = scores + (pull if np.ndim(pull) == 0 else pull[out.col])
            scores = scores - log_totals(scores, out.row, out.shape[0])[out.row]
            return sparse.csr_array((scores, (out.row, out.col)), shape=out.shape)
        scores = -self.stay * (1.0 - np.eye(len(far))) - far / self.scale + pull
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def log_totals(scores: np.ndarray, group: np.ndarray, n: int) -> np.ndarray:
    """Log-sum-exp of scores by group (n of them); 0 for a group without any that is finite."""
    top = np.full(n, -np.inf)
    np.maximum.at(top, group, scores)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.bincount(group, np.exp(scores - top[group]), n)
    return top + np.log(np.where(total > 0, total, 1.0))
