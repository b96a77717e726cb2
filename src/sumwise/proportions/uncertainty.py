"""Uncertainty of the coefficients: their covariance, from the information of the counts, and models drawn from it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.display import finding_html
from sumwise.errors import DataError, ModelWarning
from sumwise.features import centre_and_scale
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.counts import drop_empty, observe
from sumwise.proportions.information import FisherInformation, joined
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem

if TYPE_CHECKING:
    import pandas as pd

LEAST_UNITS = 4  # per coefficient: with 2.4, strong effects and 90% intervals, 84% held the truth (200 simulations)
KINDS = ("observed", "expected", "sandwich")


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of a classifier's coefficients, and classifiers that are as plausible as the fitted one.

    Parameters
    ----------
    model : CardinalityClassifier
        The fitted classifier.
    matrix : array of shape (n_params, n_params)
        Parameters class by class: coefficients, then the intercept.
    kind : str
    features : tuple of str
    n_draws : int, default 500
        How many classifiers `models` draws, for intervals of what follows from the coefficients.
    freedom : float, default infinity
        Degrees of freedom of Student's t, from which intervals and draws come: bags less the coefficients spent on
        them; of groups and sandwiches fewer, as some are more informative than others (Satterthwaite).
    dispersion : float, default 1
        How many times as much counts vary as the model says, and how many bags in a row are worth one; the matrix is
        widened by their product.
    estimate, errors : arrays of shape (n_logits, n_features + 1), optional
        Coefficients and intercept that the counts alone suggest, without shrinkage, and their standard errors.
    n_units : int
        Bags, or groups of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import CardinalityClassifier, covariance
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_arrays([rng.normal(m, 1.0, size=(20, 1)) for m in rng.normal(size=60)])
    >>> counts = [int((x[:, 0] + rng.logistic(size=20) > 0).sum()) for x in bags]
    >>> clf = CardinalityClassifier(penalty=0.1).fit(bags, counts)
    >>> covariance(clf, bags, counts).standard_errors.round(1)
    array([[0.1, 0.1]])
    """

    model: CardinalityClassifier
    matrix: np.ndarray
    kind: str
    features: tuple
    n_draws: int = 500
    freedom: float = np.inf
    dispersion: float = 1.0
    estimate: np.ndarray | None = None
    errors: np.ndarray | None = None
    n_units: int = 0

    @property
    def standard_errors(self) -> np.ndarray:
        """Of coefficients and, last, the intercept of each logit: (n_logits, n_features + 1)."""
        return np.sqrt(np.clip(np.diag(self.matrix), 0.0, None)).reshape(self.model.theta_.shape)

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        inside = frame[(frame["low"] <= 0) & (frame["high"] >= 0)]
        words = f"{len(frame)} coefficients with 95% intervals; {len(inside)} of these hold 0."
        return finding_html(words, frame)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row per logit and coefficient, with an interval that accounts for shrinkage.

        ``coefficient`` is the fitted one, which the penalty shrinks. The interval lies around the coefficient that the
        counts alone suggest (one Newton step without the penalty), so that it holds the truth as often as it says, and
        may leave the fitted one out. It is missing where the counts say nothing, and for all coefficients where there
        are fewer than four bags for each: no interval would be valid.
        """
        import pandas as pd
        from scipy.stats import t

        reach = t.ppf(0.5 + 0.5 * checks.fraction(level, "level"), self.freedom if self._estimated() else np.inf)
        table = self.model.theta_
        middle, errors = self._alone()
        n_logits, width = table.shape
        of = self.model.classes_[1:] if n_logits == 1 else self.model.classes_
        return pd.DataFrame(
            {
                "class": np.repeat(of, width),
                "feature": [*self.features, "intercept"] * n_logits,
                "coefficient": table.ravel(),
                "standard_error": errors.ravel(),
                "low": (middle - reach * errors).ravel(),
                "high": (middle + reach * errors).ravel(),
            }
        )

    def _estimated(self) -> bool:
        """Whether the spread was learned from the bags, so that Student's t applies."""
        return self.kind == "sandwich" or self.dispersion > 1.0 or bool(self.model.random_intercept)

    def _alone(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients that the counts alone suggest, and their standard errors; NaN where there are none."""
        table = self.model.theta_
        if self.estimate is None or self.errors is None:
            return table, self.standard_errors
        n_params = table.shape[1] * max(len(table) - 1, 1)
        errors = np.where(np.isfinite(self.errors), self.errors, np.nan)
        if self.n_units < LEAST_UNITS * n_params:
            warnings.warn(
                f"{self.n_units} bags or groups are too few for valid intervals of {n_params} coefficients. "
                "Shares of subgroups still have intervals. Hint: fewer features, or more bags.",
                ModelWarning,
                stacklevel=3,
            )
            errors = np.full(table.shape, np.nan)
        return self.estimate, errors

    def models(self, rng: np.random.Generator) -> Iterator[BagClassifier]:
        """Classifiers with coefficients drawn around the fitted ones."""
        half = self._half()
        for normal in self._normals(half.shape[1], rng):
            yield moved(self.model, self.model.theta_.ravel() + half @ normal)

    def follow(self, answer: Callable[[Any], np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """Answers of the drawn classifiers, (n_draws, ...); deprecated: ask each of `models` instead."""
        warnings.warn(
            "Covariance.follow will be removed in version 0.3; use models instead.", DeprecationWarning, stacklevel=2
        )
        return np.stack([answer(model) for model in self.models(rng)])

    def _half(self) -> np.ndarray:
        """A root of the matrix, (n_params, rank); by way of the correlations, whatever the features' units."""
        errors = self.standard_errors.ravel()
        safe = np.where(errors > 0.0, errors, 1.0)
        roots, vectors = np.linalg.eigh(self.matrix / np.outer(safe, safe))
        seen = roots > 1e-12 * max(roots[-1], 1e-300)
        return errors[:, None] * vectors[:, seen] * np.sqrt(roots[seen])

    def _normals(self, rank: int, rng: np.random.Generator) -> np.ndarray:
        """Normal draws, (n_draws, rank), each stretched to one of Student's t."""
        normals = rng.standard_normal((self.n_draws, rank))
        if np.isinf(self.freedom):
            return normals
        return normals * np.sqrt(self.freedom / rng.chisquare(self.freedom, self.n_draws))[:, None]


def moved(model: CardinalityClassifier, theta: np.ndarray) -> CardinalityClassifier:
    """The same classifier with other coefficients."""
    other = copy.copy(model)
    other.theta_ = np.asarray(theta, dtype=float).reshape(model.theta_.shape)
    other.coef_, other.intercept_ = other.theta_[:, :-1], other.theta_[:, -1]
    return other


def covariance(
    model: CardinalityClassifier,
    bags: Bags,
    counts: Any,
    kind: str = "observed",
    *,
    groups: Any = None,
    verbose: int = 0,
) -> Covariance:
    """Covariance of a fitted classifier's coefficients, from the bags and counts that it was fitted to.

    A penalty shrinks coefficients to zero, most where the counts are least informative. The matrix accounts for that:
    coefficients are taken to be normal around zero, with the variance that the fitted ones suggest. Where counts
    clearly vary more than the model says, it is widened by as much, with a warning. The deviation of random intercepts
    is taken as known.

    Parameters
    ----------
    model : CardinalityClassifier
        Fitted with the default (linear) classifier.
    bags : Bags
    counts : array
        The data of the fit.
    kind : {"observed", "expected", "sandwich"}, default "observed"
        The curvature of the log-likelihood where the fit ended, by differences of its exact gradient (two gradients
        per coefficient). ``"expected"`` is the information in the means of counts with these probabilities: quick, for
        thousands of features, and a little wide in small bags. ``"sandwich"`` lets the spread of the bags' gradients
        decide: for counts that vary more than the model says, where there are many more bags than features.
    groups : array of shape (n_bags,), optional
        Labels of bags that aren't independent, such as the region that several bags are drawn from. The spread of the
        groups' gradients then decides, whatever the kind of information.
    verbose : int, default 0

    Returns
    -------
    Covariance

    See Also
    --------
    bootstrap : Intervals of any method, by refitting.
    subgroups : Shares of groups, with intervals.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.proportions import CardinalityClassifier, covariance
    >>> data = synthetic.election(60, 30, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
    >>> clf = CardinalityClassifier(penalty=1.0).fit(data.bags, data.counts[:, 1])
    >>> covariance(clf, data.bags, data.counts[:, 1]).to_frame().columns.tolist()
    ['class', 'feature', 'coefficient', 'standard_error', 'low', 'high']
    """
    checks.choice(kind, "kind", KINDS)
    if not isinstance(model, CardinalityClassifier) or model.classifier is not None:
        name = type(model if not isinstance(model, CardinalityClassifier) else model.classifier).__name__
        raise DataError(
            f"The coefficients of a {name} have no information matrix here.",
            hint="bootstrap(model, bags, counts) takes any classifier of bags.",
        )
    if vars(model).get("sample_weighted_", False):
        raise DataError(
            "The fit gave bags a sample_weight, and intervals are for bags that count once.",
            hint="fit without sample_weight; for weights of rows give them to the bags.",
        )
    counts = bags.align(counts) if isinstance(bags, Bags) else counts
    bags = model.design(bags)
    codes = None if groups is None else _grouped(bags.align(groups, "groups"), bags)
    bags, counts = drop_empty(bags, counts)
    scale = _units(bags.values)
    parts = [FisherInformation(p, t, kind, codes, verbose) for p, t in _problems(model, bags, counts, scale)]
    left, dispersion = min(p.left for p in parts), max(p.inflation for p in parts)
    if parts[0].robust:
        _refuse_few(parts[0].n_units, left, "bags" if codes is None else "groups of bags")
    else:
        _warn_of_more(parts)
    back = np.tile(np.append(1.0 / scale, 1.0), len(model.theta_))
    matrix = (parts[0].matrix() if len(parts) == 1 else joined(parts)) * np.outer(back, back)
    degrees = max(min(p.degrees() for p in parts), 2.0)
    alone = [p.without_shrinkage() for p in parts]
    return Covariance(
        model,
        matrix,
        kind if codes is None else "sandwich",
        bags.features,
        freedom=degrees,
        dispersion=dispersion,
        estimate=(np.concatenate([theta for theta, _ in alone]) * back).reshape(model.theta_.shape),
        errors=(np.sqrt(np.concatenate([np.diag(cov) for _, cov in alone])) * back).reshape(model.theta_.shape),
        n_units=parts[0].n_units,
    )


def _grouped(groups: Any, bags: Bags) -> np.ndarray:
    """Positions of the groups of bags that have members."""
    labels = np.asarray(groups)
    checks.same_length(bags=bags, groups=labels)
    if labels.ndim != 1:
        raise DataError(f"Groups have {labels.ndim} dimensions.", hint="one label per bag.")
    missing = np.array([x is None or x != x for x in labels.tolist()], dtype=bool)
    hint = "name it, or leave these bags out here and in the fit."
    checks.nowhere(missing, "The group is missing for {} bags", lambda b: f"bag {b}", hint)
    return np.unique(labels[bags.sizes > 0].astype(str), return_inverse=True)[1]


def _warn_of_more(parts: list[FisherInformation]):
    """Say what the counts show that the model leaves out, and what to do about it."""
    dispersion, alike = max(p.dispersion for p in parts), max(p.alike for p in parts)
    length = max(p.run_length for p in parts)
    found, hints = [], []
    if dispersion > 1.0:
        found.append(
            f"Counts vary {dispersion:.1f} times as much as their members explain. Intervals are widened, but the fit "
            "assumes that bags are alike."
        )
        hints.append("fit CardinalityClassifier(random_intercept=True)")
    if alike > 0.0:
        found.append(
            f"The errors of consecutive bags are correlated ({alike:.2f}), as for bags of one region. Intervals "
            f"are widened as if {length:.1f} bags were one."
        )
        hints.append("give each bag's region, covariance(..., groups=regions)")
    if found:
        warnings.warn(f"{' '.join(found)} Hint: {' and '.join(hints)}.", UserWarning, stacklevel=3)


def _refuse_few(n_units: int, left: float, what: str):
    if left < 2.0:
        raise DataError(
            f"{n_units} {what} can't show how coefficients spread: the fit spent {n_units - left:.1f} of them.",
            hint="more of them, fewer features, or kind='observed' with random_intercept=True.",
        )


def _units(values: np.ndarray) -> np.ndarray:
    """A power of two near the scale of each column: dividing by it is exact, and no column dwarfs the others."""
    return np.exp2(np.round(np.log2(centre_and_scale(values)[1])))


def _in_units(penalty: Any, scale: np.ndarray) -> np.ndarray:
    """Convert a penalty on coefficients into one on scaled coefficients."""
    given = np.asarray(penalty, dtype=np.float64)
    return given / np.outer(scale, scale) if given.ndim == 2 else given / scale**2


def _problems(
    model: CardinalityClassifier, bags: Bags, counts: Any, scale: np.ndarray | float = 1.0
) -> list[tuple[LinearProblem, np.ndarray]]:
    """The likelihoods that the fit maximised, one per class where it was one-vs-rest, each with its parameters.

    Features are divided by `scale`, coefficients multiplied.
    """
    observed = observe(bags, counts, model.noise, model.totals)
    if observed.n_classes != model.n_classes_:
        raise DataError(f"The counts have {observed.n_classes} classes; the classifier has {model.n_classes_}.")
    scale = np.broadcast_to(scale, bags.n_features)
    values = np.ascontiguousarray(bags.values, dtype=np.float64) / scale
    table = model.theta_ * np.append(scale, 1.0)
    powers = model.bag_powers(bags)
    own = bool(model.random_intercept)
    scales = np.log(np.atleast_1d(np.asarray(model.intercept_scale_, dtype=float))) if own else np.zeros(0)
    tasks = [(observed, model.inference, model.penalty_, table.ravel())]
    if model.multiclass_ == "ovr":
        tasks = [(observed.of_class(c), "auto", model.penalty_[c], row) for c, row in enumerate(table)]
    found = []
    for k, (seen, inference, penalty, theta) in enumerate(tasks):
        likelihood = BagLikelihood(bags.offsets, seen, inference, powers)
        problem = LinearProblem(values, likelihood, _in_units(penalty, scale), seen.n_classes, own)
        found.append((problem, np.append(theta, scales[k]) if own else theta))
    return found
