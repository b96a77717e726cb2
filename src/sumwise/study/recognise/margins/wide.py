"""One row per unit, with columns of groups and of outcomes: counts, shares or percents, of one contest or several."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.nonvoting import is_nonvoting
from sumwise.study.profile_file import Column, FileProfile, name_parts
from sumwise.study.recognise.guess import TOGETHER, Guess
from sumwise.study.recognise.margins import refusals, words
from sumwise.study.recognise.margins.refusals import MOST_OVER, count_all, people_per_vote
from sumwise.study.recognise.margins.sides import (
    ANOTHER_WAY,
    FEW,
    Relation,
    Side,
    Sides,
    find_sides,
    is_total,
    kind_of,
    relation,
)
from sumwise.study.recognise.margins.sums import AGREE, clean_rows, subtotals, sums, sums_of_others

BASES = re.compile(r"c?vap|citizens?|voting.?age|pop(ulation)?|reg(istered)?|voters?|[\W_\d]", re.IGNORECASE)
NAMED_TOTAL = "is a line of totals, by its name"
METHODS = ("EcologicalEM", "King", "MultinomialDirichlet", "Goodman", "Bounds")
ENOUGH = 3000  # rows that show which columns add up
MOST_CODES = 12  # distinct numbers that may be codes
FEWEST_ABSTAIN = 0.02  # of everybody: in fewer, what is called abstention isn't


@dataclass
class Reading:
    """What is being written into the problem file: its tables, comments, what to check."""

    profile: FileProfile
    sides: Sides
    data: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    comments: dict[tuple[str, str], str] = field(default_factory=dict)
    ask: list[str] = field(default_factory=list)
    out: dict[int, str] = field(default_factory=dict)  # rows that are left out, and why
    contests: list[dict[str, Any]] = field(default_factory=list)
    refusal: DataError | None = None  # why such a file can't be fitted as it is

    @property
    def keep(self) -> np.ndarray:
        """Rows that aren't left out."""
        keep = np.ones(self.profile.n_rows, dtype=bool)
        keep[list(self.out)] = False
        return keep


def guess_wide(profile: FileProfile) -> Guess | None:
    """The problem that a file with one row per unit suggests."""
    refusals.refuse_thousands(profile)
    sides = find_sides(_thinned(profile))
    if sides is None:
        return None
    sides = _one_base(_inhabited(_whole(sides, profile)))
    if len(sides.groups.columns) + (sides.groups.kind != "count" or not sides.groups.closed) < 2:
        raise DataError(
            f"{profile.path.name}: all people are in {sides.groups.names[0]!r}; the other groups have nobody "
            f"({', '.join(sides.unused)}).",
            hint="are these the right columns? Who chose what is known where there is one group.",
        )
    refusals.refuse_columns(profile, sides)
    reading = Reading(profile, sides)
    _leave_out_totals(reading)
    refusals.refuse_several_rows(profile, sides, reading.keep)
    reading.columns |= _unit(reading)
    _repeated_units(reading)
    if "unit" not in reading.columns:
        refusals.refuse_nameless_copies(profile, sides, reading.keep)
    reading.columns |= _side_keys("groups", sides.groups) | _group_errors(reading)
    parts = [_contest(reading, side) for side in sides.contests]
    if len(parts) == 1:
        reading.data |= parts[0]["data"]
        reading.columns |= parts[0]["columns"]
    else:
        reading.contests = [
            {"name": name, **part["columns"], **part["data"]}
            for name, part in zip(_contest_names(sides.contests), parts)
        ]
        reading.ask.append(
            f"{len(parts)} contests were found, by columns that add up or by names: "
            f"{', '.join(c['name'] for c in reading.contests)}. {TOGETHER}"
        )
    return _finished(reading)


def _thinned(profile: FileProfile) -> FileProfile:
    step = -(-profile.n_rows // ENOUGH)
    if step <= 1:
        return profile
    some = slice(None, None, step)

    def thin(c: Column) -> Column:
        parts = {k: getattr(c, k)[some] for k in ("numbers", "doubtful") if getattr(c, k) is not None}
        return replace(c, **parts)

    columns = tuple(thin(c) for c in profile.columns)
    return replace(profile, columns=columns, n_rows=len(range(0, profile.n_rows, step)))


def _whole(sides: Sides, profile: FileProfile) -> Sides:
    """The sides with all rows of their columns."""

    def all_rows(side: Side) -> Side:
        total = None if side.total is None else profile[side.total.name]
        return replace(side, columns=[profile[name] for name in side.names], total=total)

    return replace(sides, groups=all_rows(sides.groups), contests=[all_rows(side) for side in sides.contests])


def _inhabited(sides: Sides) -> Sides:
    """The sides without groups that have nobody in any row, which no method can say anything of."""
    empty = [c.name for c in sides.groups.columns if not np.nansum(np.abs(c.amounts)) > 0]
    if not empty:
        return sides
    groups = replace(sides.groups, columns=[c for c in sides.groups.columns if c.name not in empty])
    return replace(sides, groups=groups, unused={**sides.unused, **dict.fromkeys(empty, "has nobody in any row")})


def _one_base(sides: Sides) -> Sides:
    """The sides without the same groups on another base, such as citizens beside all adults (BVAP, BCVAP)."""
    bare = {BASES.sub("", name) for name in sides.groups.names} - {""}
    found = [side for side in sides.contests if all(BASES.sub("", name) in bare for name in side.names)]
    found = found if len(found) < len(sides.contests) else []
    names = [name for side in found for name in side.names]
    names += [name for name, why in sides.unused.items() if BASES.sub("", name) in bare and why.startswith("no part")]
    unused = {**sides.unused, **dict.fromkeys(names, ANOTHER_WAY)}
    return replace(sides, contests=[side for side in sides.contests if side not in found], unused=unused)


# --- rows


def _leave_out_totals(reading: Reading) -> None:
    """Rows of totals, by their names or since they are the sum of all others, and rows without any number."""
    profile, sides = reading.profile, reading.sides
    used = sides.columns
    numbers = np.column_stack([c.amounts for c in used])
    named = [c for c in profile.columns if c.texts is not None and c not in used]
    texts = [c for c in named if c.doubtful is None or words.called(c, words.UNITS)]
    for i in np.flatnonzero(np.isnan(numbers).all(axis=1)).tolist():
        if any(c.value(i) for c in texts) or any(c.texts is not None and c.value(i) for c in used):
            reading.out[i] = "holds no number"
    for c in texts:
        if c.distinct > 0.5 * profile.n_rows or words.called(c, words.UNITS):
            for i in np.flatnonzero(c.texts.fillna("").map(words.is_total_row).to_numpy(dtype=bool)).tolist():
                reading.out.setdefault(i, NAMED_TOTAL)
    _leave_out_sums(reading, used)
    _compare_totals(reading, used)


def _compare_totals(reading: Reading, used: list[Column]) -> None:
    """Say where a line of totals isn't the sum of the rows that are kept: a row is missing, or a number is wrong."""
    named = [i for i, why in reading.out.items() if why == NAMED_TOTAL]
    if len(named) != 1 or reading.sides.groups.kind != "count":
        return
    i, keep = named[0], reading.keep
    for c in used:
        added, stated = float(np.nansum(c.amounts[keep])), float(c.amounts[i])
        if np.isfinite(stated) and abs(added - stated) > 1e-6 * max(added, 1.0):
            reading.out[i] = f"{NAMED_TOTAL}, and not the sum of the others ({c.name}: {stated:,.10g}, {added:,.10g})"
            return


def _leave_out_sums(reading: Reading, used: list[Column]) -> None:
    """Rows that are the sum of others: of the rows beside them, or of all."""
    added = used
    if reading.sides.groups.kind != "count":
        free = [c for c in reading.profile.columns if c.numbers is not None and c.whole]
        added = [c for c in free if words.called(c, words.TOTALS)]
        added += [c for side in reading.sides.contests if side.kind == "count" for c in side.columns]
    if not added:
        return
    twice = [*added, *added[:1]]
    for finder, why in ((sums_of_others, "all other rows"), (subtotals, "the rows beside it")) * 2:
        for i in finder(twice, clean_rows(added) & reading.keep):
            reading.out[i] = f"is the sum of {why}"


def _unit(reading: Reading) -> dict[str, Any]:
    """The column, or the two, that name units."""
    profile, keep = reading.profile, reading.keep
    used = reading.sides.names
    n = int(keep.sum())
    free = [c for c in profile.columns if c.name not in used and not words.called(c, words.TOTALS)]
    free = [c for c in free if (c.doubtful is None or words.called(c, words.UNITS)) and (c.codes[keep] >= 0).all()]
    alone = [c for c in free if len(np.unique(c.codes[keep])) == n]
    named = [c for c in alone if words.called(c, words.UNITS)] or [c for c in alone if c.texts is not None]
    if named:
        return {"unit": named[0].name}
    free = [c for c in free if words.called(c, words.UNITS) or (c.texts is not None and c.distinct > 1)]
    free.sort(key=lambda c: not words.called(c, words.UNITS))
    for i, a in enumerate(free):
        for b in free[i + 1 :]:
            if len(set(zip(a.codes[keep].tolist(), b.codes[keep].tolist()))) == n:
                return {"unit": [a.name, b.name]}
    nearly = [c for c in profile.columns if c.name not in used and words.called(c, words.UNITS) and c.doubtful is None]
    nearly = [c for c in nearly if len(np.unique(c.codes[keep])) >= 0.9 * n]  # the reader names what is missing
    if nearly:
        return {"unit": nearly[0].name}
    reading.ask += [
        f"{c.name} has {c.distinct:,} values in {profile.n_rows:,} rows and doesn't identify units; rows get numbers."
        for c in free
        if words.called(c, words.UNITS) and 1 < c.distinct < profile.n_rows
    ]
    return {}


def _repeated_units(reading: Reading) -> None:
    """A few names that stand in two rows: the same unit in two pieces is left out, two units get numbers."""
    name = reading.columns.get("unit")
    if not isinstance(name, str):
        return
    unit, keep = reading.profile[name], reading.keep
    codes = unit.codes
    groups = [c.amounts for c in reading.sides.groups.columns]
    numbered = []
    for code in np.unique(codes[keep]):
        rows = np.flatnonzero((codes == code) & keep).tolist()
        if len(rows) == 1:
            continue
        if all((values[rows] == values[rows[0]]).all() for values in groups):
            refusals.refuse_copies(reading.profile, rows, unit.value(rows[0]))
            for i in rows:
                reading.out[i] = f"repeats {unit.value(i)!r} with the same groups: one unit in {len(rows)} rows"
        else:
            numbered.append(f"{unit.value(rows[0])!r} ({', '.join(reading.profile.row(i) for i in rows)})")
    if numbered:
        reading.data["repeated"] = "number"
        reading.comments["data", "repeated"] = "names that stand in several rows get a number: A, A (2); raise refuses"
        reading.ask.append(
            f"these names stand in several rows and were taken for several units: {'; '.join(numbered[:5])}."
        )


# --- a contest


def _side_keys(key: str, side: Side) -> dict[str, Any]:
    keys: dict[str, Any] = {key: side.names}
    if side.kind != "count":
        keys[f"{key}_in"] = side.kind
    return keys


def _group_errors(reading: Reading) -> dict[str, Any]:
    """The key of standard errors or margins of error, where every group has such a column."""
    names = reading.sides.groups.names
    found = {}
    for column in reading.profile.columns:
        if column.amounts is not None and (error := words.stated_error(column, names)) is not None:
            found[error] = column.name
    for key in ("groups_sd", "groups_moe"):
        columns = [found.get((name, key)) for name in names]
        if None not in columns:
            reading.sides.unused = {k: why for k, why in reading.sides.unused.items() if k not in columns}
            what = "standard errors" if key == "groups_sd" else "90% margins of error"
            reading.comments["columns", key] = f"{what} of the groups, which intervals allow for"
            return {key: columns}
    return {}


def _contest(reading: Reading, side: Side) -> dict[str, dict[str, Any]]:
    """The keys of one contest: its outcomes, its total, a rest, and what to do where totals differ."""
    groups = reading.sides.groups
    columns, data = _side_keys("outcomes", side), {}
    total = _trusted(reading, side, _total(reading, side))
    _check_percents(reading, side, total)
    _ask_of_whom(reading, total)
    everybody = total.name if total is not None else _without_column(reading, side)
    columns |= {} if everybody is None else {"total": everybody}
    votes = side.kind == "count" and total is not None and words.called(total, words.ELECTORATE)
    rest = "no vote" if votes else "none of these"
    for name, part, key in (("all others", groups, "rest_group"), (rest, side, "rest_outcome")):
        if part is side and side.kind == groups.kind == "count" and (groups.closed or total is None):
            continue  # whoever is missing didn't vote
        if _has_rest(part, total, reading.keep):
            columns[key] = name
            reading.comments["columns", key] = "a name for the rest of everybody"
            if part.kind == "count" and total is not None:
                listed = ", ".join(part.names[:4]) + (", ..." if len(part.names) > 4 else "")
                reading.ask.append(f"{listed} sum to less than {total.name}; the rest of it is called {name!r}.")
    if total is None and groups.kind == side.kind == "count" and "mismatch" not in reading.profile.given:
        refusals.refuse_overlap(reading.profile, reading.sides, side, reading.keep)
    if "rest_group" not in columns and "rest_outcome" not in columns:
        data |= _mismatch(reading, side, relation(groups, side, reading.keep))
    return {"columns": columns, "data": data}


def _abstain(side: Side) -> float:
    """The share of outcomes that are no vote, in the median unit."""
    away = [c for c in side.columns if is_nonvoting(c.name)]
    whole = {"percent": 100.0, "share": 1.0}[side.kind]
    return float(np.nanmedian(sums(away))) / whole if away else 0.0


def _check_percents(reading: Reading, side: Side, total: Column | None) -> None:
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
        if not (own or words.called(c, (*words.VOTED, "cast"))):
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
        if c.amounts is None or kind_of(c) not in ("share", "percent") or not words.called(c, words.TURNOUT):
            continue
        voted = float(np.nanmedian(c.amounts[reading.keep])) / {"percent": 100.0, "share": 1.0}[kind_of(c)]
        if 0 < voted < 1 - FEWEST_ABSTAIN:
            listed = ", ".join(side.names[:4])
            raise DataError(
                f"{reading.profile.path.name}: {listed} sum to 100%, and by {c.name} {voted:.0%} of {total.name} voted "
                f"in the median unit: are they percents of those who voted, or of {total.name}?",
                hint=f"write votes as counts ({total.name} times {c.name} times each percent): whoever is missing is "
                f"then taken for a person who didn't vote; or --total {total.name} if they are percents of it.",
            )


def _ask_of_whom(reading: Reading, total: Column | None) -> None:
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


def _without_column(reading: Reading, side: Side) -> float | None:
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
    return float(given) if given.replace(".", "", 1).isdigit() and given not in _names(reading) else None


def _names(reading: Reading) -> list[str]:
    return [c.name for c in reading.profile.columns]


def _trusted(reading: Reading, side: Side, total: Column | None) -> Column | None:
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
        f"{total.name} isn't the sum of the outcomes in {len(where)} rows, and isn't used: {shown}"
        f"{'; ...' if where[5:] else ''}."
    )
    return None


def _total(reading: Reading, side: Side) -> Column | None:
    groups = reading.sides.groups
    asked = reading.profile.given.get("total")
    if asked is not None:
        if _stated(reading) is not None:
            return None
        checks.known(str(asked), _names(reading), "column")
        return reading.profile[str(asked)]
    for given in (groups.total, side.total):
        if given is not None:
            return None if given is not groups.total and _counts_voters(reading, side) else given
    free = [c for c in reading.profile.columns if c.amounts is not None and c.distinct > 2]
    free = [c for c in free if c.name not in reading.sides.names]
    free = [c for c in free if words.called(c, words.TOTALS) and np.nanmax(c.amounts) > 1]
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
            not words.called(c, ("total*", "n")),
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


def _has_rest(side: Side, total: Column | None, keep: np.ndarray) -> bool:
    """Whether people are left besides a side's columns."""
    if side.kind != "count":
        return not side.closed
    if total is None or side.closed:
        return False
    rows = clean_rows(side.columns) & keep & np.isfinite(total.amounts)
    found, everybody = sums(side.columns)[rows], total.amounts[rows]
    return bool((found <= everybody * (1 + 1e-9)).all()) and not np.allclose(found, everybody, rtol=1e-6)


def _mismatch(reading: Reading, side: Side, found: Relation) -> dict[str, Any]:
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
            f"groups and outcomes ({listed}) have equal sums in all but {int(found.out.sum())} rows, left out: "
            f"{_rows(reading, side, found.out)}."
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
            "unit: those missing are taken for people who didn't vote."
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


def _contest_names(contests: list[Side]) -> list[str]:
    named = [side.mark or " / ".join(side.names[:2]) for side in contests]
    return [name if named.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(named)]


# --- all of it


def _finished(reading: Reading) -> Guess:
    profile, sides = reading.profile, reading.sides
    opening, comments = profile.opening()
    if sides.guessed:
        reading.ask.append("which side holds the groups was guessed from the order of the columns.")
    other = [name for name, why in sides.unused.items() if why.startswith("another way")]
    other = [name for name in other if kind_of(profile[name]) == sides.groups.kind and not is_total(profile[name])]
    if other:
        reading.ask.append(
            f"people are split into groups in two ways: {', '.join(sides.groups.names[:6])} are used, "
            f"{', '.join(other[:6])} are not; name those in groups (and their sum in total, if that is named) to use "
            "them instead."
        )
    reading.ask += [line for side in sides.contests for line in _same_candidate(side)]
    reading.ask += [
        f"column {c.name} is empty and isn't used; formulas of a workbook have values once it was saved there."
        for c in profile.columns
        if c.missing == profile.n_rows and (words.like_group(c) or words.like_outcome(c) or is_total(c))
    ]
    reading.comments["columns", "groups"] = "who they are; swap with outcomes if it is the other way round"
    reading.ask += _perhaps_in_the_rest(reading)
    left = _left_out(reading)
    score = _score(sides)
    if sides.groups.kind != "count":
        closed = sides.groups.closed and sides.contests[0].closed
        score = 0.8 if reading.refusal is None else 0.6 if closed else 0.4
    totals = {reading.columns.get("total"), *(c.get("total") for c in reading.contests)}
    unit = reading.columns.get("unit", [])
    skip = {*totals, *([unit] if isinstance(unit, str) else unit)}
    return Guess(
        "ecological",
        score,
        f"one row per unit, groups and outcomes that add up: margins; {profile.n_rows:,} rows",
        {**opening, **reading.data, **left},
        reading.columns,
        comments={**comments, **reading.comments},
        ask=reading.ask,
        methods=METHODS,
        contests=reading.contests,
        unused={name: why for name, why in sides.unused.items() if name not in skip},
        keep=reading.keep,
        refusal=reading.refusal,
    )


def _perhaps_in_the_rest(reading: Reading) -> list[str]:
    """Words on columns that aren't used where a rest is made: they may be some of it."""
    made = [reading.columns, *reading.contests]
    rests = [c[key] for key in ("rest_group", "rest_outcome") for c in made if key in c]
    summed = {name for name, why in reading.sides.unused.items() if why.startswith("the sum of")}
    named = [name for name in reading.sides.unused if not is_total(reading.profile[name]) and name not in summed]
    named = [name for name in named if not words.called(reading.profile[name], (*words.UNITS, *words.PLACES))]
    if not rests or not named:
        return []
    shares = [c for name in named if (c := reading.profile[name]).amounts is not None and kind_of(c) != "count"]
    if len(shares) > 1 and _closed_among_some(shares):
        return [
            f"{', '.join(c.name for c in shares[:6])} add up to 100% and are not used: percentages of some people, "
            "such as those who voted. To use them, write how many chose each in every unit: the percentage times the "
            "number that it is a percentage of."
        ]
    return [
        f"{', '.join(named[:6])}{', ...' if named[6:] else ''} are not used; if they belong to a side, name them in "
        f"groups or outcomes: they are part of {' or '.join(map(repr, dict.fromkeys(rests)))} now."
    ]


def _closed_among_some(shares: list[Column]) -> bool:
    """Whether shares or percentages add up to 1 or 100 in nearly every row, but for rounding."""
    whole = sums(shares)[clean_rows(shares)]
    near = np.abs(whole / (1.0 if np.median(whole) < 2 else 100.0) - 1) < 0.02
    return len(whole) > 0 and bool(near.mean() > 0.9)


def _same_candidate(side: Side) -> list[str]:
    """Words on outcomes whose names differ in what stands in brackets only: one candidate of two parties, perhaps."""
    found: dict[str, list[str]] = {}
    for name in side.names:
        if bare := re.sub(r"\s*[(\[].*?[)\]]", "", name).strip().lower():
            found.setdefault(bare, []).append(name)
    return [
        f"{' and '.join(same)} are taken for different outcomes; if they are one candidate of several parties, add "
        "them up."
        for same in found.values()
        if len(same) > 1
    ]


def _score(sides: Sides) -> float:
    """How sure counts are margins: sums that are equal, or at least two groups of counts beside outcomes that fit."""
    word = relation(sides.groups, sides.contests[0]).word
    counted = sum(c.distinct > MOST_CODES for c in sides.groups.columns) > 1  # not codes of a person's age or race
    return {"equal": 0.9, "far": 0.6}.get(word, 0.8 if counted else 0.6)


def _left_out(reading: Reading) -> dict[str, Any]:
    """The key of [data] that leaves rows out, by the names of their units."""
    if not reading.out:
        return {}
    unit = reading.columns.get("unit")
    names = [unit] if isinstance(unit, str) else unit
    shown = "; ".join(f"{reading.profile.row(i)} {why}" for i, why in list(reading.out.items())[:5])
    more = f"; and {len(reading.out) - 5} more" if len(reading.out) > 5 else ""
    reading.ask.append(f"left out: {shown}{more}.")
    columns = [reading.profile[name] for name in names or _identifying(reading)]
    values = [{c.name: c.value(i) for c in columns} for i in reading.out]
    if len(columns) == 1:
        listed = list(dict.fromkeys(v[columns[0].name] for v in values))
        return {"without": {columns[0].name: listed[0] if len(listed) == 1 else listed}}
    return {"without": [dict(t) for t in dict.fromkeys(tuple(v.items()) for v in values)]}


def _identifying(reading: Reading) -> list[str]:
    """Without names of units: columns whose values occur in no row that is kept."""
    rows = list(reading.out)
    texts = [c for c in reading.profile.columns if c.texts is not None]
    for c in texts + [c for c in reading.profile.columns if c.texts is None]:
        inside = {c.value(i) for i in rows}
        if not inside & {c.value(i) for i in np.flatnonzero(reading.keep).tolist()}:
            return [c.name]
    return [reading.profile.columns[0].name]
