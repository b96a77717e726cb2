"""Expected against observed counts of bags: are predicted probabilities right on average, and do bags vary more?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def bag_calibration(bags: Bags, counts: Any, probabilities: Any, bins: int = 10) -> pd.DataFrame:
    """Predicted against observed shares of held-out bags, in groups of about equally many bags by prediction.

    Parameters
    ----------
    bags : Bags
        Best such that the classifier was not fitted to.
    counts : array of shape (n_bags,)
        Members of class 1 among the rows.
    probabilities : array of shape (n_rows,) or (n_rows, 2)
        Of class 1, from ``predict_proba(bags)``.
    bins : int >= 1, default 10

    Returns
    -------
    pandas.DataFrame
        ``n`` bags, ``predicted`` and ``observed`` share, the standard ``error`` of the observed one, and
        ``dispersion``: the mean of squared differences over what independent labels would give. About 1 is right; far
        above it, bags differ beyond their members, and ``random_intercept=True`` or ``kind="sandwich"`` is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.metrics import bag_calibration
    >>> bags = Bags(np.zeros((8, 1)), [0, 4, 8])
    >>> bag_calibration(bags, [1, 3], np.repeat([0.25, 0.5], 4), bins=2)[["predicted", "observed", "dispersion"]]
       predicted  observed  dispersion
    0       0.25      0.25         0.0
    1       0.50      0.75         1.0
    """
    import pandas as pd

    checks.at_least(bins, "bins", 1)
    p = checks.finite(probabilities, "probabilities")
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p
    z = checks.counts(counts, "counts", ndim=1)
    checks.same_length(bags=bags, counts=z)
    if p.shape != (bags.n_rows,):
        raise DataError(f"probabilities has shape {p.shape}; the bags have {bags.n_rows} rows.")
    if (bags.sizes == 0).any():
        raise DataError(f"{int((bags.sizes == 0).sum())} bags are empty.", hint="bags.drop_empty().")
    expected = np.add.reduceat(p, bags.offsets[:-1])
    variance = np.maximum(np.add.reduceat(p * (1.0 - p), bags.offsets[:-1]), 1e-12)
    rows = []
    for group in np.array_split(np.argsort(expected / bags.sizes, kind="stable"), min(bins, len(bags))):
        size, dispersion = bags.sizes[group].sum(), float(((z - expected)[group] ** 2 / variance[group]).mean())
        error = np.sqrt(max(dispersion, 1.0) * variance[group].sum()) / size
        rows.append((len(group), expected[group].sum() / size, z[group].sum() / size, error, dispersion))
    return pd.DataFrame(rows, columns=["n", "predicted", "observed", "error", "dispersion"])
