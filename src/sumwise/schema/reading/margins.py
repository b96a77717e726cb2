"""Margins from files: wide or long, in one file or two, with shares, totals, rests and ballots."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sumwise import checks
from sumwise.errors import ModelWarning
from sumwise.io.formats import read_margins
from sumwise.io.formats.margins import in_order, option_columns
from sumwise.io.formats.sheet import Sheet
from sumwise.margins import Margins
from sumwise.schema.opened import join, named_together, numbered_again, only_rows, open_source
from sumwise.schema.reading.base import Reading

SD, MOE, ROW_MOE = "groups_sd", "groups_moe", "group_moe"
MOE_90 = 1.645  # the American Community Survey publishes margins of error of 90 percent intervals
MOST_REST = 0.95  # of everybody, in a rest that a report names without a word


class MarginsReading(Reading):
    """Margins of a problem, from one file or two, wide or long."""

    family = "ecological"
    data_keys = {  # noqa: RUF012
        "file": "one row per unit, or one row per unit and option",
        "groups_file": "where groups and outcomes are in two files: the file of the groups",
        "outcomes_file": "and the file of the outcomes",
        "names_file": "long files: names of options that are numbers, in columns such as row, row_name, col, col_name",
        "mismatch": "what to do where the two sides' totals differ: raise, rescale, no_vote or drop",
        "repeated": "what to do with units that stand in several rows: raise, number, or add (outcomes, groups once)",
        "unmatched": "what to do with units that are in only one file: raise or drop",
        "absent": "long files: what a unit means that has no line for an option: raise or zero",
    }
    column_keys = {  # noqa: RUF012
        "unit": "the column of unit names, or several that name a unit together",
        "groups": "columns of the groups: counts, or shares of total",
        "outcomes": "columns of the outcomes",
        "groups_in": "what the columns of the groups contain: count, share or percent; default: by their numbers",
        "outcomes_in": "and those of the outcomes",
        "groups_sd": "uncertain groups: columns of their standard errors, in the order of groups; see row_error",
        "groups_moe": "or of their 90% margins of error, as the American Community Survey has them",
        "rest_group": "a name for those in none of the groups",
        "rest_outcome": "a name for those with none of the outcomes",
        "total": "the column of everybody, or several to add up, for shares and rests; a number if all are alike",
        "ballots": "the column of people who turned out: rest_outcome is of them, ballots without a vote undervote",
        "weight": "how much a unit counts",
        "covariates": "columns of covariates: of the shares in EcologicalEM, of the option covariates in King",
        "group_option": "two files: the column of the group's name, where groups are in rows",
        "group_votes": "and the column of their counts",
        "group_moe": "and the column of their 90% margins of error",
        "side": "long files: the column that distinguishes groups from outcomes",
        "option": "long files: the column of the group's or outcome's name; of the outcome's, where groups are columns",
        "votes": "long files: the column of the counts",
        "row": "long files: what the groups' side is called",
        "col": "long files: what the outcomes' side is called",
    }
    named_sides = ("groups", "outcomes")
    margins: Margins
    option_names: dict[tuple[str, str], str] | None = None  # by side and code, from a names file
    outcomes_in_rows: tuple[str, ...] = ()  # outcomes that are values of a column, where groups are columns

    def read(self) -> None:
        """Read the margins, from one file or two, wide or long."""
        p = self.problem
        with p.blamed(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelWarning)
            if "groups" in p.columns or "outcomes" in p.columns:
                self.margins = self._wide()
            else:
                self.margins = self._long()
        self.warnings += [str(w.message) for w in caught]
        self.data = self.margins

    def _wide(self) -> Margins:
        p = self.problem
        rows, covariates = self._side("groups", "rest_group"), p.column_list("covariates")
        sheet, unit = self._sheet()
        cols = self._side("outcomes", "rest_outcome")
        sheet, total = self._total(sheet)
        sheet, ballots = self._summed(sheet, "ballots")
        read = read_margins(
            sheet,
            rows,
            cols,
            unit,
            total=total,
            mismatch=p.data.get("mismatch", "raise"),
            weight=p.column("weight"),
            covariates=covariates,
            rows_in=p.columns.get("groups_in"),
            cols_in=p.columns.get("outcomes_in"),
            row_sd=self._stated_errors(rows),
            ballots=ballots,
        )
        if read.row_sd is not None and (MOE in p.columns or ROW_MOE in p.columns):
            read = replace(read, row_sd=read.row_sd / MOE_90)
        if p.data.get("mismatch") == "rescale" and None not in (*rows.values(), *cols.values()):
            sums = [sheet.numbers(list(side.values())).sum(axis=1) for side in (rows, cols)]
            self.cautions += _rescaled(*sums)
        self._check_rest(read)
        self.check_names(sheet.columns, levels=False, used=())  # `_side` refuses two of one side
        return read

    def _stated_errors(self, groups: dict[str, str | None]) -> list[str] | None:
        """The columns of the groups' standard errors, or margins of error."""
        p, key = self.problem, MOE if MOE in self.problem.columns else SD
        named, columns = p.column_list(key), [column for column in groups.values() if column is not None]
        if SD in p.columns and MOE in p.columns:
            p.fail(("columns", MOE), f"{SD} and {MOE} are given.", "keep one of them.")
        if ROW_MOE in p.columns:
            return [f"{column} {ROW_MOE}" for column in columns]
        if named and len(named) != len(columns):
            said = f"{key} has {len(named)} columns for {len(columns)} groups."
            p.fail(("columns", key), said, f"one each for {', '.join(columns)}.")
        return named

    def _check_rest(self, m: Margins) -> None:
        """A caution where a rest is nearly everybody; the reader refuses one that leaves the named columns nothing."""
        p = self.problem
        for key, values, names in (("rest_group", m.rows, m.row_names), ("rest_outcome", m.cols, m.col_names)):
            rest = p.column(key)
            if rest is None or not m.totals.sum() > 0:
                continue
            share = float(values[:, list(names).index(rest)].sum() / m.totals.sum())
            if share > MOST_REST:
                self.cautions.append(
                    f"{rest!r}, the rest of everybody, is {100 * share:.0f}% of all people: hardly anything is known "
                    "about who they are."
                )

    def _side(self, key: str, rest: str) -> dict[str, str | None]:
        p = self.problem
        in_rows = key == "outcomes" and self.outcomes_in_rows and key not in p.columns
        listed = self.outcomes_in_rows if in_rows else p.column_list(key, needed=True) or []
        named: dict[str, str | None] = {p.names.get(c, c): c for c in listed}
        if len(named) < len(listed):
            p.fail(("names",), f"Two of {', '.join(listed)} have one name.", "give each a name of its own.")
        name = p.column(rest)
        if name is not None:
            if "total" not in p.columns and not (rest == "rest_outcome" and "ballots" in p.columns):
                words = f"There is no total to take the rest {name!r} from."
                p.fail(("columns", rest), words, "name the column of everybody: total.")
            if name in named:
                p.fail(("columns", rest), f"{rest} {name!r} is a column too.", "give the rest a name of its own.")
            named[name] = None
        return named

    def _total(self, sheet: Sheet) -> tuple[Sheet, str | None]:
        """The column of everybody; one that is made where the problem says that units count alike."""
        given = self.problem.columns.get("total")
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            return self._summed(sheet, "total")
        if given <= 1:
            self.problem.fail(
                ("columns", "total"), f"total is {given}.", "give a column, or a number of people above 1."
            )
        self.details["head_counts"] = False
        self.cautions.append(
            "No column has the number of people, so none is given here: shares over all units weigh units alike, "
            f"whatever their size, and intervals are as wide as for units of {given:,.10g} people each."
        )
        return with_everybody(sheet, np.full(len(sheet), float(given)))

    def _summed(self, sheet: Sheet, key: str) -> tuple[Sheet, str | None]:
        """A column that [columns] names; of several, one with their sum."""
        if not isinstance(self.problem.columns.get(key), list):
            return sheet, self.problem.column(key)
        named = self.problem.column_list(key) or []
        sheet.known(*named)
        return with_everybody(sheet, sheet.numbers(named).sum(axis=1), key)

    def _sheet(self) -> tuple[Sheet, str | None]:
        """The one sheet, or the two joined, and the column of units."""
        p = self.problem
        if "groups_file" not in p.data and "outcomes_file" not in p.data:
            sheet, unit = self._opened(p.file())
            if "option" in p.columns and unit is not None:
                first = only_rows(sheet, np.flatnonzero(~sheet.names(unit).duplicated().to_numpy()))
                left = [c for c in first.columns if c not in (p.column("option"), p.column("votes"))]
                first = replace(first, frame=first.frame[left], columns=tuple(left))
                return join(p, first, self._outcome_columns(sheet, unit), unit), unit
            return sheet, unit
        p.column_list("unit", needed=True)
        (one, unit), (two, _) = (self._opened(p.file(key)) for key in ("groups_file", "outcomes_file"))
        if "group_option" in p.columns:
            long = one
            one, _ = self._columns_of_rows(long, str(unit), ("group_option", "group_votes"))
            if ROW_MOE in p.columns:
                one = self._with_errors(one, long, str(unit))
        if "option" in p.columns:
            two = self._outcome_columns(two, str(unit))
            for name in (name for name in self.outcomes_in_rows if name in one.columns):
                p.fail(("columns", "option"), f"{name!r} is an outcome, and a column of the groups.", "rename one.")
        return join(p, one, two, str(unit)), unit

    def _outcome_columns(self, sheet: Sheet, unit: str) -> Sheet:
        """A sheet with a row per unit and a column per outcome, from one with a row for each; lines are added up."""
        made, self.outcomes_in_rows = self._columns_of_rows(sheet, unit, ("option", "votes"))
        return made

    def _columns_of_rows(
        self, sheet: Sheet, unit: str, keys: tuple[str, str], values: str | None = None
    ) -> tuple[Sheet, tuple[str, ...]]:
        """A sheet with a row per unit and a column per option, and the options; lines of one are added up."""
        p = self.problem
        option, votes = (p.column(key) or key for key in keys)
        votes = values or votes
        sheet.known(option, votes)
        units, options = in_order(sheet.ids(unit).astype(str)), in_order(sheet.names(option))
        with p.blamed(("data", "absent")):
            absent = checks.choice(p.data.get("absent", "raise"), "absent", ("raise", "zero"))
        wide = option_columns(sheet, units, options, sheet.numbers([votes])[:, 0], absent=absent, add=True)
        if (cells := len(pd.MultiIndex.from_arrays([units.codes, options.codes]).unique())) < len(sheet):
            self.notes.append(f"{len(sheet):,} rows of {votes} were added up to {cells:,}, by unit and outcome.")
        named = tuple(map(str, options.categories))
        if unit in named:
            word = "group" if "group" in keys[0] else "outcome"
            p.fail(
                ("columns", keys[0]),
                f"{unit!r} is a{'n' * (word == 'outcome')} {word}, and the column of units.",
                "rename one.",
            )
        made = pd.DataFrame(wide, columns=pd.Index(named))
        made.insert(0, unit, np.asarray(units.categories))
        return replace(
            sheet, frame=made, columns=tuple(made.columns), row=lambda i: f"unit {made[unit].iloc[i]!r}"
        ), named

    def _with_errors(self, wide: Sheet, long: Sheet, unit: str) -> Sheet:
        """The sheet with a column per group for the errors of its counts; those of lines added up are independent."""
        errors = long.frame.assign(**{ROW_MOE: long.numbers([str(self.problem.column(ROW_MOE))])[:, 0] ** 2})
        squared = replace(long, frame=errors, columns=tuple(errors.columns))
        made, named = self._columns_of_rows(squared, unit, ("group_option", ROW_MOE), values=ROW_MOE)
        frame = wide.frame.assign(**{f"{name} {ROW_MOE}": np.sqrt(made.numbers([name])[:, 0]) for name in named})
        return replace(wide, frame=frame, columns=tuple(frame.columns))

    def _opened(self, path: Path | None) -> tuple[Sheet, str | None]:
        p = self.problem
        units = p.column_list("unit") or []
        options = p.column_list("option") or []  # names, also where they are numbers
        sheet = open_source(p, path, None, [*units, *options])
        with p.blamed(("data", "repeated")):
            repeated = checks.choice(p.data.get("repeated", "raise"), "repeated", ("raise", "number", "add"))
        with p.blamed(("columns", "unit")):
            if not units:
                return sheet, None
            sheet, unit = named_together(sheet, units)
            if repeated == "add":
                return self._added(sheet, unit), unit
            return (numbered_again(sheet, unit) if repeated == "number" else sheet), unit

    def _added(self, sheet: Sheet, unit: str) -> Sheet:
        """One row per unit: its outcomes added up, all else from its first row."""
        outcomes = [c for c in self.problem.column_list("outcomes") or () if c in sheet.columns]
        codes = pd.factorize(sheet.names(unit))[0]
        first = np.unique(codes, return_index=True)[1]
        sums = pd.DataFrame(sheet.numbers(outcomes), columns=pd.Index(outcomes)).groupby(codes, sort=False).agg("sum")
        self.notes.append(
            f"{len(sheet):,} rows were added up to {len(first):,} units; groups are those of the first row."
        )
        made = only_rows(sheet, first)
        return replace(made, frame=made.frame.assign(**{c: sums[c].to_numpy() for c in outcomes}))

    def _long(self) -> Margins:
        p = self.problem
        named = {key: p.column(key) for key in ("side", "option", "votes", "row", "col")}
        units = p.column_list("unit")
        ids = [named["side"] or "side", named["option"] or "option"]
        sheet = open_source(p, p.file(), None, [*(units or ["unit"]), *ids])
        if units is None and not {"side", "option", "votes"} <= set(sheet.columns):
            p.fail(("columns",), "[columns] names no groups and outcomes.", 'such as groups = ["young", "old"].')
        sheet, unit = (sheet, None) if units is None else named_together(sheet, units)
        return read_margins(
            self._named_options(sheet, *ids),
            unit=unit,
            long={k: v for k, v in named.items() if v is not None} or None,
            absent=p.data.get("absent", "raise"),
            mismatch=p.data.get("mismatch", "raise"),
        )

    def _named_options(self, sheet: Sheet, side: str, option: str) -> Sheet:
        """A long sheet whose options have names: those of `names_file`, or numbers with their side before them."""
        sheet.known(side, option)
        options, sides = sheet.names(option), sheet.names(side)
        known = self._names_of_options(dict.fromkeys(sides))
        codes, pairs = pd.MultiIndex.from_arrays([sides, options]).factorize()  # few, however many lines
        if known is not None:
            self.option_names = known
            made = [known.get(pair, pair[1]) for pair in pairs]
        elif all(re.fullmatch(r"\d+", code) for _, code in pairs):
            made = [f"{word} {code}" for word, code in pairs]
        else:
            made = [name for _, name in pairs]
        names = self.problem.names
        shown = np.array([names.get(str(name), name) for name in made], dtype=object)[codes]
        return replace(sheet, frame=sheet.frame.assign(**{option: shown}))

    def _names_of_options(self, sides: Iterable[str]) -> dict[tuple[str, str], str] | None:
        """Names by side and code: as the fit kept them, or from `names_file`."""
        of_the_fit = self.folder / "features.json"
        if self.folder != Path() and of_the_fit.exists():  # a prediction: the names file may be elsewhere by now
            kept = self.kept_by_the_fit("option_names")["option_names"]
            return {(side, code): name for side, code, name in kept}
        path = self.problem.file("names_file", needed=False)
        if path is None:
            return None
        names = open_source(self.problem, path, None, None)
        known: dict[tuple[str, str], str] = {}
        for side in sides:
            names.known(side, f"{side}_name")
            pairs = zip(names.names(side), names.ids(f"{side}_name").astype(str))
            known |= {(side, code): name for code, name in pairs}
        return known

    def kept(self) -> dict[str, Any] | None:
        """Names of options from a file of their own, which a prediction needs again."""
        if self.option_names is None:
            return None
        return {"option_names": [[side, code, name] for (side, code), name in self.option_names.items()]}


def with_everybody(sheet: Sheet, values: Any, name: str = "everybody") -> tuple[Sheet, str]:
    """The sheet with a column of all people of a unit, and its name."""
    while name in sheet.columns:
        name += "_"
    frame = sheet.frame.assign(**{name: values})
    return replace(sheet, frame=frame, columns=tuple(frame.columns)), name


def _rescaled(groups: np.ndarray, outcomes: np.ndarray) -> list[str]:
    """How far the totals of the two sides are apart, as a caution; none where they are the same."""
    most = np.maximum(groups, outcomes)
    off = np.abs(groups - outcomes) / np.where(most > 0, most, 1)
    differ = off[off > 1e-6]
    if not len(differ):
        return []
    return [
        f"The totals of groups and outcomes differ in {len(differ):,} of {len(off):,} units, by "
        f"{100 * np.median(differ):.1f}% in the median and {100 * differ.max():.1f}% at most. They were rescaled to "
        "agree: shares, intervals and bounds refer to the rescaled totals."
    ]
