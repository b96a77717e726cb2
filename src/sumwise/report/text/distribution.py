"""The report on responses of bags predicted from the samples in them (distribution regression)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise import plots
from sumwise.distribution.regressor import conformal_half_width
from sumwise.errors import DataError, sentence
from sumwise.metrics.intervals import mean_error_interval, r_squared_interval, wilson_interval
from sumwise.plots.style import MOST_COLOURS
from sumwise.report import held_out
from sumwise.report.context import Context, listed, plural
from sumwise.report.rounding import span
from sumwise.report.summary import FEW_ROWS, Summary, bullets, facts, figure, finding, note, table, text

FOLDS = 10
ASSUMED = {
    "LinearEmbedding": [
        "The response is linear in the means of the features over a bag; spread within bags is ignored."
    ],
    "MomentEmbedding": ["The response is linear in means, spreads and correlations of the features over a bag."],
    "QuantileEmbedding": [
        "The response is linear in the quantiles of each feature over a bag; dependence between features is ignored."
    ],
    "FourierEmbedding": ["The response is a smooth function of the distribution of the features over a bag."],
    "BagKernelRidge": ["Bags whose distributions are close in transport distance have similar responses."],
    "BagGaussianProcess": ["The response is a Gaussian process over the distributions of the bags."],
    "BagStacking": [
        "Among the methods, or between them, is one that describes how the response depends on the samples."
    ],
    "DeepSets": ["The response is a function of averages of learned features over the bag; this needs many bags."],
}
SHARED = [
    "Bags to be predicted come from the same population as those that were fitted.",
    "Which samples of a bag were drawn does not depend on its response.",
]
RISKS = [
    "Few bags: the sample size is the number of bags, not of samples.",
    "Bags that resemble their neighbours: random folds are then too optimistic, because a held-out bag has near "
    "duplicates among the others. Use folds by place.",
    "Bags of very different sizes: features of small bags are noisy, and the effects that a method finds without "
    "allowing for this are biased towards zero.",
]


def write(context: Context) -> Summary:
    """The summary of a regressor or classifier of bags."""
    if not hasattr(context.model, "predict"):
        from sumwise.report.text import plain

        return plain.write(context)
    if not (isinstance(context.data, tuple) and len(context.data) == 2):
        raise DataError("A report on a method for bags needs the bags and their responses.", hint="give (bags, y).")
    bags, y = context.data[0], np.asarray(context.data[1])
    predicted = context.step(
        "predict held-out bags", lambda: held_out.cross_predict(context.model, bags, y, FOLDS, context.random_state)
    )
    classes = _classes(context, y)
    response = context.response or "response"
    title = context.title or f"Predicting {response} from samples in {plural(len(bags), 'bag')}"
    summary = Summary(title, "distribution", context.method)
    if classes is None:
        about = _regression(context, summary, y, predicted)
    else:
        about = _classification(context, summary, y, predicted, classes)
    _separation(context, summary, bags, y, classes)
    frame = context.frames["estimates"]
    title, few = "Every bag, predicted without it", len(frame) <= FEW_ROWS
    listed_bags = table(frame, title, {"samples": "count"}, "estimates.csv", not few, about)
    summary.add("estimates" if few else "appendix", listed_bags)
    each = "response" if context.response is None else f"value of “{response}”"
    summary.lead = [
        f"{_verdict(summary)} The data are {plural(len(bags), 'bag')} with {plural(bags.n_rows, 'sample')} in all, "
        f"{plural(bags.n_features, 'feature')} per sample and one {each} per bag.",
        *context.cautions,
    ]
    summary.record |= {"bags": len(bags), "samples": bags.n_rows}
    _certainty(context, summary, bags)
    embedding = type(getattr(context.model, "embedding", None)).__name__
    name = embedding if embedding in ASSUMED else context.method
    assumed = ASSUMED.get(name, ["The response is a function of the distribution of the features over a bag."])
    summary.add(
        "assumptions", bullets(assumed + SHARED, f"{_method(context)} assumes"), bullets(RISKS, "What could go wrong")
    )
    return summary


def _method(context: Context) -> str:
    embedding = getattr(context.model, "embedding", None)
    return context.method if embedding is None else f"{context.method} on {type(embedding).__name__}"


def _classes(context: Context, y: np.ndarray) -> list[str] | None:
    if context.classes is not None:
        return [str(c) for c in context.classes]
    found = getattr(context.model, "classes_", None)
    return None if found is None or y.ndim > 1 else [str(c) for c in found]


def _verdict(summary: Summary) -> str:
    score, constant, name = (summary.record[k] for k in ("score", "score of a constant", "scored by"))
    if score <= constant:
        return (
            f"The samples carry no usable information on the response: in cross-validation the {name} is {score:.2f}, "
            f"no better than predicting a constant ({constant:.2f})."
        )
    if name == "R squared":
        first = summary.findings[0]
        ends = f"{100 * first['level']:g}% interval {span(max(first['low'], 0.0), first['high'], 'share', 0)}"
        return f"In cross-validation the samples explain {100 * score:.0f}% of the variance of the response ({ends})."
    return (
        f"In cross-validation the model assigns {100 * score:.0f}% of the bags to the right class; always predicting "
        f"the most common class gives {100 * constant:.0f}%."
    )


def _regression(context: Context, summary: Summary, y: np.ndarray, predicted: np.ndarray) -> str:
    """Add scores and figure of a regression; returns what the columns of the predictions mean."""
    actual, found = y.reshape(len(y), -1)[:, 0], predicted.reshape(len(y), -1)[:, 0]
    error = found - actual
    score = 1 - float((error**2).sum()) / float(((actual - actual.mean()) ** 2).sum())
    level = min(context.level, len(error) / (len(error) + 1))  # the most that so many errors prove
    half_width = float(conformal_half_width(error[:, None], level)[0])
    own = context.method == "BagGaussianProcess"
    low, high = found - half_width, found + half_width
    frame = _bags(context).assign(actual=actual, predicted=found, low=low, high=high)
    context.frames["estimates"] = frame
    summary.record = {"score": score, "score of a constant": 0.0, "scored by": "R squared"}
    summary.record |= {"half width": half_width, "level of the half width": level}
    summary.findings = _error_findings(context, actual, found, score, (half_width, level))
    name = context.response or "response"
    numbers = plots.predicted_numbers(actual, found, name, frame["low"], frame["high"])
    caption = (
        f"Predicted and actual {name} of every bag, each predicted by a fit to other bags; vertical lines are "
        f"{100 * level:.3g}% intervals. Perfect predictions lie on the dashed line."
    )
    data = table(frame, "Every bag", {"samples": "count"})
    summary.add("found", figure("predicted", numbers, caption, data))
    about = (
        "low, high: a conformal interval, whose width is a quantile of the held-out errors. It is the same for all "
        "bags, so small bags are covered less often and large bags more often than stated."
    )
    return about + (" The model's own predict_interval depends on the bag." if own else "")


def _error_findings(
    context: Context, actual: np.ndarray, found: np.ndarray, score: float, prediction: tuple[float, float]
) -> list[dict[str, Any]]:
    """R squared, mean absolute error and a single prediction with its half width and level; all with intervals."""
    error, level, (half_width, covered) = found - actual, context.level, prediction
    spread = float(np.abs(actual - actual.mean()).mean())
    ends = _of_folds(score, r_squared_interval(actual, found, level))
    off_by = float(np.abs(error).mean())
    because = f"Cross-validation over {plural(len(actual), 'bag')}; 0 is no better than a constant, 1 is perfect."
    constant = f"Predicting the mean response of all bags gives {spread:.3g}."
    holds = (
        f"A prediction is off by at most {half_width:.2g} in {100 * covered:.3g}% of bags like these: on average, not "
        "for every kind of bag."
    )
    name = "response" if context.response is None else f"“{context.response}”"
    middle = float(np.median(found))
    off = f"Mean absolute error of the predicted {name} in held-out bags"
    new = f"{sentence(name)} of a new bag with the median prediction"
    return [
        finding("Variance explained in held-out bags (R squared)", score, "number", ends, level, because),
        finding(off, off_by, "number", _of_folds(off_by, mean_error_interval(error, level)), level, constant),
        finding(new, middle, "number", (middle - half_width, middle + half_width), covered, holds),
    ]


def _of_folds(score: float, ends: tuple[float, float]) -> tuple[float, float]:
    """The interval of a score by cross-validation: folds share training bags (Nadeau and Bengio 2003)."""
    scale = (1 + FOLDS / (FOLDS - 1)) ** 0.5
    low, high = (end if np.isinf(score) else score + scale * (end - score) for end in ends)
    return (max(low, 0.0) if ends[0] >= 0 else low), high


def _separation(context: Context, summary: Summary, bags: Any, y: np.ndarray, classes: list[str] | None) -> None:
    """The first picture: what separates bags of a low and of a high response, or of each class."""
    if classes is None:
        numbers = plots.bag_contrast_numbers(bags, y.reshape(len(y), -1)[:, 0])
        of = f"a third of the bags each, by {context.response or 'response'}"
    elif len(classes) <= MOST_COLOURS:
        names = list(getattr(context.model, "classes_", range(len(classes))))
        at = y.argmax(axis=1) if y.ndim == 2 else np.array([names.index(v) for v in y.tolist()])
        numbers, of = plots.bag_contrast_numbers(bags, at, classes), "the bags of each class"
    else:
        return
    if not numbers["features"] or len(numbers["groups"]) < 2:
        return
    columns = [str(f) for f in bags.features]
    numbers["features"] = [context.feature_name(f, columns) for f in numbers["features"]]
    rows = [
        {"feature": f, "bags": g, "median": numbers["middle"][k, j], "10%": numbers["low"][k, j]}
        | {"90%": numbers["high"][k, j]}
        for k, f in enumerate(numbers["features"])
        for j, g in enumerate(numbers["groups"])
    ]
    caption = (
        f"What separates the bags: median (dot) and the middle 80% (line) of the samples in {of}; every bag counts "
        "alike. Features that differ most come first."
    )
    if len(numbers["features"]) < bags.n_features:
        caption += f" Drawn are {len(numbers['features'])} of {bags.n_features} features."
    data = table(pd.DataFrame(rows), "Features by group of bags")
    title = _contrast(numbers, context.response or "response", classes)
    if summary.record["score"] <= summary.record["score of a constant"]:
        title, numbers["withheld"] = "The samples do not predict the response", True
        caption += " Grey: differences may be chance."
    first = figure("bag_contrast", numbers, caption, data, title=title)
    summary.sections.setdefault("found", []).insert(0, first)


def _contrast(numbers: dict[str, Any], response: str, classes: list[str] | None) -> str:
    """The first feature's difference between the outer groups, as a title."""
    middle, width = numbers["middle"][0], (numbers["high"] - numbers["low"])[0]
    first, last = (0, -1) if classes is None else (int(np.argmin(middle)), int(np.argmax(middle)))
    feature = numbers["features"][0]
    shift, wider = float(middle[last] - middle[first]), float(width[last] - width[first])
    if abs(shift) >= abs(wider) / 2:
        words = f"{feature} is {'higher' if shift > 0 else 'lower'}"
    else:
        words = f"{feature} varies {'more' if wider > 0 else 'less'}"
    where = f"bags of class {classes[last]}" if classes is not None else f"bags with the highest {response}"
    return f"{sentence(words)} in {where}"


def _bags(context: Context) -> pd.DataFrame:
    bags = context.data[0]
    return pd.DataFrame({"bag": [str(b) for b in bags.ids], "samples": bags.sizes})


def _classification(
    context: Context, summary: Summary, y: np.ndarray, predicted: np.ndarray, classes: list[str]
) -> str:
    """Add scores and figure of a classification; returns what the columns of the predictions mean."""
    score = np.column_stack([1 - predicted, predicted]) if predicted.ndim == 1 else predicted
    names = list(getattr(context.model, "classes_", range(len(classes))))
    actual = y.argmax(axis=1) if y.ndim == 2 else np.array([names.index(v) for v in y.tolist()])
    best = score.argmax(axis=1)
    right = int((best == actual).sum())
    ends = wilson_interval(right, len(y), context.level)
    common = float(np.bincount(actual).max() / len(actual))
    frame = _bags(context).assign(actual=[classes[c] for c in actual], predicted=[classes[c] for c in best])
    for c, name in enumerate(classes):
        frame[f"score({name})"] = score[:, c]
    context.frames["estimates"] = frame
    summary.record = {"score": right / len(y), "score of a constant": common, "scored by": "accuracy"}
    beats = ends[0] > common
    because = f"Always predicting the most common class gives {100 * common:.0f}%; the interval " + (
        "excludes it." if beats else "includes it: the model may be no better."
    )
    what = "Accuracy on held-out bags"
    summary.findings = [finding(what, right / len(y), "share", ends, context.level, because)]
    for c, name in enumerate(classes[:4]):
        if n := int((actual == c).sum()):
            hits = int((best[actual == c] == c).sum())
            what, because = f"Bags of class {name} that are recognised", f"{plural(n, 'bag')} of this class."
            ends = wilson_interval(hits, n, context.level)
            summary.findings.append(finding(what, hits / n, "share", ends, context.level, because))
    numbers = plots.confusion_numbers(actual, best, classes)
    shown = pd.DataFrame(numbers["counts"], columns=[f"predicted {c}" for c in classes])
    shown.insert(0, "actual", classes)
    caption = "Confusion matrix: bags by actual and predicted class, each predicted by a fit to other bags."
    data = table(shown, "Bags", dict.fromkeys(shown.columns[1:], "count"))
    summary.add("found", figure("confusion", numbers, caption, data))
    return "score: the fitted value of each class, not a probability; the class with the largest is predicted."


def _other_methods(context: Context, summary: Summary, bags: Any) -> None:
    y = np.asarray(context.data[1])
    rows = []
    for name, other in context.compare.items():
        found = context.step(
            f"predict held-out bags by {name}",
            lambda other=other: held_out.cross_predict(other, bags, context.data[1], FOLDS, context.random_state),
        )
        if found.ndim > y.ndim:  # probabilities of the classes, in order
            wrong = np.unique(y)[found.argmax(axis=1)] != y
            rows.append({"method": name, "assigned to a wrong class": float(wrong.mean())})
        else:
            rows.append({"method": name, "mean absolute error": float(np.abs(found - y).mean())})
    if rows:
        about = "On held-out bags; lower is better."
        kinds = {"assigned to a wrong class": "share"}
        summary.add("certainty", table(pd.DataFrame(rows), "Other methods on the same data", kinds, about=about))


def _certainty(context: Context, summary: Summary, bags: Any) -> None:
    if hasattr(context.model, "comparison"):
        about = (
            "Each method was fitted without the bags that it predicts. The weights of the average were chosen on the "
            "same bags, so its loss is slightly optimistic. Loss: squared error in units of the variance, or minus the "
            "log-likelihood; lower is better."
        )
        rows = context.model.comparison().rename(columns={"weight": "weight in the average"})
        summary.add("certainty", table(rows, "The methods behind the average", {}, about=about))
    _other_methods(context, summary, bags)
    if context.not_compared:
        summary.add("certainty", text(*context.not_compared))
    sizes = bags.sizes
    spread = f"{sizes.min():,} to {sizes.max():,}, median {np.median(sizes):,.0f}"
    names = listed([context.names.get(str(f), str(f)) for f in bags.features], 8)
    summary.add("certainty", facts({"bags": len(bags), "samples per bag": spread, "features": names}, "Data"))
    context.convergence(summary)
    if summary.record["score"] <= summary.record["score of a constant"]:
        words = "On bags that it has not seen, the model predicts no better than a constant."
        summary.add("certainty", note(words))
