"""The Gaussian approximation of collective graphical models (Liu, Sheldon and Dietterich 2014), for comparison.

The tables of a population of n are taken as normal with the mean and covariance that they have under the model. With
the noise this is again a convex problem, whose dual has a quadratic in place of log Z; the same solver applies. Its
counts keep every margin, and may be negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sumwise.collective.kernels.belief_propagation import tangent
from sumwise.collective.kernels.count_problem import CountProblem
from sumwise.collective.kernels.edges import to_host

if TYPE_CHECKING:
    from sumwise.collective.kernels.belief_propagation import Beliefs


@dataclass
class GaussianProblem(CountProblem):
    """A `CountProblem` with the normal distribution of the tables in place of their own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.paths = None  # its covariance is that of another point than its counts
        self.start, self._mean, self._log_z = super().infer(-self.observations.shift)

    def infer(self, tilt: np.ndarray) -> tuple[Beliefs, np.ndarray, float]:
        """Counts ``mean + covariance @ tilt``, and the quadratic that stands for log Z."""
        self.n_passes += 1
        whole = tilt + self.observations.shift  # relative to the model without observations
        moved = super().covariance_product(self.start, self._mean, whole)
        log_z = self._log_z + float(whole @ (self._mean + 0.5 * moved)) / self.total
        return self.start, self._mean + moved, log_z

    def covariance_product(self, beliefs: Beliefs, cells: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The same for every point."""
        del beliefs, cells
        return super().covariance_product(self.start, self._mean, direction)

    def highest(self) -> float:
        """No bound: the normal distribution has no polytope."""
        return np.inf

    def widest(self) -> float:
        """No bound either: proofs of infeasibility are for the polytope."""
        return np.inf

    def variances(self, cells: np.ndarray) -> np.ndarray:
        """Those of the model itself."""
        del cells
        return self._mean


def gaussian_problem(problem: CountProblem) -> GaussianProblem:
    """The Gaussian approximation of a `CountProblem`."""
    masks = problem.masks
    return GaussianProblem(problem.forest, problem.base, masks, problem.observations, problem.total, problem.device)


def gaussian_edge_tables(problem: GaussianProblem, g: np.ndarray) -> list[np.ndarray]:
    """Edge tables ``mean + covariance with the nodes @ tilt`` for the multipliers `g`."""
    tilt = problem.observations.shift - problem.observations.spread(g, problem.n_cells)
    beliefs, forest = problem.start, problem.forest
    _, cavity, inner = tangent(forest, beliefs, problem.split(tilt))
    tables = problem.edge_tables(beliefs)
    for k, (_, _, e, back) in enumerate(forest.steps):
        first, second = (cavity[k], inner[k]) if back else (inner[k], cavity[k])
        left, right, _ = forest.edges[e][2].cells()
        change = (to_host(first)[left] + to_host(second)[right]).reshape(tables[e].shape)
        mean = float((tables[e] * change).sum()) / problem.total
        tables[e] = tables[e] * (1.0 + np.where(tables[e] > 0, change - mean, 0.0))
    return tables
