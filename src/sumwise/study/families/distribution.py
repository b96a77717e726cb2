"""Problems on bags with a response: one number or class per bag, from the samples in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.readers.sheet import Sheet
from sumwise.study.families.base import Study
from sumwise.study.sheet_columns import bags_of, column_kind, column_notes, level_texts, other_bags
from sumwise.study.sources import matched, open_source


class Distribution(Study):
    """A response per bag, from the samples in it."""

    family = "distribution"
    data_keys = {  # noqa: RUF012
        "file": "one row per sample",
        "responses_file": "one row per bag with its response, where it isn't in the file of samples",
        "unmatched": "what to do with bags that are in only one file: raise or drop",
    }
    column_keys = {  # noqa: RUF012
        "bag": "the column that says which bag a sample is in",
        "response": "the column to be predicted: the same in all rows of a bag; numbers, or classes",
        "responses_bag": "the column of bags in the responses file, where it is called otherwise",
        "features": "columns of samples; default: all others",
        "categorical": "features that are levels though they look like numbers",
        "weight": "how much a sample counts",
        "task": "regression or classification; default: classification for text and for two values",
    }
    named_columns = ("response", "features")
    methods = ("means", "moments", "quantiles", "fourier", "wasserstein", "DeepSets")
    classes_of = {  # noqa: RUF012
        "means": "LinearEmbedding",
        "moments": "MomentEmbedding",
        "quantiles": "QuantileEmbedding",
        "fourier": "FourierEmbedding",
        "wasserstein": "BagKernelRidge",
    }

    bags: Bags
    response: np.ndarray
    classes: list[str] | None
    half_width: float | None = None

    # --- in

    def read(self) -> None:
        """Read samples into bags, and the response of each bag."""
        p = self.problem
        bag, response = p.column("bag", needed=True), p.column("response", needed=True)
        sheet = open_source(p, p.file(), None, [str(bag)])
        with p.blamed():
            sheet.known(bag)
            apart = p.file("responses_file", needed=False)
            columns = p.column_list("features") or sheet.others(bag, response, p.column("weight"))
            if apart is None:
                sheet.known(response)
            rows = bags_of(sheet, str(bag), columns, p.column_list("categorical") or (), p.column("weight"))
            self.bags, self.order = rows.bags, rows.order
            self.notes += column_notes(rows)
            self.columns = {"names": list(self.bags.features), "levels": list(self.bags.levels)}
            if apart is None:
                self._own_response(sheet, str(response))
            else:
                self._other_response(sheet, apart, str(bag), str(response))
            self.check_names([*sheet.columns, *({response} - {*sheet.columns})])
        y = self.response
        if self.classes is not None:  # 0 and 1, or a column for each of more than two classes
            y = y.astype(float) if len(self.classes) == 2 else np.eye(len(self.classes))[y]
        self.data = self.bags, y
        self.details |= {"classes": self.classes, "response": self.named(str(response)), "names": p.names}

    def _own_response(self, sheet: Sheet, response: str) -> None:
        texts = level_texts(sheet, response)
        first = np.empty_like(texts)
        first[self.order] = texts[self.order][self.bags.offsets[self.bags.bag_index]]
        sheet.refuse(
            texts != first,
            f"column {response!r} differs within a bag",
            "a response is the same in all rows of its bag.",
        )
        self._set(sheet, response, self.order[self.bags.offsets[:-1]])

    def _other_response(self, sheet: Sheet, path: Path, bag: str, response: str) -> None:
        p = self.problem
        key = p.column("responses_bag") or bag
        other = open_source(p, path, [key, response], [key])
        ids = other.names(key).reset_index(drop=True)
        other.refuse(ids.duplicated().to_numpy(), f"column {key!r} repeats a bag", "give each bag one row.")
        mine = pd.Series([str(b) for b in self.bags.ids])
        keep = matched(p, sheet, other, (mine, ids), "bag")
        self.bags = self.bags[np.flatnonzero(keep)]
        self._set(other, response, pd.Index(ids).get_indexer(mine[keep]))

    def _set(self, sheet: Sheet, response: str, rows: np.ndarray) -> None:
        texts = level_texts(sheet, response)[rows]
        distinct = sorted(set(texts.tolist()))
        kind = column_kind(sheet, response)
        task = self.problem.columns.get("task") or (
            "classification" if kind == "levels" or len(distinct) == 2 else "regression"
        )
        if task not in ("regression", "classification"):
            self.problem.fail(("columns", "task"), f"task is {task!r}.", "give regression or classification.")
        if len(distinct) < 2:
            raise DataError(f"Column {response!r} is the same for all bags.", hint="there is nothing to predict.")
        if task == "classification":
            self.classes = [self.named(response, str(x)) for x in distinct]
            self.response = np.searchsorted(np.array(distinct, dtype=object), texts).astype(int)
        else:
            self.classes = None
            self.response = sheet.numbers([response], negative=True)[rows, 0]

    # --- fit

    def choose(self) -> tuple[str, str]:
        """By cross-validation over the methods, the simplest within a standard error of the best."""
        from sumwise.distribution import default_method

        found = self.work.step("compare methods", lambda: default_method(*self.data, random_state=self.problem.seed))
        if not found.scores:
            return found.best, found.reasons[0]
        self.details["selection"] = found
        return found.best, f"Selected by cross-validation over bags. {found.reasons[0]}"

    def make(self, method: str) -> Any:
        """A regressor on bags."""
        from sumwise import distribution as d

        if method == "DeepSets":
            return d.DeepSets(task="regression")
        if method == "wasserstein":
            return d.BagKernelRidge()  # its default: a Gaussian kernel of sliced Wasserstein distances
        return d.BagRidge(getattr(d, self.classes_of[method])())

    # --- out

    def report(self) -> Any:
        """The report, and the width of intervals for predictions of other bags."""
        made = super().report()
        self.half_width = made.summary["record"].get("half width")
        return made

    def kept(self) -> dict[str, Any]:
        """What prediction needs beside the model."""
        return {"columns": self.columns, "classes": self.classes, "half_width": self.half_width}

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Responses of other bags."""
        kept = self.kept_by_the_fit()
        if "columns" not in kept:
            raise DataError(
                f"{self.folder} was written by an earlier version, which kept its columns in another way.",
                hint="fit the problem file again.",
            )
        columns, classes = kept["columns"], kept["classes"]
        bag = str(self.problem.column("bag", needed=True))
        with self.problem.blamed():
            sheet = open_source(self.problem, source, None, [bag])
            sheet.known(bag)
            bags = other_bags(sheet, bag, columns["names"], columns["levels"], self.problem.column("weight"))
            found = model.predict(bags)
        frame = pd.DataFrame({"bag": [str(b) for b in bags.ids], "samples": bags.sizes})
        if classes is None:
            wide = kept["half_width"]
            return frame.assign(predicted=found, low=found - wide, high=found + wide)
        score = np.column_stack([1 - found, found]) if len(classes) == 2 else found
        frame["predicted"] = [classes[c] for c in score.argmax(axis=1)]
        return frame.assign(**{f"score({name})": score[:, c] for c, name in enumerate(classes)})


STUDY = Distribution
