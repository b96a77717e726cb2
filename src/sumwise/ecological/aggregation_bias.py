"""A test of aggregation bias: whether outcomes are linear in composition, and what the test can see."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from sumwise import checks
from sumwise.ecological.kernels.least_squares import fitted_curvature
from sumwise.margins import Margins


def aggregation_bias_test(margins: Margins, effect: float = 0.2, alpha: float = 0.05) -> pd.DataFrame:
    """Test whether outcomes are linear in composition, with the power of each test.

    Shares that don't depend on composition make outcomes linear in it. A small p-value speaks against that. A large
    one says little where the power is small; dependence that is the same for all groups leaves no curvature at all.

    Parameters
    ----------
    margins : Margins
    effect : float > 0, default 0.2
        The difference of two groups' slopes in composition for which the power is computed.
    alpha : float in (0, 1), default 0.05
        The level of the test.

    Returns
    -------
    pandas.DataFrame
        Per group and outcome: curvature, standard error, p-value, p-value adjusted for the number of tests (Holm 1979),
        power against `effect`, and the effect that would be found with a power of 0.8.

    See Also
    --------
    sensitivity : How strong a contextual effect would overturn a finding.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import aggregation_bias_test
    >>> aggregation_bias_test(synthetic.precincts(60, random_state=0).margins)["power"].between(0, 1).all()
    np.True_
    """
    size, alpha = float(checks.positive(effect, "effect")), checks.fraction(alpha, "alpha")
    full = margins[margins.totals > 0]
    weight = full.totals * full.weights
    rows = []
    for r in range(margins.n_rows if margins.n_rows > 2 else 1):  # two groups mirror each other
        for c in range(margins.n_cols if margins.n_cols > 2 else 1):
            x, t = full.row_shares[:, r], full.col_shares[:, c]
            curvature, error, freedom = fitted_curvature(x, t, weight / weight.mean())
            row = {"group": margins.row_names[r], "outcome": margins.col_names[c], "curvature": curvature}
            if error > 0:
                cut, noncentral = float(stats.t.ppf(1 - alpha / 2, freedom)), size / error
                p = float(2 * stats.t.sf(abs(curvature / error), freedom))
                power = float(stats.norm.sf(cut - noncentral) + stats.norm.cdf(-cut - noncentral))
                detectable = float((cut + stats.norm.ppf(0.8)) * error)
            else:
                p, power, detectable = 1.0, 0.0, np.inf
            rows.append(row | {"standard error": error, "p value": p, "power": power, "detectable": detectable})
    frame = pd.DataFrame(rows)
    frame.insert(5, "adjusted p", _holm(frame["p value"].to_numpy()))
    return frame


def _holm(p: np.ndarray) -> np.ndarray:
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
