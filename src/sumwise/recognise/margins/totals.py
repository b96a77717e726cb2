"""How many people a unit has: the column of totals, a rest besides the named ones, and sides that differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.nonvoting import is_nonvoting
from sumwise.recognise.margins import refusals, words
from sumwise.recognise.margins.reading import Reading
from sumwise.recognise.margins.refusals import MOST_OVER, count_all, people_per_vote
from sumwise.recognise.margins.sides import FEW, Relation, Side, is_total, kind_of
from sumwise.recognise.margins.sums import AGREE, clean_rows, sums
from sumwise.recognise.profile_file import Column, is_called, name_parts
from sumwise.report.context import plural

FEWEST_ABSTAIN = 0.02  # of everybody: in fewer, what is called abstention isn't


def _abstain(side: Side) -> float:
    """The share of outcomes that are not votes, in the median unit."""
    away = [c for c in side.columns if is_nonvoting(c.name)]
    whole = {"percent": 100.0, "share": 1.0}[side.kind]
    return float(np.nanmedian(sums(away))) / whole if away else 0.0


def check_percents(reading: Reading, side: Side, total: Column | None) -> None:
    """Refuse percents of the votes beside groups of everybody; where nothing shows that, say of whom they are taken."""
    groups = reading.sides.groups
    if side.kind == "count" or not side.closed or total is None or "total" in reading.profile.given:
        return
    if _abstain(side) > FEWEST_ABSTAIN:
        return
    _refuse_turnout(reading, side, total)
    ends = {part for c in side.columns for part in name_parts(c.name)}
    used = {total.name, *reading.sides.names}
    for c in reading.profile.columns:
        own = is_total(c) and bool(set(name_parts(c.name)) & ends)  # pres_total, beside pres_dem
        if c.amounts is None or c.name in used or not c.whole:
            continue
        if not (own or is_called(c, (*words.VOTED, "cast"))):
            continue
        rows = np.isfinite(c.amounts) & np.isfinite(total.amounts) & reading.keep
        fewer = c.amounts[rows] < total.amounts[rows]
        most = (c.amounts[rows] <= total.amounts[rows]).mean() > 0.98
        if most and fewer.mean() > 0.9 and np.median(c.amounts[rows]) > 1:
            raise DataError(
                f"{reading.profile.path.name}: {', '.join(side.names[:4])} sum to 100%, and {c.name} counts fewer "
                f"people than {total.name}: are they percents of {c.name} or of {total.name}?",
                hint=f"write votes as counts; or give groups of those in {c.name}; or --total {c.name} if groups are "
                f"spread alike among them; or delete {c.name} if percents are of {total.name}.",
            )
    if groups.kind == "count":
        reading.ask.append(
            f"{', '.join(side.names[:4])} are taken as {side.kind}s of {total.name}, all people in the groups; if some "
            "of them didn't vote, write votes as counts."
        )


def _refuse_turnout(reading: Reading, side: Side, total: Column) -> None:
    """Refuse percents that sum to 100 beside a turnout in percent: they are of the votes, and `total` counts others."""
    for c in reading.profile.columns:
        if c.amounts is None or kind_of(c) not in ("share", "percent") or not is_called(c, words.TURNOUT):
            continue
        voted = float(np.nanmedian(c.amounts[reading.keep])) / {"percent": 100.0, "share": 1.0}[kind_of(c)]
        if 0 < voted < 1 - FEWEST_ABSTAIN:
            listed = ", ".join(side.names[:4])
            raise DataError(
                f"{reading.profile.path.name}: {listed} sum to 100%, and by {c.name} {voted:.0%} of {total.name} voted "
                f"in the median unit: are they percents of those who voted, or of {total.name}?",
                hint=f"write votes as counts ({total.name} times {c.name} times each percent): whoever is missing is "
                f"then counted as a person who didn't vote; or --total {total.name} if they are percents of it.",
            )


def ask_of_whom(reading: Reading, total: Column | None) -> None:
    """Ask of whom groups are shares, where the file has another total of more people than the one that is used."""
    groups = reading.sides.groups
    if groups.kind == "count" or total is None or "total" in reading.profile.given:
        return
    for c in reading.profile.columns:
        if c.amounts is None or not c.whole or c.name == total.name or not is_total(c):
            continue
        if (c.amounts >= total.amounts).mean() > 0.9 and (c.amounts > total.amounts).mean() > 0.5:
            asked = (
                f"{', '.join(groups.names[:4])} are taken as {groups.kind}s of {total.name}; if they are of {c.name}, "
                "that assumes that all groups voted alike."
            )
            reading.ask += [] if asked in reading.ask else [asked]
            return


def people_per_unit(reading: Reading, side: Side) -> float | None:
    """The people in every unit, where no column has them: as stated, none for counts, all alike for shares."""
    groups, file = reading.sides.groups, reading.profile.path.name
    if _stated(reading) is not None or groups.kind == side.kind == "count":
        return _stated(reading)
    if groups.kind != side.kind:
        shares, of = (groups, "groups") if groups.kind != "count" else (side, "outcomes")
        raise DataError(
            f"{file}: the {of} ({', '.join(shares.names[:4])}) are {shares.kind}s, and no column says of how many "
            "people.",
            hint="add a column of totals, called total, or write all columns as counts.",
        )
    if groups.kind == "percent" and all(c.whole for c in (*groups.columns, *side.columns)):
        raise DataError(
            f"{file}: {', '.join((*groups.names, *side.names)[:6])} are whole numbers that sum to 100: percents, or "
            "counts of 100 people each? No column says how many people there are, and estimates and intervals depend "
            "on it.",
            hint="add a column called total; or --total 100 (100 people each), --total 1000 (percents of 1,000 each).",
        )
    reading.refusal = DataError(
        f"{file}: the groups ({', '.join(groups.names[:4])}) and the outcomes ({', '.join(side.names[:4])}) are "
        f"{groups.kind}s, and no column says of how many people.",
        hint="add a column called total; or --total 1000: units count alike, intervals are as wide as for units of "
        "1,000 people each, and no number of people is given.",
    )
    return None


def _stated(reading: Reading) -> float | None:
    """The number of people in every unit, where a person said so."""
    given = str(reading.profile.given.get("total") or "")
    return float(given) if given.replace(".", "", 1).isdigit() and given not in unit_names(reading) else None


def unit_names(reading: Reading) -> list[str]:
    return [c.name for c in reading.profile.columns]


def trusted_total(reading: Reading, side: Side, total: Column | None) -> Column | None:
    """The total, unless both sides agree with each other and not with it in a few rows: there it is mistaken."""
    groups = reading.sides.groups
    if total is None or not groups.kind == side.kind == "count" or "total" in reading.profile.given:
        return total
    rows = clean_rows([*groups.columns, *side.columns]) & reading.keep
    one, two, most = sums(groups.columns), sums(side.columns), np.maximum(total.amounts, 1.0)
    alike = float((np.abs(one - two)[rows] <= 1e-6 * most[rows]).mean())
    if not alike > 0.5:
        one = two  # the sides differ anyhow: a total of votes
    else:
        rows &= np.abs(one - two) <= 1e-6 * most
    off = rows & ~(np.abs(one - total.amounts) <= 1e-6 * most)
    if not off.any() or (off.sum() > (1 - AGREE) * rows.sum() and alike < AGREE):
        return total
    where = np.flatnonzero(off).tolist()
    shown = "; ".join(
        f"{reading.profile.row(i)} ({total.value(i) or 'nothing'} against {one[i]:,.10g})" for i in where[:5]
    )
    reading.ask.append(
        f"{total.name} isn't the sum of the outcomes in {plural(len(where), 'row')}, and isn't used: {shown}"
        f"{'; ...' if where[5:] else ''}."
    )
    return None


def find_total(reading: Reading, side: Side) -> Column | None:
    groups = reading.sides.groups
    asked = reading.profile.given.get("total")
    if asked is not None:
        if _stated(reading) is not None:
            return None
        checks.known(str(asked), unit_names(reading), "column")
        return reading.profile[str(asked)]
    for given in (groups.total, side.total):
        if given is not None:
            return None if given is not groups.total and _counts_voters(reading, side) else given
    free = [c for c in reading.profile.columns if c.amounts is not None and c.distinct > 2]
    free = [c for c in free if c.name not in reading.sides.names]
    free = [c for c in free if is_called(c, words.TOTALS) and np.nanmax(c.amounts) > 1]
    if groups.kind == side.kind == "count":
        rows = clean_rows([*groups.columns, *side.columns]) & reading.keep
        free = [c for c in free if _may_be_total(c, groups, rows)]
    ends = {(name_parts(c.name) or [""])[-1] for c in side.columns}
    starts = {(name_parts(c.name) or [""])[0] for c in groups.columns}

    def rank(c: Column) -> tuple[bool, bool, bool]:
        parts = name_parts(c.name)
        return (
            not (set(parts) & ends - {"vote", "votes", "pct"}),
            parts != [*starts],
            not is_called(c, ("total*", "n")),
        )

    return min(free, key=rank, default=None)


def _counts_voters(reading: Reading, side: Side) -> bool:
    """Whether the total of the outcomes counts those who voted, beside groups of all who might have."""
    groups = reading.sides.groups
    if not groups.kind == side.kind == "count":
        return False
    ratio = people_per_vote(groups, side, reading.keep)
    least = 1.0 if count_all(groups.names) else MOST_OVER
    return bool(len(ratio)) and float(np.median(ratio)) > least and float((ratio >= 1).mean()) > 1 - FEW


def _may_be_total(column: Column, groups: Side, rows: np.ndarray) -> bool:
    """Whether groups of counts are part of a total: never more, and equal or always a bit less."""
    if not rows.any() or not np.isfinite(column.amounts[rows]).all():
        return False
    ratio = sums(groups.columns)[rows] / np.maximum(column.amounts[rows], 1e-300)
    return bool((ratio <= 1 + 1e-9).all()) and float(np.median(ratio)) > 0.5


def has_rest(side: Side, total: Column | None, keep: np.ndarray) -> bool:
    """Whether people are left besides a side's columns."""
    if side.kind != "count":
        return not side.closed
    if total is None or side.closed:
        return False
    rows = clean_rows(side.columns) & keep & np.isfinite(total.amounts)
    found, everybody = sums(side.columns)[rows], total.amounts[rows]
    return bool((found <= everybody * (1 + 1e-9)).all()) and not np.allclose(found, everybody, rtol=1e-6)


def mismatch(reading: Reading, side: Side, found: Relation) -> dict[str, Any]:
    asked = reading.profile.given.get("mismatch")
    if asked is not None:
        return {"mismatch": asked}
    listed = f"{', '.join(side.names[:4])}{', ...' if len(side.names) > 4 else ''}"
    if found.word == "far" and (running := words.cumulative(reading.profile)):
        raise DataError(f"{reading.profile.path.name}: {running[0]}", hint="write each group's own count.")
    if found.word in ("shares", "far") or (found.word == "equal" and found.out is None):
        return _rounded(reading, side) if found.word == "equal" else {}  # far: the reader refuses, and says by how much
    if found.word == "equal" and found.out is not None and (rounded := _rounded(reading, side, ~found.out)):
        for i in np.flatnonzero(found.out).tolist():  # drop would leave out rows that differ by rounding, too
            reading.out[i] = f"has groups and outcomes apart: {_apart(reading, side, i)}"
        return rounded
    if found.word == "equal" and found.out is not None:
        reading.comments["data", "mismatch"] = (
            "units whose sides differ are left out; raise refuses, rescale scales them"
        )
        reading.ask.append(
            f"groups and outcomes ({listed}) have equal sums in all but {plural(int(found.out.sum()), 'row')}, left "
            f"out: {_rows(reading, side, found.out)}."
        )
        return {"mismatch": "drop"}
    if found.word == "no_vote":
        refusals.refuse_unclear(reading.profile, reading.sides, side, reading.keep)
    for i in () if found.out is None else np.flatnonzero(found.out).tolist():
        reading.out[i] = f"has groups and outcomes far apart: {_apart(reading, side, i)}"
    if found.word == "no_vote":
        reading.comments["data", "mismatch"] = (
            "fewer votes than people: those missing become the outcome 'no vote'; rescale would leave them out"
        )
        reading.ask.append(
            f"there are fewer votes ({listed}) than people in the groups, {100 * found.apart:.0f}% fewer in the median "
            "unit: those missing are counted as people who didn't vote."
        )
    else:
        reading.comments["data", "mismatch"] = (
            "scales both sides to one total; no_vote adds an outcome for those missing; raise refuses"
        )
        reading.ask.append(
            f"groups and outcomes ({listed}) don't add up to the same: they are {100 * found.apart:.1f}% apart in the "
            "median unit and are rescaled."
        )
    return {"mismatch": found.word}


def _rounded(reading: Reading, side: Side, among: Any = True) -> dict[str, Any]:
    """What to do where sums differ in the last digits only, `among` some rows."""
    groups = reading.sides.groups
    rows = clean_rows([*groups.columns, *side.columns]) & reading.keep & among
    totals = [sums(s.columns)[rows] for s in (groups, side)]
    totals += [s.total.amounts[rows] for s in (groups, side) if s.total is not None]
    low, high = np.min(totals, axis=0), np.max(totals, axis=0)
    if not (high - low > 1e-9 * high).any():
        return {}
    reading.comments["data", "mismatch"] = "sums differ in the last digits, by rounding"
    return {"mismatch": "rescale"}


def _rows(reading: Reading, side: Side, rows: Any, most: int = 5) -> str:
    where = np.flatnonzero(rows).tolist()
    listed = "; ".join(f"{reading.profile.row(i)} ({_apart(reading, side, i)})" for i in where[:most])
    return listed + ("; ..." if len(where) > most else "")


def _apart(reading: Reading, side: Side, i: int) -> str:
    g, o = (float(sums(s.columns)[i]) for s in (reading.sides.groups, side))
    return f"{g:,.10g} against {o:,.10g}"
