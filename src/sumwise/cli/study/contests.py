"""Several contests in one problem file: fitted together where they share groups, each into a folder of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.cli.study.families import study_of
from sumwise.cli.study.folder import PARTS, check_own, damaged, file_facts, read_parts, versions
from sumwise.contests import Contests
from sumwise.errors import DataError
from sumwise.io.checkpoint import CachedSteps
from sumwise.io.documents import read_json
from sumwise.io.formats.write import harmless, write_frame, write_tables
from sumwise.io.persistence import load
from sumwise.io.writer import make_folder, write_text
from sumwise.report.html import page
from sumwise.report.summary import with_provenance
from sumwise.schema.problem import Problem
from sumwise.schema.reading.contests import contest_problems
from sumwise.schema.toml import problem_text

INDEX = "contests.json"
MOST_PAGES = 50  # contests that get a page each at once; of more, sumwise report makes it
MOST_COMPARED = 12  # contests that are compared with other methods unless the problem asks for it, with figures twice


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
    """Fit every contest of a problem, together where they share groups, and put their estimates together.

    Parameters
    ----------
    problem : Problem
    out : path
        A folder; each contest gets one in it.
    fit : callable
        ``fit_problem``, for one contest.
    resume : bool
        Continue after the last complete contest.
    **options
        As `fit_problem` takes them.
    """
    folder = Path(out)
    check_own(folder, INDEX)
    make_folder(folder)
    problems = contest_problems(problem)
    if len(problems) > MOST_COMPARED and "sensitivity" not in problem.values:
        problems = {name: _changed(one, sensitivity=False) for name, one in problems.items()}
    places = folder_names(list(problems))
    done = _done(folder, places, problems) if resume else []
    work = CachedSteps(say=options.get("say"))
    models = {} if len(done) == len(problems) else fit_together(problem, problems, work)
    results: dict[str, dict[str, Any]] = {}
    write_text(folder / INDEX, json.dumps(places, ensure_ascii=False, indent=1) + "\n")
    write_text(folder / "problem.toml", problem.text)
    for name, one in problems.items():
        place = folder / places[name]
        if name in done:
            results[name] = {**json.loads((place / "summary.json").read_text("utf-8")), "warnings": []}
            continue
        started = resume and (folder / f".{place.name}.partial").exists()
        with _named(name):
            pages = {"paged": len(problems) <= MOST_PAGES, "twice": len(problems) <= MOST_COMPARED}
            results[name] = fit(one, place, resume=started, model=models.get(name), **pages, **options)
    frames = {name: pd.read_parquet(folder / places[name] / "estimates.parquet") for name in problems}
    together = pd.concat(frames, names=["contest"]).reset_index(level=0).reset_index(drop=True)
    write_tables({"estimates": together}, folder)
    summary = _summary(problem, folder, results)
    summary["warnings"] = [*work.warnings, *summary["warnings"]]
    if problem.family == "ecological":
        summary |= _overview(problem, folder, places, summary, {name: r["findings"] for name, r in results.items()})
    summary["files"] = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
    return summary


def read_index(folder: Path) -> dict[str, str]:
    """The folder of each contest, as the index of a result says it; only folders inside that one are taken."""
    try:
        places = read_json(folder / INDEX)
    except ValueError as error:
        raise damaged(folder, str(error)) from None
    inside = isinstance(places, dict) and all(
        isinstance(place, str) and place not in ("", ".", "..") and not re.search(r"[/\\\0]", place)
        for place in places.values()
    )
    if not inside or not places:
        raise damaged(folder, f"{INDEX} names no folders of contests in it")
    return places


def _done(folder: Path, places: dict[str, str], problems: Mapping[str, Problem]) -> list[str]:
    """Contests whose folder holds the result of this very problem, of these data and by this version.

    None of them where the list of contests has changed, as contests are fitted together.
    """
    try:
        if json.loads((folder / INDEX).read_text("utf-8")) != places:
            return []
    except (OSError, ValueError):
        return []
    digest, made = cache(lambda path: file_facts(path, "")["sha256"]), []
    for name, problem in problems.items():
        try:
            kept = json.loads((folder / places[name] / "provenance.json").read_text("utf-8"))
            found = (kept["problem"], {file["sha256"] for file in kept["data"]}, kept["versions"])
        except (OSError, ValueError, KeyError):
            continue
        if found == (problem.text, {digest(p) for p in study_of(problem).files()}, versions()):
            made.append(name)
    return made


@contextmanager
def _named(contest: str) -> Iterator[None]:
    """Put the contest before an error's message."""
    try:
        yield
    except DataError as error:
        raise type(error)(f"Contest {contest!r}: {error.message}", hint=error.hint) from error


def _changed(problem: Problem, **values: Any) -> Problem:
    made = {**problem.values, **values}
    return Problem(made, problem_text(made), problem.path)


def fit_together(problem: Problem, problems: Mapping[str, Problem], work: CachedSteps) -> dict[str, Any]:
    """The fit of every contest, from one fit of all; none where the problem, the method or the groups speak against it.

    Contests are compared with those of the same ``election``; without that key, with all.
    """
    if problem.family != "ecological" or not problem.pool or problem.method not in ("auto", "EcologicalEM"):
        return {}
    from sumwise.ecological.pooling import comparable  # other families don't load this one

    studies = {name: study_of(one) for name, one in problems.items()}
    work.say(f"read {len(problems)} contests")
    for name, study in studies.items():
        with _named(name):
            study.read()
    some = [name for name, study in studies.items() if study.choose() == "EcologicalEM"]
    elections = {str(e.get("name", k)): e.get("election") for k, e in enumerate(problem.values["contest"], start=1)}
    some = comparable({name: studies[name].margins for name in some}, elections)
    if not some:
        return {}
    contests = Contests(some, elections={name: elections[name] for name in some})
    estimator = studies[next(iter(some))].configured("EcologicalEM")
    return dict(work.step(f"fit {len(some)} contests together", lambda: estimator.fit(contests).contests_))


def _overview(
    problem: Problem,
    folder: Path,
    places: dict[str, str],
    summary: dict[str, Any],
    findings: dict[str, list[dict[str, Any]]],
) -> dict[str, Any]:
    """One table and one page over all contests."""
    made = _overview_report(problem, folder, places, summary["title"], findings)
    write_frame(harmless(made.frames["contests"]), folder / "contests.csv")
    shown = page(_sourced(made.summary, problem, folder, places), files_beside=["contests.csv"])
    write_text(folder / "report.html", shown)
    if len(places) > MOST_COMPARED:
        place = next(iter(places.values()))
        later = f"sumwise report {folder / place} makes the page of one contest."
        own = "Each contest has a report of its own." if len(places) <= MOST_PAGES else later
        return {"lead": [*made.summary["lead"], own], "findings": []}
    return {"lead": made.summary["lead"]}


def _overview_report(
    problem: Problem, folder: Path, places: Mapping[str, str], title: str, findings: Mapping[str, list[dict[str, Any]]]
) -> Any:
    from sumwise.report.contests_page import contests_overview

    models = {name: load(folder / place / "model.sumwise") for name, place in places.items()}
    return contests_overview(models, problem.title or title, problem.level, problem.seed, places, findings)


def _sourced(summary: dict[str, Any], problem: Problem, folder: Path, places: Mapping[str, str]) -> dict[str, Any]:
    """The summary of all contests with its source: files, command and versions are those of every contest."""
    first = read_json(folder / next(iter(places.values())) / "provenance.json")
    return with_provenance(summary, {**first, "problem": problem.text})


def write_contests_page(folder: Path, out: Any = None, full: bool = False) -> Path:
    """Make the page over the contests of a result again, and the page of each; with `out`, all of them in one page.

    Above `MOST_COMPARED` contests, one page holds the overview only.
    """
    places = read_index(folder)
    problem = Problem.from_file(folder / "problem.toml")
    read = {name: _read_parts(folder / place, name) for name, place in places.items()}
    title = f"{Path(problem.data.get('file', folder)).stem}: {len(places)} contests"
    found = _overview_report(problem, folder, places, title, {name: one["findings"] for name, (one, _) in read.items()})
    overview = _sourced(found.summary, problem, folder, places)
    if out is not None:
        own = [with_provenance(*one) for one in read.values()] if len(places) <= MOST_COMPARED else []
        overview = {**overview, "title": "All contests"} if own else overview
        return write_text(Path(out), page(overview, *own, title=problem.title or title, full=full))
    for name, place in places.items():
        write_text(folder / place / "report.html", page(with_provenance(*read[name]), full=full))
    return write_text(folder / "report.html", page(overview, full=full, files_beside=["contests.csv"]))


def _read_parts(folder: Path, name: str) -> list[dict[str, Any]]:
    try:
        return read_parts(folder, *PARTS)
    except FileNotFoundError:
        said = f"Contest {name!r} has no complete result in {str(folder)!r}."
        raise DataError(said, hint="sumwise fit with --resume goes on.") from None


def _summary(problem: Problem, folder: Path, results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    first = next(iter(results.values()))
    return {
        **{key: first[key] for key in ("family", "method")},
        "title": problem.title or f"{Path(problem.data.get('file', folder)).stem}: {len(results)} contests",
        "lead": [f"{name}: {result['lead'][0]}" for name, result in results.items()],
        "findings": [
            {**f, "line": f"{name}: {f['line']}", "what": f"{name}: {f['what']}"}
            for name, result in results.items()
            for f in result["findings"][:3]
        ],
        "record": {name: result.get("record") for name, result in results.items()},
        "contests": list(results),
        "folder": str(folder),
        "warnings": [f"{name}: {line}" for name, result in results.items() for line in result["warnings"]],
    }
