"""What the report says of individuals learned from class counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.errors import DataError
from sumwise.grouped_warnings import group_warnings
from sumwise.report.summary import Summary, bullets, figure, note, table, text

KINDS = {
    "share": "share",
    "low": "share",
    "high": "share",
    "truth": "share",
    "people": "count",
    "survey": "share",
    "difference": "share",
}
MOST_LINES = 40
FOLDS = 5
ASSUMED = [
    "A person's class depends on the features alone: two people with the same features have the same chances, "
    "whatever their bag. "
    "(random_intercept = true in [options] lets bags differ beyond that.)",
    "On the scale of log-odds, features add up.",
    "The counts are of the very people in the file, or of people like them.",
]
BREAKS = [
    (
        "A feature that acts otherwise in bags where it is common: from bag totals it can't be told from an effect "
        "of the bag."
    ),
    (
        "Something that differs between bags, moves the class, and isn't among the features: its effect is laid on "
        "features that differ between bags."
    ),
    "Few bags, or bags that are alike: then the penalty decides, as the table of what can be told says.",
    "People in the file who are not the people who were counted (residents against voters).",
]


def tell(study: Any, summary: Summary) -> None:
    """Say what was found, how sure it is and what it rests on."""
    frame = study.estimates()
    level = study.problem.level
    summary.record = {
        "bags": len(study.bags),
        "individuals": study.bags.n_rows,
        "classes": study.classes,
        "shares": frame.to_dict("records"),
        "level": level,
    }
    summary.lead = lead_lines(study, frame)
    numbers = diagnostics.subgroup_numbers(frame, level, MOST_LINES, two=len(study.classes) == 2)
    summary.add(
        "found", figure("subgroups", numbers, _caption(study, level), table(frame, "Shares of subgroups", KINDS))
    )
    summary.add("estimates", table(frame, "Shares of subgroups", KINDS, "estimates.csv"))
    if study.survey is not None:
        tell_survey(study, summary, frame)
    tell_coefficients(study, summary)
    tell_certainty(study, summary, frame)
    summary.add("assumptions", bullets(ASSUMED, f"{study.chosen} assumes"), bullets(BREAKS, "What would break it"))


def lead_lines(study: Any, frame: Any) -> list[str]:
    """The widest contrast between subgroups, in words."""
    level = study.problem.level
    lines = [
        f"{study.bags.n_rows:,} individuals in {len(study.bags):,} bags. How many of each bag are of which class is "
        "known; who they are is not."
    ]
    name = study.classes[1] if len(study.classes) == 2 else study.classes[int(study.counts.sum(axis=0).argmax())]
    of = frame[(frame["class"] == name) & (frame["group"] != "everybody")]
    common = of[of["people"] >= 0.02 * study.bags.weights.sum()]
    wide = []
    for group, part in common.groupby("group", sort=False):
        if len(part) > 1:
            top, bottom = part.loc[part["share"].idxmax()], part.loc[part["share"].idxmin()]
            wide.append((float(top["share"] - bottom["share"]), group, top, bottom))
    for _, group, top, bottom in sorted(wide, key=lambda w: -w[0])[:3]:
        lines.append(
            f"Share of {name} by {group}: highest for {top['level']}, {100 * top['share']:.1f}% ({100 * level:g}% "
            "interval "
            f"{100 * top['low']:.1f}% to {100 * top['high']:.1f}%), lowest for {bottom['level']}, "
            f"{100 * bottom['share']:.1f}% "
            f"({100 * bottom['low']:.1f}% to {100 * bottom['high']:.1f}%)."
            + (" The intervals overlap: which is higher is not settled." if top["low"] <= bottom["high"] else "")
        )
    if "truth" in frame:
        inside = (frame["low"] <= frame["truth"] + 1e-12) & (frame["truth"] <= frame["high"] + 1e-12)
        lines.append(
            "The labels are known here and were hidden from the method: the intervals hold the true share in "
            f"{int(inside.sum())} of "
            f"{len(frame)} rows ({100 * inside.mean():.0f}%, where {100 * level:g}% is promised); the mean error is "
            f"{100 * (frame['share'] - frame['truth']).abs().mean():.1f} percentage points."
        )
    return lines


def _caption(study: Any, level: float) -> str:
    told = (
        "Estimated share of each class in each subgroup"
        if len(study.classes) > 2
        else f"Estimated share of {study.classes[1]} in each subgroup"
    )
    truth = "; crosses are the truth" if study.labels is not None else ""
    return f"{told} (dot) with its {100 * level:g}% interval (line){truth}."


def tell_survey(study: Any, summary: Summary, frame: Any) -> None:
    """Subgroup shares beside those of a survey."""
    p = study.problem
    both: Any = frame.assign(**{k: frame[k].astype(str) for k in ("group", "level", "class")}).merge(
        study.survey, on=["group", "level", "class"]
    )
    if both.empty:
        raise DataError(
            f"{p.place(('data', 'survey_file'))}: no row of the survey matches a subgroup and class.",
            hint=f"groups are {', '.join(list(study.groups)[:5])}; classes are {', '.join(study.classes[:5])}.",
        )
    both["difference"] = both["share"] - both["survey"]
    both["inside"] = (both["low"] <= both["survey"]) & (both["survey"] <= both["high"])
    summary.add(
        "estimates",
        table(
            both[["group", "level", "class", "share", "low", "high", "survey", "difference", "inside"]],
            "Against the survey",
            KINDS,
        ),
        text(
            f"The survey lies inside the interval in {int(both['inside'].sum())} of {len(both)} subgroups; the mean "
            "absolute difference is "
            f"{100 * both['difference'].abs().mean():.1f} percentage points. A survey has errors of its own."
        ),
    )


def tell_coefficients(study: Any, summary: Summary) -> None:
    """Coefficients, largest first, where the method has them."""
    coef = getattr(study.model, "coef_", None)
    if coef is None:
        return
    rows = np.atleast_2d(coef)
    of = study.classes[1:] if len(rows) == 1 else study.classes
    frame = pd.DataFrame(
        [
            {"class": c, "feature": f, "coefficient": float(rows[k, j])}
            for k, c in enumerate(of)
            for j, f in enumerate(study.features.names)
        ]
    )
    frame = frame.iloc[np.argsort(-frame["coefficient"].abs().to_numpy(), kind="stable")]
    summary.add(
        "estimates",
        table(frame, "Coefficients, in log-odds"),
        text(
            "Per standard deviation of a number, or for a level against none of the levels; pulled to zero by the "
            "penalty."
        ),
    )


def tell_certainty(study: Any, summary: Summary, frame: Any) -> None:
    """What bags can tell, held-out bags, other methods, convergence."""
    from sumwise.proportions import identifiability

    found = identifiability(study.bags, study.target if study.target.ndim == 1 else None, warn=False)
    told = found.to_frame().rename(
        columns={"standard_error": "standard error", "between": "between bags", "efficiency": "left by counting"}
    )
    kinds = {"between bags": "share", "left by counting": "share", "answerable": "yes"}
    summary.add("certainty", note(found.verdict, "good" if found.answerable.all() else "warning"))
    if not found.answerable.any():
        summary.lead.append(f"Read with care: {found.verdict}")
    summary.add(
        "certainty",
        table(told, "What these bags can tell of each feature", kinds),
        text(
            "standard error: of the effect, in log-odds per standard deviation, from counts alone. between bags: how "
            "much of the feature's "
            "variance lies between bags; only that part is seen by counts. left by counting: of what individual "
            "labels would tell."
        ),
    )
    tell_held_out(study, summary)
    if study.problem.sensitivity:
        tell_methods(study, summary, frame)
    summary.add("certainty", study.told_fit(getattr(study.model, "fit_", None)))
    if study.labels is not None:
        tell_labels(study, summary)


def tell_held_out(study: Any, summary: Summary) -> None:
    """Counts of bags that a fit has not seen."""
    if len(study.bags) < 2 * FOLDS:
        return
    frame = study.work.step("predict held-out bags", lambda: held_out(study))
    numbers = diagnostics.predicted_numbers(
        frame["actual"], frame["predicted"], f"share of {frame['class'].iloc[0]} in a bag"
    )
    error = float((frame["predicted"] - frame["actual"]).abs().mean())
    plain = float((frame["actual"] - frame["actual"].mean()).abs().mean())
    caption = (
        f"Bags that the fit has not seen ({FOLDS} folds): predicted against actual share. The mean error is "
        f"{100 * error:.1f} percentage "
        f"points; predicting the mean of all bags has {100 * plain:.1f}."
    )
    kinds = {"actual": "share", "predicted": "share"}
    summary.add("certainty", figure("predicted", numbers, caption, table(frame, "Held-out bags", kinds)))
    if error > plain:
        summary.add("certainty", note("On bags it has not seen, the model is no better than the mean of all bags."))


def held_out(study: Any) -> pd.DataFrame:
    """Predicted shares of bags, each by a fit to the others."""
    c = 1 if len(study.classes) == 2 else int(study.counts.sum(axis=0).argmax())
    order = study.rng("folds").permutation(len(study.bags))
    predicted = np.zeros(len(study.bags))
    sums = study.counts.sum(axis=1)
    with group_warnings():
        for fold in np.array_split(order, FOLDS):
            rest = np.setdiff1d(order, fold)
            model = study.configured(study.chosen).fit(study.bags[rest], study.target[rest])
            part = study.bags[np.sort(fold)]
            chance = model.predict_proba(part)[:, c] * part.weights
            totals = np.add.reduceat(part.weights, part.offsets[:-1])
            predicted[np.sort(fold)] = np.add.reduceat(chance, part.offsets[:-1]) / totals
    actual = np.divide(study.counts[:, c], sums, out=np.zeros(len(sums)), where=sums > 0)
    return pd.DataFrame(
        {"bag": [str(b) for b in study.bags.ids], "class": study.classes[c], "actual": actual, "predicted": predicted}
    )


def tell_methods(study: Any, summary: Summary, frame: Any) -> None:
    """Subgroup shares by other methods."""
    from sumwise.proportions import subgroups

    rows, failed = [{"method": study.chosen, "mean difference": 0.0, "largest": 0.0}], []
    for name in study.methods:
        if name == study.chosen:
            continue
        try:
            other = study.work.step(f"compare {name}", lambda n=name: study.train(study.seeded(study.make(n))))
        except DataError as error:
            failed.append(f"{name} can't be fitted here: {error.message}")
            continue
        parts = [
            subgroups(other, study.bags, by={"level": texts}, classes=study.classes).to_frame()
            for texts in (np.full(study.bags.n_rows, "all", dtype=object), *study.groups.values())
        ]
        gap = np.abs(pd.concat(parts)["share"].to_numpy() - frame["share"].to_numpy())
        rows.append({"method": name, "mean difference": gap.mean(), "largest": gap.max()})
    kinds = {"mean difference": "share", "largest": "share"}
    summary.add(
        "certainty",
        table(pd.DataFrame(rows), "Subgroup shares by other methods, against this one", kinds),
        bullets(failed) if failed else None,
    )


def tell_labels(study: Any, summary: Summary) -> None:
    """Scores against the labels, which the fit has not seen."""
    from sumwise.metrics import auc, calibration, nllh

    chance = study.model.predict_proba(study.bags)
    rows = {
        "accuracy": float((chance.argmax(axis=1) == study.labels).mean()),
        "always the commonest class": float(np.bincount(study.labels).max() / len(study.labels)),
        "NLLH (0 constant, 1 perfect)": nllh(study.labels, chance),
    }
    if chance.shape[1] == 2:
        rows["AUC"] = auc(study.labels, chance)
        found = calibration(study.labels, chance)
        caption = (
            "Individuals in tenths by predicted probability: predicted against observed share, with two standard "
            "errors."
        )
        numbers = diagnostics.calibration_numbers({study.chosen: found})
        summary.add("certainty", figure("calibration", numbers, caption, table(found, "Calibration")))
    frame = pd.DataFrame({"score": list(rows), "value": list(rows.values())})
    summary.add("certainty", table(frame, "Against the labels of individuals, which the fit has not seen"))
