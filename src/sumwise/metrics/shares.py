"""Scores of predicted shares: of groups (Sun et al. 2017, Table III) and of bags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def share_scores(predicted: Any, reference: Any, weights: Any = None) -> dict[str, Any]:
    """Compare predicted shares of groups with a reference such as a poll.

    Parameters
    ----------
    predicted, reference : (n_groups,) array in [0, 1]
        Two-party shares by group.
    weights : (n_groups,) array, optional
        Sizes of the groups; equal by default.

    Returns
    -------
    dict
        ``groups``, their number; ``majority``, the number of groups with the right majority (a share of exactly one
        half has none); ``order``, the share of pairs of groups in the right order (a predicted tie counts half, pairs
        that tie in the reference are left out); ``rmse``, the weighted root mean squared error.

    Examples
    --------
    Men and women of 2016, predicted and polled (Sun et al. 2017, Table II):

    >>> from sumwise.metrics import share_scores
    >>> share_scores([0.41, 0.45], [0.44, 0.57])["majority"]
    1
    """
    p, r = _shares(predicted, reference)
    w = np.ones(len(p)) if weights is None else checks.counts(weights, "weights", ndim=1)
    checks.same_length(predicted=p, weights=w)
    if not w.any():
        raise DataError(f"All {len(w)} weights are zero.", hint="give the sizes of the groups.")
    return {
        "groups": len(p),
        "majority": int((np.sign(p - 0.5) == np.sign(r - 0.5)).sum()),
        "order": _pairs_in_order(p, r),
        "rmse": float(np.sqrt(w @ (p - r) ** 2 / w.sum())),
    }


def _pairs_in_order(p: np.ndarray, r: np.ndarray) -> float:
    i, j = np.triu_indices(len(p), 1)
    order = np.sign(r[i] - r[j])
    if not order.any():
        raise DataError("No two groups differ in the reference, so there is no order to get right.")
    right = 0.5 + 0.5 * np.sign(p[i] - p[j]) * order
    return float(right[order != 0].mean())


def _shares(predicted: Any, reference: Any) -> tuple[np.ndarray, np.ndarray]:
    out = []
    for name, given in (("predicted", predicted), ("reference", reference)):
        array = checks.finite(given, name, ndim=1)
        if ((array < 0) | (array > 1)).any():
            far = array[np.argmax(np.abs(array - 0.5))]
            raise DataError(f"{name} contains {far:g}; shares lie between 0 and 1.", hint="divide per cents by 100.")
        out.append(array)
    checks.same_length(predicted=out[0], reference=out[1])
    if not len(out[0]):
        raise DataError("There are no groups.")
    return out[0], out[1]


def bag_calibration(bags: Bags, counts: Any, probabilities: Any, bins: int = 10) -> pd.DataFrame:
    """Predicted against observed shares of held-out bags, in groups of about equally many bags by prediction.

    Parameters
    ----------
    bags : Bags
        Bags that the classifier was not fitted to.
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
        above it, bags differ beyond their members.

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


SIDES = ("in the prediction", "in the poll")
