"""A problem file to a result folder: read, fit, report, write; and the model of a folder on another file."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from numba.core.errors import NumbaError

from sumwise.cli.study.contests import INDEX, fit_contests, read_index, write_contests_page
from sumwise.cli.study.families import study_of
from sumwise.cli.study.folder import PARTS, ResultFolder, check_own, file_facts, read_back, read_parts, versions
from sumwise.errors import DataError, SumwiseError
from sumwise.io.checkpoint import CachedSteps, fingerprint
from sumwise.io.formats.write import harmless, write_frame, write_tables
from sumwise.io.persistence import load, save
from sumwise.io.scratch import temporary_files_beside
from sumwise.io.writer import make_folder, write_text
from sumwise.report.comparison import compare_results
from sumwise.report.html import page
from sumwise.report.model_report import Report, warned
from sumwise.report.summary import plain, with_provenance
from sumwise.schema.opened import all_met
from sumwise.schema.problem import Problem

MOST_CSV = 200_000  # rows of a frame that is written as CSV too

MISFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, NumbaError)


def fit_problem(
    path: Any,
    out: Any,
    command: str = "",
    say: Callable[[str], None] | None = None,
    model: Any = None,
    paged: bool = True,
    twice: bool = True,
    **folder: bool,
) -> dict[str, Any]:
    """Fit what a problem file asks for, and write the result folder.

    Parameters
    ----------
    path : path or Problem
        The problem file; several contests in it are fitted together where they share groups.
    out : path
        The folder to write.
    command : str
        For the provenance: what was typed.
    say : callable, optional
        Called with the name of every stage; a method ``estimates`` of it gets the first numbers, before checks.
    model : estimator, optional
        Fitted to the data already, with other contests.
    paged : bool, default True
        Whether to write the page; `write_page` makes it later.
    twice : bool, default True
        Whether the page has pictures for desktops and others for phones, or one for both.
    **folder
        ``resume``, ``restart``, ``replace``: see `ResultFolder`.

    Returns
    -------
    dict
        The summary, as ``summary.json`` has it, with ``folder``, ``files`` and ``warnings``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise import synthetic
    >>> from sumwise.io.formats import write_margins
    >>> from sumwise.cli.study.fitting import fit_problem
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> write_margins(synthetic.precincts(60, random_state=0).margins, here / "votes.csv")
    >>> _ = (here / "p.toml").write_text('family = "ecological"\\nmethod = "Bounds"\\n[data]\\nfile = "votes.csv"')
    >>> fit_problem(here / "p.toml", here / "result")["files"][:3]
    ['estimates.csv', 'estimates.parquet', 'model.sumwise']
    """
    begin = time.monotonic()
    temporary_files_beside(out)
    problem = path if isinstance(path, Problem) else Problem.from_file(path)
    if problem.values.get("contest"):
        return fit_contests(problem, out, fit_problem, command=command, say=say, **folder)
    study = study_of(problem)
    named = {problem.file(k): problem.data[k] for k in problem.data if k == "file" or k.endswith("_file")}
    data = [file_facts(p, named.get(p, p.name)) for p in study.files()]
    key = fingerprint(dict(problem.values), [d["sha256"] for d in data], versions())
    with ResultFolder(out, key, **folder) as place:
        study.work = CachedSteps(place.steps, key, say)
        study.read()
        all_met(problem)
        study.fit(model)
        shown = getattr(say, "estimates", None)
        if shown is not None and (first := study.first_numbers()) is not None:
            shown(first)
        made = study.report()
        summary = warned(made.summary, study.work.warnings)
        provenance = {
            "command": command,
            "method": study.chosen,
            "seed": problem.seed,
            "options": plain(study.model.get_params(deep=False) if hasattr(study.model, "get_params") else {}),
            "data": data,
            **({} if (promise := getattr(study.model, "promise", None)) is None else {"privacy": promise.describe()}),
            "versions": versions(),
            "problem": problem.text,
            "warnings": study.work.warnings,
            "kept steps": study.work.kept,
            "written": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "seconds": round(time.monotonic() - begin, 1),
        }
        study.work.say("write")
        _write_all(place.files, study, Report(summary, made.frames), provenance, paged, twice)
        files = sorted(p.name for p in place.files.iterdir())
        place.finish()
    return {**summary, "folder": str(out), "files": files, "warnings": study.work.warnings}


def _write_all(folder: Path, study: Any, report: Report, provenance: dict[str, Any], paged: bool, twice: bool) -> None:
    write_tables(report.frames, folder, MOST_CSV)
    save(study.model, folder / "model.sumwise")
    if (kept := study.kept()) is not None:
        write_text(folder / "features.json", json.dumps(kept, ensure_ascii=False, indent=1) + "\n")
    write_text(folder / "problem.toml", study.problem.text)
    write_text(folder / "summary.json", report.json())
    write_text(folder / "provenance.json", json.dumps(provenance, ensure_ascii=False, allow_nan=False, indent=1) + "\n")
    if paged:
        beside = [path.name for path in folder.iterdir()]
        shown = page(with_provenance(report.summary, provenance), files_beside=beside, twice=twice)
        write_text(folder / "report.html", shown)


def read_result(folder: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summary and the provenance of a result folder.

    Examples
    --------
    >>> from sumwise.cli.study.fitting import read_result
    >>> read_result("nowhere")
    Traceback (most recent call last):
    sumwise.errors.DataError: There is no result in 'nowhere'. Hint: sumwise fit problem.toml --out nowhere
    """
    folder = Path(folder)
    if folder.is_file():
        raise DataError(f"{str(folder)!r} is a file.", hint="give the folder of a result, which `sumwise fit` wrote.")
    try:
        read = read_parts(folder, *PARTS)
    except FileNotFoundError:
        if (folder / INDEX).exists():
            names = ", ".join(read_index(folder).values())
            raise DataError(f"{str(folder)!r} has several contests.", hint=f"name one of {names} in it.") from None
        hint = f"sumwise fit problem.toml --out {folder}"
        raise DataError(f"There is no result in {str(folder)!r}.", hint=hint) from None
    return read[0], read[1]


def write_page(folder: Any, out: Any = None, full: bool = False) -> Path:
    """Make the page of a result folder again, from its summary; `full` prints all rows of long tables.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise import synthetic
    >>> from sumwise.io.formats import write_margins
    >>> from sumwise.cli.study.fitting import fit_problem, write_page
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> write_margins(synthetic.precincts(60, random_state=0).margins, here / "votes.csv")
    >>> _ = (here / "p.toml").write_text('family = "ecological"\\nmethod = "Bounds"\\n[data]\\nfile = "votes.csv"')
    >>> _ = fit_problem(here / "p.toml", here / "result")
    >>> write_page(here / "result").name
    'report.html'
    """
    with read_back(folder):
        return _page_again(folder, out, full)


def _page_again(folder: Any, out: Any, full: bool) -> Path:
    path = Path(folder) / "report.html" if out is None else Path(out)
    if (Path(folder) / INDEX).exists():
        temporary_files_beside(path)
        return write_contests_page(Path(folder), out, full)
    if (Path(folder) / "comparison.csv").exists():
        [shown] = read_parts(Path(folder), "summary.json")
    else:
        shown = with_provenance(*read_result(folder))
    temporary_files_beside(path)
    beside = [p.name for p in path.parent.iterdir()] if path.resolve().parent == Path(folder).resolve() else []
    return write_text(path, page(shown, full=full, files_beside=beside))


def compare_folders(folders: Sequence[Any], out: Any) -> tuple[dict[str, Any], Path]:
    """Compare results and write the comparison to a folder; return its summary and the folder."""
    temporary_files_beside(out)
    names = [Path(f).resolve().name for f in folders]
    if len(set(names)) < len(names):
        names = [str(f) for f in folders]
    read = [read_result(folder) for folder in folders]
    with read_back(" or ".join(map(str, folders))):
        results = {
            name: (summary, pd.read_parquet(Path(folder) / "estimates.parquet"))
            for name, folder, (summary, _) in zip(names, folders, read)
        }
        summary, frame = compare_results(results, *_related(read[0][1], read[-1][1]))
        made = Report(summary.to_dict(), {})
        shown = made.html(files_beside=["comparison.csv"])
    out = Path(out)
    check_own(out, "comparison.csv")
    make_folder(out)
    write_frame(harmless(frame), out / "comparison.csv")
    made.save(out / "summary.json")
    write_text(out / "report.html", shown)
    return made.summary, out


def _related(one: dict[str, Any], two: dict[str, Any]) -> tuple[str, float]:
    """How the data of two results are related, by the files and columns of their provenance; and their level."""
    first, last = (Problem.parse(found["problem"]) for found in (one, two))
    files = [{facts["sha256"] for facts in found["data"]} for found in (one, two)]
    if first.level != last.level:
        return "levels", first.level
    if files[0].isdisjoint(files[1]):
        return "independent", first.level
    same = files[0] == files[1] and first.columns == last.columns
    return "same data" if same else "same units", first.level


def predict_file(folder: Any, source: Any) -> pd.DataFrame:
    """Return the predictions of a result's model for a file.

    Parameters
    ----------
    folder : path
        The result folder.
    source : path
        A file with the columns that the problem file names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from sumwise.cli.study.fitting import fit_problem
    >>> from sumwise.cli.study.fitting import predict_file
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> votes = pd.DataFrame({"a": [60, 10, 40], "b": [40, 90, 60], "y": [55, 30, 50], "n": [45, 70, 50]})
    >>> votes.to_csv(here / "votes.csv")
    >>> lines = ['family = "ecological"', 'method = "Goodman"', '[data]', 'file = "votes.csv"', '[columns]']
    >>> _ = (here / "p.toml").write_text("\\n".join([*lines, 'groups = ["a", "b"]', 'outcomes = ["y", "n"]']))
    >>> _ = fit_problem(here / "p.toml", here / "result")
    >>> predict_file(here / "result", here / "votes.csv").columns.tolist()
    ['unit', 'outcome', 'share', 'share_low', 'share_high', 'count', 'count_low', 'count_high']
    """
    folder, path = Path(folder), Path(source)
    read_result(folder)
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.", hint="check the path.")
    problem = Problem.from_file(folder / "problem.toml")
    study = study_of(problem)
    study.folder = folder
    file = folder / "model.sumwise"
    model = load(file)
    try:
        return study.predict(model, path)
    except SumwiseError:
        raise
    except MISFIT as error:  # loading checks what a file holds, not whether it is the model that was fitted here
        raise DataError(
            f"The model in {str(file)!r} can't predict: its parts don't fit together "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]}).",
            hint="was the file changed? Fit again; if that doesn't help, run with --debug and report it.",
        ) from error
