"""A fitted model as one SELECT that scores raw columns where they are: DuckDB, Spark or BigQuery.

Columns and tables are quoted as identifiers and levels as literals of the dialect, so that no name or text can end the
statement. A level becomes its code, a term's weight is looked up in an array by the codes of its attributes, and what
no table has adds 0, as in `predict_proba`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.encoding.rules import BASE, PRIME, SALT_STEP, Cuts, Levels, Target
from sumwise.errors import DataError
from sumwise.maxent.fitted_model import LogLinearModel

PREFIX = "sumwise_"  # of the columns that are made on the way


@dataclass(frozen=True)
class Dialect:
    """How one engine writes what differs."""

    quote: str
    doubled: bool  # quotes within are doubled; else they follow a backslash
    text_type: str
    element: str  # of an array, from 1 on; NULL beyond it
    is_nan: str
    long_type: str = "BIGINT"

    def identifier(self, name: str) -> str:
        """A name as identifier, whatever it holds."""
        _printable(name)
        inner = name if self.doubled else name.replace("\\", "\\\\")
        inside = inner.replace(self.quote, 2 * self.quote if self.doubled else "\\" + self.quote)
        return f"{self.quote}{inside}{self.quote}"

    def literal(self, value: Any) -> str:
        """A value as literal."""
        value = checks.plain(value)
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return number(value)
        text = str(value)
        _printable(text)
        if self.quote == '"':
            return "'" + text.replace("'", "''") + "'"
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


DIALECTS = {
    "duckdb": Dialect('"', True, "VARCHAR", "list_extract([{values}], {at})", "isnan(CAST({x} AS DOUBLE))"),
    "spark": Dialect("`", True, "STRING", "get(array({values}), {at} - 1)", "isnan(CAST({x} AS DOUBLE))"),
    "bigquery": Dialect(
        "`", False, "STRING", "[{values}][SAFE_ORDINAL({at})]", "IS_NAN(CAST({x} AS FLOAT64))", "INT64"
    ),
}


def _printable(text: str) -> None:
    if any(ord(c) < 32 for c in text):
        raise DataError(f"{text!r} has a control character, which SQL has no safe way to write.", hint="rename it.")


def number(value: float) -> str:
    """A number that every dialect reads as the same double."""
    return f"{float(value):.17e}"


def score_statement(model: LogLinearModel, table: str | Sequence[str], dialect: str, keep: Sequence[str]) -> str:
    """The SELECT; see `MaxEntClassifier.to_sql`."""
    checks.choice(dialect, "dialect", tuple(DIALECTS))
    sql, schema = DIALECTS[dialect], model.schema
    names = schema.domain.attributes
    n_free = len(model.layout.sizes)
    codes = [f"{_code(schema, a, sql)} AS {PREFIX}c{i}" for i, a in enumerate(names[:n_free])]
    crosses = [f"{_cross_code(schema, a, sql)} AS {PREFIX}c{n_free + i}" for i, a in enumerate(names[n_free:])]
    kept = [sql.identifier(c) for c in keep]
    parts = [table] if isinstance(table, str) else list(table)
    source = ".".join(sql.identifier(p) for p in parts)
    scores = [f"{z} AS {PREFIX}z{k}" for k, z in enumerate(_scores(model, sql))]
    chances = [f"{p} AS probability_{k}" for k, p in enumerate(_probabilities(len(schema.classes)))]
    inner = _select([*kept, *codes], source)
    if crosses:
        free = [f"{PREFIX}c{i}" for i in range(n_free)]
        inner = _select([*kept, *free, *crosses], f"({inner}) AS {PREFIX}parts")
    middle = _select([*kept, *scores], f"({inner}) AS {PREFIX}codes")
    return _select([*kept, *chances], f"({middle}) AS {PREFIX}scores")


def _select(columns: list[str], source: str) -> str:
    return " ".join(["SELECT", ", ".join(columns), "FROM", source])


def _code(schema: Any, attribute: str, sql: Dialect) -> str:
    """The level code of an attribute; -1 where its value has none."""
    encoding = schema.encoding
    if encoding is not None and attribute in encoding:
        return _rule_code(encoding[attribute], attribute, sql)
    levels = [checks.plain(v) for v in schema.domain.levels(attribute)]
    missing = levels.index(None) if None in levels else -1
    pairs = [(v, i) for i, v in enumerate(levels) if v is not None]
    return _looked_up(sql.identifier(attribute), pairs, missing, -1, sql)


def _cross_code(schema: Any, attribute: str, sql: Dialect) -> str:
    """The cell of a hashed cross, `cross_cell` step by step; -1 where a part is unknown."""
    rule = schema.encoding[attribute]
    parts = [f"{PREFIX}c{a}" for a in schema.domain.axes(rule.of)]
    x = str((SALT_STEP * rule.salt + 1) % PRIME)
    for part in parts:
        x = f"MOD({BASE} * CAST({x} AS {sql.long_type}) + {part} + 1, {PRIME})"
    square = f"MOD({x} * {x}, {PRIME})"
    fourth = f"MOD({square} * {square}, {PRIME})"
    known = " AND ".join(f"{part} >= 0" for part in parts)
    return f"CASE WHEN {known} THEN MOD(MOD({fourth} * {x}, {PRIME}), {rule.cells}) ELSE -1 END"


def _rule_code(rule: Any, attribute: str, sql: Dialect) -> str:
    if not isinstance(rule, (Levels, Cuts, Target)):
        raise DataError(
            f"{attribute!r} is encoded by {type(rule).__name__}, which SQL of all engines can't compute alike.",
            hint="score such models with predict_proba, or encode by levels, cuts or target.",
        )
    column = sql.identifier(rule.column)
    if isinstance(rule, Cuts):
        empty = f"{column} IS NULL OR {sql.is_nan.format(x=column)}"
        cases = " ".join(f"WHEN {column} < {number(e)} THEN {i}" for i, e in enumerate(rule.edges))
        return f"CASE WHEN {empty} THEN {rule.missing_code} {cases} ELSE {len(rule.edges)} END"
    cells = range(len(rule.values)) if isinstance(rule, Levels) else rule.cells
    return _looked_up(column, list(zip(rule.values, cells)), rule.missing_code, rule.unseen_code, sql)


def _looked_up(column: str, pairs: list, missing: int, unseen: int, sql: Dialect) -> str:
    text = all(isinstance(v, str) for v, _ in pairs)
    value = f"CAST({column} AS {sql.text_type})" if text else column
    cases = " ".join(f"WHEN {value} = {sql.literal(v)} THEN {c}" for v, c in pairs)
    return f"CASE WHEN {column} IS NULL THEN {missing} {cases} ELSE {unseen} END"


def _scores(model: LogLinearModel, sql: Dialect) -> list[str]:
    """The score of every class but the first for two classes, of each for more."""
    lay, theta = model.layout, model.parameters.theta
    offsets = model.parameters.offsets - model.parameters.offsets[0]
    out = []
    for k, row in enumerate(theta):
        terms = [number(offsets[k + 1 if len(theta) == 1 else k])]
        for t, term in enumerate(lay.terms):
            values = row[lay.term_starts[t] : lay.term_starts[t + 1]]
            if values.any():
                terms.append(_term(lay, t, term, values, sql))
        out.append(" + ".join(terms))
    return out


def _term(lay: Any, t: int, term: tuple[int, ...], values: np.ndarray, sql: Dialect) -> str:
    known = " AND ".join(f"{PREFIX}c{a} >= 0" for a in term)
    cell, stride = [], 1
    for a in reversed(term):
        cell.append(f"{stride} * {PREFIX}c{a}")
        stride *= lay.levels[a]
    at, listed = " + ".join(cell), lay.sparse_cells(t)
    if listed is None:
        element = sql.element.format(values=", ".join(number(v) for v in values), at=f"({at} + 1)")
    else:
        cases = " ".join(f"WHEN {c} THEN {number(v)}" for c, v in zip(listed, values[:-1]) if v)
        element = f"CASE {at} {cases} ELSE 0.0e0 END"
    return f"CASE WHEN {known} THEN {element} ELSE 0.0e0 END"


def _probabilities(n_classes: int) -> list[str]:
    """P(class) from the scores, safe for scores of any size."""
    if n_classes == 2:
        z = f"{PREFIX}z0"
        one = f"CASE WHEN {z} >= 0 THEN 1.0e0 / (1.0e0 + EXP(-{z})) ELSE EXP({z}) / (1.0e0 + EXP({z})) END"
        other = f"CASE WHEN {z} >= 0 THEN EXP(-{z}) / (1.0e0 + EXP(-{z})) ELSE 1.0e0 / (1.0e0 + EXP({z})) END"
        return [other, one]
    scores = [f"{PREFIX}z{k}" for k in range(n_classes)]
    top = f"GREATEST({', '.join(scores)})"
    total = " + ".join(f"EXP({z} - {top})" for z in scores)
    return [f"EXP({z} - {top}) / ({total})" for z in scores]
