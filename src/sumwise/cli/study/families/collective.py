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
from sumwise.cli.study.families.base import Study
from sumwise.errors import DataError
from sumwise.flows import FlowModel, Movement, Places, Tracks
from sumwise.flows.flow_data import ABSENT, Columns, read_counts, refuse_absent, times_in_order
from sumwise.flows.places import western_longitudes
from sumwise.io.documents import read_json
from sumwise.io.formats.birdflow import read_birdflow
from sumwise.plots.map_frame import rings
from sumwise.schema.opened import is_birdflow, open_source
from sumwise.schema.problem import noise_of
from sumwise.schema.reading.series import SeriesReading, coordinate_columns, in_order

TIME_WORDS = re.compile(r"(week|day|hour|month|year|season|quarter|minute)(?=s?([\W_\d]|$))", re.IGNORECASE)
SAME_PLACE = 1e-6  # of the largest coordinate, by which those of a place may differ
OF_NOISE = ("noise", "rate", "sd", "dispersion")
OF_MOVEMENT = ("movement", "stay", "scale", "attraction")
OF_MODEL = ("population", "size", "turnover", "cyclic", "detection")


class Collective(SeriesReading, Study):
    """Flows between places from counts over time."""

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
                self.data = self._with_places()
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

    def _with_places(self) -> pd.DataFrame:
        """The counts, and where their places are."""
        frame = self.counted()
        self.places = self._places(self.sheet, self.every, self.rows)
        keys = [k for k in ("season", "time", "place") if k in frame]
        self._check_absent(self.sheet, frame, keys)
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
        parts = {c: in_order(v) if numeric and c.endswith("time") else v for c, v in texts.items()}
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
            times = in_order(sheet.ids(when)).to_numpy() if when in sheet.columns else np.full(len(names), None)
        at = np.array([known.index(name) for name in names], dtype=int)
        parts = []
        for time in dict.fromkeys(times if times.dtype == object else np.sort(times)):
            now = np.zeros(len(known))
            np.add.at(now, at[times == time], values[times == time])
            begins = model.times_[: len(model.steps_[0])]
            step = next((t for t in begins if str(t) == str(time)), None)
            ahead = model.forecast(now, step, level=p.level)
            ends = {"next": ahead.values[0], "low": ahead.low[0], "high": ahead.high[0]}
            found = {"place": known, "now": now, **ends}
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
