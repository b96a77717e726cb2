"""What the report says of responses predicted from bags."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.report.summary import Summary, bullets, facts, figure, note, table, text

ASSUMED = {
    "means": [
        "The response is linear in the means of the features over a bag; how they spread within it plays no part."
    ],
    "moments": ["The response is linear in the means, spreads and correlations of the features over a bag."],
    "quantiles": [
        "The response is linear in the quantiles of each feature over a bag; how features go together plays no part."
    ],
    "wasserstein": ["Bags whose distributions are near in transport distance have similar responses."],
    "fourier": [
        "The response is smooth in the distribution of the features over a bag; nothing more is assumed of its form."
    ],
    "DeepSets": [
        "The response is a function of an average of learned features over the bag; it needs many bags to be learned."
    ],
}
SHARED = [
    "Bags to be predicted come about like those that were fitted.",
    "The samples of a bag are drawn from it without regard to the response.",
]
BREAKS = [
    "Few bags: the number of bags, not of samples, is the size of the data.",
    (
        "Neighbouring bags that are alike: random folds then flatter, since a held-out bag has near twins among the "
        "others."
    ),
    (
        "Bags of very different sizes: features of small bags are noisy, and a method that doesn't know it is pulled "
        "to zero."
    ),
]


def tell(study: Any, summary: Summary) -> None:
    """Say what was found, how sure it is and what it rests on."""
    frame = study.estimates()
    score, plain, name = scores(study)
    summary.record = {
        "bags": len(study.bags),
        "samples": study.bags.n_rows,
        "score": score,
        "score of a constant": plain,
        "scored by": name,
    }
    summary.lead = [
        (
            f"{len(study.bags):,} bags with {study.bags.n_rows:,} samples of "
            f"{len({r['name'] for r in study.features.rules})} features; one response per bag."
        ),
        f"Bags that the fit has not seen are predicted with {name} {score:.3f}{_spread(study, score)}; a constant has "
        f"{plain:.3f}.",
    ]
    if study.classes is None:
        summary.lead.append(
            f"A prediction of a new bag is within {study.half_width():.4g} of the truth with probability "
            f"{100 * study.problem.level:g}%, if it "
            "is like these bags."
        )
    kinds = {"samples": "count"}
    data = table(frame, "Every bag", kinds)
    if study.classes is None:
        numbers = diagnostics.predicted_numbers(
            frame["actual"], frame["predicted"], "response", frame["low"], frame["high"]
        )
        caption = (
            "Predicted against actual response of every bag, each by a fit that has not seen it; upright: the interval."
        )
        summary.add("found", figure("predicted", numbers, caption, data))
    else:
        numbers = diagnostics.confusion(
            study.response, [study.classes.index(c) for c in frame["predicted"]], study.classes
        )
        told = pd.DataFrame(numbers["counts"], columns=[f"predicted {c}" for c in study.classes])
        told.insert(0, "actual", study.classes)
        caption = "Bags by actual and predicted class, each predicted by a fit that has not seen it."
        summary.add(
            "found",
            figure("confusion", numbers, caption, table(told, "Bags", dict.fromkeys(told.columns[1:], "count"))),
        )
    summary.add("estimates", table(frame, "Every bag, predicted by a fit that has not seen it", kinds, "estimates.csv"))
    tell_certainty(study, summary, score, plain)
    summary.add(
        "assumptions",
        bullets(ASSUMED[study.chosen] + SHARED, f"{study.chosen} assumes"),
        bullets(BREAKS, "What would break it"),
    )


def _spread(study: Any, score: float) -> str:
    """Wilson's interval of an accuracy, in words."""
    if study.classes is None:
        return ""
    from scipy.stats import norm

    n, z = len(study.bags), float(norm.ppf((1 + study.problem.level) / 2))
    middle = (score + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(score * (1 - score) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return f" ({100 * study.problem.level:g}% interval {middle - half:.3f} to {middle + half:.3f})"


def scores(study: Any) -> tuple[float, float, str]:
    """How good held-out predictions are, what a constant has, and the name of the score."""
    predicted = study.held_out()
    if study.classes is None:
        spread = float(((study.response - study.response.mean()) ** 2).sum())
        return 1 - float(((study.response - predicted) ** 2).sum()) / spread, 0.0, "R squared"
    score = np.column_stack([1 - predicted, predicted]) if predicted.ndim == 1 else predicted
    right = float((score.argmax(axis=1) == study.response).mean())
    return right, float(np.bincount(study.response).max() / len(study.response)), "accuracy"


def tell_certainty(study: Any, summary: Summary, score: float, plain: float) -> None:
    """Scores of all methods, size of the data, convergence."""
    if score <= plain:
        summary.add(
            "certainty",
            note(
                "On bags it has not seen, the model is no better than a constant: these features say nothing of the "
                "response."
            ),
        )
    advice = getattr(study, "advice", None)
    if advice is not None:
        rows = [
            {
                "method": name,
                "R squared": float(np.mean(found)),
                "standard error": float(np.std(found, ddof=1) / np.sqrt(len(found))),
            }
            for name, found in advice["scores"].items()
        ]
        summary.add(
            "certainty",
            table(pd.DataFrame(rows), "All methods, by cross-validation over bags"),
            text(
                "The simplest method within one standard error of the best is taken. It was chosen on the same bags "
                "that it is scored on above, so that the score flatters a little."
            ),
            bullets(advice["reasons"]) if advice["reasons"] else None,
        )
    sizes = study.bags.sizes
    summary.add(
        "certainty",
        facts(
            {
                "bags": len(study.bags),
                "samples per bag": f"{sizes.min():,} to {sizes.max():,}, median {np.median(sizes):,.0f}",
            },
            "Size of the data",
        ),
        study.told_fit(getattr(study.model, "fit_", None)),
    )
    if study.classes is None:
        summary.add(
            "certainty",
            text(
                "Intervals are as wide as the errors on held-out bags: their share of such errors is no larger. They "
                "are the same for all "
                "bags, so small bags are promised too much and large ones too little."
            ),
        )
