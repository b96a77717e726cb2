"""Problems on bags with class counts: what individuals would choose, from results per region."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.readers.sheet import Sheet
from sumwise.study.families.base import Study
from sumwise.study.sheet_columns import bags_of, column_notes, level_texts, typed_frame
from sumwise.study.sources import matched, only_rows, open_source

MOST_GROUPS = 12  # levels of a column that is shown as subgroups
MOST_CLASSES = 30


class Proportions(Study):
    """Which individuals have which class, from class counts per bag."""

    family = "proportions"
    data_keys = {  # noqa: RUF012
        "file": "one row per individual",
        "counts_file": "one row per bag with its class counts, where they aren't in the file of individuals",
        "survey_file": "shares of subgroups by a survey, to compare with: columns group, level, class, share",
        "unmatched": "what to do with bags that are in only one file: raise or drop",
    }
    column_keys = {  # noqa: RUF012
        "bag": "the column that says which bag an individual is in",
        "label": "the column of classes; only its counts per bag are used, the rest checks the result",
        "counts": "columns of the counts file: how many of each class",
        "counts_bag": "the column of bags in the counts file, where it is called otherwise",
        "features": "columns of individuals; default: all others",
        "categorical": "features that are levels though they look like numbers",
        "weight": "people that a row stands for",
        "subgroups": "columns to show shares by; default: those with few levels",
    }
    named_sides = ("counts",)
    named_columns = ("label", "features", "subgroups")
    methods = ("CardinalityClassifier", "MeanMap", "AlternatingMeanMap", "MeanEmbeddingClassifier", "EasyLLP")

    bags: Bags
    counts: np.ndarray
    classes: list[str]

    # --- in

    def read(self) -> None:
        """Read individuals into bags, and the counts of each bag."""
        p = self.problem
        bag, label = p.column("bag", needed=True), p.column("label")
        ids = [c for c in (bag, label) if c is not None]
        sheet = open_source(p, p.file(), None, ids)
        with p.blamed():
            sheet.known(*ids, *(c for c in (p.column("weight"),) if c))
            if label is not None and (absent := sheet.missing(label)).any():  # and labels are counted
                lacking = f"{int(absent.sum()):,} of {len(sheet):,} individuals"
                self.notes.append(f"{lacking} have no {label!r} and were left out.")
                sheet = only_rows(sheet, np.flatnonzero(~absent))
            columns = p.column_list("features") or sheet.others(*ids, p.column("weight"))
            self.labels = None
            if p.file("counts_file", needed=False) is not None:
                sheet = self._with_counts(sheet, str(bag))
            elif label is None:
                p.fail(("columns",), "[columns] names no label, and [data] no counts_file.", "name one of them.")
            self._build(sheet, str(bag), columns)
            if self.labels is None and label is not None:
                self._count_labels(sheet, label)
            self._subgroup_columns(sheet)
            self.check_names([*sheet.columns, *(p.column_list("counts") or ())])
        self.data, self.truth = (self.bags, self.target), self.labels
        self.details = {"classes": self.classes, "groups": self.groups, "names": p.names}
        if p.file("survey_file", needed=False) is not None:
            self.details["survey"] = self._survey()
        self._note()

    def _survey(self) -> pd.DataFrame:
        """Shares of subgroups by the survey."""
        p, names = self.problem, ["group", "level", "class"]
        sheet = open_source(p, p.file("survey_file"), [*names, "share"], names)
        with p.blamed(("data", "survey_file")):
            keys = {name: sheet.ids(name).astype(str).to_numpy() for name in names}
            return pd.DataFrame({**keys, "survey": sheet.numbers(["share"])[:, 0]})

    def _build(self, sheet: Sheet, bag: str, columns: list[str]) -> None:
        p = self.problem
        rows = bags_of(sheet, bag, columns, p.column_list("categorical") or (), p.column("weight"))
        self.bags, self.order = rows.bags, rows.order
        self.notes += column_notes(rows)
        if getattr(self, "counts_by_bag", None) is not None:
            self.counts = self.counts_by_bag.loc[list(self.bags.ids)].to_numpy(dtype=float)
        if len(self.bags) < 3:
            raise DataError(
                f"There are {len(self.bags)} bags.", hint="learning from counts needs more; is bag the right column?"
            )

    def _count_labels(self, sheet: Sheet, label: str) -> None:
        texts = level_texts(sheet, label)[self.order]
        self.classes = sorted(set(texts.tolist()))
        if not 2 <= len(self.classes) <= MOST_CLASSES:
            raise DataError(
                f"Column {label!r} has {len(self.classes)} classes.",
                hint=f"give a column with 2 to {MOST_CLASSES} classes.",
            )
        self.labels = np.searchsorted(np.array(self.classes, dtype=object), texts)
        codes = all(name.lstrip("+-").replace(".", "", 1).isdigit() for name in self.classes)
        own = {name: f"{self.named(label)} = {name}" if codes else name for name in self.classes}
        self.classes = [self.problem.names.get(f"{label} = {name}", own[name]) for name in self.classes]
        if len(set(self.classes)) < len(own):
            self.problem.fail(("names",), f"Two classes of {label!r} have one name.", "give each a name of its own.")
        shares = np.eye(len(self.classes))[self.labels] * self.bags.weights[:, None]
        self.counts = np.add.reduceat(shares, self.bags.offsets[:-1], axis=0)

    def _with_counts(self, sheet: Sheet, bag: str) -> Sheet:
        """Read the counts file, and keep the individuals of bags that have counts."""
        p = self.problem
        named = p.column_list("counts", needed=True) or []
        key = p.column("counts_bag") or bag
        other = open_source(p, p.file("counts_file"), [*named, key], [key])
        frame = pd.DataFrame(other.numbers(named), columns=named, index=other.names(key))
        twice = frame.index.duplicated()
        other.refuse(twice, f"column {key!r} repeats a bag", "give each bag one row.")
        keep = matched(p, sheet, other, (sheet.names(bag), pd.Series(frame.index)), "bag")
        self.classes, self.counts_by_bag = [self.named(str(c)) for c in named], frame
        return only_rows(sheet, np.flatnonzero(keep))

    def _subgroup_columns(self, sheet: Sheet) -> None:
        """Levels of the columns to show shares by, in the order of the bags' rows."""
        named = self.problem.column_list("subgroups")
        wanted = named or [str(c) for c in self.bags.features if c in self.bags.levels]
        sheet.known(*wanted)
        self.groups: dict[str, np.ndarray] = {}
        for column in wanted:
            texts = level_texts(sheet, column)[self.order]
            if named is not None or len(set(texts.tolist())) <= MOST_GROUPS:
                levels = [self.named(column, text) for text in texts]
                self.groups[self.named(column)] = np.array(levels, dtype=object)
        if not self.groups:
            number = next((str(c) for c in self.bags.features if c not in self.bags.levels), None)
            if number is not None:
                self.groups[self.named(number)] = _thirds(sheet, number)[self.order]

    def _note(self) -> None:
        if self.labels is not None:
            self.notes.append(
                "The label of individuals is in the file. Only its counts per bag were used to fit; the labels check "
                "the result."
            )
        n_levels = sum(len(levels) for levels in self.bags.levels.values())
        self.notes.append(
            f"{self.bags.n_features} columns are features: {self.bags.n_features - len(self.bags.levels)} of numbers, "
            f"{len(self.bags.levels)} of levels with an indicator for each of the {n_levels}."
        )

    # --- fit

    @property
    def target(self) -> np.ndarray:
        """Counts as classifiers take them: of the second class, or of all."""
        counts = self.counts
        if not self.bags.weighted and np.allclose(counts, np.round(counts)):
            counts = np.round(counts).astype(int)
        return (
            counts[:, 1] if counts.shape[1] == 2 and self.problem.options.get("totals", "match") == "match" else counts
        )

    # --- out

    def report(self) -> Any:
        """The report; individuals are in the order of the file."""
        made = super().report()
        frame = made.frames["individuals"]
        frame.insert(0, "row", self.order + 1)
        made.frames["individuals"] = frame.sort_values("row", ignore_index=True)
        return made

    def kept(self) -> dict[str, Any]:
        """What prediction needs beside the model."""
        return {"classes": self.classes}

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Class probabilities of other individuals."""
        kept = self.kept_by_the_fit("classes")
        known = model.features_
        bag = self.problem.column("bag")
        with self.problem.blamed():
            sheet = open_source(self.problem, source, None, [c for c in (bag,) if c])
            chance = model.predict_proba(typed_frame(sheet, list(known.columns), list(known.levels)))
        frame = pd.DataFrame({"row": np.arange(len(sheet)) + 1})
        if bag in sheet.columns:
            frame["bag"] = sheet.frame[bag].astype(str)
        for c, name in enumerate(kept["classes"]):
            frame[f"p({name})"] = chance[:, c]
        frame["class"] = [kept["classes"][c] for c in chance.argmax(axis=1)]
        return frame


def _thirds(sheet: Sheet, column: str) -> np.ndarray:
    values = sheet.numbers([column], missing=True, negative=True)[:, 0]
    low, high = np.nanquantile(values, [1 / 3, 2 / 3])
    texts = np.where(
        values <= low, f"up to {low:.4g}", np.where(values <= high, f"{low:.4g} to {high:.4g}", f"above {high:.4g}")
    )
    return np.where(np.isnan(values), "(missing)", texts).astype(object)


STUDY = Proportions
