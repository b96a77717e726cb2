"""Problems on counts over time: who went where, from counts per time and place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.collective import CountsOverTime, DistanceMoves
from sumwise.errors import DataError
from sumwise.study.families.base import Study
from sumwise.study.sources import open_source

__all__ = ["STUDY"]


class Collective(Study):
    """Flows between places from counts over time."""

    family = "collective"
    data_keys = {  # noqa: RUF012
        "file": "one row per time and place, with its count",
        "places_file": "one row per place, with its coordinates",
        "absent": "what a time and place without a row means: raise, zero or unobserved",
    }
    column_keys = {  # noqa: RUF012
        "time": "the column of times, in the order in which they sort",
        "place": "the column of places",
        "count": "the column of counts; empty: not observed",
        "x": "the column of the first coordinate, in either file",
        "y": "the column of the second",
    }
    methods = ("DistanceMoves",)
    former = {"MovesByDistance": "DistanceMoves"}  # noqa: RUF012

    counts: np.ndarray  # (T, L), NaN where not observed
    times: list[str]
    places: list[str]
    positions: np.ndarray | None

    # --- in

    def read(self) -> None:
        """Read counts by time and place, and where the places are."""
        p = self.problem
        names = [str(p.column(key, needed=True)) for key in ("time", "place", "count")]
        with p.blamed():
            sheet = open_source(p, p.file(), None, names[:2])
            sheet.known(*names)
            time, place = (sheet.ids(c).astype(str).str.strip() for c in names[:2])
            noisy = p.options.get("noise") in ("gaussian", "laplace", "geometric")
            values = sheet.numbers([names[2]], missing=True, negative=True)[:, 0]
            hint = 'noisy counts may be: set noise = "laplace" (or gaussian, geometric) and sd in [options].'
            sheet.refuse((values < 0) & (not noisy), f"column {names[2]!r} is negative", hint)
            twice = pd.DataFrame({"t": time, "p": place}).duplicated().to_numpy()
            sheet.refuse(twice, "a time and place has two rows", "add them up, or name the right columns.")
            self.times, self.places = _ordered(time), list(dict.fromkeys(place))
            self.counts = self._grid(sheet, time, place, values)
            self.positions = self._positions(sheet, names[1])
        if len(self.times) < 2:
            raise DataError(
                f"{p.place(('columns', 'time'))}: there is one time; flows need two.", hint="is time the right column?"
            )
        self.data = CountsOverTime(self.counts, self.times, self.places, self.positions)
        seen = int((~np.isnan(self.counts)).sum())
        self.notes.append(
            f"{seen:,} of {self.counts.size:,} counts are observed, at {len(self.times)} times and "
            f"{len(self.places)} places."
        )

    def _grid(self, sheet: Any, time: Any, place: Any, values: np.ndarray) -> np.ndarray:
        absent = checks.choice(self.problem.data.get("absent", "raise"), "absent", ("raise", "zero", "unobserved"))
        out = np.full((len(self.times), len(self.places)), np.nan)
        there = np.zeros(out.shape, dtype=bool)
        rows = pd.Index(self.times).get_indexer(time.tolist())
        cols = pd.Index(self.places).get_indexer(place.tolist())
        out[rows, cols], there[rows, cols] = values, True
        if absent == "raise" and not there.all():
            t, k = np.argwhere(~there)[0]
            raise DataError(
                f"{sheet.name}: {int((~there).sum())} of {there.size} pairs of time and place have no row. First: "
                f"{self.times[t]!r} at {self.places[k]!r}.",
                hint='set absent = "zero" or "unobserved" in [data].',
            )
        return np.where(there, out, 0.0) if absent == "zero" else out

    def _positions(self, sheet: Any, place: str) -> np.ndarray | None:
        p = self.problem
        x, y = p.column("x"), p.column("y")
        if x is None or y is None:
            self.notes.append("No coordinates are given: all moves other than staying are equally likely a priori.")
            return None
        path = p.file("places_file", needed=False)
        if path is not None:
            sheet = open_source(p, path, None, [place])
        sheet.known(place, x, y)
        where = pd.DataFrame(sheet.numbers([x, y], negative=True), columns=["x", "y"])
        where["place"] = sheet.ids(place).astype(str).str.strip().to_numpy()
        one = where.groupby("place", sort=False).first()
        lone = [name for name in self.places if name not in one.index]
        if lone:
            listed = ", ".join(map(repr, lone[:5]))
            raise DataError(f"{sheet.name}: {len(lone)} places have no coordinates ({listed}).", hint="add them.")
        return one.loc[self.places, ["x", "y"]].to_numpy(dtype=float)

    # --- fit

    def choose(self) -> tuple[str, str]:
        """The one model of moves that needs nothing but counts."""
        return "DistanceMoves", "counts alone do not show how individuals move; near moves are preferred"

    def make(self, method: str) -> Any:
        """Settings of the individual model."""
        return {"DistanceMoves": DistanceMoves}[method]()

    def train(self, estimator: Any) -> Any:
        """Fit; an option that makes no sense is blamed on its line."""
        with self.problem.blamed():
            return super().train(estimator)

    # --- out

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Where those who are counted now are one step later: a file with places and counts."""
        p = self.problem
        place, count = str(p.column("place", needed=True)), str(p.column("count", needed=True))
        known = list(model.places_)
        with p.blamed():
            sheet = open_source(p, source, None, [place])
            sheet.known(place, count)
            names = sheet.ids(place).astype(str).str.strip().tolist()
            for name in names:
                checks.known(name, known, "place")
            values = sheet.numbers([count])[:, 0]
        now = np.zeros(len(known))
        np.add.at(now, [known.index(name) for name in names], values)
        low, high = model.predict_interval(now, p.level)
        return pd.DataFrame({"place": known, "now": now, "next": model.predict(now), "low": low, "high": high})


def _ordered(times: Any) -> list[str]:
    """Times as they sort: as numbers where all are, else as text."""
    found = list(dict.fromkeys(times.tolist()))
    try:
        return sorted(found, key=float)
    except ValueError:
        return sorted(found)


STUDY = Collective
