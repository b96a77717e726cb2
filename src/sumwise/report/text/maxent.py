"""What the report says of classifiers from tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.errors import DataError
from sumwise.noise import Exact
from sumwise.report.summary import Summary, bullets, facts, figure, note, table, text

KINDS = {"people": "count", "people by model": "count", "share": "share", "share by model": "share"}
ASSUMED = {
    "MaxEntClassifier": [
        (
            "Of all distributions that agree with the tables, the most even one: attributes interact in the tables' "
            "pairs and in no larger sets."
        ),
        "Label and features are tied as in a logistic regression on the cells of the tables.",
    ],
    "NaiveBayesTables": ["Given the label, attributes are independent."],
    "TreeAugmentedNaiveBayes": ["Given the label, each attribute depends on one other."],
    "BestPair": ["The one table that tells most of the label tells all."],
}
BREAKS = [
    "People to be predicted who come about otherwise than those who were counted.",
    "An effect of three attributes together that no pair of them shows.",
    "Rare levels: where few were counted, the penalty pulls to the rest.",
    "Tables from different populations: then no one distribution agrees with all.",
]


def tell(study: Any, summary: Summary) -> None:
    """Say what was found, how sure it is and what it rests on."""
    frame = study.estimates()
    names = [str(c) for c in study.model.classes_]
    name = names[1] if len(names) == 2 else names[-1]
    people = float(study.model.n_) if study.tables.n is None else study.tables.n  # noisy tables state no total
    summary.record = {
        "tables": len(study.tables),
        "people": people,
        "attributes": len(study.model.domain_),
        "classes": names,
    }
    overall = frame[frame["class"] == name]
    first = overall[overall["attribute"] == overall["attribute"].iloc[0]]
    share = float((first["people"] * first["share"].fillna(0)).sum() / first["people"].sum())
    summary.lead = [
        (
            f"{len(study.tables):,} tables over {len(study.model.domain_)} attributes of {people:,.0f} "
            f"people; {100 * share:.1f}% of them are {name}."
        ),
        *_contrasts(overall, name),
    ]
    scores = None if study.rows is None else tell_held_out(study, summary)
    if scores is None:
        _tell_fit_only(study, summary, frame)
    else:
        summary.record["held out"] = scores
    summary.add(
        "estimates", table(frame, "Every level of every attribute: counted, and by the model", KINDS, "estimates.csv")
    )
    tell_certainty(study, summary, frame)
    summary.add(
        "assumptions", bullets(ASSUMED[study.chosen], f"{study.chosen} assumes"), bullets(BREAKS, "What would break it")
    )


def _contrasts(overall: Any, name: str) -> list[str]:
    """The attributes whose levels differ most."""
    wide = []
    for attribute, part in overall[overall["people"] >= 0.02 * overall["people"].max()].groupby(
        "attribute", sort=False
    ):
        if len(part) > 1:
            top, bottom = part.loc[part["share"].idxmax()], part.loc[part["share"].idxmin()]
            wide.append((float(top["share"] - bottom["share"]), attribute, top, bottom))
    return [
        f"{name} by {a}: {100 * top['share']:.1f}% at {top['level']}, {100 * bottom['share']:.1f}% at "
        f"{bottom['level']}."
        for _, a, top, bottom in sorted(wide, key=lambda w: -w[0])[:3]
    ]


def _tell_fit_only(study: Any, summary: Summary, frame: Any) -> None:
    if "share by model" not in frame:
        return
    summary.lead.append(
        "There are no rows to check predictions on; what can be checked is whether the model agrees with the tables."
    )
    summary.add("found", _moment_fit(frame))


def tell_held_out(study: Any, summary: Summary) -> dict[str, float]:
    """Scores and calibration on rows that were not counted."""
    from sumwise.metrics import auc, calibration, nllh

    models = {study.chosen: study.model}
    if study.problem.sensitivity:
        for name in study.methods:
            if name != study.chosen:
                try:
                    models[name] = study.work.step(
                        f"compare {name}", lambda n=name: study.train(study.seeded(study.make(n)))
                    )
                except DataError as error:
                    summary.add("certainty", text(f"{name} can't be fitted here: {error.message}"))
    rows = []
    for name, model in models.items():
        chance = model.predict_proba(study.rows)
        row = {
            "method": name,
            "NLLH": nllh(study.labels, chance),
            "accuracy": float((chance.argmax(axis=1) == study.labels).mean()),
        }
        if chance.shape[1] == 2:
            row["AUC"] = auc(study.labels, chance)
        rows.append(row)
    own = {k: v for k, v in rows[0].items() if k != "method"}
    commonest = float(np.bincount(study.labels).max() / len(study.labels))
    summary.lead.append(
        f"On {len(study.labels):,} rows that were not counted, {100 * own['accuracy']:.1f}% are classified right "
        "(always the commonest class: "
        f"{100 * commonest:.1f}%)" + (f", and AUC is {own['AUC']:.3f}." if "AUC" in own else ".")
    )
    if len(study.model.classes_) == 2:
        found = calibration(study.labels, study.model.predict_proba(study.rows))
        caption = (
            "Held-out rows in tenths by predicted probability: predicted against observed share, with two standard "
            "errors. On the line, a promise is kept."
        )
        summary.add(
            "found",
            figure(
                "calibration",
                diagnostics.calibration_numbers({study.chosen: found}),
                caption,
                table(found, "Calibration"),
            ),
        )
    summary.add(
        "certainty",
        table(pd.DataFrame(rows), "Methods on held-out rows", {"accuracy": "share"}),
        text(
            "NLLH: normalised log-likelihood, 0 for a constant, 1 for perfect. The rows were drawn at random and "
            "never counted."
        ),
    )
    return own


def _moment_fit(frame: Any) -> dict[str, Any]:
    part = frame.dropna(subset=["share", "share by model"])
    numbers = diagnostics.predicted_numbers(part["share"], part["share by model"], "share of the class at a level")
    caption = (
        "Share of every class at every level: counted, and by the model. The mean difference is "
        f"{100 * numbers['error']:.2f} percentage points."
    )
    return figure("predicted", numbers, caption, table(part, "Levels", KINDS))


def tell_certainty(study: Any, summary: Summary, frame: Any) -> None:
    """Agreement with the tables, convergence, noise."""
    if "share by model" in frame and study.rows is not None:
        summary.add("certainty", _moment_fit(frame))
    fit = getattr(study.model, "fit_", None)
    if fit is not None and not fit.converged:
        summary.add(
            "certainty",
            note("Training stopped before it converged; predictions may still move. Raise max_iter in [options]."),
        )
    summary.add("certainty", study.told_fit(fit))
    course = (
        None
        if fit is None
        else next((k for k in ("misfit", "moment_error", "objective") if len(fit.history.get(k, ())) > 1), None)
    )
    if fit is not None and course is not None:
        values = [float(v) for v in fit.history[course]]
        data = table(pd.DataFrame({"step": np.arange(len(values)) + 1, course: values}), "Training", {"step": "count"})
        told = {"misfit": "misfit between model and tables, in standard errors", "moment_error": "moment error"}.get(
            course, course
        )
        summary.add(
            "certainty",
            figure(
                "training_curve",
                diagnostics.training_curve({study.chosen: fit}, course),
                f"Training, step by step: {told}.",
                data,
            ),
        )
    noises = sorted({type(t.noise).__name__ for t in study.tables})
    pairs = {
        "tables": len(study.tables),
        "cells": int(sum(t.counts.size for t in study.tables)),
        "noise of the counts": ", ".join(noises),
    }
    if noises != [Exact.__name__]:
        pairs["what noise costs"] = "it pulls predictions to the constant; scores are below those of exact tables"
    summary.add("certainty", facts(pairs, "Size of the data"))
