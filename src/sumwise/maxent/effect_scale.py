"""How large effects are compared with what penalties assume: by empirical Bayes, once a model is trained."""

from __future__ import annotations

import numpy as np

from sumwise.maxent.agreement import Information, effective_parameters
from sumwise.maxent.engines import Parameters
from sumwise.maxent.kernels.loglinear import class_scores, log_sum
from sumwise.maxent.kernels.table_logistic import cell_design
from sumwise.maxent.sufficient_statistics import SufficientStatistics

HALVINGS = 7  # of the range of log s, which is log n: to a tenth of a factor for thousands of rows


def effect_scale(
    stats: SufficientStatistics, now: Parameters, rows: tuple[np.ndarray, np.ndarray], penalty: np.ndarray
) -> tuple[float, Parameters]:
    """Variance of effects over what the penalties (C, P) of theta assume, at most 1, and the optimum under it.

    The penalties are those of theta ~ N(0, s / (2 penalty)) with s = 1. The evidence is highest where the effective
    number of parameters equals theta' (2 penalty / s) theta (MacKay 1992); that is where individuals who were not
    counted are expected to have a calibration slope of 1, since the residuals of the label sums are the penalty's pull.
    If scores vary less than that, s stays 1. It is found by bisection between 1 and 1 / n, the optima by Newton steps.

    rows : level codes (m, D) and their shares (m,), drawn from the model.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Tables
    >>> from sumwise.maxent import MaxEntClassifier
    >>> from sumwise.maxent.effect_scale import effect_scale
    >>> rng = np.random.default_rng(0)
    >>> frame = {"a": rng.integers(0, 9, 9000), "b": rng.integers(0, 9, 9000), "y": rng.integers(0, 2, 9000)}
    >>> tables = Tables.from_frame(frame, ["a", "b"], label="y")  # a coin flip
    >>> fit = MaxEntClassifier((1.0, 3.0)).fit(tables)
    >>> model, stats = fit.model_, fit.statistics(tables)
    >>> penalty = np.array([[3.0] * 81 + [1.0] * 18])
    >>> effect_scale(stats, model.parameters, model.all_cells(), penalty)[0] < 0.1
    True
    """
    low, high, best = -float(np.log(max(stats.n, 2.0))), 0.0, now
    if _varies_enough(stats, now, rows, penalty):
        return 1.0, now
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        best = refitted(stats, now, rows, penalty, penalty * np.exp(-middle))
        if _varies_enough(stats, best, rows, penalty * np.exp(-middle)):
            low = middle
        else:
            high = middle
    scale = float(np.exp(0.5 * (low + high)))
    return scale, refitted(stats, now, rows, penalty, penalty / scale)


def _varies_enough(
    stats: SufficientStatistics, now: Parameters, rows: tuple[np.ndarray, np.ndarray], penalty: np.ndarray
) -> bool:
    """Whether the penalty's pull along theta is at least the effective number of parameters."""
    pull = float(np.sum(2 * penalty * now.theta**2))
    return pull >= effective_parameters(stats, now, rows, penalty)


def refitted(
    stats: SufficientStatistics,
    now: Parameters,
    rows: tuple[np.ndarray, np.ndarray],
    before: np.ndarray,
    after: np.ndarray,
) -> Parameters:
    """Where the optimum moves if the penalties (C, P) of theta change: a Newton step, and offsets that keep the rates.

    At an optimum (J + 2 before) theta is the linearised score, which the new one solves with 2 after; J is the
    information of the rows.
    """
    codes, shares = rows
    z = class_scores(stats.layout, now.theta, now.offsets, codes)
    p = np.exp(z - log_sum(z, axis=1)[:, None])
    design, theta, binary = cell_design(stats.layout, codes), now.theta.copy(), len(now.theta) == 1
    turned = design.T.tocsr()
    for k, old in enumerate(now.theta):
        share = p[:, 1] if binary else p[:, k]
        ridge = 2 * np.maximum(after[k], 1e-9)[:, None]
        information = Information(design, turned, stats.n * shares * share * (1 - share), ridge)
        score = information.times(old[:, None]) + 2 * before[k][:, None] * old[:, None]
        theta[k] = information.solve(score)[:, 0]
    mu = now.mu - (stats.shares[1:] if binary else stats.shares) @ (theta - now.theta)  # keeps the features' shares
    offsets = now.offsets.copy()
    for _ in range(100):
        z = class_scores(stats.layout, theta, offsets, codes)
        off = np.log(stats.shares) - np.log(shares @ np.exp(z - log_sum(z, axis=1)[:, None]))
        offsets += off - off[0]
        if np.abs(off).max() < 1e-9:
            break
    return Parameters(mu, theta, offsets)
