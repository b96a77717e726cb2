"""Findings of a report on ecological inference: shares of the largest groups, and their difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.ecological import sensitivity
from sumwise.ecological.identification import counted_units
from sumwise.inference import certainty
from sumwise.margins import Margins
from sumwise.nonvoting import choices, chose, is_nonvoting, members, no_candidates, people_who, quoted
from sumwise.report.context import Context, listed, plural
from sumwise.report.rounding import WIDE, cell, finding_digits, span
from sumwise.report.summary import MOST_FINDINGS, finding
from sumwise.voting import Turnout
from sumwise.voting.turnout_by_group import among_voters

FEWEST_PEOPLE, SMALLEST_GROUP = 30, 0.0005  # of a group that gets a finding
SURE = 0.95  # the probability from which a first choice is a finding that a title or a matrix may state
ALIKE_COMPOSITION = 0.01  # a group's share of a unit, less its mean: all below this say next to nothing


def findings(context: Context, voters: Turnout | None) -> list[dict[str, Any]]:
    """The largest share of the largest groups, then the difference between the two largest."""
    est = context.model
    low, high = est.interval(context.level)
    real = choices(est.col_names_) or [0]
    order = np.argsort(-est.group_sizes_, kind="stable")[:MOST_FINDINGS]
    order = np.array([r for r in order if not _almost_nobody(est, r)] or [order[0]])
    known = len(real) > 1 and context.data.n_rows > 1
    doubt: list[dict] = sensitivity(est, context.data).to_dict("records") if known else []
    out = []
    for r in order:
        c = real[int(est.shares_[r, real].argmax())]
        everybody = float(est.shares_[r, c]), float(low[r, c]), float(high[r, c])
        ends: dict[str, Any] = {
            "lower_bound": float(est.lower_bound_[r, c]),
            "upper_bound": float(est.upper_bound_[r, c]),
        }
        what = f"Share of {people_who(est.row_names_[r], est.col_names_, c)}"
        doubtful = not_quoted(est, r, c, context.level)
        if context.method == "Bounds" or doubtful:
            out.append(finding(what, None, **ends, because=None if context.method == "Bounds" else doubtful))
            continue
        first, because = _certainty(context, r, c, real, doubt[r] if doubt else {})
        ends["wider"] = wider_interval(context, r, c, real if voters is not None and len(real) > 1 else None)
        because = f"{because} {ends['wider']}".strip()
        of = _of_voters(context, voters, r, c, real, because) if voters is not None and len(real) > 1 else None
        if of is not None:
            out.append({**of, "probability": first, "wider": ends["wider"]})
            continue
        if context.truth is not None:
            ends["truth"] = float(context.truth[r, c])
        ends["clause"] = f"{members(est.row_names_[r])} {chose(est.col_names_, c)}"
        out.append(
            finding(what, everybody[0], "share", everybody[1:], context.level, because, probability=first, **ends)
        )
    if len(order) > 1 and all(f["value"] is not None for f in out[:2]):
        of_voters = voters is not None and len(real) > 1
        out.append(_difference(context, order, real, of_voters))
    return out


def wider_interval(context: Context, r: int, c: int, real: list[int] | None) -> str:
    """The same share by EcologicalEM, if fitted, where the interval takes the model as true; of voters if `real`."""
    other = context.compare.get("EcologicalEM")
    if context.model.interval_kind != "model only" or other is None:
        return ""
    drawn = other.draws(2000, context.random_state).values
    if real is None:
        drawn = drawn[:, r, c]
    else:
        drawn = among_voters(drawn, np.array(no_candidates(other.col_names_)))[1][:, r, real.index(c)]
    low, high = np.quantile(drawn, [(1 - context.level) / 2, (1 + context.level) / 2])
    return (
        "EcologicalEM, whose intervals allow for groups that behave differently from place to place, estimates "
        f"{_range(float(drawn.mean()), float(low), float(high))}."
    )


def not_quoted(est: Any, r: int, c: int, level: float) -> str:
    """Why an estimate is no finding, in a sentence; empty if it is one."""
    low, high = (float(end[r, c]) for end in est.interval(level))
    if _too_narrow(est, r, c, high - low, level):
        return "The model's interval is narrower than a sample of this size allows, so no estimate is quoted."
    share = float(est.shares_[r, c])
    if not est.lower_bound_[r, c] - 1e-6 <= share <= est.upper_bound_[r, c] + 1e-6:
        return f"The estimate, {100 * share:.1f}%, lies outside these bounds, which is impossible."
    return ""


def _of_voters(context: Context, voters: Turnout, r: int, c: int, real: list[int], because: str) -> dict[str, Any]:
    """A finding on the choice of those who voted, with the share of the whole group: groups differ in turnout, too."""
    est, k = context.model, real.index(c)
    low, high = est.interval(context.level)
    whole = _range(float(est.shares_[r, c]), float(low[r, c]), float(high[r, c]))
    because = f"Of {everyone_in(est.row_names_[r], context.data)}: {whole}. {because}"
    found = voters.choice
    share, *inside = (float(np.asarray(part)[r, k]) for part in (found.values, found.low, found.high))
    least, most = (float(end[r, k]) for end in voters_bounds(est, real))
    more: dict[str, Any] = {"lower_bound": least, "upper_bound": most}
    if context.truth is not None:
        more["truth"] = float(context.truth[r, c] / context.truth[r, real].sum())
    more["clause"] = f"{members(est.row_names_[r], 'voters')} {chose(est.col_names_, c)}"
    what = f"Share of {people_who(est.row_names_[r], est.col_names_, c, 'voters')}"
    return finding(what, share, "share", inside, context.level, because, **more)


def _difference(context: Context, order: np.ndarray, real: list[int], of_voters: bool) -> dict[str, Any]:
    """The difference between the two largest groups, among voters where turnout is known: groups differ in that too."""
    est = context.model
    one, two = (int(r) for r in order[:2])
    c = real[int(est.total_[:, real].sum(axis=0).argmax())]
    shares, draws, ends = est.shares_, est.draws(2000, context.random_state).values, {}
    if of_voters:
        away = np.array(no_candidates(est.col_names_))
        drawn = among_voters(draws, away)[1][..., real.index(c)]
        gap = drawn[:, one] - drawn[:, two]
        value = gap.mean()
    else:
        value, gap = (v[..., one, c] - v[..., two, c] for v in (shares, draws))
        ends["lower_bound"] = float(est.lower_bound_[one, c] - est.upper_bound_[two, c])
        ends["upper_bound"] = float(est.upper_bound_[one, c] - est.lower_bound_[two, c])
    value = float(value)
    tails = np.quantile(gap, [(1 - context.level) / 2, (1 + context.level) / 2])
    low, high = float(tails[0]), float(tails[1])
    sign = float(np.mean(gap > 0)) if value > 0 else float(np.mean(gap < 0))
    because = f"That the two groups differ in this direction is {certainty(sign)}, given the model."
    noun = "voters" if of_voters else "people"
    groups = [members(est.row_names_[r], noun) for r in (one, two)]
    what = f"Difference between {groups[0]} and {groups[1]} in the share who {chose(est.col_names_, c)}"
    return finding(what, value, "points", (low, high), context.level, because, **ends)


def _certainty(context: Context, r: int, c: int, real: list[int], doubt: dict[str, Any]) -> tuple[float, str]:
    """The probability that an outcome is a group's first, one statement of it, and what speaks against it."""
    est = context.model
    against = ["The interval takes the model as true."] if est.interval_kind == "model only" else []
    others = [m.shares_[r, c] for m in context.compare.values() if hasattr(m, "shares_")]
    apart = max((abs(s - est.shares_[r, c]) for s in others), default=0.0)
    if apart > 0.1:
        against.append(f"Other methods differ by up to {100 * apart:.0f} percentage points.")
    if _fewer_units_than_cells(context):
        n = plural(len(counted_units(context.data)), "unit is", "units are")
        against.append(f"{n} few for {est.shares_.size} shares: the model decides much of it.")
    if len(real) < 2:
        return 1.0, " ".join(against)
    word = "first choice" if chose(est.col_names_, c).startswith("chose") else "largest share"
    if doubt.get("bounds settle"):
        return 1.0, " ".join([f"The totals alone settle that it is the group's {word}.", *against])
    drawn = est.draws(2000, context.random_state).values[:, r]
    first = float(np.mean(drawn[:, real].argmax(axis=1) == real.index(c)))
    if np.isfinite(doubt.get("tipping", np.nan)):
        against.append(
            f"Another outcome would draw level if {100 * doubt['tipping']:.0f}% of the difference between groups were "
            "between places."
        )
    return first, " ".join([f"That it is the group's {word} is {certainty(first)}, given the model.", *against])


def _too_narrow(est: Any, r: int, c: int, width: float, level: float) -> bool:
    """Whether an interval is far narrower than asking the whole group once would give, though the bounds are wide."""
    from scipy.stats import norm

    share, size = float(np.clip(est.shares_[r, c], 0, 1)), float(est.group_sizes_[r])
    asked = 2 * norm.ppf((1 + level) / 2) * np.sqrt(max(share * (1 - share), 1e-4) / max(size, 1.0))
    return bool(est.upper_bound_[r, c] - est.lower_bound_[r, c] > 0.1 and width < 0.25 * asked)


def _fewer_units_than_cells(context: Context) -> bool:
    """Whether the fit warned that the answer leans on the model."""
    return len(counted_units(context.data)) < context.model.shares_.size


def _almost_nobody(est: Any, r: int) -> bool:
    """Whether a group has too few people for a finding: fewer than 30, or less than one in two thousand."""
    sizes = np.asarray(est.group_sizes_, dtype=float)
    return bool(sizes[r] < FEWEST_PEOPLE or sizes[r] < SMALLEST_GROUP * sizes.sum())


def small_groups(est: Any) -> list[str]:
    """A caution on groups with almost nobody: tables show them, and no finding does."""
    sizes = np.asarray(est.group_sizes_, dtype=float)
    small = [r for r in range(len(sizes)) if _almost_nobody(est, r)]
    named = [f"{quoted(est.row_names_[r])} ({100 * sizes[r] / sizes.sum():.2g}% of all people)" for r in small]
    groups = "group" if len(named) == 1 else "groups"
    return [f"Almost nobody is in the {groups} {listed(named)}: too few for a finding."] if named else []


def alike_units(margins: Any) -> list[str]:
    """A caution where all units have nearly the same composition, so that the model alone separates the groups."""
    full = margins[margins.totals > 0]
    spread = float(np.abs(full.row_shares - full.row_shares.mean(axis=0)).max()) if len(full) > 1 else 1.0
    if margins.n_rows < 2 or not 1e-9 <= spread < ALIKE_COMPOSITION:
        return []
    return [
        f"All {len(full)} units have nearly the same composition (within {100 * spread:.2g} percentage points of the "
        "mean): the data say next to nothing about differences between groups, whatever the intervals."
    ]


def in_words(found: dict[str, Any]) -> str:
    """A finding on a share as a clause: "69% of white voters chose Kemp"."""
    return f"{cell(found['value'], 'share', finding_digits(found))} of {found['clause']}"


def voters_meant(margins: Any) -> str:
    """Whom shares among voters are of, in words: blank and invalid ballots are left out, as are people at home."""
    away = [name for name, none in zip(margins.col_names, no_candidates(margins.col_names)) if none]
    return "those who voted" if all(map(is_nonvoting, away)) else "those whose vote was valid"


def everyone_in(group: object, margins: Margins) -> str:
    """A whole group, those without a valid vote included."""
    away = [name for name, none in zip(margins.col_names, no_candidates(margins.col_names)) if none]
    more = "non-voters" if any(map(is_nonvoting, away)) else "those without a valid vote"
    return f"all {members(group)}, {more} included"


def voters_bounds(est: Any, real: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """What the totals imply for the choice of those who voted, (R, candidates) each: from the bounds of all shares."""
    low, high = np.asarray(est.lower_bound_)[:, real], np.asarray(est.upper_bound_)[:, real]
    others = [end.sum(axis=1, keepdims=True) - end for end in (high, low)]
    with np.errstate(invalid="ignore"):
        least, most = low / (low + others[0]), high / (high + others[1])
    return np.nan_to_num(least, nan=0.0), np.nan_to_num(most, nan=1.0)


def _range(share: float, low: float, high: float) -> str:
    """A share with its interval, rounded as a finding of this width is."""
    digits = 0 if high - low >= WIDE else 1
    return f"{cell(share, 'share', digits)} ({span(low, high, 'share', digits)})"
