"""BirdFlow's HDF5 files (version 3), read and written: distributions over a grid by week, and flows between weeks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.display import facts_text, record_html
from sumwise.domain import Domain
from sumwise.errors import DataError, SumwiseError
from sumwise.extras import require
from sumwise.io.parsers.hdf5 import tree_of
from sumwise.io.sandbox import parse
from sumwise.io.sizes import machine_memory
from sumwise.io.writer import new_file
from sumwise.noise import Exact
from sumwise.table import Table
from sumwise.tables import Tables

GEOMETRY = ("nrow", "ncol", "res", "ext", "crs", "mask")
FREE_SIZE, EXPANSION = 2**28, 1000  # what a file may unpack to: so many bytes, or so many times its size


@dataclass(frozen=True, eq=False, repr=False)
class BirdFlow:
    """A BirdFlow model: cells of a grid, their weekly distributions, and flows from week to week.

    Attributes
    ----------
    geom : dict
        ``nrow``, ``ncol``, ``res`` (x and y), ``ext`` (xmin, xmax, ymin, ymax), ``crs`` and ``mask`` (nrow, ncol), true
        where a cell is part of the model.
    distr : (n_cells, n_weeks) array
        Shares of the population, NaN where a week has none for a cell; 0 is a share of 0.
    dates : pandas.DataFrame
        A row per week, as the file has it.
    marginals : dict of (int, int) to (n_cells, n_cells) array
        Flows from a week (counted from 1) to the next, as shares of the population.
    dynamic_mask : (n_cells, n_weeks) array or None
        True where a cell is in use in a week; None where the file doesn't say.
    distances : (n_cells, n_cells) array or None
        Great-circle distances between cells in metres, as the file has them.
    species, metadata : dict

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sumwise.io.formats import BirdFlow
    >>> geom = {"nrow": 1, "ncol": 2, "res": [1.0, 1.0], "ext": [0.0, 2.0, 0.0, 1.0], "crs": "", "mask": [[True, True]]}
    >>> BirdFlow(geom, np.array([[0.5, 0.2], [0.5, 0.8]]), pd.DataFrame({"timestep": [1, 2]})).positions
    array([[0.5, 0.5],
           [1.5, 0.5]])
    """

    geom: dict
    distr: np.ndarray
    dates: pd.DataFrame
    marginals: dict = field(default_factory=dict)
    species: dict = field(default_factory=dict)
    metadata: dict = field(default_factory=dict)
    dynamic_mask: np.ndarray | None = None
    distances: np.ndarray | None = None

    _repr_html_ = record_html

    def __post_init__(self):
        missing = [name for name in GEOMETRY if name not in self.geom]
        if missing:
            raise DataError(f"geom lacks {', '.join(missing)}.", hint=f"it contains {', '.join(GEOMETRY)}.")
        mask = np.asarray(self.geom["mask"]).astype(bool)
        if mask.shape != (int(self.geom["nrow"]), int(self.geom["ncol"])):
            raise DataError(f"The mask is {mask.shape}, the grid {self.geom['nrow']} x {self.geom['ncol']}.")
        distr = checks.finite(self.distr, "distr", ndim=2, allow_nan=True)
        if len(distr) != mask.sum():
            raise DataError(f"distr has {len(distr)} cells, the mask {int(mask.sum())}.", hint="give (cells, weeks).")
        if (distr < 0).any():
            raise DataError("distr has shares below zero.")
        if len(self.dates) != distr.shape[1]:
            raise DataError(f"There are {len(self.dates)} dates and {distr.shape[1]} weeks.")
        object.__setattr__(self, "geom", {**self.geom, "mask": mask})
        object.__setattr__(self, "distr", distr)
        for name, shape in (("dynamic_mask", distr.shape), ("distances", (len(distr), len(distr)))):
            given = getattr(self, name)
            if given is not None and np.shape(given) != shape:
                raise DataError(f"{name} has shape {np.shape(given)}; {shape} is needed.")
        for (i, j), flows in self.marginals.items():
            if np.shape(flows) != (len(distr), len(distr)):
                raise DataError(f"The flows from week {i} to {j} are {np.shape(flows)}; there are {len(distr)} cells.")

    @property
    def positions(self) -> np.ndarray:
        """Centres (x, y) of the cells, row by row from the top left, (n_cells, 2)."""
        xmin, xmax, ymin, ymax = (float(v) for v in np.ravel(self.geom["ext"]))
        rows, cols = np.nonzero(self.geom["mask"])
        width, height = (xmax - xmin) / int(self.geom["ncol"]), (ymax - ymin) / int(self.geom["nrow"])
        return np.column_stack([xmin + (cols + 0.5) * width, ymax - (rows + 0.5) * height])

    def tables(self, n: float, noise: Any = None) -> Tables:
        """Return weekly node tables ``week1``, ``week2``, ... of a population of `n`, for `map_counts` and learning.

        A missing share stays missing: its cell is unobserved. A cell that isn't in use in a week is an exact zero only
        with exact tables; with noise its share of zero is observed like any other.
        """
        names = [f"week{k + 1}" for k in range(self.distr.shape[1])]
        size = float(checks.positive(n, "n", ndim=0))
        kind = Exact() if noise is None else noise
        made = [Table(a, size * share, noise=kind) for a, share in zip(names, self.distr.T)]
        return Tables(made, Domain(dict.fromkeys(names, len(self.distr))), n=size)

    def with_flows(self, counts: Any) -> BirdFlow:
        """Return the same with flows and distributions of a fit (``nodes``, ``edges`` and ``n``), weeks in order."""
        edges, nodes = list(counts.edges), list(counts.nodes)
        if len(nodes) != self.distr.shape[1]:
            raise DataError(f"The fit has {len(nodes)} weeks, the model {self.distr.shape[1]}.")
        place = {a: k + 1 for k, a in enumerate(nodes)}
        flows = {}
        for a, b in edges:
            table = counts.edges[a, b]
            flows[place[a], place[b]] = np.asarray(table.toarray() if hasattr(table, "toarray") else table) / counts.n
        distr = np.column_stack([np.asarray(counts.nodes[a], dtype=float) / counts.n for a in nodes])
        return replace(self, distr=distr, marginals=flows)

    def __repr__(self) -> str:
        grid = f"{self.geom['nrow']} x {self.geom['ncol']}"
        facts = {"species": self.species.get("common_name", "?"), "grid": grid, "cells": len(self.distr)}
        return facts_text("BirdFlow", {**facts, "weeks": self.distr.shape[1], "flows": len(self.marginals)})


def read_birdflow(path: str | PathLike) -> BirdFlow:
    """Read a BirdFlow model from an HDF5 file of version 3 (needs the extra ``birds``).

    Flows that are stored over the cells in use that week (``geom/dynamic_mask``, or positive shares where the file has
    none) are spread over all cells. NaN in ``distr`` is missing and stays so. A last week that repeats the first, as
    files that wrap around the year have it, is left out; flows into it then lead to the first week.

    Parameters
    ----------
    path : str or path
        The file.

    See Also
    --------
    write_birdflow : The way back.

    Examples
    --------
    >>> import numpy as np, pandas as pd, pathlib, tempfile
    >>> from sumwise.io.formats import BirdFlow, read_birdflow, write_birdflow
    >>> geom = {"nrow": 1, "ncol": 2, "res": [1.0, 1.0], "ext": [0.0, 2.0, 0.0, 1.0], "crs": "", "mask": [[True, True]]}
    >>> model = BirdFlow(geom, np.array([[0.5, np.nan], [0.5, 0.0]]), pd.DataFrame({"timestep": [1, 2]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_birdflow(model, pathlib.Path(folder) / "model.hdf5")
    ...     read_birdflow(pathlib.Path(folder) / "model.hdf5").distr.tolist()
    [[0.5, nan], [0.5, 0.0]]
    """
    require("h5py")
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file {path.name!r}.", hint="check the path.")
    limit = max(FREE_SIZE, EXPANSION * path.stat().st_size)
    memory = int(min(4 * max(limit, 2**28), machine_memory()))  # a data set as read, as written, and in the answer
    table = parse("sumwise.io.parsers.hdf5", path, memory, most_bytes=limit)
    try:
        return _model(tree_of(table), path)
    except (SumwiseError, MemoryError):
        raise
    except Exception as error:  # shapes and types of damaged data sets are of many kinds
        raise DataError(f"{path.name!r} is damaged: {error}.", hint="copy it again, or write it again.") from error


def _model(file: Any, path: Path) -> BirdFlow:
    lacking = [name for name in ("geom", "distr", "dates") if name not in file]
    if lacking:
        raise DataError(f"{path.name!r} isn't a BirdFlow model: it lacks {', '.join(lacking)}.")
    geom = _plain(file["geom"])
    missing = [name for name in GEOMETRY if name not in geom]
    if missing:
        raise DataError(f"{path.name!r} lacks {', '.join('geom/' + m for m in missing)}.")
    geom["nrow"], geom["ncol"] = (int(np.ravel(geom[k])[0]) for k in ("nrow", "ncol"))
    mask = _grid(geom["mask"], geom["nrow"], geom["ncol"], path)
    n_cells = int(mask.sum())
    distr = _by_cell(np.asarray(file["distr"], dtype=float), n_cells, path)
    used = _dynamic_mask(geom.pop("dynamic_mask", None), distr, path)
    dates = _dates(file["dates"])
    weeks = _weeks(distr, dates)
    distr, used, dates = distr[:, :weeks], None if used is None else used[:, :weeks], dates.iloc[:weeks]
    flows = _flows(file["marginals"], distr, used, path) if "marginals" in file else {}
    far = _distances(file["distances"], n_cells, path) if "distances" in file else None
    species, metadata = (_plain(file[k]) if k in file else {} for k in ("species", "metadata"))
    return BirdFlow({**geom, "mask": mask}, distr, dates, flows, species, metadata, used, far)


def _dynamic_mask(given: Any, distr: np.ndarray, path: Path) -> np.ndarray | None:
    """Cells in use, (n_cells, n_weeks); a mask without the wrap-around week repeats the first."""
    if given is None:
        return None
    found = _by_cell(np.asarray(given).astype(bool), len(distr), path, "geom/dynamic_mask")
    if found.shape[1] == distr.shape[1] - 1:
        found = np.column_stack([found, found[:, :1]])
    if found.shape != distr.shape:
        raise DataError(f"geom/dynamic_mask of {path.name!r} is {found.shape}; distr is {distr.shape}.")
    return found


def _weeks(distr: np.ndarray, dates: pd.DataFrame) -> int:
    """Number of weeks without one at the end that repeats the first."""
    repeats = distr.shape[1] > 2 and np.array_equal(distr[:, 0], distr[:, -1], equal_nan=True)
    same = len(dates) == distr.shape[1] and any(
        dates[c].iloc[0] == dates[c].iloc[-1] for c in ("date", "doy", "week") if c in dates
    )
    short = len(dates) == distr.shape[1] - 1
    return distr.shape[1] - 1 if repeats and (same or short) else distr.shape[1]


def _distances(node: Any, cells: int, path: Path) -> np.ndarray:
    """Distances between cells, from a full matrix or its lower triangle by columns (as R's `dist` has it)."""
    given = np.asarray(node, dtype=float)
    if given.shape == (cells, cells):
        return given
    if given.size != cells * (cells - 1) // 2:
        raise DataError(f"distances of {path.name!r} are {given.shape}; there are {cells} cells.")
    out = np.zeros((cells, cells))
    first, second = np.triu_indices(cells, 1)  # columns of the lower triangle are rows of the upper one
    out[first, second] = out[second, first] = given.ravel()
    return out


def _plain(node: Any) -> Any:
    """A group as a dict, a data set as an array, a number or a string."""
    if hasattr(node, "keys"):
        return {name: _plain(node[name]) for name in node}
    value = node[()]
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.names is None:
        value = value.reshape(-1)[0]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        return np.array([_text(v) for v in value.ravel()], dtype=object).reshape(value.shape)
    return value.item() if isinstance(value, np.generic) else value


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _grid(mask: Any, nrow: int, ncol: int, path: Path) -> np.ndarray:
    found = np.asarray(mask)
    if found.dtype == object:
        found = np.array([str(v).upper() == "TRUE" for v in found.ravel()]).reshape(found.shape)
    if found.shape == (ncol, nrow) and nrow != ncol:
        found = found.T
    if found.size != nrow * ncol:
        raise DataError(f"geom/mask of {path.name!r} has {found.size} cells; the grid is {nrow} x {ncol}.")
    return found.reshape(nrow, ncol).astype(bool)


def _by_cell(distr: np.ndarray, cells: int, path: Path, name: str = "distr") -> np.ndarray:
    if distr.ndim != 2 or cells not in distr.shape:
        raise DataError(f"{name} of {path.name!r} is {distr.shape}; the mask has {cells} cells.")
    return distr if distr.shape[0] == cells else distr.T


def _dates(node: Any) -> pd.DataFrame:
    if hasattr(node, "keys"):
        columns = {name: np.atleast_1d(_plain(node[name])) for name in node}
    else:
        value = node[()]
        names = value.dtype.names or ("date",)
        columns = {n: np.ravel(value[n] if value.dtype.names else value) for n in names}
    return pd.DataFrame({n: [_text(v) for v in c] if c.dtype.kind in "SO" else c for n, c in columns.items()})


def _flows(node: Any, distr: np.ndarray, used: Any, path: Path) -> dict[tuple[int, int], np.ndarray]:
    if not hasattr(node, "keys"):  # all in one array
        return {(k + 1, k + 2): np.asarray(flow, dtype=float) for k, flow in enumerate(node)}
    out = {}
    for name in node:
        found = re.fullmatch(r"Week(\d+)_to_(\d+)", name)
        if not found:
            raise DataError(f"marginals of {path.name!r} has {name!r}.", hint="names are Week1_to_2, Week2_to_3, ...")
        n_weeks = distr.shape[1]
        week = int(found[1]), (int(found[2]) - 1) % n_weeks + 1
        if not 1 <= week[0] <= n_weeks:
            raise DataError(f"marginals of {path.name!r} has {name!r}; there are {n_weeks} weeks.")
        out[week] = _spread(np.asarray(node[name], dtype=float), week, distr > 0 if used is None else used, path)
    return dict(sorted(out.items()))


def _spread(flow: np.ndarray, week: tuple[int, int], used: np.ndarray, path: Path) -> np.ndarray:
    cells = len(used)
    if flow.shape == (cells, cells):
        return flow
    here, there = (np.flatnonzero(used[:, k - 1]) for k in week)
    if flow.shape != (len(here), len(there)):
        raise DataError(
            f"Week{week[0]}_to_{week[1]} of {path.name!r} is {flow.shape}; there are {cells} cells, of which "
            f"{len(here)} and {len(there)} are in use in these weeks."
        )
    out = np.zeros((cells, cells))
    out[np.ix_(here, there)] = flow
    return out


def write_birdflow(model: BirdFlow, path: str | PathLike) -> None:
    """Write a BirdFlow model to an HDF5 file of version 3 (needs the extra ``birds``); whole, or not at all.

    Parameters
    ----------
    model : BirdFlow
        What to write.
    path : str or path
        The file; one that is there is replaced.

    See Also
    --------
    read_birdflow : The way back.

    Examples
    --------
    >>> import pandas as pd, pathlib, tempfile
    >>> from sumwise.io.formats import BirdFlow, write_birdflow
    >>> geom = {"nrow": 1, "ncol": 2, "res": [1.0, 1.0], "ext": [0.0, 2.0, 0.0, 1.0], "crs": "", "mask": [[True, True]]}
    >>> model = BirdFlow(geom, [[0.5, 0.2], [0.5, 0.8]], pd.DataFrame({"timestep": [1, 2]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_birdflow(model, pathlib.Path(folder) / "model.hdf5")
    ...     [path.name for path in pathlib.Path(folder).iterdir()]
    ['model.hdf5']
    """
    h5py = require("h5py")
    with new_file(path) as target, h5py.File(target, "w") as file:
        _put(file, "geom", {**model.geom, "mask": model.geom["mask"].astype(np.int8)})
        if model.dynamic_mask is not None:
            file["geom/dynamic_mask"] = np.asarray(model.dynamic_mask).astype(np.int8)
        if model.distances is not None:
            file["distances"] = np.asarray(model.distances, dtype=float)
        file["distr"] = model.distr
        file["dates"] = _records(model.dates)
        names = {f"Week{i}_to_{j}": flows for (i, j), flows in model.marginals.items()}
        file["transitions"] = np.array(list(names), dtype=h5py.string_dtype())
        for name, flows in names.items():
            file.create_dataset(f"marginals/{name}", data=np.asarray(flows, dtype=float), compression="gzip")
        facts = {"birdflow_version": 3, "n_active": len(model.distr), "n_timesteps": model.distr.shape[1]}
        _put(file, "species", model.species)
        _put(file, "metadata", {**facts, **model.metadata, "has_marginals": bool(names)})


def _put(file: Any, place: str, values: Mapping) -> None:
    group = file.require_group(place)
    for name, value in values.items():
        if isinstance(value, Mapping):
            _put(file, f"{place}/{name}", value)
        elif value is not None:
            array = np.asarray(value)
            group[name] = array.astype(object) if array.dtype.kind == "U" and array.ndim else value


def _records(frame: pd.DataFrame) -> np.ndarray:
    """A frame as a compound array; text in UTF-8."""
    columns = {}
    for name in frame:
        column = frame[name]
        if column.dtype.kind in "iufb":
            columns[str(name)] = column.to_numpy()
        else:
            columns[str(name)] = np.char.encode(column.astype(str).to_numpy().astype("U"), "utf-8")
    out = np.empty(len(frame), dtype=[(n, c.dtype) for n, c in columns.items()])
    for name, column in columns.items():
        out[name] = column
    return out
