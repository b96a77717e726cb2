"""What the report says of a problem on margins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.errors import DataError
from sumwise.report.summary import Summary, bullets, facts, figure, note, table, text

SHARES = {"share": "share", "low": "share", "high": "share", "lower bound": "share", "upper bound": "share"}
HEAVY = 40_000  # units x cells from which samplers and simulations are left out of the comparison
MOST_LINES = 60  # of one interval figure
CALIBRATION = (
    "The intervals of EcologicalEM allow for chance, for the choice between two variants of the method, and for what "
    "no "
    "total can show, by how large errors were on real contests. The few numbers that this needs were chosen on 176 "
    "contests of three elections whose truth was counted; on 210 contests of three other elections, 95% intervals held "
    "97.3% of the true cells (benchmarks/ecological.py). An interval is as good as the data at hand resemble such "
    "contests, and that can't be checked without the truth."
)


ASSUMED = {
    "EcologicalEM": [
        "The units are separate: what one does says nothing of the next beyond what all share.",
        "Each group's shares vary around a common value from unit to unit. A pull away from the even split, measured "
        "on real "
        "contests, answers to the known leaning of such fits towards the average.",
        "Groups that are small everywhere are told from others only by small differences between units.",
    ],
    "King": [
        "The shares of a unit are draws from one truncated normal distribution (with covariates: whose mean moves "
        "with them).",
        "They don't depend on the unit's composition beyond the covariates.",
        "Units are independent given these.",
    ],
    "MultinomialDirichlet": [
        "The shares of each group in a unit are draws from one Dirichlet distribution per group.",
        "They don't depend on the unit's composition.",
        "Posterior deviations are widened by a factor that was chosen on real contests.",
    ],
    "Goodman": [
        "Each group's shares are the same in every unit, or vary without regard to its composition.",
        "Nothing keeps plain estimates between 0 and 1, and cells don't add up to a unit's totals.",
        "Intervals allow for chance only.",
    ],
    "Bounds": ["Nothing but the totals. The bounds hold whatever people did; where they are wide the data say little."],
}
BREAKS = [
    "Aggregation bias: a group that chooses otherwise where it is concentrated. No total shows it if it bends "
    "nothing; the bounds "
    "above hold all the same.",
    "A wrong whole: people of one side who are not on the other (turnout against residents). Every share is a share "
    "of the whole "
    "named below.",
    "Units whose two sides come from different years or borders.",
    "Few units, or units that are all alike in composition: then the method, not the data, decides.",
]


def tell(study: Any, summary: Summary) -> None:
    """Say what was found, how sure it is and what it rests on.

    Parameters
    ----------
    study : Ecological
        Fitted.
    summary : Summary
        To be filled.
    """
    est, level = study.model, study.problem.level
    summary.record = {
        "units": study.margins.n_units,
        "people": float(study.margins.totals.sum()),
        "groups": list(map(str, est.row_names_)),
        "outcomes": list(map(str, est.col_names_)),
        "shares": est.shares_,
        "low": est.interval(level)[0],
        "high": est.interval(level)[1],
        "level": level,
    }
    tell_found(study, summary)
    tell_estimates(study, summary)
    tell_certainty(study, summary)
    tell_assumptions(study, summary)


def tell_found(study: Any, summary: Summary) -> None:
    est, level, m = study.model, study.problem.level, study.margins
    summary.lead = [
        f"{m.n_units:,} units with {m.totals.sum():,.0f} people in all: how many belong to each of {m.n_rows} groups "
        f"and how many chose each of {m.n_cols} outcomes is known, who chose what is not.",
        *lead_lines(est, level),
        *_cautions(study),
    ]
    numbers = _fewer(diagnostics.interval_numbers(est, level))
    caption = (
        f"Estimated share of each group for each outcome (dot) with its {100 * level:g}% interval (line). The grey "
        "bar is "
        "what the totals alone imply, whatever the model."
    )
    summary.add("found", figure("intervals", numbers, caption, interval_table(study, "The numbers of the figure")))


def _cautions(study: Any) -> list[str]:
    """What a reader must know before the numbers: totals that were rescaled, estimates that can't be."""
    lines = [] if study.apart is None else [study.apart]
    frame = study.estimates()
    beyond = (frame["share"] < frame["lower_bound"] - 1e-6) | (frame["share"] > frame["upper_bound"] + 1e-6)
    if beyond.any():
        lines.append(
            f"{int(beyond.sum())} of {len(frame)} estimates lie outside their bounds and can't be true: the data speak "
            f"against what {study.chosen} assumes."
        )
    return lines


def interval_table(study: Any, title: str, file: str | None = None) -> dict[str, Any]:
    frame = study.estimates().rename(columns={"lower_bound": "lower bound", "upper_bound": "upper bound"})
    return table(frame, title, {**SHARES, "count": "count"}, file)


def tell_estimates(study: Any, summary: Summary) -> None:
    level = study.problem.level
    summary.add(
        "estimates",
        interval_table(study, "Shares of every group", "estimates.csv"),
        text(
            f"low and high: the {100 * level:g}% interval. lower and upper bound: between these the share must lie "
            "whatever the model, by the totals of every unit. count: the people that the share means."
        ),
    )
    found = findings(study)
    if found is not None:
        summary.add("estimates", *_told_findings(found))
    units = study.extra()["units"].rename(columns={"lower_bound": "lower bound", "upper_bound": "upper bound"})
    summary.add("estimates", table(units, "Every unit", {**SHARES, "count": "count"}, "units.parquet"))


def findings(study: Any) -> Any:
    from sumwise.ecological import voting_patterns

    if not study.family_draws(study.model) or min(study.model.shares_.shape) < 2:
        return None
    return voting_patterns(study.model, study.problem.level, random_state=study.problem.seed)


def tell_certainty(study: Any, summary: Summary) -> None:
    from sumwise.ecological import doubts

    m, est = study.margins, study.model
    for told in doubts(m):
        summary.add("certainty", note(told))
    width = est.upper_bound_ - est.lower_bound_
    settled = int((width < 0.1).sum())
    low, high = est.interval(study.problem.level)
    summary.add(
        "certainty",
        text(
            f"What the totals alone imply. The bounds are {100 * width.mean():.0f} percentage points wide on "
            "average, the "
            f"intervals {100 * (high - low).mean():.0f}; {settled} of {width.size} bounds are narrower than 10 "
            "points. What lies "
            "between interval and bounds rests on the method's assumptions, not on the data."
        ),
    )
    if study.problem.sensitivity:
        tell_sensitivity(study, summary)
    tell_context(study, summary)
    summary.add("certainty", study.told_fit(est.fit_), told_course(study, est.fit_))
    if study.chosen == "EcologicalEM":
        summary.add("certainty", text(CALIBRATION))
    tell_units(study, summary)


def rivals(study: Any) -> tuple[list[str], list[str]]:
    """Which other methods to compare with, and which are left out for their cost."""
    m = study.margins
    if min(m.n_rows, m.n_cols) < 2 or study.chosen == "Bounds":
        return [], []
    others = [name for name in study.methods if name not in (study.chosen, "Bounds")]
    heavy = m.n_units * m.n_rows * m.n_cols > HEAVY
    left = [name for name in others if heavy and name in ("King", "MultinomialDirichlet")]
    return [name for name in others if name not in left], left


def tell_sensitivity(study: Any, summary: Summary) -> None:
    names, left = rivals(study)
    fits, failed = {study.chosen: study.model}, {}
    for name in names:
        try:
            fits[name] = study.work.step(f"compare {name}", lambda n=name: study.train(study.seeded(study.make(n))))
        except DataError as error:
            failed[name] = error.message
    if len(fits) > 1:
        numbers = diagnostics.method_numbers(fits, study.problem.level)
        summary.add("certainty", *_told_methods(study.chosen, fits, numbers))
    if left:
        told = f"{' and '.join(left)} would take long on {study.margins.n_units:,} units and were not compared."
        summary.add("certainty", text(told))
    for name, told in failed.items():
        summary.add("certainty", text(f"{name} can't be fitted here: {told}"))
    summary.add("certainty", told_halves(study))


def told_halves(study: Any) -> dict[str, Any] | None:
    """The method on two halves of the units, chosen at random."""
    m = study.margins
    if study.chosen not in ("EcologicalEM", "Goodman") or m.n_units < 4 * m.n_rows * m.n_cols:
        return None
    order = study.rng("folds").permutation(m.n_units)
    halves = [np.sort(half) for half in np.array_split(order, 2)]

    def shares() -> list[Any]:
        return [study.seeded(study.make(study.chosen)).fit(m[half]).shares_ for half in halves]

    try:
        one, two = study.work.step("fit two halves of the units", shares)
    except DataError:
        return None
    gap = np.abs(one - two)
    r, c = np.unravel_index(int(gap.argmax()), gap.shape)
    return text(
        f"Half of the units, drawn at random, against the other half: shares differ by {100 * gap.mean():.1f} "
        "percentage points on "
        f"average, at most by {100 * gap.max():.1f} ({study.model.row_names_[r]} for {study.model.col_names_[c]}: "
        f"{100 * one[r, c]:.1f}% against {100 * two[r, c]:.1f}%)."
    )


def tell_context(study: Any, summary: Summary) -> None:
    """Whether outcomes bend with composition, which speaks against shares that are the same everywhere."""
    if min(study.margins.n_rows, study.margins.n_cols) < 2 or study.margins.n_units < 8:
        return
    frame = pd.DataFrame(diagnostics.contextual(study.margins))
    against = int(np.count_nonzero(frame["p value"].to_numpy() < 0.05))
    if (frame["p value"].to_numpy() < 0.01 / len(frame)).any():  # Bonferroni: pairs depend on each other
        summary.lead.append(
            "Read with care: outcomes bend with a unit's composition (p below 0.05 in "
            f"{against} of {len(frame)} tests), which speaks against shares that are the same everywhere."
        )
    summary.add(
        "certainty",
        table(frame, "Do shares change with a unit's composition?", {"p value": "number", "curvature": "number"}),
        text(
            "If every group chose alike whatever its share of a unit, an outcome's share would be a straight line "
            "in that "
            f"share. Curvature speaks against it: p is below 0.05 in {against} of {len(frame)} pairs (about "
            f"{0.05 * len(frame):.1f} would be by chance). A straight line is no proof: some bias leaves no trace in "
            "totals."
        ),
    )


def told_course(study: Any, fit: Any) -> dict[str, Any] | None:
    if "objective" not in fit.history or len(fit.history["objective"]) < 2:
        return None
    numbers = diagnostics.training_curve({study.chosen: fit})
    frame = pd.DataFrame(
        {"step": np.arange(len(fit.history["objective"])) + 1, "objective": list(fit.history["objective"])}
    )
    return figure(
        "training_curve", numbers, "The objective, step by step.", table(frame, "Objective", {"step": "count"})
    )


def tell_units(study: Any, summary: Summary) -> None:
    """How the units lie: tomography for two by two, and the largest group against the largest outcome."""
    m, est = study.margins, study.model
    if (m.n_rows, m.n_cols) == (2, 2) and m.n_units <= 2000:
        numbers = diagnostics.tomography(m, est)
        ends = np.asarray(numbers["lines"]).reshape(-1, 4)
        frame = pd.DataFrame(ends, columns=["first, from", "second, from", "first, to", "second, to"])
        told = (
            "Tomography: each grey line holds all pairs of shares that one unit's totals allow; the dots are where "
            "the method "
            "puts the units. Lines that cross in one place agree with each other."
        )
        summary.add("certainty", figure("tomography", numbers, told, table(frame, "Ends of the lines")))
    if min(m.n_rows, m.n_cols) < 2 or m.n_units > 5000:
        return
    r, c = int(m.rows.sum(axis=0).argmax()), int(m.cols.sum(axis=0).argmax())
    numbers = diagnostics.unit_scatter(m, r, c)
    frame = pd.DataFrame(
        {"share of the group": numbers["x"], "share of the outcome": numbers["t"], "people": numbers["size"]}
    )
    told = (
        f"Every unit by its share of {m.row_names[r]} and of {m.col_names[c]}, with Goodman's line and, upright, the "
        "bounds of "
        "that group's share in the unit."
    )
    kinds = {"share of the group": "share", "share of the outcome": "share", "people": "count"}
    summary.add("certainty", figure("unit_scatter", numbers, told, table(frame, "Units", kinds)))


def tell_assumptions(study: Any, summary: Summary) -> None:
    summary.add(
        "assumptions", bullets(ASSUMED[study.chosen], f"{study.chosen} assumes"), bullets(BREAKS, "What would break it")
    )
    summary.add("assumptions", facts({"the whole of each unit": study.margins.denominator}))
    if study.chosen == "King" and (study.margins.n_rows, study.margins.n_cols) == (2, 2):
        found = study.model.assumptions(study.margins)
        rows = [{"claim": v["claim"], "p value": v["p_value"], "verdict": v["verdict"]} for v in found.values()]
        summary.add("assumptions", table(pd.DataFrame(rows), "Tests of King's assumptions"))


def lead_lines(est: Any, level: float, most: int = 4) -> list[str]:
    """The largest share of the largest groups, in words.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import Bounds
    >>> from sumwise.report.text.ecological import lead_lines
    >>> m = Margins([[60, 40]], [[80, 20]], row_names=["a", "b"], col_names=["yes", "no"])
    >>> lead_lines(Bounds().fit(m), 0.95)[0]
    'Whatever the model, 66.7% to 100.0% of a chose yes.'
    """
    low, high = est.interval(level)
    order = np.argsort(-est.group_sizes_, kind="stable")
    lines = []
    for r in order[:most]:
        c = int(est.shares_[r].argmax())
        group, outcome = est.row_names_[r], est.col_names_[c]
        bounds = f"{100 * est.lower_bound_[r, c]:.1f}% to {100 * est.upper_bound_[r, c]:.1f}%"
        if type(est).__name__ == "Bounds":
            lines.append(f"Whatever the model, {bounds} of {group} chose {outcome}.")
        else:
            lines.append(
                f"Of {group}, an estimated {100 * est.shares_[r, c]:.1f}% chose {outcome} ({100 * level:g}% interval "
                f"{100 * low[r, c]:.1f}% to {100 * high[r, c]:.1f}%; whatever the model, {bounds})."
            )
    if len(order) > most:
        lines.append(f"The other {len(order) - most} groups are in the table.")
    return lines


def _fewer(numbers: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the most common outcomes, where all would make too tall a figure."""
    n_groups, n_outcomes = numbers["share"].shape
    keep = max(1, MOST_LINES // n_groups)
    if n_outcomes <= keep:
        return numbers
    chosen = np.sort(np.argsort(-numbers["share"].mean(axis=0))[:keep])
    cut = {k: numbers[k][:, chosen] for k in ("share", "low", "high", "lower_bound", "upper_bound")}
    return {**numbers, **cut, "outcomes": [numbers["outcomes"][c] for c in chosen]}


def _told_findings(found: Any) -> list[dict[str, Any]]:
    kinds = {"cohesion": "share", "low": "share", "high": "share", "crossover": "share", "probability": "number"}
    choice = found.choice.assign(
        cohesion=found.cohesion.values,
        low=found.cohesion.low,
        high=found.cohesion.high,
        crossover=found.crossover.values,
    )
    choice = choice.rename(columns={"candidate": "first choice", "runner_up": "runner-up"})
    polar = found.polarisation.to_frame()
    numbers = diagnostics.polarisation_numbers(found)
    told = (
        "Polarisation: the share of a group less that of everybody else, with its interval. An interval that holds 0 "
        "(dashed) "
        "leaves open who gives more."
    )
    shares = {"polarisation": "share", "low": "share", "high": "share"}
    return [
        table(choice, "First choice of every group", kinds),
        text(
            "probability: that this outcome has the largest share of the group. cohesion: the share that it has, "
            "with its interval "
            "(low, high). crossover: the share that all others give to it.",
            *found.to_text().split("\n"),
        ),
        figure("polarisation", numbers, told, table(polar, "Polarisation", shares)),
    ]


def _told_methods(chosen: str, fits: dict[str, Any], numbers: dict[str, Any]) -> list[dict[str, Any]]:
    own = fits[chosen].shares_
    rows, changed = [], []
    for name, est in fits.items():
        gap = np.abs(est.shares_ - own)
        inside = (est.shares_ >= numbers["low"]) & (est.shares_ <= numbers["high"])
        rows.append(
            {"method": name, "mean difference": gap.mean(), "largest": gap.max(), "inside the intervals": inside.mean()}
        )
        for r in np.flatnonzero(est.shares_.argmax(axis=1) != own.argmax(axis=1)):
            changed.append(
                f"{name} gives {est.row_names_[r]} another first choice: {est.col_names_[est.shares_[r].argmax()]}."
            )
    kinds = {"mean difference": "share", "largest": "share", "inside the intervals": "share"}
    spread = pd.DataFrame(
        [
            {"group": g, "outcome": o, **{n: float(e.shares_[r, c]) for n, e in fits.items()}}
            for r, g in enumerate(fits[chosen].row_names_)
            for c, o in enumerate(fits[chosen].col_names_)
        ]
    )
    told = (
        f"The same totals by other methods, against {chosen}: differences of shares, and how many of the other "
        "method's shares "
        "lie inside the intervals of this one. Methods that share an assumption can agree and be wrong together."
    )
    caption = "Every share by every method; the line is the interval of the method of this report."
    verdict = changed or ["Every method names the same first choice for every group."]
    return [
        table(pd.DataFrame(rows), "Other methods on the same data", kinds),
        text(told),
        bullets(verdict),
        figure("methods", numbers, caption, table(spread, "Shares by method", dict.fromkeys(fits, "share"))),
    ]
