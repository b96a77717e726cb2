"""The report on individuals learned from class counts of bags (learning from label proportions)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from sumwise import plots
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.inference import certainty
from sumwise.report import held_out
from sumwise.report.context import MISSING, Context, listed, plural, subgroup
from sumwise.report.summary import FEW_ROWS, Summary, bullets, figure, finding, note, table, text

KINDS = dict.fromkeys(("share", "low", "high", "truth", "survey", "difference"), "share") | {"people": "count"}
FOLDS = 5
PER_SD = "per standard deviation"
ASSUMED = [
    "An individual's class depends on the features alone: two people with the same features have the same "
    "probabilities, whatever their bag. (random_intercept = true lets bags differ beyond that.)",
    "Effects of the features add up on the log-odds scale.",
    "The counts refer to the individuals in the file, or to people like them.",
]
RISKS = [
    "A feature whose effect differs between bags where it is common and bags where it is rare: totals cannot separate "
    "this from an effect of the bag.",
    "A cause that differs between bags and is not among the features: its effect is attributed to features that are "
    "correlated with it.",
    "Few bags, or bags of similar composition: the penalty then drives the estimates (see the table on "
    "identifiability).",
    "Individuals in the file who are not those who were counted (residents instead of voters, for instance).",
]


def write(context: Context) -> Summary:
    """The summary of a classifier of individuals fitted to class counts."""
    labelled = (
        isinstance(context.data, tuple) and len(context.data) == 2 and np.asarray(context.data[1]).dtype == object
    )
    if labelled or not hasattr(context.model, "predict_proba"):  # fitted to labels, or a transformer: no counts
        from sumwise.report.text import plain

        return plain.write(context)
    bags, counts = _data(context)
    classes = [str(c) for c in context.classes or _class_names(context.model, counts)]
    frame = context.step(
        "subgroup shares",
        lambda: held_out.subgroup_shares(
            context.model, bags, context.data[1], context.groups or {}, classes, context.level, context.random_state
        ),
    )
    labels = None if context.truth is None else np.asarray(context.truth, dtype=int)
    if labels is not None:
        _refuse_other_order(bags, counts, labels)
        frame = frame.assign(truth=_true_shares(frame, bags, labels, context.groups or {}, classes))
    focus = _focus(classes, counts)
    by = f"by {listed(list(context.groups))}" if context.groups else f"among {plural(bags.n_rows, 'individual')}"
    summary = Summary(context.title or f"Share of {focus} {by}", "proportions", context.method)
    known = _identifiability(context, summary, bags)
    contrasts = _contrasts(context, frame, focus, bags, known)
    summary.findings = _findings(context, frame, focus, [c for c in contrasts if c[-1]])
    frame = frame.drop(columns=["highest", "lowest"])
    context.frames |= {"estimates": frame, "individuals": _individuals(context.model, bags, classes)}
    summary.record = {
        "bags": len(bags),
        "individuals": bags.n_rows,
        "classes": classes,
        "shares": frame.to_dict("records"),
        "level": context.level,
    }
    summary.lead = [_verdict(context, bags, classes, focus, frame, _title(summary.findings)), *context.cautions]
    if known is not None and not known.answerable.any():
        summary.lead[0] = f"{known.verdict} {summary.lead[0]}"
    elif known is not None and not known.answerable.all():
        summary.lead.append(f"Read with caution: {known.verdict}")
    if unknown := [group for _, group, _, _, answerable in contrasts if not answerable]:
        summary.lead.append(
            f"These bags do not determine how the share of “{focus}” differs by {listed(unknown)}: the estimates below "
            "rest on the penalty, and are not findings."
        )
    if labels is not None:
        summary.checked.append(_coverage(context, frame))
    _figures(context, summary, frame, focus if len(classes) == 2 else "", unknown)
    _coefficients(context, summary, bags, classes)
    if context.survey is not None:
        _survey(context, summary, frame)
    _held_out(context, summary, bags, counts, classes, focus)
    _other_methods(context, summary, bags, frame, classes)
    context.convergence(summary)
    if labels is not None:
        _labels(context, summary, bags, labels)
    summary.add("assumptions", bullets(ASSUMED, f"{context.method} assumes"), bullets(RISKS, "What could go wrong"))
    return summary


def _focus(classes: list[str], counts: np.ndarray) -> str:
    """The class that findings are about: of two the second, unless it denies the first; else the most frequent."""
    if len(classes) != 2:
        return classes[int(counts.sum(axis=0).argmax())]
    return classes[0 if re.match(r"(no|not|non|without)[ _-]", classes[1], re.IGNORECASE) else 1]


def _data(context: Context) -> tuple[Bags, np.ndarray]:
    """The bags, and counts (n_bags, n_classes)."""
    if not (isinstance(context.data, tuple) and len(context.data) == 2):
        raise DataError(
            "A report on a classifier of individuals needs its bags and their counts.", hint="give (bags, counts)."
        )
    bags, given = context.data
    counts = np.asarray(given, dtype=float)
    if counts.ndim == 1:
        totals = np.add.reduceat(bags.weights, bags.offsets[:-1])
        counts = np.column_stack([totals - counts, counts])
    return bags, counts


def _class_names(model: Any, counts: np.ndarray) -> list[str]:
    found = getattr(model, "classes_", range(counts.shape[1]))
    return [f"class {c}" if str(c).isdigit() else str(c) for c in found]


def _individuals(model: Any, bags: Bags, classes: list[str]) -> pd.DataFrame:
    chance = model.predict_proba(bags)
    frame = pd.DataFrame({"bag": np.asarray(bags.ids, dtype=object)[bags.bag_index]})
    for c, name in enumerate(classes):
        frame[f"p({name})"] = chance[:, c]
    return frame


def _refuse_other_order(bags: Bags, counts: np.ndarray, labels: np.ndarray) -> None:
    """Refuse labels that are as many as were counted in all and yet fall into other bags."""
    if len(labels) != bags.n_rows:
        raise DataError(f"truth has {len(labels)} entries for {bags.n_rows} individuals.", hint="one class each.")
    if labels.min(initial=0) < 0 or labels.max(initial=0) >= counts.shape[1]:
        raise DataError(
            f"truth contains classes from {labels.min()} to {labels.max()}.",
            hint=f"give positions among the {counts.shape[1]} classes, from 0.",
        )
    found = np.zeros(counts.shape)
    np.add.at(found, (bags.bag_index, labels), 1)
    differ = int((found != counts).any(axis=1).sum())
    if differ and (found.sum(axis=0) == counts.sum(axis=0)).all():
        raise DataError(
            f"truth has as many of every class as were counted, but not bag by bag: {differ} of {len(bags)} differ.",
            hint="give it in the order of bags.values: Bags.from_frame puts the rows of a bag together.",
        )


def _true_shares(frame: Any, bags: Bags, labels: np.ndarray, groups: Any, classes: list[str]) -> list[float]:
    found = []
    for row in frame.to_dict("records"):
        texts = groups.get(row["group"])
        inside = np.ones(bags.n_rows, dtype=bool) if texts is None else np.asarray(texts) == row["level"]
        one = labels == classes.index(row["class"])
        found.append(float((bags.weights * one)[inside].sum() / bags.weights[inside].sum()))
    return found


def _verdict(context: Context, bags: Bags, classes: list[str], focus: str, frame: Any, contrast: str | None) -> str:
    overall = frame[(frame["group"] == "everybody") & (frame["class"] == focus)].iloc[0]
    counted = f"how many are counted as {listed([f'“{c}”' for c in classes])}" if len(classes) < 5 else "class counts"
    everyone = f"Overall, the share of “{focus}” is {100 * overall['share']:.1f}%."
    return (
        f"{f'{contrast}. ' if contrast else ''}{everyone} "
        f"The data give {plural(bags.n_rows, 'individual')} in {plural(len(bags), 'bag')} and, for each bag, "
        f"{counted}, but not which ones. {context.method} estimates a probability for each individual from "
        f"{plural(bags.n_features, 'feature')}."
    )


def _contrasts(
    context: Context, frame: Any, focus: str, bags: Bags, known: Any
) -> list[tuple[float, str, Any, Any, bool]]:
    """The highest and lowest level of every grouping, widest difference first; and whether counts determine it."""
    from sumwise.proportions.identification import comparable

    of = frame[(frame["class"] == focus) & (frame["group"] != "everybody")]
    common = of[(of["people"] >= 0.02 * bags.weights.sum()) & (of["level"].astype(str) != MISSING)]
    given = context.data[1] if np.ndim(context.data[1]) == 1 else None
    wide = []
    for group, part in common.groupby("group", sort=False):
        if len(part) < 2:
            continue
        top, bottom = part.loc[part["share"].idxmax()], part.loc[part["share"].idxmin()]
        texts = np.asarray((context.groups or {})[group]).astype(str)
        masks = (texts == str(row["level"]) for row in (top, bottom))
        answerable = known is None or (bool(known.answerable.any()) and comparable(bags, given, *masks))
        wide.append((float(top["share"] - bottom["share"]), str(group), top, bottom, answerable))
    return sorted(wide, key=lambda w: -w[0])


def _findings(context: Context, frame: Any, focus: str, contrasts: list[Any]) -> list[dict[str, Any]]:
    """The widest contrasts that counts determine, of up to three groupings; else the overall share."""
    out = []
    for _, group, top, bottom, _ in contrasts[:3]:
        for row, place, other in ((top, "highest", "higher"), (bottom, "lowest", "lower")):
            because = f"{context.method} has no intervals."
            if _has_intervals(frame):
                because = f"That no other level of {group} is {other} is {certainty(row[place])}, given the model."
            what = f"Share of “{focus}” for {subgroup(group, row['level'])}"
            out.append(_finding(context, what, row, because))
    if out:
        return out
    row = frame[(frame["group"] == "everybody") & (frame["class"] == focus)].iloc[0]
    because = "The counts of the bags determine it."
    return [_finding(context, f"Share of “{focus}” among all individuals", row, because)]


def _finding(context: Context, what: str, row: Any, because: str) -> dict[str, Any]:
    known = {"truth": row["truth"]} if "truth" in row else {}
    ends = (row["low"], row["high"]) if np.isfinite(row["low"]) else (None, None)
    return finding(what, float(row["share"]), "share", ends, context.level, because, **known)


def _title(found: list[dict[str, Any]]) -> str | None:
    """The widest contrast whose intervals are apart, as a title: "Share of “yes”: 84% for age above 0.58, 13% ..."."""
    pairs = [pair for pair in zip(found[::2], found[1::2]) if None not in (pair[0]["low"], pair[1]["high"])]
    apart = [(top, bottom) for top, bottom in pairs if top["low"] > bottom["high"]]
    if not apart:
        return None
    start = apart[0][0]["what"][: apart[0][0]["what"].index("”") + 1]
    one, other = (f"{100 * f['value']:.0f}%{f['what'].removeprefix(start)}" for f in apart[0])
    return f"{start}: {one}, {other}"


def _has_intervals(frame: Any) -> bool:
    return bool(frame["low"].notna().any())


def _coverage(context: Context, frame: Any) -> str:
    if not _has_intervals(frame):
        error = 100 * (frame["share"] - frame["truth"]).abs().mean()
        return f"The labels were hidden from the method: the mean error is {error:.1f} percentage points."
    inside = (frame["low"] <= frame["truth"] + 1e-12) & (frame["truth"] <= frame["high"] + 1e-12)
    return (
        f"The labels are known here and were hidden from the method: {int(inside.sum())} of {len(frame)} intervals "
        f"cover the true share ({context.percent} expected); the mean error is "
        f"{100 * (frame['share'] - frame['truth']).abs().mean():.1f} percentage points."
    )


def _figures(context: Context, summary: Summary, frame: Any, one: str, unknown: list[str]) -> None:
    """The figure and the table of subgroups; of two classes the figure shows `one`; groups `unknown` are no finding."""
    numbers = plots.subgroup_numbers(frame, context.level, two=one, withheld=unknown)
    what = f"share of “{one}”" if one else "share of each class"
    numbers["label"] = what
    truth = "; crosses are the true shares" if "truth" in frame else ""
    line = f" with its {context.percent} interval (line)" if _has_intervals(frame) else ""
    caption = f"Estimated {what} in each subgroup (dot){line}{truth}."
    if unknown:
        caption += f" Hatched: by {listed(unknown)} these bags do not determine the shares, so they are no findings."
    drawn = len(numbers["names"]) - sum(numbers["headings"])
    if (n := int((frame["class"] == one).sum()) if one else len(frame)) > drawn:
        caption += f" The {drawn} largest of {n} are drawn; the table below has all."
    shown, title = (frame, "Shares of subgroups")
    if one:  # the other class has the rest
        shown, title = frame[frame["class"] == one].drop(columns="class"), f"Share of “{one}” in subgroups"
    data = table(shown, title, KINDS)
    if drawn > 1:  # one share is on its card
        summary.add("found", figure("subgroups", numbers, caption, data, title=_title(summary.findings)))
    about = (
        f"low, high: the {context.percent} interval of the share, if the method has one. people: the subgroup's size."
    )
    summary.add("estimates", table(shown, title, KINDS, "estimates.csv", about=about))


def _coefficients(context: Context, summary: Summary, bags: Bags, classes: list[str]) -> None:
    coef = getattr(context.model, "coef_", None)
    if coef is None:
        return
    if np.size(getattr(context.model, "nonlinear_coef_", ())):
        weight = sum(c["weight"] for c in context.model.candidates_ if c["model"] != "linear")
        share = weight / max(len(context.model.posterior_), 1)
        words = f"Models with effects that are not linear have a weight of {100 * share:.0f}%: "
        if share > 0.5:
            words += "no single coefficient per feature describes the predictions. The shares of subgroups do."
            summary.add("estimates", note(words))
            return
        summary.add("estimates", note(words + "the coefficients are the linear part of the predictions."))
    rows = np.atleast_2d(coef)
    of = classes[1:] if len(rows) == 1 else classes
    columns = [str(f) for f in bags.features]
    names = [context.feature_name(str(f), columns) for f in context.model.get_feature_names_out()]
    if rows.shape != (len(of), len(names)):
        return
    spread = np.nanstd(context.model.design(bags).values, axis=0)
    frame = pd.DataFrame(
        [
            {"class": c, "feature": f, "coefficient": float(rows[k, j]), PER_SD: float(rows[k, j] * spread[j])}
            for k, c in enumerate(of)
            for j, f in enumerate(names)
        ]
    )
    frame = frame.iloc[np.argsort(-frame[PER_SD].abs().to_numpy(), kind="stable")]
    summary.add(
        "estimates",
        table(
            frame,
            "Coefficients",
            about=f"coefficient: the change of the log-odds per unit of the feature, as it was given to the model. "
            f"{PER_SD}: the same for a change by one standard deviation among the individuals, which compares "
            "features of different units. The penalty shrinks both towards zero.",
            folded=len(frame) > FEW_ROWS,
        ),
    )


def _survey(context: Context, summary: Summary, frame: Any) -> None:
    keys = ["group", "level", "class"]
    both: Any = frame.assign(**{k: frame[k].astype(str) for k in keys}).merge(context.survey, on=keys)
    if both.empty:
        raise DataError(
            "No row of the survey matches a subgroup and class.",
            hint=f"groups are {listed(list(context.groups or ['everybody']), 6)}; classes are "
            f"{listed(sorted(set(frame['class'])), 6)}.",
        )
    both["difference"] = both["share"] - both["survey"]
    both["inside"] = (both["low"] <= both["survey"]) & (both["survey"] <= both["high"])
    columns = [*keys, "share", "low", "high", "survey", "difference", "inside"]
    summary.add(
        "estimates",
        table(
            both[columns],
            "Comparison with the survey",
            {**KINDS, "difference": "points"},
            about=f"The survey's share lies inside the interval in {int(both['inside'].sum())} of {len(both)} "
            f"subgroups; the mean absolute difference is {100 * both['difference'].abs().mean():.1f} percentage "
            "points. Surveys have sampling errors of their own.",
        ),
    )


def _identifiability(context: Context, summary: Summary, bags: Bags) -> Any:
    from sumwise.proportions import identifiability

    given = context.data[1]
    try:
        found = identifiability(bags, given if np.ndim(given) == 1 else None, warn=False)
    except DataError:
        return None
    columns = [str(f) for f in bags.features]
    names = [context.feature_name(str(f), columns) for f in found.features]
    shown = found.to_frame().assign(feature=names)
    shown = shown.rename(
        columns={"standard_error": "standard error", "between": "between bags", "efficiency": "relative efficiency"}
    )
    kinds = {"between bags": "share", "relative efficiency": "share", "answerable": "yes"}
    summary.add(
        "certainty",
        note(found.verdict, "good" if found.answerable.all() else "warning"),
        table(
            shown,
            "Is the model identifiable? Feature by feature",
            kinds,
            about="standard error: of the effect in log-odds per standard deviation, from the counts alone; empty "
            "where they do not determine it. between bags: the part of the feature's variance that lies between bags, "
            "the only part that counts reflect. relative efficiency: compared with knowing every individual's label. "
            "answerable: whether these bags can estimate the effect.",
            folded=len(shown) > FEW_ROWS,
        ),
    )
    return found


def _held_out(
    context: Context, summary: Summary, bags: Bags, counts: np.ndarray, classes: list[str], focus: str
) -> None:
    if len(bags) < 2 * FOLDS:
        return
    c = classes.index(focus)
    shares = context.step(
        "predict held-out bags",
        lambda: held_out.cross_predict_shares(context.model, bags, context.data[1], FOLDS, context.random_state),
    )
    sums = counts.sum(axis=1)
    actual = np.divide(counts[:, c], sums, out=np.zeros(len(sums)), where=sums > 0)
    numbers = plots.predicted_numbers(actual, shares[:, c], f"share of “{focus}” in a bag") | {"share": True}
    constant = float(np.abs(actual - actual.mean()).mean())
    caption = (
        f"Cross-validation over bags ({FOLDS} folds): predicted and actual share of “{focus}” in bags that the fit has "
        f"not seen. The mean error is {100 * numbers['error']:.1f} percentage points; predicting the overall mean "
        f"gives {100 * constant:.1f}."
    )
    frame = pd.DataFrame({"bag": [str(b) for b in bags.ids], "actual": actual, "predicted": shares[:, c]})
    data = table(frame, "Held-out bags", {"actual": "share", "predicted": "share"})
    summary.add("certainty", figure("predicted", numbers, caption, data))
    if numbers["error"] > constant:
        words = "On bags that it has not seen, the model predicts no better than the overall mean."
        summary.add("certainty", note(words))
        summary.lead.append(words)


def _other_methods(context: Context, summary: Summary, bags: Bags, frame: Any, classes: list[str]) -> None:
    from sumwise.proportions import subgroups

    keys, ours = ["group", "level", "class"], frame.set_index(["group", "level", "class"])["share"]
    groups = {"everybody": np.full(bags.n_rows, "all", dtype=object), **(context.groups or {})}
    rows = []
    for name, other in context.compare.items():
        fits = ((g, subgroups(other, bags, by={"level": np.asarray(t)}, classes=classes)) for g, t in groups.items())
        theirs: Any = pd.concat([shares.to_frame().assign(group=group) for group, shares in fits])
        gap = np.abs(theirs.set_index(keys)["share"].reindex(ours.index).to_numpy() - ours.to_numpy())
        rows.append({"method": name, "mean difference": gap.mean(), "largest difference": gap.max()})
    if rows:
        kinds = dict.fromkeys(("mean difference", "largest difference"), "distance")
        about = f"How far their shares of subgroups are from those of {context.method}."
        summary.add("certainty", table(pd.DataFrame(rows), "Other methods on the same data", kinds, about=about))
    if context.not_compared:
        summary.add("certainty", text(*context.not_compared))


def _labels(context: Context, summary: Summary, bags: Bags, labels: np.ndarray) -> None:
    from sumwise.metrics import auc, calibration, nllh

    chance = context.model.predict_proba(bags)
    rows = {
        "accuracy": float((chance.argmax(axis=1) == labels).mean()),
        "accuracy of always predicting the most common class": float(np.bincount(labels).max() / len(labels)),
        "normalised log-likelihood (0: constant, 1: perfect)": nllh(labels, chance),
    }
    if chance.shape[1] == 2:
        rows["AUC"] = auc(labels, chance)
        found = calibration(labels, chance)
        caption = (
            "Calibration: individuals in tenths by predicted probability; predicted and observed share, with two "
            "standard errors."
        )
        numbers = plots.calibration_numbers({context.method: found})
        summary.add("certainty", figure("calibration", numbers, caption, table(found, "Calibration")))
    frame = pd.DataFrame({"score": list(rows), "value": list(rows.values())})
    summary.add("certainty", table(frame, "Scores against the labels of individuals, which the fit has not seen"))
