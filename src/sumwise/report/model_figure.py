"""The figure of a fitted model: the main one of its report, or what can be drawn of the model alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.diagnostics.flows import flow_numbers, places_on_map
from sumwise.errors import DataError
from sumwise.plots import plot_coefficients, plot_map_flows
from sumwise.plots.containers import heat_map
from sumwise.tables import Tables


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
    >>> from sumwise.report.model_figure import plot_model
    >>> bags = Bags.from_arrays([[[0.0], [0.2]], [[1.0], [0.9]], [[0.4], [0.7]]])
    >>> plot_model(MeanMap().fit(bags, [0, 2, 1])).get_xlabel()
    'coefficient of class 1 (log-odds)'
    """
    check_is_fitted(model)
    if data is None:
        if hasattr(model, "estimate"):
            return model.estimate(options.get("level", 0.95)).plot(ax)
        if hasattr(model, "steps_") and hasattr(model, "places_"):
            return _flows(model, ax)
        found = model._notebook_finding() if hasattr(model, "_notebook_finding") else None  # noqa: SLF001
        if found is not None and found[1] is not None and "coefficient" in found[1]:
            return plot_coefficients(found[1], ax=ax)
        raise DataError(
            f"A figure of {type(model).__name__} needs its data.",
            hint="give what fit was given: model.plot(data), or model.plot((bags, y)) where that was two things.",
        )
    from sumwise.report.model_report import report

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
    return plot_map_flows({**numbers, "title": title, **where}, ax=ax)
