"""How far estimates are from the truth on real contests, and the intervals that follow.

The numbers below were chosen on the 176 contests of three of the six elections with known truth (New Zealand 2005
and 2011, Scotland 2007); ``benchmarks/ecological.py`` reports the coverage on the other three (New
Zealand 2002, 2008 and 2014). An interval allows for chance (a jackknife over units) and for what no margin shows:
shares that move with a unit's composition.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.ndimage import map_coordinates
from scipy.special import betaincinv, expit, logit

from sumwise.ecological.kernels.bounds import cell_bounds
from sumwise.margins import Margins

CHOSEN_ON = ("NZ_2005", "NZ_2011", "SCO_2007")
REPORTED_ON = ("NZ_2002", "NZ_2008", "NZ_2014")

CHANCE = 0.90  # times the jackknife's standard error
SHARE = 0.044  # times sqrt(p (1 - p)): error of any group
GROUP = 0.152  # times sqrt(p (1 - p) / (10 s)): error of a group that is a fraction s of all
SCALE = 1.12  # of the whole, for 95 percent coverage on the contests it was chosen on
# Small tables have groups and outcomes that are mixtures, whose shares move more: times FOLDED (R-1)(C-1)^-FOLD_POWER,
# at least 1. Units that vary more than those of the contests may vary with what composition goes with: times
# (rho / SPREAD)^SPREAD_POWER, at least 1, for overdispersion rho; covariates that explain it make intervals narrower
# again. Chosen on the three elections above merged to tables from 2 x 2 up, for 91 percent or more in each, and on even
# seeds of simulated contests with such a covariate; `benchmarks/ecological_intervals.py` has the scores on the others.
FOLDED, FOLD_POWER = 1.9, 0.25
SPREAD, SPREAD_POWER = 0.015, 0.35
# Few units of much the same composition hardly identify shares, and the jackknife can't show it: times
# (FEW / information)^FEW_POWER, from 1 to FEW_MOST, where the information is the number of units that exceeds that of
# groups, times the variance ratio of their composition. Chosen on the three elections above with units merged at
# random; `benchmarks/ecological_few_units.py` has the scores on the others.
FEW, FEW_POWER, FEW_MOST = 0.2, 0.25, 3.0
# With at most REGRESSED groups, little but the regression of shares on composition separates them: its variance is
# added. It matters where units have similar composition, whatever their number (`benchmarks/ecological_simulated.py`).
REGRESSED = 3
# With covariates, which explain a part of what moves shares: times COVARIATES. Chosen on New Zealand 2002 and Scotland
# 2007, with groups merged and the composition of what was merged as covariates; `benchmarks/ecological_intervals.py
# covariates` has the scores on the other elections.
COVARIATES = 0.85
# Where the model is taken to be right: times the jackknife's error, and a constant, without which the factor would have
# to be 1.82. Chosen on the even seeds of ``benchmarks/ecological.py model_only``; `covariates` there has the odd ones.
MODEL_CHANCE, MODEL_LEAST = 1.61, 0.004
POSTERIOR = 2.6  # times the posterior deviation of MultinomialDirichlet; from 20 of those contests and senc
# Times sqrt(p (1 - p)), sqrt(p (1 - p) / (10 s)), how far pooling moved a share, and chance; and the whole's scale.
# Chosen on all six elections; ``benchmarks/contest_correction.py`` reports the coverage on each election with numbers
# chosen on the other five.
POOLED = (0.0433, 0.0914, 1.148, 0.0939, 1.268)
CORRECTED = (0.0172, 0.0644, 0.134, 0.067, 1.36)
DISTANCE, USUAL = 1.149, 0.45  # errors of the correction grow by exp(DISTANCE (d - USUAL)) at distance d from its data
UNIT_SPREAD, UNIT_SCALE = 2.0, 1.4  # times the dispersion; of the whole. Chosen on senc, for 95 percent of its cells
WIDEST = 0.8  # the largest variance of a share, in units of p (1 - p)
BLOCK = 8000  # units whose intervals are computed at a time
MANY_CELLS = 100_000  # whose quantiles are interpolated
EDGE = 0.01  # an estimate nearer to 0 or 1 is as uncertain as one at this distance
NEAR = 0.025 + EDGE  # where draws, as 95 percent intervals, don't follow a beta distribution
SCORES = np.linspace(-4.0, 4.0, 65)  # of a standard normal distribution, between which draws are interpolated


def calibrated_sd(
    shares, chance, group, rho: float = 0.0, covariates: bool = False, rows: np.ndarray | None = None
) -> np.ndarray:
    """Standard deviation of the error of shares (R, C).

    `chance`: jackknife standard errors; `group` (R,): each group's fraction of all, None for an error that leaves out
    what no margin shows; `rho`: overdispersion of the units; `covariates`: whether the fit has some; `rows` (n, R):
    counts by group, which show how far units identify shares.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.calibration import calibrated_sd
    >>> calibrated_sd(np.array([[0.5, 0.5]]), np.zeros((1, 2)), np.array([1.0])).round(3)
    array([[0.036, 0.036]])
    """
    if group is None:
        return np.sqrt((MODEL_CHANCE * chance) ** 2 + MODEL_LEAST**2)
    p = np.clip(shares, EDGE, 1 - EDGE)
    model = p * (1 - p) * (SHARE**2 + GROUP**2 / (10 * group[:, None]))
    scale = SCALE * small_table_factor(*np.shape(shares)) * spread_factor(rho) * (COVARIATES if covariates else 1.0)
    scale *= 1.0 if rows is None else few_units_factor(rows)
    return scale * np.sqrt((CHANCE * chance) ** 2 + model)


def small_table_factor(n_rows: int, n_cols: int) -> float:
    """How many times wider intervals of a table with few rows and columns are.

    Examples
    --------
    >>> from sumwise.ecological.calibration import small_table_factor
    >>> [round(small_table_factor(*shape), 2) for shape in ((2, 2), (2, 3), (3, 3), (6, 6))]
    [1.9, 1.6, 1.34, 1.0]
    """
    free = (n_rows - 1) * (n_cols - 1)
    return max(FOLDED * free**-FOLD_POWER, 1.0) if free else 1.0


def spread_factor(rho: float) -> float:
    """How many times wider intervals are where units vary more than those of the contests they were calibrated on.

    Examples
    --------
    >>> from sumwise.ecological.calibration import spread_factor
    >>> [round(spread_factor(rho), 2) for rho in (0.0, 0.01, 0.03, 0.1)]
    [1.0, 1.0, 1.27, 1.94]
    """
    return float(max(rho / SPREAD, 1.0) ** SPREAD_POWER)


def few_units_factor(rows: np.ndarray) -> float:
    """How many times wider intervals are where few units, (n, R), of much the same composition identify the shares.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.calibration import few_units_factor
    >>> alike = np.array([[52, 48], [50, 50], [47, 53], [45, 55]])
    >>> round(few_units_factor(alike), 2), few_units_factor(np.tile(alike, (100, 1)))
    (2.42, 1.0)
    """
    return float(np.clip((FEW / max(information(rows), 1e-9)) ** FEW_POWER, 1.0, FEW_MOST))


def regression_sd(rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """What units (n, R), (n, C) of similar composition leave open: the standard error (R, C) of a regression.

    0 with more groups than three, where the calibration on real contests holds as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.calibration import regression_sd
    >>> alike = np.array([[52, 48], [50, 50], [47, 53], [45, 55]])
    >>> chosen = np.array([[60, 40], [58, 42], [61, 39], [55, 45]])
    >>> regression_sd(alike, chosen).round(2)
    array([[0.26, 0.26],
           [0.25, 0.25]])
    """
    totals = rows.sum(axis=1)
    full = (totals > 0) & (cols.sum(axis=1) > 0)
    if rows.shape[1] > REGRESSED or full.sum() <= rows.shape[1]:
        return np.zeros((rows.shape[1], cols.shape[1]))
    weight = np.sqrt(totals[full] / totals[full].mean())[:, None]
    x, y = (weight * side[full] / side[full].sum(axis=1, keepdims=True) for side in (rows, cols))
    inverse = np.linalg.pinv(x.T @ x, hermitian=True)
    variance = ((y - x @ (inverse @ x.T @ y)) ** 2).sum(axis=0) / (len(x) - rows.shape[1])
    return np.sqrt(np.outer(np.diag(inverse), variance))


def information(rows: np.ndarray) -> float:
    """How well units (n, R) identify the shares of groups: units beyond the number of groups, times the variance ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.calibration import information
    >>> information(np.array([[10, 0], [0, 10], [0, 10], [10, 0]]))
    2.0
    """
    full = int((rows.sum(axis=1) > 0).sum())
    return max(full - rows.shape[1], 0) * composition_variance(rows)


def composition_variance(rows: np.ndarray) -> float:
    """The variance ratio of groups over units (n, R): 0 if all have the same composition, 1 if each has one group.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.calibration import composition_variance
    >>> composition_variance(np.array([[10, 0], [0, 10]])), composition_variance(np.array([[5, 5], [10, 10]]))
    (1.0, 0.0)
    """
    totals = rows.sum(axis=1)
    if not totals.sum() > 0:
        return 0.0
    shares = rows[totals > 0] / totals[totals > 0, None]
    weights = totals[totals > 0] / totals.sum()
    mean = weights @ shares
    between = float((weights[:, None] * (shares - mean) ** 2).sum())
    return between / max(float((mean * (1 - mean)).sum()), 1e-12)


def chance_sd(shares: np.ndarray, rows: np.ndarray, rho: float) -> np.ndarray:
    """Standard errors by regression theory, (R, C): multinomial rows (n, R), overdispersed by `rho`."""
    totals = rows.sum(axis=1)
    full = totals > 0
    inflation = 1 + rho * np.maximum(totals[full] - 1, 0.0)
    information = np.einsum("ir,is->rs", rows[full] / (totals[full] * inflation)[:, None], rows[full])
    information += 1e-9 * np.trace(information) * np.eye(len(information))
    p = np.clip(shares, EDGE, 1 - EDGE)
    return np.sqrt(p * (1 - p) * np.clip(np.diag(np.linalg.inv(information)), 0.0, 1.0)[:, None])


def pooled_sd(shares, moved, chance, group, distance: float | None = None, rho: float = 0.0) -> np.ndarray:
    """Standard deviation of the error of shares (R, C) that are pooled over contests.

    `moved`: how far pooling moved the shares; `chance`: `chance_sd`; `group` (R,): each group's fraction of all;
    `distance`: of the election from those that the correction was learned on, None where it isn't used; `rho`:
    overdispersion of the units.
    """
    share, by_group, by_move, by_chance, scale = POOLED if distance is None else CORRECTED
    widened = scale if distance is None else scale * float(np.exp(DISTANCE * (distance - USUAL)))
    p = np.clip(shares, EDGE, 1 - EDGE)
    model = p * (1 - p) * (share**2 + by_group**2 / (10 * group[:, None]))
    widened *= small_table_factor(*np.shape(shares)) * spread_factor(rho)
    return widened * np.sqrt(model + (by_move * moved) ** 2 + (by_chance * chance) ** 2)


def _beta(shares: np.ndarray, sd: np.ndarray):
    p = np.clip(shares, EDGE, 1 - EDGE)
    variance = np.clip(sd**2, 1e-12, WIDEST * p * (1 - p))
    size = p * (1 - p) / variance - 1
    return stats.beta(p * size, (1 - p) * size)


def _beta_quantile(shares: np.ndarray, sd: np.ndarray, probability: float) -> np.ndarray:
    """Quantiles of `_beta`; those of many cells are interpolated, to 5e-4, which takes a tenth of the time."""
    if np.size(shares) < MANY_CELLS:
        return _beta(shares, sd).ppf(probability)
    p = np.clip(shares, EDGE, 1 - EDGE)
    spread = np.sqrt(p * (1 - p))
    ratio = np.clip(sd / spread, 1e-4, np.sqrt(WIDEST))
    means, ratios = np.linspace(logit(EDGE), logit(1 - EDGE), 241), np.linspace(1e-4, np.sqrt(WIDEST), 121)
    mean = expit(means)[:, None]
    size = 1 / ratios**2 - 1
    distance = betaincinv(mean * size, (1 - mean) * size, probability) - mean
    steps = distance / (np.sqrt(mean * (1 - mean)) * ratios)  # in standard deviations, which is nearly flat
    at = [(x - grid[0]) / (grid[1] - grid[0]) for x, grid in ((logit(p), means), (ratio, ratios))]
    return np.clip(p + map_coordinates(steps, at, order=1, mode="nearest") * ratio * spread, 0.0, 1.0)


def beta_interval(shares, sd, level: float, lower, upper) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of beta distributions with these means and deviations, inside the bounds and around the shares.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.calibration import beta_interval
    >>> low, high = beta_interval(np.array([0.9]), np.array([0.1]), 0.95, np.array([0.7]), np.array([1.0]))
    >>> low, high.round(3)
    (array([0.7]), array([0.999]))
    """
    low, high = (_beta_quantile(shares, sd, q) for q in ((1 - level) / 2, (1 + level) / 2))
    near = (shares < (1 - level) / 2 + EDGE) | (shares > (1 + level) / 2 - EDGE)
    if near.any():  # a beta distribution with such a mean gathers there, the more so the larger its deviation
        wide = stats.norm.ppf((1 + level) / 2) * np.asarray(sd)
        low = np.where(near, np.minimum(low, shares - wide), low)
        high = np.where(near, np.maximum(high, shares + wide), high)
    low, high = np.clip(low, lower, upper), np.clip(high, lower, upper)
    return np.minimum(low, shares), np.maximum(high, shares)


def beta_sample(shares, sd, lower, upper, n_draws: int, *, sizes, rng: np.random.Generator) -> np.ndarray:
    """Draws (n_draws, R, C) of row shares whose quantiles are those of `beta_interval`, inside the bounds.

    The totals of both sides are known, so errors are tied: those of a row sum to zero, and what one group, of `sizes`
    (R,), has too much of an outcome the others have too little of. Draws that ignored this covered differences between
    groups in 94 percent of real contests, not 98 (``benchmarks/ecological_intervals.py draws``).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.calibration import beta_sample
    >>> p = np.array([[0.7, 0.3], [0.2, 0.8]])
    >>> sizes, rng = np.array([500, 500]), np.random.default_rng(0)
    >>> draws = beta_sample(p, 0.05 + 0 * p, 0 * p, 1 + 0 * p, 500, sizes=sizes, rng=rng)
    >>> draws.sum(axis=2).round(6)[0], np.corrcoef(draws[:, :, 0].T).round(2)[0, 1]
    (array([1., 1.]), np.float64(-1.0))
    """
    sd = np.maximum(sd, 1e-9)
    low, high = np.maximum(lower, 1e-12), np.maximum(upper, 1e-12)
    across = _root(zero_sum_correlation(np.mean((np.asarray(sizes)[:, None] * sd) ** 2, axis=1)))
    z = np.einsum("rs,nsc->nrc", across, rng.standard_normal((n_draws, *shares.shape)))
    quantiles = np.clip(_normal_scores_to_shares(shares, sd), low[..., None], high[..., None])
    draws = np.empty_like(z)
    for r in range(len(shares)):
        scores = z[:, r] @ _root(zero_sum_correlation(sd[r] ** 2))
        for c, score in enumerate(scores.T):
            draws[:, r, c] = np.interp(score, SCORES, quantiles[r, c])
    draws -= (draws.sum(axis=2, keepdims=True) - 1) * sd**2 / np.sum(sd**2, axis=1, keepdims=True)
    draws = np.clip(draws, low, high)
    return draws / draws.sum(axis=2, keepdims=True)


def zero_sum_correlation(variances: np.ndarray) -> np.ndarray:
    """Correlations (K, K) of errors with these variances (K,) that sum to zero.

    They are those of independent errors given their sum, ``diag(q) - q q'`` with ``q (1 - q)`` proportional to the
    variances; no part q is above a half, as where one variance exceeds what the others can make up for.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.calibration import zero_sum_correlation
    >>> zero_sum_correlation(np.ones(3)).round(2)
    array([[ 1. , -0.5, -0.5],
           [-0.5,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """
    if len(variances) == 1:
        return np.ones((1, 1))
    variances = np.maximum(variances, 1e-10 * variances.max())  # a group without members has errors, too
    part = variances / variances.sum()
    for _ in range(50):
        part = variances / (1 - part)
        part = np.minimum(part / part.sum(), 0.5)
    covariance = np.diag(part) - np.outer(part, part) / part.sum()
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    return covariance / np.outer(deviation, deviation)


def _root(correlation: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(correlation)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _normal_scores_to_shares(shares: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Quantiles (R, C, len(SCORES)) at `SCORES` of the standard normal distribution, near 0 and 1 as in intervals."""
    p, deviation = shares[..., None], sd[..., None]
    quantiles = _beta(p, deviation).ppf(stats.norm.cdf(SCORES))
    wide = p + SCORES * deviation
    wider = np.where(SCORES < 0, np.minimum(quantiles, wide), np.maximum(quantiles, wide))
    return np.where((p < NEAR) | (p > 1 - NEAR), wider, quantiles)


def unit_intervals(margins: Margins, cells, sd, rho: float, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Intervals (n, R, C) of units' row shares `cells`; the overall shares have standard deviation `sd` (R, C)."""
    low, high = np.empty(np.shape(cells)), np.empty(np.shape(cells))
    for start in range(0, len(cells), BLOCK):  # a dozen arrays of this shape, for few units at a time
        part = slice(start, start + BLOCK)
        low[part], high[part] = _some_intervals(margins.rows[part], margins.cols[part], cells[part], sd, rho, level)
    return low, high


def _some_intervals(rows, cols, cells, sd, rho: float, level: float) -> tuple[np.ndarray, np.ndarray]:
    size = rows[:, :, None]
    shares = np.clip(cells, 0.0, 1.0)
    p = np.clip(shares, 2 * EDGE, 1 - 2 * EDGE)
    variance = p * (1 - p) * (UNIT_SPREAD * rho + 1 / np.maximum(size, 1.0)) + sd**2
    own = size**2 * variance
    rest = own.sum(axis=1, keepdims=True) - own
    count_variance = own * rest / np.maximum(own + rest, 1e-300)  # the column total is known: deviations cancel
    deviation = UNIT_SCALE * np.sqrt(count_variance) / np.maximum(size, 1e-300)
    low, high = cell_bounds(rows, cols)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (np.where(size > 0, bound / size, np.nan) for bound in (low, high))
    wide = stats.norm.ppf((1 + level) / 2) * deviation
    skew = beta_interval(shares, np.maximum(deviation, 1e-6), level, low, high)
    return np.clip(np.minimum(shares - wide, skew[0]), low, high), np.clip(
        np.maximum(shares + wide, skew[1]), low, high
    )
