"""Regions of two categories whose members vote by a logistic model (Lemus Gonzalez, section 5.1.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.synthetic.draws import logistic
from sumwise.synthetic.record import Record


@dataclass(frozen=True, eq=False, repr=False)
class GaussianRegions(Record):
    """Regions with votes, and the votes of category A alone; made by `gaussian`.

    Attributes
    ----------
    bags : Bags
        Columns ``x1`` to ``x10`` and ``category`` (0 for A, 1 for B). ``bags.subset(data.in_a)`` are the same
        regions with the members of category A only: the papers' test set.
    response : (n_bags,) array
        Share of each region's members with vote 1: what a method learns from.
    response_a, response_b : (n_bags,) array
        The same among members of category A and of B: the truth for subgroups.
    expected, expected_a, expected_b : (n_bags,) array
        Mean of the members' true probabilities: the best predictor of the three responses. Its mean squared error
        is mean(p (1 - p)) / n, which no method that sees the bags can beat on average.
    in_a : (n_rows,) bool array
        Rows of category A.
    labels : (n_rows,) int8 array
        The votes.
    probabilities : (n_rows,) array
        True P(vote 1) of each member.
    coefficients : (n_features,) array
    variances : (n_bags, 2) array
        Variance of the covariates in category A and B of each region.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.gaussian(3, 20, random_state=0)
    >>> subgroup = data.bags.subset(data.in_a)
    >>> len(subgroup), data.response_a.shape
    (20, (20,))
    """

    bags: Bags
    response: np.ndarray
    response_a: np.ndarray
    response_b: np.ndarray
    expected: np.ndarray
    expected_a: np.ndarray
    expected_b: np.ndarray
    in_a: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    coefficients: np.ndarray
    variances: np.ndarray


def gaussian(
    experiment: int = 1, n_bags: int = 1000, *, n_features: int = 10, coefficients: Any = None, random_state: Any = None
) -> GaussianRegions:
    """Draw one of the four Gaussian experiments: regions of two categories, and their votes.

    Parameters
    ----------
    experiment : {1, 2, 3, 4}, default 1
        Sizes and variances of the two categories in region i (i = 1, 2, ...):

        ==========  ===================  ============  ============
        experiment  size of A and of B   variance A    variance B
        ==========  ===================  ============  ============
        1           500                  1             1
        2           Uniform{250..500}    1             1
        3           Uniform{250..500}    1             10
        4           Uniform{250..500}    i             i
        ==========  ===================  ============  ============
    n_bags : int >= 1, default 1000
        The papers train on 1,000 regions and validate on 500 others.
    n_features : int >= 1, default 10
        Covariates beside the category.
    coefficients : (n_features,) array, optional
        Reuse the ``coefficients`` of another draw, so that training and validation regions vote alike; drawn
        from Uniform(0, 1) if not given.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    GaussianRegions

    Notes
    -----
    ::

        x_ij ~ N(0, v_i I),   P(y_ij = 1) = 1 / (1 + exp(-x_ij . beta)),   beta_d ~ Uniform(0, 1)
        response_i = mean of y_ij over the members j of region i

    The covariates are symmetric about zero, so every region's response is near 0.5 in all four experiments.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> train = synthetic.gaussian(2, 30, random_state=0)
    >>> validation = synthetic.gaussian(2, 10, coefficients=train.coefficients, random_state=1)
    >>> train.bags.features[-1], len(validation.bags)
    ('category', 10)
    """
    rng = checks.generator(random_state)
    experiment = checks.choice(experiment, "experiment", (1, 2, 3, 4))
    checks.at_least(n_bags, "n_bags", 1)
    checks.at_least(n_features, "n_features", 1)
    beta = rng.random(n_features) if coefficients is None else checks.finite(coefficients, "coefficients", ndim=1)
    if len(beta) != n_features:
        raise DataError(f"coefficients has {len(beta)} entries for {n_features} features.")

    sizes = np.full((n_bags, 2), 500) if experiment == 1 else rng.integers(250, 501, size=(n_bags, 2))
    variances = np.ones((n_bags, 2))
    if experiment == 3:
        variances[:, 1] = 10.0
    elif experiment == 4:
        variances[:] = np.arange(1, n_bags + 1)[:, None]
    in_b = np.repeat(np.tile([False, True], n_bags), sizes.ravel())
    values = np.empty((len(in_b), n_features + 1))
    values[:, :-1] = rng.standard_normal((len(in_b), n_features))
    values[:, :-1] *= np.repeat(np.sqrt(variances).ravel(), sizes.ravel())[:, None]
    values[:, -1] = in_b
    probabilities = logistic(values[:, :-1] @ beta)
    labels = (rng.random(len(in_b)) < probabilities).astype(np.int8)
    names = [*(f"x{d + 1}" for d in range(n_features)), "category"]
    bags = Bags(values, np.concatenate([[0], np.cumsum(sizes.sum(axis=1))]), features=names)
    return GaussianRegions(
        bags, *_shares(labels, sizes), *_shares(probabilities, sizes), ~in_b, labels, probabilities, beta, variances
    )


def _shares(values: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of `values` by region, in category A and in category B; `sizes` is (n_bags, 2)."""
    starts = np.concatenate([[0], np.cumsum(sizes.ravel())[:-1]])
    sums = np.add.reduceat(values, starts, dtype=float).reshape(sizes.shape)
    return sums.sum(axis=1) / sizes.sum(axis=1), sums[:, 0] / sizes[:, 0], sums[:, 1] / sizes[:, 1]
