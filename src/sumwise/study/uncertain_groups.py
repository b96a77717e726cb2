"""Stated errors of the groups' counts, from columns of a problem's file: standard errors or margins of error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.margins import Margins
from sumwise.readers.sheet import Sheet
from sumwise.study.problem import Problem

SD, MOE = "groups_sd", "groups_moe"
MOE_90 = 1.645  # the American Community Survey publishes margins of error of 90 percent intervals


def with_row_sd(
    problem: Problem, sheet: Sheet, read: Margins, groups: Mapping[str, str | None], unit: str | None
) -> Margins:
    """The margins with the errors of their groups that the problem names, or as they are where it names none.

    Errors are in the unit of the groups' columns (counts, shares or percents) and are scaled as these were. A rest of
    everybody is off by what all groups are off by together, taken as independent.
    """
    key = SD if SD in problem.columns else MOE
    named = problem.column_list(key)
    if not named:
        return read
    columns = [column for column in groups.values() if column is not None]
    if SD in problem.columns and MOE in problem.columns:
        problem.fail(("columns", MOE), f"{SD} and {MOE} are given.", "keep one of them.")
    if len(named) != len(columns):
        listed = ", ".join(columns)
        problem.fail(
            ("columns", key), f"{key} has {len(named)} columns for {len(columns)} groups.", f"one each for {listed}."
        )
    with problem.blamed(("columns", key)):
        sheet.known(*named)
        errors = sheet.numbers(named) / (MOE_90 if key == MOE else 1.0)
    raw, at = sheet.numbers(columns), _lines(sheet, read, unit)
    if at is None:
        problem.fail(("columns", key), f"{key} needs the names of units where some are dropped.", "name unit.")
    errors, raw = errors[at], raw[at].sum(axis=1)
    known = [k for k, column in enumerate(groups.values()) if column is not None]
    scale = _scale(read.rows[:, known].sum(axis=1), raw, read.totals)
    row_sd = np.empty(read.rows.shape)
    row_sd[:, known] = scale[:, None] * errors
    for k in set(range(read.n_rows)) - set(known):
        row_sd[:, k] = np.sqrt((row_sd[:, known] ** 2).sum(axis=1))
    return replace(read, row_sd=row_sd)


def _scale(people: np.ndarray, raw: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """People per number of the groups' columns in every unit.

    Where nobody is in the groups it is that of the other units: the same in all for counts, by total for shares.
    """
    some, none = raw > 0, (raw <= 0) & (totals > 0)
    scale = np.divide(people, raw, out=np.zeros(len(raw)), where=some)
    if none.any() and some.any():
        per_person = scale[some] / totals[some]
        if np.ptp(scale[some]) * np.mean(per_person) <= np.ptp(per_person) * np.mean(scale[some]):
            scale[none] = np.median(scale[some])
        else:
            scale[none] = np.median(per_person) * totals[none]
    return scale


def _lines(sheet: Sheet, read: Margins, unit: str | None) -> Any:
    """The line of the sheet of every unit that was read; None where units that have no names were dropped."""
    if len(read) == len(sheet):
        return np.arange(len(sheet))
    if unit is None:
        return None
    line = {str(name): i for i, name in enumerate(sheet.ids(unit))}
    return np.array([line[str(name)] for name in read.units])
