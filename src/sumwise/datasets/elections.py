"""Precinct tables for ecological inference: margins, and the true cells where somebody counted them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.datasets.records import Election
from sumwise.datasets.store import read_csv
from sumwise.errors import DataError
from sumwise.margins import Margins

Names = tuple[Sequence[str], Sequence[str]]


def senc() -> Election:
    """Party registration by race in 212 precincts of south-east North Carolina, 2001.

    Returns
    -------
    Election
        Rows white, black, natam; columns dem, rep, non; ``cells`` (212, 3, 3) are the true counts.

    Examples
    --------
    >>> from sumwise import datasets
    >>> e = datasets.senc()
    >>> e.shares.round(3)[1]
    array([0.895, 0.041, 0.065])
    """
    df = read_csv("senc")
    rows, cols = ["white", "black", "natam"], ["dem", "rep", "non"]
    cells = np.stack([df[[prefix + c for c in cols]].to_numpy(float) for prefix in ("wh", "bl", "natam")], axis=1)
    units = (df["county"] + ": " + df["precinct"]).tolist()
    margins = margins_of(df[rows], df[cols], (rows, cols), units, "registered voters")
    return Election("senc", margins, cells, cells.sum(axis=0), df)


def rxc_data() -> Election:
    """Turnout by race in 60 precincts, 3 x 2; no truth.

    Returns
    -------
    Election
        Rows white, black, hisp; columns turnout, noturnout.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.rxc_data().margins
    Margins(units=60, rows=[white, black, hisp], cols=[turnout, noturnout], total=20,587)
    """
    return _counts("rxc_data", ["white", "black", "hisp"], ["turnout", "noturnout"])


def redistrict() -> Election:
    """Votes by race in 150 simulated precincts, 3 x 3; no truth.

    Returns
    -------
    Election
        Rows black, white, hispanic; columns dem, rep, novote; covariates avgage, perown.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.redistrict().margins
    Margins(units=150, rows=[black, white, hispanic], cols=[dem, rep, novote], total=99,230)
    """
    return _counts(
        "redistrict", ["black", "white", "hispanic"], ["dem", "rep", "novote"], "precinct", ["avgage", "perown"]
    )


def texas() -> Election:
    """Votes by race in 249 Texas precincts, 3 x 3; no truth.

    Returns
    -------
    Election
        Rows black, white, hispanic; columns Democrat, Republican, Abstain.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.texas().margins
    Margins(units=249, rows=[black, white, hispanic], cols=[Democrat, Republican, Abstain], total=470,250)
    """
    return _counts("texas", ["black", "white", "hispanic"], ["Democrat", "Republican", "Abstain"])


def stlouis() -> Election:
    """Votes for mayor by race in 349 St. Louis precincts, 2 x 5; no truth.

    Returns
    -------
    Election
        Rows bvap, ovap (black and other voting-age population); five columns with NoVote.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.stlouis().margins
    Margins(units=349, rows=[bvap, ovap], cols=[Bosley, Roberts, Ribaudo, Villa, NoVote], total=296,318)
    """
    return _counts("stlouis", ["bvap", "ovap"], ["Bosley", "Roberts", "Ribaudo", "Villa", "NoVote"])


def elec_1968() -> Election:
    """President 1968 by race in 1,143 southern counties, with covariates; no truth.

    The race shares are of the voting-age population, the vote shares of the votes cast (``pres_total``): the
    margins take the votes cast as totals on both sides, as the published analysis does.

    Returns
    -------
    Election
        Rows white, black, other; columns Humphrey, Nixon, Wallace, abstain; 13 covariates.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.elec_1968().margins
    Margins(units=1,143, rows=[white, black, other], cols=[Humphrey, Nixon, Wallace, abstain], total=1.47864e+07)
    """
    df = read_csv("elec_1968", text=["fips"])
    race = ["vap_white", "vap_black", "vap_other"]
    vote = ["pres_dem_hum", "pres_rep_nix", "pres_ind_wal", "pres_abs"]
    covariates = [
        *("pop_city", "pop_urban", "pop_rural", "farm", "nonfarm", "educ_elem", "educ_hsch", "educ_coll"),
        *("inc_00_03k", "inc_03_08k", "inc_08_25k", "inc_25_99k", "pres_turn"),
    ]
    total = df[["pres_total"]].to_numpy(float)
    names = ("white", "black", "other"), ("Humphrey", "Nixon", "Wallace", "abstain")
    margins = margins_of(
        df[race].to_numpy(float) * total,
        df[vote].to_numpy(float) * total,
        names,
        df["fips"].tolist(),
        "votes for president",
        covariates=df[covariates],
    )
    return Election("elec_1968", margins, frame=df)


def gwinnett_2018() -> Election:
    """Votes for governor by race of the actual voters in Gwinnett County, 2018; no truth.

    The two sides differ a little in most precincts (at most 140 voters): voters of known race are not the
    votes counted. The race totals are scaled to the votes. Precinct 035 is published in two lines, which
    share out its votes and repeat its race totals: it is one unit here. ``frame`` has the 157 lines as
    published.

    Returns
    -------
    Election
        156 precincts; rows white, black, hispanic, other; columns kemp, abrams, metz.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.gwinnett_2018().margins
    Margins(units=156, rows=[white, black, hispanic, other], cols=[kemp, abrams, metz], total=314,918)
    """
    df = read_csv("gwinnett_2018", text=["precinct"])
    race, vote = ["white", "black", "hispanic", "other"], ["kemp", "abrams", "metz"]
    precincts = df.groupby("precinct", sort=False)
    rows, cols = precincts[race].first().to_numpy(float), precincts[vote].sum()
    rows = rows * (cols.to_numpy(float).sum(axis=1) / rows.sum(axis=1))[:, None]
    margins = margins_of(
        rows, cols, (race, vote), cols.index.tolist(), "votes for governor; race totals scaled to them"
    )
    return Election("gwinnett_2018", margins, frame=df)


def santa_clara() -> Election:
    """City council seat 2 by ancestry in 42 precincts of Santa Clara; no truth.

    Returns
    -------
    Election
        Rows indian, east asian, not asian (shares of the voters); columns hardy, kolstad, nadeem. The
        published shares have seven decimals; the last of each side is the rest of the total.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.santa_clara().margins
    Margins(units=42, rows=[indian, east asian, not asian], cols=[hardy, kolstad, nadeem], total=19,604)
    """
    df = read_csv("santa_clara", text=["precinct"])
    total = df[["total2"]].to_numpy(float)
    rows = with_rest(df[["pct_ind_vote", "pct_e_asian_vote"]].to_numpy(float)) * total
    cols = with_rest(df[["pct_for_hardy2", "pct_for_kolstad2"]].to_numpy(float)) * total
    names = ["indian", "east asian", "not asian"], ["hardy", "kolstad", "nadeem"]
    margins = margins_of(rows, cols, names, df["precinct"].tolist(), "votes for seat 2")
    return Election("santa_clara", margins, frame=df)


def waterbury() -> Election:
    """Governor 2010 by race in 23 precincts of Waterbury; no truth.

    The published race shares overlap (they sum to more than one), so the rows are white and not white;
    ``frame`` has the black and hispanic shares.

    Returns
    -------
    Election
        Rows white, not white; columns Foley, Malloy, other.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.waterbury().margins
    Margins(units=23, rows=[white, not white], cols=[Foley, Malloy, other], total=13,399)
    """
    df = read_csv("waterbury", text=["Precinct"])
    total = df[["Total.Votes"]].to_numpy(float)
    rows = with_rest(df[["White.Pct"]].to_numpy(float)) * total
    cols = with_rest(df[["Tom.Foley", "Dan.Malloy"]].to_numpy(float)) * total
    names = ["white", "not white"], ["Foley", "Malloy", "other"]
    return Election("waterbury", margins_of(rows, cols, names, df["Precinct"].tolist(), "votes"), frame=df)


def chile_2021(groups: str = "age", mismatch: str = "drop") -> Election:
    """First round of the Chilean presidential election of 2021: 46,606 ballot boxes; no truth.

    In 9,719 boxes the number of voters differs from the number of ballots, mostly by one.

    Parameters
    ----------
    groups : {"age", "sex"}
        Whose votes: eight age groups, or M and F.
    mismatch : {"drop", "rescale"}
        What to do with those boxes: leave them out (36,887 remain), or scale the voters to the ballots.

    Returns
    -------
    Election
        Rows age groups (or sexes); columns seven candidates, BLANK.VOTES and NULL.VOTES.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.chile_2021().margins.cols.shape
    (36887, 9)
    """
    if groups not in ("age", "sex"):
        raise DataError(f"groups is {groups!r}.", hint="take 'age' or 'sex'.")
    if mismatch not in ("drop", "rescale"):
        raise DataError(f"mismatch is {mismatch!r}.", hint="take 'drop' or 'rescale'.")
    df = read_csv("chile_2021", text=["REGION", "ELECTORAL.DISTRICT", "BALLOT.BOX"])
    ages = ["X18.19", "X20.29", "X30.39", "X40.49", "X50.59", "X60.69", "X70.79", "X80."]
    row_names = ["18-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80+"]
    if groups == "sex":
        ages = row_names = ["M", "F"]
    options = [f"C{i}" for i in range(1, 8)] + ["BLANK.VOTES", "NULL.VOTES"]
    if mismatch == "drop":
        df = df[~df["MISMATCH"]].reset_index(drop=True)
    rows, cols = df[ages].to_numpy(float), df[options].to_numpy(float)
    if mismatch == "rescale":
        rows = rows * (cols.sum(axis=1) / rows.sum(axis=1))[:, None]
    units = (df["REGION"] + ": " + df["ELECTORAL.DISTRICT"] + ": " + df["BALLOT.BOX"]).tolist()
    return Election("chile_2021", margins_of(rows, cols, (row_names, options), units, "ballots"), frame=df)


def _counts(
    name: str, rows: list[str], cols: list[str], unit: str | None = None, covariates: list[str] | None = None
) -> Election:
    df = read_csv(name)
    units = None if unit is None else df[unit].astype(str).tolist()
    extra = None if covariates is None else df[covariates]
    return Election(name, margins_of(df[rows], df[cols], (rows, cols), units, covariates=extra), frame=df)


def margins_of(rows: Any, cols: Any, names: Names, units: Any, denominator: str = "people", **extra: Any) -> Margins:
    row_names, col_names = (tuple(side) for side in names)
    return Margins(
        np.asarray(rows, dtype=float),
        np.asarray(cols, dtype=float),
        units=units,
        row_names=row_names,
        col_names=col_names,
        denominator=denominator,
        **extra,
    )


def with_rest(shares: np.ndarray) -> np.ndarray:
    return np.concatenate([shares, 1 - shares.sum(axis=1, keepdims=True)], axis=1)
