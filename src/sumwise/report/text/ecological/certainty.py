"""How certain shares are: bounds, intervals, other methods, single units, sensitivity, dependence on composition."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.ecological import aggregation_bias_test, homogeneous_units, influence, sensitivity, sensitivity_contours
from sumwise.ecological.calibration import few_units_factor, spread_factor
from sumwise.ecological.identification import counted_units
from sumwise.errors import DataError
from sumwise.nonvoting import choices
from sumwise.report.context import Context, listed, plural
from sumwise.report.summary import Summary, bullets, figure, table, text
from sumwise.report.text.ecological.figures import MOST_LINES, MOST_MAPPED, add_maps, add_unit_figures
from sumwise.report.text.ecological.findings import people_who
from sumwise.report.text.ecological.wording import (
    CALIBRATION,
    COVARIATES,
    CURVED,
    FEW_UNITS,
    MODEL_ONLY,
    POOLING,
    ROW_ERROR,
    SHARES,
    VARIED,
)

UNITS_LEFT_OUT = 20  # units without which shares are estimated again
NOTICEABLY_WIDER = 1.1  # times as wide, from which the page says so
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
    if est.interval_kind == "model only":
        summary.add("certainty", text(MODEL_ONLY.format(method=context.method)))
    if context.truth is not None:
        _truth(context, summary, low, high)
    _other_methods(context, summary)
    alone = getattr(est, "pooling_", "alone") == "alone"  # halves would not borrow from the other contests
    if alone and context.method in QUICK_TO_REFIT and m.n_units >= 4 * m.n_rows * m.n_cols:
        _halves(context, summary)
    if alone and context.method == "EcologicalEM" and m.n_units <= MOST_MAPPED:
        _driving_units(context, summary)
    context.convergence(summary)
    if context.method == "EcologicalEM":
        _how_intervals_came_about(context, summary)
    add_unit_figures(context, summary)
    add_maps(context, summary)
    _sensitivity(context, summary)


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
        own = context.model
        rows = pd.DataFrame(diagnostics.share_differences(fits, context.level)[1:])
        inside = [f"{round(share * own.shares_.size)} of {own.shares_.size}" for share in rows["inside the intervals"]]
        rows["inside the intervals"] = inside
        kinds = dict.fromkeys(("mean difference", "largest difference"), "distance")
        numbers = diagnostics.method_numbers(fits, context.level)
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
        changed += [f"{name} did not converge, so its {what}s are not compared." for name in unconverged]
        summary.add(
            "certainty",
            table(
                rows,
                "Other methods on the same data",
                kinds,
                about=f"How far their shares are from those of {context.method}, and how many lie inside its "
                "intervals. Methods that share an assumption can agree and still be wrong.",
            ),
            bullets(changed),
        )
        if numbers["low"].size <= MOST_LINES:
            caption = (
                f"The same shares by every method. The grey bar is the {context.percent} interval of {context.method}."
            )
            spread = diagnostics.methods_table(fits, context.level)
            data = table(spread, "Shares by method, with the intervals of each", SHARES)
            summary.add("certainty", figure("methods", numbers, caption, data))
    if context.not_compared:
        summary.add("certainty", text(*context.not_compared))


def _halves(context: Context, summary: Summary) -> None:
    est, m = context.model, context.data
    try:
        one, two = context.step(
            "fit two halves of the units", lambda: list(diagnostics.split_half(est, m, context.random_state))
        )
    except DataError as error:  # a group that only units of one half have
        summary.add("certainty", text(f"Two halves of the units could not be fitted apart: {error.message}"))
        return
    gap = 100 * np.abs(one - two)
    if gap.max() < 0.1:
        found = "all shares agree within 0.1 percentage points."
    else:
        r, c = np.unravel_index(int(gap.round(7).argmax()), gap.shape)  # of two equal ones the first
        found = (
            f"shares differ by {gap.mean():.1f} percentage points on average and by {gap.max():.1f} at most "
            f"(share of {people_who(est, r, c)}: {100 * one[r, c]:.1f}% and {100 * two[r, c]:.1f}%)."
        )
    summary.add("certainty", text(f"Stability: fitted to two random halves of the units, {found}"))


def _driving_units(context: Context, summary: Summary) -> None:
    """Estimates without single units, and outcomes where nearly everybody belongs to one group."""
    est, m = context.model, context.data
    if m.n_units < 3 or np.isnan(est.standard_errors_).any():
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
    words = (
        f"Single units: {each} left out in turn. Unit {first['unit']} moves "
        f"a share furthest, in standard errors: without it, the share of {people_who(est, r, c)} {moved}."
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
        corrected = est.row_error == "berkson" or est.regression_calibration
        words.append(ROW_ERROR[est.row_error if corrected else "uncorrected"])
    if hasattr(est, "slopes_"):
        _slopes(context, summary)
    if est.interval_kind == "calibrated":
        words += [CALIBRATION, *([COVARIATES] if hasattr(est, "slopes_") else [])]
        rho = getattr(est, "overdispersion_", 0.0)
        if spread_factor(rho) > NOTICEABLY_WIDER:
            words.append(VARIED.format(rho=rho, factor=spread_factor(rho)))
        n, factor = len(counted_units(m)), few_units_factor(m.rows)
        if (
            m.n_rows > 1 and n > 1 and factor > NOTICEABLY_WIDER
        ):  # a single group or unit has the bounds as its intervals
            words.append(FEW_UNITS.format(units=plural(n, "unit"), factor=factor))
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


def _sensitivity(context: Context, summary: Summary) -> None:
    candidates = [context.data.col_names[c] for c in choices(context.data.col_names)]
    if context.method == "Bounds" or len(candidates) < 2 or context.data.n_rows < 2:
        return
    kinds = {"gap": "distance", "isolation": "share", "tipping": "distance"}
    about = (
        "How much aggregation bias would it take to change a group's first choice? gap: its lead over the runner-up. "
        "tipping: how many points more support the first choice (and less the runner-up) would need in units made up "
        "of the group alone than in units without it, unnoticed in the totals, for the lead to vanish. isolation: the "
        "mean share of the group in its members' units. bounds settle: the totals alone decide it. robust: they do, or "
        "tipping is at least 20 points; 99% of such findings were right on contests with known results that the limit "
        "was not chosen on."
    )
    frame = sensitivity(context.model, context.data)
    summary.add("certainty", table(frame, "Sensitivity to dependence on composition", kinds, about=about))
    open_ = frame[~frame["bounds settle"]]
    if not len(open_):
        return
    sizes = dict(zip(context.model.row_names_, context.model.group_sizes_))
    group = max(open_["group"], key=lambda name: sizes[name])
    numbers = sensitivity_contours(context.model, context.data, group)
    caption = (
        f"How much aggregation bias would it take for the group “{group}” to prefer another outcome than "
        f"“{numbers['first']}”? Colours show its lead over “{numbers['second']}” if support for the two differed by "
        "that many points between units made up of the group and units without it. The lead vanishes at the black line."
    )
    axes = np.meshgrid(numbers["first_slope"], numbers["second_slope"], indexing="ij")
    grid = pd.DataFrame(
        {"first slope": axes[0].ravel(), "second slope": axes[1].ravel(), "lead": numbers["gap"].ravel()}
    )
    data = table(grid, f"Lead of {numbers['first']} by slopes", dict.fromkeys(grid.columns, "distance"))
    summary.add("certainty", figure("sensitivity_contours", numbers, caption, data))


def add_context_effects(context: Context, summary: Summary) -> list[str]:
    """Whether behaviour appears to vary with composition: a caution where it does, and the tests."""
    m = context.data
    if min(m.n_rows, m.n_cols) < 2 or m.n_units < 8:
        return []
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
        tests = "The test" if n == 1 else f"{weak} of {plural(n, 'test')}"
        found = f"{tests} would miss 20 points more often than one time in five."
    summary.add(
        "certainty",
        table(
            frame,
            "Does behaviour vary with composition?",
            {"p value": "p", "adjusted p": "p", "power": "chance", "detectable": "distance"},
            about="If a group behaved the same whatever its share of a unit, an outcome's share would be linear in the "
            "group's share. curvature: the coefficient of the square in a regression that allows for it. "
            "adjusted p: for the number of tests (Holm). "
            "power: the probability of a p value below 0.05 if two groups' rates changed differently with composition, "
            "by 20 points between units with none and all of the group. detectable: the difference found with a "
            f"probability of 80%, empty where it is more than 100 points. {small} {found} "
            "A straight line proves nothing: some aggregation bias leaves no trace in totals.",
        ),
    )
    if not (adjusted < 0.01).any():
        return []
    return [
        "Read with caution: group behaviour appears to vary with the composition of units "
        f"(p below 0.05 in {int((p < 0.05).sum())} of {plural(len(frame), 'test')}); "
        + ("the bounds allow for it." if context.method == "Bounds" else f"{context.method} assumes that it does not.")
        + (f" {CURVED}" if context.method == "EcologicalEM" and context.model.interval_kind == "calibrated" else "")
    ]
