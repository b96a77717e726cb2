"""Bags with a response from files: in all rows of a bag, or in a second file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.io.formats.sheet import Sheet
from sumwise.schema.opened import matched, open_source
from sumwise.schema.reading.base import Reading
from sumwise.schema.sheet_columns import bags_of, column_kind, column_notes, level_texts


class ResponsesReading(Reading):
    """Samples in bags, and the response of each bag."""

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
    bags: Bags
    response: np.ndarray
    classes: list[str] | None = None

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
        self.data = self.bags, self.response
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
