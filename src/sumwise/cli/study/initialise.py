"""Files to a problem file: what each column is, the questions that are open, and what a fit would read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.cli.study.families import FAMILIES, study_class, study_of
from sumwise.cli.study.readable import readable_contests, readable_names
from sumwise.errors import DataError, SumwiseError, visible
from sumwise.io.formats.files import Opening
from sumwise.io.writer import write_text
from sumwise.schema import Schema
from sumwise.schema.opened import all_met, is_birdflow
from sumwise.schema.problem import Problem, value
from sumwise.schema.questions import Interview
from sumwise.schema.reading.contests import contest_problems
from sumwise.schema.source import open_grid
from sumwise.schema.toml import schema_lines

MOST_SHOWN = 12  # columns of one role
SUMMED = ("groups", "outcomes", "total", "ballots", "votes", "counts", "count", "label_sum")
NO_COLUMNS = ("name", "row", "col", "rest_group", "rest_outcome", "groups_in", "outcomes_in", "counts_in")
MOST_READ = 1000  # contests that are read as a check


@dataclass
class Suggestion:
    """A problem file that isn't written yet, its open questions, and how the data were read."""

    schema: Schema
    path: Path
    text: str
    answers: Mapping[str, Any] = field(default_factory=dict)
    read: list[dict[str, Any]] = field(default_factory=list)  # what a fit would see, per contest
    columns: list[dict[str, Any]] = field(default_factory=list)  # role, column, its first three entries, its sum

    def write(self) -> Path:
        """Write the problem file."""
        return write_text(self.path, self.text)

    def to_dict(self) -> dict[str, Any]:
        """What was read, and what is open, for scripts."""
        schema = self.schema
        questions = [
            {"key": q.key, "text": q.text, "options": list(q.options), "several": q.several} for q in schema.questions
        ]
        facts = {
            "problem": str(self.path),
            "family": schema.family,
            "questions": questions,
            "answers": dict(self.answers),
        }
        facts |= {"data": dict(schema.data), "columns": dict(schema.columns), "contests": list(schema.contests)}
        return {
            **facts,
            "names": dict(schema.names),
            "not_used": dict(schema.unused),
            "remarks": list(schema.remarks),
            "read": self.read,
        }


def suggest_problem(
    data: Sequence[Any],
    out: Any = "problem.toml",
    answers: Mapping[str, Any] | None = None,
    family: str | None = None,
    overwrite: bool = False,
    **opening: Any,
) -> Suggestion:
    """Find out what files hold, and suggest a commented problem file; files are named as seen from it.

    What is suggested has been read as a fit would read it: what a fit would refuse is refused here.

    Parameters
    ----------
    data : list of paths
        The file, or two that belong together.
    out : path
        The problem file to write.
    answers : mapping, optional
        Key of a question -> the option that is chosen.
    family : str, optional
        Only of this family.
    overwrite : bool
        Whether an earlier problem file may be replaced.
    **opening
        How files are opened: ``sheet``, ``decimal``, ``encoding``, ``separator``; ``total``, a number of people that
        every unit has.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.cli.study.initialise import suggest_problem
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (here / "votes.csv").write_text("precinct,young,old,yes,no\\nA,60,40,55,45\\nB,10,80,30,60\\n")
    >>> found = suggest_problem([here / "votes.csv"], here / "problem.toml")
    >>> found.schema.family, found.schema.data["file"], found.read[0]["groups"]
    ('ecological', 'votes.csv', {'young': 70.0, 'old': 120.0})
    """
    path = Path(out)
    if family is not None:
        checks.known(family, FAMILIES, "family")
    _check_place(path, data, overwrite)
    given = dict(answers or {})
    said = {k: v for k, v in {**opening, "family": family}.items() if v is not None}
    schema = Schema.infer([str(d) for d in data], given, **said)
    if family is not None and schema.family not in ("", family):
        raise DataError(f"The files read like {schema.family}, not {family}.", hint="leave --family out.")
    seen = {k: _seen_from(path, v) if k == "file" or k.endswith("_file") else v for k, v in schema.data.items()}
    if not seen.get("file") and "groups_file" not in seen:
        names = [_seen_from(path, d) for d in data]
        seen = {**dict(zip(("file", "second_file"), names)), **seen}
    schema = replace(schema, data=seen)
    schema = replace(schema, names={**readable_names(schema), **schema.names})
    schema = replace(schema, contests=tuple(readable_contests(schema)))
    text = problem_lines(schema, path.name, given)
    suggestion = Suggestion(schema, path, text, given)
    if not schema.questions:
        suggestion.columns = _preview(schema, data, opening)
        suggestion.read = _read_like_fit(Problem.parse(text, path))
    return suggestion


def _preview(schema: Schema, data: Sequence[Any], opening: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The columns that are used: role, name, first three entries, and the sum of what counts people."""
    files = [Path(d) for d in data if Path(d).is_file() and not is_birdflow(Path(d))]
    said = {k: v for k, v in {**schema.data, **opening}.items() if k in Opening.__annotations__ and v is not None}
    grids = [open_grid(str(f), Interview(), said) for f in reversed(files)]
    grids = [g.without(schema.data.get("leave_out", ())) if g.path == str(files[0]) else g for g in grids]
    known = {c.name: c for grid in grids for c in grid.columns}
    rows: list[dict[str, Any]] = []
    for columns in (schema.columns, *schema.contests):
        for role, named in columns.items():
            for name in named[:MOST_SHOWN] if isinstance(named, list) else [named]:
                column = known.get(name) if isinstance(name, str) else None
                if column is None or role in NO_COLUMNS or any(r["column"] == name for r in rows):
                    continue
                first = [column.words[code] for code in column.codes[:3].tolist()]
                numbers = column.numbers if role in SUMMED else None
                total = None if numbers is None else float(np.nansum(numbers))
                rows.append({"role": role, "column": name, "first": first, "sum": total})
    return rows


def problem_lines(schema: Schema, name: str, answers: Mapping[str, Any], out: str = "result") -> str:
    """The commented problem file of a schema."""
    lines = [f"# a problem file for sumwise; fit it with: sumwise fit {name} --out {out}"]
    lines += [f"# {visible(' '.join(line.split()))}" for line in schema.remarks]
    lines += [f"# not used: {visible(' '.join(column.split()))}: {why}" for column, why in schema.unused.items()]
    if schema.questions:
        lines += [
            f"# {len(schema.questions)} open questions: answer them below, or by sumwise init --answer KEY=ANSWER"
        ]
        return "\n".join([*lines, *schema_lines(schema, answers)]) + "\n"
    methods = ", ".join(study_class(schema.family).methods)
    lines += [
        "",
        f"family = {value(schema.family)}",
        'title = ""  # of the report',
        f'method = "auto"  # or {methods}',
        "seed = 0  # of all randomness",
        "level = 0.95  # of the intervals",
        *(["pool = true  # fit contests together where they share groups"] if schema.contests else []),
    ]
    return "\n".join([*lines, *schema_lines(schema)]) + "\n"


def _check_place(path: Path, data: Sequence[Any], overwrite: bool) -> None:
    """Refuse a place where a problem file would take the place of something else."""
    if os.path.lexists(path) and not overwrite:
        raise DataError(f"There is a file {str(path)!r} already.", hint="add --replace, or name another with --out.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"There is no folder {str(path.parent)!r}.", hint="make it first.")
    target = os.path.realpath(path)
    if target in {os.path.realpath(d) for d in data if isinstance(d, str | os.PathLike)}:
        raise DataError(f"{str(path)!r} is the data; it would be lost.", hint="name another file by --out.")
    for d in data:
        if isinstance(d, (str, os.PathLike)) and not os.path.exists(d):
            raise DataError(f"There is no file {str(d)!r}.", hint="check the path.")


def _read_like_fit(problem: Problem) -> list[dict[str, Any]]:
    """What a fit would see, by reading the data as it would; an error where it would refuse."""
    problems = contest_problems(problem) or {"": problem}
    names = list(problems)
    seen = []
    for name in names[:: max(1, len(names) // MOST_READ)][:MOST_READ]:
        study = study_of(problems[name])
        try:
            study.read()
            all_met(problems[name])
        except SumwiseError as error:
            message = error.message
            if message.startswith(problem.name):  # the place in a problem file that isn't written
                message = message.removeprefix(problem.name).partition(": ")[2]
            where = f"contest {name!r}: " if name else ""
            raise type(error)(f"{where}{message}", hint=error.hint) from error
        facts = {**_facts(study), "sums": f"{name}: {sums_of(study)}" if name else sums_of(study)}
        seen.append({**({"contest": name} if name else {}), **facts, "remarks": problems[name].remarks})
    return seen


def _facts(study: Any) -> dict[str, Any]:
    margins = getattr(study, "margins", None)
    if margins is None:
        return {}
    facts = margins.describe()
    sides = {"groups": facts["row totals"], "outcomes": facts["col totals"]}
    if not study.details.get("head_counts", True):
        everybody = max(facts["total"], 1e-300)
        sides = {key: {name: total / everybody for name, total in side.items()} for key, side in sides.items()}
        return {"units": facts["units"], "people": None, **sides, "denominator": "units count alike"}
    return {"units": facts["units"], "people": facts["total"], **sides, "denominator": facts["denominator"]}


def sums_of(study: Any) -> str:
    """What was read, in numbers that a person knows: that both sides add up, and to what; or how many there are."""
    facts = _facts(study)
    if facts:
        sides = {key: sum(facts[key].values()) for key in ("groups", "outcomes")}
        if facts["people"] is None:
            return f"Adds up: shares of groups and of outcomes in {facts['units']:,} units."
        return (
            f"Adds up in all {facts['units']:,} units: groups {sides['groups']:,.0f}, outcomes "
            f"{sides['outcomes']:,.0f}."
        )
    bags, counts = getattr(study, "bags", None), getattr(study, "counts", None)
    if bags is not None and counts is not None and np.ndim(counts) == 2:
        return (
            f"{bags.n_rows:,} individuals in {len(bags):,} bags; the counts of classes add up to {counts.sum():,.0f}."
        )
    if bags is not None:
        return f"{bags.n_rows:,} samples in {len(bags):,} bags, with one response each."
    tables = getattr(study, "tables", None)
    if tables is not None and tables.n is not None:
        return f"{tables.n:,.0f} individuals in {len(tables):,} table{'s' * (len(tables) != 1)}."
    return ""


def _seen_from(problem: Path, file: Any) -> str:
    """The file relative to the problem file where it lies in or below its folder, else its full path."""
    here, there = problem.absolute().parent, Path(os.path.abspath(file))
    return str(there.relative_to(here)) if there.is_relative_to(here) else str(there)
