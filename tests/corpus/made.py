"""Elections from the package's own generator, as people keep them, and what must come out of each file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import synthetic


@dataclass(frozen=True)
class Election:
    """One election whose margins are known."""

    name: str
    frame: pd.DataFrame  # unit, groups and outcomes as counts
    unit: str
    groups: list[str]
    outcomes: list[str]

    @property
    def total(self) -> np.ndarray:
        return self.frame[self.groups].sum(axis=1).to_numpy()

    def rows(self, keep: Any = slice(None)) -> np.ndarray:
        return self.frame[self.groups].to_numpy(dtype=float)[keep]

    def cols(self, keep: Any = slice(None)) -> np.ndarray:
        return self.frame[self.outcomes].to_numpy(dtype=float)[keep]

    def right(self, keep: Any = slice(None), **changes: Any) -> Right:
        return Right([(self.rows(keep), self.cols(keep))], **changes)


@dataclass(frozen=True)
class Right:
    """The container that must come out: rows and columns of every contest, to within `off` of a unit's total."""

    sides: list[tuple[np.ndarray, np.ndarray | None]]
    off: float = 1e-9
    asks: str = ""  # the key of a question that is asked before


@dataclass(frozen=True)
class Refused:
    """The error that must come out: a pattern of its message."""

    pattern: str


@dataclass(frozen=True)
class Asked:
    """A question whose truthful answer is to stop, or to name the columns."""

    key: str


@dataclass(frozen=True)
class Case:
    """A file (or two), made by a mutation of an election, and what must come of it."""

    name: str
    write: Callable[[Path], list[Path]] = field(repr=False)
    expected: Right | Refused | Asked


def _election(name: str, seed: int, unit: str, groups: list[str], outcomes: list[str]) -> Election:
    made = synthetic.precincts(24, len(groups), len(outcomes), random_state=seed).margins
    rows, cols = made.rows.round(), made.cols.round()
    cols[:, -1] += rows.sum(axis=1) - cols.sum(axis=1)
    frame = pd.DataFrame({unit: [f"{unit[0].upper()}{k:02d}" for k in range(len(rows))]})
    frame[groups], frame[outcomes] = rows.astype(int), cols.astype(int)
    return Election(name, frame, unit, groups, outcomes)


ELECTIONS = (
    _election("ages", 3, "precinct", ["young", "old"], ["yes", "no"]),
    _election("races", 5, "ward", ["white", "black", "hispanic"], ["dem", "rep", "green"]),
    _election("adults", 8, "precinct", ["WVAP", "BVAP", "OVAP"], ["Garcia", "O'Neil", "NoVote"]),
)
MUTATIONS: dict[str, Callable[[Election], tuple[Any, Right | Refused | Asked]]] = {}


def mutation(function: Callable) -> Callable:
    """Register a mutation by its name."""
    MUTATIONS[function.__name__] = function
    return function


def csv(content: Any, name: str = "votes.csv", **options: Any) -> Callable[[Path], list[Path]]:
    """How to write a frame, text or bytes to one file."""

    def write(folder: Path) -> list[Path]:
        path = folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, "utf-8")
        else:
            content.to_csv(path, index=False, **options)
        return [path]

    return write


def cases() -> list[Case]:
    """All cases: every mutation of every election that it can be made of."""
    from corpus import forms, layouts, mutations, totals  # noqa: F401  they register themselves

    found = []
    for k, (name, function) in enumerate(MUTATIONS.items()):
        # how a file is written hardly depends on what is in it: one election; of all else two in turn, at times three
        some = [ELECTIONS[k % 3], ELECTIONS[k % 3 - 1]] if k % 4 else ELECTIONS
        once = function.__module__ in (forms.__name__, layouts.__name__, totals.__name__)
        made = [
            (election, function(election)) for election in (ELECTIONS[k % 2 :] + ELECTIONS[: k % 2] if once else some)
        ]
        possible = [(election, case) for election, case in made if case is not None]
        for election, (content, expected) in possible[: 1 if once else None]:
            write = content if callable(content) else csv(content)
            found.append(Case(f"{name}-{election.name}", write, expected))
    return [*found, *forms.other_cases()]


def matches(message: str, pattern: str) -> bool:
    """Whether a refusal names its cause."""
    return re.search(pattern, message) is not None
