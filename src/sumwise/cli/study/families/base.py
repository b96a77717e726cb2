"""Study: from a problem file to containers, an estimator and its report; what every family supplies."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sumwise import checks
from sumwise.io.checkpoint import CachedSteps
from sumwise.report.court import CASE
from sumwise.schema.problem import Problem
from sumwise.schema.reading.base import Reading

if TYPE_CHECKING:
    from sumwise.report.model_report import Report


class Study(Reading):
    """A problem of one family: `read` its files into containers, `fit` a method, `report` on it."""

    methods: tuple[str, ...] = ()
    classes_of: dict[str, str] = {}  # noqa: RUF012  method -> the class that does it, where it has another name
    former: dict[str, str] = {}  # noqa: RUF012  earlier name of a method -> its name

    def __init__(self, problem: Problem, work: CachedSteps | None = None):
        super().__init__(problem)
        self.work = CachedSteps() if work is None else work
        self.warnings = self.work.warnings
        self.model: Any = None
        self.chosen = self.former.get(problem.method, problem.method)
        problem.check_keys(("court",), problem.values.get("court", {}), CASE)
        with problem.blamed(("method",)):
            checks.known(self.chosen, ["auto", *self.methods], "method")

    # what a family supplies

    def choose(self) -> str:
        """Which method "auto" is here."""
        return self.methods[0]

    def make(self, method: str) -> Any:
        """An estimator of that name, with its defaults."""
        return getattr(import_module(f"sumwise.{self.family}"), method)()

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Apply a fitted model to a file of other units, bags or individuals."""
        raise NotImplementedError

    def first_numbers(self) -> dict[str, Any] | None:
        """Shares that can be shown before the report has checked them, as `sumwise.plots.plot_intervals` takes them."""
        return None

    # what all share

    def train(self, estimator: Any) -> Any:
        """Fit an estimator to the data."""
        return estimator.fit(*(self.data if isinstance(self.data, tuple) else (self.data,)))

    def fit(self, model: Any = None) -> None:
        """Choose the method, fit it (or take the `model` that is fitted to the data already), keep it."""
        if self.chosen == "auto":
            self.chosen = self.choose()
        if model is not None:
            self.model = model
            return
        self.model = self.work.step(f"fit {self.chosen}", lambda: self.train(self.configured(self.chosen)))

    def configured(self, method: str) -> Any:
        """The estimator with the seed and the options of the problem file."""
        estimator = self.seeded(self.make(method))
        self.problem.check_keys(("options",), self.problem.options, estimator.get_params(deep=False))
        return estimator.set_params(**self.problem.options)

    def seeded(self, estimator: Any) -> Any:
        """The estimator with the problem's seed, where it takes one."""
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=self.problem.seed)
        return estimator

    def report(self) -> Report:
        """The report on the fitted model: exactly what `sumwise.report.report` gives."""
        from sumwise.report.model_report import report  # not needed, and heavy, for reading files

        with self.problem.blamed():
            return report(
                self.model,
                self.data,
                truth=self.truth,
                compare="auto" if self.problem.sensitivity else (),
                title=self.problem.title,
                level=self.problem.level,
                random_state=self.problem.seed,
                notes=list(dict.fromkeys([*self.problem.remarks, *self.notes])),  # contests are read twice
                cautions=list(dict.fromkeys(self.cautions)),
                step=self.work.step,
                **self.details,
            )
