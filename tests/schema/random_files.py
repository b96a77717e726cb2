"""Random analyst files of margins with known truth: columns, kinds, totals, rows and names are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

GROUPS = (
    ["white", "black", "hispanic", "other"],
    ["WVAP", "BVAP", "HVAP", "OVAP"],
    ["age_18_29", "age_30_64", "age_65_plus"],
    ["18-29", "30-44", "45-64", "65+"],
    ["renters", "owners"],
    ["Anglo", "AfrAm", "Latino"],
    ["north", "g2", "k_9"],  # names that say nothing
    ["NH White", "NH Black", "Hispanic", "Other"],
    ["catholic", "protestant", "none"],
    ["farmers", "workers", "clerks"],
    ["low", "middle", "high"],
    ["men", "women"],
)
OUTCOMES = (
    ["dem", "rep", "lib"],
    ["Garcia", "Smith", "O'Neil", "Lee"],
    ["yes", "no"],
    ["Black", "White", "Brown"],  # candidates
    ["Black", "White"],
    ["Young", "Old"],
    ["Young", "King"],
    ["Male", "Hill"],
    ["SPD", "CDU", "Grüne"],
    ["A", "B", "C", "D"],
    ["x1", "x2", "x3"],
)
UNITS = ("precinct", "ward", "Wahlbezirk", "GEOID", "box", "Gemeinde", "polling place", "id")
NO_VOTE, UNDERVOTE, REST = "no vote", "undervote", "all others"
ENCODINGS = ("utf-8", "utf-8-sig", "cp1252", "utf-16")


@dataclass
class World:
    """Units with people in groups, and what they chose."""

    rng: np.random.Generator
    units: list[str]
    groups: dict[str, np.ndarray]
    outcomes: dict[str, np.ndarray]
    people: np.ndarray

    @property
    def sides(self) -> list[dict[str, np.ndarray]]:
        """Both sides, in either order."""
        both = [self.groups, self.outcomes]
        return both[::-1] if self.rng.random() < 0.35 else both

    def frame(self, *columns: dict[str, np.ndarray]) -> pd.DataFrame:
        """A frame of a unit and columns, some of which count nobody."""
        rng, n = self.rng, len(self.units)
        made = pd.DataFrame({str(rng.choice(UNITS)): self.units})
        made = made.join(pd.DataFrame({k: v for side in columns for k, v in side.items()}))
        if rng.random() < 0.3:
            made["median_income"] = rng.normal(50_000, 9_000, n).round(2)
        if rng.random() < 0.15:
            made["year"] = 2020
        if rng.random() < 0.1:
            made["polling_stations"] = rng.integers(1, 9, n)
        return made

    def thinned(self) -> World:
        """The same people, of whom some did not vote."""
        share = self.rng.uniform(0.4, 0.75)
        votes = {k: self.rng.binomial(v, share) for k, v in self.outcomes.items()}
        return World(self.rng, self.units, self.groups, votes, self.people)

    @property
    def away(self) -> np.ndarray:
        """People without a vote."""
        return self.people - sum(self.outcomes.values())


@dataclass
class RandomFile:
    """Files, and the groups and outcomes that must come out, by name; none if they must be refused or stopped.

    `answers`: what is true, by the key of a question: how the right option begins.
    """

    shape: str
    frames: list[pd.DataFrame]
    groups: dict[str, np.ndarray] | None
    outcomes: dict[str, np.ndarray] | list[dict[str, np.ndarray]] | None
    answers: dict[str, str] = field(default_factory=dict)
    off: float = 0.0  # of a unit's people
    named: tuple[list[str], list[str]] = ([], [])  # the columns of both sides
    writing: dict[str, Any] = field(default_factory=dict)
    paths: list[Path] = field(default_factory=list)
    units: list[str] = field(default_factory=list)


def world(rng: np.random.Generator, groups: Any = None, outcomes: Any = None, low: int = 80) -> World:
    """A random world."""
    n = int(rng.integers(8, 45))
    g = list(groups or GROUPS[rng.integers(len(GROUPS))])
    o = list(outcomes or OUTCOMES[rng.integers(len(OUTCOMES))])
    while {x.lower() for x in g} & {x.lower() for x in o}:
        o = list(OUTCOMES[rng.integers(len(OUTCOMES))])
    people = rng.integers(low, 900, n)
    rows = np.array([rng.multinomial(k, rng.dirichlet(np.ones(len(g)) * 2)) for k in people])
    chosen = rng.dirichlet(np.ones(len(o)), len(g))
    cols = sum(np.array([rng.multinomial(k, p) for k in rows[:, i]]) for i, p in enumerate(chosen))
    return World(rng, [f"P{k:03d}" for k in range(n)], dict(zip(g, rows.T)), dict(zip(o, cols.T)), people)


def random_file(seed: int, folder: Path) -> RandomFile:
    """The file of a seed, written."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    made = shape(rng)
    made.shape = shape.__name__
    for i, frame in enumerate(made.frames):
        path = folder / f"{seed}_{i}.csv"
        opening = {"sep": str(rng.choice([",", ";", "\t"])), "encoding": str(rng.choice(ENCODINGS)), **made.writing}
        frame.to_csv(path, index=False, **opening)
        made.paths.append(path)
    return made


def _file(w: World, frames: list[pd.DataFrame], outcomes: Any = None, **more: Any) -> RandomFile:
    truth = w.outcomes if outcomes is None else outcomes
    return RandomFile("", frames, w.groups, truth, named=([*w.groups], [*w.outcomes]), units=w.units, **more)


def _refused(w: World, frames: list[pd.DataFrame], **more: Any) -> RandomFile:
    return RandomFile("", frames, None, None, named=([*w.groups], [*w.outcomes]), units=w.units, **more)


# --- sides that agree


def equal(rng):
    w = world(rng)
    name = str(rng.choice(["total", "N", "turnout", "votes cast", "all", "ballots"]))
    return _file(w, [w.frame(*w.sides, *([{name: w.people}] if rng.random() < 0.4 else []))])


def columns_in_any_order(rng):
    w = world(rng)
    columns = list({**w.groups, **w.outcomes}.items())
    rng.shuffle(columns)
    return _file(w, [w.frame(dict(columns))])


def another_count(rng):
    w = world(rng)
    columns = [*w.groups.items(), *w.outcomes.items()]
    columns.insert(int(rng.integers(len(columns) + 1)), ("dogs", rng.integers(0, 80, len(w.units))))
    return _file(w, [w.frame(dict(columns))])


def two_files(rng):
    w = world(rng)
    key = str(rng.choice(UNITS))
    frames = [pd.DataFrame({key: w.units}).join(pd.DataFrame(side)) for side in w.sides]
    frames[1] = frames[1].sample(frac=1, random_state=1).reset_index(drop=True)
    return _file(w, frames)


def two_files_with_candidates_in_rows(rng):
    w = world(rng)
    key, n = str(rng.choice(UNITS)), len(w.outcomes)
    rows = pd.DataFrame({key: np.repeat(w.units, n), "candidate": [*w.outcomes] * len(w.units)})
    rows["votes"] = np.column_stack([*w.outcomes.values()]).ravel()
    frames = [pd.DataFrame({key: w.units}).join(pd.DataFrame(w.groups)), rows]
    return _file(w, frames if rng.random() < 0.5 else frames[::-1], answers={"rows_are": "what they chose"})


def options_in_rows(rng):
    w = world(rng)
    side, row, col = [("side", "row", "col"), ("kind", "group", "outcome"), ("type", "demographic", "vote")][
        rng.integers(3)
    ]
    parts = []
    for word, options in ((row, w.groups), (col, w.outcomes)):
        n = len(options)
        part = pd.DataFrame({"precinct": np.repeat(w.units, n), side: word, "option": [*options] * len(w.units)})
        parts.append(part.assign(n=np.column_stack([*options.values()]).ravel()))
    return _file(w, [pd.concat(parts).sample(frac=1, random_state=1)], answers={"groups_are": row})


def two_ways_to_split_people(rng):
    w = world(rng, groups=["white", "black", "other"])
    ages = np.array([rng.multinomial(k, [0.2, 0.5, 0.3]) for k in w.people])
    return _file(w, [w.frame(w.groups, dict(zip(["age1829", "age3064", "age65p"], ages.T)), w.outcomes)])


def sums_of_candidates(rng):
    w = world(rng, outcomes=["Smith", "Jones"])
    early = {k: rng.binomial(v, 0.4) for k, v in w.outcomes.items()}
    columns = {}
    for k, v in w.outcomes.items():
        columns |= {f"{k}_early": early[k], f"{k}_day": v - early[k], f"{k}_total": v}
    made = _file(w, [w.frame(w.groups, columns)], {f"{k}_total": v for k, v in w.outcomes.items()})
    made.named = [*w.groups], [f"{k}_total" for k in w.outcomes]
    return made


def thousands(rng):
    w = world(rng)
    w.groups, w.outcomes = ({k: 23 * v for k, v in side.items()} for side in (w.groups, w.outcomes))
    sign = str(rng.choice([",", " ", "'"]))
    texts = {k: [f"{x:,}".replace(",", sign) for x in v] for side in w.sides for k, v in side.items()}
    return _file(w, [pd.DataFrame({"ward": w.units, **texts})], writing={"sep": ";"})


def contests(rng):
    w = world(rng, outcomes=["dem_2016", "rep_2016"])
    votes = rng.dirichlet([3, 3, 1])
    second = np.array([rng.multinomial(k, votes) for k in w.people])
    names = ["dem_2020", "rep_2020", "lib_2020"]
    made = _file(w, [w.frame(w.groups, w.outcomes, dict(zip(names, second.T)))], answers={"contests": "yes"})
    made.outcomes, made.named = [w.outcomes, dict(zip(names, second.T))], ([*w.groups], [*w.outcomes, *names])
    return made


# --- sides that differ


def fewer(rng):
    w = world(rng).thinned()
    more = {"VAP": w.people} if rng.random() < 0.4 else {}
    return _file(w, [w.frame(*w.sides, more)], {**w.outcomes, NO_VOTE: w.away}, answers={"fewer": "they did not"})


def ballots(rng):
    w = world(rng).thinned()
    under = rng.binomial(w.away, 0.3)
    name = str(rng.choice(["Ballots Cast", "turnout", "papers", "voters who voted"]))
    cast = {name: sum(w.outcomes.values()) + under}
    truth = {**w.outcomes, UNDERVOTE: under, NO_VOTE: w.away - under}
    return _file(w, [w.frame(*w.sides, cast)], truth, answers={"fewer": "they did not", "ballots": "they turned out"})


def all_others(rng):
    w = world(rng).thinned()
    rest = rng.binomial(w.people, 0.1)
    name = str(rng.choice(["VAP", "registered", "TOTPOP", "CVAP"]))
    made = _file(w, [w.frame(*w.sides, {name: w.people + rest})], {**w.outcomes, NO_VOTE: w.away + rest})
    made.groups = {**w.groups, REST: rest}
    made.answers = {"fewer": "they did not", "rest_group": "a group"}
    return made


def shares(rng):
    w = world(rng)
    scale = float(rng.choice([1.0, 100.0]))
    digits = int(rng.integers(3, 6)) - (2 if scale > 1 else 0)
    parts = [{k: (scale * v / w.people).round(digits) for k, v in side.items()} for side in w.sides]
    return _file(w, [w.frame(*parts, {"total": w.people})], off=0.02, answers={"of_whom": "of total"})


def percents_with_decimal_commas(rng):
    w = world(rng)
    parts = {k: (100 * v / w.people).round(2) for k, v in w.groups.items()}
    answers = {"of_whom": "the sum of"}
    return _file(w, [w.frame(parts, w.outcomes)], off=0.02, answers=answers, writing={"sep": ";", "decimal": ","})


def line_of_totals(rng):
    w = world(rng)
    frame = w.frame(w.groups, w.outcomes)
    name = str(rng.choice(["TOTAL", "Summe", "County", "", "All precincts", "zzz"]))
    last = {**frame[[*w.groups, *w.outcomes]].sum().to_dict(), frame.columns[0]: name}
    parts = [frame, pd.DataFrame([last]).reindex(columns=frame.columns)]
    whole = pd.concat(parts if rng.random() < 0.7 else parts[::-1], ignore_index=True)
    return _file(w, [whole], answers={"totals": "yes"})


def copied_row(rng):
    w = world(rng)
    frame, i = w.frame(w.groups, w.outcomes), int(rng.integers(len(w.units)))
    return _file(w, [pd.concat([frame.iloc[: i + 1], frame.iloc[i:]])], answers={"doubled": "one was copied"})


# --- files that must be refused, or stopped


def shares_of_adults(rng):
    w = world(rng).thinned()
    parts = {k: (v / w.people).round(4) for k, v in w.groups.items()}
    return _refused(w, [w.frame(parts, w.outcomes, {"total_votes": sum(w.outcomes.values())})])


def several_votes(rng):
    w = world(rng, outcomes=["Ames", "Baker", "Cole", "Diaz"])
    turnout = rng.binomial(w.people, rng.uniform(0.4, 0.95))
    votes = {k: rng.binomial(turnout, q) for k, q in zip(w.outcomes, np.minimum(2 * rng.dirichlet([3] * 4), 0.95))}
    return _refused(w, [w.frame(w.groups, votes, {"Ballots": turnout} if rng.random() < 0.7 else {})])


def absentee(rng):
    w = world(rng).thinned()
    early = {k: rng.binomial(v, 0.4) for k, v in w.outcomes.items()}
    day = {k: v - early[k] for k, v in w.outcomes.items()}
    frame = pd.DataFrame({"precinct": w.units, **w.groups, **day})
    last = {"precinct": "ABSENTEE", **dict.fromkeys(w.groups, 0), **{k: v.sum() for k, v in early.items()}}
    return _refused(w, [pd.concat([frame, pd.DataFrame([last])])])


def hispanics_in_races_too(rng):
    w = world(rng, groups=["White", "Black", "Other"])
    more = {"Hispanic": rng.binomial(w.people, 0.15)}
    total = {str(rng.choice(["VAP", "total"])): w.people} if rng.random() < 0.6 else {}
    made = _refused(w, [w.frame(w.groups, more, w.outcomes, total)])
    made.named[0].append("Hispanic")
    return made


def withheld(rng):
    w = world(rng)
    columns = {**w.groups, **w.outcomes}
    name = list(columns)[rng.integers(len(columns))]
    column = columns[name].astype(object)
    column[int(rng.integers(len(column)))] = str(rng.choice(["*", "<5", "(D)", "pending"]))
    return _refused(w, [w.frame({**columns, name: column})])


def votes_alone(rng):
    w = world(rng)
    return _refused(w, [w.frame(w.outcomes)])


SHAPES: tuple[Callable[..., RandomFile], ...] = (
    equal,
    columns_in_any_order,
    another_count,
    two_files,
    two_files_with_candidates_in_rows,
    options_in_rows,
    two_ways_to_split_people,
    sums_of_candidates,
    thousands,
    contests,
    fewer,
    ballots,
    all_others,
    shares,
    percents_with_decimal_commas,
    line_of_totals,
    copied_row,
    shares_of_adults,
    several_votes,
    absentee,
    hispanics_in_races_too,
    withheld,
    votes_alone,
)
