"""Bags with class counts from files: labels that are counted, counts in the file, or in a second one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.io.formats.sheet import Sheet
from sumwise.schema.opened import labelled_only, matched, only_rows, open_source
from sumwise.schema.reading.base import Reading
from sumwise.schema.sheet_columns import MOST_LEVELS, bags_of, column_notes, level_texts

MOST_THIRDS = 4  # numbers whose thirds are subgroups, where no feature has levels
MOST_GROUPS = 12  # levels of a column that is shown as subgroups
DIGITS = 12  # that are written of a share at most; float64 has 15


class CountsReading(Reading):
    """Individuals in bags, and the counts of each bag."""

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
        "counts": "how many of each class, or how many have it, per bag: in the counts file, or in all rows",
        "counts_in": "what counts are: count, share or percent of a bag; default: count",
        "counts_total": "the column of all who were counted, where the individuals are a sample of them",
        "counts_bag": "the column of bags in the counts file, where it is called otherwise",
        "features": "columns of individuals; default: all others",
        "categorical": "features that are levels though they look like numbers",
        "weight": "people that a row stands for",
        "subgroups": "columns to show shares by; default: those with few levels",
    }
    named_sides = ("counts",)
    named_columns = ("label", "features", "subgroups")
    bags: Bags
    counts: np.ndarray
    classes: list[str]

    def read(self) -> None:
        """Read individuals into bags, and the counts of each bag."""
        p = self.problem
        bag, label = p.column("bag", needed=True), p.column("label")
        ids = [c for c in (bag, label) if c is not None]
        sheet = open_source(p, p.file(), None, ids)
        with p.blamed():
            sheet.known(*ids, *(c for c in (p.column("weight"),) if c))
            if label is not None:  # and labels are counted
                sheet = labelled_only(sheet, label, self.notes)
            known = [*(p.column_list("counts") or ()), p.column("counts_total")]
            columns = p.column_list("features") or sheet.others(*ids, p.column("weight"), *known)
            self.labels = None
            if p.file("counts_file", needed=False) is not None:
                sheet = self._with_counts(sheet, str(bag))
            elif label is None and "counts" in p.columns:
                self._with_own_counts(sheet, str(bag))
            elif label is None:
                p.fail(("columns",), "[columns] names no label and no counts.", "name one of them.")
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
            self.counts = self._counts_of(self.counts_by_bag.loc[list(self.bags.ids)])
        if len(self.bags) < 3:
            raise DataError(
                f"There are {len(self.bags)} bags.", hint="learning from counts needs more; is bag the right column?"
            )

    def _count_labels(self, sheet: Sheet, label: str) -> None:
        texts = level_texts(sheet, label)[self.order]
        self.classes = sorted(set(texts.tolist()))
        if not 2 <= len(self.classes) <= MOST_LEVELS:
            raise DataError(
                f"Column {label!r} has {len(self.classes)} classes.",
                hint=f"give a column with 2 to {MOST_LEVELS} classes.",
            )
        self.labels = np.searchsorted(np.array(self.classes, dtype=object), texts)
        codes = all(name.lstrip("+-").replace(".", "", 1).isdigit() for name in self.classes)
        own = {name: f"{self.named(label)} = {name}" if codes else name for name in self.classes}
        self.classes = [self.problem.names.get(f"{label} = {name}", own[name]) for name in self.classes]
        if len(set(self.classes)) < len(own):
            self.problem.fail(("names",), f"Two classes of {label!r} have one name.", "give each a name of its own.")
        shares = np.eye(len(self.classes))[self.labels] * self.bags.weights[:, None]
        self.counts = np.add.reduceat(shares, self.bags.offsets[:-1], axis=0)

    def _counts_of(self, known: pd.DataFrame) -> np.ndarray:
        """Counts of every class from what is known of the bags, in their order."""
        p, total = self.problem, self.problem.column("counts_total")
        named = p.column_list("counts") or []
        values = known[named].to_numpy(dtype=float)
        everybody = np.add.reduceat(self.bags.weights, self.bags.offsets[:-1])
        if total is not None:
            everybody = known[total].to_numpy(dtype=float)
        kind = checks.choice(p.columns.get("counts_in", "count"), "counts_in", ("count", "share", "percent"))
        if kind != "count":
            values = values / (1.0 if kind == "share" else 100.0) * everybody[:, None]
            half = 0.5 * written_unit(known[named].to_numpy(dtype=float)) / (1.0 if kind == "share" else 100.0)
            near = np.abs(values - np.round(values)) <= half * everybody[:, None] * (1 + checks.TOTALS_RTOL)
            near &= np.mod(everybody, 1)[:, None] == 0
            values = np.where(near, np.round(values), values)
        alone = len(named) == 1
        over = alone & (values.sum(axis=1) > everybody * (1 + checks.TOTALS_RTOL))
        if over.any():
            b = int(np.argmax(over))
            raise DataError(
                f"{', '.join(named)} exceed the {'total' if total else 'individuals'} of {int(over.sum())} bags. "
                f"First: {self.bags.ids[b]!r} has {values[b].sum():.6g} of {everybody[b]:.6g}.",
                hint="name the total (counts_total), where the individuals are a sample; else correct the counts.",
            )
        return np.column_stack([everybody - values[:, 0], values[:, 0]]) if alone else values

    def _with_own_counts(self, sheet: Sheet, bag: str) -> None:
        """Counts that stand in every row of a bag."""
        p = self.problem
        named = [*(p.column_list("counts") or ()), *([t] if (t := p.column("counts_total")) else [])]
        sheet.known(*named)
        frame = pd.DataFrame(sheet.numbers(named), columns=pd.Index(named))
        by_bag = frame.groupby(sheet.names(bag).to_numpy(), sort=False)
        for c in named:
            differs = (frame[c] != by_bag[c].transform("first")).to_numpy()
            sheet.refuse(differs, f"column {c!r} differs within a bag", "counts are the same in all rows of their bag.")
        self._name_classes(named[: len(p.column_list("counts") or ())])
        self.counts_by_bag = by_bag.first()

    def _name_classes(self, named: list[str]) -> None:
        """Classes are called like their columns; of one column, the others are those without it."""
        shown = [self.named(str(c)) for c in named]
        self.classes = [f"not {shown[0]}", shown[0]] if len(shown) == 1 else shown

    def _with_counts(self, sheet: Sheet, bag: str) -> Sheet:
        """Read the counts file, and keep the individuals of bags that have counts."""
        p = self.problem
        total = p.column("counts_total")
        counts = p.column_list("counts", needed=True) or []
        named = [*counts, *([total] if total else [])]
        key = p.column("counts_bag") or bag
        other = open_source(p, p.file("counts_file"), [*named, key], [key])
        frame = pd.DataFrame(other.numbers(named), columns=named, index=other.names(key))
        twice = frame.index.duplicated()
        other.refuse(twice, f"column {key!r} repeats a bag", "give each bag one row.")
        keep = matched(p, sheet, other, (sheet.names(bag), pd.Series(frame.index)), "bag")
        self._name_classes(counts)
        self.counts_by_bag = frame
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
            for number in [str(c) for c in self.bags.features if c not in self.bags.levels][:MOST_THIRDS]:
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

    @property
    def target(self) -> np.ndarray:
        """Counts as classifiers take them: of the second class, or of all."""
        counts = self.counts
        if not self.bags.weighted and np.allclose(counts, np.round(counts)):
            counts = np.round(counts).astype(int)
        return (
            counts[:, 1] if counts.shape[1] == 2 and self.problem.options.get("totals", "match") == "match" else counts
        )

    def kept(self) -> dict[str, Any]:
        """What prediction needs beside the model."""
        return {"classes": self.classes}


def written_unit(shares: np.ndarray) -> float:
    """The last digit that shares are written with: 0.001 of 0.25 and 0.333.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.schema.reading.proportions import written_unit
    >>> written_unit(np.array([0.25, 0.333]))
    0.001
    """
    digits = (d for d in range(DIGITS) if np.allclose(shares, np.round(shares, d), rtol=0, atol=10.0**-DIGITS))
    return 10.0 ** -next(digits, DIGITS)


def _thirds(sheet: Sheet, column: str) -> np.ndarray:
    values = sheet.numbers([column], missing=True, negative=True)[:, 0]
    low, high = np.nanquantile(values, [1 / 3, 2 / 3])
    texts = np.where(
        values <= low, f"up to {low:.4g}", np.where(values <= high, f"{low:.4g} to {high:.4g}", f"above {high:.4g}")
    )
    return np.where(np.isnan(values), "(missing)", texts).astype(object)
