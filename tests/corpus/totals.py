"""Mutations of what adds up to what: turnout, abstention, running sums, thousands, wrong totals, long files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from corpus.layouts import workbook
from corpus.made import Asked, Election, Refused, Right, csv, mutation
from corpus.mutations import long_frame, with_row


def sides(e: Election) -> list[str]:
    return [*e.groups, *e.outcomes]


def abstaining(e: Election) -> Right:
    """The same margins, where nobody counted those who didn't vote, who then come last."""
    return e.right()


@mutation
def turnout_beside_the_candidates(e):
    if "NoVote" not in e.outcomes:
        return None
    frame = e.frame.copy()
    frame.insert(len(frame.columns) - 1, "turnout", e.cols()[:, :-1].sum(axis=1))
    return frame.assign(total=e.total), e.right()


@mutation
def turnout_beside_groups_of_all_adults(e):
    if "NoVote" not in e.outcomes:
        return None
    frame = e.frame.drop(columns="NoVote")
    return frame.assign(turnout=e.cols()[:, :-1].sum(axis=1)), e.right(asks="confirm")


@mutation
def every_count_beside_its_percent(e):
    frame = e.frame[[e.unit]].assign(total=e.total)
    for c in sides(e):
        frame[c], frame[f"{c} %"] = e.frame[c], (100 * e.frame[c] / e.total).round(1)
    return frame, e.right()


@mutation
def counts_in_thousands(e):
    frame = e.frame.copy()
    frame[sides(e)] = (frame[sides(e)] / 1000).round(3)
    return frame.assign(total=(e.total / 1000).round(3)), Refused("no column says of how many people")


@mutation
def counts_in_thousands_by_their_names(e):
    frame = e.frame.rename(columns={c: f"{c} ('000)" for c in sides(e)})
    return frame, Refused("have counts in thousands or millions, by their names")


@mutation
def rows_that_are_running_sums(e):
    frame = e.frame.copy()
    frame[sides(e)] = frame[sides(e)].cumsum()
    return frame, Refused("grow from each row to the next, in all 24 rows: running sums of the units")


@mutation
def columns_that_are_running_sums(e):
    frame = e.frame.copy()
    for side in (e.groups, e.outcomes):
        frame[side] = frame[side].cumsum(axis=1)
    return (frame, Asked("confirm")) if len(e.groups) > 2 else None


@mutation
def a_line_of_totals_that_is_wrong(e):
    sums = e.frame[sides(e)].sum().to_dict()
    sums[e.groups[0]] += 500
    frame = with_row(e.frame, 24, **{e.unit: "Total", **sums})
    return frame, e.right(asks="totals")


@mutation
def two_years_below_each_other(e):
    later = e.frame.copy()
    later[e.outcomes] = later[e.outcomes[::-1]].to_numpy()
    both = pd.concat([e.frame.assign(year=2016), later.assign(year=2020)])
    return both, Asked("rows_of_units")


@mutation
def names_of_windows(e):
    frame = e.frame.copy()
    frame.loc[[0, 1], e.unit] = ["O\u2019Neil\u2019s \u2013 north", "Pe\u00f1a"]
    return csv(frame.to_csv(index=False).encode("cp1252")), e.right()


@mutation
def headings_over_the_header_of_a_workbook(e):
    top = [None, *["People"] * len(e.groups), *["Votes"] * len(e.outcomes)]
    frame = pd.DataFrame([list(e.frame.columns), *e.frame.to_numpy(dtype=object).tolist()], columns=range(len(top)))
    frame.columns = ["" if t is None or t in top[:k] else t for k, t in enumerate(top)]
    return workbook({"a": frame}), e.right()


@mutation
def a_text_file_called_workbook(e):
    return csv(e.frame.to_csv(index=False), "votes.xlsx"), Refused("is text, and no workbook.*call it .csv")


# --- long files


@mutation
def long_with_fewer_votes(e):
    frame = long_frame(e)
    return (frame[frame["option"] != "NoVote"], abstaining(e)) if "NoVote" in e.outcomes else None


@mutation
def long_with_fewer_votes_in_two_contests(e):
    frame = long_frame(e)
    frame = frame[frame["option"] != "NoVote"]
    both = pd.concat([frame.assign(race="senate"), frame.assign(race="house")])
    right = Right([(e.rows(), e.cols())] * 2)
    return (both, right) if "NoVote" in e.outcomes else None


@mutation
def long_with_sides_by_words(e):
    frame = long_frame(e).replace({"side": {"row": "race", "col": "party"}}).rename(columns={"side": "what"})
    return (frame[frame["option"] != "NoVote"], abstaining(e)) if "NoVote" in e.outcomes else None


@mutation
def long_with_a_mistake_in_two_units(e):
    frame = long_frame(e)
    wrong = frame["unit"].isin(e.frame[e.unit][[4, 9]]) & (frame["option"] == e.outcomes[0])
    frame.loc[wrong, "votes"] += 7
    keep = ~np.isin(np.arange(24), [4, 9])
    return frame, e.right(keep, asks="differ")


@mutation
def long_with_sides_that_are_near(e):
    frame = long_frame(e)
    some = (frame["option"] == e.outcomes[0]) & (np.arange(len(frame)) // len(sides(e)) % 2 == 0)
    frame.loc[some, "votes"] += 3
    return frame, e.right(off=0.1, asks="near")


def flawed_flocks(birds: pd.DataFrame) -> dict[str, tuple[pd.DataFrame, str]]:
    """Counts over time that must be refused, and why."""
    sums = birds.assign(birds=birds.groupby("site")["birds"].cumsum() + birds["week"])
    phases = dict(zip(range(1, 6), ["north", "south", "east", "west", "up"]))
    place = birds["site"].str[5:].astype(float)
    swapped = birds.drop(columns=["x", "y"]).assign(lon=40 + place, lat=-100 - place)
    return {
        "running_counts": (sums, "counts never fall .* at any of 9 places: they are running sums"),
        "times_without_order": (birds.replace({"week": phases}), "the order of the times in 'week' isn't known: north"),
        "one_time": (birds[birds["week"] == 1], "no form that is known"),
        "swapped_degrees": (swapped, "A latitude is -108.*are longitude and latitude swapped"),
    }


def write_padded(individuals: pd.DataFrame):
    """Two files of which one writes bags with zeros in front."""

    def write(folder: Path) -> list[Path]:
        codes = individuals["area"].str[1:]
        results = pd.crosstab(codes.astype(int), individuals["vote"]).reset_index()
        people = individuals.drop(columns="vote").assign(area=codes)
        return [*csv(people, "people.csv")(folder), *csv(results, "results.csv")(folder)]

    return write
