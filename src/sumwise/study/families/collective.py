"""Problems on counts over time: a shell over `FlowModel`.

A file has a row per time and place, times or places in columns, or is a BirdFlow model.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.collective import FlowModel, Movement, Places, Tracks, default_method
from sumwise.collective.flow_data import ABSENT, Columns, places_of_columns, read_counts, refuse_absent, times_in_order
from sumwise.collective.places import western_longitudes
from sumwise.errors import DataError
from sumwise.plots.maps import rings
from sumwise.readers.birdflow import read_birdflow
from sumwise.readers.sheet import Sheet
from sumwise.storage.documents import read_json
from sumwise.study.families.base import Study
from sumwise.study.problem import NEGATIVE, NOISES, Problem, noise_of
from sumwise.study.sources import is_birdflow, open_source

TIME_WORDS = re.compile(r"(week|day|hour|month|year|season|quarter|minute)(?=s?([\W_\d]|$))", re.IGNORECASE)
SAME_PLACE = 1e-6  # of the largest coordinate, by which those of a place may differ
OF_NOISE = ("noise", "rate", "sd", "dispersion")
OF_MOVEMENT = ("movement", "stay", "scale", "attraction")
OF_MODEL = ("population", "size", "turnover", "cyclic", "detection", "weight", "tol")


class Collective(Study):
    """Flows between places from counts over time."""

    family = "collective"
    data_keys = {  # noqa: RUF012
        "file": "one row per time and place, with its count; times or places in columns; or a BirdFlow model (.hdf5)",
        "places_file": "one row per place, with its coordinates",
        "distances_file": "one row per pair of places: origin, destination, distance",
        "tracks_file": "one row per individual that was seen twice: from_place, from_time, to_place, to_time",
        "outlines_file": "GeoJSON of polygons in longitude and latitude that maps show below the places",
        "absent": "what a time and place without a row means: raise, zero or unobserved",
        "times": "regular: times that are missing from a regular series are estimated",
    }
    column_keys = {  # noqa: RUF012
        "time": "the column of times: numbers, dates, hours, months",
        "times": "the columns of counts, one per time, in order, where each place has one row",
        "place": "the column of places; default: places are known by their coordinates",
        "places": "the columns of counts, one per place, where each time has one row",
        "count": "the column of counts; empty: not observed",
        "season": "the column of years, days or other repetitions that share their movement",
        "effort": "the column of the share of individuals that is counted",
        "mask": "the column that is 0 where nobody can be at that time",
        "lon": "the column of longitudes, in either file; distances are in km",
        "lat": "the column of latitudes",
        "x": "the column of the first projected coordinate, in either file",
        "y": "the column of the second",
        "area": "the column of sizes of places",
        "region": "the column of regions of places, for connectivity",
    }
    noises = "options", NOISES
    methods = ("FlowModel",)
    former = {"MovesByDistance": "FlowModel", "DistanceMoves": "FlowModel"}  # noqa: RUF012

    places: Places | None = None
    times: list
    tracks: Tracks | None = None

    # --- in

    def read(self) -> None:
        """Read counts by time and place, and where the places are."""
        p, path = self.problem, self.problem.file()
        if p.names:
            p.fail(("names",), "[names] has no use here: places are shown by their names in the file.", "leave it out.")
        with p.blamed():
            if path is not None and is_birdflow(path):
                self.data, self.places = birdflow_rows(path)
            else:
                self.data = self._counted()
            self.tracks = self._tracks(self.data)
            self._outlines()
        frame = self.data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit warns of missing times
            listed = list(dict.fromkeys(frame["time"])) if p.columns.get("times") else None
            self.times = times_in_order(frame["time"], listed)
        if len(self.times) < 2:
            raise DataError(
                f"{p.place(('columns', 'time'))}: there is one time; flows need two.", hint="is time the right column?"
            )
        named = TIME_WORDS.match(str(p.column("time") or next(iter(p.columns.get("times") or []), "")))
        if named:
            self.details["time_name"] = named[0].lower()
        seen = int(np.isfinite(frame["count"]).sum())
        self.notes.append(
            f"{seen:,} counts are observed, at {len(self.times)} times and {frame['place'].nunique()} places."
        )

    def choose(self) -> tuple[str, str]:
        """Which method "auto" is: by the numbers of times and places, not of rows and columns."""
        return default_method(np.empty((len(self.times), self.data["place"].nunique())))

    def _counted(self) -> pd.DataFrame:
        """The rows of a file of counts, checked; and where its places are."""
        sheet, frame, rows = counted_rows(self.problem)

        def refuse(bad: Any, what: str, hint: str) -> None:
            sheet.refuse(np.bincount(rows, np.asarray(bad), len(sheet)) > 0, what, hint)

        frame["time"] = _in_order(frame["time"])
        hint = 'noisy counts may be: set noise = "laplace" (or gaussian, geometric) and sd in [options].'
        noisy = self.problem.options.get("noise") in NEGATIVE
        p = self.problem
        wide = p.column_list("times") or p.column_list("places")
        words = f"column {p.column('count')!r}" if wide is None else f"one of the {len(wide)} columns of counts"
        refuse((frame["count"] < 0) & (not noisy), f"{words} is negative", hint)
        season = p.column("season")
        if season is not None:
            sheet.known(season)
            frame["season"] = _in_order(sheet.ids(season)).to_numpy()[rows]
        for key in ("effort", "mask"):
            column = p.column(key)
            if column is not None:
                sheet.known(column)
                frame[key] = sheet.numbers([column])[rows, 0]
        keys = [k for k in ("season", "time", "place") if k in frame]
        advice = "add them up, or name the right columns (season = ... for years or days)."
        refuse(frame.duplicated(keys), "a time and place has two rows", advice)
        self._check_absent(sheet, frame, keys)
        self.places = self._places(sheet, frame, rows)
        return frame

    def _check_absent(self, sheet: Any, frame: pd.DataFrame, keys: list[str]) -> None:
        absent = checks.choice(self.problem.data.get("absent", "raise"), "absent", ABSENT)
        checks.choice(self.problem.data.get("times", "listed"), "times", ("listed", "regular"))
        if absent == "raise":
            hint = 'set absent = "zero" or "unobserved" in [data].'
            at, places = pd.factorize(frame["place"])
            refuse_absent(frame[keys].assign(place=at), list(places), sheet.name, hint)

    def _places(self, sheet: Any, frame: pd.DataFrame, rows: np.ndarray) -> Places | None:
        p, listed = self.problem, list(dict.fromkeys(frame["place"]))
        reach = p.options.get("reach")
        if "distances_file" in p.data:
            return Places(distances=self._distances(listed), names=listed, reach=reach)
        pair = coordinate_columns(p)
        path = p.file("places_file", needed=False)
        if path is not None:
            place = p.column("place") or "place"
            sheet = open_source(p, path, None, [place])
            sheet.known(place)
            names = sheet.names(place).to_numpy()
            lone = len(set(names) - set(listed))
            if lone:
                p.remarks.append(
                    f"{lone:,} of {len(set(names)):,} places of {path.name} have no counts and are not used."
                )
        elif p.columns.get("places"):  # a row per time: places have no rows of their own
            names, pair = np.array([]), {}
        else:
            names = frame["place"].groupby(rows).first().to_numpy()  # by row of the file
        region = p.column("region")
        if region is not None:
            sheet.known(region)
            of = dict(zip(names, sheet.ids(region).astype(str)))
            groups = pd.Series(listed).groupby([of.get(name, "elsewhere") for name in listed])
            self.details["regions"] = {str(key): part.tolist() for key, part in groups}
        if not pair:
            self.notes.append("No coordinates are given: all moves other than staying are equally likely a priori.")
            return None
        area = p.column("area")
        where = _positions(sheet, names, listed, {**pair, **({"area": area} if area else {})})
        if "lon" in where and (west := western_longitudes(where["lon"])) is not None:
            where["lon"], said = west
            p.remarks.extend([] if said in p.remarks else [said])
        return Places(names=listed, reach=reach, **where)

    def _distances(self, listed: list[str]) -> np.ndarray:
        sheet = open_source(self.problem, self.problem.file("distances_file"), None, ["origin", "destination"])
        sheet.known("origin", "destination", "distance")
        at = {name: k for k, name in enumerate(listed)}
        ends = [sheet.names(c) for c in ("origin", "destination")]
        for column, names in zip(("origin", "destination"), ends):
            unknown = ~names.isin(listed).to_numpy()
            sheet.refuse(
                unknown, f"column {column!r} names a place without counts", "name the places as the counts do."
            )
        again = pd.DataFrame({k: names.to_numpy() for k, names in enumerate(ends)}).duplicated().to_numpy()
        sheet.refuse(again, "a pair of places has a second distance", "give each pair one row.")
        far = np.full((len(listed), len(listed)), np.inf)
        np.fill_diagonal(far, 0.0)
        far[ends[0].map(at).to_numpy(), ends[1].map(at).to_numpy()] = sheet.numbers(["distance"])[:, 0]
        missing = int(np.isinf(far).sum())
        if missing:
            self.notes.append(f"{missing} of {far.size} pairs of places have no distance: such moves are impossible.")
        return far

    def _tracks(self, frame: pd.DataFrame) -> Tracks | None:
        path = self.problem.file("tracks_file", needed=False)
        if path is None:
            return None
        columns = ["from_place", "from_time", "to_place", "to_time"]
        sheet = open_source(self.problem, path, None, columns)
        sheet.known(*columns)
        texts = {c: sheet.names(c) for c in columns}
        numeric = pd.api.types.is_numeric_dtype(frame["time"])
        parts = {c: _in_order(v) if numeric and c.endswith("time") else v for c, v in texts.items()}
        return Tracks(*(parts[c].tolist() for c in columns))

    def _outlines(self) -> None:
        path = self.problem.file("outlines_file", needed=False)
        if path is None:
            return
        try:
            found = read_json(path)
            rings(found)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            raise DataError(f"{path.name!r} is not a GeoJSON of polygons.", hint="give a FeatureCollection.") from None
        self.details["outlines"] = found

    # --- fit

    def make(self, method: str) -> Any:
        """A model of flows between the places of the file, with its defaults."""
        return {"FlowModel": FlowModel}[method](self.places)

    def configured(self, method: str) -> Any:
        """The model with the options of the problem file."""
        given = dict(self.problem.options)
        self.problem.check_keys(("options",), given, [*OF_NOISE, *OF_MOVEMENT, *OF_MODEL, "reach"])
        if isinstance(given.get("population"), (int, float)) and not isinstance(given["population"], bool):
            given["size"] = given.pop("population")  # as earlier problem files have it
        settings = {k: v for k, v in given.items() if k in OF_MODEL}
        with self.problem.blamed():
            return self.make(method).set_params(noise=noise_of(given), movement=_movement(given), **settings)

    def train(self, estimator: Any) -> Any:
        """Fit; an option that makes no sense is blamed on its line."""
        absent = self.problem.data.get("absent", "raise")
        named = {k: k for k in ("season", "effort", "mask") if k in self.data}
        wide = self.times if self.problem.columns.get("times") else None  # columns are in order
        times = "regular" if self.problem.data.get("times") == "regular" else wide
        with self.problem.blamed():
            return estimator.fit(
                self.data, times=times, absent="zero" if absent == "zero" else "unobserved", tracks=self.tracks, **named
            )

    # --- out

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Where those who are counted are one step later: a file with places and counts, perhaps at several times.

        Moves are those after the time of the counts, where the model knows a step from there, else the mean of all.
        """
        p, when = self.problem, self.problem.column("time")
        place, count = p.column("place") or "place", p.column("count") or "count"
        known = list(model.places_.names)
        with p.blamed():
            sheet = open_source(p, source, None, [place, *([when] if when else [])])
            sheet.known(place, count)
            names = sheet.names(place).tolist()
            for name in names:
                checks.known(name, known, "place")
            values = sheet.numbers([count])[:, 0]
            times = _in_order(sheet.ids(when)).to_numpy() if when in sheet.columns else np.full(len(names), None)
        at = np.array([known.index(name) for name in names], dtype=int)
        parts = []
        for time in dict.fromkeys(times if times.dtype == object else np.sort(times)):
            now = np.zeros(len(known))
            np.add.at(now, at[times == time], values[times == time])
            begins = model.times_[: len(model.steps_[0])]
            step = next((t for t in begins if str(t) == str(time)), None)
            low, high = model.predict_interval(now, level=p.level, from_time=step)
            found = {"place": known, "now": now, "next": model.predict(now, step), "low": low, "high": high}
            parts.append(pd.DataFrame(found if time is None else {"time": time, **found}))
        return pd.concat(parts, ignore_index=True)


def _positions(sheet: Any, names: Any, listed: list[str], columns: dict[str, str]) -> dict[str, np.ndarray]:
    """Coordinates (and sizes) of the places, which are the same in all rows of a place."""
    sheet.known(*columns.values())
    where = pd.DataFrame(sheet.numbers(list(columns.values()), negative=True), columns=list(columns))
    lone = [name for name in listed if name not in set(names)]
    if lone:
        shown = ", ".join(map(repr, lone[:5]))
        raise DataError(f"{sheet.name}: {len(lone)} places have no coordinates ({shown}).", hint="add them.")
    known: Any = where.groupby(names, sort=False).first()
    apart = (where - known.loc[names].to_numpy()).abs().max(axis=1).to_numpy()
    sheet.refuse(
        apart > SAME_PLACE * np.abs(where).max().max(),
        "a place has other coordinates than before",
        "name the right column of places, or correct the coordinates.",
    )
    return {k: known.loc[listed, k].to_numpy(dtype=float) for k in columns}


def _in_order(texts: Any) -> pd.Series:
    """Values as numbers where all are, so that 10 comes after 9; else as text."""
    stripped = texts.astype(str).str.strip()
    numbers: Any = pd.to_numeric(stripped, errors="coerce")
    if numbers.isna().any():
        return stripped
    return numbers.astype(int) if (numbers == numbers.round()).all() else numbers


def _movement(given: dict[str, Any]) -> Any:
    """The movement of a problem file: how to learn it, or its parameters."""
    parameters = {k: float(given[k]) for k in ("stay", "scale", "attraction") if k in given}
    if "movement" in given and parameters:
        raise DataError(
            f"movement is {given['movement']!r}, and {', '.join(parameters)} is given too.",
            hint="give movement to learn it, or stay and scale where they are known.",
        )
    if not parameters:
        return given.get("movement", "auto")
    return Movement(**parameters)


STUDY = Collective


def birdflow_rows(path: Path) -> tuple[pd.DataFrame, Places]:
    """Weekly shares of a BirdFlow model as columns time, place, count and mask; and its cells."""
    read = read_counts(read_birdflow(path), None, Columns(), None, "unobserved")
    t, k = np.indices(read.counts[0].shape).reshape(2, -1)
    names = np.array([str(name) for name in read.places.names], dtype=object)
    made = {"time": np.array(read.times)[t], "place": names[k], "count": read.counts[0].ravel()}
    frame = pd.DataFrame(made if read.mask is None else {**made, "mask": read.mask[0].ravel().astype(float)})
    return frame, replace(read.places, names=tuple(names))


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
    where = pd.DataFrame(sheet.numbers(list(pair), negative=True), columns=list(pair))
    try:
        return places_of_columns(where, pair)[0]
    except DataError as error:
        raise DataError(f"{sheet.name}: {error.message}", hint=error.hint) from error
