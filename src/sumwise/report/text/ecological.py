"""The report on group behaviour from aggregate totals (ecological inference)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.ecological import (
    Turnout,
    aggregation_bias_test,
    doubts,
    homogeneous_units,
    influence,
    sensitivity,
    turnout,
)
from sumwise.ecological.calibration import REGRESSED, few_units_factor, spread_factor
from sumwise.ecological.identification import counted_units
from sumwise.ecological.king import FEW_UNITS as KING_UNITS
from sumwise.ecological.turnout_by_group import among_voters
from sumwise.errors import DataError
from sumwise.frames import by_names
from sumwise.margins import Margins
from sumwise.nonvoting import choices, chose, is_nonvoting, no_candidates
from sumwise.plots.share_heatmap import turned
from sumwise.report.context import Context, listed, plural
from sumwise.report.summary import Summary, bullets, facts, figure, finding, note, table, text

SHARES = dict.fromkeys(("share", "low", "high", "lower bound", "upper bound"), "share") | {"count": "count"}
POOLING = {
    "alone": "The contest was fitted with others, and borrowed nothing from them.",
    "pooled": (
        "The contest was fitted with others of its election and borrows from them, to the degree that best predicts "
        "held-out units."
    ),
    "pooled and corrected": (
        "The contest was fitted with others of its election and borrows from them. The estimates were then corrected "
        "by what was learned on elections in New Zealand and Scotland whose split votes were counted, because these "
        "contests look like those; EcologicalEM(correction=False) leaves this out."
    ),
}
BOUNDS = {"lower_bound": "lower bound", "upper_bound": "upper bound"}
LONG_TITLE = 120  # characters, from which groups and outcomes are counted rather than listed
MOST_LINES = 24  # of one interval figure; larger tables are drawn as a heat map
ALIKE = 0.01  # a group's share of a unit, less its mean: all below this say next to nothing
FEWEST_PEOPLE, SMALLEST_GROUP = 30, 0.0005  # of a group that gets a finding
MOST_MAPPED = 3000  # units of a map on the page
MOST_GROUPS = 5  # with a finding of their own
TRIED = 20  # units without which shares are estimated again
NOTICEABLE = 1.1  # times as wide, from which the page says so
STABLE = ("EcologicalEM", "Goodman")  # quick enough to fit twice more
CALIBRATION = (
    "Intervals of EcologicalEM allow for sampling error, for the choice between two variants of the method, and for "
    "model error, whose size was estimated on real elections. Its few tuning constants were chosen on 176 contests of "
    "three elections with known results; on 210 contests of three other elections, 95% intervals covered 97.4% of "
    "the true cells. Tables of few groups and outcomes have wider intervals, by what the same contests show when "
    "groups and outcomes are merged, and so have units that vary more than theirs. The coverage carries over to these "
    "data only as far as they resemble those contests. The intervals assume that behaviour depends on the composition "
    "of units no more strongly than it did there: in simulated contests where it did, in a way that totals hardly "
    "show, they covered 79% of the true cells."
)
CURVED = (
    "On real contests where the same test rejected, its 95% intervals covered 97% of the true cells; in simulated ones "
    "with stronger dependence, 79%."
)
VARIED = (
    "These units vary more than those of the contests that the intervals were calibrated on (overdispersion {rho:.3f}, "
    "and at most 0.018 there), as they do where something that goes with composition moves all groups: the intervals "
    "are {factor:.1f} times as wide as they would be otherwise. Covariates that explain the variation narrow them."
)
FEW_UNITS = (
    "{units} with these compositions hardly identify the shares of groups: the intervals are {factor:.1f} times as "
    "wide as they would be with more units, or with units that differ more in composition."
)
COVARIATES = (
    "With covariates, intervals allow for less model error. On contests with known cells whose merged groups' "
    "composition served as covariates, of elections that the allowance was not chosen on, they covered 96.6% of the "
    "true cells. Where covariates explain all dependence on composition, they are wider than need be; "
    "EcologicalEM(calibrated=False) leaves the allowance out, on that assumption."
)
ROW_ERROR = {
    "classical": (
        "The counts by group carry a stated error (row_sd), taken as classical: the truth plus noise. Estimates were "
        "fitted to the expected counts given the observed ones (regression calibration), and intervals include the "
        "error. If the truth instead varies around the counts, as around sums of voters' probabilities, the "
        "correction overstates differences between groups; EcologicalEM(row_error='berkson') leaves it out."
    ),
    "berkson": (
        "The counts by group carry a stated error (row_sd), taken as Berkson error: the truth varies around the "
        "counts. Estimates are not corrected for it, and intervals include it. If the counts instead are the truth "
        "plus noise, differences between groups are understated; EcologicalEM(row_error='classical') corrects that."
    ),
    "uncorrected": (
        "The counts by group carry a stated error (row_sd). Estimates are not corrected for it, so differences "
        "between groups may be understated; intervals include that."
    ),
}
MODEL_ONLY = (
    "These intervals are not calibrated: they allow for chance if the model of {method} is right, and for nothing "
    "else. On files whose true cells are known, the 95% intervals of King and of Goodman missed many of them. "
    "EcologicalEM has intervals that allow for model error."
)
ASSUMED = {
    "EcologicalEM": [
        "Units are independent of each other, given what all units share.",
        "Each group's outcome shares vary around a common mean from unit to unit, independently of composition.",
        "Estimates are adjusted for the tendency of such fits to understate differences between groups; the size of "
        "the adjustment was chosen on real elections.",
    ],
    "King": [
        "The shares of a unit are draws from one truncated normal distribution (given covariates, if any).",
        "They do not depend on the unit's composition beyond the covariates (no aggregation bias).",
        "Units are independent, given these.",
    ],
    "MultinomialDirichlet": [
        "The outcome shares of each group in a unit are draws from one Dirichlet distribution per group.",
        "They do not depend on the unit's composition (no aggregation bias).",
        "Posterior standard deviations are widened by a factor that was chosen on real elections.",
    ],
    "Goodman": [
        "Each group's outcome shares are the same in all units, or vary independently of composition.",
        "The regression does not keep estimates between 0 and 1, and cells need not add up to a unit's totals.",
        "Intervals allow for sampling error only.",
    ],
    "Bounds": [
        "None beyond correct totals: the bounds hold however people behaved. Where they are wide, the data say little."
    ],
}
RISKS = [
    "Aggregation bias: a group may behave differently where it is concentrated. Totals need not show it. The bounds "
    "hold regardless.",
    "Mismatched populations: people counted among the groups but not among the outcomes (residents and voters, for "
    "instance). Every share is a share of the population named below.",
    "Totals of the two sides that come from different years or boundaries.",
    "Few units, or units of similar composition: the assumptions then drive the estimates more than the data do.",
]


def write(context: Context) -> Summary:
    """The summary of a method fitted to margins."""
    est, m = context.model, context.data
    if context.truth is not None:
        context.truth = _true_shares(context.truth, m)
    estimates = est.estimate(context.level).to_frame()
    estimates["count"] = est.total_.ravel()
    units = diagnostics.unit_cells(est, m, context.level)
    if not context.head_counts:
        estimates, units = (frame.drop(columns="count") for frame in (estimates, units))
    context.frames |= {"estimates": estimates, "units": units}
    groups, outcomes = list(map(str, est.row_names_)), list(map(str, est.col_names_))
    chosen = [outcomes[c] for c in choices(outcomes)] or outcomes
    about = f"{listed(chosen)} by {listed(groups)}"
    if len(about) > LONG_TITLE:
        about = f"{plural(len(chosen), 'outcome')} by {plural(len(groups), 'group')}"
    summary = Summary(context.titled(about), "ecological", context.method)
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
    curved = _context_effects(context, summary)
    beyond = int(((est.shares_ < est.lower_bound_ - 1e-6) | (est.shares_ > est.upper_bound_ + 1e-6)).sum())
    impossible = [
        f"{beyond} of {len(estimates)} estimates lie outside their bounds, which is impossible: the data contradict "
        f"the assumptions of {context.method}."
    ]
    impossible = impossible if beyond else []
    cautions = [
        *context.cautions,
        *doubts(m),
        *impossible,
        *_small_groups(est),
        *_alike_units(m),
        *curved,
    ]
    away = no_candidates(m.col_names)
    some_voted = any(away) and not all(away) and context.method != "Bounds" and min(est.shares_.shape) > 1
    voters = turnout(est, level=context.level, random_state=context.random_state) if some_voted else None
    summary.findings = _findings(context, bool(curved), voters)
    summary.lead = [_verdict(context, summary.findings, voters is not None), *cautions]
    _main_figure(context, summary)
    _estimates(context, summary, estimates, voters)
    _certainty(context, summary)
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
    known = (
        f"The data give the {sizes} of the groups ({listed(m.row_names)}) and the {totals} of the outcomes "
        f"({outcomes}) in {plural(m.n_units, 'unit')}{people}{divides}."
    )
    if context.method == "Bounds":
        return f"{known} This report shows what the totals imply without any model: a range for every share."
    best = [f for f in found if f["value"] is not None and f["kind"] == "share"][:2]
    if not best:
        return f"{known} {context.method} was fitted, but none of its estimates is credible: the findings are bounds."
    shares = (f["what"].removeprefix("Share of ").rsplit("” that ", 1) for f in best)
    phrase = " and ".join(f"{100 * f['value']:.0f}% of {'” '.join(words)}" for f, words in zip(best, shares))
    widest = max((f["high"] - f["low"] for f in best), default=0.0)
    if len(best) == 1:
        sure = f"The {context.percent} interval is {100 * widest:.0f} percentage points wide."
    elif widest < 0.15:
        sure = f"Their {context.percent} intervals are at most {100 * widest:.0f} percentage points wide."
    else:
        sure = f"Their {context.percent} intervals are wide: up to {100 * widest:.0f} percentage points."
    of = ""
    if everyone:
        of = (
            f" Shares are of everybody in a group, whether {'they voted' if at_home else 'their vote was valid'} or not"
        )
        of += f"; findings on a group add the share among {_valid(m)}." if of_voters and len(chosen) > 1 else "."
    return f"{known} {context.method} estimates that {phrase}.{of} {sure}"


def _valid(margins: Any) -> str:
    """Whom shares among voters are of, in words: blank and invalid ballots are left out, as are people at home."""
    away = [name for name, none in zip(margins.col_names, no_candidates(margins.col_names)) if none]
    return "those who voted" if all(map(is_nonvoting, away)) else "those whose vote was valid"


def _phrase(est: Any, r: Any, c: Any) -> str:
    return f"the group “{est.row_names_[r]}” that {chose(est.col_names_, c)}"


def _findings(context: Context, curved: bool, voters: Turnout | None) -> list[dict[str, Any]]:
    """The largest share of the largest groups, then the difference between the two largest."""
    est = context.model
    low, high = est.interval(context.level)
    real = choices(est.col_names_) or [0]
    order = np.argsort(-est.group_sizes_, kind="stable")[:MOST_GROUPS]
    order = np.array([r for r in order if not _almost_nobody(est, r)] or [order[0]])
    known = len(real) > 1 and context.data.n_rows > 1
    doubt: list[dict] = sensitivity(est, context.data).to_dict("records") if known else []
    out = []
    for r in order:
        c = real[int(est.shares_[r, real].argmax())]
        bounds = float(est.lower_bound_[r, c]), float(est.upper_bound_[r, c])
        ends: dict[str, Any] = {"lower_bound": bounds[0], "upper_bound": bounds[1]}
        what = f"Share of {_phrase(est, r, c)}"
        doubtful = ""
        if _too_narrow(est, r, c, float(high[r, c] - low[r, c]), context.level):
            doubtful = "The model's interval is narrower than a sample of this size allows, so no estimate is quoted."
        elif not ends["lower_bound"] - 1e-6 <= est.shares_[r, c] <= ends["upper_bound"] + 1e-6:
            doubtful = f"The estimate, {100 * est.shares_[r, c]:.1f}%, lies outside these bounds, which is impossible."
        if context.method == "Bounds" or doubtful:
            out.append(finding(what, None, **ends, because=None if context.method == "Bounds" else doubtful))
            continue
        trust, because = _trust(context, r, c, low, high, curved)
        if voters is not None and len(real) > 1:
            choice = voters.choice
            share, start, end = (
                100 * np.asarray(part)[r, real.index(c)] for part in (choice.values, choice.low, choice.high)
            )
            because = f"Among {_valid(context.data)}: {share:.0f}% ({start:.0f}% to {end:.0f}%). {because}"
        if doubt and doubt[r]["bounds settle"]:
            because += " The totals alone settle that no other outcome has a larger share of the group."
        elif doubt:
            need = min(100 * doubt[r]["tipping"], 100)
            need = "more than 100 points" if need == 100 else f"{need:.0f} points"
            because += (
                f" Dependence on composition would have to reach {need} for “{doubt[r]['runner-up']}” to draw level."
            )
        inside: dict[str, Any] = {"low": float(low[r, c]), "high": float(high[r, c]), "level": context.level}
        if context.truth is not None:
            inside["truth"] = float(context.truth[r, c])
        out.append(finding(what, float(est.shares_[r, c]), **inside, **ends, trust=trust, because=because))
    if len(order) > 1 and all(f["value"] is not None for f in out[:2]):
        of_voters = voters is not None and len(real) > 1
        out.append(_difference(context, order, real, curved, of_voters))
    return out


def _almost_nobody(est: Any, r: int) -> bool:
    """Whether a group has too few people for a finding: fewer than 30, or less than one in two thousand."""
    sizes = np.asarray(est.group_sizes_, dtype=float)
    return bool(sizes[r] < FEWEST_PEOPLE or sizes[r] < SMALLEST_GROUP * sizes.sum())


def _small_groups(est: Any) -> list[str]:
    """A caution on groups with almost nobody: tables show them, and no finding does."""
    sizes = np.asarray(est.group_sizes_, dtype=float)
    small = [r for r in range(len(sizes)) if _almost_nobody(est, r)]
    named = [f"“{est.row_names_[r]}” ({100 * sizes[r] / sizes.sum():.2g}% of all people)" for r in small]
    groups = "group" if len(named) == 1 else "groups"
    return [f"Almost nobody is in the {groups} {listed(named)}: too few for a finding."] if named else []


def _alike_units(margins: Any) -> list[str]:
    """A caution where all units have nearly the same composition, so that the model alone separates the groups."""
    full = margins[margins.totals > 0]
    spread = float(np.abs(full.row_shares - full.row_shares.mean(axis=0)).max()) if len(full) > 1 else 1.0
    if margins.n_rows < 2 or not 1e-9 <= spread < ALIKE:
        return []
    return [
        f"All {len(full)} units have nearly the same composition (within {100 * spread:.2g} percentage points of the "
        "mean): the data say next to nothing about differences between groups, whatever the intervals."
    ]


def _too_narrow(est: Any, r: int, c: int, width: float, level: float) -> bool:
    """Whether an interval is far narrower than asking the whole group once would give, though the bounds are wide."""
    from scipy.stats import norm

    share, size = float(np.clip(est.shares_[r, c], 0, 1)), float(est.group_sizes_[r])
    asked = 2 * norm.ppf((1 + level) / 2) * np.sqrt(max(share * (1 - share), 1e-4) / max(size, 1.0))
    return bool(est.upper_bound_[r, c] - est.lower_bound_[r, c] > 0.1 and width < 0.25 * asked)


def _difference(context: Context, order: np.ndarray, real: list[int], curved: bool, of_voters: bool) -> dict[str, Any]:
    """The difference between the two largest groups, among voters where turnout is known: groups differ in that too."""
    est = context.model
    one, two = (int(r) for r in order[:2])
    c = real[int(est.total_[:, real].sum(axis=0).argmax())]
    shares, draws, among, ends = est.shares_, est.sample(2000, context.random_state), "", {}
    if of_voters:
        away = np.array(no_candidates(est.col_names_))
        (_, voted), (_, drawn) = among_voters(shares, away), among_voters(draws, away)
        value, gap = (v[..., one, real.index(c)] - v[..., two, real.index(c)] for v in (voted, drawn))
        among = f", among {_valid(context.data)},"
    else:
        value, gap = (v[..., one, c] - v[..., two, c] for v in (shares, draws))
        ends["lower_bound"] = float(est.lower_bound_[one, c] - est.upper_bound_[two, c])
        ends["upper_bound"] = float(est.upper_bound_[one, c] - est.lower_bound_[two, c])
    value = float(value)
    tails = np.quantile(gap, [(1 - context.level) / 2, (1 + context.level) / 2])
    low, high = min(float(tails[0]), value), max(float(tails[1]), value)
    settled, few = low > 0 or high < 0, _fewer_units_than_cells(context)
    because = (
        ("The interval excludes 0: the two groups differ" + (", if the assumptions hold." if curved or few else "."))
        if settled
        else "The interval includes 0: whether the two groups differ is open."
    )
    return finding(
        f"Difference between the groups “{est.row_names_[one]}” and “{est.row_names_[two]}”{among} in the share that "
        f"{chose(est.col_names_, c)}",
        value,
        "points",
        low=low,
        high=high,
        level=context.level,
        **ends,
        trust="moderate" if settled and not curved and not few else "low",
        because=because,
    )


def _fewer_units_than_cells(context: Context) -> bool:
    """Whether the fit warned that the answer leans on the model."""
    return len(counted_units(context.data)) < context.model.shares_.size


def _trust(context: Context, r: int, c: int, low: Any, high: Any, curved: bool) -> tuple[str, str]:
    """A plain word for how far to trust a share, and why."""
    est = context.model
    if est.upper_bound_[r, c] - est.lower_bound_[r, c] <= 0.1:
        rest = ", however behaviour varies with composition" if curved else ""
        return "high", f"The totals alone determine it to within 10 percentage points{rest}."
    others = [m.shares_[r, c] for m in context.compare.values() if hasattr(m, "shares_")]
    apart = max((abs(s - est.shares_[r, c]) for s in others), default=0.0)
    if curved:
        return "low", "Behaviour appears to vary with composition; the method assumes that it does not."
    if _fewer_units_than_cells(context):
        n = plural(len(counted_units(context.data)), "unit is", "units are")
        return "low", f"{n} few for {est.shares_.size} shares: the model decides much of it."
    if apart > 0.1:
        return "low", f"Other methods differ by up to {100 * apart:.0f} percentage points."
    if high[r, c] - low[r, c] > 0.25:
        return "low", "The interval is wide."
    agree = "other methods agree" if others else "no other method was compared"
    return "moderate", f"It rests on the method's assumptions; {agree}."


def _main_figure(context: Context, summary: Summary) -> None:
    numbers = diagnostics.interval_numbers(context.model, context.level)
    frame = context.frames["estimates"].rename(columns=BOUNDS)
    data = table(frame, "Shares of every group", SHARES)
    if numbers["share"].size > MOST_LINES:
        group, outcome = ("column", "row") if turned(numbers["share"].shape) else ("row", "column")
        caption = (
            f"Estimated share of each group ({group}) for each outcome ({outcome}). Darker cells are larger shares."
            if context.method != "Bounds"
            else f"Share of each group ({group}) for each outcome ({outcome}) if everybody in a unit behaved alike: "
            "points inside the bounds, and no estimates."
        )
        summary.add("found", figure("share_heatmap", numbers, caption, data))
        return
    bounds = "the bounds: what the totals alone imply, whatever the model."
    caption = f"Share of each group for each outcome. The bar shows {bounds}"
    if context.method != "Bounds":
        drawn = f"estimate (dot) and {context.percent} interval (line)"
        caption = f"Share of each group for each outcome: {drawn}. The grey bar shows {bounds}"
    summary.add("found", figure("intervals", numbers, caption, data))


def _estimates(context: Context, summary: Summary, frame: pd.DataFrame, voters: Turnout | None) -> None:
    est = context.model
    summary.add(
        "estimates",
        table(
            frame.rename(columns=BOUNDS),
            "Shares of every group",
            SHARES,
            "estimates.csv",
            about=(
                "share: if everybody in a unit behaved alike, a point inside the bounds and no estimate. low, high, "
                if context.method == "Bounds"
                else f"low, high: the {context.percent} interval. "
            )
            + "lower bound, upper bound: the range that the totals of all units imply, whatever the model."
            + (" count: the number of people that the share amounts to." if context.head_counts else ""),
        ),
    )
    if context.method != "Bounds" and min(est.shares_.shape) > 1:
        chosen = diagnostics.first_choices(est, context.level, context.random_state)
        kinds = dict.fromkeys(("support", "low", "high", "support elsewhere"), "share") | {"probability": "chance"}
        summary.add(
            "estimates",
            table(
                chosen,
                "First choice of every group",
                kinds,
                about="probability: that this outcome has the group's largest share. support: that share, with its "
                f"{context.percent} interval (low, high). support elsewhere: its share among everybody else."
                + (f" Shares are of {_valid(context.data)}." if voters is not None else ""),
            ),
        )
        _polarisation(context, summary)
    if voters is not None:
        shown = dict.fromkeys(("turnout", "share", "low", "high"), "share")
        away = f"Counted as not voting: {', '.join(map(str, voters.abstention))}."
        summary.add(
            "estimates",
            table(voters.turnout.to_frame(), "Turnout by group", shown, about=away),
            table(
                voters.choice.to_frame(), "Choice among voters", shown, about=f"Shares are of {_valid(context.data)}."
            ),
        )
    units = context.frames["units"].rename(columns=BOUNDS)
    summary.add("appendix", table(units, "Every unit", SHARES, "units.csv", folded=True))


def _polarisation(context: Context, summary: Summary) -> None:
    from sumwise.ecological import voting_patterns

    if len(choices(context.model.col_names_)) < 2:
        return
    found = voting_patterns(context.model, context.level, random_state=context.random_state)
    numbers = diagnostics.polarisation_numbers(found)
    if numbers["gap"].size > MOST_LINES:
        return
    data = table(found.polarisation.to_frame(), "Differences", dict.fromkeys(("polarisation", "low", "high"), "points"))
    caption = (
        f"Polarisation: a group's share less the share of everybody else, with {context.percent} interval. Where the "
        "interval crosses zero (hollow dots), the data do not settle which is larger."
    )
    summary.add("estimates", figure("polarisation", numbers, caption, data))


def _certainty(context: Context, summary: Summary) -> None:
    est, m = context.model, context.data
    width = est.upper_bound_ - est.lower_bound_
    low, high = est.interval(context.level)
    if context.method == "Bounds":
        words = f"The bounds are {100 * width.mean():.0f} percentage points wide on average."
    else:
        narrow = int((width < 0.1).sum())
        words = (
            f"The bounds are {100 * width.mean():.0f} percentage points wide on average, the {context.percent} "
            f"intervals {_points((high - low).mean())}. The difference comes from the method's assumptions, not from "
            f"the data. {narrow or 'None'} of the {width.size} bounds {'is' if narrow < 2 else 'are'} narrower than "
            "10 points."
        )
    summary.add("certainty", text(words))
    if est.interval_kind == "model only":
        summary.add("certainty", text(MODEL_ONLY.format(method=context.method)))
    if context.truth is not None:
        _truth(context, summary, low, high)
    _other_methods(context, summary)
    alone = getattr(est, "pooling_", "alone") == "alone"  # halves would not borrow from the other contests
    if alone and context.method in STABLE and m.n_units >= 4 * m.n_rows * m.n_cols:
        _halves(context, summary)
    if alone and context.method == "EcologicalEM" and m.n_units <= MOST_MAPPED:
        _driving_units(context, summary)
    context.convergence(summary)
    if context.method == "EcologicalEM":
        _how_intervals_came_about(context, summary)
    _unit_figures(context, summary)
    _maps(context, summary)
    _sensitivity(context, summary)


def _points(width: float) -> str:
    return f"{100 * width:.0f}" if width >= 0.005 else "less than 1"


def _driving_units(context: Context, summary: Summary) -> None:
    """Estimates without single units, and outcomes where one group has nearly everybody."""
    est, m = context.model, context.data
    if m.n_units < 3 or np.isnan(est.standard_errors_).any():
        return
    frame = influence(est, m, most=TRIED)
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
        f"a share furthest, in standard errors: without it, the share of {_phrase(est, r, c)} {moved}."
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
        words.append(ROW_ERROR[_row_error(est)])
    if hasattr(est, "slopes_"):
        _slopes(context, summary)
    if est.interval_kind == "calibrated":
        words += [CALIBRATION, *([COVARIATES] if hasattr(est, "slopes_") else [])]
        rho = getattr(est, "overdispersion_", 0.0)
        if spread_factor(rho) > NOTICEABLE:
            words.append(VARIED.format(rho=rho, factor=spread_factor(rho)))
        n, factor = len(counted_units(m)), few_units_factor(m.rows)
        if m.n_rows > 1 and n > 1 and factor > NOTICEABLE:  # a single group or unit has the bounds as its intervals
            words.append(FEW_UNITS.format(units=plural(n, "unit"), factor=factor))
    if hasattr(est, "pooling_"):
        words.append(POOLING[est.pooling_])
    for line in words:
        summary.add("certainty", text(line))


def _row_error(est: Any) -> str:
    """How a fit took the error of the counts by group."""
    corrected = est.row_error == "berkson" or est.regression_calibration
    return est.row_error if corrected else "uncorrected"


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
    from sumwise.ecological import sensitivity_contours

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
            f"(share of {_phrase(est, r, c)}: {100 * one[r, c]:.1f}% and {100 * two[r, c]:.1f}%)."
        )
    summary.add("certainty", text(f"Stability: fitted to two random halves of the units, {found}"))


def _context_effects(context: Context, summary: Summary) -> list[str]:
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


def _unit_figures(context: Context, summary: Summary) -> None:
    m, est = context.data, context.model
    if (m.n_rows, m.n_cols) == (2, 2) and m.n_units <= 2000:
        numbers = diagnostics.tomography(m, est)
        ends = pd.DataFrame(np.asarray(numbers["lines"]).reshape(-1, 4))
        ends.columns = [f"{name}, {end}" for end in ("from", "to") for name in m.row_names]
        caption = (
            f"Tomography plot. Each grey line holds all pairs of shares for “{m.col_names[0]}” that the totals of one "
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
    numbers = diagnostics.unit_scatter(m, r, c) | {"head_counts": context.head_counts}
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


def _maps(context: Context, summary: Summary) -> None:
    """Maps of the largest share of the two largest groups, of its uncertainty, and of what the fit leaves."""
    est, m = context.model, context.data
    if context.shapes is None or context.method == "Bounds" or m.n_units > MOST_MAPPED:
        return
    real = choices(est.col_names_) or [0]
    for place, r in enumerate(np.argsort(-est.group_sizes_, kind="stable")[:2]):
        c = real[int(est.shares_[r, real].argmax())]
        phrase = _phrase(est, r, c)
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
            numbers = diagnostics.map_numbers(est, m, context.shapes, *names, what, context.level)
            frame = pd.DataFrame({"unit": numbers["units"], numbers["label"]: numbers["values"]})
            data = table(frame, f"Map of {what}, {phrase}", {numbers["label"]: "share"})
            summary.add("certainty", figure("unit_map", numbers, captions[what], data))


def _assumptions(context: Context, summary: Summary) -> None:
    m = context.data
    summary.add(
        "assumptions",
        bullets(ASSUMED.get(context.method, ["See the documentation of the method."]), f"{context.method} assumes"),
        bullets(RISKS, "What could go wrong"),
        facts({"population of each unit": m.denominator}),
    )
    if context.method == "King" and (n := len(counted_units(m))) < KING_UNITS:
        few = f"King's own intervals are too narrow with fewer than {KING_UNITS} units (here {n}). "
        if m.n_rows <= REGRESSED and n > m.n_rows:
            few += "They are widened to those of a regression over units, which take the model as true too. "
        summary.add("found", note(f"{few}Compare them with those of EcologicalEM."))
    if context.method == "King" and (m.n_rows, m.n_cols) == (2, 2):
        found = context.model.assumptions(m)
        rows = [{"claim": v["claim"], "p value": v["p_value"], "result": v["verdict"]} for v in found.values()]
        summary.add("assumptions", table(pd.DataFrame(rows), "Tests of King's assumptions", {"p value": "p"}))
    if not getattr(context.model.fit_, "converged", True):
        summary.add("found", note("The fit stopped before it converged; raise max_iter."))
