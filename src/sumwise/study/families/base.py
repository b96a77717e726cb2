"""Study: what every family's adapter offers to the command line, and what it must supply."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.report.summary import Summary, bullets, facts, note
from sumwise.study.cached_steps import Work
from sumwise.study.problem import Problem
from sumwise.study.sources import OPENING

__all__ = ["Study"]


class Study:
    """A problem of one family: read, fit, tell. A family supplies the methods that raise here.

    Examples
    --------
    >>> from sumwise.study import Problem, study_of
    >>> from sumwise.study.families.base import Study
    >>> isinstance(study_of(Problem.parse('family = "ecological"')), Study)
    True
    """

    family = ""
    question = ""  # what the family answers, in one line
    data_keys: dict[str, str] = {}  # noqa: RUF012  key of [data] -> its meaning
    column_keys: dict[str, str] = {}  # noqa: RUF012  key of [columns] -> its meaning
    methods: tuple[str, ...] = ()

    def __init__(self, problem: Problem, work: Work | None = None):
        self.problem = problem
        self.work = Work() if work is None else work
        self.notes: list[str] = []  # what was done to the data, for the report
        self.model: Any = None
        self.folder = Path()  # of the result, for prediction
        self.chosen, self.why = problem.method, "named in the problem file"
        problem.check_keys(("data",), problem.data, [*self.data_keys, *OPENING])
        problem.check_keys(("columns",), problem.columns, self.column_keys)
        with problem.blamed(("method",)):
            checks.known(problem.method, ["auto", *self.methods], "method")

    # what a family supplies

    def read(self) -> None:
        """Read the files into containers."""
        raise NotImplementedError

    def choose(self) -> tuple[str, str]:
        """Which method "auto" is here, and why."""
        raise NotImplementedError

    def make(self, method: str) -> Any:
        """An estimator of that name, with its defaults."""
        raise NotImplementedError

    def train(self, estimator: Any) -> Any:
        """Fit an estimator to the data."""
        raise NotImplementedError

    def estimates(self) -> pd.DataFrame:
        """What was estimated, one row per number."""
        raise NotImplementedError

    def tell(self, summary: Summary) -> None:
        """Fill the sections of the summary."""
        raise NotImplementedError

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Apply a fitted model to a file of other units, bags or individuals."""
        raise NotImplementedError

    # what all share

    def files(self) -> list[Path]:
        """The files that [data] names."""
        found = [
            self.problem.file(key, needed=False)
            for key in self.data_keys
            if key in self.problem.data and self._is_file(key)
        ]
        return [path for path in found if path is not None]

    def _is_file(self, key: str) -> bool:
        return key == "file" or key.endswith("_file")

    def extra(self) -> dict[str, pd.DataFrame]:
        """Further frames for the result folder, by file name without ending."""
        return {}

    def kept(self) -> dict[str, Any] | None:
        """What prediction needs beside the model, for ``features.json``."""
        return None

    def fit(self) -> None:
        """Choose the method, fit it, keep it."""
        if self.problem.method == "auto":
            self.chosen, self.why = self.choose()
        self.model = self.work.step(f"fit {self.chosen}", lambda: self.train(self.configured(self.chosen)))

    def configured(self, method: str) -> Any:
        """The estimator with the seed and the options of the problem file."""
        estimator = self.seeded(self.make(method))
        parameters = estimator.get_params(deep=False)
        self.problem.check_keys(("options",), self.problem.options, parameters)
        estimator.set_params(**self.problem.options)
        return estimator

    def seeded(self, estimator: Any) -> Any:
        """The estimator with the problem's seed, where it takes one."""
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=self.problem.seed)
        return estimator

    def rng(self, purpose: str) -> np.random.Generator:
        """Random numbers of the problem's seed for one purpose, unlike those of any other program with that seed."""
        return np.random.default_rng([self.problem.seed, zlib.crc32(purpose.encode())])

    def summary(self) -> Summary:
        """The summary of the fitted study."""
        title = self.problem.title or self.question
        summary = Summary(title, self.family, self.chosen)
        self.tell(summary)
        summary.add("provenance", self.told_data())
        for told in self.work.warnings:
            summary.add("certainty", note(told))
        return summary

    def told_data(self) -> dict[str, Any] | None:
        """What was done to the data on the way in."""
        told = [*self.problem.remarks, *self.notes]
        return bullets(told, "What was done to the data") if told else None

    def told_fit(self, fit: Any) -> dict[str, Any]:
        """Convergence, as facts."""
        pairs: dict[str, Any] = {"method": self.chosen, "why this method": self.why}
        if fit is not None:
            pairs |= {"converged": bool(fit.converged), "steps": fit.n_iter}
            pairs |= {k: float(v) for k, v in (("objective", fit.objective), ("proven gap", fit.gap)) if v is not None}
        return facts(pairs, "How the answer was reached")

    def required(self, found: Any, what: str) -> Any:
        """Something that the problem can't do without."""
        if found is None:
            raise DataError(f"{self.problem.name}: there is no {what}.")
        return found
