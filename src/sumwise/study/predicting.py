"""The model of a result folder on another file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from numba.core.errors import NumbaError

from sumwise.errors import DataError, SumwiseError
from sumwise.persistence import load
from sumwise.study.families import study_of
from sumwise.study.fitting import read_result
from sumwise.study.problem import Problem

MISFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, NumbaError)


def predict_file(folder: Any, source: Any) -> pd.DataFrame:
    """Return the predictions of a result's model for a file.

    Parameters
    ----------
    folder : path
        The result folder.
    source : path
        A file with the columns that the problem file names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from sumwise.study.fitting import fit_problem
    >>> from sumwise.study.predicting import predict_file
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> votes = pd.DataFrame({"a": [60, 10, 40], "b": [40, 90, 60], "y": [55, 30, 50], "n": [45, 70, 50]})
    >>> votes.to_csv(here / "votes.csv")
    >>> lines = ['family = "ecological"', 'method = "Goodman"', '[data]', 'file = "votes.csv"', '[columns]']
    >>> _ = (here / "p.toml").write_text("\\n".join([*lines, 'groups = ["a", "b"]', 'outcomes = ["y", "n"]']))
    >>> _ = fit_problem(here / "p.toml", here / "result")
    >>> predict_file(here / "result", here / "votes.csv").columns.tolist()
    ['unit', 'outcome', 'share', 'share_low', 'share_high', 'count', 'count_low', 'count_high']
    """
    folder, path = Path(folder), Path(source)
    read_result(folder)
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.", hint="check the path.")
    problem = Problem.from_file(folder / "problem.toml")
    study = study_of(problem)
    study.folder = folder
    file = folder / "model.sumwise"
    model = load(file)
    try:
        return study.predict(model, path)
    except SumwiseError:
        raise
    except MISFIT as error:  # loading checks what a file holds, not whether it is the model that was fitted here
        raise DataError(
            f"The model in {str(file)!r} can't predict: its parts don't fit together "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]}).",
            hint="was the file changed? Fit again; if that doesn't help, run with --debug and report it.",
        ) from error
