"""Random Fourier features of individuals: a Gaussian process in the logits, as columns of a linear model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from sumwise.features import centre_and_scale

N_FREQUENCIES = 150  # two columns each
MOST_ENTRIES = 2**27  # of rows times columns: a GiB; linear models only beyond, unless Fourier models are asked for
N_DISTANCES = 1000  # rows between which the median distance is computed


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """Columns cos(x'w) and sin(x'w) whose inner products approximate a rational quadratic kernel.

    The kernel (1 + d^2 / 2 l^2)^-1 is a mixture of Gaussian kernels of all widths around l, the median distance between
    rows, so that no width has to be chosen (Rahimi and Recht 2007; Rasmussen and Williams 2006, section 4.2).

    Parameters
    ----------
    frequencies : array of shape (n_features, n_frequencies)
    centre : array of shape (n_features,)
        Subtracted from rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.proportions.fourier import FourierFeatures
    >>> features = FourierFeatures.draw(np.random.default_rng(0).normal(size=(50, 2)), np.random.default_rng(1))
    >>> columns = features.columns(np.zeros((1, 2)))
    >>> columns.shape, float((columns**2).sum().round(6))
    ((1, 300), 1.0)
    """

    frequencies: np.ndarray
    centre: np.ndarray

    @classmethod
    def draw(cls, values: np.ndarray, rng: np.random.Generator) -> FourierFeatures:
        """Draw frequencies for columns like these."""
        scale = centre_and_scale(values)[1]
        evenly = values[np.linspace(0, len(values) - 1, min(len(values), N_DISTANCES)).astype(int)] / scale
        distances = pdist(evenly)
        positive = distances[distances > 0]
        width = float(np.median(positive)) if positive.size else 1.0
        normals = rng.standard_normal((values.shape[1], N_FREQUENCIES))
        precisions = rng.standard_exponential(N_FREQUENCIES)  # Gamma(1): the mixture of widths
        return cls(normals * np.sqrt(precisions) / (width * scale[:, None]), values.mean(axis=0))

    @property
    def n_columns(self) -> int:
        """Two columns for each frequency."""
        return 2 * self.frequencies.shape[1]

    def columns(self, values: np.ndarray) -> np.ndarray:
        """The features of rows, (n_rows, 2 n_frequencies); the squares of each row add up to one."""
        angles = (values - self.centre) @ self.frequencies
        return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(self.frequencies.shape[1])
