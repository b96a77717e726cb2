"""Census codes in few classes, as exit polls ask: education in four, race in five."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError

EDUCATION = ("high school or less", "some college", "college graduate", "postgraduate")
RACE = ("white", "black", "asian", "hispanic", "other")
# the last code of each class
SCHOOLING = {"SCHL": (17, 20, 21, 24), "EDU": (6, 8, 9, 12)}


def coarse_education(codes: Any, scheme: str = "SCHL") -> pd.Series:
    """Educational attainment in four classes, as in Table I of Sun et al. 2017.

    Parameters
    ----------
    codes : array or series
        Codes; missing (a child under three) stays missing.
    scheme : {"SCHL", "EDU"}, default "SCHL"
        The American Community Survey's 24 codes since 2008, or the 12 codes of the NIST excerpts.

    Returns
    -------
    pandas.Series of categories

    Examples
    --------
    >>> from sumwise.datasets import coarse_education
    >>> coarse_education([16, 19, 21, 24]).tolist()
    ['high school or less', 'some college', 'college graduate', 'postgraduate']
    """
    checks.choice(scheme, "scheme", tuple(SCHOOLING))
    given = _codes(codes, scheme, SCHOOLING[scheme][-1])
    place = np.searchsorted(SCHOOLING[scheme], given.fillna(1).to_numpy(dtype=float))
    return _series(np.where(given.isna(), -1, place), EDUCATION, given)


def coarse_race(race: Any, hispanic: Any, not_hispanic: int = 1) -> pd.Series:
    """Race in five classes: white, black, Asian, Hispanic of any race, other.

    Parameters
    ----------
    race : array or series
        RAC1P, 1 to 9.
    hispanic : array or series
        HISP.
    not_hispanic : int, default 1
        The code of HISP for those who aren't: 1 in the American Community Survey, 0 in the NIST excerpts.

    Returns
    -------
    pandas.Series of categories

    Examples
    --------
    >>> from sumwise.datasets import coarse_race
    >>> coarse_race([1, 1, 2, 6, 9], [1, 2, 1, 1, 1]).tolist()
    ['white', 'hispanic', 'black', 'asian', 'other']
    """
    given = _codes(race, "RAC1P", 9)
    origin: Any = pd.Series(hispanic)
    checks.same_length(race=given, hispanic=origin)
    plain = given.map({1: 0, 2: 1, 6: 2}).where(given.isna() | given.isin([1, 2, 6]), 4)
    hispanics = origin.notna().to_numpy() & (origin.astype(float).to_numpy() != not_hispanic)
    place = np.where(hispanics, 3, plain.fillna(-1).to_numpy(dtype=float))
    return _series(place, RACE, given)


def _codes(codes: Any, name: str, last: int) -> Any:
    given: Any = pd.to_numeric(pd.Series(codes))
    known = given.dropna()
    outside = known[(known < 1) | (known > last) | (known % 1 != 0)]
    if len(outside):
        raise DataError(
            f"{name} holds {len(outside)} codes that aren't 1 to {last}. First: {outside.iloc[0]:g}.",
            hint="give the codes as published; missing is allowed.",
        )
    return given


def _series(place: np.ndarray, names: tuple, like: Any) -> pd.Series:
    return pd.Series(pd.Categorical.from_codes(place.astype(int), list(names)), index=like.index)
