"""How similar kernels find a normal bag to the standard normal one (Lemus Gonzalez, figures 2.1, 4.2, 4.5 and 4.6)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from sumwise import Bags
from sumwise.distribution import MarginalKernel, PyramidMatchKernel, WassersteinKernel

__all__ = ["MEANS", "SPREADS", "similarity"]

MEANS = np.linspace(-4, 4, 41)
SPREADS = np.geomspace(0.25, 4, 33)
ROWS = 2000


def similarity() -> dict[str, Any]:
    """Surfaces (spreads, means) by name, and the largest difference of the Gaussian one from its closed form.

    Bags hold the quantiles of normal distributions, so that nothing is left to chance.
    """
    shape = norm.ppf((np.arange(ROWS) + 0.5) / ROWS)
    one = Bags.from_arrays([shape, shape])
    grid = Bags.from_arrays([m + s * shape for s in SPREADS for m in MEANS])
    whole = Bags.from_arrays([shape, *grid])
    gaussian = MarginalKernel(n_nodes=256).fit(one)  # 64 reach ten widths, these twenty
    pyramid = PyramidMatchKernel().fit(whole)
    surfaces = {"Gaussian": _grid(gaussian, grid, one), "pyramid": _grid(pyramid, grid, one)}
    for order in (1, 2):
        kernel = WassersteinKernel(order, gamma=1.0).fit(one)
        surfaces[f"W{order}"] = -np.log(_grid(kernel, grid, one)) * kernel.columns_.scale[0] ** order
    width = float(np.ravel(gaussian.embedding_.unit_)[0] * gaussian.columns_.scale[0])
    total = width**2 + 1 + SPREADS[:, None] ** 2  # section 2.2, with the square root that its last line lost
    closed = width / np.sqrt(total) * np.exp(-(MEANS**2) / (2 * total))
    gap = float(np.abs(surfaces["Gaussian"] - closed).max())
    return {"surfaces": surfaces, "width": width, "gap": gap}


def _grid(kernel: Any, grid: Bags, one: Bags) -> np.ndarray:
    return kernel.gram(grid, one[:1])[:, 0].reshape(len(SPREADS), len(MEANS))
