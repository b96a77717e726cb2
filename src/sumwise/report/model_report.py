"""report(model, data): what a fitted method found, as a summary, figures, tables and one offline page.

`plot_model` draws the main figure of that report, or what can be drawn of the model alone.
"""

from __future__ import annotations

import html
import importlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.estimator import family_of
from sumwise.io.formats.write import write_tables
from sumwise.io.writer import make_folder, write_text
from sumwise.plots import flow_numbers, plot_coefficients, plot_flows
from sumwise.plots.containers import heat_map
from sumwise.plots.map_frame import places_on_map
from sumwise.report.context import Context
from sumwise.report.html import page
from sumwise.report.other_methods import fit_others, other_methods
from sumwise.report.summary import bullets, note
from sumwise.tables import Tables

SAID_FIRST = (r"(\d+ bags are|One bag is) too few to estimate", "otals range from")  # by the first lines of a page
TEXTS = ("ecological", "proportions", "distribution", "flows", "maxent")
DETAILS = tuple(f.name for f in fields(Context) if f.name not in ("model", "data", "not_compared", "frames"))


@dataclass(frozen=True)
class Figure:
    """A figure of a report: its numbers, what it shows, and the picture on demand.

    Parameters
    ----------
    plot : str
        The figure function of `sumwise.plots`, without ``plot_``.
    numbers : dict or list of dicts
        What it draws; a list has one picture per step.
    caption : str

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import Bounds
    >>> margins = synthetic.precincts(30, random_state=0).margins
    >>> Bounds().fit(margins).report(margins).figures[0].plot
    'intervals'
    """

    plot: str
    numbers: Any
    caption: str

    def draw(self, ax: Any = None, step: int = 0) -> Any:
        """Draw it on matplotlib axes (new ones by default) and return them."""
        from sumwise import plots
        from sumwise.report.svg import arrays

        numbers = self.numbers[step] if isinstance(self.numbers, list) else self.numbers
        return getattr(plots, f"plot_{self.plot}")(arrays(numbers), ax=ax)

    def svg(self, step: int = 0) -> str:
        """The picture as an SVG element, as the page has it."""
        from sumwise.report.svg import draw

        numbers = self.numbers[step] if isinstance(self.numbers, list) else self.numbers
        return draw(self.plot, numbers, self.caption)

    def _repr_html_(self) -> str:
        return f"<figure>{self.svg()}<figcaption>{html.escape(self.caption)}</figcaption></figure>"


@dataclass(frozen=True)
class Report:
    """What a fitted method found; made by `report`.

    Parameters
    ----------
    summary : dict
        Title, verdict (``lead``), findings and sections, as plain values that JSON can hold.
    frames : dict of str to pandas.DataFrame
        The tables of the result: ``estimates``, and for some families ``units``, ``individuals``, ``places``.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.ecological import Goodman
    >>> from sumwise.report import report
    >>> margins = synthetic.precincts(40, random_state=0).margins
    >>> found = report(Goodman().fit(margins), margins)
    >>> found.frames["estimates"].columns.tolist()[:3]
    ['group', 'outcome', 'share']
    """

    summary: dict[str, Any]
    frames: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title."""
        return self.summary["title"]

    @property
    def findings(self) -> list[str]:
        """The findings, a line each."""
        return [f["line"] for f in self.summary["findings"]]

    @property
    def figures(self) -> list[Figure]:
        """The figures, in the order of the page."""
        blocks = (block for section in self.summary["sections"] for block in section["blocks"])
        return [Figure(b["plot"], b["numbers"], b["caption"]) for b in blocks if b["kind"] == "figure"]

    def html(self, full: bool = False, files_beside: Iterable[str] = ()) -> str:
        """The page: one HTML file that needs no network; `full` prints every row of long tables.

        Tables link to those of `files_beside`, names of files in the page's folder.
        """
        return page(self.summary, full=full, files_beside=files_beside)

    def save(self, path: Any) -> Path:
        """Write the page (a path that ends in .html), the summary (.json), or page, summary and tables (a folder).

        Each file is written under another name first, so that an earlier one survives a failure. In CSV, texts that a
        spreadsheet would take for formulas stand behind an apostrophe.
        """
        path = Path(path)
        if path.suffix in (".html", ".htm"):
            return write_text(path, self.html())
        if path.suffix == ".json":
            return write_text(path, self.json())
        make_folder(path)
        write_tables(self.frames, path)
        write_text(path / "summary.json", self.json())
        write_text(path / "report.html", self.html(files_beside=[f"{name}.csv" for name in self.frames]))
        return path

    def json(self) -> str:
        """The summary as JSON."""
        return json.dumps(self.summary, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def __str__(self) -> str:
        lead = [*self.summary["lead"], *self.summary["checked"]]
        return "\n".join([self.title, *lead, *(f"- {line}" for line in self.findings)])

    def _repr_html_(self) -> str:
        style = "width:100%;height:44rem;border:1px solid #ccc"
        title = html.escape(self.title, quote=True)
        return f'<iframe style="{style}" title="{title}" srcdoc="{html.escape(self.html(), quote=True)}"></iframe>'


def report(
    model: Any, data: Any, *, truth: Any = None, compare: Any = (), title: str | None = None, **details: Any
) -> Report:
    """Return what a fitted method found: verdict, findings, figures, tables, assumptions, on one offline page.

    Parameters
    ----------
    model : fitted estimator
        Of any family.
    data : container, or tuple
        What ``fit`` was given: `Margins`, ``(bags, counts)``, ``(bags, response)``, `Tables`, counts over time.
    truth : optional
        The truth, where it is known and was hidden from the fit. ecological: shares (R, C). proportions: the class
        of every individual, as a position. collective: flows (steps, L, L). maxent: ``(rows, classes)``, rows that
        were not counted.
    compare : "auto", or iterable or mapping of estimators, default ()
        Other methods to fit to the same data and to compare with this one; fitted ones are taken as they are. "auto"
        takes those that `sumwise.other_methods.other_methods` lists.
    title : str, optional
        Default: made of the data.
    **details
        ``level`` (of the intervals, 0.95), ``random_state`` (of refits, 0), ``classes`` (names of the classes),
        ``groups`` (proportions: subgroups to show, a mapping of name to a level per individual), ``survey``
        (proportions: a frame with group, level, class, survey), ``response`` (distribution: what the response is
        called), ``time_name`` (collective: what a time is called, "week"),
        ``regions`` (collective: names of regions and their places),
        ``outlines`` (collective: GeoJSON that maps show), ``names`` (maxent: what columns are called, and levels by
        "COLUMN = LEVEL"), ``notes`` (what was done to the data), ``cautions`` (what a reader must know before the
        numbers), ``shapes`` (ecological: of `plots.unit_shapes`, for maps), ``head_counts`` (ecological:
        False where totals are not numbers of people, so that none is shown), ``step`` (a function
        that runs what takes long).

    Returns
    -------
    Report

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import Bounds
    >>> from sumwise.report import report
    >>> m = Margins([[60, 40], [10, 90]], [[80, 20], [30, 70]], row_names=["a", "b"], col_names=["yes", "no"])
    >>> found = report(Bounds().fit(m), m)
    >>> found.title
    'yes and no by a and b'
    >>> found.findings[0]
    'Share of people in “b” who chose no: 46.1% to 69.3%, whatever the model.'
    """
    for name in details:
        checks.known(name, DETAILS, "option of report")
    check_is_fitted(model)
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Bags) and hasattr(data[1], "iloc"):
        data = data[0], data[0].align(data[1], "counts or response")
    context = Context(model, data, truth, title=title, **details)
    checks.fraction(context.level, "level")
    if compare:
        context.compare, context.not_compared = _compared(context, compare)
    family = family_of(model)
    text = importlib.import_module(f"sumwise.report.text.{family if family in TEXTS else 'plain'}")
    summary = text.write(context)
    if context.notes:
        summary.add("provenance", bullets(list(context.notes), "How the data were prepared"))
    if getattr(model, "promise", None) is not None:
        summary.add("provenance", bullets([str(model.promise)], "Privacy"))
        summary.record["promise"] = model.promise.describe()
    return Report(summary.to_dict(), context.frames)


def _compared(context: Context, compare: Any) -> tuple[dict[str, Any], list[str]]:
    """Other methods, fitted, and sentences on those that are not shown."""
    arguments = context.data if isinstance(context.data, tuple) else (context.data,)
    left: list[str] = []
    if isinstance(compare, str):
        checks.choice(compare, "compare", ("auto",))
        others, left = other_methods(context.model, context.data, context.random_state)
    else:
        others = dict(compare) if isinstance(compare, Mapping) else {type(m).__name__: m for m in compare}
    if others and any(not hasattr(m, "fit") for m in others.values()):
        raise DataError("compare contains something that is not an estimator.", hint="give estimators, fitted or not.")
    fits, failed = fit_others(others, arguments, context.step)
    words = [f"{name} could not be fitted to these data: {why}" for name, why in failed.items()]
    if left:
        words.insert(0, f"{' and '.join(left)} would take long on data of this size and were not fitted.")
    return fits, words


def warned(summary: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """The summary with warnings of the run in its section on certainty, but for those that its first lines say."""
    said = " ".join(str(line) for line in summary.get("lead", ()))
    warnings = [w for w in warnings if not any(re.search(p, w) and re.search(p, said) for p in SAID_FIRST)]
    if not warnings:
        return summary
    sections = [dict(section) for section in summary["sections"]]
    for section in sections:
        if section["key"] == "certainty":
            section["blocks"] = [*section["blocks"], *(note(words) for words in warnings)]
    return {**summary, "sections": sections}


def plot_model(model: Any, data: Any = None, ax: Any = None, **options: Any) -> Any:
    """Draw a fitted model: what its ``plot()`` calls.

    Parameters
    ----------
    model : estimator
        Fitted.
    data : container, or tuple, optional
        What ``fit`` was given: the main figure of the report is drawn. Without it the figure shows what the model
        holds: shares of groups with intervals, the step on which most individuals move, or the largest coefficients.
    ax : matplotlib axes, optional
    **options
        Of `sumwise.report.report`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.proportions import MeanMap
    >>> from sumwise.report.model_report import plot_model
    >>> bags = Bags.from_arrays([[[0.0], [0.2]], [[1.0], [0.9]], [[0.4], [0.7]]])
    >>> plot_model(MeanMap().fit(bags, [0, 2, 1])).get_xlabel()
    'coefficient of class 1 (log-odds)'
    """
    check_is_fitted(model)
    if data is None:
        if hasattr(model, "steps_") and hasattr(model, "places_"):
            return _flows(model, ax)
        if hasattr(model, "estimate"):
            return model.estimate(options.get("level", 0.95)).plot(ax)
        finding = model.notebook_finding() if hasattr(model, "notebook_finding") else None
        if finding is not None and finding[1] is not None and "coefficient" in finding[1]:
            return plot_coefficients(finding[1], ax=ax)
        raise DataError(
            f"A figure of {type(model).__name__} needs its data.",
            hint="give what fit was given: model.plot(data), or model.plot((bags, y)) where that was two things.",
        )
    figures = report(model, data, **options).figures
    if not figures and isinstance(data, Tables):
        return data.plot(ax=ax)  # a model of nothing but counts, as naive Bayes: the counts themselves
    if not figures:
        raise DataError(f"The report on {type(model).__name__} has no figure.", hint="see model.report(data).")
    return figures[0].draw(ax=ax)


def _flows(model: Any, ax: Any) -> Any:
    """The step on which most individuals move: a map, or a heat map where places have no coordinates."""
    counts = model.counts()
    moved = {edge: float(n.sum() - n.diagonal().sum()) for edge, n in counts.edges.items()}
    edge = max(moved, key=lambda one: moved[one])
    title = f"{edge[0]} to {edge[1]}"
    if model.places_.distances is not None:
        names = model.places_.names
        ax = heat_map(np.asarray(counts.edges[edge]), names, names, ("from", "to", "individuals"), ax)
        ax.set_title(title)
        return ax
    where = places_on_map(model)
    numbers = flow_numbers(counts, edge, where["positions"])
    return plot_flows({**numbers, "title": title, **where}, ax=ax)
