"""Editions of a result: the court edition with its exports, written from a result folder; nothing is fitted."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise import checks
from sumwise.cli.study.contests import INDEX, read_index
from sumwise.cli.study.folder import read_back
from sumwise.errors import DataError, MissingExtra
from sumwise.io.persistence import load
from sumwise.io.writer import write_text
from sumwise.report.court import court_edition, polarised_table
from sumwise.report.court_contests import ContestResult, court_edition_contests
from sumwise.report.exports import export_figures, export_tables
from sumwise.report.model_report import Report
from sumwise.schema.problem import Problem

EDITIONS = ("plain", "court")


def has_case(folder: Any) -> bool:
    """Whether the problem file of a result has a table ``[court]``, the cover of a court edition."""
    return "court" in tomllib.loads((Path(folder) / "problem.toml").read_text("utf-8"))


def write_edition(folder: Any, edition: str = "court") -> list[Path]:
    """Write an edition of a result into its folder: ``court.html``, its tables and its figures.

    Parameters
    ----------
    folder : path
        That `fit_problem` wrote. Several contests get one document, and tables and figures in their own folders.
    edition : {"court"}

    Returns
    -------
    list of Path
        What was written. Workbook and document need the extra ``office``; without it they are left out, with a warning.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise import synthetic
    >>> from sumwise.io.formats import write_margins
    >>> from sumwise.cli.study.editions import write_edition
    >>> from sumwise.cli.study.fitting import fit_problem
    >>> here = pathlib.Path(tempfile.mkdtemp())
    >>> write_margins(synthetic.precincts(60, random_state=0).margins, here / "votes.csv")
    >>> text = 'family = "ecological"\\nmethod = "Bounds"\\n[data]\\nfile = "votes.csv"\\n[court]\\ncase = "Doe v. Roe"'
    >>> _ = (here / "p.toml").write_text(text)
    >>> _ = fit_problem(here / "p.toml", here / "result")
    >>> write_edition(here / "result")[0].name
    'court.html'
    """
    checks.choice(edition, "edition", EDITIONS[1:])
    with read_back(folder):
        return _court(Path(folder))


def _court(folder: Path) -> list[Path]:
    if (folder / INDEX).exists():
        places = read_index(folder)
        contests = {name: _result(folder / place) for name, place in places.items()}
        problem = Problem.from_file(folder / next(iter(places.values())) / "problem.toml")  # covers are alike
        whole = folder / "problem.toml"
        text = whole.read_text("utf-8") if whole.exists() else ""  # results of earlier versions have none
        page = court_edition_contests(contests, problem.values.get("court", {}), text)
        made = [write_text(folder / "court.html", page)]
        for name, place in places.items():
            made += _exports(contests[name].report, contests[name].model, folder / place)
        return made
    report, model, provenance = _result(folder)
    case = Problem.from_file(folder / "problem.toml").values.get("court", {})
    page = write_text(folder / "court.html", court_edition(report, case, model, provenance))
    return [page, *_exports(report, model, folder)]


def _result(folder: Path) -> ContestResult:
    from sumwise.cli.study.fitting import read_result

    summary, provenance = read_result(folder)
    frames = {path.stem: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}
    return ContestResult(Report(summary, frames), load(folder / "model.sumwise"), provenance)


def _exports(report: Report, model: Any, folder: Path) -> list[Path]:
    """Tables and figures without the training curve: that the fit converged is among the facts of the page."""
    sections = [
        {**section, "blocks": [block for block in section["blocks"] if block.get("plot") != "training_curve"]}
        for section in report.summary["sections"]
    ]
    report, written = Report({**report.summary, "sections": sections}, report.frames), []
    report = _with_polarised(report, model)
    for ending in (".tex", ".xlsx", ".docx"):
        try:
            written.append(export_tables(report, folder / f"tables{ending}"))
        except MissingExtra as error:
            warnings.warn(f"tables{ending} was not written: {error}", stacklevel=3)
    return [*written, *export_figures(report, folder / "figures")]


def _with_polarised(report: Report, model: Any) -> Report:
    """The report with the table of polarised voting, which only the court edition has."""
    if report.summary["method"] == "Bounds":
        return report
    try:
        block = polarised_table(model, report.summary["record"]["level"])
    except DataError:
        return report  # one candidate, or one group
    sections = [
        {**s, "blocks": [block, *s["blocks"]]} if s["key"] == "estimates" else s for s in report.summary["sections"]
    ]
    return Report({**report.summary, "sections": sections}, report.frames)
