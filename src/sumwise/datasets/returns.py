"""Votes by county and region, crosswalks from counties to census areas, and exit polls."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sumwise import checks
from sumwise.datasets.store import read_csv
from sumwise.errors import DataError


def regions_2016() -> pd.DataFrame:
    """Votes of 2016 in the 979 merged PUMA-county regions of Flaxman et al. (2016).

    Returns
    -------
    pandas.DataFrame
        region, votes_R, votes_oth, votes_D.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.regions_2016().shape
    (979, 4)
    """
    return read_csv("regions_2016")


def regions_2012() -> pd.DataFrame:
    """Votes of 2012 in the 979 merged PUMA-county regions of Flaxman et al. (2016).

    Returns
    -------
    pandas.DataFrame
        region, votes_D, votes_G, votes_L, votes_R, votes_oth.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.regions_2012().shape
    (979, 6)
    """
    return read_csv("regions_2012")


def region_centroids() -> pd.DataFrame:
    """Centroids of the 979 regions in Cartesian kilometres.

    Returns
    -------
    pandas.DataFrame
        region, x, y, z.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.region_centroids().shape
    (979, 4)
    """
    return read_csv("region_centroids")


def pummeler_regions_2012(areas: int = 2010) -> pd.DataFrame:
    """Votes of 2012 by region, as in the pummeler repository.

    Parameters
    ----------
    areas : {2010, 2000}
        Regions made of the census areas of 2010 (979) or of 2000 (840).

    Returns
    -------
    pandas.DataFrame
        region, votes_D, votes_G, votes_L, votes_R, votes_oth.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.pummeler_regions_2012().shape
    (979, 6)
    """
    return read_csv("pummeler_regions_2012", _which(areas))


def crosswalk(areas: int = 2010) -> pd.DataFrame:
    """Which census areas (PUMAs) a county lies in, with the share of its population.

    Codes stay text with their leading zeros. The file's second line, which describes the columns, is left
    out.

    Parameters
    ----------
    areas : {2010, 2000}
        Census areas of 2010 or of 2000.

    Returns
    -------
    pandas.DataFrame
        county, state, puma12 (or puma2k), stab, cntyname, PUMAname (or PUMA2kName), pop10, afact; 4,546 (or
        4,433) rows.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.crosswalk().shape
    (4546, 8)
    """
    number = _which(areas)
    columns = ["county", "state", ("puma12", "puma2k")[number]]
    frame = read_csv("crosswalk", number, text=columns, encoding="latin-1", keep_default_na=False)
    frame = frame.iloc[1:].reset_index(drop=True)
    return frame.assign(pop10=pd.to_numeric(frame["pop10"]), afact=pd.to_numeric(frame["afact"]))


def exit_polls_2016() -> pd.DataFrame:
    """Exit polls of 2016: who voted for whom by answer, in the nation and in 22 states.

    Returns
    -------
    pandas.DataFrame
        26,588 x 8: answer, answer_pct, cell_pct, election, question, question_number, state, vote_group. A
        missing ``cell_pct`` was not published (too few answers).

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.exit_polls_2016().shape
    (26588, 8)
    """
    return read_csv("exit_polls_2016", keep_default_na=False, na_values=[""])


def exit_poll_shares(question: str, number: int | None = None, parties: tuple[str, str] = ("Clinton", "Trump")) -> Any:
    """Two-party shares of 2016 by state and answer, as polled on leaving the station.

    Parameters
    ----------
    question : str
        ``"Gender"``, ``"Race"``, ``"Education"``, ``"Age"``, ...
    number : int, optional
        Which of several tables of that name: race is asked in five groups (the first) and in two. Default the first of
        each state.
    parties : (str, str)
        The share is of the first among these two.

    Returns
    -------
    pandas.DataFrame
        ``state`` (``"National"`` is the nation), ``answer``, ``share``, and ``size``: the answer's share of all, for
        weights. Answers whose votes were not published are left out.

    Examples
    --------
    >>> from sumwise import datasets
    >>> polls = datasets.exit_poll_shares("Gender")
    >>> polls[polls["state"] == "National"][["answer", "share"]].round(2).to_numpy().tolist()
    [['Male', 0.44], ['Female', 0.56]]
    """
    frame: Any = exit_polls_2016()
    frame = frame[frame["election"] == "president"]
    checks.known(question, sorted(frame["question"].unique()), "question")
    frame = frame[frame["question"] == question]
    first = frame.groupby("state")["question_number"].transform("min") if number is None else number
    frame = frame[frame["question_number"] == first]
    if frame.empty:
        raise DataError(f"{question!r} has no table of number {number}.")
    for party in parties:
        checks.known(party, sorted(frame["vote_group"].unique()), "vote")
    keys = ["state", "answer"]
    wide = frame.pivot_table(index=keys, columns="vote_group", values="cell_pct", aggfunc="first", sort=False)
    both = wide[list(parties)].dropna()
    out = pd.DataFrame({"share": both[parties[0]] / both.sum(axis=1)})
    out["size"] = frame.groupby(keys)["answer_pct"].first().reindex(out.index) / 100.0
    return out.reset_index()


def county_results(year: int = 2016) -> pd.DataFrame:
    """Votes for president by county.

    Parameters
    ----------
    year : {2016, 2020, 2024}
        Which election.

    Returns
    -------
    pandas.DataFrame
        As published, with the county code as five digits of text in ``fips``. In 2016 every borough of
        Alaska carries the statewide result, ``diff`` has thousands separators and ``per_point_diff`` a
        percent sign (both text).

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.county_results().shape
    (3141, 10)
    """
    years = (2016, 2020, 2024)
    if year not in years:
        raise DataError(f"There are no county results of {year!r}.", hint=f"the years are {years}.")
    code = "combined_fips" if year == 2016 else "county_fips"
    frame = read_csv("county_results", years.index(year), text=[code], keep_default_na=False)
    frame = frame.drop(columns="", errors="ignore")
    return frame.rename(columns={code: "fips"}).assign(fips=lambda df: df["fips"].str.zfill(5))


def county_results_2008_2016() -> pd.DataFrame:
    """Votes for president by county in 2008, 2012 and 2016.

    Returns
    -------
    pandas.DataFrame
        fips (five digits of text), county, and total, dem, gop, oth of each year; 3,112 rows.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.county_results_2008_2016().shape
    (3112, 14)
    """
    frame = read_csv("county_results_2008_2016", text=["fips_code"])
    return frame.rename(columns={"fips_code": "fips"}).assign(fips=lambda df: df["fips"].str.zfill(5))


def county_candidates_2016() -> pd.DataFrame:
    """Votes of 2016 by county and candidate.

    Returns
    -------
    pandas.DataFrame
        fips (five digits of text), geo_name, individual_party, name, rank, reporting_pct, state, vote_pct,
        votes; 18,011 rows.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.county_candidates_2016().shape
    (18011, 9)
    """
    frame = read_csv("county_candidates_2016", text=["fips"])
    return frame.assign(fips=frame["fips"].str.zfill(5))


def county_2012_2016() -> pd.DataFrame:
    """County votes, adult population and turnout, 2012 and 2016.

    Returns
    -------
    pandas.DataFrame
        3,114 x 28, ``fips_code`` as five digits of text; the spreadsheet's ``#DIV/0!`` is missing.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.county_2012_2016().shape
    (3114, 28)
    """
    frame = read_csv(
        "county_2012_2016", text=["fips_code", "county_number"], na_values=["#DIV/0!", ""], keep_default_na=False
    )
    return frame.assign(fips_code=frame["fips_code"].str.zfill(5))


def _which(areas: int) -> int:
    if areas not in (2010, 2000):
        raise DataError(f"areas is {areas!r}.", hint="take 2010 or 2000.")
    return (2010, 2000).index(areas)
