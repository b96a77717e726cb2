"""The report on group behaviour from aggregate totals: its summary, from the lead to the assumptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise.ecological import doubts
from sumwise.ecological.identification import counted_units
from sumwise.ecological.king_tables import UNITS_PER_PARAMETER
from sumwise.errors import DataError
from sumwise.frames import by_names
from sumwise.margins import Margins
from sumwise.nonvoting import choices, is_nonvoting
from sumwise.report import unit_tables
from sumwise.report.context import Context, listed, plural
from sumwise.report.rounding import finding_digits, span
from sumwise.report.summary import Summary, bullets, facts, note, table
from sumwise.report.text.ecological.certainty import add_certainty, context_effects
from sumwise.report.text.ecological.figures import add_main_figure, add_polarisation, shares_shown, voters_of
from sumwise.report.text.ecological.findings import alike_units, findings, in_words, small_groups, voters_meant
from sumwise.report.text.ecological.wording import (
    AS_COUNTED,
    ASSUMED,
    BIAS,
    BOUNDS,
    CERTAIN,
    RISKS,
    SHARES,
    UNCERTAIN_GROUPS,
    model_only,
)
from sumwise.voting import Turnout

LONG_TITLE = 120  # characters, from which groups and outcomes are counted rather than listed


def write(context: Context) -> Summary:
    """The summary of a method fitted to margins."""
    est, m = context.model, context.data
    if not isinstance(m, Margins):
        raise DataError("A report on a method for margins needs its margins.", hint="give the Margins of the fit.")
    if context.truth is not None:
        context.truth = _true_shares(context.truth, m)
    estimates = est.estimate(context.level).to_frame()
    estimates["count"] = est.total_.ravel()
    units = unit_tables.unit_cells(est, m, context.level)
    if not context.head_counts:
        estimates, units = (frame.drop(columns="count") for frame in (estimates, units))
    context.frames |= {"estimates": estimates, "units": units}
    groups, outcomes = list(map(str, est.row_names_)), list(map(str, est.col_names_))
    chosen = [outcomes[c] for c in choices(outcomes)] or outcomes
    about = f"{listed(chosen)} by {listed(groups)}"
    if len(about) > LONG_TITLE:
        about = f"{plural(len(chosen), 'outcome')} by {plural(len(groups), 'group')}"
    summary = Summary(context.title or about, "ecological", context.method)
    low, high = est.interval(context.level)
    summary.record = {
        "units": m.n_units,
        "people": float(m.totals.sum()) if context.head_counts else None,
        "groups": groups,
        "outcomes": outcomes,
        "shares": est.shares_,
        "low": low,
        "high": high,
        "level": context.level,
    }
    curved, tests = context_effects(context)
    beyond = int(((est.shares_ < est.lower_bound_ - 1e-6) | (est.shares_ > est.upper_bound_ + 1e-6)).sum())
    impossible = [
        f"{beyond} of {len(estimates)} estimates lie outside their bounds, which is impossible: the data contradict "
        f"the assumptions of {context.method}."
    ]
    impossible = impossible if beyond else []
    narrow = [model_only(context.method)] if est.interval_kind == "model only" else []
    stated = [UNCERTAIN_GROUPS] if m.row_sd is not None and m.row_sd.any() else []
    cautions = [
        *narrow,
        *stated,
        *context.cautions,
        *doubts(m),
        *impossible,
        *small_groups(est),
        *alike_units(m),
        *curved,
    ]
    voters = voters_of(est, context.level, context.random_state)
    summary.findings = findings(context, voters)
    summary.lead = [_verdict(context, summary.findings, voters is not None), *cautions]
    add_main_figure(context, summary, voters)
    _estimates(context, summary, voters)
    add_certainty(context, summary)
    summary.add("certainty", tests)
    context.convergence(summary)
    _assumptions(context, summary)
    return summary


def _true_shares(truth: Any, m: Margins) -> np.ndarray:
    """True shares in the order of the margins: a frame by its labels, an array as it is."""
    if isinstance(truth, pd.DataFrame) and set(truth.index) == set(m.row_names):
        truth = truth.loc[list(m.row_names)]
    true = by_names(truth, m.col_names, "truth")
    if true.shape != (m.n_rows, m.n_cols):
        raise DataError(
            f"truth has shape {true.shape}; there are {m.n_rows} groups and {m.n_cols} outcomes.",
            hint="give the share of every outcome in every group.",
        )
    return true


def _verdict(context: Context, found: list[dict[str, Any]], of_voters: bool) -> str:
    m = context.data
    sizes, totals, people = "sizes", "totals", f" ({plural(m.totals.sum(), 'person', 'people')})"
    if not context.head_counts:
        sizes, totals, people = "shares", "shares", ""
    chosen = [m.col_names[c] for c in choices(m.col_names)]
    everyone = 0 < len(chosen) < m.n_cols
    away = [name for name in m.col_names if name not in chosen]
    at_home = any(map(is_nonvoting, away))  # blank and invalid ballots are votes
    outcomes = f"{listed(chosen)}; {'not voting' if at_home else listed(away)}" if everyone else listed(m.col_names)
    divides = ", but not how each group divides among the outcomes" if m.n_rows > 1 else ""
    inferred = f"; {context.method} estimates that" if divides else ""
    known = (
        f"The data give the {sizes} of the groups ({listed(m.row_names)}) and the {totals} of the outcomes "
        f"({outcomes}) in {plural(m.n_units, 'unit')}{people}{divides}."
    )
    if context.method == "Bounds":
        return f"{known} This report shows what the totals imply without any model: a range for every share."
    best = [f for f in found if f["value"] is not None and f["kind"] == "share"][:2]
    if not best:
        return f"{known} {context.method} was fitted, but none of its estimates is credible: the findings are bounds."
    ends = [span(f["low"], f["high"], "share", finding_digits(f)) for f in best]
    ends[0] = f"{context.percent} interval {ends[0]}"
    phrase = " and ".join(f"{in_words(f)} ({end})" for f, end in zip(best, ends))
    of = ""
    if of_voters and len(chosen) > 1:
        of = f" Shares are of {voters_meant(m)}; each finding adds the share of the whole group."
    elif everyone:
        voted = "they voted" if at_home else "their vote was valid"
        of = f" Shares are of everybody in a group, whether {voted} or not."
    return f"An estimated {phrase}.{of} {known.removesuffix('.')}{inferred}."


def _estimates(context: Context, summary: Summary, voters: Turnout | None) -> None:
    est = context.model
    shown, band = shares_shown(context), ""
    if "place-only" in shown:
        band = (
            " if a fifth, place-only: the share if a fifth, or all, of the difference between groups were between the "
            "places where they live, which no interval includes and no total shows."
        )
    summary.add(
        "estimates",
        table(
            shown,
            "Shares of every group",
            SHARES,
            "estimates.csv",
            about=(
                "share: if everybody in a unit behaved alike, a point inside the bounds and no estimate. low, high, "
                if context.method == "Bounds"
                else f"low, high: the {context.percent} interval. "
            )
            + "lower bound, upper bound: the range that the totals of all units imply, whatever the model."
            + band
            + (" count: the number of people that the share amounts to." if context.head_counts else ""),
        ),
    )
    quoted = any(f["value"] is not None for f in summary.findings)  # else no estimate is a finding, nor its rank
    if quoted and min(est.shares_.shape) > 1:
        chosen = unit_tables.first_choices(est, context.level, context.random_state)
        kinds = dict.fromkeys(("support", "low", "high", "support elsewhere"), "share") | {"probability": "chance"}
        summary.add(
            "estimates",
            table(
                chosen,
                "First choice of every group",
                kinds,
                about="probability: that this outcome has the group's largest share. support: that share, with its "
                f"{context.percent} interval (low, high). support elsewhere: its share among everybody else."
                + (f" Shares are of {voters_meant(context.data)}." if voters is not None else ""),
            ),
        )
        add_polarisation(context, summary)
    if voters is not None:
        shown = dict.fromkeys(("turnout", "share", "low", "high"), "share")
        if voters.abstention:
            away = f"Counted as not voting: {', '.join(map(str, voters.abstention))}."
            summary.add("estimates", table(voters.turnout.to_frame(), "Turnout by group", shown, about=away))
        summary.add(
            "estimates",
            table(
                voters.choice.to_frame(),
                "Choice among voters",
                shown,
                about=f"Shares are of {voters_meant(context.data)}.",
            ),
        )
    units = context.frames["units"].rename(columns=BOUNDS)
    summary.add("appendix", table(units, "Every unit", SHARES, "units.csv", folded=True))


def _assumptions(context: Context, summary: Summary) -> None:
    m = context.data
    uncertain = m.row_sd is not None and m.row_sd.any()
    summary.add(
        "assumptions",
        bullets(ASSUMED.get(context.method, ["See the documentation of the method."]), f"{context.method} assumes"),
        bullets([BIAS + (AS_COUNTED if uncertain else CERTAIN), *RISKS], "What could go wrong"),
        facts({"population of each unit": m.denominator}),
    )
    if context.method == "King" and (n := len(counted_units(m))) < 5 * UNITS_PER_PARAMETER:
        few = f"King's intervals are too narrow with fewer than {5 * UNITS_PER_PARAMETER} units (here {n}). "
        summary.add("found", note(f"{few}Compare them with those of EcologicalEM."))
    if context.method == "King" and (m.n_rows, m.n_cols) == (2, 2):
        found = context.model.assumptions(m)
        rows = [{"claim": v["claim"], "p value": v["p_value"], "result": v["verdict"]} for v in found.values()]
        summary.add("assumptions", table(pd.DataFrame(rows), "Tests of King's assumptions", {"p value": "p"}))
    if not getattr(context.model.fit_, "converged", True):
        summary.add("found", note("The fit stopped before it converged; raise max_iter."))
