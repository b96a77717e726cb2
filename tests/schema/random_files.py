"""Random analyst files whose margins are known: columns, kinds, totals, rows and names are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

GROUPS = (
    ["white", "black", "hispanic", "other"],
    ["WVAP", "BVAP", "HVAP", "OVAP"],
    ["age_18_29", "age_30_64", "age_65_plus"],
    ["renters", "owners"],
    ["Anglo", "AfrAm", "Latino"],
    ["north", "g2", "k_9"],  # names that say nothing
)
OUTCOMES = (
    ["dem", "rep", "lib"],
    ["Garcia", "Smith", "O'Neil", "Lee"],
    ["yes", "no"],
    ["Black", "White", "Brown"],  # candidates
    ["SPD", "CDU", "Nichtwähler"],
    ["A", "B", "C", "D"],
)
UNITS = ("precinct", "ward", "Wahlbezirk", "GEOID", "box")
NO_VOTE, UNDERVOTE = "no vote", "undervote"


@dataclass
class RandomFile:
    """A file, and the groups and outcomes that must come out, by name; none if it must be refused or stopped."""

    path: Path
    groups: dict[str, np.ndarray] | None
    outcomes: dict[str, np.ndarray] | None
    off: float  # of a unit's people


def random_file(seed: int, folder: Path) -> RandomFile:
    """The file of a seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    names = list(GROUPS[rng.integers(len(GROUPS))]), list(OUTCOMES[rng.integers(len(OUTCOMES))])
    people = rng.integers(80, 900, n)
    rows = np.array([rng.multinomial(k, rng.dirichlet(np.ones(len(names[0])) * 2)) for k in people])
    votes_of = rng.dirichlet(np.ones(len(names[1])), len(names[0]))
    cols = sum(np.array([rng.multinomial(k, p) for k in rows[:, g]]) for g, p in enumerate(votes_of))
    frame = pd.DataFrame({str(rng.choice(UNITS)): [f"P{k:03d}" for k in range(n)]})
    groups, outcomes = dict(zip(names[0], rows.T)), dict(zip(names[1], cols.T))
    shape = ["equal", "fewer", "ballots", "shares", "withheld", "two_sums", "several_votes"][int(rng.integers(7))]
    made = globals()[f"_{shape}"](rng, groups, outcomes, people)
    columns, truth, off = made
    listed = list(columns)
    if rng.random() < 0.3:
        listed = listed[::-1]
    frame = frame.join(pd.DataFrame({name: columns[name] for name in listed}))
    if rng.random() < 0.3:
        frame["median_income"] = rng.normal(50_000, 9_000, n).round(2)
    if shape in ("equal", "fewer") and rng.random() < 0.3:
        total = {**frame.select_dtypes("number").sum().to_dict(), frame.columns[0]: "TOTAL"}
        frame = pd.concat([frame, pd.DataFrame([total])[list(frame.columns)]], ignore_index=True)
    path = folder / f"{seed}.csv"
    frame.to_csv(path, index=False, sep=str(rng.choice([",", ";", "\t"])))
    return RandomFile(path, *(truth or (None, None)), off)


def _equal(rng, groups, outcomes, people):
    """Both sides count everybody."""
    more = {"total": people} if rng.random() < 0.4 else {}
    return {**groups, **outcomes, **more}, (groups, outcomes), 0.0


def _fewer(rng, groups, outcomes, people):
    """Some people did not vote."""
    votes = {name: (x * 0.6).astype(int) for name, x in outcomes.items()}
    more = {"VAP": people} if rng.random() < 0.4 else {}
    return {**groups, **votes, **more}, (groups, {**votes, NO_VOTE: people - sum(votes.values())}), 0.0


def _ballots(rng, groups, outcomes, people):
    """Some stayed at home, others turned out and left this contest blank."""
    votes = {name: (x * 0.6).astype(int) for name, x in outcomes.items()}
    cast = sum(votes.values()) + rng.binomial(people - sum(votes.values()), 0.3)
    truth = {**votes, UNDERVOTE: cast - sum(votes.values()), NO_VOTE: people - cast}
    return {**groups, **votes, "Ballots Cast": cast}, (groups, truth), 0.0


def _shares(rng, groups, outcomes, people):
    """Shares of everybody, and the total."""
    scale = float(rng.choice([1.0, 100.0]))
    digits = int(rng.integers(3, 6)) - (2 if scale > 1 else 0)
    shares = {name: (scale * x / people).round(digits) for name, x in {**groups, **outcomes}.items()}
    return {**shares, "total": people}, (groups, outcomes), 0.02


def _withheld(rng, groups, outcomes, people):
    """A count is not there."""
    name = next(iter(outcomes))
    column = outcomes[name].astype(object)
    column[int(rng.integers(len(column)))] = str(rng.choice(["*", "<5", "(D)", "pending"]))
    return {**groups, **outcomes, name: column}, None, 0.0


def _two_sums(rng, groups, outcomes, people):
    """Groups overlap: one of them is counted in the others too."""
    name = next(iter(groups))
    more = (0.2 * people).astype(int)
    return {**groups, name: groups[name] + more, **outcomes, "total": people}, None, 0.0


def _several_votes(rng, groups, outcomes, people):
    """Each voter had two votes: votes aren't people."""
    votes = {name: np.minimum(2 * x, people) for name, x in outcomes.items()}
    return {**groups, **votes, "Ballots": people}, None, 0.0
