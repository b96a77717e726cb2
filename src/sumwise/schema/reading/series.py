"""Counts over time and place from files: a row for each, or times or places in columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.io.formats.sheet import Sheet
from sumwise.schema.opened import open_source
from sumwise.schema.problem import NEGATIVE, NOISES, Problem
from sumwise.schema.reading.base import Reading


class SeriesReading(Reading):
    """Counts by time and place, as columns time, place and count, with season, effort and mask where there are any."""

    family = "collective"
    data_keys = {  # noqa: RUF012
        "file": "one row per time and place, with its count; times or places in columns; or a BirdFlow model (.hdf5)",
        "places_file": "one row per place, with its coordinates",
        "distances_file": "one row per pair of places: origin, destination, distance",
        "tracks_file": "one row per individual that was seen twice: from_place, from_time, to_place, to_time",
        "outlines_file": "GeoJSON of polygons in longitude and latitude that maps show below the places",
        "absent": "what a time and place without a row means: raise, zero or unobserved",
        "repeated": "what to do with several rows of a time and place: raise or add",
        "times": "regular: times that are missing from a regular series are estimated",
    }
    column_keys = {  # noqa: RUF012
        "time": "the column of times: numbers, dates, hours, months",
        "times": "the columns of counts, one per time, in order, where each place has one row",
        "place": "the column of places; default: places are known by their coordinates",
        "places": "the columns of counts, one per place, where each time has one row",
        "count": "the column of counts; empty: not observed",
        "season": "the column of years, days or other repetitions that share their movement",
        "effort": "the column of effort: hours, kilometres or any measure of how much was looked for",
        "mask": "the column that is 0 where nobody can be at that time",
        "lon": "the column of longitudes, in either file; distances are in km",
        "lat": "the column of latitudes",
        "x": "the column of the first projected coordinate, in either file",
        "y": "the column of the second",
        "area": "the column of sizes of places",
        "region": "the column of regions of places, for connectivity",
    }
    noises = "options", NOISES

    sheet: Sheet  # of the counts
    every: pd.DataFrame  # its counts, before those of one time and place are added up
    rows: np.ndarray  # the row of that sheet for each count

    def read(self) -> None:
        """Read the counts."""
        with self.problem.blamed():
            self.data = self.counted()

    def counted(self) -> pd.DataFrame:
        """The rows of a file of counts, checked."""
        sheet, frame, rows = counted_rows(self.problem)

        def refuse(bad: Any, what: str, hint: str) -> None:
            sheet.refuse(np.bincount(rows, np.asarray(bad), len(sheet)) > 0, what, hint)

        frame["time"] = in_order(frame["time"])
        hint = 'noisy counts may be: set noise = "laplace" (or gaussian, geometric) and sd in [options].'
        noisy = self.problem.options.get("noise") in NEGATIVE
        p = self.problem
        wide = p.column_list("times") or p.column_list("places")
        words = f"column {p.column('count')!r}" if wide is None else f"one of the {len(wide)} columns of counts"
        refuse((frame["count"] < 0) & (not noisy), f"{words} is negative", hint)
        season = p.column("season")
        if season is not None:
            sheet.known(season)
            frame["season"] = in_order(sheet.ids(season)).to_numpy()[rows]
        for key in ("effort", "mask"):
            column = p.column(key)
            if column is not None:
                sheet.known(column)
                frame[key] = sheet.numbers([column])[rows, 0]
        keys = [k for k in ("season", "time", "place") if k in frame]
        advice = 'add them up (repeated = "add" in [data]), or name the right columns (season = ... for years or days).'
        with p.blamed(("data", "repeated")):
            add = checks.choice(p.data.get("repeated", "raise"), "repeated", ("raise", "add")) == "add"
        refuse(frame.duplicated(keys) & (not add), "a time and place has two rows", advice)
        self.sheet, self.rows, self.every = sheet, rows, frame
        return self._added(frame, keys) if add else frame

    def _added(self, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
        """Counts of one time and place added up, and their effort; a count is missing where none was made."""
        counted = frame[frame["count"].notna()] if "effort" in frame else frame
        groups = counted.groupby(keys, sort=False)
        made = pd.DataFrame({"count": groups["count"].sum(min_count=1)})
        for key in ("effort", "mask"):
            if key in frame:
                made[key] = groups[key].agg("sum" if key == "effort" else "max")
        self.notes.append(f"{len(frame):,} rows were added up to {len(made):,} times and places.")
        return made.reset_index()


def in_order(texts: Any) -> pd.Series:
    """Values as numbers where all are, so that 10 comes after 9; else as text."""
    stripped = texts.astype(str).str.strip()
    numbers: Any = pd.to_numeric(stripped, errors="coerce")
    if numbers.isna().any():
        return stripped
    return numbers.astype(int) if (numbers == numbers.round()).all() else numbers


def coordinate_columns(problem: Problem) -> dict[str, str]:
    """The columns of coordinates that [columns] names: lon and lat, or x and y; empty where it names none."""
    pairs = ({key: problem.column(key) for key in pair} for pair in (("lon", "lat"), ("x", "y")))
    return next(({k: str(v) for k, v in pair.items()} for pair in pairs if all(pair.values())), {})


def counted_rows(problem: Problem) -> tuple[Sheet, pd.DataFrame, np.ndarray]:
    """The opened file, its counts as columns time, place and count, and the row of the file that each stands in."""
    times, sites = problem.column_list("times"), problem.column_list("places")
    if times is not None and sites is not None:
        problem.fail(("columns", "places"), "[columns] names times and places.", "give one of them, and the other one.")
    time = None if times else str(problem.column("time", needed=True))
    place = None if sites else problem.column("place")
    pair = tuple(coordinate_columns(problem).values())
    if place is None and not sites and (not pair or "places_file" in problem.data):
        problem.column("place", needed=True)
    counts = times or sites or [str(problem.column("count", needed=True))]
    named = [c for c in (time, place) if c is not None]
    sheet = open_source(problem, problem.file(), None, named)
    sheet.known(*named, *counts)
    values = sheet.numbers(counts, missing=True, negative=True)
    rows, columns = np.indices(values.shape).reshape(2, -1)
    made: dict[str, Any] = {}
    made["time"] = np.array(times)[columns] if times else sheet.names(time).to_numpy()[rows]
    if sites:
        made["place"] = np.array(sites)[columns]
    elif place is not None:
        made["place"] = sheet.names(place).to_numpy()[rows]
    else:
        made["place"] = np.array(_named_by_position(sheet, pair))[rows]
    return sheet, pd.DataFrame({**made, "count": values.ravel()}), rows


def _named_by_position(sheet: Sheet, pair: Any) -> list[str]:
    """Places without names are named by their coordinates."""
    sheet.known(*pair)
    where = sheet.numbers(list(pair), negative=True)
    return [f"{a:.10g}, {b:.10g}" for a, b in where.tolist()]
