"""The log-likelihood of bags as a function of their members' logits, and its gradient: posterior minus prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_softmax

from sumwise.errors import DataError
from sumwise.proportions.counts import Observed
from sumwise.proportions.kernels.poisson_binomial import CountObservations, count_posterior
from sumwise.proportions.kernels.poisson_binomial_intercept import intercept_posterior
from sumwise.proportions.kernels.poisson_multinomial import BUDGET, class_posterior

LARGE = 30  # members from which the saddlepoint approximation of class counts is close
COSTLY = 1e6  # steps of exact inference per bag, its size to the power of the classes, from which it is the slower one


@dataclass
class Value:
    """Log-likelihood per bag, and what its gradient is made of."""

    log_prob: np.ndarray  # (n_bags,)
    posterior: np.ndarray  # (n_rows,) of class 1, or (n_rows, n_classes)
    prior: np.ndarray  # the same shape
    error: np.ndarray  # (n_bags,) estimated error of the posterior
    scale_slope: float = 0.0  # derivative of the total in the log of the random intercept's deviation

    @property
    def soft_labels(self) -> np.ndarray:
        """The posterior of every class, (n_rows, n_classes)."""
        q = self.posterior
        return np.column_stack([1.0 - q, q]) if q.ndim == 1 else q


class Likelihood:
    """A sum over bags of what is likely of their members' logits: what a `LinearProblem` maximises."""

    offsets: np.ndarray  # (n_bags + 1,)
    powers: np.ndarray  # (n_bags,) how often each bag counts
    row_weights: np.ndarray  # (n_rows,) its bag's power, times the members that a row stands for

    def evaluate(self, logits: np.ndarray, intercept_scale: float | None = None, /) -> Value:
        """Evaluate at logits of shape (n_rows,) for two classes or (n_rows, n_classes)."""
        raise NotImplementedError

    def total_and_residual(self, value: Value) -> tuple[float, np.ndarray]:
        """The total, and its derivative in each row's logits."""
        residual, weights = value.posterior - value.prior, self.row_weights
        residual = residual * (weights if residual.ndim == 1 else weights[:, None])
        return float((self.powers * value.log_prob).sum()), residual


class BagLikelihood(Likelihood):
    """Bags' counts, ready to be evaluated at any logits; remembers tilts between calls.

    Parameters
    ----------
    offsets : (n_bags + 1,) array
    observed : Observed
    inference : str
        A method of `count_posterior` or `class_posterior`.
    temper : (n_bags,) array or None
        Power of each bag's likelihood.
    """

    def __init__(self, offsets, observed: Observed, inference="auto", temper=None):
        self.observed, self.inference, self.temper = observed, inference, temper
        self.offsets = np.asarray(offsets)
        self.powers = np.ones(self.n_bags) if temper is None else temper
        self.row_weights = np.repeat(self.powers, np.diff(self.offsets))
        if observed.multiplicity is not None:
            self.row_weights = observed.multiplicity * self.row_weights
        self._start = None

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return self.offsets.size - 1

    def evaluate(self, logits, intercept_scale=None, /) -> Value:
        """Evaluate at logits of shape (n_rows,) for two classes or (n_rows, n_classes)."""
        o = self.observed
        if o.counts is not None:
            if intercept_scale is not None:
                raise DataError("A random intercept needs two classes.", hint="multiclass='ovr'.")
            result = class_posterior(
                logits,
                self.offsets,
                o.counts,
                method=self.inference,
                start=self._start,
                multiplicity=o.multiplicity,
                budget=BUDGET / max(self.n_bags, 1),
            )
            self._start = result.tilt
            return Value(result.log_prob, result.posterior, np.exp(log_softmax(logits, axis=1)), result.error)
        assert o.observations is not None
        result = count_posterior(
            logits, self.offsets, o.observations, method=self.inference, start=self._start, multiplicity=o.multiplicity
        )
        self._start = result.tilt
        value = Value(result.log_prob, result.posterior, expit(logits), result.error)
        if intercept_scale is not None:
            self._integrate(value, logits, o.observations, intercept_scale)
        return value

    def _integrate(self, value: Value, logits, observations: CountObservations, scale):
        """Integrate a bag's own intercept out; the posterior given the count doesn't depend on it."""
        sizes = np.ones(logits.size) if self.observed.multiplicity is None else self.observed.multiplicity
        counts = observations.low.astype(np.float64)
        extra, prior, second = intercept_posterior(logits, self.offsets, sizes, counts, scale)
        value.log_prob = value.log_prob + extra
        value.prior = prior
        value.scale_slope = float((self.powers * (second / scale**2 - 1.0)).sum())

    @property
    def costly(self) -> bool:
        """Whether exact inference is slow, and the saddlepoint approximation close: several classes in large bags."""
        sizes, n_classes = np.diff(self.offsets).astype(float), self.observed.n_classes
        return n_classes > 2 and bool(sizes.min() >= LARGE and np.mean(sizes**n_classes) >= COSTLY)

    def by(self, inference: str) -> BagLikelihood:
        """The same likelihood by another method of inference."""
        return BagLikelihood(self.offsets, self.observed, inference, self.temper)

    def without(self, held_out: np.ndarray) -> BagLikelihood:
        """The same likelihood with the bags of a mask (n_bags,) counting nothing."""
        return BagLikelihood(self.offsets, self.observed, self.inference, np.where(held_out, 0.0, self.powers))

    def take(self, index, rows) -> BagLikelihood:
        """The likelihood of some bags, whose rows are ``rows``."""
        sizes = np.diff(self.offsets)[index]
        part = BagLikelihood(
            np.concatenate([[0], np.cumsum(sizes)]),
            self.observed.take(index, rows),
            self.inference,
            None if self.temper is None else self.temper[index],
        )
        if self._start is not None:
            part._start = self._start[index]
        return part
