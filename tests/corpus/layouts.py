"""Mutations of how offices lay out their files: headers, sheets, marks in numbers, lines between the units."""

from __future__ import annotations

import csv as text
from pathlib import Path

import numpy as np
import pandas as pd

from corpus.made import Asked, Refused, csv, mutation
from corpus.mutations import changed, with_row


def lines(frame: pd.DataFrame) -> list[str]:
    return frame.to_csv(index=False, lineterminator="\n").strip().split("\n")


def joined(rows: list[str]):
    return csv("\n".join(rows) + "\n")


def written(frame: pd.DataFrame, sign) -> pd.DataFrame:
    """Counts as texts."""
    return frame.apply(lambda c: c.map(sign) if pd.api.types.is_numeric_dtype(c) else c)


def workbook(sheets: dict[str, pd.DataFrame]):
    def write(folder: Path) -> list[Path]:
        with pd.ExcelWriter(folder / "votes.xlsx") as book:
            for name, frame in sheets.items():
                frame.to_excel(book, sheet_name=name, index=False)
        return [folder / "votes.xlsx"]

    return write


# --- headers and lines


@mutation
def merged_header_above(e):
    blanks = [",".join(["", "People", *[""] * (len(e.groups) - 1), "Votes", *[""] * (len(e.outcomes) - 1)])]
    return joined(blanks + lines(e.frame)), e.right()


@mutation
def second_header(e):
    rows = lines(e.frame)
    return joined([rows[0], ",".join(["id", *["count"] * (len(e.frame.columns) - 1)]), *rows[1:]]), e.right()


@mutation
def header_again(e):
    rows = lines(e.frame)
    return joined([*rows[:12], rows[0], *rows[12:]]), e.right()


@mutation
def blank_rows_between(e):
    rows, blank = lines(e.frame), "," * (len(e.frame.columns) - 1)
    return joined([*rows[:9], blank, blank, *rows[9:], blank]), e.right()


@mutation
def single_quotes(e):
    return joined(
        [
            ",".join(f"'{cell}'" for cell in row.split(","))
            for row in lines(e.frame.rename(columns=lambda n: n.replace("'", "")))
        ]
    ), e.right()


@mutation
def all_quoted(e):
    return csv(e.frame, quoting=text.QUOTE_ALL), e.right()


@mutation
def separator_at_the_end(e):
    return joined([f"{row}," for row in lines(e.frame)]), e.right()


@mutation
def row_of_means(e):
    return with_row(e.frame, 24, **{e.unit: "Average", **e.frame.drop(columns=e.unit).mean().round(1)}), e.right(
        asks="totals"
    )


@mutation
def rows_and_columns_swapped(e):
    frame = e.frame.set_index(e.unit).T.rename_axis("what").reset_index()
    if e.name == "adults":
        return None  # no names that read like outcomes
    return frame, Refused("read like groups and outcomes|no form that is known")


# --- columns


@mutation
def columns_in_any_order(e):
    if e.name == "ages":
        return None
    order = np.random.default_rng(1).permutation(e.frame.columns).tolist()
    frame = e.frame[order]
    groups = [[c for c in order if c in side] for side in (e.groups, e.outcomes)]
    rows, cols = (frame[side].to_numpy(dtype=float) for side in groups)
    right = e.right()
    return frame, type(right)([(rows, cols)])


@mutation
def candidate_of_two_parties(e):
    first = e.outcomes[0]
    part = e.frame[first] // 3
    frame = e.frame.assign(**{first: e.frame[first] - part})
    frame.insert(frame.columns.get_loc(first) + 1, f"{first} (Working Families)", part)
    cols = np.column_stack([frame[first], part, e.cols()[:, 1:]]).astype(float)
    return frame, type(e.right())([(e.rows(), cols)], asks="lines")


@mutation
def registered_besides(e):
    return e.frame.assign(registered=(1.4 * e.total).astype(int)), e.right()


@mutation
def running_sums_of_groups(e):
    frame = e.frame.copy()
    frame[e.groups] = e.frame[e.groups].cumsum(axis=1)
    return frame, Asked("confirm")


@mutation
def split_by_sex_too(e):
    if e.name == "ages":
        return None
    men = e.total * 48 // 100
    return e.frame[[e.unit, *e.groups]].assign(male=men, female=e.total - men).join(e.frame[e.outcomes]), type(
        e.right()
    )([(e.rows(), e.cols())], asks="groups")


@mutation
def percents_of_votes_cast(e):
    if e.name != "races":
        return None
    cast = e.frame[e.outcomes[:2]].sum(axis=1)
    frame = e.frame[[e.unit, *e.groups]].assign(total=e.total, votes_cast=cast)
    for c in e.outcomes[:2]:
        frame[f"pct_{c}"] = (100 * e.frame[c] / cast).round(2)
    return frame, Asked("fewer")


@mutation
def long_column_name(e):
    last = e.outcomes[-1]
    frame = e.frame.rename(columns={last: f"{last} {'x' * 5000}"})
    frame.iloc[3, -1] = -4
    return frame, Refused(r"^.{0,600}$")


# --- numbers


@mutation
def thousands_as_in_india(e):
    def grouped(n: int) -> str:
        head, tail = divmod(100 * n, 1000)
        parts = []
        while head > 99:
            head, rest = divmod(head, 100)
            parts.insert(0, f"{rest:02d}")
        return ",".join([str(head), *parts, f"{tail:03d}"]) if head or parts else str(tail)

    return written(e.frame, grouped), type(e.right())([(100 * e.rows(), 100 * e.cols())])


@mutation
def zeros_in_front(e):
    return written(e.frame, lambda n: f"{n:06d}"), Refused("treated as codes")


@mutation
def footnote_in_a_number(e):
    return changed(e, e.outcomes[0], 3, f"{e.frame[e.outcomes[0]][3]}*"), Asked("footnotes")


@mutation
def minus_of_typesetters(e):
    return changed(e, e.outcomes[0], 3, "\u221212"), Refused("is not a number in 1 of 24 rows|negative")


@mutation
def range_of_numbers(e):
    return changed(e, e.outcomes[0], 3, "1-9"), Refused("is not a number in 1 of 24 rows|withheld")


@mutation
def shares_without_any_total(e):
    frame = e.frame.copy()
    for c in [*e.groups, *e.outcomes]:
        frame[c] = (e.frame[c] / e.total).round(5)
    return frame, Refused("no column says of how many people")


# --- workbooks


@mutation
def remarks_in_the_first_sheet(e):
    return workbook({"README": pd.DataFrame({"note": ["a", "b"]}), "Votes": e.frame}), Refused("no form that is known")


@mutation
def two_sheets_of_data(e):
    return workbook({"north": e.frame.iloc[:16], "south": e.frame.iloc[16:]}), e.right(slice(16), asks="sheet")


@mutation
def error_in_a_cell(e):
    return workbook({"Votes": changed(e, e.outcomes[0], 3, "#REF!")}), Refused("'#REF!'")


# --- what adds up, and who is counted twice


@mutation
def sums_among_the_columns(e):
    if e.name != "races":
        return None
    first, second = e.outcomes[:2]
    frame = e.frame.copy()
    frame.insert(frame.columns.get_loc(second) + 1, "two_party", frame[first] + frame[second])
    return frame, e.right()


@mutation
def groups_by_sex_beside_their_sums(e):
    frame = e.frame[[e.unit]].copy()
    for g in e.groups:
        men = e.frame[g] * 48 // 100
        frame = frame.assign(**{g: e.frame[g], f"{g}_m": men, f"{g}_f": e.frame[g] - men})
    return frame.join(e.frame[e.outcomes]), e.right()


@mutation
def ballots_cast_beside_candidates(e):
    if "NoVote" not in e.outcomes:
        return None
    votes = (e.cols()[:, :-1] * 0.97).astype(int)
    frame = e.frame[[e.unit, *e.groups]].assign(**{"Ballots Cast": e.cols()[:, :-1].sum(axis=1)})
    frame = frame.assign(**{c: votes[:, k] for k, c in enumerate(e.outcomes[:-1])})
    return frame, type(e.right())([(e.rows(), np.column_stack([votes, e.total - votes.sum(axis=1)]))], asks="ballots")


@mutation
def margins_of_error(e):
    if e.name != "races":
        return None
    frame = e.frame[[e.unit]].copy()
    for g in e.groups:
        frame = frame.assign(**{f"{g}_est": e.frame[g], f"{g}_moe": 11 + np.arange(24) % 7})
    return frame.join(e.frame[e.outcomes]), e.right()


@mutation
def rows_by_way_of_voting(e):
    parts = []
    for way, share in (("day", 0.5), ("mail", 0.3)):
        votes = (e.frame[e.outcomes] * share).astype(int)
        parts.append(e.frame[[e.unit, *e.groups]].assign(way=way).join(votes))
    return pd.concat(parts), Asked("rows_of_units")


@mutation
def numbers_with_words(e):
    if e.name == "ages":
        return None
    first = e.outcomes[0]
    return e.frame.assign(**{first: [f"{n} votes" for n in e.frame[first] // 2 * 2]}), Refused("aren't plain numbers")


@mutation
def row_of_measures(e):
    rows = lines(e.frame)
    return joined([rows[0], "," + ",".join(["(number)"] * (len(e.frame.columns) - 1)), *rows[1:]]), e.right()


@mutation
def names_of_rows_without_a_header(e):
    rows = lines(e.frame)
    return joined([rows[0], *(f"{k},{row}" for k, row in enumerate(rows[1:]))]), Refused("the header names")


@mutation
def dashes(e):
    frame = e.frame.astype(object)
    frame.loc[3, e.groups[0]] = "-"
    return frame, Asked("dash")


@mutation
def two_headers_with_two_totals(e):
    frame = e.frame.copy()
    frame.insert(1 + len(e.groups), "Total", e.total)
    frame["Total "] = e.total
    top = ["", "People", *[""] * len(e.groups), "Votes", *[""] * len(e.outcomes)]
    return joined([",".join(top), *lines(frame)]), e.right()


@mutation
def contests_by_office_year_and_letter(e):
    if len(e.outcomes) > 2:
        return None
    offices = ("PRES16", "PRES20", "SEN20")
    votes = [(e.cols()[:, :2] * share).astype(int) for share in (0.6, 0.55, 0.5)]
    frame = e.frame[[e.unit, *e.groups]].assign(
        **{f"{office}{p}": v[:, k] for office, v in zip(offices, votes) for k, p in enumerate("DR")}
    )
    sides = [(e.rows(), np.column_stack([v, e.total - v.sum(axis=1)])) for v in votes]
    return frame, type(e.right())(sides, asks="contests")


@mutation
def hidden_sheet_first(e):
    def write(folder: Path) -> list[Path]:
        import openpyxl

        workbook({"Codes": pd.DataFrame({"code": [1, 2]}), "Votes": e.frame})(folder)
        book = openpyxl.load_workbook(folder / "votes.xlsx")
        book["Codes"].sheet_state = "hidden"
        book.save(folder / "votes.xlsx")
        return [folder / "votes.xlsx"]

    return (write, e.right()) if e.name == "races" else None


@mutation
def long_with_totals(e):
    if e.name != "races":
        return None
    rows = []
    for unit in [*e.frame.to_dict("records"), {e.unit: "TOTAL", **e.frame.drop(columns=e.unit).sum()}]:
        for side, names in (("row", e.groups), ("col", e.outcomes)):
            rows += [(unit[e.unit], side, name, unit[name]) for name in names]
            rows.append((unit[e.unit], side, "All", sum(unit[name] for name in names)))
    return pd.DataFrame(rows, columns=["unit", "side", "option", "votes"]), e.right(asks="totals")


@mutation
def candidates_in_rows(e):
    if e.name != "races":
        return None
    frame = e.frame[[e.unit, *e.outcomes]].melt(e.unit, var_name="candidate", value_name="votes")
    return frame, Refused("outcomes alone, and in rows")
