"""Figures of the estimates and of every unit: intervals, polarisation, tomography, scatter, maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sumwise import plots
from sumwise.ecological import place_shares
from sumwise.nonvoting import choices, no_candidates, people_who
from sumwise.plots.share_heatmap import turned
from sumwise.plots.style import MOST_LINES
from sumwise.report.context import Context
from sumwise.report.summary import Summary, figure, table
from sumwise.report.text.ecological.findings import SURE, in_words, not_quoted, voters_bounds, voters_meant
from sumwise.report.text.ecological.wording import BOUNDS, SHARES
from sumwise.voting import Turnout, turnout, voting_patterns

MOST_NAMED = 2  # findings in the title of a figure
MOST_MAPPED = 3000  # units of a map on the page
WITHHELD = " Hatched bounds have no estimate, because it would be no finding: see above."
_SPREAD = (
    "Dots are the estimates of the units, orange lines their 80% intervals. Blue curves enclose 50% and 95% of units "
    "by a normal distribution with the mean and the covariance of the units' shares: spread of the estimates plus "
    "their uncertainty."
)
_TOMOGRAPHY = {
    "Bounds": "Without a model, every point on a line is possible.",
    "King": "Dots are the estimates of the units, orange lines their 80% intervals. Blue curves are contours of the "
    "fitted truncated normal distribution before truncation.",
}


def shares_shown(context: Context) -> pd.DataFrame:
    """The estimates with intervals, bounds, and the shares under partial and place-only voting."""
    est = context.model
    shown = context.frames["estimates"].rename(columns=BOUNDS)
    if context.method != "Bounds" and min(est.shares_.shape) > 1:
        for name, part in (("if a fifth", 0.2), ("place-only", 1.0)):
            shown[name] = place_shares(est, context.data, part).ravel()
    return shown


def add_main_figure(context: Context, summary: Summary, voters: Turnout | None = None) -> None:
    """The picture of the findings, of voters where turnout is known; then that of everybody, with the estimates."""
    clauses = [in_words(f) for f in summary.findings if f.get("probability", 0.0) >= SURE][:MOST_NAMED]
    title = f"{clauses[0][0].upper()}{'; '.join(clauses)[1:]}" if clauses else None
    numbers = plots.interval_numbers(context.model, context.level)
    data = table(shares_shown(context), "Shares of every group", SHARES)
    place = "found"
    if voters is not None and voters.choice.values.shape[1] > 1 and voters.choice.values.size <= MOST_LINES:
        summary.add("found", _voters_figure(context, voters, title))
        place, title = "estimates", "Everybody, non-voters included"
    if numbers["share"].size > MOST_LINES:
        group, outcome = ("column", "row") if turned(numbers["share"].shape) else ("row", "column")
        caption = (
            f"Estimated share of each group ({group}) for each outcome ({outcome}). Darker cells are larger shares."
            if context.method != "Bounds"
            else f"Share of each group ({group}) for each outcome ({outcome}) if everybody in a unit behaved alike: "
            "points inside the bounds, and no estimates."
        )
        summary.add(place, figure("share_heatmap", numbers, caption, data, title=title))
        return
    bounds = "the bounds: what the totals alone imply, whatever the model."
    caption = f"Share of each group for each outcome. The bar shows {bounds}"
    if context.method != "Bounds":
        drawn = f"estimate (dot) and {context.percent} interval (line)"
        caption = f"Share of each group for each outcome: {drawn}. The grey bar shows {bounds}"
        numbers["withheld"] = _withheld(context.model, context.level, range(numbers["share"].shape[1]))
        if np.any(numbers["withheld"]):
            caption += WITHHELD
    summary.add(place, figure("intervals", numbers, caption, data, title=title))


def first_numbers(est: Any, level: float, random_state: Any) -> dict[str, Any]:
    """The numbers of a report's first picture, before anything is checked: of voters if turnout is known."""
    voters = voters_of(est, level, random_state)
    if voters is not None and voters.choice.values.shape[1] > 1 and voters.choice.values.size <= MOST_LINES:
        return _voters_numbers(est, voters, level)
    withheld = _withheld(est, level, range(est.shares_.shape[1]))
    return plots.interval_numbers(est, level) | {"withheld": withheld}


def voters_of(est: Any, level: float, random_state: Any) -> Turnout | None:
    """Turnout and the choice among voters; None if nobody stayed at home, or without estimates."""
    away = no_candidates(est.col_names_)
    if not any(away) or all(away) or type(est).__name__ == "Bounds" or min(est.shares_.shape) < 2:
        return None
    return turnout(est, level=level, random_state=random_state)


def _voters_numbers(est: Any, voters: Turnout, level: float) -> dict[str, Any]:
    choice = voters.choice
    low, high = voters_bounds(est, choices(est.col_names_))
    numbers = {"share": choice.values, "low": choice.low, "high": choice.high, "lower_bound": low, "upper_bound": high}
    numbers |= {"level": level, "groups": choice.labels[0], "outcomes": choice.labels[1]}
    return numbers | {
        "label": "share of the group's voters",
        "withheld": _withheld(est, level, choices(est.col_names_)),
    }


def _voters_figure(context: Context, voters: Turnout, title: str | None) -> dict[str, Any]:
    """The choice of those who voted in every group, with what the totals imply for it."""
    numbers = _voters_numbers(context.model, voters, context.level)
    bounds = {"lower bound": numbers["lower_bound"].ravel(), "upper bound": numbers["upper_bound"].ravel()}
    frame = voters.choice.to_frame().assign(**bounds)
    caption = (
        f"Choice of {voters_meant(context.data)} in each group: estimate (dot) and {context.percent} interval (line). "
        "The grey bar shows the bounds: what the totals alone imply, whatever the model."
    )
    if np.any(numbers["withheld"]):
        caption += WITHHELD
    return figure("intervals", numbers, caption, table(frame, "Choice among voters", SHARES), title=title)


def _withheld(est: Any, level: float, outcomes: Sequence[int]) -> list[list[bool]]:
    """Which estimates are no findings, by group and outcome."""
    return [[bool(not_quoted(est, r, c, level)) for c in outcomes] for r in range(len(est.row_names_))]


def add_polarisation(context: Context, summary: Summary) -> None:
    if len(choices(context.model.col_names_)) < 2:
        return
    found = voting_patterns(context.model, context.level, random_state=context.random_state)
    numbers = plots.polarisation_numbers(found)
    if numbers["gap"].size > MOST_LINES:
        return
    data = table(found.polarisation.to_frame(), "Differences", dict.fromkeys(("polarisation", "low", "high"), "points"))
    caption = (
        f"Polarisation: a group's share less the share of everybody else, with {context.percent} interval. Where the "
        "interval crosses zero (hollow dots), the data do not settle which is larger."
    )
    summary.add("estimates", figure("polarisation", numbers, caption, data))


def add_unit_figures(context: Context, summary: Summary) -> None:
    m, est = context.data, context.model
    if (m.n_rows, m.n_cols) == (2, 2) and m.n_units <= 2000:
        numbers = plots.tomography_numbers(m, est)
        ends = pd.DataFrame(np.asarray(numbers["lines"]).reshape(-1, 4))
        ends.columns = [f"{name}, {end}" for end in ("from", "to") for name in m.row_names]
        caption = (
            f"Tomography plot. Each grey line shows all pairs of shares for “{m.col_names[0]}” that the totals of one "
            f"unit allow. {_TOMOGRAPHY.get(context.method, _SPREAD)}"
        )
        kinds = dict.fromkeys(ends.columns, "share")
        mixed = (m.row_shares[:, 0] > 0) & (m.row_shares[:, 0] < 1)  # units with a line
        ends.insert(0, "unit", m.units[mixed].astype(str))
        summary.add("certainty", figure("tomography", numbers, caption, table(ends, "Ends of the lines", kinds)))
    if min(m.n_rows, m.n_cols) < 2 or not 1 < m.n_units <= 5000:
        return
    real = choices(m.col_names) or [0]
    r, c = int(m.rows.sum(axis=0).argmax()), real[int(m.cols[:, real].sum(axis=0).argmax())]
    numbers = plots.unit_scatter_numbers(m, r, c) | {"head_counts": context.head_counts}
    frame = pd.DataFrame({"unit": m.units[m.totals > 0].astype(str), "group share": numbers["x"]})
    frame["outcome share"] = numbers["t"]
    if context.head_counts:
        frame["people"] = numbers["size"]
    caption = (
        f"Units by their share of “{m.row_names[r]}” and of “{m.col_names[c]}”, with Goodman's regression line. "
        "Vertical lines are the bounds of that group's share in the unit."
    )
    kinds = {"group share": "share", "outcome share": "share", "people": "count"}
    title = f"Units: {m.row_names[r]} (group) and {m.col_names[c]} (outcome)"
    summary.add("certainty", figure("unit_scatter", numbers, caption, table(frame, title, kinds)))


def add_maps(context: Context, summary: Summary) -> None:
    """Maps of the largest share of the two largest groups, of its uncertainty, and of what the fit leaves."""
    est, m = context.model, context.data
    if context.shapes is None or context.method == "Bounds" or m.n_units > MOST_MAPPED:
        return
    real = choices(est.col_names_) or [0]
    for place, r in enumerate(np.argsort(-est.group_sizes_, kind="stable")[:2]):
        c = real[int(est.shares_[r, real].argmax())]
        phrase = people_who(est.row_names_[r], est.col_names_, c)
        captions = {
            "share": f"Map: the estimated share of {phrase} in every unit. Grey units have nobody of the group.",
            "uncertainty": f"Map: the width of the {context.percent} interval of the share of {phrase} in every unit. "
            "Darker units are less certain.",
            "residual": f"Map: the share of “{est.col_names_[c]}” in every unit, observed less expected from the "
            "groups' overall shares. Neighbours of one colour show that behaviour varies by place.",
        }
        for what in captions if place == 0 else ("share",):
            if what == "uncertainty" and "low" not in context.frames["units"]:
                continue  # the method gives no intervals of units
            names = est.row_names_[r], est.col_names_[c]
            numbers = plots.map_numbers(est, m, context.shapes, *names, what, context.level)
            frame = pd.DataFrame({"unit": numbers["units"], numbers["label"]: numbers["values"]})
            data = table(frame, f"Map of {what}, {phrase}", {numbers["label"]: "share"})
            section = "estimates" if what == "share" else "certainty"
            summary.add(section, figure("unit_map", numbers, captions[what], data))
