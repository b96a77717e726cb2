"""How golden answers go from files to numbers: the one place here that knows how a file is read and fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise.cli.study import study_of
from sumwise.cli.study.fitting import fit_problem
from sumwise.cli.study.initialise import suggest_problem
from sumwise.errors import SumwiseError
from sumwise.schema.problem import Problem
from sumwise.schema.reading.contests import contest_problems


def estimates_from_file(paths: list[Path], folder: Path) -> dict[str, Any]:
    """What `sumwise init` and `sumwise fit` write as estimates: of every column of numbers its sum and first rows."""
    problem = suggest_problem(paths, folder / "problem.toml").write()
    problem.write_text("sensitivity = false\n" + problem.read_text("utf-8"), "utf-8")
    fit_problem(problem, folder / "result", paged=False)
    frame = pd.read_parquet(folder / "result" / "estimates.parquet")
    numbers = frame.select_dtypes("number")
    return {name: [column.sum(), *column.head(6)] for name, column in numbers.items()}


def outcome_of_reading(paths: list[Path], folder: Path) -> dict[str, Any]:
    """What a file becomes: sizes and sums of the container, contest by contest, or that it is refused."""
    try:
        problem = Problem.from_file(suggest_problem(paths, folder / "problem.toml").write())
        contests = contest_problems(problem) or {"": problem}
        return {"contests": {name: _container(study_of(part)) for name, part in contests.items()}}
    except SumwiseError:
        return {"refused": True}


def _container(study: Any) -> dict[str, Any]:
    study.read()
    values = {field: getattr(study, field, None) for field in ("margins", "bags", "tables", "counts", "response")}
    read = {"family": study.family}
    if (margins := values["margins"]) is not None:
        read |= {"units": len(margins), "rows": _sums(margins.rows), "cols": _sums(margins.cols)}
        read |= {"row_names": list(margins.row_names), "col_names": list(margins.col_names)}
    if (bags := values["bags"]) is not None:
        read |= {"bags": len(bags), "sizes": _sums(np.asarray(bags.sizes)[:, None]), "values": _sums(bags.values)}
        read |= {"features": list(bags.features or ())}
    for name in ("counts", "response"):
        if values[name] is not None:
            read[name] = np.asarray(values[name], dtype=float).tolist()
    if isinstance(frame := getattr(study, "data", None), pd.DataFrame):
        read |= {column: float(frame[column].sum()) for column in frame.select_dtypes("number")}
    if (tables := values["tables"]) is not None:
        read |= {"tables": {" x ".join(t.attributes): float(np.nansum(t.counts)) for t in tables}}
    return read


def _sums(array: Any) -> list[float]:
    return np.round(np.asarray(array, dtype=float).sum(axis=0), 6).tolist()
