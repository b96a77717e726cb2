"""Which columns of a long file hold the unit, the side, the option and the votes: by names, or by what adds up."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd

from sumwise.recognise.margins import words
from sumwise.recognise.profile_file import Column, FileProfile, has_word, is_called

SIDES = ("side", "kind", "margin", "type", "dimension", "axis")
OPTIONS = ("option", "k", "name", "category", "choice", "level", "label")
VOTES = ("votes", "count", "n", "number", "value", "total", "people", "voix", "votos", "voti", "stimmen", "anzahl")
VOTES += ("nombre", "effectif*", "número*", "numero*")
ROW_WORDS = ("row", "rows", "group", "groups", "race", "who", "age", "sex", "demographic", "population", "voter*")
ROW_WORDS += ("ligne*", "groupe*", "gruppe*", "grupo*", "fila*", "zeile*", "linha*", "raza*", "raça*", "électeur*")
ROW_WORDS += ("electeur*", "elector*", "eleitor*", "wähler*")
COL_WORDS = ("col", "cols", "column*", "outcome*", "candida*", "party", "choice*", "vote", "votes", "colonne*", "choix")
COL_WORDS += ("spalte*", "columna*", "coluna*", "partei*", "parti", "partis", "partido*", "voto*", "voix", "kandidat*")
Found = tuple[Column, Column, Column, Column]


def long_columns(profile: FileProfile) -> tuple[Found, bool] | None:
    """Unit, side, option and votes; and whether what adds up showed them, not their names."""
    named = _by_names(profile)
    if named is not None:
        return named, False
    added = _by_sums(profile)
    return None if added is None else (added, True)


def _by_names(profile: FileProfile) -> Found | None:
    """The columns by their names, or since both sides of a unit have the same votes."""
    votes = [c for c in profile.numeric if is_called(c, VOTES)]
    sides = [c for c in profile.columns if c.distinct == 2 and c.texts is not None and c.missing == 0]
    sides.sort(key=lambda c: not is_called(c, SIDES))
    for side, count in itertools.product(sides[:3], votes[:2]):
        free = [c for c in profile.columns if c not in (side, count) and c.missing == 0]
        units = sorted((c for c in free if words.names_unit(c)), key=lambda c: (c.name != "unit", -c.distinct))
        options = [c for c in free if is_called(c, OPTIONS)] or [c for c in free if c.texts is not None]
        for unit, option in itertools.product(units[:3], options[:4]):
            if unit is not option and (is_called(side, SIDES) or _worded(unit, side) or _balanced(unit, side, count)):
                return unit, side, option, count
    return None


def _worded(unit: Column, side: Column) -> bool:
    """Whether one value is a word for groups and the other for outcomes (race, party), and every unit has both."""
    lean = [
        (any(has_word(name, w) for w in ROW_WORDS), any(has_word(name, w) for w in COL_WORDS)) for name in side.words
    ]
    return sorted(lean) == [(False, True), (True, False)] and combinations([unit, side]) == 2 * unit.distinct


def _by_sums(profile: FileProfile) -> Found | None:
    """The columns whatever they are called: a key of the rows, in which both sides of a unit have the same votes."""
    keys = [c for c in profile.columns if c.missing == 0 and c.distinct > 1 and (c.numbers is None or c.whole)]
    sides = [c for c in keys if c.distinct == 2 and c.texts is not None and 0.02 < np.mean(c.codes == 0) < 0.98]
    votes = [c for c in profile.numeric if c.distinct > 2]
    for side, count in itertools.product(sides[:3], sorted(votes, key=lambda c: -c.distinct)[:3]):
        free = [c for c in keys if c not in (side, count)]
        units = [c for c in free if 3 <= c.distinct <= profile.n_rows / 3 and _balanced(c, side, count)]
        for unit in sorted(units, key=lambda c: -c.distinct):
            option = _option(profile, [c for c in free if c is not unit and c not in units], (unit, side))
            if option is not None and _alike(unit, side, option):
                return unit, side, option, count
    return None


def _option(profile: FileProfile, free: list[Column], found: tuple[Column, Column]) -> Column | None:
    """The column that has one row for each of its values in a unit and side, alone or with the contests."""
    unit, side = found
    for option in sorted(free, key=lambda c: c.texts is None):
        others = [c for c in profile.columns if c not in (unit, side, option) and c.missing == 0]
        both = [c for c in others if combinations([c, side]) == 2 * c.distinct]
        if combinations([unit, side, option, *both]) == profile.n_rows and option.distinct <= profile.n_rows / 3:
            return option
    return None


def _alike(unit: Column, side: Column, option: Column) -> bool:
    """Whether both sides have two options or more, and most units at least two lines of each side."""
    per_side = pd.Series(option.codes).groupby(side.codes).nunique()
    lines = np.bincount(combined([unit, side]))
    return bool((per_side >= 2).all()) and float(np.mean(lines >= 2)) > 0.5


def _balanced(unit: Column, side: Column, votes: Column) -> bool:
    """Whether both sides have the same votes in most units; units without votes say nothing."""
    if (unit.codes < 0).any() or (side.codes < 0).any():
        return False
    values = np.where(np.isfinite(votes.amounts), votes.amounts, 0.0)
    one, two = (np.bincount(unit.codes, weights=values * (side.codes == k)) for k in (0, 1))
    there = (one != 0) | (two != 0)
    return bool(there.mean() > 0.5 and np.isclose(one[there], two[there]).mean() > 0.8)


def combined(columns: list[Column]) -> np.ndarray:
    """A number for every combination of values that rows have, from 0 in the order of the file."""
    made = np.zeros(len(columns[0].codes), dtype=np.int64)
    for c in columns:
        codes = c.codes.astype(np.int64)
        made = pd.factorize(made * (codes.max() + 2) + codes + 1)[0].astype(np.int64)
    return made


def combinations(columns: list[Column]) -> int:
    """How many combinations of values there are."""
    return len(np.unique(combined(columns)))


def side_names(side: Column, option: Column) -> tuple[str, str, bool]:
    """The groups' side, the outcomes' side, and whether names decided: those of the sides, or of their options."""
    first, second = list(dict.fromkeys(side.texts.dropna().tolist()))
    lean = [any(has_word(n, w) for w in ROW_WORDS) - any(has_word(n, w) for w in COL_WORDS) for n in (first, second)]
    if lean[0] == lean[1] and option.texts is not None:
        here = [
            option.texts[(side.texts == name).to_numpy(dtype=bool)].dropna().unique()[:40] for name in (first, second)
        ]
        lean = [words.leaning([replace(option, name=str(text)) for text in texts]) for texts in here]
    if lean[0] == lean[1]:
        return first, second, False
    return (first, second, True) if lean[0] > lean[1] else (second, first, True)
