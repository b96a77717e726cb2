"""validate: how wrong a method is, on real contests whose truth is known."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sumwise import checks
from sumwise.display import finding_html
from sumwise.ecological.kernels.batched_raking import MANY_CONTESTS, compiled_kernels
from sumwise.errors import DataError
from sumwise.frames import by_names, column_names, in_one_order

DEFINITIONS = (
    "Error index: half the sum of absolute differences between estimated and true cells, in percent of all people. "
    "Coverage: the share of cells whose interval contains the truth."
)


def error_index(total: Any, truth: Any) -> float:
    """Return ``50 * sum |estimate - true| / N`` of two tables of counts: the percentage of people in the wrong cell.

    Parameters
    ----------
    total, truth : arrays of shape (R, C)
        Two frames are put into one order by their labels.

    See Also
    --------
    validate : Error and coverage over contests whose truth is known.

    Examples
    --------
    >>> from sumwise.ecological import error_index
    >>> error_index([[8, 2], [1, 9]], [[9, 1], [0, 10]])
    10.0
    """
    if hasattr(truth, "columns") and hasattr(total, "columns"):  # frames: by the labels of rows and columns
        both = in_one_order({"total": total, "truth": truth})[0]
        total, truth = both["total"], by_names(both["truth"], column_names(total), "truth")
    a, b = checks.counts(total, "total", ndim=2), checks.counts(truth, "truth", ndim=2)
    if a.shape != b.shape:
        raise DataError(f"The estimate has shape {a.shape}, the truth {b.shape}.")
    return float(50 * np.abs(a - b).sum() / b.sum())


@dataclass(frozen=True)
class Validation:
    """Errors and coverage of a method, contest by contest; made by `validate`.

    Attributes
    ----------
    method : str
        The estimator, with its parameters.
    level : float in (0, 1)
        Level of the intervals.
    frame : pandas.DataFrame
        One row per contest: error index, covered cells, mean width, CPU seconds, and what the fit warned of.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.datasets import Election
    >>> from sumwise.ecological import Goodman, validate
    >>> p = synthetic.precincts(60, random_state=0)
    >>> done = validate(Goodman(), [Election("made up", p.margins, total=p.total)])
    >>> done.frame[["contest", "units", "cells"]].values.tolist()
    [['made up', 60, 4]]
    """

    method: str
    level: float
    frame: pd.DataFrame = field(repr=False)

    def summary(self) -> pd.DataFrame:
        """Return mean error, coverage, width and time by election and in all."""
        parts = [(name, part) for name, part in self.frame.groupby("dataset", sort=True)]
        parts.append(("all", self.frame))
        return pd.DataFrame([{"contests of": name, **_line(part)} for name, part in parts if len(part)])

    def _repr_html_(self) -> str:
        return finding_html("\n".join(self._words()), self.summary())

    def to_text(self) -> str:
        """Return the table in words that a court can read."""
        return "\n".join([*self._words(), self.summary().to_string(index=False, float_format="%.3f")])

    def _words(self) -> list[str]:
        lines = [
            f"{self.method} on {len(self.frame)} contests with known truth, {100 * self.level:g}% intervals.",
            DEFINITIONS,
        ]
        failed = int(np.count_nonzero(self.frame["failed"].to_numpy() != ""))
        if failed:
            lines.append(f"{failed} contests gave no interval; their cells count as not covered.")
        return lines


def validate(method: Any, contests: Iterable[Any], level: float = 0.95) -> Validation:
    """Rerun contests whose truth is known, and compare.

    Parameters
    ----------
    method : estimator on Margins
        It is cloned for each contest.
    contests : iterable
        Records with ``margins`` and ``total``, the true table, such as ``datasets.contests()`` gives.
    level : float in (0, 1), default 0.95

    Returns
    -------
    Validation

    See Also
    --------
    error_index : The score of one contest.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.datasets import Election
    >>> from sumwise.ecological import EcologicalEM, validate
    >>> made = [synthetic.precincts(40, 2, 3, random_state=seed) for seed in range(3)]
    >>> contests = [Election(f"made up {k}", p.margins, total=p.total) for k, p in enumerate(made)]
    >>> validate(EcologicalEM(), contests).summary()["contests"].tolist()
    [3, 3]
    """
    level = checks.fraction(level, "level")
    contests = list(contests)
    with compiled_kernels(len(contests) >= MANY_CONTESTS):
        rows = [_one(method, contest, level) for contest in contests]
    if not rows:
        raise DataError("There are no contests.", hint="datasets.contests() gives 386 of them.")
    return Validation(repr(method).replace("\n", " "), level, pd.DataFrame(rows))


def _one(method: Any, contest: Any, level: float) -> dict[str, Any]:
    if contest.total is None:
        raise DataError(f"The truth of {contest.name!r} isn't known.", hint="give contests with `total`.")
    dataset = getattr(contest, "dataset", "") or "contests"
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fresh: Any = clone(method)
        est = fresh.fit(contest.margins)
    middle = time.process_time()
    size = contest.total.sum(axis=1, keepdims=True)
    truth = np.divide(contest.total, size, out=np.zeros_like(contest.total, dtype=float), where=size > 0)
    failed, covered, width = "", 0, np.nan
    try:
        low, high = est.interval(level)
        covered = int(((low <= truth + 1e-12) & (truth <= high + 1e-12)).sum())
        width = float((high - low).mean())
    except DataError as error:
        failed = error.message
    return {
        "dataset": dataset,
        "contest": contest.name,
        "units": contest.margins.n_units,
        "cells": truth.size,
        "index": error_index(np.maximum(est.total_, 0), contest.total),
        "covered": covered,
        "width": width,
        "seconds": time.process_time() - begin,
        "seconds_fit": middle - begin,
        "converged": bool(est.fit_.converged),
        "warned": "; ".join(sorted({str(w.message) for w in caught})),
        "failed": failed,
    }


def _line(part: Any) -> dict[str, Any]:
    return {
        "contests": len(part),
        "index": part["index"].mean(),
        "coverage": part["covered"].sum() / part["cells"].sum(),
        "width": (part["width"] * part["cells"]).sum() / part["cells"].sum(),
        "seconds": part["seconds"].mean(),
        "unconverged": int(np.count_nonzero(~part["converged"].to_numpy(dtype=bool))),
    }
