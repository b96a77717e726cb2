"""Numbers behind the figures of distribution regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags


def similarity_numbers(
    kernels: Mapping[str, Any],
    means: Sequence[float] = tuple(np.linspace(-4, 4, 33)),
    deviations: Sequence[float] = tuple(np.geomspace(0.125, 8, 25)),
    n_rows: int = 200,
) -> Any:
    """Return how similar kernels find normal bags to the standard normal one, as the mean and the deviation change.

    Bags hold the quantiles of normal distributions, so that nothing is left to chance. Similarities are relative to
    that of the standard normal bag with itself.

    Parameters
    ----------
    kernels : mapping of name to bag kernel
        Unfitted ones are fitted to all bags of the figure; anything with ``fit(bags)`` and ``gram(bags, others)``.
    means, deviations : sequences of float
        One changes while the other stays at 0 and 1.
    n_rows : int >= 2, default 200

    Returns
    -------
    pandas frame with the columns kernel, varied ("mean" or "deviation"), value, similarity

    See Also
    --------
    sumwise.plots.plot_similarity : Draws these numbers.

    Examples
    --------
    >>> from sumwise.diagnostics import similarity_numbers
    >>> from sumwise.distribution import WassersteinKernel
    >>> numbers = similarity_numbers({"W2": WassersteinKernel(gamma=1.0)}, means=[0, 1], deviations=[1, 2])
    >>> numbers["similarity"].round(2).tolist()
    [1.0, 0.6, 1.0, 0.6]
    """
    import pandas as pd
    from scipy.stats import norm
    from sklearn.base import clone

    checks.at_least(n_rows, "n_rows", 2)
    shape = norm.ppf((np.arange(n_rows) + 0.5) / n_rows)
    settings = [("mean", float(m), m + shape) for m in checks.finite(means, "means", ndim=1)]
    settings += [("deviation", float(s), s * shape) for s in checks.positive(deviations, "deviations", ndim=1)]
    bags, centre = Bags.from_arrays([rows for *_, rows in settings]), Bags.from_arrays([shape])
    frames = []
    for name, kernel in kernels.items():
        fresh: Any = clone(kernel)
        fitted = fresh.fit(bags)
        similar = fitted.gram(bags, centre)[:, 0] / fitted.gram(centre)[0, 0]
        varied, value, _ = zip(*settings)
        frames.append(pd.DataFrame({"kernel": name, "varied": varied, "value": value, "similarity": similar}))
    return pd.concat(frames, ignore_index=True)
