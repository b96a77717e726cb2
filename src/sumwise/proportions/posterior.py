"""The posterior of a classifier's parameters: normal around the fit with each prior width, integrated over widths."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import block_diag, cho_factor, solve_triangular
from scipy.special import expit, logsumexp, softmax

from sumwise import checks
from sumwise.bags import Bags
from sumwise.draws import Draws
from sumwise.errors import DataError, ModelWarning
from sumwise.features import level_text
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import Coordinates, LinearProblem

WIDE = (
    5.0  # deviation of the half-normal prior of the deviation of log-odds: intervals must not exclude what bags can't
)
LEAST_BAGS = 4  # per coefficient, below which the prior of widths decides intervals of coefficients and people
DIFFERENCE = 1e-2  # of gradients, in standard errors: finer ones show rounding
MOST_PARAMETERS = 700  # whose covariance is computed with the fit: it takes seconds beyond


def whitened(problem: LinearProblem, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of expected counts and residuals of counts, both times Cov(count)^-1/2.

    Returns
    -------
    slopes, residuals : arrays of shape (n_bags, n_logits, n_logits * width) and (n_bags, n_logits)
    """
    n, likelihood, logits = problem.n_logits, problem.likelihood, problem.logits(theta)
    chance = expit(logits)[:, None] if n == 1 else softmax(logits, axis=1)
    pairs = [chance[:, c] * ((c == d) - chance[:, d]) for c in range(n) for d in range(n)]
    slopes = np.stack([weighted_sums(problem.values, likelihood.offsets, problem.counted(w)) for w in pairs], axis=1)
    variance, scale = slopes[:, :, -1].reshape(-1, n, n), problem.split(theta)[2]
    if scale is not None:
        variance = variance + scale**2 * variance @ variance
    roots, vectors = np.linalg.eigh(variance)
    possible = roots > 1e-12 * np.maximum(roots[:, -1:], 1e-300)  # counts of all classes add up: one root is zero
    half = np.where(possible, 1.0 / np.sqrt(np.where(possible, roots, 1.0)), 0.0)[:, None, :] * vectors
    half = np.swapaxes(half, 1, 2)
    value = likelihood.evaluate(logits)
    off = (value.posterior - expit(logits))[:, None] if n == 1 else value.posterior - value.prior
    residuals = np.add.reduceat(problem.counted_columns(off), likelihood.offsets[:-1])
    return half @ slopes.reshape(len(slopes), n, n * problem.width), (half @ residuals[:, :, None])[:, :, 0]


def information(problem: LinearProblem, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Information of the counts and of the prior, over all logits, and the dispersion of counts.

    Of exact counts it is the expected one, sum_b D_b' Cov(count_b)^-1 D_b + P, where D_b are the derivatives of the
    expected counts of bag b; of noisy counts and ranges it is the curvature. The dispersion is how many times as much
    counts vary as the model says, each bag weighted by its leverage, at least 1 (MacKinnon and White 1985, HC2).
    """
    size, likelihood = problem.n_logits * problem.width, problem.likelihood
    assert isinstance(likelihood, BagLikelihood)
    prior = np.kron(np.eye(problem.n_logits), problem.penalty_block)
    ends = np.arange(problem.n_logits) * problem.width + problem.width - 1
    exact = likelihood.observed.exact
    slopes, residuals = whitened(problem, theta)
    rows = slopes.reshape(-1, size)
    expected = rows.T @ rows
    tiny = 1e-10 * float(np.trace(expected + prior)) / size
    if problem.n_logits > 1:  # softmax doesn't see what all intercepts share
        prior[np.ix_(ends, ends)] += float(np.trace(expected)) / size
    matrix = (expected if exact else _curvature(problem, theta)) + prior + tiny * np.eye(size)
    if not exact or problem.random_intercept:
        return matrix, 1.0
    solved = np.linalg.solve(matrix, rows.T).T.reshape(slopes.shape)
    leverage = np.einsum("bcp,bdp->bcd", slopes, solved)
    spent = np.trace(leverage, axis1=1, axis2=2)
    left = np.maximum(1.0 - spent / max(problem.n_logits - 1, 1), 0.1)
    squares = np.einsum("bc,bcd,bd->b", residuals, leverage, residuals) / left
    return matrix, max(1.0, float(squares.sum() / max(spent.sum(), 1e-12)))


def _curvature(problem: LinearProblem, theta: np.ndarray) -> np.ndarray:
    """Minus the second derivatives of the log-likelihood, by differences of its gradient; negative roots are zero."""
    size, frame = problem.n_logits * problem.width, Coordinates(problem, theta)
    moves = np.zeros(problem.n_params)
    out = np.empty((size, size))
    for j in range(size):
        sides = []
        for step in (DIFFERENCE, -DIFFERENCE):
            moves[j] = step
            sides.append(frame.gradient(problem.value_and_gradient(frame.theta(moves))[1])[:size])
        moves[j] = 0.0
        out[j] = (sides[1] - sides[0]) / (2.0 * DIFFERENCE)
    lower = np.asarray(block_diag(*frame.factors))
    known = lower @ (0.5 * (out + out.T)) @ lower.T - np.kron(np.eye(problem.n_logits), problem.penalty_block)
    roots, vectors = np.linalg.eigh(known)
    return (vectors * np.clip(roots, 0.0, None)) @ vectors.T


def gaussian(problem: LinearProblem, theta: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The mean and a root of the inverse of the information, and the log-determinant of the information."""
    size = problem.n_logits * problem.width
    lower, _ = cho_factor(matrix, lower=True)
    root = solve_triangular(np.tril(lower), np.eye(size), lower=True, trans=1)
    return theta[:size], root, 2.0 * float(np.log(np.diag(lower)).sum())


def width_weights(evidence: list[float], deviations: list[float], n_coefs: int, scale: float) -> np.ndarray:
    """Weights of prior widths on an even grid of their logarithms: Laplace's evidence, tempered, and the hyperprior."""
    s = np.array(deviations)
    logs = (np.array(evidence) - n_coefs * np.log(s)) / scale + np.log(s) - 0.5 * (s / WIDE) ** 2
    return np.exp(logs - np.asarray(logsumexp(logs)))


class PosteriorClassifier(BagClassifier):
    """A classifier with draws of its parameters: coefficients, people, subgroups and bags from the same ones."""

    posterior_: list
    fourier_coef_: np.ndarray
    multiclass_: str
    candidates_: list
    n_units_: int

    def _parameter_draws(self, n_draws: int, random_state: Any, linear: bool = False) -> np.ndarray:
        """Draws (n, n_logits, n_columns + n_fourier + 1) of the parameters of the logits, in mirrored pairs."""
        self._fitted()
        if not vars(self).get("posterior_"):
            raise DataError(
                "The fit has no posterior: " + self._why_none(),
                hint="CardinalityClassifier('linear').fit(bags, counts) has one.",
            )
        rng, n_half = checks.generator(random_state), (checks.at_least(n_draws, "n_draws", 2) + 1) // 2
        parts = []
        for task in self.posterior_:
            parts.append(_drawn([c for c in task if not linear or c["model"] == "linear"] or task, n_half, rng))
        return np.concatenate(parts, axis=1)

    def _why_none(self) -> str:
        if not isinstance(vars(self).get("classifier", "auto"), str):
            return "a scikit-learn classifier was trained by EM."
        if vars(self).get("sample_weighted_"):
            return "bags have a sample_weight, and intervals are for bags that count once."
        return f"it has more than {MOST_PARAMETERS} parameters, as models of several classes that are not linear have."

    def _few_bags(self) -> str | None:
        """Why intervals of coefficients and people are withheld, if they are."""
        n_coefs = len(self.features_.names)
        if self.n_units_ >= LEAST_BAGS * n_coefs:
            return None
        return (
            f"{self.n_units_} bags are too few for intervals of {n_coefs} effects: with fewer than {LEAST_BAGS} bags "
            "for each, the prior decides them."
        )

    def _warn_of_dispersion(self) -> None:
        """Warn where counts vary more than the model says: its coefficients are pulled towards zero then."""
        found = vars(self).get("dispersion_", 1.0)
        n_coefs = len(self.features_.names)
        # of held-out bags as the model: 1 and the error of the coefficients, give or take the error of a variance
        if found > 1.0 + n_coefs / self.n_units_ + 3.0 * np.sqrt(2.0 / self.n_units_):
            warnings.warn(
                f"Counts of bags vary {found:.2g} times as much as their members explain. Coefficients are then too "
                "near to zero, and intervals too narrow. Hint: random_intercept=True gives bags effects of their own.",
                ModelWarning,
                stacklevel=3,
            )

    def draws(self, n_draws: int = 1000, random_state: Any = 0) -> Draws:
        """Draws of the coefficients of the linear model: log-odds per unit, of levels against a reference.

        The reference of a column of levels is its first level, whose effect is part of the intercept; of classes it is
        the first one. Draws are integrated over the width of the prior, so that intervals account for shrinkage.

        Parameters
        ----------
        n_draws : int >= 2, default 1000
        random_state : int, Generator or None, default 0

        Returns
        -------
        Draws with the axes class and feature

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.proportions import CardinalityClassifier
        >>> data = synthetic.election(60, 30, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
        >>> clf = CardinalityClassifier("linear").fit(data.bags, data.counts[:, 1])
        >>> clf.draws().estimate(0.9).to_frame().columns.tolist()
        ['class', 'feature', 'coefficient', 'low', 'high']
        """
        why = self._few_bags() if "features_" in vars(self) else None
        if why is not None:
            raise DataError(why, hint="give more bags or fewer features; subgroups(...) still has intervals.")
        other = sum(c["weight"] for c in self._fitted().candidates_ if c["model"] != "linear")
        if other > 0.5 * max(len(self.posterior_), 1):
            warnings.warn(
                f"The bags support a model that is not linear with weight {other / len(self.posterior_):.2f}; these "
                "are the coefficients of the linear one. Hint: subgroups(...) shows how shares differ.",
                ModelWarning,
                stacklevel=2,
            )
        self._warn_of_dispersion()
        theta = self._parameter_draws(n_draws, random_state, linear=True)
        d = len(self.features_.names)
        table = np.concatenate([theta[..., :d], theta[..., -1:]], axis=2)
        names = list(self.classes_)
        if table.shape[1] > 1 and self.multiclass_ == "exact":
            table = table[:, 1:] - table[:, :1]
        classes = names[1:] if table.shape[1] == len(names) - 1 else names
        contrasts, labels = _contrasts(self.features_)
        return Draws(table @ contrasts.T, [classes, labels], ["class", "feature"], "coefficient")

    def predict_interval(
        self, X: Any, level: float = 0.95, n_draws: int = 1000, random_state: Any = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """(low, high) of the probabilities of individuals: (n_rows,) of class 1, or (n_rows, n_classes).

        Refused where there are fewer than four bags per coefficient, as for `draws`.
        """
        why = self._few_bags() if "features_" in vars(self) else None
        if why is not None:
            raise DataError(why, hint="give more bags or fewer features; subgroups(...) still has intervals.")
        self._warn_of_dispersion()
        bags, tail = self.design(X), 0.5 * (1.0 - checks.fraction(level, "level"))
        theta = self._parameter_draws(n_draws, random_state)
        n_classes, ends = self.n_classes_, []
        for begin in range(0, bags.n_rows, BLOCK):
            chance = self._drawn_chances(self._columns(np.asarray(bags.values[begin : begin + BLOCK], float)), theta)
            ends.append(np.quantile(chance, [tail, 1.0 - tail], axis=0))
        low, high = np.concatenate(ends, axis=1)
        return (low[:, 1], high[:, 1]) if n_classes == 2 else (low, high)

    def count_draws(self, bags: Bags, n_draws: int = 1000, random_state: Any = 0) -> Draws:
        """Draws of the class counts of other bags, with the chance of labels and the overdispersion of training bags.

        Returns
        -------
        Draws with the axes bag and class
        """
        design = self.design(bags)
        rng = checks.generator(random_state)
        out = np.empty((2 * ((checks.at_least(n_draws, "n_draws", 2) + 1) // 2), len(design), self.n_classes_))
        draws = self.drawn_probabilities(design, None, n_draws, rng)
        spread = np.sqrt(max((c["dispersion"] for task in self.posterior_ for c in task), default=1.0))
        for k, chance in enumerate(draws):
            edges = np.cumsum(chance, axis=1)[:, :-1]
            labels = np.eye(self.n_classes_)[(rng.random(len(chance))[:, None] > edges).sum(axis=1)]
            mean = design.sums(chance * design.weights[:, None])
            out[k] = mean + spread * (design.sums(labels * design.weights[:, None]) - mean)
        totals = np.broadcast_to(design.total_weights[:, None], out.shape[1:])
        return Draws(
            out, [list(design.ids), list(self.classes_)], ["bag", "class"], "count", np.zeros_like(totals), totals
        )

    def drawn_probabilities(self, design: Bags, counts: Any, n_draws: int, rng: np.random.Generator) -> Iterator:
        """Probabilities (n_rows, n_classes) of rows of `design`, under one set of parameters after the other.

        With `counts` they are given the counts of the bags; without, each bag has an intercept of its own where the
        model has random ones.
        """
        theta = self._parameter_draws(n_draws, rng)
        columns = self._columns(np.asarray(design.values, dtype=np.float64))
        if counts is None:
            return (self._drawn_chances(columns, one[None], rng, design)[0] for one in theta)
        likelihood = self._likelihood(design, counts)
        logits = (self._joined(columns @ one[:, :-1].T + one[:, -1]) for one in theta)
        return (likelihood.evaluate(drawn).soft_labels for drawn in logits)

    def _drawn_chances(self, columns: np.ndarray, theta: np.ndarray, rng: Any = None, bags: Any = None) -> np.ndarray:
        """Probabilities (n_draws, n_rows, n_classes) with parameters drawn, and with `rng` intercepts of new bags."""
        out = np.empty((len(theta), len(columns), self.n_classes_))
        for k, one in enumerate(theta):
            logits = columns @ one[:, :-1].T + one[:, -1]
            scale = self.intercept_scale()
            if scale is not None and rng is not None:
                logits = logits + (scale * rng.standard_normal(len(bags)))[bags.bag_index][:, None]
            joined = self._joined(logits)
            if joined.ndim == 1:
                chance = self._average(joined) if rng is None else expit(joined)
                out[k] = np.column_stack([1.0 - chance, chance])
            else:
                out[k] = softmax(joined, axis=1)
        return out

    def _columns(self, values: np.ndarray) -> np.ndarray:
        """Columns that the parameters belong to, without the intercept."""
        raise NotImplementedError


BLOCK = 4096  # rows whose draws are held at once


def _drawn(components: list, n_half: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of a mixture, (2 n_half, n_logits, width): from each component as many as its weight asks for."""
    weights = np.array([c["weight"] for c in components])
    ends = np.rint(n_half * np.cumsum(weights / weights.sum())).astype(int)
    parts = []
    for component, k in zip(components, np.diff(ends, prepend=0)):
        mean, root = component["mean"], component["root"]
        step = np.tensordot(rng.standard_normal((k, root.shape[-1])), root, axes=(1, 2))
        parts += [np.stack([mean + step, mean - step], axis=1).reshape(2 * k, *mean.shape)]
    return rng.permutation(np.concatenate(parts))


def _contrasts(features: Any) -> tuple[np.ndarray, list[str]]:
    """A matrix that turns coefficients and intercept into contrasts with reference levels, and their names."""
    names = [str(name) for name in features.names]
    matrix, labels, at, reference = [], [], 0, 0
    intercept = np.zeros(len(names) + 1)
    intercept[-1] = 1.0
    for column in features.columns:
        width = features.width(column)
        places = list(range(at, at + width))
        at += width
        if column in features.levels:
            reference, *places = places
            intercept[reference] = 1.0
        for place in places:
            row = np.zeros(len(names) + 1)
            row[place] = 1.0
            label = names[place]
            if column in features.levels:
                row[reference] = -1.0
                label = f"{label} vs {level_text(features.levels[column][0])}"
            matrix.append(row)
            labels.append(label)
    return np.array([*matrix, intercept]), [*labels, "intercept"]
