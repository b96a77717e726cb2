"""Files to the problem file that they suggest: shown, checked by reading them as a fit would, then written."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError, SumwiseError
from sumwise.recognise import Guess, recognise
from sumwise.recognise.display_names import display_names
from sumwise.recognise.profile_file import FileProfile, profile_file
from sumwise.storage.atomic import write_text
from sumwise.study.contests import contest_problems
from sumwise.study.families import FAMILIES, study_class, study_of
from sumwise.study.problem import Problem
from sumwise.study.sources import all_met, is_birdflow

MAX_SHOWN = 4  # columns of times or places that are shown
MOST_READ = 1000  # contests that are read as a check
PARTS = {
    "unit": "unit",
    "groups": "group",
    "outcomes": "outcome",
    "total": "total",
    "side": "side",
    "option": "option",
    "votes": "votes",
    "bag": "bag",
    "label": "label",
    "response": "response",
    "counts": "counts",
    "weight": "weight",
    "attributes": "attribute",
    "label_sum": "label sum",
    "time": "time",
    "times": "time",
    "place": "place",
    "places": "place",
    "count": "count",
    "x": "x",
    "y": "y",
    "lon": "longitude",
    "lat": "latitude",
    "features": "feature",
}


@dataclass
class Suggestion:
    """A problem file that isn't written yet, and how the data were read."""

    guess: Guess
    path: Path
    text: str
    columns: list[dict[str, Any]] = field(default_factory=list)  # part, column, its first three entries, its sum
    read: list[dict[str, Any]] = field(default_factory=list)  # what a fit would see, per contest

    def write(self) -> Path:
        """Write the problem file."""
        return write_text(self.path, self.text)

    def to_dict(self) -> dict[str, Any]:
        """What was read, for scripts."""
        guess = self.guess
        facts = {"problem": str(self.path), "family": guess.family, "seen": guess.seen, "check": guess.ask}
        facts |= {"data": guess.data, "columns": guess.columns, "contests": guess.contests, "names": guess.names}
        return {**facts, "not_used": guess.unused, "preview": self.columns, "read": self.read}


def suggest_problem(
    data: Sequence[Any],
    out: Any = "problem.toml",
    family: str | None = None,
    replace: bool = False,
    sheet: str | int | None = None,
    *,
    decimal: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    total: str | None = None,
    mismatch: str | None = None,
) -> Suggestion:
    """Profile files and suggest a commented problem file; files are named as seen from it.

    What is suggested has been read as a fit would read it: what a fit would refuse is refused here.

    Parameters
    ----------
    data : list of paths
        The file, or two that belong together.
    out : path
        The problem file to write.
    family : str, optional
        Only of this family.
    replace : bool
        Whether an earlier problem file may be replaced.
    sheet : str or int, optional
        Which sheet of a workbook.
    decimal : {".", ","}, optional
        The decimal sign, where the numbers don't show it.
    encoding, separator : str, optional
        Those of a text file, where its bytes and its header don't show them.
    total : str, optional
        Margins: the column of everybody, or a number of people that every unit has.
    mismatch : {"raise", "rescale", "no_vote", "drop"}, optional
        Margins: what to do where the two sides differ, where the file doesn't show it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.recognise.initialise import suggest_problem
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (here / "votes.csv").write_text("precinct,young,old,yes,no\\nA,60,40,55,45\\nB,10,80,30,60\\n")
    >>> found = suggest_problem([here / "votes.csv"], here / "problem.toml")
    >>> found.guess.family, found.guess.data["file"], found.read[0]["groups"]
    ('ecological', 'votes.csv', {'young': 70.0, 'old': 120.0})
    """
    path = Path(out)
    if family is not None:
        checks.known(family, FAMILIES, "family")
    _check_place(path, data, replace)
    guess, profiles = (_own_format(Path(data[0])) if len(data) == 1 else None), []
    if guess is None:
        if mismatch is not None:
            checks.choice(mismatch, "mismatch", ("raise", "rescale", "no_vote", "drop"))
        said = {"sheet": sheet, "decimal": decimal, "encoding": encoding, "separator": separator}
        opening = {k: v for k, v in said.items() if v is not None}
        given = {k: v for k, v in (("total", total), ("mismatch", mismatch)) if v is not None}
        profiles = [dataclasses.replace(profile_file(p, **opening), given=given) for p in data]
        guess = recognise([p.labelled() for p in profiles], family)
        guess = guess.called({k: v for p in profiles for k, v in p.labels.items()})
        guess.names = {**_names_in_reports(guess, profiles), **guess.names}
    guess.data = {k: _seen_from(path, v) if k == "file" or k.endswith("_file") else v for k, v in guess.data.items()}
    found = Suggestion(guess, path, guess.text(path.name), _preview(guess, profiles))
    found.read = _read_like_fit(Problem.parse(found.text, path), profiles)
    if len(guess.contests) > MOST_READ:
        guess.ask.append(
            f"{MOST_READ} of {len(guess.contests)} contests were read as a check; sumwise fit reads all before it fits."
        )
        found.text = guess.text(path.name)
    return found


def _names_in_reports(guess: Guess, profiles: list[FileProfile]) -> dict[str, str]:
    """Names that reports could show in place of those of the columns that the guess uses."""
    kind = study_class(guess.family)

    def columns(keys: Sequence[str]) -> list[list[str]]:
        listed = [part[key] for part in (guess.columns, *guess.contests) for key in keys if key in part]
        return [given if isinstance(given, list) else [given] for given in listed]

    sides = columns(kind.named_sides)
    others = [c for given in columns(kind.named_columns) for c in given]
    used = {c for given in columns(tuple(kind.column_keys)) for c in given if isinstance(c, str)}
    own = Path(str(guess.data.get("file", ""))).name  # files may be given in any order
    main = next((p for p in profiles if p.path.name == own), profiles[0])
    names = [c.name for c in main.columns]
    if kind.named_columns and not {"features", "attributes"} & guess.columns.keys() and "count" not in guess.columns:
        others += [c for c in names if c not in used and c not in guess.unused]  # all other columns are features
    rests = [v for k, v in guess.columns.items() if k.startswith("rest_")]
    return display_names(sides, others, [*rests, *(c.name for p in profiles for c in p.columns)])


def _check_place(path: Path, data: Sequence[Any], replace: bool) -> None:
    """Refuse a place where a problem file would take the place of something else."""
    if os.path.lexists(path) and not replace:
        raise DataError(f"There is a file {str(path)!r} already.", hint="add --replace, or name another with --out.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"There is no folder {str(path.parent)!r}.", hint="make it first.")
    target = os.path.realpath(path)
    if target in {os.path.realpath(d) for d in data if isinstance(d, str | os.PathLike)}:
        raise DataError(f"{str(path)!r} is the data; it would be lost.", hint="name another file by --out.")
    if path.is_symlink() and not target.endswith(".toml"):
        raise DataError(
            f"{str(path)!r} is a link to {target!r}, which is not a problem file.", hint="name another file by --out."
        )


def write_problem(
    data: Sequence[Any], out: Any = "problem.toml", family: str | None = None, replace: bool = False
) -> tuple[Guess, Path]:
    """Suggest a problem file and write it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.recognise.initialise import write_problem
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (here / "votes.csv").write_text("precinct,young,old,yes,no\\nA,60,40,55,45\\nB,10,80,30,60\\n")
    >>> write_problem([here / "votes.csv"], here / "problem.toml")[1].name
    'problem.toml'
    """
    found = suggest_problem(data, out, family, replace)
    return found.guess, found.write()


def _read_like_fit(problem: Problem, profiles: list[FileProfile]) -> list[dict[str, Any]]:
    """What a fit would see, by reading the data as it would; an error where it would refuse."""
    problems = contest_problems(problem) or {"": problem}
    names = list(problems)
    step = max(1, len(names) // MOST_READ)
    seen = []
    for name in names[::step][:MOST_READ]:
        study = study_of(problems[name])
        try:
            study.read()
            all_met(problems[name])
        except SumwiseError as error:
            raise _without_problem_file(error, problem, profiles, name) from error
        seen.append({**({"contest": name} if name else {}), **_margins_facts(study), "remarks": problems[name].remarks})
    return seen


def _without_problem_file(
    error: SumwiseError, problem: Problem, profiles: list[FileProfile], contest: str
) -> SumwiseError:
    """The error without the place in a problem file that isn't written."""
    message = error.message
    start = f"{problem.name}"
    if message.startswith(start):
        message = message[len(start) :].partition(": ")[2]
    named = any(profile.path.name in message for profile in profiles)
    file = "" if named or not profiles else f"{profiles[0].path.name}: "
    hint = error.hint
    if hint and "pass mismatch='rescale'" in hint:
        hint = (
            "correct these units, or drop them; --mismatch no_vote if some of the people didn't vote, --mismatch "
            "rescale if both sides count the same people."
        )
    return type(error)(f"{file}{f'contest {contest!r}: ' if contest else ''}{message}", hint=hint)


def _margins_facts(study: Any) -> dict[str, Any]:
    margins = getattr(study, "margins", None)
    if margins is None:
        return {}
    facts = margins.describe()
    sides = {"groups": facts["row totals"], "outcomes": facts["col totals"]}
    if not study.details.get("head_counts", True):
        whole = max(facts["total"], 1e-300)
        sides = {key: {name: value / whole for name, value in side.items()} for key, side in sides.items()}
        return {"units": facts["units"], "people": None, **sides, "denominator": "units count alike"}
    return {"units": facts["units"], "people": facts["total"], **sides, "denominator": facts["denominator"]}


NO_SUM = ("unit", "bag", "time", "place", "lon", "lat", "x", "y", "response")  # a sum of these means nothing


def _preview(guess: Guess, profiles: list[FileProfile]) -> list[dict[str, Any]]:
    """The columns that are used: their part, their first three entries and their sum."""
    given = [("", guess.columns), *((contest["name"], contest) for contest in guess.contests)]
    shown = []
    for contest, columns in given:
        for key, names in columns.items():
            few = MAX_SHOWN if key in ("times", "places") else None
            for name in names[:few] if isinstance(names, list) else [names]:
                column = next((c for p in profiles for c in p.columns if c.name == name), None)
                if key not in PARTS or column is None:
                    continue
                part = PARTS[key] + (f" ({contest})" if contest else "")
                rows = np.arange(len(column.codes)) if guess.keep is None else np.flatnonzero(guess.keep)
                total = None if column.amounts is None else float(np.nansum(column.amounts[rows]))
                first = [column.value(i) for i in rows[:3].tolist()]
                row = {"part": part, "column": name, "first": first, "sum": None if key in NO_SUM else total}
                shown += [] if any(s["column"] == name and not contest for s in shown) else [row]
    return shown


def _own_format(path: Path) -> Guess | None:
    """A folder of tables that sumwise itself wrote, or a BirdFlow model."""
    if path.is_file() and is_birdflow(path):
        ask = ["whether the last week leads to the first: cyclic in [options]."]
        options = {"noise": "relative", "cyclic": True}
        found: dict[str, Any] = {"data": {"file": str(path)}, "options": options, "ask": ask}
        return Guess("collective", 1.0, "a BirdFlow model: weekly shares of a population", **found)
    if not path.is_dir():
        return None
    if not (path / "tables.sumwise").exists():
        raise DataError(
            f"{str(path)!r} is a folder without tables.", hint="name a file, or a folder of sumwise aggregate."
        )
    return Guess("maxent", 1.0, "a folder of tables", {"file": str(path), "kind": "folder"})


def _seen_from(problem: Path, file: str) -> str:
    """The file relative to the problem file where it lies in or below its folder, else its full path."""
    here, there = problem.absolute().parent, Path(os.path.abspath(file))
    return str(there.relative_to(here)) if there.is_relative_to(here) else str(there)
