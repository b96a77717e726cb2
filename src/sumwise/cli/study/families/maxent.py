"""Problems on tables with a label: who will click, from contingency tables alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise.cli.study.families.base import Study
from sumwise.schema.opened import open_source
from sumwise.schema.reading.tables import TablesReading
from sumwise.schema.sheet_columns import typed_frame


class MaxEnt(TablesReading, Study):
    """A classifier of individuals from tables of counts, or from rows that are counted, then discarded."""

    methods = ("MaxEntClassifier", "NaiveBayesTables", "BestPair")

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
        inner = {}
        if "options" in estimator.get_params(deep=False):
            inner["checkpoint"] = self.work.path(f"fit {type(estimator).__name__}")
        estimator.fit(self.tables, **inner)
        return estimator

    # --- out

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Class probabilities of other individuals."""
        p = self.problem
        columns = list(model.domain_.attributes if model.encoding_ is None else model.encoding_.columns)
        with p.blamed():
            sheet = open_source(p, source, None, ())
            texts = _text_levels(model)
            rows = typed_frame(sheet, columns, [*(p.column_list("categorical") or ()), *texts])
            written = open_source(p, source, None, (), trimmed=False).frame
            for column, levels in texts.items():
                rows[column] = _as_counted(written[column].tolist(), rows[column].tolist(), levels)
            chance = model.predict_proba(rows)
            label = [written[c].tolist() for c in (model.label_,) if c in written]
        frame = pd.DataFrame({"row": np.arange(len(chance)) + 1})
        frame.attrs["scores"] = _scores(model, chance, *label)
        for c, name in enumerate(model.classes_):
            frame[f"p({name})"] = chance[:, c]
        return frame.assign(**{"class": [str(model.classes_[c]) for c in chance.argmax(axis=1)]})


def _scores(model: Any, chance: np.ndarray, label: list | None = None) -> dict[str, float]:
    """Mean prediction and the rate that was counted; with labels of all rows, log-loss and calibration slope too."""
    from sumwise.report.text.maxent import prediction_scores

    names = [str(c) for c in model.classes_]
    if len(names) != 2:
        return {}
    counted = getattr(getattr(model, "fit_", None), "rate", ())
    out = {"mean prediction": float(chance[:, 1].mean())} | ({"rate counted": float(counted[1])} if counted else {})
    if label is None or not {str(v) for v in label} <= set(names):
        return out
    scores = prediction_scores([names.index(str(v)) for v in label], chance)
    return out | {k: v for k, v in scores.items() if k != "rate"} | {"rate of these rows": scores["rate"]}


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


STUDY = MaxEnt
