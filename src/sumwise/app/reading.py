"""How the app reads files: always in a child process, ``python -m sumwise.app.reading``, which answers in JSON.

A damaged file can end the child, never the server; and what the child does is what ``sumwise init`` and ``sumwise fit``
do.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from sumwise.errors import DataError, SumwiseError

TOP = ("family", "title", "method", "seed", "level", "sensitivity", "pool")
PARTS = ("data", "columns", "options", "names", "map", "court")  # tables of a problem file
OTHER_COLUMNS = ("attributes", "features")  # roles that all other columns have where a problem file names none
# Roles that several columns may have
LISTS = ("groups", "outcomes", "attributes", "features", "covariates", "groups_sd", "groups_moe")
LISTS += ("categorical", "subgroups", "times", "places", "counts")
NOT_COLUMNS = (
    "groups_in",
    "outcomes_in",
    "counts_in",
    "rest_group",
    "rest_outcome",
    "row",
    "col",
    "task",
)  # keys that hold words
# Roles as menus call them, where the key of the problem file is no plain word
ROLE_NAMES = {
    "unit": "unit's name",
    "groups": "group",
    "outcomes": "outcome",
    "groups_sd": "group: standard error",
    "groups_moe": "group: 90% margin of error",
    "total": "total of the unit",
    "weight": "weight",
    "covariates": "covariate",
    "group_option": "groups in rows: name of the group",
    "group_votes": "groups in rows: count",
    "group_moe": "groups in rows: 90% margin of error",
    "side": "long file: group or outcome?",
    "option": "long file: name of the group or outcome",
    "votes": "long file: count",
    "counts": "count of a class",
    "counts_total": "count of all who were counted",
    "counts_bag": "bag, in the counts file",
    "features": "feature",
    "categorical": "feature: levels, not numbers",
    "subgroups": "only a subgroup to report",
    "responses_bag": "bag, in the responses file",
    "label": "label to be predicted",
    "attributes": "attribute",
    "label_sum": "sum of the label",
    "times": "counts at one time",
    "places": "counts at one place",
    "season": "season or repetition",
    "effort": "share that is counted",
    "mask": "0 where nobody can be",
    "lon": "longitude",
    "lat": "latitude",
    "x": "first coordinate (x)",
    "y": "second coordinate (y)",
}
NOT_OPENING = ("missing", "without", "only", "leave_out", "zero", "footnotes")  # keys of [data] about rows and entries
PACKAGES = {"collective": "flows"}  # of a family's methods, if it is called otherwise
MOST_SHOWN = 6  # rows


def suggestion(
    files: list[str], out: str, family: str | None = None, answers: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Find out what files hold and write the problem file; return it with every column's role, or what is open.

    Of a file that leaves questions open, or that is not recognised, the first rows are returned as well, so that a
    person sees what the questions are about and can give the columns their roles.
    """
    from sumwise.cli.study.initialise import suggest_problem
    from sumwise.schema.problem import Problem

    try:
        suggested = suggest_problem(files, out, answers, family, overwrite=True)
    except DataError as error:
        without_roles = _without_roles(files, out, family)
        if without_roles is None:
            raise
        return {**without_roles, "not_recognised": {"error": error.message, "hint": error.hint or ""}}
    suggested.write()
    facts = {
        **suggested.to_dict(),
        "text": suggested.text,
        "sums": [each["sums"] for each in suggested.read if each.get("sums")],
    }
    if suggested.schema.questions:
        without_roles = _without_roles(files, out, family)
        return {**facts, "columns": [] if without_roles is None else without_roles["columns"]}
    return {**facts, **described(Problem.parse(suggested.text, Path(out)))}


def _without_roles(files: list[str], out: str, family: str | None) -> dict[str, Any] | None:
    """What the page needs to show one file whose columns have no roles yet; None of a file that is no table."""
    from sumwise.schema.problem import Problem, value

    if len(files) > 1:
        return None
    text = f"family = {value(family or 'ecological')}\n\n[data]\nfile = {value(Path(files[0]).name)}\n"
    try:
        facts = described(Problem.parse(text, Path(out)))
    except SumwiseError:
        return None
    return {**facts, "rest": "", "columns": [{**c, "role": "", "also": []} for c in facts["columns"]]}


def checked(path: str) -> dict[str, Any]:
    """Read the data of a problem file as a fit would; return what was read, or raise what a fit would."""
    from sumwise.cli.study.families import study_of
    from sumwise.cli.study.initialise import sums_of
    from sumwise.schema.opened import all_met
    from sumwise.schema.problem import Problem
    from sumwise.schema.reading.contests import contest_problems

    problem = Problem.from_file(path)
    remarks, sums = [], []
    for name, each in (contest_problems(problem) or {"": problem}).items():
        study = study_of(each)
        study.read()
        all_met(each)
        remarks += [f"{name}: {line}" if name else line for line in (*each.remarks, *getattr(study, "notes", ()))]
        sums += [f"{name}: {line}" if name else line for line in [sums_of(study)] if line]
    return {**described(problem), "text": problem.text, "remarks": remarks, "sums": sums}


def described(problem: Any) -> dict[str, Any]:
    """What the page needs for its menus: values, roles and methods of the family, columns of the file."""
    from sumwise.cli.study.families import study_of

    kind = type(study_of(problem))
    table, kinds = kind.noises or ("", {})
    rest = next((k for k in OTHER_COLUMNS if k in kind.column_keys), "")
    if problem.family == "maxent" and "count" not in problem.columns:
        kinds = {}  # rows and folders of tables: only cells have a noise that a person must say
    return {
        "values": {k: v for k, v in dict(problem.values).items() if k in (*TOP, *PARTS)},
        "contests": problem.values.get("contest", []),
        "roles": [
            {"key": k, "name": ROLE_NAMES.get(k, k), "meaning": v, "several": k in LISTS}
            for k, v in kind.column_keys.items()
            if k not in NOT_COLUMNS
        ],
        "methods": [
            {"name": name, "meaning": meaning_of(problem.family, kind.classes_of.get(name, name))}
            for name in kind.methods
        ],
        "rest": rest,
        "named": [*kind.named_sides, *kind.named_columns, *(("categorical",) if rest in kind.named_columns else ())],
        "noise": {"table": table, "kinds": {k: list(v) for k, v in kinds.items()}},
        "columns": file_columns(problem, rest),
    }


def file_columns(problem: Any, rest: str = "") -> list[dict[str, Any]]:
    """Every column of the problem's files, with its first entries and the role that it has.

    `rest` is the role of columns that the problem file doesn't name, where it names none for that role.
    """
    from sumwise.schema.opened import OPENING
    from sumwise.schema.questions import Interview
    from sumwise.schema.source import open_grid

    opening = {k: v for k, v in problem.data.items() if k in OPENING and k not in NOT_OPENING}
    roles: dict[str, list[str]] = {}
    columns_of_role = problem.values.get("columns", {})
    unnamed = "" if rest in columns_of_role else rest
    order = {key: i for i, key in enumerate(columns_of_role)} | {"categorical": -1, "subgroups": len(columns_of_role)}
    for key in sorted(columns_of_role.keys() - {*NOT_COLUMNS}, key=order.__getitem__):
        for name in columns_of_role[key] if isinstance(columns_of_role[key], list) else [columns_of_role[key]]:
            roles.setdefault(name, []).append(key)
    contest = contest_columns(problem)
    shown = []
    for key in problem.data:
        path = problem.file(key, needed=False) if key == "file" or key.endswith("_file") else None
        if path is None or path.is_dir():
            continue
        for column in open_grid(str(path), Interview(), opening).columns:
            first = [column.words[code] for code in column.codes[:MOST_SHOWN].tolist()]
            kind = "numbers" if column.numbers is not None else "text"
            role, *also = roles.get(column.name, [unnamed if key == "file" else ""])
            if role == "subgroups" and unnamed and key == "file":
                role, also = unnamed, [role]  # a feature, too, as all others are
            also = [other for other in also if role != "categorical" or other != rest]  # a feature anyway
            facts = {"name": column.name, "kind": kind, "first": first, "role": role, "also": also}
            shown.append(facts | {"file": path.name})
            if column.name in contest:
                shown[-1]["contest"] = "; ".join(contest[column.name])
    return shown


def contest_columns(problem: Any) -> dict[str, list[str]]:
    """What the columns of single contests are for: "outcomes of mayor"."""
    found: dict[str, list[str]] = {}
    for number, entry in enumerate(problem.values.get("contest", []), start=1):
        for key, names in entry.items():
            for name in names if isinstance(names, list) else [names]:
                if key not in ("name", "election") and isinstance(name, str):
                    found.setdefault(name, []).append(f"{key} of {entry.get('name', number)}")
    return found


def meaning_of(family: str, method: str) -> str:
    """The first line of a method's documentation, out of its source: loading the family takes seconds.

    Examples
    --------
    >>> from sumwise.app.reading import meaning_of
    >>> meaning_of("ecological", "Bounds")
    'The method of bounds (Duncan and Davis 1953): the range in which each cell must lie, whatever the model.'
    """
    first = re.compile(rf'^class {re.escape(method)}\b[^\n]*:\n    r?"""(.*?)\s*(?:"""|$)', re.MULTILINE)
    folder = resources.files("sumwise") / PACKAGES.get(family, family)
    sources = (path for path in folder.iterdir() if path.name.endswith(".py"))
    matches = (first.search(path.read_text("utf-8")) for path in sources)
    return next((match[1] for match in matches if match), "")


def problem_text(values: dict[str, Any], contests: list[dict[str, Any]] = ()) -> str:  # type: ignore[assignment]
    """The problem file of values that the page sent."""
    from sumwise.schema.problem import value

    lines = ["# a problem file for sumwise, written by its app"]
    lines += [f"{key} = {value(values[key])}" for key in TOP if values.get(key) not in (None, "")]
    for table in PARTS:
        entries = {k: v for k, v in values.get(table, {}).items() if v not in (None, "", [])}
        if entries:
            named = value if table == "names" else str  # its keys are names of columns
            lines += ["", f"[{table}]", *(f"{named(key)} = {value(given)}" for key, given in entries.items())]
    for contest in contests:
        lines += ["", "[[contest]]", *(f"{key} = {value(given)}" for key, given in contest.items())]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Answer one question, in JSON on standard output: what was asked for, or ``error`` and ``hint``."""
    ask, *rest = arguments
    try:
        if ask == "suggest":
            out, family, answers, *files = rest
            answer = suggestion(files, out, family or None, json.loads(answers))
        elif ask == "check":
            answer = checked(rest[0])
        else:
            raise DataError(f"There is no question {ask!r}.")
    except SumwiseError as error:
        answer = {"error": error.message, "hint": error.hint or ""}
    except MemoryError:
        answer = {"error": "There is not enough memory to read this file.", "hint": "give fewer rows or columns."}
    from sumwise.report.summary import plain

    sys.stdout.write(json.dumps(plain(answer), ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
