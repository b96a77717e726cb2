"""Files to the problem file that they suggest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.errors import DataError
from sumwise.study.families import FAMILIES
from sumwise.study.problem import Problem
from sumwise.study.profile_file import look_at
from sumwise.study.recognise import Guess, recognise
from sumwise.study.recognise.tables import METHODS

__all__ = ["write_problem"]


def write_problem(
    data: Sequence[Any], out: Any = "problem.toml", family: str | None = None, replace: bool = False
) -> tuple[Guess, Path]:
    """Look at files and write a commented problem file; files are named as seen from it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.study.initialise import write_problem
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (here / "votes.csv").write_text("precinct,young,old,yes,no\\nA,60,40,55,45\\nB,10,90,30,70\\n")
    >>> guess, path = write_problem([here / "votes.csv"], here / "problem.toml")
    >>> guess.family, guess.data["file"]
    ('ecological', 'votes.csv')
    """
    path = Path(out)
    if family is not None:
        checks.known(family, FAMILIES, "family")
    if path.exists() and not replace:
        raise DataError(f"There is a file {str(path)!r} already.", hint="add --replace, or name another by --out.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"There is no folder {str(path.parent)!r}.", hint="make it first.")
    guess = _folder(Path(data[0])) if len(data) == 1 else None
    if guess is None:
        guess = recognise([look_at(p) for p in data], family)
    guess.data = {k: _seen_from(path, v) if k == "file" or k.endswith("_file") else v for k, v in guess.data.items()}
    text = guess.text(path.name)
    Problem.parse(text, path)  # what is written can be read
    path.write_text(text, "utf-8")
    return guess, path


def _folder(path: Path) -> Guess | None:
    """A folder of tables that sumwise itself wrote."""
    if not path.is_dir():
        return None
    if not (path / "tables.sumwise").exists():
        raise DataError(
            f"{str(path)!r} is a folder without tables.", hint="name a file, or a folder of sumwise aggregate."
        )
    return Guess("maxent", 1.0, "a folder of tables", {"file": str(path), "kind": "folder"}, methods=METHODS)


def _seen_from(problem: Path, file: str) -> str:
    """The file relative to the problem file where it lies in or below its folder, else its full path."""
    here, there = problem.absolute().parent, Path(os.path.abspath(file))
    return str(there.relative_to(here)) if there.is_relative_to(here) else str(there)
