"""Bounds: what the margins alone say, without any model."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.ecological.kernels.bounds import cell_bounds
from sumwise.ecological.result import EcologicalEstimator
from sumwise.fit import Fit
from sumwise.margins import Margins


class Bounds(EcologicalEstimator):
    """The method of bounds (Duncan and Davis 1953): the range in which each cell must lie, whatever the model.

    It needs no assumption and makes no choice: its intervals hold at every level. As a point inside them, `cells_` has
    everybody in a unit alike (each group's shares are the unit's), which adds up to both margins and claims nothing.

    Attributes
    ----------
    lower_, upper_ : ndarrays of shape (n_units, R, C)
        Bounds of the row shares of every unit; 0 and 1 for a group without members there.
    lower_bound_, upper_bound_ : ndarrays of shape (R, C)
        Bounds of the row shares over all units.

    See Also
    --------
    EcologicalEM : Who chose what, for R x C tables: an EM whose every step rakes each unit to both of its margins.
    Goodman : Goodman's ecological regression (1953): column shares on row shares, one set of shares for all units.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import Bounds
    >>> m = Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]], row_names=["a", "b"], col_names=["yes", "no"])
    >>> est = Bounds().fit(m)
    >>> est.lower_[0].round(2)
    array([[0.67, 0.  ], [0.5 , 0.  ]])
    >>> est.estimate().to_frame()[["group", "outcome", "lower_bound", "upper_bound"]].round(3)
      group outcome  lower_bound  upper_bound
    0     a     yes        0.571        1.000
    1     a      no        0.000        0.429
    2     b     yes        0.308        0.538
    3     b      no        0.462        0.692
    """

    _learned = "lower_, upper_: real n R C"

    can_sample = False

    def fit(self, margins: Margins, y: Any = None) -> Bounds:
        """Compute the bounds of `margins`; `y` is ignored."""
        low, high = cell_bounds(margins.rows, margins.cols)
        x = np.broadcast_to(margins.rows[:, :, None], low.shape)
        self.lower_ = np.divide(low, x, out=np.zeros_like(low), where=x > 0)
        self.upper_ = np.divide(high, x, out=np.ones_like(high), where=x > 0)
        self._store(margins, np.repeat(margins.col_shares[:, None, :], margins.n_rows, axis=1))
        width = float(np.mean(self.upper_bound_ - self.lower_bound_))
        self.fit_ = Fit(objective=width, n_iter=1, converged=True, history={"objective": [width]})
        return self

    @property
    def interval_kind(self) -> str:
        """What `interval` allows for."""
        return "bounds"

    def _interval(self, _level: float, /) -> tuple[np.ndarray, np.ndarray]:
        return self.lower_bound_.copy(), self.upper_bound_.copy()

    def _unit_interval(self, margins: Margins, _level: float, /) -> tuple[np.ndarray, np.ndarray]:
        low, high = (np.where(margins.rows[:, :, None] > 0, end, np.nan) for end in (self.lower_, self.upper_))
        return low, high
