"""Scores of predicted class probabilities: normalised log-likelihood, area under the curve, calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

PROBABILITY_FLOOR = 1e-15  # how far from 0 and 1 they are kept: one bold mistake costs much, and not everything


def nllh(labels: Any, probabilities: Any) -> float:
    """Normalised log-likelihood: 1 + mean log-likelihood / entropy of the labels; higher is better.

    0 is a constant prediction at the labels' own shares, 1 a perfect one, below 0 worse than constant. (Gilotte et al.
    2022 print it with another sign.)

    Parameters
    ----------
    labels : array of shape (n,)
        0 or 1; or the positions of the classes, for probabilities of K columns.
    probabilities : array of shape (n,) or (n, K)
        Of label 1, or of every class.

    Examples
    --------
    >>> from sumwise.metrics import nllh
    >>> nllh([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5])
    0.0
    """
    y, p = _checked(labels, probabilities)
    share = np.bincount(y, minlength=p.shape[1]) / len(y)
    share = share[share > 0]
    if len(share) < 2:
        raise DataError("All labels are equal, so there is no entropy to compare with.")
    entropy = -float(share @ np.log(share))
    return float(1.0 + np.log(np.clip(p[np.arange(len(y)), y], PROBABILITY_FLOOR, 1.0)).mean() / entropy)


def auc(labels: Any, probabilities: Any) -> float:
    """Chance that a positive has a higher probability than a negative (area under the ROC curve); ties count half.

    Parameters
    ----------
    labels : array of 0 and 1, shape (n,)
    probabilities : array of shape (n,) or (n, 2)

    Examples
    --------
    >>> from sumwise.metrics import auc
    >>> auc([0, 1, 1, 0], [0.1, 0.8, 0.4, 0.4])
    0.875
    """
    from scipy.stats import rankdata

    y, p = _checked(labels, probabilities)
    if p.shape[1] != 2:
        raise DataError(f"The area under the curve is for two classes; there are {p.shape[1]}.")
    n_one = int(y.sum())
    if n_one in (0, len(y)):
        raise DataError("All labels are equal, so positives can't be compared with negatives.")
    ranks = rankdata(p[:, 1])
    return float((ranks[y == 1].sum() - n_one * (n_one + 1) / 2) / (n_one * (len(y) - n_one)))


def calibration(labels: Any, probabilities: Any, bins: int = 10) -> pd.DataFrame:
    """Predicted against observed shares of label 1, in groups of about equal size by prediction.

    Parameters
    ----------
    labels : array of 0 and 1, shape (n,)
    probabilities : array of shape (n,) or (n, 2)
    bins : int >= 1, default 10

    Returns
    -------
    pandas.DataFrame
        ``n``, ``predicted``, ``observed`` and the standard ``error`` of the observed share, one row per group.

    Examples
    --------
    >>> from sumwise.metrics import calibration
    >>> calibration([0, 0, 1, 1], [0.2, 0.2, 0.6, 0.8], bins=2)[["predicted", "observed"]]
       predicted  observed
    0        0.2       0.0
    1        0.7       1.0
    """
    import pandas as pd

    y, p = _checked(labels, probabilities)
    bins = checks.at_least(bins, "bins", 1)
    groups = np.array_split(np.argsort(p[:, 1], kind="stable"), min(bins, len(y)))
    rows = []
    for group in groups:
        share, n = float(y[group].mean()), len(group)
        rows.append((n, float(p[group, 1].mean()), share, float(np.sqrt(max(share * (1 - share), 1 / n) / n))))
    return pd.DataFrame(rows, columns=["n", "predicted", "observed", "error"])


def _checked(labels: Any, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class positions (n,) and probabilities (n, K)."""
    p = checks.finite(probabilities, "probabilities")
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    if p.ndim != 2 or p.shape[1] < 2 or p.min() < -1e-9 or np.abs(p.sum(axis=1) - 1).max() > 1e-6:
        raise DataError("probabilities must lie in [0, 1] and sum to 1 per row.", hint="give predict_proba(...).")
    y = checks.whole(labels, "labels", ndim=1, allow_bool=True).astype(int)
    checks.same_length(labels=y, probabilities=p)
    if y.max() >= p.shape[1]:
        raise DataError(f"labels go up to {y.max()}; there are {p.shape[1]} classes.", hint="give positions 0, 1, ...")
    return y, p
