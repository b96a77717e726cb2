"""How certain shares are: bounds, intervals, other methods, single units, sensitivity, dependence on composition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import plots
from sumwise.ecological import aggregation_bias_test, influence, sensitivity, sensitivity_band
from sumwise.errors import DataError
from sumwise.nonvoting import choices, no_candidates, people_who
from sumwise.plots.style import MOST_LINES
from sumwise.report import held_out, other_methods, unit_tables
from sumwise.report.context import Context, listed, plural
from sumwise.report.summary import Summary, bullets, figure, table, text
from sumwise.report.text.ecological.figures import MOST_MAPPED, add_maps, add_unit_figures
from sumwise.report.text.ecological.wording import (
    CONTEXT,
    COVERED,
    POOLING,
    ROW_ERROR,
    SHARES,
)
from sumwise.voting import homogeneous_units

UNITS_LEFT_OUT = 20  # units without which shares are estimated again
QUICK_TO_REFIT = ("EcologicalEM", "Goodman")  # quick enough to fit twice more


def add_certainty(context: Context, summary: Summary) -> None:
    est, m = context.model, context.data
    width = est.upper_bound_ - est.lower_bound_
    low, high = est.interval(context.level)
    if context.method == "Bounds":
        words = f"The bounds are {100 * width.mean():.0f} percentage points wide on average."
    else:
        narrow = int((width < 0.1).sum())
        mean = float((high - low).mean())
        points = f"{100 * mean:.0f}" if mean >= 0.005 else "less than 1"
        words = (
            f"The bounds are {100 * width.mean():.0f} percentage points wide on average, the {context.percent} "
            f"intervals {points}. The difference comes from the method's assumptions, not from the data. "
            f"{narrow or 'None'} of the {width.size} bounds {'is' if narrow < 2 else 'are'} narrower than "
            "10 points."
        )
    summary.add("certainty", text(words))
    if context.truth is not None:
        _truth(context, summary, low, high)
    if context.method == "EcologicalEM":
        _how_intervals_came_about(context, summary)
    _sensitivity(context, summary)
    _other_methods(context, summary)
    alone = getattr(est, "pooling_", "alone") == "alone"  # halves would not borrow from the other contests
    if alone and context.method in QUICK_TO_REFIT and m.n_units >= 4 * m.n_rows * m.n_cols:
        _halves(context, summary)
    if alone and context.method == "EcologicalEM" and m.n_units <= MOST_MAPPED:
        _driving_units(context, summary)
    add_unit_figures(context, summary)
    add_maps(context, summary)


def _truth(context: Context, summary: Summary, low: np.ndarray, high: np.ndarray) -> None:
    true = context.truth
    inside = (low <= true + 1e-12) & (true <= high + 1e-12)
    words = (
        f"The truth is known here and was hidden from the method: {int(inside.sum())} of {inside.size} intervals "
        f"cover it ({context.percent} expected); the mean error is "
        f"{100 * np.abs(context.model.shares_ - true).mean():.1f} percentage points."
    )
    summary.checked.append(words)
    frame = context.frames["estimates"].assign(truth=true.ravel(), covered=inside.ravel())
    context.frames["estimates"] = frame
    columns = ["group", "outcome", "share", "low", "high", "truth", "covered"]
    summary.add("certainty", table(frame[columns], "Estimates and truth", {**SHARES, "truth": "share"}))


def _other_methods(context: Context, summary: Summary) -> None:
    fits = {context.method: context.model, **{n: m for n, m in context.compare.items() if hasattr(m, "shares_")}}
    if len(fits) > 1:
        own, sd = context.model, context.data.row_sd
        exact = " All but EcologicalEM take the counts by group as exact." if sd is not None and sd.any() else ""
        rows = pd.DataFrame(other_methods.share_differences(fits, context.level)[1:])
        inside = [f"{round(share * own.shares_.size)} of {own.shares_.size}" for share in rows["inside the intervals"]]
        rows["inside the intervals"] = inside
        kinds = dict.fromkeys(("mean difference", "largest difference"), "distance")
        numbers = plots.method_numbers(fits, context.level)
        names, real = own.col_names_, choices(own.col_names_) or list(range(own.shares_.shape[1]))
        what = "largest outcome" if len(real) == len(names) else "first choice"  # of candidates, where some didn't vote
        first = {name: np.asarray(real)[est.shares_[:, real].argmax(axis=1)] for name, est in fits.items()}
        ours = first[context.method]
        changed = [
            f"{name}: the {what} of the group “{own.row_names_[r]}” is “{names[first[name][r]]}”, "
            f"not “{names[ours[r]]}”."
            for name, est in fits.items()
            if est.fit_.converged
            for r in np.flatnonzero(first[name] != ours)
        ]
        unconverged = [name for name, est in fits.items() if not est.fit_.converged]
        agree = "All methods" if not unconverged else "All methods that converged"
        changed = changed or [f"{agree} agree on the {what} of every group."]
        changed += [
            f"{name} did not converge{_why(fits[name])}, so its {what}s are not compared." for name in unconverged
        ]
        summary.add(
            "certainty",
            table(
                rows,
                "Other methods on the same data",
                kinds,
                about=f"How far their shares are from those of {context.method}, and how many lie inside its "
                f"intervals. Methods that share an assumption can agree and still be wrong.{exact}",
            ),
            bullets(changed),
        )
        if numbers["low"].size <= MOST_LINES:
            caption = (
                f"The same shares by every method. The grey bar is the {context.percent} interval of {context.method}."
            )
            spread = unit_tables.methods_table(fits, context.level)
            data = table(spread, "Shares by method, with the intervals of each", SHARES)
            summary.add("certainty", figure("methods", numbers, caption, data))
    if context.not_compared:
        summary.add("certainty", text(*context.not_compared))


def _halves(context: Context, summary: Summary) -> None:
    est, m = context.model, context.data
    try:
        one, two = context.step(
            "fit two halves of the units", lambda: list(held_out.split_half(est, m, context.random_state))
        )
    except DataError as error:  # a group that only units of one half have
        summary.add("certainty", text(f"Two halves of the units could not be fitted apart: {error.message}"))
        return
    gap = 100 * np.abs(one - two)
    if gap.max() < 0.1:
        found = "all shares agree within 0.1 percentage points."
    else:
        r, c = np.unravel_index(int(gap.round(7).argmax()), gap.shape)  # of two equal ones the first
        of = people_who(est.row_names_[r], est.col_names_, int(c))
        found = (
            f"shares differ by {gap.mean():.1f} percentage points on average and by {gap.max():.1f} at most "
            f"(share of {of}: {100 * one[r, c]:.1f}% and {100 * two[r, c]:.1f}%)."
        )
    summary.add("certainty", text(f"Stability: fitted to two random halves of the units, {found}"))


def _driving_units(context: Context, summary: Summary) -> None:
    """Estimates without single units, and outcomes where nearly everybody belongs to one group."""
    est, m = context.model, context.data
    if m.n_units < 3:
        return
    frame = influence(est, m, most=UNITS_LEFT_OUT)
    first, drive = frame.iloc[0], [str(name) for name in frame.loc[frame["drives"], "unit"]]
    r, c = list(est.row_names_).index(first["group"]), list(est.col_names_).index(first["outcome"])
    without, share = (f"{100 * first[key]:.1f}%" for key in ("without", "share"))
    moved = f"is {without} in place of {share}" if without != share else f"stays at {share}"
    tried = plural(frame.attrs["tried"], "unit")
    each = (
        f"each of the {tried} was"
        if frame.attrs["tried"] == m.n_units
        else f"the {tried} with the largest residuals were"
    )
    of = people_who(est.row_names_[r], est.col_names_, c)
    words = (
        f"Single units: {each} left out in turn. Unit {first['unit']} moves "
        f"a share furthest, in standard errors: without it, the share of {of} {moved}."
    )
    flag = "No unit drives a finding."
    if drive:
        flag = f"{plural(len(drive), 'unit')} {'drives' if len(drive) == 1 else 'drive'} a finding: {listed(drive)}."
    rule = "A unit drives a finding if a share moves by half a standard error without it, or a first choice changes."
    summary.add("certainty", text(f"{words} {flag} {rule}"))
    alike = homogeneous_units(m)
    alike = alike[alike["units"] > 0]
    if len(alike):
        about = (
            "Units in which one group has 90% or more of the people, with each outcome's share there: no model, but "
            "units that need not behave as others do. least, largest: the smallest and the largest share among them."
        )
        kinds = dict.fromkeys(("share", "least", "largest"), "share") | {"people": "count"}
        summary.add("certainty", table(alike, "Homogeneous units", kinds, about=about))


def _how_intervals_came_about(context: Context, summary: Summary) -> None:
    est, m = context.model, context.data
    words = []
    if m.row_sd is not None and m.row_sd.any():
        words.append(ROW_ERROR[est.row_error])
    if hasattr(est, "slopes_"):
        _slopes(context, summary)
    if est.interval_kind == "contextual":
        words += [CONTEXT.format(points=100 * 2**0.5 * 0.5 * est.slope_deviation_), COVERED]
    if hasattr(est, "pooling_"):
        words.append(POOLING[est.pooling_])
    for line in words:
        summary.add("certainty", text(line))


def _slopes(context: Context, summary: Summary) -> None:
    est = context.model
    frame = pd.DataFrame(est.slopes_, columns=list(map(str, est.col_names_)))
    frame.insert(0, "covariate", list(est.covariate_names_))
    about = (
        "The change of the log share of each outcome, less the mean over outcomes, per standard deviation of a "
        "covariate; it is the same for all groups. Dependence on other things remains possible."
    )
    summary.add("certainty", table(frame, "Shares depend on covariates", {}, about=about))


def _why(est: Any) -> str:
    """Why a fit did not converge, where that is known."""
    count = getattr(est, "correlated_tables_", 0)
    if not count:
        return ""
    return (
        f" (in {count} of its 2 x 2 tables the two shares of a unit are as good as equal, as in units of nearly one "
        "group only, and the likelihood has no mode that can be reached)"
    )


def _sensitivity(context: Context, summary: Summary) -> None:
    candidates = [context.data.col_names[c] for c in choices(context.data.col_names)]
    if context.method == "Bounds" or len(candidates) < 2 or context.data.n_rows < 2:
        return
    frame = sensitivity(context.model, context.data)
    kinds = dict.fromkeys(("share", "if a fifth", "place-only", "tipping"), "share")
    about = (
        "Totals can't show whether differences between groups are differences between the places where they live. "
        f"share: the estimate, {_of_whom(context)}. "
        "if a fifth: the share if a fifth of the difference between groups were between places. "
        "place-only: if everybody in a unit behaved alike. tipping: the part of the difference that would have to be "
        "between places for the runner-up to draw level; empty if it never would. bounds settle: the totals alone "
        "decide which comes first."
    )
    summary.add("certainty", table(frame, "Sensitivity: if differences were between places", kinds, about=about))
    caption = (
        "Share of each group for its first choice, from the estimate (left) to place-only voting (right), in which "
        "everybody in a unit behaves alike."
    )
    numbers = sensitivity_band(context.model, context.data)
    data = table(
        frame[["group", "first choice", "share", "place-only"]], "From the estimate to place-only voting", kinds
    )
    summary.add("certainty", figure("sensitivity_band", numbers, caption, data))


def _of_whom(context: Context) -> str:
    """Of whom shares are where some did not vote."""
    gone = any(no_candidates(context.data.col_names))
    return "of all people of the group, those who did not vote included" if gone else "of all people of the group"


def context_effects(context: Context) -> tuple[list[str], dict[str, Any] | None]:
    """Whether behaviour appears to vary with composition: a caution if it does, and the table of tests."""
    m = context.data
    if min(m.n_rows, m.n_cols) < 2 or m.n_units < 8:
        return [], None
    frame = aggregation_bias_test(m)
    frame["detectable"] = frame["detectable"].where(frame["detectable"] <= 1)
    p, adjusted = frame["p value"].to_numpy(), frame["adjusted p"].to_numpy()
    weak, below, n = int((frame["power"].to_numpy() < 0.8).sum()), int((p < 0.05).sum()), len(frame)
    small = f"{below} of {n} p values are below 0.05; chance alone would give about {0.05 * n:.1f}."
    found = "All tests find 20 points at least four times in five."
    if n == 1:
        small = f"The p value is {'' if below else 'not '}below 0.05."
        found = found.replace("All tests find", "The test finds")
    if weak:
        weak_tests = "The test" if n == 1 else f"{weak} of {plural(n, 'test')}"
        found = f"{weak_tests} would miss 20 points more often than one time in five."
    tests = table(
        frame,
        "Tests of whether behaviour varies with composition",
        {"p value": "p", "adjusted p": "p", "power": "chance", "detectable": "distance"},
        folded=True,
        about="If a group behaved the same whatever its share of a unit, an outcome's share would be linear in the "
        "group's share. curvature: the coefficient of the square in a regression that allows for it. "
        "adjusted p: for the number of tests (Holm). "
        "power: the probability of a p value below 0.05 if two groups' rates changed differently with composition, "
        "by 20 points between units with none and all of the group. detectable: the difference found with a "
        f"probability of 80%, empty where it is more than 100 points. {small} {found} "
        "A straight line proves nothing: if differences between groups are differences between places, outcomes "
        "are linear in composition too, and no test of totals can see it. The table on sensitivity shows what that "
        "would change.",
    )
    if not (adjusted < 0.01).any():
        return [], tests
    if context.method == "Bounds":
        answer = "the bounds allow for it"
    elif context.model.interval_kind == "contextual":
        answer = "the intervals are wider for it"
    else:
        answer = f"{context.method} assumes that it does not"
    return [
        "Read with caution: group behaviour appears to vary with the composition of units "
        f"(p below 0.05 in {int((p < 0.05).sum())} of {plural(len(frame), 'test')}); {answer}."
    ], tests
