"""Mutations of what the numbers are: shares, totals, flaws, doubles, contests."""

from __future__ import annotations

import numpy as np
import pandas as pd

from corpus.made import Asked, Election, Refused, Right, csv, mutation


def with_row(frame: pd.DataFrame, at: int, **values) -> pd.DataFrame:
    row = pd.DataFrame([{**dict.fromkeys(frame.columns), **values}])
    return pd.concat([frame.iloc[:at], row, frame.iloc[at:]], ignore_index=True)


def changed(e: Election, column: str, row: int, value) -> pd.DataFrame:
    frame = e.frame.astype(object)
    frame.loc[row, column] = value
    return frame


def shares(e: Election, digits: int, whole: float = 1.0) -> pd.DataFrame:
    frame = e.frame.copy()
    for c in [*e.groups, *e.outcomes]:
        frame[c] = (whole * e.frame[c] / e.total).round(digits)
    return frame.assign(total=e.total)


# --- as it should be


@mutation
def plain(e):
    return e.frame, e.right()


@mutation
def with_total(e):
    return e.frame.assign(total=e.total), e.right()


@mutation
def swapped_sides(e):
    return e.frame[[e.unit, *e.outcomes, *e.groups]], e.right()


@mutation
def totals_of_both_sides(e):
    frame = e.frame.copy()
    frame.insert(1, "total_people", e.total)
    return frame.assign(total_votes=e.total), e.right()


@mutation
def no_names_of_units(e):
    return e.frame.drop(columns=e.unit), e.right()


@mutation
def covariates(e):
    n = len(e.frame)
    more = {"median_income": np.linspace(3e4, 9e4, n).round(2), "lat": 35.1, "lon": -78.9, "year": 2020}
    return e.frame.assign(**more), e.right()


@mutation
def known_cells(e):
    frame = e.frame.copy()
    for g in e.groups:
        first = (e.frame[g] * 0.4).round().astype(int)
        frame = frame.assign(**{f"{g}_a": first, f"{g}_b": e.frame[g] - first})
    return frame, e.right()


@mutation
def empty_unit(e):
    return with_row(e.frame, 5, **{e.unit: "nobody", **dict.fromkeys([*e.groups, *e.outcomes], 0)}), Right(
        [tuple(np.insert(side, 5, 0, axis=0) for side in (e.rows(), e.cols()))]
    )


# --- shares and percents


@mutation
def shares_of_three_digits(e):
    return shares(e, 3), e.right(off=0.003, asks="of_whom")


@mutation
def shares_to_the_last_bit(e):
    return shares(e, 15), e.right(off=1e-7)


@mutation
def percents(e):
    return shares(e, 1, 100.0), e.right(off=0.003, asks="of_whom")


@mutation
def whole_percents(e):
    return shares(e, 0, 100.0), e.right(off=0.03, asks="of_whom")


@mutation
def percents_of_nobody_knows_whom(e):
    return shares(e, 0, 100.0).drop(columns="total"), Refused("no column says of how many people")


@mutation
def percents_beside_counts(e):
    frame = e.frame.copy()
    for c in [*e.groups, *e.outcomes]:
        frame.insert(frame.columns.get_loc(c) + 1, f"{c}_pct", (100 * e.frame[c] / e.total).round(1))
    return frame, e.right()


@mutation
def percents_beside_counts_that_differ(e):
    if "NoVote" in e.outcomes:
        return None
    frame = percents_beside_counts(e)[0]
    frame[e.outcomes[0]] += np.where(np.arange(24) % 2, 1, -1) * np.minimum(1, frame[e.outcomes[0]])
    return frame, Right([(e.rows(), None)], asks="near")


@mutation
def percent_signs(e):
    frame = shares(e, 1, 100.0)
    for c in [*e.groups, *e.outcomes]:
        frame[c] = [f"{x}%" for x in frame[c]]
    return frame, e.right(off=0.003, asks="of_whom")


@mutation
def shares_of_groups_counts_of_outcomes(e):
    return shares(e, 4).assign(**{c: e.frame[c] for c in e.outcomes}), e.right(off=0.001)


@mutation
def shares_with_a_rest(e):
    frame = shares(e, 4).drop(columns=[e.groups[-1], e.outcomes[-1]])
    if e.name == "adults":
        return None  # without words on the outcomes nothing shows that a share of Garcia is one
    return frame, e.right(off=0.001, asks="confirm")


@mutation
def shares_that_overlap(e):
    frame = shares(e, 3)
    frame[e.groups[-1]] = (frame[e.groups[-1]] + 0.2).round(3)
    return frame, Asked("confirm")


@mutation
def a_share_without_its_point(e):
    frame = shares(e, 3)
    frame.loc[4, e.groups[0]] *= 1000
    return frame, Asked("confirm")


@mutation
def counts_that_overlap(e):
    if e.name != "races":
        return None  # of adults, more than voted are no overlap; with two outcomes one alone would be left
    frame = e.frame.assign(latino=(0.12 * e.total).round(), total_votes=e.total)
    frame = frame[[e.unit, *e.groups, "latino", *e.outcomes, "total_votes"]].drop(columns=e.outcomes[-1])
    frame[e.groups[0]] += 1  # no longer a side that adds up by itself
    return frame, Asked("overlap")


# --- rows that are not units


@mutation
def total_row_last(e):
    row = {e.unit: "TOTAL", **e.frame.drop(columns=e.unit).sum()}
    return with_row(e.frame, 24, **row), e.right()


@mutation
def total_row_first(e):
    row = {e.unit: "Grand total", **e.frame.drop(columns=e.unit).sum()}
    return with_row(e.frame, 0, **row), e.right()


@mutation
def total_row_without_a_name(e):
    return with_row(e.frame, 24, **e.frame.drop(columns=e.unit).sum()), e.right()


@mutation
def total_row_and_no_names(e):
    frame = e.frame.drop(columns=e.unit)
    return with_row(frame, 24, **frame.sum()), e.right()


@mutation
def subtotals(e):
    parts = []
    for k in range(3):
        part = e.frame.iloc[8 * k : 8 * k + 8]
        parts += [part, pd.DataFrame([{e.unit: f"Area {k} total", **part.drop(columns=e.unit).sum()}])]
    return pd.concat(parts), e.right()


@mutation
def areas_without_a_word(e):
    parts = []
    for k in range(3):
        part = e.frame.iloc[8 * k : 8 * k + 8]
        parts += [part, pd.DataFrame([{e.unit: f"County {k}", **part.drop(columns=e.unit).sum()}])]
    return pd.concat(parts), e.right()


@mutation
def areas_above_their_units(e):
    parts = []
    for k in range(3):
        part = e.frame.iloc[8 * k : 8 * k + 8]
        parts += [pd.DataFrame([part.drop(columns=e.unit).sum()]), part]
    return pd.concat(parts)[list(e.frame.columns)], e.right()


@mutation
def total_row_of_shares(e):
    frame = shares(e, 4)
    overall = {c: round(e.frame[c].sum() / e.total.sum(), 4) for c in [*e.groups, *e.outcomes]}
    return with_row(frame, 24, **{e.unit: "Total", **overall, "total": e.total.sum()}), e.right(
        off=0.001, asks="totals"
    )


@mutation
def footer(e):
    return with_row(e.frame, 24, **{e.unit: "Source: board of elections"}), e.right()


@mutation
def blank_lines(e):
    lines = e.frame.to_csv(index=False).splitlines()
    return "\n".join([*lines[:5], "", *lines[5:], "", ""]), e.right()


# --- flaws


@mutation
def negative_outcome(e):
    return changed(e, e.outcomes[1], 6, -3), Refused("is negative in 1 of 24 rows. First: row 8")


@mutation
def negative_group(e):
    return changed(e, e.groups[0], 0, -30), Refused("is negative in 1 of 24 rows. First: row 2")


@mutation
def missing(e):
    frame = changed(e, e.outcomes[0], 6, None)
    frame.loc[9, e.outcomes[0]] = None
    return frame, Asked("missing")


@mutation
def missing_words(e):
    return changed(e, e.groups[0], 6, "NA"), Asked("missing")


@mutation
def starred(e):
    return changed(e, e.groups[0], 6, "*"), Refused(r"is withheld in 1 of 24 rows. First: row 8 has '\*'")


@mutation
def below_ten(e):
    return changed(e, e.outcomes[0], 6, "<10"), Refused("is withheld in 1 of 24 rows. First: row 8 has '<10'")


@mutation
def withheld_letter(e):
    return changed(e, e.outcomes[0], 6, "(D)"), Refused("is withheld in 1 of 24 rows. First: row 8")


@mutation
def words_among_numbers(e):
    return changed(e, e.outcomes[0], 6, "pending"), Refused(
        "is not a number in 1 of 24 rows. First: row 8 has 'pending'"
    )


@mutation
def typing_error(e):
    keep = np.arange(24) != 7
    return changed(e, e.outcomes[0], 7, int(e.frame.loc[7, e.outcomes[0]]) + 900), e.right(keep, asks="differ")


@mutation
def two_typing_errors(e):
    frame = changed(e, e.outcomes[0], 7, int(e.frame.loc[7, e.outcomes[0]]) + 900)
    frame.loc[20, e.groups[0]] += 11
    return frame, e.right(~np.isin(np.arange(24), [7, 20]), asks="differ")


# --- doubles


@mutation
def doubled_name(e):
    return changed(e, e.unit, 9, e.frame.loc[3, e.unit]), e.right(asks="rows_of_units")


@mutation
def doubled_row(e):
    frame = pd.concat([e.frame, e.frame.iloc[[3]]], ignore_index=True)
    return frame, Asked("doubled")


@mutation
def unit_in_two_pieces(e):
    frame = e.frame.copy()
    frame.loc[24] = frame.loc[3]
    half = (frame.loc[3, e.outcomes].astype(int) // 3).to_numpy()
    frame.loc[24, e.outcomes] = half
    frame.loc[3, e.outcomes] = e.cols()[3].astype(int) - half
    return frame, e.right(np.arange(24) != 3, asks="rows_of_units")


# --- contests


def second(e: Election) -> np.ndarray:
    """Outcomes of another contest with the same voters."""
    moved = np.minimum(e.cols()[:, 0], 5)
    cols = e.cols().copy()
    cols[:, 0] -= moved
    cols[:, 1] += moved
    return cols


def two_contests(e: Election, names: list[str], other: list[str], cols: np.ndarray | None = None) -> pd.DataFrame:
    frame = e.frame.rename(columns=dict(zip(e.outcomes, names)))
    return frame.assign(**{name: (second(e) if cols is None else cols)[:, k] for k, name in enumerate(other)})


@mutation
def contests_by_number(e):
    names = [[f"{c}{k}" for c in "ABC"[: len(e.outcomes)]] for k in (1, 2)]
    sides = [(e.rows(), e.cols()), (e.rows(), second(e))]
    return two_contests(e, *names), Right(sides)


@mutation
def contests_by_office(e):
    parties = ["dem", "rep", "other"][: len(e.outcomes)]
    names = [[f"{office}_{p}" for p in parties] for office in ("pres", "gov")]
    return two_contests(e, *names), Right([(e.rows(), e.cols()), (e.rows(), second(e))])


@mutation
def contests_without_abstention(e):
    names = [[f"{p}_{year}" for p in ("dem", "rep")] for year in (2016, 2020)]
    frame = e.frame[[e.unit, *e.groups]].copy()
    frame[names[0]] = (e.cols()[:, :2] * 0.6).round()
    frame[names[1]] = (second(e)[:, :2] * 0.5).round()
    sides = []
    for pair in names:
        votes = frame[pair].to_numpy(dtype=float)
        sides.append((e.rows(), np.column_stack([votes, e.total - votes.sum(axis=1)])))
    return frame, Right(sides, asks="contests")


@mutation
def contests_that_only_sums_show(e):
    names = [["Garcia", "Smith", "Lee"][: len(e.outcomes)], ["Kim", "Ruiz", "Jones"][: len(e.outcomes)]]
    return two_contests(e, *names), Right([(e.rows(), e.cols()), (e.rows(), second(e))], asks="contests")


@mutation
def contest_beside_one_with_abstention(e):
    if "NoVote" not in e.outcomes:
        return None
    votes = np.maximum(e.cols()[:, :2] - 1, 0)
    frame = e.frame.assign(Kim=votes[:, 0], Ruiz=votes[:, 1])
    away = e.total - votes.sum(axis=1)
    sides = [(e.rows(), e.cols()), (e.rows(), np.column_stack([votes, away]))]
    return frame, Right(sides, asks="contests")


@mutation
def contests_whose_border_is_unclear(e):
    votes = (0.5 * e.total[:, None] * [0.5, 0.48, 0.02]).round()
    frame = e.frame[[e.unit, *e.groups]].assign(Garcia=votes[:, 0], Smith=votes[:, 1], Lee=votes[:, 2])
    second = {"Kim": np.maximum(votes[:, 1] - 1, 0), "Ruiz": votes[:, 0]}
    return frame.assign(**second), Asked("confirm")


# --- sides that differ


@mutation
def fewer_votes_than_people(e):
    votes = (e.cols()[:, :-1] * 0.7).round() if len(e.outcomes) > 2 else (e.cols() * 0.7).round()
    names = e.outcomes[: votes.shape[1]]
    frame = e.frame[[e.unit, *e.groups]].assign(**{c: votes[:, k] for k, c in enumerate(names)})
    cols = np.column_stack([votes, e.total - votes.sum(axis=1)])
    return frame, Right([(e.rows(), cols)], asks="confirm")


@mutation
def fewer_votes_and_a_total_of_people(e):
    frame, right = fewer_votes_than_people(e)
    return frame.assign(VAP=e.total), right


@mutation
def more_votes_than_people_somewhere(e):
    frame, right = fewer_votes_than_people(e)
    frame = frame.copy()
    frame.loc[11, e.outcomes[0]] = e.total[11] + 50
    keep = np.arange(24) != 11
    return frame, Right([tuple(side[keep] for side in right.sides[0])], asks="over")


@mutation
def sides_that_are_near(e):
    if "NoVote" in e.outcomes:
        return None
    frame = e.frame.copy()
    frame[e.outcomes[0]] += np.where(np.arange(24) % 2, 1, -1) * np.minimum(1, frame[e.outcomes[0]])
    return frame, Right([(e.rows(), None)], asks="near")


@mutation
def a_few_more_people_than_votes(e):
    if e.groups[0].endswith("VAP"):
        return None
    votes = (e.cols() * 0.9).astype(int)
    return e.frame.assign(**{c: votes[:, k] for k, c in enumerate(e.outcomes)}), Asked("fewer")


@mutation
def a_total_that_is_mistaken(e):
    total = e.total.copy()
    total[5] += 40
    return e.frame.assign(total=total), e.right()


@mutation
def groups_of_two_years(e):
    frame = e.frame[[e.unit]].copy()
    for year, scale in ((2010, 1.5), (2020, 1.7)):
        frame = frame.assign(**{f"{g}_{year}": (scale * e.frame[g]).round() for g in e.groups})
    frame[e.outcomes] = e.frame[e.outcomes]
    return None if "NoVote" in e.outcomes else (frame, Asked("groups"))


@mutation
def sides_that_are_far_apart(e):
    frame = e.frame.copy()
    frame[e.outcomes[0]] += (e.total * np.where(np.arange(24) % 2, 2.0, 0.7)).astype(int)
    return frame, Asked("more")


@mutation
def not_voting_by_another_name(e):
    frame = e.frame.rename(columns={e.outcomes[-1]: "Did not vote"})
    return frame, e.right()


# --- shapes


def long_frame(e: Election) -> pd.DataFrame:
    rows = []
    for _, unit in e.frame.iterrows():
        rows += [(unit[e.unit], "row", g, unit[g]) for g in e.groups]
        rows += [(unit[e.unit], "col", o, unit[o]) for o in e.outcomes]
    return pd.DataFrame(rows, columns=["unit", "side", "option", "votes"])


@mutation
def long(e):
    return long_frame(e), e.right()


@mutation
def long_with_other_names(e):
    frame = long_frame(e).replace({"side": {"row": "group", "col": "choice"}})
    return frame.rename(columns={"unit": "precinct", "side": "kind", "option": "name", "votes": "count"}), e.right()


@mutation
def long_with_contests(e):
    frame = pd.concat([long_frame(e).assign(race="senate"), long_frame(e).iloc[::-1].assign(race="house")])
    return frame, Right([(e.rows(), e.cols()), (e.rows()[::-1, ::-1], e.cols()[::-1, ::-1])])


@mutation
def long_without_zeros(e):
    frame = e.frame.copy()
    frame.loc[4, e.outcomes[1]] += frame.loc[4, e.outcomes[0]]
    frame.loc[4, e.outcomes[0]] = 0
    made = Election(e.name, frame, e.unit, e.groups, e.outcomes)
    listed = long_frame(made)
    return (listed[listed["votes"] > 0], made.right(asks="absent")) if (e.rows() > 0).all() else None


@mutation
def long_with_two_lines_for_one(e):
    frame = long_frame(e)
    return pd.concat([frame, frame.iloc[[3]]]), Refused("two lines for one option|no form that is known")


@mutation
def half_long(e):
    return e.frame.melt(id_vars=[e.unit, *e.groups], var_name="candidate", value_name="votes"), e.right()


@mutation
def two_files(e):
    def write(folder):
        return [
            *csv(e.frame[[e.unit, *e.groups]], "groups.csv")(folder),
            *csv(e.frame[[e.unit, *e.outcomes]].iloc[::-1], "outcomes.csv")(folder),
        ]

    return write, e.right()


@mutation
def two_files_with_another_unit(e):
    def write(folder):
        other = e.frame[[e.unit, *e.outcomes]].copy()
        other.loc[3, e.unit] = "nowhere"
        return [*csv(e.frame[[e.unit, *e.groups]], "groups.csv")(folder), *csv(other, "outcomes.csv")(folder)]

    return write, Asked("unmatched")
