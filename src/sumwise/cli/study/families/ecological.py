"""Problems on margins: who chose what, from row and column totals per unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.cli.study.families.base import Study
from sumwise.ecological.identification import absent_outcomes
from sumwise.errors import DataError
from sumwise.io.documents import read_json, read_named
from sumwise.io.formats import read_margins
from sumwise.io.formats.margins import in_order, option_columns
from sumwise.margins import ROWS_TOTAL, Margins
from sumwise.schema.opened import named_together, only_rows, open_source
from sumwise.schema.reading.margins import MarginsReading, with_everybody

MISMATCH_ASSUMES = {
    "rescale": "'rescale'. That assumes that those who were not counted on one side are like those who were.",
    "no_vote": "'no_vote': people of the groups who are among no outcome are counted as people who didn't vote. That "
    "assumes that everybody who was counted among the groups could have voted there.",
}


class Ecological(MarginsReading, Study):
    """Who chose what, from totals per unit."""

    methods = ("EcologicalEM", "King", "MultinomialDirichlet", "Goodman", "Bounds")

    # --- in

    def read(self) -> None:
        """Read the margins, and the shapes of units where the problem names some."""
        super().read()
        self._note_data()
        if "map" in self.problem.values:
            self._read_map(self.problem.values["map"])

    def _read_map(self, given: dict[str, Any]) -> None:
        """The shapes of the units, from the file that the problem names."""
        p = self.problem
        for key in ("file", "key"):
            if key not in given:
                p.fail(("map",), f"[map] names no {key}.", 'such as file = "precincts.geojson", key = "precinct".')
        path = Path(str(given["file"]))
        path = path if path.is_absolute() or p.path is None else p.path.parent / path
        with p.blamed(("map", "file")):
            read = read_named(read_json, path, "map", "give a GeoJSON file.")
            from sumwise.plots import unit_shapes

            self.details["shapes"] = unit_shapes(read, list(self.margins.units), given["key"])

    def _note_data(self) -> None:
        m = self.margins
        self.notes.append(
            f"The population of each unit is taken from {str(m.denominator).replace(ROWS_TOTAL, 'its row totals')}."
        )
        self.problem.remarks.extend(line for line in absent_outcomes(m) if line not in self.problem.remarks)
        empty = int((m.totals == 0).sum())
        if empty:
            self.notes.append(f"{empty} of {m.n_units} units are empty and carry no information.")
        assumed = MISMATCH_ASSUMES.get(self.problem.data.get("mismatch", "raise"))
        if assumed:
            self.notes.append(f"Where the totals of groups and outcomes differ, the problem file asks for {assumed}")

    # --- fit

    def choose(self) -> str:
        """EcologicalEM; for a court the method that courts know; bounds where no regression over units is possible."""
        m = self.margins
        full = int((m.totals > 0).sum())
        if full == 0:
            raise DataError("All units are empty.", hint="check the columns that were read.")
        if min(m.n_rows, m.n_cols) < 2:
            return "Bounds"
        if full <= m.n_rows:
            units = "There is 1 unit" if full == 1 else f"There are {full} units"
            self.cautions.append(f"{units} for {m.n_rows} groups, so no regression over units is possible.")
            return "Bounds"
        if self.problem.values.get("court"):
            return "King" if (m.n_rows, m.n_cols) == (2, 2) else "MultinomialDirichlet"
        return "EcologicalEM"

    def make(self, method: str) -> Any:
        """An estimator on margins."""
        made = super().make(method)
        named = self.problem.column_list("covariates")
        if method == "EcologicalEM" and self.problem.values.get("court"):
            made.set_params(correction=False)  # learned on other elections: in court only if asked for
        return made.set_params(covariates=named) if named and method == "EcologicalEM" else made

    # --- out

    def first_numbers(self) -> dict[str, Any] | None:
        """Shares of every group as the report's first picture has them, if checks take longer than the fit."""
        if not self.problem.sensitivity or self.chosen == "Bounds":
            return None
        from sumwise.report.text.ecological.figures import first_numbers

        return first_numbers(self.model, self.problem.level, self.problem.seed)

    def predict(self, model: Any, source: Path) -> pd.DataFrame:
        """Expected outcomes of other units from their groups, with intervals for a unit's own deviation."""
        p = self.problem
        with p.blamed():
            m = self._long_groups(model, source) if "groups" not in p.columns else None
            m = self._wide_groups(source) if m is None else m
        share, (low, high) = model.predict(m.rows), model.predict_interval(m.rows, p.level, p.seed)
        people = m.totals[:, None]
        index = np.indices(share.shape).reshape(2, -1)
        named = {
            "unit": np.asarray(m.units, dtype=object)[index[0]],
            "outcome": np.asarray(model.col_names_, dtype=object)[index[1]],
        }
        values = {"share": share, "share_low": low, "share_high": high}
        values |= {"count": share * people, "count_low": low * people, "count_high": high * people}
        return pd.DataFrame({**named, **{key: array.ravel() for key, array in values.items()}})

    def _wide_groups(self, source: Path) -> Margins:
        """The groups of other units, one row each; the total isn't needed where groups are counts of everybody."""
        groups = self._side("groups", "rest_group")
        sheet, unit = self._opened(source)
        kind = self.problem.columns.get("groups_in")
        sheet, total = self._total(sheet)
        if total is not None and total not in sheet.columns and kind in (None, "count") and None not in groups.values():
            total = None
        everybody = total
        if everybody is None:
            named = [c for c in groups.values() if c is not None]
            sheet.known(*named)
            sheet, everybody = with_everybody(sheet, sheet.numbers(named).sum(axis=1))
        rescale = "rescale" if self.problem.data.get("mismatch") == "rescale" else "raise"
        return read_margins(sheet, groups, {"everybody": everybody}, unit, total=total, mismatch=rescale, rows_in=kind)

    def _long_groups(self, model: Any, source: Path) -> Margins | None:
        """The groups of other units from a long file, with or without outcomes; None where the file is wide."""
        p = self.problem
        side, option, votes = (p.column(key) or key for key in ("side", "option", "votes"))
        units = p.column_list("unit") or ["unit"]
        sheet = open_source(p, source, None, [*units, side, option])
        sheet, unit = named_together(sheet, units) if set(units) <= set(sheet.columns) else (sheet, units[-1])
        if set(map(str, model.row_names_)) <= set(map(str, sheet.columns)) and side not in sheet.columns:
            groups = {g: g for g in model.row_names_}
            named = unit if unit in sheet.columns else None
            sheet, everybody = with_everybody(sheet, sheet.numbers(list(groups)).sum(axis=1))
            return read_margins(sheet, groups, {"everybody": everybody}, named)
        sheet.known(unit, side, option, votes)
        sheet = self._named_options(sheet, side, option)
        mine = sheet.names(side) == (p.column("row") or "row")
        rows = only_rows(sheet, np.flatnonzero(mine.to_numpy(dtype=bool)))
        if not len(rows):
            raise DataError(
                f"{sheet.name}: no row of the side {p.column('row') or 'row'!r}.", hint="groups are needed."
            )
        known, names = list(map(str, model.row_names_)), rows.ids(option).astype(str)
        for name in names.unique():
            checks.known(name, known, "group")
        units, groups = in_order(rows.ids(unit).astype(str)), pd.Categorical(names, categories=known)
        absent, count = p.data.get("absent", "raise"), rows.numbers([votes])[:, 0]
        values = option_columns(rows, units, groups, count, absent=absent)
        return Margins(values, values.sum(axis=1, keepdims=True), list(units.categories), list(model.row_names_))


STUDY = Ecological
