"""Several contests in one problem file: each ``[[contest]]`` is fitted by itself into a folder of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.errors import DataError
from sumwise.study.families import study_class
from sumwise.study.problem import Problem
from sumwise.study.recognise.guess import value
from sumwise.study.sources import OPENING

INDEX = "contests.json"


def contest_problems(problem: Problem) -> dict[str, Problem]:
    """The problem of every contest, by its name; a contest's keys stand in for those of [data] and [columns].

    Examples
    --------
    >>> from sumwise.study import Problem
    >>> from sumwise.study.contests import contest_problems
    >>> lines = ['family = "ecological"', '[data]', 'file = "a.csv"', '[columns]', 'groups = ["w", "b"]']
    >>> lines += ['[[contest]]', 'name = "2016"', 'outcomes = ["d16", "r16"]']
    >>> contest_problems(Problem.parse("\\n".join(lines)))["2016"].columns
    {'groups': ['w', 'b'], 'outcomes': ['d16', 'r16']}
    """
    kind = study_class(problem.family)
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
            elif key != "name":
                problem.check_keys(("contest",), {key: given}, ["name", *kind.column_keys, *kind.data_keys, *OPENING])
        values = {k: v for k, v in problem.values.items() if k != "contest"}
        title = f"{problem.title}: {name}" if problem.title else name
        values |= {"title": title, "data": data, "columns": columns}
        found[name] = Problem(values, _text(values), problem.path)
    return found


def _text(values: dict[str, Any]) -> str:
    plain = [f"{k} = {value(v)}" for k, v in values.items() if not isinstance(v, dict)]
    for table in (k for k, v in values.items() if isinstance(v, dict) and v):
        plain += ["", f"[{table}]", *(f"{k} = {value(v)}" for k, v in values[table].items())]
    return "\n".join(plain) + "\n"


def folder_names(names: list[str]) -> dict[str, str]:
    """A folder for every contest, of signs that all systems take."""
    made: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).strip("._")[:60] or "contest"
        made[name] = plain if plain.lower() not in {m.lower() for m in made.values()} else f"{plain}_{len(made) + 1}"
    return made


def fit_contests(
    problem: Problem, out: Any, fit: Callable[..., dict[str, Any]], resume: bool = False, **options: Any
) -> dict[str, Any]:
    """Fit every contest of a problem in turn, and put their estimates together.

    Parameters
    ----------
    problem : Problem
    out : path
        A folder; each contest gets one in it.
    fit : callable
        ``fit_problem``, for one contest.
    resume : bool
        Go on after the last contest that is whole.
    **options
        As `fit_problem` takes them.
    """
    folder = Path(out)
    if folder.exists() and any(folder.iterdir()) and not (folder / INDEX).exists():
        raise DataError(f"The folder {str(folder)!r} holds other files.", hint="name a new folder.")
    folder.mkdir(exist_ok=True)
    problems = contest_problems(problem)
    places = folder_names(list(problems))
    results: dict[str, dict[str, Any]] = {}
    (folder / INDEX).write_text(json.dumps(places, ensure_ascii=False, indent=1) + "\n", "utf-8")
    for name, one in problems.items():
        place = folder / places[name]
        if resume and (place / "summary.json").exists():
            results[name] = {**json.loads((place / "summary.json").read_text("utf-8")), "warnings": []}
            continue
        started = resume and (folder / f".{place.name}.partial").exists()
        try:
            results[name] = fit(one, place, resume=started, **options)
        except DataError as error:
            raise type(error)(f"Contest {name!r}: {error.message}", hint=error.hint) from error
    frames = {name: pd.read_parquet(folder / places[name] / "estimates.parquet") for name in problems}
    together = pd.concat(frames, names=["contest"]).reset_index(level=0).reset_index(drop=True)
    _write(together, folder)
    return _summary(problem, folder, results)


def _write(together: pd.DataFrame, folder: Path) -> None:
    from sumwise.readers.write import write_frame
    from sumwise.study.fitting import harmless

    write_frame(together, folder / "estimates.parquet")
    write_frame(harmless(together), folder / "estimates.csv")


def _summary(problem: Problem, folder: Path, results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    first = next(iter(results.values()))
    return {
        **{key: first[key] for key in ("family", "method")},
        "title": problem.title or f"{len(results)} contests",
        "lead": [f"{name}: {result['lead'][0]}" for name, result in results.items()],
        "findings": [
            {**f, "line": f"{name}: {f['line']}"} for name, result in results.items() for f in result["findings"][:3]
        ],
        "record": {name: result.get("record") for name, result in results.items()},
        "contests": list(results),
        "folder": str(folder),
        "files": sorted(p.name for p in folder.iterdir() if not p.name.startswith(".")),
        "warnings": [f"{name}: {line}" for name, result in results.items() for line in result["warnings"]],
    }
