"""The two sides of margins: shares against counts, rests, ballots, and what to do where totals differ."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError, ModelWarning, sentence
from sumwise.margins import Margins
from sumwise.nonvoting import is_abstention

NO_VOTE = "no vote"
UNDERVOTE = "undervote"
BALLOTS = re.compile(r"(?<![a-z])(ballots?|turnout|voters?|voted|votes?|cast)(?![a-z])", re.IGNORECASE)
ADULTS = re.compile(
    r"c?vap(?![a-z])|(?<![a-z])(adults?|pop(ulation)?|citizens?|registered|voting.?age)(?![a-z])", re.IGNORECASE
)
HISPANIC = re.compile(r"hisp|latin[oax]", re.IGNORECASE)
EXCLUSIVE = re.compile(r"non?[\W_]*(hisp|latin)|(?<![a-z])nh(?![a-z])|^nh|only|alone", re.IGNORECASE)
RACE = re.compile(r"white|wht|black|blk|asian|native", re.IGNORECASE)
KINDS = ("count", "share", "percent")
MOST_ROUNDING = 0.03  # of the whole; shares that miss it by more were not rounded but overlap or leave people out
MOST_OVER = 0.05  # of the total, in the median unit: beyond this, groups overlap
FAR_APART = 0.2  # of the larger total: beyond this, rescaling a unit is worth a warning
FEWEST_UNITS = 4  # among which one that is the sum of the others is no coincidence
REST_HINT = "correct these units, drop them, or pass mismatch='rescale' to scale each side to the total."


def margins_of(
    columns: Mapping[Any, np.ndarray],
    units: Any,
    rows: Mapping,
    cols: Mapping,
    total: str | None = None,
    mismatch: str = "raise",
    weight: str | None = None,
    covariates: Sequence = (),
    rows_in: str | None = None,
    cols_in: str | None = None,
    row_sd: Sequence | None = None,
    ballots: str | None = None,
) -> Margins:
    """Margins of columns of numbers, each entry of which is checked; `rows` and `cols` are name -> column.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.io.formats.margin_sides import margins_of
    >>> columns = {"a": np.array([5.0, 2]), "b": np.array([5.0, 8]), "y": np.array([3.0, 4]), "n": np.array([7.0, 2])}
    >>> margins_of(columns, None, {"a": "a", "b": "b"}, {"y": "y", "n": "n"}, mismatch="no_vote").cols
    array([[3., 7., 0.],
           [4., 2., 4.]])
    """
    checks.choice(mismatch, "mismatch", ("raise", "rescale", "no_vote", "drop"))
    for name, kind in (("rows_in", rows_in), ("cols_in", cols_in)):
        if kind is not None:
            checks.choice(kind, name, KINDS)
    n = len(next(iter(columns.values())))
    units = checks.identifiers(units, n, "units")
    if rows_in is None:
        _refuse_shares_of_adults(columns, rows, total)
    _ask_whether_they_overlap(list(rows) if total is None and mismatch == "no_vote" else [])
    totals = None if total is None else columns[total]
    row_counts, people = _side_counts(columns, rows, totals, units, "rows", rows_in)
    cast = None if ballots is None else columns[ballots]
    _refuse_several_votes(columns, cols, cast, units, str(ballots), cols_in)
    col_counts, _ = _side_counts(columns, cols, totals if cast is None else cast, units, "cols", cols_in)
    _refuse_sum_of_others(row_counts, col_counts, units)
    col_names = list(cols)
    if cast is not None and (np.abs(cast - col_counts.sum(axis=1)) > checks.TOTALS_RTOL * cast).any():
        col_counts = np.column_stack([col_counts, np.maximum(cast - col_counts.sum(axis=1), 0.0)])
        col_names.append(UNDERVOTE if UNDERVOTE not in col_names else "none of these")
    denominator = "row totals of each unit" if total is None else f"column {total!r}"
    words = ""
    if mismatch == "drop":
        keep, words = _agreeing(row_counts, col_counts, totals, units)
        columns, units = {c: values[keep] for c, values in columns.items()}, units[keep]
        row_counts, col_counts = row_counts[keep], col_counts[keep]
        totals, people, mismatch = None if totals is None else totals[keep], people[keep], "raise"
    if totals is not None:
        _refuse_overlap(row_counts, totals, units)
        row_counts, _, _ = _settle(row_counts, totals, units, "rows", "rescale" if mismatch == "rescale" else "raise")
    target = row_counts.sum(axis=1) if totals is None else totals
    col_counts, added, settled = _settle(col_counts, target, units, "cols", mismatch)
    return Margins(
        row_counts,
        col_counts,
        units=units,
        row_names=list(rows),
        col_names=col_names + added,
        weights=None if weight is None else columns[weight],
        covariates=_matrix(columns, covariates) if covariates else None,
        covariate_names=tuple(covariates) if covariates else None,
        denominator=denominator + words + settled,
        row_sd=None if row_sd is None else _row_sd(columns, rows, row_sd, row_counts, people),
    )


def named_side(given: Any, which: str) -> dict:
    """Name -> column of one side; the column None is the rest of the total."""
    if not isinstance(given, Mapping):
        listed = checks.listing(given, which, "give a list of columns, or a dict of name to column.")
        given = dict.fromkeys(checks.unique(listed, which))
        given = {column: column for column in given}
    spec = {name: checks.name_of_column(column, f"{which} {name!r}") for name, column in given.items()}
    if not spec:
        raise DataError(f"{which} names no columns.")
    if sum(column is None for column in spec.values()) > 1:
        raise DataError(f"{which} has more than one rest (a column of None).", hint="only one name can be the rest.")
    if all(column is None for column in spec.values()):
        raise DataError(f"{which} names no column besides the rest.")
    return spec


def _matrix(columns: Mapping[Any, np.ndarray], names: Sequence) -> np.ndarray:
    return np.column_stack([columns[c] for c in names])


def _row_sd(table: Mapping, spec: Mapping, columns: Sequence, row_counts: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Standard errors of the groups, scaled as their counts were; `people` that a number stands for, in every unit.

    A rest is off by what all groups are off by together, taken as independent.
    """
    known, named = zip(*((k, column) for k, column in enumerate(spec.values()) if column is not None))
    if len(columns) != len(named):
        listed = ", ".join(map(str, named))
        raise DataError(f"row_sd has {len(columns)} columns for {len(named)} groups.", hint=f"one each for {listed}.")
    raw = _matrix(table, named).sum(axis=1)
    scale = np.divide(row_counts[:, known].sum(axis=1), raw, out=people.copy(), where=raw > 0)
    errors = scale[:, None] * _matrix(table, columns)
    row_sd = np.tile(np.sqrt((errors**2).sum(axis=1))[:, None], len(spec))
    row_sd[:, known] = errors
    return row_sd


def _side_counts(
    table: Mapping, spec: Mapping, totals: np.ndarray | None, units: np.ndarray, which: str, kind: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """The counts of one side, with shares multiplied out and the rest filled in; and people per number, by unit."""
    named = [c for c in spec.values() if c is not None]
    values = _matrix(table, named)
    has_rest = len(named) < len(spec)
    if has_rest and totals is None:
        raise DataError(f"{which} has a rest, but there is no total to take it from.", hint="name the total column.")
    if kind is None:
        kind = _kind(values, totals, has_rest)
    if kind == "count":
        return _with_rest(values, spec, totals, units, which) if has_rest else values, np.ones(len(values))
    if totals is None:
        raise DataError(f"{which} are {kind}s, but there is no total to take them of.", hint="name the total column.")
    whole = 1.0 if kind == "share" else 100.0
    return _from_shares(values / whole, spec, units, which, named) * totals[:, None], totals / whole


def _refuse_several_votes(
    table: Mapping, spec: Mapping, cast: np.ndarray | None, units: np.ndarray, ballots: str, kind: str | None
) -> None:
    """Refuse more votes than ballots: voters had several votes each, so that votes aren't people."""
    if cast is None:
        return
    named = [c for c in spec.values() if c is not None]
    votes = _matrix(table, named)
    if (kind or _kind(votes, cast, len(named) < len(spec))) != "count":
        return
    sums = votes.sum(axis=1)
    over = sums > cast * (1 + checks.TOTALS_RTOL)
    if not over.any():
        return
    i, each = int(np.argmax(over)), sums.sum() / max(float(cast.sum()), 1e-300)
    shown = ", ".join(map(str, named[:6])) + (", ..." if len(named) > 6 else "")
    several = bool(over.mean() > 0.5) and len(named) > 1
    raise DataError(
        f"The votes ({shown}) exceed {ballots!r} in {int(over.sum()):,} of {len(over):,} units, {each:.3g} votes for "
        f"each ballot overall. First: unit {checks.plain(units[i])!r} has {sums[i]:.10g} votes against {cast[i]:.10g} "
        "ballots." + (" Each voter had several votes, or the columns are of several contests." if several else ""),
        hint="votes aren't people then: read each candidate by itself, as "
        f"cols={{{named[0]!r}: {named[0]!r}, 'not {named[0]}': None}} with the same ballots."
        if several
        else "correct or drop these units.",
    )


def refuse_unused_ballots(columns: Mapping[Any, np.ndarray], others: Mapping[Any, Any], spec: Mapping) -> None:
    """Refuse votes that exceed a column of ballots that isn't named: voters had several votes each."""
    named = [c for name, c in spec.items() if c is not None and not is_abstention(name)]
    counts = {c: v for c, v in others.items() if BALLOTS.search(str(c)) and v.dtype.kind in "iuf"}
    if not counts or len(named) < 2:
        return
    votes = _matrix(columns, named)
    sums, most = votes.sum(axis=1), votes.max(axis=1)
    for column, series in counts.items():
        cast = series.to_numpy(dtype=float, na_value=np.nan)
        if np.nanmean(sums > cast) > 0.5 and np.nanmean(most <= cast) > 0.95:
            raise DataError(
                f"The votes ({', '.join(map(str, named[:6]))}) exceed {column!r} in {np.mean(sums > cast):.0%} of "
                "units, "
                f"{np.nansum(sums) / np.nansum(cast):.3g} votes for each ballot overall. Each voter had several votes, "
                "or the columns are of several contests.",
                hint=f"pass ballots={column!r}, and read each candidate by itself, as "
                f"cols={{{named[0]!r}: {named[0]!r}, 'not {named[0]}': None}}.",
            )


def _refuse_shares_of_adults(table: Mapping, spec: Mapping, total: str | None) -> None:
    """Refuse shares that are of a population by their names, where the total counts votes."""
    columns = [c for c in spec.values() if c is not None]
    named = [str(c) for c in columns]
    adults = [name for name in named if ADULTS.search(name)]
    if total is None or not adults or ADULTS.search(str(total)) or not BALLOTS.search(str(total)):
        return
    if _matrix(table, columns).max() <= 1 or adults == named:
        raise DataError(
            f"{', '.join(adults[:4])} are of a population by their names, and {total!r} counts votes: taken as shares "
            "of voters they assume that all groups voted alike.",
            hint="give the population as total= and the votes with mismatch='no_vote'; or, if they are shares of "
            "voters, say so by rows_in='share' or 'percent'.",
        )


def _ask_whether_they_overlap(names: list) -> None:
    if question := may_overlap(names):
        warnings.warn(question, ModelWarning, stacklevel=3)


def may_overlap(names: Sequence) -> str | None:
    """A question where Hispanics stand beside races by name, and no total shows whether these exclude them.

    Examples
    --------
    >>> from sumwise.io.formats.margin_sides import may_overlap
    >>> may_overlap(["Hispanic", "NH White", "NH Black"]) is None, may_overlap(["White", "Hispanic"])[:35]
    (True, "'Hispanic' stands beside 'White', a")
    """
    hispanic = [name for name in names if HISPANIC.search(str(name)) and not EXCLUSIVE.search(str(name))]
    races = [name for name in names if RACE.search(str(name)) and name not in hispanic]
    if not hispanic or not races or any(EXCLUSIVE.search(str(name)) for name in races):
        return None
    return (
        f"{hispanic[0]!r} stands beside {', '.join(map(repr, races[:4]))}, and no total shows whether they exclude "
        "each other: Hispanics who are counted in both would be two people. Hint: name the total of all people, which "
        "settles it."
    )


def _kind(values: np.ndarray, totals: np.ndarray | None, has_rest: bool) -> str:
    """What one side holds: shares where none exceeds 1, percents where they sum to 100; counts without a total."""
    if totals is None or not (totals > 1).any():
        return "count"
    sums, there = values.sum(axis=1), totals > 0
    fractional = bool((values != np.round(values)).any())
    if bool((sums <= 1 + 1e-6).all()) or (fractional and float(values.max()) <= 1 + 1e-6):
        return "share"
    whole = np.abs(sums - 100) <= 100 * rounding(values / 100)
    if not has_rest and bool(whole[there].all()) and float(np.median(np.abs(totals[there] - 100))) > 10:
        return "percent"
    return "count"


def rounding(shares: np.ndarray) -> float:
    """How far the sum of rounded shares may be from 1: half a unit of the last decimal for each."""
    for digits in range(2, 9):
        scaled = shares * 10.0**digits
        if np.allclose(scaled, np.round(scaled), rtol=0, atol=1e-6):
            return max(1e-6, min(MOST_ROUNDING, 0.5 * shares.shape[1] * 10.0**-digits * (1 + 1e-9)))
    return 1e-6


def _from_shares(values: np.ndarray, spec: Mapping, units: np.ndarray, which: str, named: list) -> np.ndarray:
    """Shares of every name of one side; those that miss 1 by rounding alone sum to it, overlapping ones are refused."""
    sums, near = values.sum(axis=1), rounding(values)
    over = sums > 1 + near
    if over.any():
        i = int(np.argmax(over))
        listed = ", ".join(str(c) for c in named[:6])
        most = bool(over.mean() > 0.5)
        raise DataError(
            f"{which} are shares that {'overlap' if most else 'sum to more than 1'}: {listed} sum to "
            f"{sums[over].min():.4g} to {sums[over].max():.4g} of the total in {int(over.sum())} of {len(sums)} units. "
            f"First: unit {checks.plain(units[i])!r} has {sums[i]:.6g}.",
            hint="take groups that exclude each other (Hispanic often overlaps race), or one of them and a rest."
            if most
            else "correct or drop these units.",
        )
    if len(named) < len(spec):
        place = list(spec.values()).index(None)
        return np.insert(values, place, np.maximum(1 - sums, 0.0), axis=1) / np.maximum(sums, 1)[:, None]
    rounded = (np.abs(sums - 1) <= near) & (sums > 0)
    return values / np.where(rounded, sums, 1.0)[:, None]


def _with_rest(values: np.ndarray, spec: Mapping, totals: Any, units: np.ndarray, which: str) -> np.ndarray:
    """Counts of every name of one side; the rest is what the total has beyond them."""
    sums = values.sum(axis=1)
    rest = totals - sums
    _refuse(rest < -checks.TOTALS_RTOL * totals, units, f"{which} exceed their total", sums, totals)
    if float(values.max()) <= 100 and sums.sum() < 0.01 * totals.sum():
        name = next(name for name, column in spec.items() if column is None)
        raise DataError(
            f"{which} are almost all {name!r}, the rest: the named columns sum to {sums.sum():.6g} of "
            f"{totals.sum():.6g}, and none exceeds {values.max():.4g}.",
            hint=f"if they are shares or percents, pass {which}_in='share' or 'percent'; else name more columns.",
        )
    return np.insert(values, list(spec.values()).index(None), np.maximum(rest, 0.0), axis=1)


def _agreeing(
    rows: np.ndarray, cols: np.ndarray, totals: np.ndarray | None, units: np.ndarray
) -> tuple[np.ndarray, str]:
    """Units whose sides (and total) agree, and words that name the others."""
    sides = [side.sum(axis=1) for side in (rows, cols)] + ([] if totals is None else [totals])
    low, high = np.min(sides, axis=0), np.max(sides, axis=0)
    keep = high - low <= checks.TOTALS_RTOL * high
    if not keep.any():
        raise DataError("rows and cols have different totals in every unit, so mismatch='drop' leaves none.")
    left = units[~keep]
    listed = ", ".join(repr(checks.plain(u)) for u in left[:5])
    more = ", ..." if len(left) > 5 else ""
    return keep, f"; {len(left)} of {len(units)} units left out whose sides differ ({listed}{more})" if len(
        left
    ) else ""


def _refuse_overlap(rows: np.ndarray, totals: np.ndarray, units: np.ndarray) -> None:
    """Refuse groups that exceed their total in most units: scaling them down would invent people."""
    sums = rows.sum(axis=1)
    there = totals > 0
    if not there.any() or not float(np.median(sums[there] / totals[there])) > 1 + MOST_OVER:
        return
    ratio = sums[there] / totals[there]
    i = int(np.flatnonzero(there)[np.argmax(ratio > 1 + MOST_OVER)])
    raise DataError(
        f"rows sum to {np.median(ratio):.4g} times the total in the median unit, and to {ratio.max():.4g} times at "
        f"most: the groups overlap, or count other people than the total. First: unit {checks.plain(units[i])!r} has "
        f"{sums[i]:.10g} against {totals[i]:.10g}.",
        hint="take groups that exclude each other (Hispanic often overlaps race), or the total that belongs to them.",
    )


def _refuse_sum_of_others(rows: np.ndarray, cols: np.ndarray, units: np.ndarray) -> None:
    """Refuse a unit that is the sum of all the others: a line of totals, which would count everybody twice."""
    both = np.hstack([rows, cols])
    if len(both) < FEWEST_UNITS:
        return
    i = int(np.argmax(both.sum(axis=1)))
    sums = both.sum(axis=0)
    if sums.any() and np.allclose(2 * both[i], sums, rtol=1e-6, atol=2e-3 * both[i].max()) and (both[i] > 0).sum() > 1:
        raise DataError(
            f"Unit {checks.plain(units[i])!r} is the sum of all other units: a line of totals, which would count "
            "everybody twice.",
            hint="leave that row out.",
        )


def _settle(
    side: np.ndarray, target: np.ndarray, units: np.ndarray, which: str, mismatch: str
) -> tuple[np.ndarray, list[str], str]:
    """Make one side's totals equal `target` in the way asked for; return it, added names, and words."""
    sums = side.sum(axis=1)
    differ = np.abs(sums - target) > checks.TOTALS_RTOL * np.maximum(sums, target)
    if mismatch == "no_vote":
        missing = target - sums
        _refuse(differ & (missing < 0), units, f"{which} exceed the total", sums, target)
        rest = np.where(differ, missing, 0.0)
        return np.column_stack([side, rest]), [NO_VOTE], f"; outcome {NO_VOTE!r} contains what the columns lack"
    if not differ.any():
        return side, [], ""
    if mismatch == "raise":
        _refuse(differ, units, f"{which} don't sum to the total", sums, target)
    _refuse(differ & (sums == 0), units, f"{which} are all zero and can't be rescaled", sums, target)
    _refuse(differ & (target == 0), units, f"{which} are there where the other side has nobody", sums, target)
    _warn_far_apart(sums, target, units, which)
    factor = np.divide(target, sums, out=np.ones_like(sums), where=differ)
    return side * factor[:, None], [], f"; {which} of {int(differ.sum())} units rescaled to it"


def _warn_far_apart(sums: np.ndarray, target: np.ndarray, units: np.ndarray, which: str) -> None:
    """Name units that are rescaled by a lot: something else than counting errors is wrong with them."""
    apart = np.abs(sums - target) / np.maximum(np.maximum(sums, target), 1e-300)
    far = np.flatnonzero(apart > FAR_APART)
    if len(far):
        far = far[np.argsort(-apart[far], kind="stable")]
        listed = "; ".join(
            f"{checks.plain(units[i])!r} has {sums[i]:.10g} against {target[i]:.10g}" for i in far[:5].tolist()
        )
        warnings.warn(
            f"{which} of {len(far)} of {len(sums)} units were rescaled by more than {100 * FAR_APART:.0f}%: {listed}"
            f"{'; ...' if len(far) > 5 else ''}. Hint: look into these units, or leave them out.",
            ModelWarning,
            stacklevel=2,
        )


def _refuse(bad: np.ndarray, units: np.ndarray, what: str, sums: np.ndarray, target: np.ndarray) -> None:
    if bad.any():
        i, listed = int(np.argmax(bad)), [repr(checks.plain(u)) for u in units[np.flatnonzero(bad)[:5]]]
        raise DataError(
            f"{sentence(what)} in {int(bad.sum()):,} of {len(bad):,} units ({', '.join(listed)}"
            f"{', ...' if bad.sum() > 5 else ''}). First: unit {checks.plain(units[i])!r} has {sums[i]:.10g} against "
            f"{target[i]:.10g}.",
            hint=_hint(bad, what, target),
        )


def _hint(bad: np.ndarray, what: str, target: np.ndarray) -> str:
    if what.startswith("cols") and (target[bad] == 0).all():
        return (
            "absentee or early votes that belong to no unit? Add them to the units they belong to; without them "
            "turnout is too low, and shares are those of the other voters."
        )
    if what.startswith("cols exceed") and bad.mean() > 0.5:
        return "did each voter have several votes? Then read each candidate by itself; else check who the rows count."
    return REST_HINT if "don't" in what else "correct or drop these units."
