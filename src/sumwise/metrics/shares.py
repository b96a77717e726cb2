"""Scores of predicted shares: of groups (Sun et al. 2017, Table III), of bags, and beside polls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks, frames
from sumwise.bags import Bags
from sumwise.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


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


def compare_polls(predicted: Any, polls: Any, on: Sequence, missing: str = "raise") -> pd.DataFrame:
    """Put predicted and polled shares of the same groups side by side.

    Parameters
    ----------
    predicted : data frame
        The columns of ``on``, ``share``, and perhaps ``low`` and ``high``: from ``subgroups(...).two_party(...)``.
    polls : data frame
        The columns of ``on``, ``share``, and perhaps ``size`` (how many were asked, or their share).
    on : list of columns
        What defines a group on both sides.
    missing : {"raise", "drop"}, default "raise"
        What to do with groups that one side lacks: polls leave small groups out.

    Returns
    -------
    pandas.DataFrame
        The columns of ``on``, ``predicted``, ``polled``, ``difference``; ``weight`` where polls have a size; ``low``,
        ``high`` and ``covered`` where predictions have an interval. `share_scores` takes its columns.

    Examples
    --------
    >>> from sumwise.metrics import compare_polls
    >>> compare_polls({"sex": ["m", "f"], "share": [0.4, 0.5]}, {"sex": ["f", "m"], "share": [0.56, 0.44]}, ["sex"])
      sex  predicted  polled  difference
    0   m        0.4    0.44       -0.04
    1   f        0.5    0.56       -0.06
    """
    checks.choice(missing, "missing", ("raise", "drop"))
    on = checks.listing(on, "on", "give a list of columns.")
    ours, theirs = (_keyed(frame, on, name) for frame, name in ((predicted, "predicted"), (polls, "polls")))
    alone = [[key for key in a.index if key not in b.index] for a, b in ((ours, theirs), (theirs, ours))]
    if missing == "raise" and any(alone):
        shown = [f"{len(keys)} {where} alone ({_listed(keys)})" for keys, where in zip(alone, SIDES) if keys]
        raise DataError(
            f"The groups by {', '.join(map(str, on))} don't match: {'; '.join(shown)}.",
            hint="rename groups so that both sides agree, or missing='drop'.",
        )
    both = [key for key in ours.index if key in theirs.index]
    if not both:
        raise DataError(
            f"No group by {', '.join(map(str, on))} is on both sides: predicted {_listed(ours.index)}; "
            f"polls {_listed(theirs.index)}.",
            hint="rename groups so that both sides agree.",
        )
    return _beside(ours.loc[both], theirs.loc[both], on)


SIDES = ("in the prediction", "in the poll")


def _keyed(frame: Any, on: list, name: str) -> pd.DataFrame:
    """The frame with its groups as index, as text, so that 1 and "1" or a category meet."""
    import pandas as pd

    table = frames.to_pandas(frame, what=name).reset_index(drop=True)
    for column in (*on, "share"):
        checks.known(column, list(table.columns), f"column of {name}")
    checks.finite(table["share"], f"The share of {name}")
    keys = list(zip(*(table[column].astype(str) for column in on)))
    # a group may have several rows, such as one for each state
    seen: set = set()
    twice = [key for key in keys if key in seen or seen.add(key)]
    if twice:
        raise DataError(
            f"{name} has {len(keys)} rows for {len(seen)} groups by {', '.join(map(str, on))}. Several rows: "
            f"{_listed(dict.fromkeys(twice))}.",
            hint="choose the rows of one state, or name the state's column in on=, too.",
        )
    table.index = pd.Index(keys, tupleize_cols=False)
    return table


def _beside(ours: pd.DataFrame, theirs: pd.DataFrame, on: list) -> pd.DataFrame:
    out: Any = ours[on].copy()
    out["predicted"], out["polled"] = ours["share"], theirs["share"]
    out["difference"] = out["predicted"] - out["polled"]
    if "size" in theirs:
        out["weight"] = theirs["size"]
    if {"low", "high"} <= set(ours.columns):
        out["low"], out["high"] = ours["low"], ours["high"]
        out["covered"] = (out["low"] <= out["polled"]) & (out["polled"] <= out["high"])
    out.index = range(len(out))
    return out


def _listed(keys: Any) -> str:
    shown = [", ".join(key) for key in list(keys)[:5]]
    return "; ".join(repr(t) for t in shown) + ("; ..." if len(keys) > 5 else "")
