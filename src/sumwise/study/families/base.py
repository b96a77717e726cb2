"""Study: from a problem file to containers, an estimator and its report; what every family supplies."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sumwise import checks
from sumwise.checkpoint import CachedSteps
from sumwise.errors import DataError
from sumwise.storage.documents import read_json
from sumwise.study.problem import Problem
from sumwise.study.sources import OPENING

if TYPE_CHECKING:
    from sumwise.report.model_report import Report


class Study:
    """A problem of one family: `read` its files into containers, `fit` a method, `report` on it.

    A family supplies the methods that raise here. `read` sets ``data`` (what ``fit`` of the estimator takes, a tuple
    where that is several containers), and where there are any ``truth`` and ``details`` of `sumwise.report.report`.
    """

    family = ""
    data_keys: dict[str, str] = {}  # noqa: RUF012  key of [data] -> its meaning
    column_keys: dict[str, str] = {}  # noqa: RUF012  key of [columns] -> its meaning
    named_sides: tuple[str, ...] = ()  # keys of [columns] whose columns [names] names alike: groups, outcomes
    named_columns: tuple[str, ...] = ()  # other keys whose columns [names] may name
    noises: tuple[str, dict[str, tuple[str, ...]]] | None = None  # the table that says the noise; kind -> parameters
    methods: tuple[str, ...] = ()
    classes_of: dict[str, str] = {}  # noqa: RUF012  method -> the class that does it, where it has another name
    former: dict[str, str] = {}  # noqa: RUF012  earlier name of a method -> its name

    def __init__(self, problem: Problem, work: CachedSteps | None = None):
        self.problem = problem
        self.work = CachedSteps() if work is None else work
        self.notes: list[str] = []  # what was done to the data
        self.cautions: list[str] = []  # what a reader must know before the numbers
        self.model: Any = None
        self.data: Any = None
        self.truth: Any = None
        self.details: dict[str, Any] = {}
        self.folder = Path()  # of the result, for prediction
        self.chosen, self.why = self.former.get(problem.method, problem.method), "named in the problem file"
        in_data = [*self.data_keys, *OPENING]
        problem.check_keys(("data",), problem.data, in_data, {"columns": self.column_keys})
        problem.check_keys(("columns",), problem.columns, self.column_keys, {"data": in_data})
        with problem.blamed(("method",)):
            checks.known(self.chosen, ["auto", *self.methods], "method")

    # what a family supplies

    def read(self) -> None:
        """Read the files into containers."""
        raise NotImplementedError

    def choose(self) -> tuple[str, str]:
        """Which method "auto" is here, and why: as the family decides."""
        family = import_module(f"sumwise.{self.family}")
        return family.default_method(*(self.data if isinstance(self.data, tuple) else (self.data,)))

    def make(self, method: str) -> Any:
        """An estimator of that name, with its defaults."""
        return getattr(import_module(f"sumwise.{self.family}"), method)()

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Apply a fitted model to a file of other units, bags or individuals."""
        raise NotImplementedError

    # what all share

    def files(self) -> list[Path]:
        """The files that [data] names."""
        named = [k for k in self.data_keys if k in self.problem.data and (k == "file" or k.endswith("_file"))]
        found = [self.problem.file(key, needed=False) for key in named]
        return [path for path in found if path is not None]

    def named(self, column: str, level: str | None = None) -> str:
        """What [names] calls a column, or a level of it (the key is then "COLUMN = LEVEL"); else its own name."""
        if level is None:
            return self.problem.names.get(column, column)
        return self.problem.names.get(f"{column} = {level}", level)

    def check_names(self, columns: Any, levels: bool = True) -> None:
        """Refuse a key of [names] that is neither one of these columns nor a level of one, and names given twice."""
        p = self.problem
        for key in p.names:
            if key not in columns and not (levels and key.partition(" = ")[0] in columns):
                p.fail(("names",), f"[names] has {key!r}, which is not a column.", "check its spelling.")
        shown = [self.named(str(column)) for column in columns]
        for column, name in p.names.items():
            if column in columns and shown.count(name) > 1:
                p.fail(("names",), f"Two columns are called {name!r}.", "give each a name of its own.")

    def kept(self) -> dict[str, Any] | None:
        """What prediction needs beside the model, for ``features.json``."""
        return None

    def kept_by_the_fit(self, *lists: str) -> dict[str, Any]:
        """What `kept` gave when the result was fitted, for prediction; what it must hold are lists."""
        try:
            kept = read_json(self.folder / "features.json")
            if not isinstance(kept, dict) or not all(isinstance(kept.get(name), list) for name in lists):
                raise ValueError(f"it lacks {' or '.join(lists)}")
        except ValueError as error:
            said = f"features.json in {str(self.folder)!r} is damaged ({error})."
            raise DataError(said, hint="fit the problem file again.") from None
        return kept

    def train(self, estimator: Any) -> Any:
        """Fit an estimator to the data."""
        return estimator.fit(*(self.data if isinstance(self.data, tuple) else (self.data,)))

    def fit(self, model: Any = None) -> None:
        """Choose the method, fit it (or take the `model` that is fitted to the data already), keep it."""
        if self.chosen == "auto":
            self.chosen, self.why = self.choose()
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
                cautions=self.cautions,
                why=self.why,
                source=self.files()[0].name.removesuffix(".gz").rpartition(".")[0] if self.files() else None,
                step=self.work.step,
                **self.details,
            )
