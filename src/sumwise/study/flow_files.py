"""Files of counts over time: a row per time and place, times or places in columns, or a BirdFlow model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise.collective import Places
from sumwise.collective.flow_data import Columns, places_of_columns, read_counts
from sumwise.errors import DataError
from sumwise.readers.birdflow import read_birdflow
from sumwise.readers.sheet import Sheet
from sumwise.study.problem import Problem
from sumwise.study.sources import open_source


def birdflow_rows(path: Path) -> tuple[pd.DataFrame, Places]:
    """Weekly shares of a BirdFlow model as columns time, place, count and mask; and its cells."""
    read = read_counts(read_birdflow(path), None, Columns(), None, "unobserved")
    t, k = np.indices(read.counts[0].shape).reshape(2, -1)
    names = np.array([str(name) for name in read.places.names], dtype=object)
    made = {"time": np.array(read.times)[t], "place": names[k], "count": read.counts[0].ravel()}
    frame = pd.DataFrame(made if read.mask is None else {**made, "mask": read.mask[0].ravel().astype(float)})
    return frame, replace(read.places, names=tuple(names))


def coordinate_columns(problem: Problem) -> tuple[str, str] | None:
    """The columns of coordinates that [columns] names: longitude and latitude, or x and y."""
    for pair in (("lon", "lat"), ("x", "y")):
        names = [problem.column(key) for key in pair]
        if all(names):
            return str(names[0]), str(names[1])
    return None


def counted_rows(problem: Problem) -> tuple[Sheet, pd.DataFrame, np.ndarray]:
    """The opened file, its counts as columns time, place and count, and the row of the file that each stands in."""
    times, sites = problem.column_list("times"), problem.column_list("places")
    if times is not None and sites is not None:
        problem.fail(("columns", "places"), "[columns] names times and places.", "give one of them, and the other one.")
    time = None if times else str(problem.column("time", needed=True))
    place = None if sites else problem.column("place")
    pair = coordinate_columns(problem)
    if place is None and not sites and (pair is None or "places_file" in problem.data):
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
    where = pd.DataFrame(sheet.numbers(list(pair), negative=True), columns=list(pair))
    try:
        return places_of_columns(where, pair)[0]
    except DataError as error:
        raise DataError(f"{sheet.name}: {error.message}", hint=error.hint) from error
