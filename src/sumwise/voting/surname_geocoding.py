"""Race and ethnicity from surname and place (BISG), and the uncertain group counts that follow.

No names come with sumwise: the tables are the user's (for the United States, the Census Bureau's surname list and block
or tract counts).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.frames import in_one_order
from sumwise.margins import Margins


def bisg(surnames: Sequence, places: Sequence, surname_table: pd.DataFrame, place_table: pd.DataFrame) -> pd.DataFrame:
    """Compute each voter's probabilities of groups by Bayesian improved surname geocoding (Elliott et al. 2009).

    P(group | surname, place) is proportional to P(group | surname) P(place | group), which assumes that within a
    group surnames and places are independent.

    Parameters
    ----------
    surnames, places : sequences of equal length
        One entry per voter. Case and outer blanks of surnames don't matter.
    surname_table : DataFrame
        Indexed by surname, a column per group: shares (or counts) of people of that surname.
    place_table : DataFrame
        Indexed by place, the same columns: counts of people of each group.

    Returns
    -------
    pandas.DataFrame
        One row per voter, columns as in the tables; rows sum to 1. A surname that the table lacks has the shares of
        all places together; ``frame.attrs`` counts such surnames, and voters whose place has nobody who fits.

    See Also
    --------
    uncertain_margins : Margins from such probabilities, with their error.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.voting import bisg
    >>> names = pd.DataFrame({"a": [0.9, 0.2], "b": [0.1, 0.8]}, index=["SMITH", "JONES"])
    >>> places = pd.DataFrame({"a": [10, 90], "b": [90, 10]}, index=["north", "south"])
    >>> bisg(["smith", "Jones"], ["north", "south"], names, places).round(2).values.tolist()
    [[0.5, 0.5], [0.69, 0.31]]
    """
    groups = list(place_table.columns)
    if list(surname_table.columns) != groups:
        raise DataError(
            f"The tables have different groups: {list(surname_table.columns)} and {groups}.", hint="name them alike."
        )
    if len(surnames) != len(places):
        raise DataError(f"There are {len(surnames)} surnames and {len(places)} places.", hint="one of each per voter.")
    by_name, by_place = _checked(surname_table, "surname_table"), _checked(place_table, "place_table")
    overall = by_place.sum(axis=0) / by_place.sum()
    known = {str(name).strip().upper(): k for k, name in enumerate(surname_table.index)}
    where = {place: k for k, place in enumerate(place_table.index)}
    lost = [place for place in places if place not in where]
    if lost:
        raise DataError(
            f"{len(lost)} of {len(places)} voters live in places that place_table lacks; first {lost[0]!r}.",
            hint="add these places, or leave the voters out.",
        )
    at = np.array([known.get(str(name).strip().upper(), -1) for name in surnames], dtype=int)
    prior = np.where(at[:, None] >= 0, by_name[at], overall)
    prior = prior / prior.sum(axis=1, keepdims=True)
    likelihood = (by_place / np.maximum(by_place.sum(axis=0), 1e-300))[np.array([where[p] for p in places], dtype=int)]
    joint = prior * likelihood
    evidence = joint.sum(axis=1, keepdims=True)
    frame = pd.DataFrame(np.where(evidence > 0, joint / np.maximum(evidence, 1e-300), prior), columns=groups)
    frame.attrs = {"unknown surnames": int((at < 0).sum()), "places without a fit": int((evidence[:, 0] <= 0).sum())}
    return frame


def _checked(table: pd.DataFrame, name: str) -> np.ndarray:
    values = table.to_numpy(dtype=float)
    if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise DataError(f"{name} has entries that are negative, missing or all zero.", hint="give shares or counts.")
    empty = values.sum(axis=1) <= 0
    if name == "surname_table" and empty.any():
        raise DataError(f"{int(empty.sum())} surnames have no people.", hint="leave them out of surname_table.")
    return values / values.sum(axis=1, keepdims=True) if name == "surname_table" else values


def uncertain_margins(probabilities: Any, unit_of_voter: Sequence, cols: pd.DataFrame, weights: Any = None) -> Margins:
    """Build margins whose groups are sums of voters' probabilities, with the standard deviation of these sums.

    Parameters
    ----------
    probabilities : DataFrame or array of shape (n_voters, R)
        Rows sum to 1, for example from `bisg`.
    unit_of_voter : sequence
        Each voter's unit.
    cols : DataFrame
        Indexed by unit, a column per outcome: counts. Groups are scaled to each unit's total of outcomes.
    weights : array, optional
        Of units.

    Returns
    -------
    Margins
        With ``row_sd``: voters' groups are independent given their probabilities. The truth varies around such sums:
        ``EcologicalEM(row_error="berkson")``.

    See Also
    --------
    bisg : Probabilities of groups from surnames and places.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.voting import uncertain_margins
    >>> p = pd.DataFrame({"a": [0.9, 0.5, 0.2], "b": [0.1, 0.5, 0.8]})
    >>> m = uncertain_margins(p, ["u", "u", "v"], pd.DataFrame({"yes": [1, 1], "no": [1, 0]}, index=["u", "v"]))
    >>> m.rows.round(2).tolist(), m.row_sd.round(2).tolist()
    ([[1.4, 0.6], [0.2, 0.8]], [[0.58, 0.58], [0.4, 0.4]])
    """
    aligned, _ = in_one_order({"probabilities": probabilities, "unit_of_voter": unit_of_voter})
    unit_of_voter, by_unit = aligned["unit_of_voter"], {"cols": cols, "weights": weights}
    frame, weights = pd.DataFrame(aligned["probabilities"]), in_one_order(by_unit)[0]["weights"]
    p = frame.to_numpy(dtype=float)
    if not np.isfinite(p).all() or (p < 0).any() or np.abs(p.sum(axis=1) - 1).max(initial=0.0) > 1e-6:
        raise DataError("Probabilities must be at least 0 and sum to 1 for every voter.", hint="bisg() gives such.")
    where = {unit: k for k, unit in enumerate(cols.index)}
    lost = [unit for unit in unit_of_voter if unit not in where]
    if lost or len(unit_of_voter) != len(p):
        mismatch = f"first {lost[0]!r}" if lost else f"{len(unit_of_voter)} units for {len(p)} voters"
        raise DataError(f"Voters and units don't match: {mismatch}.", hint="every voter's unit needs a row in cols.")
    at = np.array([where[unit] for unit in unit_of_voter], dtype=int)
    rows, variance = np.zeros((len(cols), p.shape[1])), np.zeros((len(cols), p.shape[1]))
    np.add.at(rows, at, p)
    np.add.at(variance, at, p * (1 - p))
    counts = cols.to_numpy(dtype=float)
    total, size = counts.sum(axis=1, keepdims=True), rows.sum(axis=1, keepdims=True)
    if ((size <= 0) & (total > 0)).any():
        unit = cols.index[int(np.argmax((size <= 0) & (total > 0)))]
        raise DataError(f"Unit {unit!r} has votes and no voter with probabilities.", hint="leave it out.")
    scale = np.divide(total, size, out=np.zeros_like(total), where=size > 0)
    names = [str(c) for c in frame.columns]
    return Margins(
        rows * scale,
        counts,
        units=list(cols.index),
        row_names=names,
        col_names=[str(c) for c in cols.columns],
        weights=weights,
        row_sd=np.sqrt(variance) * scale,
    )
