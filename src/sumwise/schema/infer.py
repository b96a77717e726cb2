"""Files and frames to a Schema: each form is tried; what no sums prove is a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from sumwise.errors import DataError
from sumwise.schema.bags import bags_in_one_file, bags_in_two_files, matched
from sumwise.schema.columns import Column, Grid
from sumwise.schema.declared import Schema
from sumwise.schema.long import long_margins
from sumwise.schema.margins import wide_margins
from sumwise.schema.named import FORMS, ROLES, named_schema
from sumwise.schema.outcome_rows import outcomes_in_rows, sides_in_two
from sumwise.schema.problem import Problem
from sumwise.schema.questions import COLUMNS, NAME, Interview, Naming, NoForm, Stopped, Unanswered
from sumwise.schema.series import coordinates, series_of
from sumwise.schema.sides import kind_of
from sumwise.schema.source import open_grid
from sumwise.schema.tables import cells, labelled_rows
from sumwise.schema.toml import SECOND, problem_text

HDF5 = (".hdf5", ".h5")
FEWEST_NUMBERS = 4  # two for each side, or two shares and a total: a person may name the columns of a file of no form
EVERY_ROLE = {role for roles in ROLES.values() for role in roles}
OPENING = ("sheet", "separator", "encoding", "decimal", "header", "table", "query")


def infer(source: Any, answers: Mapping[str, Any] | None = None, opening: Mapping[str, Any] | None = None) -> Schema:
    """What `Schema.infer` does, which documents it."""
    iv, opening, grids = Interview(dict(answers or {})), dict(opening or {}), []
    family = opening.pop("family", None)
    sources = list(source) if isinstance(source, (list, tuple)) else [source]
    own = _own_format(sources)
    if own is not None:
        return own
    try:
        grids = [open_grid(s, iv, opening) for s in sources]
        schema = _schema(grids, iv, family)
    except Naming as left:
        return infer(source, {**iv.answers, str(left): NAME}, {**opening, **({"family": family} if family else {})})
    except Unanswered:
        schema = Schema("")
    _check_answers(iv, opening)
    data = {**(_files(grids, schema) if schema.family else {}), **schema.data}
    if "unmatched" in iv.used:
        data["unmatched"] = "drop"
    return replace(schema, data=data, questions=tuple(iv.open), remarks=tuple(dict.fromkeys(iv.remarks)))


def _schema(grids: list[Grid], iv: Interview, family: str | None) -> Schema:
    """The form that sums prove, or that a person shows by answers; what none fits, a person may name or stop."""
    if iv.named:
        return named_schema(grids, iv, family)
    iv.naming = True
    try:
        return _one(grids[0], iv, family) if len(grids) == 1 else _two(grids, iv)
    except NoForm as error:
        numeric = [c for grid in grids for c in grid.columns if c.numbers is not None and c.distinct > 1]
        shares = [c for c in numeric if kind_of(c) == "share"]
        spot = [c for grid in grids for c in coordinates(grid)]
        counts = [c for c in numeric if c not in spot and not c.called("unused")]
        if len(counts) < FEWEST_NUMBERS and (len(shares) < 2 or len(numeric) <= len(shares)):
            raise
        iv.ask("unknown", f"{error.message} Stop, or name the columns?", {}, stop=error.message)
        raise Unanswered from error


def _check_answers(iv: Interview, opening: Mapping[str, Any] | None) -> None:
    """Refuse answers to questions that nobody asked."""
    unknown = [key for key in iv.answers if key not in iv.used and key not in (opening or {})]
    if iv.named:  # what was answered before the columns were named has no more part
        unknown = [key for key in unknown if key.startswith(COLUMNS) and key.removeprefix(COLUMNS) not in EVERY_ROLE]
    if unknown and not iv.open:
        raise DataError(
            f"There is no question {unknown[0]!r} about this source.", hint="leave that answer out, or correct its key."
        )


def _files(grids: list[Grid], schema: Schema) -> dict[str, Any]:
    """Which files, and how they are opened."""
    opening = {k: v for grid in grids for k, v in grid.opening.items()}
    main = grids[0]
    if "groups_file" in schema.data or not main.path:
        return opening
    if len(grids) == 2:
        second = [schema.data.get(key) for key in ("counts_file", "responses_file", "places_file", "names_file")]
        main = next(g for g in grids if g.path not in second)
    return {"file": main.path, **opening}


def _own_format(sources: list[Any]) -> Schema | None:
    """A folder of tables that sumwise wrote, or a BirdFlow model."""
    path = Path(sources[0]) if len(sources) == 1 and isinstance(sources[0], (str, PathLike)) else None
    if path is None:
        return None
    if path.is_file() and path.suffix.lower() in HDF5:
        return Schema("collective", {"file": str(path)}, options={"noise": "relative", "cyclic": True})
    if not path.is_dir():
        return None
    if not (path / "tables.sumwise").exists():
        hint = "name a file, or a folder of sumwise aggregate."
        raise DataError(f"{str(path)!r} is a folder without tables.", hint=hint)
    return Schema("maxent", {"file": str(path), "kind": "folder"})


def _one(grid: Grid, iv: Interview, family: str | None) -> Schema:
    if len(grid) < 2:
        raise DataError(
            f"{grid.name} has one row of data.", hint="every form takes several units, bags, cells or times."
        )
    readings, failures, waiting = _readings(grid, iv, family, READERS)
    if not readings and waiting is None:
        readings, more, waiting = _readings(grid, iv, family, SECOND_READERS)
        failures += more
    if not readings and waiting is not None:
        iv.follow(waiting)
        raise Unanswered
    if not readings:
        raise (
            _nearest(failures) if failures else DataError(f"{grid.name} has no {family} data.", hint="leave it out.")
        )
    proved = [
        f for f, (schema, branch) in readings.items() if "counts" in schema.columns and not (branch.open or branch.used)
    ]
    chosen = next(iter(proved), next(iter(readings)))  # the sizes of bags prove what counts are
    if len(readings) > 1 and not proved:
        chosen = iv.ask("form", f"What is a row of {grid.name}?", {FORMS[f]: f for f in readings})
    schema, branch = readings[chosen]
    iv.follow(branch)
    return schema


Readings = tuple[dict[str, tuple[Schema, Interview]], list[DataError], "Interview | None"]


def _readings(grid: Grid, iv: Interview, family: str | None, readers: dict[Callable, tuple[str, ...]]) -> Readings:
    """The schemas of every form that the columns may have; one alone where sums prove it."""
    readings: dict[str, tuple[Schema, Interview]] = {}
    failures: list[DataError] = []
    waiting: Interview | None = None
    for reader in (r for r, families in readers.items() if family is None or family in families):
        if reader is wide_margins and "ecological" in readings:
            continue  # options are in rows
        branch = iv.branch()
        try:
            schema = reader(grid, branch)
        except Stopped:
            raise
        except DataError as error:
            if reader in (
                series_of,
                cells,
                long_margins,
            ):  # they raise where they know the form, and something is wrong with it
                raise
            failures.append(error)
            continue
        except Unanswered:
            waiting = waiting or branch
            continue
        finally:
            iv.used |= branch.used
        if schema is not None and family in (None, schema.family):
            readings.setdefault(schema.family, (schema, branch))
            if schema.family == "ecological" and not branch.open:
                break  # sums prove it
    return readings, failures, waiting


def _any_bags(grid: Grid, iv: Interview) -> Schema | None:
    return bags_in_one_file(grid, iv, any_label=True)


def _any_rows(grid: Grid, iv: Interview) -> Schema | None:
    return labelled_rows(grid, iv, most=False)


READERS: dict[Callable, tuple[str, ...]] = {
    long_margins: ("ecological",),
    wide_margins: ("ecological",),
    series_of: ("collective",),
    cells: ("maxent",),
    bags_in_one_file: ("proportions", "distribution"),
    labelled_rows: ("maxent",),
}


SECOND_READERS: dict[Callable, tuple[str, ...]] = {
    _any_bags: ("proportions", "distribution"),
    _any_rows: ("maxent",),
}


def _nearest(failures: list[DataError]) -> DataError:
    """The refusal that says most: one of another form than margins, where margins have no form at all."""
    others = [e for e in failures if not isinstance(e, NoForm)]
    return others[0] if others else failures[0]


def _two(grids: list[Grid], iv: Interview) -> Schema:
    """Two files that share units: people and results of bags, the two sides of margins, or counts and places."""
    for one, two in (grids, grids[::-1]):
        schema = series_of(one, iv.branch(), two)
        if schema is not None and "places_file" in schema.data:
            return series_of(one, iv, two) or schema
        if (named := _names_of_options(one, two, iv)) is not None:
            return named
    rows = outcomes_in_rows(grids, iv)
    if rows is not None:
        return rows
    big, small, a, b = matched(grids, iv)
    if len(big) > 2 * len(small) and not _is_long(big, a):
        return bags_in_two_files(big, small, a, b, iv)
    return sides_in_two(big, small, a, b, lambda both: wide_margins(both, iv))


def _names_of_options(votes: Grid, names: Grid, iv: Interview) -> Schema | None:
    """Long margins whose options are numbers, with names in a second file: columns row, row_name, col, col_name."""
    sides = [c for c in votes.columns if c.distinct == 2 and {f"{w}_name" for w in c.words if w} <= {*names.names}]
    if not sides:
        return None
    schema = long_margins(votes, iv)
    return None if schema is None else replace(schema, data={**schema.data, "names_file": names.path})


def _is_long(grid: Grid, key: Column) -> bool:
    """Whether a file has a line for each unit and option: one more column of texts, and one of counts."""
    rest = [c for c in grid.columns if c is not key]
    texts = [c for c in rest if c.numbers is None]
    return len(rest) == 2 and len(texts) == 1 and texts[0].called("outcome", "contest")


def resolve(problem: Problem) -> Problem:
    """The problem of a file with answers in place of columns; refused while questions are open."""
    files = [path for key in ("file", SECOND) if (path := problem.file(key, needed=key == "file")) is not None]
    opening = {k: v for k, v in problem.data.items() if k in OPENING}
    schema = infer([str(f) for f in files], problem.values["answers"], opening)
    if schema.questions:
        raise open_questions(schema)
    top = {k: v for k, v in problem.values.items() if k not in ("answers", "data", "columns", "options", "contest")}
    names = {str(path): str(problem.data[key]) for key, path in zip(("file", SECOND), files)}
    data = {k: names.get(v, v) if isinstance(v, str) else v for k, v in schema.data.items()}
    values = {**top, "family": schema.family, "data": data, "columns": dict(schema.columns)}
    values["options"] = {**schema.options, **problem.options}
    if schema.contests:
        values["contest"] = [dict(contest) for contest in schema.contests]
    made = Problem.parse(problem_text({k: v for k, v in values.items() if v != {}}), problem.path)
    made.remarks.extend(schema.remarks)
    return made


def open_questions(schema: Schema) -> DataError:
    """The refusal to read what has open questions."""
    first = schema.questions[0]
    keys = ", ".join(question.key for question in schema.questions)
    return DataError(
        f"{len(schema.questions)} questions are open ({keys}). {first.text}",
        hint=f"answer by --answer {first.key}=..., or under [answers]; the options are: {'; '.join(first.options)}.",
    )
