"""Problems on tables with a label or an amount: who will click, or spend how much, from contingency tables alone."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import DataError
from sumwise.readers import read_tables, read_tables_folder
from sumwise.study.families.base import Study
from sumwise.study.problem import NOISES, noise_of
from sumwise.study.sheet_columns import level_texts, typed_frame
from sumwise.study.sources import open_source
from sumwise.tables import Tables

OF_CELLS = {kind: NOISES[kind] for kind in ("exact", "poisson", "gaussian", "laplace", "geometric")}
FEW = 500  # rows below which none are held out
RARE = 20  # rows below which levels are put together


class MaxEnt(Study):
    """A classifier of individuals from tables of counts, or from rows that are counted, then discarded."""

    family = "maxent"
    data_keys = {  # noqa: RUF012
        "file": "rows of individuals, cells of tables, or a folder that sumwise aggregate or release wrote",
        "kind": "rows, cells or folder; default: a folder is one, a file with a column of counts holds cells",
        "holdout": "rows: the share that is kept for checking; default 0.2",
        "bins": "rows: levels that a column of numbers is cut into; default 5",
        "order": "rows: how many attributes a table has; default 2",
        "low": "rows: amounts below count as this",
        "high": "rows: amounts above count as this",
        "noise": "cells: the noise of counts and label sums: exact, poisson, gaussian, laplace or geometric",
        "sd": "cells: its standard deviation (gaussian, laplace, geometric)",
        "rate": "cells: its rate (poisson): the share of people that is counted",
        "absent": "cells: what a cell means that has no row: raise, zero or unobserved",
    }
    column_keys = {  # noqa: RUF012
        "label": "rows: the column to be predicted; cells: its name",
        "amount": "rows: the column whose expected value is wanted, in place of a label; needs low and high",
        "attributes": "the features; default: all other columns",
        "categorical": "rows: features that are levels though they look like numbers",
        "weight": "rows: people that a row stands for",
        "count": "cells: the column of counts",
        "label_sum": "cells: the column of the label's sums",
    }
    named_columns = ("label", "amount", "attributes")
    noises = "data", OF_CELLS
    methods = ("MaxEntClassifier", "NaiveBayesTables", "TreeAugmentedNaiveBayes", "BestPair", "MaxEntRegressor")

    tables: Tables
    rows: pd.DataFrame | None = None  # individuals that were held out
    labels: np.ndarray | None = None  # their classes, as positions, or their amounts

    # --- in

    def read(self) -> None:
        """Read tables, or count rows into them."""
        p = self.problem
        path = p.file() or p.fail(("data",), "There is no file.")
        kind = p.data.get("kind") or ("folder" if path.is_dir() else "cells" if "count" in p.columns else "rows")
        with p.blamed(("data", "kind")):
            checks.choice(kind, "kind", ("rows", "cells", "folder"))
        if kind != "cells" and "noise" in p.data:
            p.fail(("data", "noise"), f"noise is given, and the data are {kind}.", "only cells take a noise.")
        with p.blamed():
            if kind == "folder":
                self.tables = read_tables_folder(path)
            elif kind == "cells":
                self.tables = self._cells(path)
            else:
                self._count(path)
        self.data = self.tables
        self.check_names([*self.tables.domain.attributes, self.tables.label])
        self.details = {"names": p.names}
        if self.tables.label is None and all(t.label_sums is None for t in self.tables):
            p.fail(("data", "file"), "The tables have no label sums.", "a classifier needs them; count with a label.")
        if (self.chosen == "MaxEntRegressor") != (self._of_amounts) and self.chosen != "auto":
            what = "of an amount" if self._of_amounts else "of classes"
            p.fail(("method",), f"The label sums are {what}, and the method is {self.chosen}.", "leave method out.")

    @property
    def _of_amounts(self) -> bool:
        return self.tables.provenance.amount is not None

    def _cells(self, path: Path) -> Tables:
        p = self.problem
        names = {key: str(p.column(key)) for key in ("count", "label_sum") if p.column(key) is not None}
        sheet = open_source(p, path, None, None)
        return read_tables(
            sheet,
            p.column_list("attributes"),
            absent=p.data.get("absent", "raise"),
            label=p.column("label"),
            noise=noise_of(p.data, ("auto", *OF_CELLS)),
            names=names or None,
        )

    def _count(self, path: Path) -> None:
        from sumwise.aggregate import aggregate
        from sumwise.encoding import Encoding

        p = self.problem
        amount = p.column("amount")
        if amount is not None and p.column("label") is not None:
            p.fail(("columns", "amount"), "There are both a label and an amount.", "name one of them.")
        target = str(amount if amount is not None else p.column("label", needed=True))
        sheet = open_source(p, path, None, [target])
        sheet.known(target)
        weight = p.column("weight")
        columns = p.column_list("attributes") or sheet.others(target, weight)
        frame: Any = typed_frame(sheet, columns, p.column_list("categorical") or ())
        bins = checks.at_least(p.data.get("bins", 5), "bins", 2)
        spec = {c: _rule(frame[c], bins) for c in columns if len(pd.unique(frame[c])) > 1}
        if not spec:
            raise DataError(f"{sheet.name}: all attributes are the same in every row.", hint="name other columns.")
        name = target if target not in spec else f"{target} ({'label' if amount is None else 'amount'})"
        frame[name] = level_texts(sheet, target) if amount is None else sheet.numbers([target])[:, 0]
        if weight is not None:
            frame[weight] = sheet.numbers([weight])[:, 0]
        if frame[name].nunique() < 2:
            raise DataError(f"Column {target!r} is the same in every row.", hint="there is nothing to predict.")
        held = self._held_out(len(frame))
        train = frame[~held].reset_index(drop=True)
        order = min(int(checks.at_least(p.data.get("order", 2), "order", 1)), len(spec))
        given: dict[str, Any] = {"label": name} if amount is None else {"amount": name, "amount_range": self._ends()}
        self.tables = aggregate(
            train, list(spec), order=order, weight=weight, encoding=Encoding.fit(train, spec), **given
        )
        if held.any():
            self._keep_held_out(frame[held].reset_index(drop=True), name, amount is not None)
        self.notes.append(
            f"{len(train):,} rows were counted into {len(self.tables)} tables of {order} attributes each; the fit "
            "sees the tables only. "
            f"Numbers are cut into {bins} levels at quantiles; levels of fewer than {RARE} rows are put together."
        )

    def _ends(self) -> tuple[Any, Any]:
        """The range that amounts are clipped to."""
        p = self.problem
        for key in ("low", "high"):
            if key not in p.data:
                p.fail(("data",), f"Amounts need {key}.", "give the range that they are clipped to, as low = 0.")
        return p.data["low"], p.data["high"]

    def _keep_held_out(self, rows: pd.DataFrame, name: str, amounts: bool) -> None:
        """Individuals to check the result with, with their classes or amounts."""
        self.rows = rows
        if amounts:
            low, high = self._ends()
            self.labels = np.clip(rows[name].to_numpy(dtype=float), low, high)
        else:
            places = {str(c): k for k, c in enumerate(self.tables.classes or ())}
            self.labels = np.array([places[text] for text in rows[name]])
        self.truth = self.rows, self.labels

    def _held_out(self, n: int) -> np.ndarray:
        """Which rows are not counted and check the result."""
        p = self.problem
        share = p.data.get("holdout", 0.2 if n >= FEW else 0.0)
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
            p.fail(("data", "holdout"), f"holdout is {share!r}.", "give a share of the rows, such as 0.2; 0 for none.")
        rng = np.random.default_rng([p.seed, zlib.crc32(b"held out")])  # unlike any other use of that seed
        held = rng.random(n) < share
        if held.any():
            self.notes.append(f"{int(held.sum()):,} rows, drawn at random, were held out to check the result.")
        return held

    # --- fit

    def configured(self, method: str) -> Any:
        """The estimator with the options of the problem file; solver options are written beside the others."""
        from sumwise.maxent import SolverOptions

        estimator = self.seeded(self.make(method))
        own = estimator.get_params(deep=False)
        inner = vars(SolverOptions()) if "options" in own else {}
        self.problem.check_keys(("options",), self.problem.options, {**own, **inner})
        given = {f"options__{k}" if k in inner else k: v for k, v in self.problem.options.items()}
        return estimator.set_params(**given)

    def train(self, estimator: Any) -> Any:
        """Fit to the tables; long training keeps its state with the steps of the run."""
        own = "checkpoint" in estimator.get_params(deep=False)
        if own:
            estimator.set_params(checkpoint=self.work.path(f"fit {type(estimator).__name__}"))
        estimator.fit(self.tables)
        if own:
            estimator.set_params(checkpoint=None)  # of this run, not of the model
        return estimator

    # --- out

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Class probabilities of other individuals, or their expected amounts with intervals."""
        p = self.problem
        columns = list(model.domain_.attributes if model.encoding_ is None else model.encoding_.columns)
        with p.blamed():
            sheet = open_source(p, source, None, ())
            texts = _text_levels(model)
            rows = typed_frame(sheet, columns, [*(p.column_list("categorical") or ()), *texts])
            written = open_source(p, source, None, (), trimmed=False).frame
            for column, levels in texts.items():
                rows[column] = _as_counted(written[column].tolist(), rows[column].tolist(), levels)
            if not hasattr(model, "predict_proba"):
                low, high = model.predict_interval(rows, p.level)
                found = {f"expected {model.label_}": model.predict(rows), "low": low, "high": high}
                return pd.DataFrame({"row": np.arange(len(low)) + 1, **found})
            chance = model.predict_proba(rows)
        frame = pd.DataFrame({"row": np.arange(len(chance)) + 1})
        for c, name in enumerate(model.classes_):
            frame[f"p({name})"] = chance[:, c]
        return frame.assign(**{"class": [str(model.classes_[c]) for c in chance.argmax(axis=1)]})


def _text_levels(model: Any) -> dict[str, set[str]]:
    """The texts among a column's levels, even where most entries look like numbers (codes, and an N)."""
    if model.encoding_ is None:
        levels = {a: model.domain_.levels(a) for a in model.domain_.attributes}
    else:
        rules = [r for r in model.encoding_.rules.values() if hasattr(r, "column")]
        levels = {r.column: getattr(r, "values", ()) for r in rules}
    texts = {c: {v for v in values if isinstance(v, str)} for c, values in levels.items()}
    return {c: found for c, found in texts.items() if found}


def _as_counted(written: list, read: list, levels: set[str]) -> list:
    """Entries as levels are written: "", "NA" and " x" are levels of their own where tables counted them as such."""
    trimmed = {v.strip(): v for v in levels}
    return [w if isinstance(w, str) and w in levels else trimmed.get(r, r) for w, r in zip(written, read)]


def _rule(column: Any, bins: int) -> dict[str, Any]:
    if pd.api.types.is_float_dtype(column.dtype) and column.nunique() > bins:
        return {"kind": "quantiles", "bins": bins}
    return {"kind": "levels", "min_count": RARE, "max_levels": 50}


STUDY = MaxEnt
