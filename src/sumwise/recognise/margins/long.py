"""One row per unit, side and option, with its votes; of one contest or several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.recognise.guess import APART, TOGETHER, Guess, no_total, refused
from sumwise.recognise.margins import words
from sumwise.recognise.margins.long_columns import VOTES, Found, combinations, combined, long_columns, side_names
from sumwise.recognise.margins.refusals import LEAST_OVER, MOST_OVER, count_all
from sumwise.recognise.margins.sides import Side, relation
from sumwise.recognise.margins.sums import adds_up
from sumwise.recognise.profile_file import Column, FileProfile, is_called

CANDIDATES = ("candidate*", "party", "option", "choice", "name", "individual*")
AREAS = (
    "county*", "counties", "state*", "municip*", "town*", "city", "region*", "area*", "province*", "commune*",
    "kreis*",
)  # fmt: skip
SHARED = 0.6  # options that areas of one contest have in common, of all that one of them has


def guess_long(profile: FileProfile) -> Guess | None:
    """The problem that a file with one row per unit, side and option suggests."""
    known = long_columns(profile)
    if known is None:
        return None
    found, by_sums = known
    unit, side, option, votes = found
    contest = _contest_columns(profile, found)
    refusal = _refuse_shares(profile, found, contest)
    areas = [c for c in contest if _is_area(c, found)]
    contest = [c for c in contest if c not in areas]
    names, unit = [c.name for c in (*areas, unit)], _together([*areas, unit])
    first, second, sure = side_names(side, option)
    columns = {"unit": names[0] if len(names) == 1 else names, "side": side.name, "option": option.name}
    columns |= {"votes": votes.name, "row": first, "col": second}
    data, comments = profile.opening()
    comments["columns", "row"] = "what the groups' side is called"
    comments["columns", "col"] = "and that of the outcomes"
    ask = _guessed(names, found, by_sums)
    ask += [] if sure else [f"that {first!r} is the side of the groups was guessed from the order of the rows."]
    if _has_gaps((unit, side, option), contest):
        data["absent"] = "zero"
        comments["data", "absent"] = "an option without a row in some unit counts as no votes; raise refuses"
        ask.append("some options have no row in some units; they count as no votes.")
    _leave_out_totals(profile, found, data, ask)
    if "mismatch" in profile.given:
        data["mismatch"] = profile.given["mismatch"]
    else:
        _mismatch([*contest, *areas, found[0]], found, data, comments, ask, (first, second))
    entries = _contests(contest) if contest else []
    pool = option.numbers is None  # numbers may stand for something else in every contest
    if entries:
        what = TOGETHER if pool else APART
        ask.append(f"{len(entries)} contests were found, by {' and '.join(c.name for c in contest)}. {what}")
    unused = {
        c.name: "no part of unit, side, option or votes"
        for c in profile.columns
        if c.amounts is not None and c not in (*found, *contest)
    }
    seen = f"one row per unit, side and option: margins in long form; {profile.n_rows:,} rows"
    more = {"contests": entries, "unused": unused, "pool": pool, "refusal": refusal}
    return Guess("ecological", 1.0, seen, data, columns, comments=comments, ask=ask, **more)


def _contest_columns(profile: FileProfile, found: tuple[Column, ...]) -> list[Column]:
    """The columns besides unit, side and option that are the same for both sides, and by which rows are unique."""
    unit, side, option, _ = found
    contest = [c for c in profile.columns if c not in found and 1 < c.distinct < profile[unit.name].distinct * 1000]
    contest = [c for c in contest if _is_contest(c, found)]
    if combinations([*contest, unit, side, option]) < profile.n_rows:
        contest = [c for c in profile.columns if c not in found and c.distinct > 1]
        if combinations([*contest, unit, side, option]) < profile.n_rows or not _whole_contests(contest, found):
            _refuse_two_lines(profile, found)
    return contest


def _guessed(names: list[str], found: tuple[Column, ...], by_sums: bool) -> list[str]:
    """A note on columns that nothing but sums showed, and on units that several columns name."""
    _, side, option, votes = found
    ask = [f"a unit is named by {' and '.join(names)} together."] if len(names) > 1 else []
    if by_sums:
        ask.append(
            f"which column is which was guessed, since both sides have the same sum of {votes.name!r} for each "
            f"{names[-1]!r}: {', '.join(names)} (unit), {side.name} (side), {option.name} (option), {votes.name} "
            "(votes)."
        )
    return ask


def _together(columns: list[Column]) -> Column:
    """One column whose values are the combinations of several."""
    if len(columns) == 1:
        return columns[0]
    codes = combined(columns)
    return Column(columns[-1].name, codes.astype(float), None, int(codes.max()) + 1, 0)


def _is_area(column: Column, found: tuple[Column, ...]) -> bool:
    """Whether a column is an area that units lie in, and no contest: its parts vote on the same options.

    Names of units are then of one area each for the most part, or the column is called like an area.
    """
    unit, _, option, _ = found
    if option.texts is None:
        return False
    frame = pd.DataFrame({"area": column.codes, "unit": unit.codes, "option": option.codes})
    areas, options, of_units = (
        frame.groupby(by)[what].nunique().to_numpy()
        for by, what in (("option", "area"), ("area", "option"), ("unit", "area"))
    )
    inside = np.mean(of_units == 1) > 0.5
    same = np.sum(areas == column.distinct) >= SHARED * options.max()
    return bool(same and (inside or is_called(column, AREAS)))


def _refuse_shares(profile: FileProfile, found: tuple[Column, ...], contest: list[Column]) -> DataError | None:
    """A refusal of shares in place of votes: of how many people, the file doesn't say."""
    unit, side, _, votes = found
    sums = np.bincount(combined([*contest, unit, side]), weights=np.nan_to_num(votes.amounts))
    whole = next((w for w in (1.0, 100.0) if np.mean(np.abs(sums - w) <= 0.02 * w) > 0.9), None)
    if whole is None or votes.whole:
        return None
    return DataError(
        f"{profile.path.name}: {votes.name} of a {unit.name} and {side.name} sum to {whole:.0f}: shares, and no column "
        "says of how many people.",
        hint=f"multiply {votes.name} by the number of people in each {unit.name}.",
    )


def _whole_contests(contest: list[Column], found: tuple[Column, ...]) -> bool:
    """Whether every contest has both sides."""
    if not contest:
        return True
    both = pd.Series(found[1].codes).groupby(combined(contest)).nunique()
    return bool((both == 2).all())


def _refuse_two_lines(profile: FileProfile, found: tuple[Column, ...]) -> None:
    """Refuse several lines for one unit, side and option, such as votes on the day and by mail."""
    keys = combined([found[0], found[1], found[2]])
    again = pd.Series(keys).duplicated().to_numpy()
    i = int(np.argmax(again))
    first = int(np.argmax(keys == keys[i]))
    others = [c.name for c in profile.columns if c not in found and c.value(first) != c.value(i)]
    apart = f" They differ in {', '.join(others[:3])}." if others else ""
    raise DataError(
        f"{profile.path.name}: {int(again.sum()):,} of {profile.n_rows:,} rows are two lines for one option of a unit. "
        f"First: {profile.row(first)} and {profile.row(i)} ({found[0].value(i)}, {found[2].value(i)}).{apart}",
        hint="add such lines up, or delete what stands there twice.",
    )


def _leave_out_totals(profile: FileProfile, found: tuple[Column, ...], data: dict[str, Any], ask: list[str]) -> None:
    """Leave out options and units that are totals of the others, which would count people twice."""
    unit, side, option, votes = found
    left: list[dict[str, str]] = []
    for column, within in ((option, [unit, side]), (unit, [side, option])):
        if column.texts is None:
            continue
        total = column.texts.map(words.is_total_row, na_action="ignore").fillna(False).to_numpy(dtype=bool)
        if not total.any() or total.mean() > 0.5:
            continue
        names = column.texts[total].unique().tolist()
        if not adds_up(votes.amounts, combined(within), total, ~total):
            raise no_total(profile, column, names[0])
        left += [{column.name: name} for name in names]
    if left:
        data["without"] = left
        shown = ", ".join(f"{k} = {v}" for line in left for k, v in line.items())
        ask.append(f"left out: lines of totals ({shown}), which are the sum of the others.")


def _mismatch(
    units: list[Column], found: Found, data: dict[str, Any], comments: dict, ask: list[str], names: tuple[str, str]
) -> None:
    """What to do where the two sides of units have other sums, as for a file with one row per unit."""
    codes, side, votes = combined(units), found[1], found[3]
    keep = np.ones(len(votes.amounts), dtype=bool)
    for line in data.get("without", ()):
        for column in (c for c in found[:3] if c.name in line):
            keep &= (column.texts != line[column.name]).fillna(True).to_numpy(dtype=bool)
    here = [keep & (side.texts == name).fillna(False).to_numpy(dtype=bool) for name in names]
    one, two = (np.bincount(codes, weights=np.where(rows, votes.amounts, 0.0)) for rows in here)
    first, second = (Side([Column(name, x, None, len(x), 0)], "count") for name, x in zip(names, (one, two)))
    how = relation(first, second)
    if how.word == "equal" and how.out is not None:
        data["mismatch"] = "drop"
        comments["data", "mismatch"] = "units whose sides differ are left out; raise refuses, rescale scales them"
        i = int(np.argmax(how.out))
        name = " / ".join(c.value(int(np.argmax(codes == i))) for c in units)
        ask.append(
            f"{names[0]!r} and {names[1]!r} have equal sums in all but {int(how.out.sum())} of {len(one)} units, left "
            f"out; first: {name} ({one[i]:,.10g} against {two[i]:,.10g})."
        )
    if how.word == "rescale" and how.out is None:
        data["mismatch"] = "rescale"
        comments["data", "mismatch"] = "scales both sides to one total; raise refuses"
        ask.append(
            f"{names[0]!r} and {names[1]!r} don't add up to the same: they are {100 * how.apart:.1f}% apart in the "
            "median unit and are rescaled."
        )
    over = float(np.median(one / np.maximum(two, 1.0)))  # between these, the reader refuses: overlap, or abstention
    groups = [] if found[2].texts is None else found[2].texts[here[0]].dropna().unique().tolist()
    clear = not LEAST_OVER < over < MOST_OVER or count_all(map(str, groups))
    if how.word == "no_vote" and how.out is None and clear:
        data["mismatch"] = "no_vote"
        comments["data", "mismatch"] = "fewer votes than people: those missing become the outcome 'no vote'"
        ask.append(
            f"there are fewer of {names[1]!r} than of {names[0]!r}, {100 * how.apart:.0f}% fewer in the median unit: "
            "those missing are counted as people who didn't vote."
        )


def refuse_half_long(profile: FileProfile) -> None:
    """Refuse one row per unit and candidate in which the groups are repeated, which no reader takes apart."""
    for unit in (c for c in profile.columns if words.names_unit(c) and 1 < c.distinct <= profile.n_rows / 2):
        fixed = [c for c in profile.numeric if words.like_group(c) and _is_fixed(c, unit)]
        votes = [c for c in profile.numeric if is_called(c, VOTES) and not _is_fixed(c, unit)]
        texts = [c for c in profile.columns if c.texts is not None and c is not unit]
        options = [c for c in texts if combinations([unit, c]) > 0.95 * profile.n_rows]
        if len(fixed) > 1 and votes and options and profile.n_rows > 1.5 * unit.distinct:
            raise DataError(
                f"{profile.path.name} has one row per {unit.name} and {options[0].name}, with the groups "
                f"({', '.join(c.name for c in fixed[:4])}) repeated in each: {profile.n_rows:,} rows of "
                f"{unit.distinct:,} units.",
                hint=f"give each {unit.name} one row, with a column of {votes[0].name} for each {options[0].name}.",
            )


def outcomes_alone(profile: FileProfile) -> Guess | None:
    """A refusal of one row per unit and candidate with its votes and nothing about groups: one side of margins."""
    units = [c for c in profile.columns if words.names_unit(c) and 1 < c.distinct <= profile.n_rows / 1.5]
    votes = [c for c in profile.numeric if c.distinct > 2 and is_called(c, VOTES[:2])]
    options = [c for c in profile.columns if c.texts is not None and is_called(c, CANDIDATES) and c not in units]
    options = [c for c in options if c.amounts is None and c.distinct < profile.n_rows / 2]
    options.sort(key=lambda c: next(k for k, word in enumerate(CANDIDATES) if is_called(c, (word,))))
    units.sort(key=lambda c: -c.distinct)
    if (
        not units
        or not votes
        or not options
        or any(words.like_group(c) for c in profile.columns if c.amounts is not None)
    ):
        return None
    if combinations([*units, options[0]]) > 0.8 * profile.n_rows:
        return refused(
            "ecological",
            0.2,
            f"{profile.path.name} has one row per {units[0].name} and {options[0].name}, with {votes[0].name}: "
            "outcomes alone, and in rows.",
            hint=f"give each {units[0].name} one row, with a column of {votes[0].name} for each {options[0].name}, and "
            "columns for the groups, in that file or in a second one.",
        )
    return None


def _is_fixed(column: Column, unit: Column) -> bool:
    """Whether a column is the same in all rows of a unit."""
    values = pd.Series(column.amounts)
    return bool(values.groupby(unit.codes).nunique().le(1).mean() > 0.95)


def guess_named(profile: FileProfile, names: FileProfile) -> Guess | None:
    """A long file whose options are numbers, and a file with their names: row, row_name, col, col_name."""
    found = guess_long(profile)
    if found is None:
        return None
    sides = [found.columns[side] for side in ("row", "col")]
    if not {name for side in sides for name in (side, f"{side}_name")} <= {c.name for c in names.columns}:
        return None
    found.data["names_file"] = str(names.path)
    found.pool, found.ask = True, [line.replace(APART, TOGETHER) for line in found.ask]
    return found


def _is_contest(column: Column, found: tuple[Column, ...]) -> bool:
    """Whether a column is the same for both sides of a unit: a contest, and not a remark on single rows."""
    unit, side, _, _ = found
    frame = pd.DataFrame({"c": column.codes, "s": side.codes})
    both = frame.groupby("c")["s"].nunique()
    return bool((both == 2).all()) and unit is not column


def _has_gaps(found: tuple[Column, Column, Column], contest: list[Column]) -> bool:
    unit, side, option = found
    frame = pd.DataFrame({"u": unit.codes, "o": combined([side, option])})
    key = combined(contest) if contest else np.zeros(len(frame), dtype=np.int64)
    counted = frame.groupby(key).agg({"u": "nunique", "o": "nunique"})
    return bool((counted["u"] * counted["o"] != frame.groupby(key).size()).any())


def _contests(columns: list[Column]) -> list[dict[str, Any]]:
    first = np.unique(combined(columns), return_index=True)[1]  # a row of each, in the order of the file
    found = [tuple(c.value(i) for c in columns) for i in first.tolist()]
    whole = min(columns, key=lambda c: c.distinct)  # of several columns, the one with the fewest values: an election
    at, entries = columns.index(whole), []
    for values in found:
        entry = {"name": " / ".join(values), "only": dict(zip((c.name for c in columns), values))}
        entries.append(entry if len(columns) == 1 else entry | {"election": values[at]})
    return entries if len(entries) > 1 else []
