"""recommend: which method to use on given bags, by cross-validation, and why."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone

from sumwise import checks
from sumwise.bags import Bags
from sumwise.display import finding_html
from sumwise.distribution.candidates import FEW_BAGS, default_candidates
from sumwise.distribution.columns import check_bags
from sumwise.distribution.regressor import check_labels
from sumwise.errors import DataError, MissingExtra, ModelWarning, NotConverged
from sumwise.progress import Progress
from sumwise.splitters import BagKFold, SpatialBagKFold

if TYPE_CHECKING:
    import pandas as pd

SMALL_BAGS = 30  # median size below which embeddings are mostly sampling noise
MIN_PROBABILITY = 1e-3  # of a class before powers are taken: 0 has no logarithm
# Powers of a candidate's probabilities, to compare it at its best; 1 first, which wins a tie. With MIN_PROBABILITY they
# reach from odds of 1.5 to 1 at the most (power 1/16) to odds of 1e12 (power 4). The log-likelihood is concave in the
# power: half a step of 2**.25 off costs at most .002 a bag of two classes, (.09)**2 / 2 times the maximum .44 of
# x**2 times the slope of the logistic function at x.
POWERS = 2.0 ** np.array(sorted(np.arange(-4.0, 2.01, 0.25), key=abs))
TOO_CERTAIN = 0.5  # the power at and below which a reason says so: logits at least twice too large
SCORES = {"regression": "R squared", "classification": "accuracy"}


@dataclass(frozen=True)
class Recommendation:
    """What to use, how all candidates did, and why; made by `recommend`.

    Attributes
    ----------
    best : str
        Name of the candidate to use, or which to average.
    estimator : Estimator
        That candidate, or a soft vote of several, not fitted.
    scores : dict of str to array (n_folds,)
        R squared (accuracy) of each candidate on each fold.
    seconds : dict of str to float
        CPU seconds of each candidate over all folds.
    log_likelihoods : dict of str to float
        For a classification: mean log-probability that each candidate gives to the class of a held-out bag, after its
        probabilities were raised to the power that suits these bags best (temperature scaling).
    reasons : tuple of str
        Why, in terms of bag size, number of bags and dimension; and which candidates were not tried.
    score_name : str

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import recommend
    >>> data = synthetic.gamma(60, 40, random_state=0)
    >>> advice = recommend(data.bags, data.response, n_folds=2)
    >>> advice.best in advice.scores
    True
    """

    best: str
    estimator: Any
    scores: dict
    seconds: dict
    reasons: tuple
    score_name: str
    log_likelihoods: dict = field(default_factory=dict)

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate, best first: mean score, its standard error, CPU seconds."""
        import pandas as pd

        rows = [
            {
                "method": name,
                self.score_name: np.mean(found),
                "standard error": np.std(found, ddof=1) / np.sqrt(len(found)),
                **({"log-likelihood": self.log_likelihoods[name]} if name in self.log_likelihoods else {}),
                "CPU seconds": self.seconds[name],
            }
            for name, found in self.scores.items()
        ]
        by = "log-likelihood" if self.log_likelihoods else self.score_name
        return pd.DataFrame(rows).sort_values(by, ascending=False, ignore_index=True)

    def _repr_html_(self) -> str:
        return finding_html("\n".join([f"Use {self.best}.", *self.reasons]), self.frame())

    def __str__(self) -> str:
        table = self.frame().to_string(index=False, float_format=lambda x: f"{x:.3f}")
        return "\n".join([f"Use {self.best}.", *(f"- {reason}" for reason in self.reasons), "", table])


def recommend(
    bags: Bags,
    y: Any,
    *,
    task: str = "regression",
    places: Any = None,
    buffer: float = 0.0,
    n_folds: int = 5,
    candidates: Mapping[str, Any] | None = None,
    verbose: int = 0,
    random_state: Any = 0,
) -> Recommendation:
    """Cross-validate the fixed embeddings and, where data suffice, DeepSets; say which to use and why.

    Parameters
    ----------
    bags : Bags
    y : array of shape (n_bags,), or (n_bags, n_outputs) of a regression
    task : {"regression", "classification"}, default "regression"
    places : array of shape (n_bags, n_coordinates), optional
        Where bags lie on a map: folds are then blocks of it (`sumwise.proportions.SpatialBagKFold`).
    buffer : float, default 0.0
        Bags nearer than this to the block that is predicted are left out of training.
    n_folds : int >= 2, default 5
    candidates : dict of name to estimator, optional
        In order of preference, simplest first; by default a choice that depends on the data.
    verbose : int, default 0
    random_state : int, Generator or None, default 0

    Returns
    -------
    Recommendation
        For a regression, the first candidate whose score is within one standard error of the best one's: that of their
        difference, fold by fold, and that of the best score. For a classification, the one with the highest
        log-likelihood of held-out bags' classes, which is more informative than accuracy, or the mean of the best two
        or three if that is higher still (scikit-learn's `VotingClassifier`). Probabilities are compared after
        temperature scaling: a method that is too certain can be calibrated. If a candidate gives no probabilities, the
        first within one standard error in accuracy.

    See Also
    --------
    sumwise.advise : Which method fits the data and the question.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import LinearEmbedding, BagRidge, recommend
    >>> data = synthetic.gaussian(4, 40, random_state=0)
    >>> chosen = {"means": BagRidge(LinearEmbedding())}
    >>> recommend(data.bags, data.response, candidates=chosen, n_folds=3).best
    'means'
    """
    bags = check_bags(bags, least=2 * int(checks.at_least(n_folds, "n_folds", 2)))
    checks.choice(task, "task", tuple(SCORES))
    truth = check_labels(bags, y)
    _check_responses(truth, task)
    rng = checks.generator(random_state)
    seed = int(rng.integers(2**31))
    splitter = BagKFold(n_folds, random_state=seed)
    if places is not None:
        splitter = SpatialBagKFold(n_folds, coordinates=places, buffer=buffer, random_state=seed)
    folds = list(splitter.split(bags))
    reasons = []
    if candidates is None:
        candidates, reasons = default_candidates(bags, task, int(rng.integers(2**31)))
    if not candidates:
        raise DataError("There are no candidates.", hint="give a dict of name to estimator.")
    tried = _tried(candidates, bags, truth, folds, verbose)
    scores, likelihoods = tried.scores, {}
    members = {name: [name] for name in scores}
    if task == "classification" and len(tried.probabilities) == len(scores):
        members |= _average(tried, truth, folds)
        likelihoods = {
            name: _log_likelihood(probabilities, truth) for name, probabilities in tried.probabilities.items()
        }
        best = max(likelihoods, key=lambda name: likelihoods[name])
        why = [_highest_likelihood(best, likelihoods), *_too_certain(tried.probabilities[best], truth)]
    else:
        best = _first_within_one_error(scores)
        why = [_within(best, scores, SCORES[task])]
    reasons_given = [*why, *_about(bags), *reasons, *tried.failed]
    if places is not None:
        reasons_given.append(f"Folds are {n_folds} blocks of the map: neighbours of a bag don't predict it.")
    return Recommendation(
        best,
        _together({name: clone(candidates[name]) for name in members[best]}),
        scores,
        tried.seconds,
        tuple(reasons_given),
        SCORES[task],
        likelihoods,
    )


def _check_responses(truth: np.ndarray, task: str) -> None:
    """Refuse what no candidate could learn from, before any is tried."""
    if task == "regression" and truth.dtype.kind in "USO":
        raise DataError(
            f"The responses of a regression are numbers; the first one is {checks.plain(truth.flat[0])!r}.",
            hint="task='classification' takes labels.",
        )
    if truth.size and (truth == truth[:1]).all():
        raise DataError(
            f"All {len(truth)} responses are the same, {checks.plain(truth.flat[0])!r}: no method can be preferred."
        )


@dataclass(frozen=True)
class _Tried:
    """Scores, CPU seconds and probabilities of held-out bags' classes of the candidates, and what was left out."""

    scores: dict
    seconds: dict
    probabilities: dict  # (n_bags, n_classes) each, of those that give probabilities
    failed: list


def _tried(candidates: Any, bags: Bags, truth: np.ndarray, folds: list, verbose: int) -> _Tried:
    """Score every candidate on every fold; one that can't be fitted is left out, and said."""
    scores, seconds, probabilities, failed = {}, {}, {}, []
    with Progress("Candidates", len(candidates), verbose=verbose) as progress:
        for name, candidate in candidates.items():
            begin = time.process_time()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NotConverged)
                    warnings.simplefilter("ignore", ModelWarning)  # folds that lie apart are what is to be judged
                    models = [cast(Any, clone(candidate)).fit(bags[a], truth[a]) for a, _ in folds]
                    found = np.array([model.score(bags[b], truth[b]) for model, (_, b) in zip(models, folds)])
                    if all(hasattr(model, "predict_proba") and hasattr(model, "classes_") for model in models):
                        probabilities[name] = _held_out(models, bags, truth, folds)
                if np.isnan(found).any() or np.isnan(probabilities.get(name, 0.0)).any():
                    raise DataError("its predictions of held-out bags are not all numbers.")
                scores[name] = found
                seconds[name] = time.process_time() - begin
            except (DataError, MissingExtra) as error:
                probabilities.pop(name, None)
                failed.append(f"{name} was left out: {error}")
            progress.step()
    if not scores:
        raise DataError("No candidate could be fitted.", hint="; ".join(failed))
    return _Tried(scores, seconds, probabilities, failed)


def _held_out(models: list, bags: Bags, truth: np.ndarray, folds: list) -> np.ndarray:
    """Chances of all classes, (n_bags, n_classes), of bags that the model has not seen; 0 of a class it has not."""
    classes = np.unique(truth)
    out = np.zeros((len(truth), len(classes)))
    for model, (_, b) in zip(models, folds):
        out[np.ix_(b, np.searchsorted(classes, model.classes_))] = model.predict_proba(bags[b])
    return out


def _tempered(probabilities: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """The power of the probabilities that maximises the likelihood of bags' classes, and their mean log-probability.

    One power for all bags (temperature scaling, Guo et al. 2017): how certain a method is can be corrected afterwards,
    unlike what it can't distinguish.
    """
    logs = np.log(np.clip(probabilities, MIN_PROBABILITY, 1.0))
    own = logs[np.arange(len(truth)), np.searchsorted(np.unique(truth), truth)]
    means = [float((power * own - logsumexp(power * logs, axis=1)).mean()) for power in POWERS]
    best = next(k for k, mean in enumerate(means) if mean >= max(means) - 1e-9)  # equal ones differ by rounding
    return float(POWERS[best]), means[best]


def _log_likelihood(probabilities: np.ndarray, truth: np.ndarray) -> float:
    return _tempered(probabilities, truth)[1]


def _too_certain(probabilities: np.ndarray, truth: np.ndarray) -> list[str]:
    power = _tempered(probabilities, truth)[0]
    if power > TOO_CERTAIN:
        return []
    return [
        f"Its probabilities are too certain: of held-out bags their logarithms should be {power:.2g} times as large. "
        "scikit-learn's CalibratedClassifierCV can correct this."
    ]


def _average(tried: _Tried, truth: np.ndarray, folds: list) -> dict[str, list[str]]:
    """Add the mean of the best two or three candidates to what was tried, if its likelihood is higher than theirs."""
    order = sorted(tried.probabilities, key=lambda name: -_log_likelihood(tried.probabilities[name], truth))
    means = {
        k: np.mean([tried.probabilities[name] for name in order[:k]], axis=0) for k in range(1, min(3, len(order)) + 1)
    }
    best = max(means, key=lambda k: _log_likelihood(means[k], truth))
    if best == 1:
        return {}
    own, classes = order[:best], np.unique(truth)
    name = f"average of {', '.join(own[:-1])} and {own[-1]}"
    said = classes[np.argmax(means[best], axis=1)]
    tried.probabilities[name] = means[best]
    tried.scores[name] = np.array([np.mean(said[b] == truth[b]) for _, b in folds])
    tried.seconds[name] = sum(tried.seconds[member] for member in own)
    return {name: own}


def _together(members: dict[str, Any]) -> Any:
    """The one candidate, or the mean of the probabilities of several."""
    if len(members) == 1:
        return next(iter(members.values()))
    from sklearn.ensemble import VotingClassifier

    return VotingClassifier(list(members.items()), voting="soft")


def _first_within_one_error(scores: Mapping[str, np.ndarray]) -> str:
    top = max(scores, key=lambda name: float(np.mean(scores[name])))
    for name, found in scores.items():
        loss = scores[top] - found  # fold by fold, since some folds are harder than others
        spread = min(loss.std(ddof=1), scores[top].std(ddof=1))  # a method that fails on one fold has a wide loss
        if loss.mean() <= spread / np.sqrt(len(loss)):
            return name
    return top


def _highest_likelihood(best: str, likelihoods: Mapping[str, float]) -> str:
    beside = _next_best(best, likelihoods)
    return f"It has the highest log-likelihood on held-out bags: {likelihoods[best]:.3f} per bag{beside}."


def _next_best(best: str, means: Mapping[str, float]) -> str:
    others = {name: value for name, value in means.items() if name != best}
    name = max(others, key=lambda name: others[name], default=None)
    return "" if name is None else f"; next is {name} with {others[name]:.3f}"


def _within(best: str, scores: Mapping[str, np.ndarray], score_name: str) -> str:
    top = max(scores, key=lambda name: float(np.mean(scores[name])))
    mean = {name: float(np.mean(found)) for name, found in scores.items()}
    if best == top:
        beside = _next_best(best, mean)
        return f"It has the best {score_name} over {len(scores[best])} folds: {mean[best]:.3f}{beside}."
    return (
        f"Its {score_name} of {mean[best]:.3f} is within one standard error of the best ({top}, {mean[top]:.3f}), "
        "and it is simpler."
    )


def _about(bags: Bags) -> list[str]:
    lines = []
    median = float(np.median(bags.sizes))
    spread = f"{bags.sizes.min()} to {bags.sizes.max()} rows, median {median:g}"
    if median < SMALL_BAGS:
        lines.append(
            f"Bag size: {spread}. Bags this small describe their distribution poorly; quantisation and networks need "
            "larger ones; SizeMatched or ShrunkEmbedding, which know how small bags are, may gain."
        )
    else:
        lines.append(f"Bag size: {spread}, enough to estimate histograms and learned embeddings.")
    few = "too few to train a network on" if len(bags) < FEW_BAGS else "enough for a network to be tried"
    lines.append(f"Number of bags: {len(bags)}, {few}.")
    lines.append(f"Dimension: {bags.n_features} columns.")
    return lines
