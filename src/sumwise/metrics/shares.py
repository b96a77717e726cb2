"""Scores of predicted shares of groups: majorities, order, distance (Sun et al. 2017, Table III)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError


def majority_hits(predicted: Any, reference: Any) -> int:
    """In how many groups the prediction sees the right majority: on the same side of one half as the reference.

    A share of exactly one half is on neither side.

    Parameters
    ----------
    predicted, reference : arrays of shape (n_groups,)
        Two-party shares.

    Examples
    --------
    Men and women of 2016, predicted and polled (Sun et al. 2017, Table II):

    >>> from sumwise.metrics import majority_hits
    >>> majority_hits([0.41, 0.45], [0.44, 0.57])
    1
    """
    p, r = _shares(predicted, reference)
    return int((np.sign(p - 0.5) == np.sign(r - 0.5)).sum())


def pair_order(predicted: Any, reference: Any) -> float:
    """Share of pairs of groups that the prediction puts in the reference's order; a tie in the prediction counts half.

    Pairs that tie in the reference are left out.

    Parameters
    ----------
    predicted, reference : arrays of shape (n_groups,)

    Examples
    --------
    >>> from sumwise.metrics import pair_order
    >>> pair_order([0.44, 0.34, 0.71, 0.60], [0.47, 0.46, 0.53, 0.61])
    0.8333333333333334
    """
    p, r = _shares(predicted, reference)
    i, j = np.triu_indices(len(p), 1)
    order = np.sign(r[i] - r[j])
    if not order.any():
        raise DataError("No two groups differ in the reference, so there is no order to get right.")
    right = 0.5 + 0.5 * np.sign(p[i] - p[j]) * order
    return float(right[order != 0].mean())


def weighted_rmse(predicted: Any, reference: Any, weights: Any = None) -> float:
    """Root of the weighted mean of squared differences.

    Parameters
    ----------
    predicted, reference : arrays of shape (n_groups,)
    weights : array of shape (n_groups,), optional
        Sizes of the groups; default all equal.

    Examples
    --------
    >>> from sumwise.metrics import weighted_rmse
    >>> round(weighted_rmse([0.41, 0.45], [0.44, 0.57], [48, 52]), 2)
    0.09
    """
    p, r = _shares(predicted, reference)
    w = np.ones(len(p)) if weights is None else checks.counts(weights, "weights", ndim=1)
    checks.same_length(predicted=p, weights=w)
    if not w.any():
        raise DataError(f"All {len(w)} weights are zero.", hint="give the sizes of the groups.")
    return float(np.sqrt(w @ (p - r) ** 2 / w.sum()))


def share_scores(predicted: Any, reference: Any, weights: Any = None) -> dict[str, Any]:
    """The three scores together, with the number of groups.

    Parameters
    ----------
    predicted, reference : (n_groups,) array in [0, 1]
        Shares by group.
    weights : (n_groups,) array, optional
        How much each group counts; equally by default.

    Examples
    --------
    >>> from sumwise.metrics import share_scores
    >>> share_scores([0.41, 0.45], [0.44, 0.57])["majority"]
    1
    """
    return {
        "groups": len(np.atleast_1d(reference)),
        "majority": majority_hits(predicted, reference),
        "order": pair_order(predicted, reference),
        "rmse": weighted_rmse(predicted, reference, weights),
    }


def _shares(predicted: Any, reference: Any) -> tuple[np.ndarray, np.ndarray]:
    out = []
    for name, given in (("predicted", predicted), ("reference", reference)):
        array = checks.finite(given, name, ndim=1)
        if ((array < 0) | (array > 1)).any():
            far = array[np.argmax(np.abs(array - 0.5))]
            raise DataError(f"{name} holds {far:g}; shares lie between 0 and 1.", hint="divide per cents by 100.")
        out.append(array)
    checks.same_length(predicted=out[0], reference=out[1])
    if not len(out[0]):
        raise DataError("There are no groups.")
    return out[0], out[1]
