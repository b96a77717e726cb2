"""Algorithm 1 of Gilotte, Ben Yahmed, Rohde (2022), to the letter: what ``SolverOptions(preset="paper")`` runs.

Where the text leaves something open: the pull of a penalty is 2 lambda times the parameter; the preconditioner has the
expected counts n / n' d^ of the derivation below the algorithm; a cell that no chain is in has a ratio of 0. Chains
start from independent attributes with the shares of the data, parameters from 0. There is no class offset: equation (1)
has none, so the share of the classes is carried by the tables' parameters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.fit import Fit
from sumwise.maxent.engines import Parameters
from sumwise.maxent.fitted_model import LogLinearModel, Schema
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import log_weights, project, spread
from sumwise.maxent.sufficient_statistics import SufficientStatistics
from sumwise.progress import Progress


def train_by_algorithm_1(
    stats: SufficientStatistics,
    schema: Schema,
    penalties: Moments,
    steps: tuple[float, float],
    chains: gibbs.Chains,
    max_iter: int,
    n_threads: int = 1,
    verbose: int = 0,
    scorer: Callable[[Parameters], float] | None = None,
    rescale: bool = True,
) -> LogLinearModel:
    """Repeat the steps of Algorithm 1 `max_iter` times; steps: alpha_mu and alpha_theta; rescale: by equation (6)."""
    if len(stats.shares) != 2:
        raise DataError(f"Algorithm 1 is for two classes; there are {len(stats.shares)}.", hint="leave preset out.")
    lay, n = stats.layout, stats.n
    plan, scale = gibbs.plan(lay), n / len(chains.labels)
    now = Parameters(np.zeros(lay.n_params), np.zeros((1, lay.n_params)), np.zeros(2))
    history: dict[str, list[float]] = {"moment_error": [], "held_out": []}
    with Progress("MaxEntClassifier", total=max_iter, verbose=verbose) as progress:
        for _ in range(max_iter):
            theta = spread(lay, now.theta)
            weights = log_weights(spread(lay, now.mu), theta)
            counts, sums = gibbs.sweep(chains, plan, weights, theta, now.offsets, n_threads)
            now = _step(stats, now, project(lay, counts), project(lay, sums)[0], scale, penalties, steps, rescale)
            error = np.abs(scale * counts - stats.data.counts[: lay.n_cells]).sum() / (n * len(lay.cliques))
            history["moment_error"].append(float(error))
            history["held_out"].append(float("nan") if scorer is None else scorer(now))
            progress.step(moment_error=error)
            if not np.isfinite(now.theta).all():
                raise DataError("Training diverged.", hint="lower step and step_mu.")
    kept = {k: np.array(v) for k, v in history.items()}
    fit = Fit(objective=history["moment_error"][-1], n_iter=max_iter, converged=True, history=kept)
    return LogLinearModel(schema, lay, now, n, "gibbs", chains._asdict(), (), fit)


def _step(
    stats: SufficientStatistics,
    now: Parameters,
    d_hat: np.ndarray,
    c_hat: np.ndarray,
    scale: float,
    penalties: Moments,
    steps: tuple[float, float],
    rescale: bool = True,
) -> Parameters:
    """Lines 8 to 13: d_hat and c_hat (P,) are sums over the chains; the gradient of theta is Lemma 2's, or rescaled."""
    mu, theta, d, c = now.mu, now.theta[0], stats.data.counts, stats.data.sums[0]
    lambda_mu, lambda_theta = penalties.counts, penalties.sums[0]
    gradient_mu = (scale * d_hat - d) * stats.seen.counts + 2 * lambda_mu * mu
    ratio = np.where(d_hat > 0, d / np.maximum(d_hat, 1e-300), 0.0) if rescale else scale
    gradient_theta = (ratio * c_hat - c) * stats.seen.sums[0] + 2 * lambda_theta * theta
    mu = mu - steps[0] * gradient_mu / np.maximum(scale * d_hat + 2 * lambda_mu, 1e-12)
    theta = theta - steps[1] * gradient_theta / np.maximum(scale * c_hat + 2 * lambda_theta, 1e-12)
    return Parameters(mu, theta[None], now.offsets)


def start_chains(stats: SufficientStatistics, n: int, random_state: object) -> gibbs.Chains:
    """Chains of independent attributes with the shares of the data; labels as theta = 0 gives them."""
    margins = [stats.margin(a) for a in range(len(stats.layout.sizes))]
    return gibbs.draw_chains(n, margins, len(stats.shares), checks.generator(random_state))
