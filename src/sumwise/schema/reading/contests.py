"""Several contests in one problem: what each of them is, and the containers of a schema."""

from __future__ import annotations

import warnings
from os import PathLike, fspath
from typing import Any

from sumwise import checks
from sumwise.contests import Contests
from sumwise.errors import DataError, ModelWarning
from sumwise.frames import column_names, is_frame
from sumwise.schema.declared import Schema
from sumwise.schema.opened import OPENING, all_met
from sumwise.schema.problem import Problem
from sumwise.schema.reading.base import Reading
from sumwise.schema.reading.distribution import ResponsesReading
from sumwise.schema.reading.margins import MarginsReading
from sumwise.schema.reading.proportions import CountsReading
from sumwise.schema.reading.series import SeriesReading
from sumwise.schema.reading.tables import TablesReading
from sumwise.schema.toml import problem_text

READINGS: dict[str, type[Reading]] = {
    "ecological": MarginsReading,
    "proportions": CountsReading,
    "distribution": ResponsesReading,
    "maxent": TablesReading,
    "collective": SeriesReading,
}
OWN = ("name", "election")  # keys of a contest that stand in for no others


def reading_class(problem: Problem) -> type[Reading]:
    """How the files of a problem are read."""
    with problem.blamed(("family",)):
        checks.known(problem.family, READINGS, "family")
    return READINGS[problem.family]


def read(schema: Schema, source: Any = None) -> Any:
    """What `Schema.read` does, which documents it."""
    if schema.questions:
        from sumwise.schema.infer import open_questions

        raise open_questions(schema)
    sources = [] if source is None else list(source) if isinstance(source, (list, tuple)) else [source]
    keys = [k for k in ("groups_file", "outcomes_file") if k in schema.data] or ["file"]
    keys += [k for k in schema.data if k.endswith("_file") and k not in keys]
    if len(sources) > len(keys):
        raise DataError(f"There are {len(sources)} sources.", hint=f"give {len(keys)}: {', '.join(keys)}.")
    values = {"family": schema.family, "data": dict(schema.data), "columns": dict(schema.columns)}
    values |= {"options": dict(schema.options), "names": dict(schema.names)}
    if schema.contests:
        values["contest"] = [dict(contest) for contest in schema.contests]
    problem = Problem({k: v for k, v in values.items() if v}, frames=dict(zip(keys, _in_order(schema, keys, sources))))
    made = {name: _container(one) for name, one in contest_problems(problem).items()}
    if made:
        return Contests(made) if schema.family == "ecological" else made
    return _container(problem)


def _in_order(schema: Schema, keys: list[str], sources: list[Any]) -> list[Any]:
    """Two sources in the order of the files that they stand for: by their paths, or by the columns that frames have."""
    if len(sources) != 2:
        return sources
    if all(isinstance(s, (str, PathLike)) for s in sources):
        turned = [fspath(s) for s in sources] == [schema.data.get(key) for key in keys[1::-1]]
    else:
        first = [schema.columns.get(role) for role in ("groups", "features", "time", "times")]
        own = {c for named in first if named for c in ([named] if isinstance(named, str) else named)}
        has = [{*column_names(s)} >= own if is_frame(s) else False for s in sources]
        turned = has == [False, True]
    return sources[::-1] if turned else sources


def _container(problem: Problem) -> Any:
    reading = reading_class(problem)(problem)
    reading.read()
    all_met(problem)
    for words in reading.warnings:
        warnings.warn(words, ModelWarning, stacklevel=2)
    return reading.data


def contest_problems(problem: Problem) -> dict[str, Problem]:
    """The problem of every contest, by its name; a contest's keys stand in for those of [data] and [columns].

    Examples
    --------
    >>> from sumwise.schema.problem import Problem
    >>> from sumwise.schema.reading.contests import contest_problems
    >>> lines = ['family = "ecological"', '[data]', 'file = "a.csv"', '[columns]', 'groups = ["w", "b"]']
    >>> lines += ['[[contest]]', 'name = "2016"', 'outcomes = ["d16", "r16"]']
    >>> contest_problems(Problem.parse("\\n".join(lines)))["2016"].columns
    {'groups': ['w', 'b'], 'outcomes': ['d16', 'r16']}
    """
    kind = reading_class(problem)
    found: dict[str, Problem] = {}
    for number, entry in enumerate(problem.values.get("contest", []), start=1):
        name = str(entry.get("name", number))
        if name in found:
            problem.fail(("contest",), f"Two contests are called {name!r}.", "give each a name of its own.")
        data, columns = dict(problem.data), dict(problem.columns)
        for key, given in entry.items():
            if key in kind.column_keys:
                columns[key] = given
            elif key in kind.data_keys or key in OPENING:
                data[key] = {**data.get(key, {}), **given} if key == "only" else given
            elif key not in OWN:
                problem.check_keys(("contest",), {key: given}, [*OWN, *kind.column_keys, *kind.data_keys, *OPENING])
        values = {k: v for k, v in problem.values.items() if k not in ("contest", "pool")}
        title = f"{problem.title}: {name}" if problem.title else name
        values |= {"title": title, "data": data, "columns": columns}
        found[name] = Problem(values, problem_text(values), problem.path, frames=problem.frames)
    return found
