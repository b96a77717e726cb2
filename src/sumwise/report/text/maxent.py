"""The report on classifiers of individuals that were learned from contingency tables."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from sumwise import plots
from sumwise.display import in_natural_order
from sumwise.errors import DataError
from sumwise.frames import in_one_order
from sumwise.metrics import auc, calibration, nllh
from sumwise.metrics.intervals import auc_interval, wilson_interval
from sumwise.noise import Exact, Summed
from sumwise.plots.style import MOST_LINES
from sumwise.report import level_shares
from sumwise.report.context import Context, listed, plural, subgroup
from sumwise.report.summary import Summary, bullets, facts, figure, finding, note, table, text
from sumwise.tables import Tables

KINDS = dict.fromkeys(("count", "count by model"), "count") | dict.fromkeys(("share", "share by model"), "share")
OPEN = 0.2  # the standard error from which on a noisy share is not shown
ASSUMED = {
    "MaxEntClassifier": [
        "Among all distributions that agree with the tables, the one of maximum entropy: attributes interact as in the "
        "tables and in no higher order.",
        "Given the features, the label follows a logistic regression on the cells of the tables.",
    ],
    "NaiveBayesTables": ["Attributes are independent, given the label."],
    "BestPair": ["The most informative table contains all information on the label."],
}
RISKS = [
    "Individuals to be classified who come from a different population than those counted.",
    "Interactions of three or more attributes that no table of two shows.",
    "Rare levels: with few counts, the penalty shrinks their effects towards zero.",
    "Tables from different populations: no single distribution agrees with all of them.",
]


def write(context: Context) -> Summary:
    """The summary of a classifier fitted to tables."""
    model, tables = context.model, context.data
    if isinstance(tables, (list, tuple)) and tables:
        tables = tables[0]  # several parts of the data: the first shows the levels
    if not isinstance(tables, Tables):
        raise DataError("A report on a method for tables needs its tables.", hint="give the Tables that fit was given.")
    frame = context.step(
        "expected tables", lambda: level_shares.level_shares(model, tables, context.level, context.random_state)
    )
    context.frames["estimates"] = frame
    names = [str(c) for c in model.classes_]
    focus = names[1] if len(names) == 2 else names[-1]
    given, shown = tables.label or "the label", context.names
    coded = names == ["0", "1"]  # a yes or no that goes by the label's name
    fallback = f"“{shown.get(given, given)}”" if coded else f"{shown.get(given, given)} = {focus}"
    fallback = fallback if tables.label else f"class {focus}"
    label = shown.get(f"{given} = {focus}", fallback)
    title = context.title or f"Share of {label} by {listed(_attributes(context))}"
    summary = Summary(title, "maxent", context.method)
    people = float(model.n_) if tables.n is None else tables.n  # noisy tables state no total
    summary.record = {"tables": len(tables), "people": people, "attributes": len(model.domain_), "classes": names}
    part = frame[frame["class"] == focus]
    first = part[part["attribute"] == part["attribute"].iloc[0]]
    share = float((first["count"] * first["share"].fillna(0)).sum() / first["count"].sum())
    scores = None if context.truth is None else _held_out(context, summary)
    contrasts = _contrasts(context, part, label, tables)
    summary.lead = [_verdict(context, (len(tables), people), share, label, (scores, contrasts)), *context.cautions]
    if not _exact(tables):
        summary.lead.append(f"The counts carry noise ({_noises(tables)}): small counts say little.")
    summary.findings = [*contrasts, *_score_findings(context, scores)]
    if scores is not None:
        summary.record["held out"] = scores[0]
    legible = frame if _exact(tables) else _legible(frame, tables)
    if legible["share"].notna().any():
        _add_levels(context, summary, legible, (focus, label, share), tables)
    _table(context, summary, legible, (focus, label), tables)
    _certainty(context, summary, tables)
    assumed = ASSUMED.get(context.method, ["Given the features, the label follows the fitted classifier."])
    summary.add("assumptions", bullets(assumed, f"{context.method} assumes"), bullets(RISKS, "What could go wrong"))
    return summary


def _table(context: Context, summary: Summary, frame: Any, named: tuple[str, str], tables: Tables) -> None:
    """The shares of every level; of two classes those of one, since the other has the rest."""
    focus, label = named
    two, modelled = frame["class"].nunique() == 2, "share by model" in frame
    title = f"Share of {label}" if two else "Class shares"
    title += " at every level: counted, and by the model" if modelled else ""
    of = f"counted as {label}" if two else "in the class"
    about = f"count: people at the level. share: the part of them {of}."
    if modelled:
        about += " count by model, share by model: what the fitted distribution implies for the same."
    if not _exact(tables):
        about += (
            f" Shares are left out where noise and sampling leave them open by {100 * OPEN:g} points or more (one "
            "standard error), and cut to 0% to 100% elsewhere; estimates.csv has all of them as they were released."
        )
    rows = _named(context, frame)
    rows = rows[rows["class"] == focus].drop(columns="class") if two else rows
    summary.add("estimates", table(rows, title, KINDS, "estimates.csv", about=about))


def _verdict(context: Context, size: tuple[int, float], share: float, label: str, found: tuple[Any, list]) -> str:
    """The share overall and where it differs most, then what was learned from what."""
    scores, contrasts = found
    start = f"The share of {label} is {100 * share:.1f}% among {plural(size[1], 'individual')}"
    if contrasts:
        start += f": {contrasts[0]['clause']}"
    start += (
        f". {context.method} learned a probability for each individual from {plural(size[0], 'contingency table')} of "
        f"{plural(len(context.model.domain_), 'attribute')}."
    )
    if scores is None:
        return f"{start} There are no individual rows, so only its agreement with the tables could be checked."
    own, common, n = scores
    gain = own["accuracy"] - common
    if gain <= 0:
        return f"{start} On {n:,} rows that were not counted, it is no more accurate than always predicting one class."
    return (
        f"{start} On {n:,} rows that were not counted, it classifies {100 * own['accuracy']:.1f}% correctly; always "
        f"predicting the most common class gives {100 * common:.1f}%."
    )


def _score_findings(context: Context, scores: Any) -> list[dict[str, Any]]:
    if scores is None:
        return _expected_findings(context)
    own, common, n = scores
    ends = wilson_interval(own["accuracy"] * n, n, context.level)
    better = ends[0] > common
    because = f"Always predicting the most common class gives {100 * common:.1f}%; the interval " + (
        "excludes it." if better else "includes it: the model may be no better."
    )
    out = _headlines(own)
    what = "Accuracy on rows that were not counted"
    out.append(finding(what, own["accuracy"], "share", ends, context.level, because))
    if "AUC" in own:
        because = "The probability that a random positive is ranked above a random negative; 0.5 is chance."
        what = "AUC on rows that were not counted"
        out.append(finding(what, own["AUC"], "number", own["AUC interval"], context.level, because))
    return out


def _headlines(own: dict[str, Any]) -> list[dict[str, Any]]:
    """Log-loss, calibration slope, and mean prediction against the rate, on rows that were not counted."""
    if "log-loss" not in own:
        return []
    rows = "on rows that were not counted"
    constant, rate = own["log-loss of a constant"], own["rate"]
    because = f"Predicting the rate for everybody gives {constant:.3f}; lower is better."
    out = [finding(f"Log-loss {rows}", own["log-loss"], "number", because=because)]
    if "calibration slope" in own:
        words = "1 is calibrated; below 1 the predictions vary too much, above too little."
        out.append(finding(f"Calibration slope {rows}", own["calibration slope"], "number", because=words))
    words = f"The rate of these rows is {100 * rate:.1f}%."
    out.append(finding(f"Mean prediction {rows}", own["mean prediction"], "share", because=words))
    return out


def _expected_findings(context: Context) -> list[dict[str, Any]]:
    """The same scores as expected from the tables alone, for two classes."""
    fit = getattr(context.model, "fit_", None)
    if fit is None or len(getattr(fit, "rate", ())) != 2 or not np.isfinite(fit.log_loss):
        return []
    rate = np.array(fit.rate)
    constant = -float(np.sum(rate[rate > 0] * np.log(rate[rate > 0])))
    words = f"Computed from the tables; lower is better. Predicting the rate for everybody gives {constant:.3f}."
    out = [finding("Expected log-loss of the predictions", fit.log_loss, "number", because=words)]
    words = "Computed from the tables: 1 is calibrated; below 1 the predictions vary too much."
    out.append(finding("Expected calibration slope", fit.slope, "number", because=words))
    words = f"{100 * fit.rate[1]:.1f}% were counted."
    out.append(finding("Mean prediction of the model", fit.expected_rate[1], "share", because=words))
    return out


def _contrasts(context: Context, part: Any, label: str, tables: Tables) -> list[dict[str, Any]]:
    """The attributes whose levels differ most, among levels that are common enough, without those whose differences
    noise, sampling and the choice of the largest explain."""
    exact = _exact(tables)
    focus, wide, level = 1 if len(tables.classes or ()) == 2 else -1, [], context.level
    pairs = int(part.groupby("attribute")["share"].agg(lambda s: s.size * (s.size - 1)).sum())
    for attribute, levels in part.groupby("attribute", sort=False):
        errors = _sampling(levels) if exact else level_shares.class_share_errors(tables, attribute)[:, focus]
        known = levels.assign(error=errors)
        known = known[known["count"] >= 0.02 * part["count"].max()].dropna(subset=["share"])
        if len(known) > 1:
            top, bottom = known.loc[known["share"].idxmax()], known.loc[known["share"].idxmin()]
            if _apart(top, bottom, pairs, level):
                wide.append((float(top["share"] - bottom["share"]), top, bottom))
    out = []
    explained = (
        "Counted, not estimated; the interval is for the population from which the individuals were drawn, not for "
        "picking the largest. "
        if exact
        else "Counted with noise; the interval allows for noise and sampling, not for picking the largest. "
    )
    for _, top, bottom in sorted(wide, key=lambda w: -w[0])[:3]:
        share = float(np.clip(top["share"], 0.0, 1.0))  # noisy counts can be beyond
        if exact:
            ends = wilson_interval(share * top["count"], top["count"], level)
        else:
            half = float(ndtri(0.5 + level / 2) * top["error"])
            ends = max(share - half, 0.0), min(share + half, 1.0)
        one, other = (subgroup(*_pair(context, row)) for row in (top, bottom))
        lowest = f"{100 * max(bottom['share'], 0.0):.1f}%"
        because = f"{explained}The lowest share is {lowest}, for {other}."
        clause = f"{100 * share:.1f}% for {one}, {lowest} for {other}"
        out.append(finding(f"Share of {label} for {one}", share, "share", ends, level, because, clause=clause))
        explained = ""  # once is enough
    return out


def _sampling(levels: Any) -> np.ndarray:
    """Standard errors of counted shares, with one more person of each kind."""
    n = levels["count"].to_numpy() + 2
    share = (levels["count"] * levels["share"].fillna(0) + 1).to_numpy() / n
    return np.sqrt(share * (1 - share) / n)


def _apart(top: Any, bottom: Any, pairs: int, level: float) -> bool:
    """Whether two shares differ by more than chance explains, chosen as the widest of several pairs (Bonferroni)."""
    chance = (1 - level) / pairs
    return bool(top["share"] - bottom["share"] > -ndtri(chance) * np.hypot(top["error"], bottom["error"]))


def _attributes(context: Context) -> list[str]:
    return [context.names.get(a, a) for a in context.model.domain_.attributes]


def _pair(context: Context, row: Any) -> tuple[str, str]:
    """The names of an attribute and of its level that readers see."""
    attribute, level = str(row["attribute"]), str(row["level"])
    return context.names.get(attribute, attribute), context.names.get(f"{attribute} = {level}", _level(level))


def _named(context: Context, frame: Any) -> Any:
    pairs = [_pair(context, row) for row in frame.to_dict("records")]
    return frame.assign(attribute=[a for a, _ in pairs], level=[level for _, level in pairs])


def _level(name: Any) -> str:
    """A level in words: an interval of numbers as "31 to below 35", with separators from 10,000 on."""
    words = re.sub(r"^\[(\S+), (\S+)\)$", r"\1 to below \2", str(name))
    if not re.fullmatch(r"below \S+|\S+ and above|\S+ to below \S+", words):
        return words
    return re.sub(r"(?<![\w.])\d{5,}(?![\w.])", lambda whole: f"{int(whole[0]):,}", words)


def _exact(tables: Tables) -> bool:
    return all(isinstance(t.noise, Exact) for t in tables)


def _noises(tables: Tables) -> str:
    """The kinds of noise of the tables with their scales, one after another."""
    found = []
    for noise in (t.noise for t in tables):
        one, draws = (noise.noise, f", {noise.times} draws a cell") if isinstance(noise, Summed) else (noise, "")
        name, *sizes = one.describe().items()
        numbers = [f"{k} {v:.3g}" for k, v in sizes if np.ndim(v) == 0 and isinstance(v, int | float | np.number)]
        found.append(f"{str(name[1]).lower()}{' of ' if numbers else ''}{' and '.join(numbers)}{draws}")
    return "; ".join(dict.fromkeys(found))


def _legible(frame: Any, tables: Tables) -> Any:
    """The levels of noisy tables with shares that can be read: none where noise leaves it open, none beyond 0 and 1."""
    share = frame["share"].to_numpy(dtype=float).copy()
    for attribute in dict.fromkeys(frame["attribute"]):
        here = (frame["attribute"] == attribute).to_numpy()
        share[here] = np.where(level_shares.class_share_errors(tables, attribute).ravel() < OPEN, share[here], np.nan)
    return frame.assign(share=np.clip(share, 0.0, 1.0))


def _held_out(context: Context, summary: Summary) -> tuple[dict[str, Any], float, int]:
    """Scores and calibration on rows that were not counted: own scores, the most common class, number of rows."""
    rows, given = in_one_order(dict(zip(("rows", "classes"), context.truth)))[0].values()
    names = [str(c) for c in context.model.classes_]
    given = np.asarray(given)
    labels = given if given.dtype.kind in "iu" else np.array([names.index(str(v)) for v in given.tolist()])
    found = []
    for name, model in {context.method: context.model, **context.compare}.items():
        chance = model.predict_proba(rows)
        row: dict[str, Any] = {"method": name, "accuracy": float((chance.argmax(axis=1) == labels).mean())}
        if len(set(labels.tolist())) > 1:  # else neither is defined
            row["normalised log-likelihood"] = nllh(labels, chance)
            if chance.shape[1] == 2:
                row["AUC"] = auc(labels, chance)
        found.append(row)
    own: dict[str, Any] = {k: v for k, v in found[0].items() if k != "method"}
    chance = context.model.predict_proba(rows)
    own |= prediction_scores(labels, chance)
    if "AUC" in own:
        own["AUC interval"] = auc_interval(labels, chance, context.level)
    frame = pd.DataFrame({"actual": [names[c] for c in labels]})
    for c, name in enumerate(names):
        frame[f"p({name})"] = chance[:, c]
    context.frames["held_out"] = frame.assign(**{"class": [names[c] for c in chance.argmax(axis=1)]})
    if len(names) == 2:
        shown = calibration(labels, chance)
        caption = (
            "Calibration on held-out rows, in tenths by predicted probability: predicted and observed share, with two "
            "standard errors. Well calibrated predictions lie on the diagonal."
        )
        numbers = plots.calibration_numbers({context.method: shown})
        summary.add("found", figure("calibration", numbers, caption, table(shown, "Calibration")))
    summary.add(
        "certainty",
        table(
            pd.DataFrame(found),
            "Scores on held-out rows",
            {"accuracy": "share"},
            about="Higher is better. normalised log-likelihood: 0 for a constant, 1 for perfect predictions. AUC: 0.5 "
            "is chance.",
        ),
    )
    return own, float(np.bincount(labels).max() / len(labels)), len(labels)


def prediction_scores(labels: Any, chance: np.ndarray) -> dict[str, float]:
    """Log-loss, that of a constant, calibration slope, mean prediction and rate of two classes; fewer of one class.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.report.text.maxent import prediction_scores
    >>> scores = prediction_scores([0, 1, 0, 1], np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.7, 0.3]]))
    >>> {k: round(v, 3) for k, v in scores.items() if k != "calibration slope"}
    {'mean prediction': 0.4, 'rate': 0.5, 'log-loss': 0.574, 'log-loss of a constant': 0.693}
    """
    if chance.shape[1] != 2:
        return {}
    y = np.asarray(labels)
    rate, likely = float(np.mean(y)), np.clip(chance[np.arange(len(y)), y], 1e-300, 1.0)
    out = {"mean prediction": float(chance[:, 1].mean()), "rate": rate}
    if 0 < rate < 1:
        out["log-loss"] = -float(np.mean(np.log(likely)))
        out["log-loss of a constant"] = -float(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
        slope = _slope(y, np.log(np.clip(chance, 1e-300, 1.0)) @ [-1.0, 1.0])
        out |= {} if slope is None else {"calibration slope": slope}
    return out


def _slope(y: np.ndarray, score: np.ndarray) -> float | None:
    """Slope of a logistic regression of the label on the log-odds; None where they don't vary, or separate it."""
    from sklearn.linear_model import LogisticRegression

    unit = float(score.std())
    if unit < 1e-6 or min(score[y == 1]) > max(score[y == 0]):
        return None
    return float(LogisticRegression(C=np.inf, max_iter=1000).fit(score[:, None] / unit, y).coef_[0, 0] / unit)


def _agreement(context: Context, frame: Any) -> dict[str, Any]:
    part = frame.dropna(subset=["share", "share by model"])
    numbers = plots.predicted_numbers(part["share"], part["share by model"], "class share at a level")
    numbers |= {"share": True, "labels": ("share of a class at a level, counted", "share by the model")}
    caption = (
        "Agreement with the tables: the share of every class at every level, counted and by the model. The mean "
        f"difference is {100 * numbers['error']:.2f} percentage points."
    )
    return figure("predicted", numbers, caption, table(_named(context, part), "Levels", KINDS))


def _add_levels(context: Context, summary: Summary, frame: Any, of: tuple[str, str, float], tables: Tables) -> None:
    """The first picture, the shares of every level; and how far the model agrees with them."""
    focus, label, share = of
    part = frame[frame["class"] == focus]
    summary.sections.setdefault("found", []).insert(0, _levels(context, part, label, share, tables))
    if "share by model" in frame:
        summary.add("certainty", _agreement(context, frame))


def _in_natural_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The levels of every attribute as people order them: low, middle, high."""
    parts = []
    for _, part in frame.groupby("group", sort=False):
        rank = {name: k for k, name in enumerate(in_natural_order(part["level"].tolist()))}
        parts.append(part.iloc[np.argsort([rank[name] for name in part["level"]], kind="stable")])
    return pd.concat(parts)


def _levels(context: Context, part: Any, label: str, overall: float, tables: Tables) -> dict[str, Any]:
    """The share of a class at every level, counted and by the model, next to that of everybody."""
    shown = part.dropna(subset=["share"])
    if len(shown) > MOST_LINES:
        shown = shown.iloc[np.sort(np.argsort(-shown["count"].to_numpy(), kind="stable")[:MOST_LINES])]
    if _exact(tables):
        ends = [wilson_interval(s * n, n, context.level) for s, n in zip(shown["share"], shown["count"])]
    else:
        focus, z = (1 if len(tables.classes or ()) == 2 else -1), float(ndtri(0.5 + context.level / 2))
        errors = {a: level_shares.class_share_errors(tables, a)[:, focus] for a in dict.fromkeys(part["attribute"])}
        place = part.groupby("attribute", sort=False).cumcount()
        half = [z * errors[a][place[k]] for k, a in zip(shown.index, shown["attribute"])]
        ends = [(max(s - h, 0.0), min(s + h, 1.0)) for s, h in zip(shown["share"], half)]
    named = _named(context, shown)
    low, high = np.array(ends, dtype=float).T
    frame = named.rename(columns={"attribute": "group"}).assign(people=named["count"], low=low, high=high)
    by_model = "share by model" in frame
    frame = frame.assign(truth=frame["share by model"]) if by_model else frame
    frame = _in_natural_order(frame)
    numbers = plots.subgroup_numbers(frame, context.level, two=str(frame["class"].iloc[0]))
    numbers |= {"label": f"share of {label}", "reference": overall, "reference_name": "everybody"}
    numbers |= {"truth_name": "by the model", "value_name": "counted"}
    caption = (
        f"Share of {label} at every level: counted (dot) with its {context.percent} interval (line)"
        f"{' and by the model (cross)' if by_model else ''}. The dotted line is everybody, {100 * overall:.1f}%."
    )
    if len(shown) < len(part):
        caption += f" Drawn are {len(shown)} of {len(part)} levels; the table has all."
    common = shown[shown["count"] >= 0.02 * part["count"].max()]
    top, bottom = (named.loc[found] for found in (common["share"].idxmax(), common["share"].idxmin()))
    title = (
        f"Share of {label}: {100 * top['share']:.0f}% for {subgroup(top['attribute'], top['level'])}, "
        f"{100 * bottom['share']:.0f}% for {subgroup(bottom['attribute'], bottom['level'])}"
    )
    return figure("subgroups", numbers, caption, table(named, "Levels", KINDS), title=title)


def _fit_facts(context: Context, fit: Any) -> dict[str, Any]:
    """Rates counted and under the model, calibration and misfit, of the model that is returned."""
    classes = [str(c) for c in context.model.classes_]
    both = zip(classes, fit.rate, fit.expected_rate)
    out: dict[str, Any] = {f"rate of {c}, counted; by the model": f"{a:.4f}; {b:.4f}" for c, a, b in list(both)[-3:]}
    if fit.slope == fit.slope:  # not NaN
        out["calibration slope to expect on others"] = f"{fit.slope:.2f} (1 is calibrated; less: scores vary too much)"
    out["misfit of one-way tables by class"] = (
        f"{fit.miss:.2f} standard errors on average, {fit.worst_miss:.2f} at most"
    )
    return out


def _certainty(context: Context, summary: Summary, tables: Tables) -> None:
    fit = getattr(context.model, "fit_", None)
    if fit is not None and not fit.converged:
        words = "Training stopped before it converged; predictions may still change. Raise max_iter."
        if getattr(fit, "miss", 0.0) > 1:
            words += f" The model misses its own tables by {fit.miss:.1f} standard errors."
        summary.lead.append(words)
        summary.add("certainty", note(words))
    if context.not_compared:
        summary.add("certainty", text(*context.not_compared))
    context.convergence(summary)
    pairs = {
        "tables": len(tables),
        "cells": int(sum(t.n_cells for t in tables)),
        "noise of the counts": "none" if _exact(tables) else _noises(tables),
    }
    if not _exact(tables):
        pairs["effect of the noise"] = (
            "predictions are shrunk towards the constant; scores are below those of exact counts"
        )
    summary.add("certainty", facts(pairs, "Data"))
    if hasattr(fit, "expected_rate"):
        summary.add("certainty", facts(_fit_facts(context, fit), "The model against its tables"))
