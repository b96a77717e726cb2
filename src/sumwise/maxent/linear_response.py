"""How fitted parameters answer to a small change of the data: one Newton step, by conjugate gradients.

At the optimum, model(eta) - data + 2 penalty (eta - centre) = 0, so data that differ by d move parameters by
H_P^-1 d, with H_P the covariance of the features times the population plus twice the penalties. Rows stand for the
distribution of x: all cells of a small joint table, or draws from the model. Nothing is sampled again, so answers to
different data differ by the data alone.
"""

from __future__ import annotations

import numpy as np

from sumwise.fit import warn_not_converged
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.hessian_products import Moves, hessian_products
from sumwise.maxent.resampling import sums_by_cell
from sumwise.maxent.sufficient_statistics import SufficientStatistics

STEPS = 50  # of conjugate gradients at most
TOL = 1e-3  # relative residual at which they end
# Relative residual from which there is a warning. On all of Adult .08 is left after the last step, and answers are on
# average as large as after six times as many steps but for .4% (theta) and 2.4% (mu); at .15 for 4.5% and 7%.
LOOSE = 0.1
EDGE = 1e-4  # rates are kept this far from 0 and 1


class LinearResponse:
    """Parameters' answers to changes of the data, at a fitted model.

    codes (m, D) and weights (m,), which sum to the population: rows that stand for x. penalties: those that the model
    was trained with. rescale: whether label sums are compared per count (see `SolverOptions`).
    """

    def __init__(
        self,
        model: LogLinearModel,
        stats: SufficientStatistics,
        codes: np.ndarray,
        weights: np.ndarray,
        penalties: Moments,
        rescale: bool = True,
    ) -> None:
        lay, order = model.layout, np.lexsort(codes.T)  # rows alike follow each other: a fifth less time, by the cache
        codes, weights = codes[order], weights[order]
        p = np.exp(model.scores(codes) - np.logaddexp.reduce(model.scores(codes), axis=1)[:, None])
        binary = len(model.parameters.theta) == 1
        self.shares = np.ascontiguousarray(p[:, 1:] if binary else p)
        self.cells, self.weights = lay.all_row_parameters(codes), weights
        self.seen = Moments(stats.seen.counts * lay.own_places(), stats.seen.sums * lay.own_places())
        self.penalties, n = penalties, weights.sum()
        counts = sums_by_cell(lay, codes, weights)
        sums = np.stack([sums_by_cell(lay, codes, weights * s) for s in self.shares.T], axis=1)
        rates = np.clip(sums / np.maximum(counts, 1e-12)[:, None], EDGE, 1 - EDGE)
        if not rescale:  # penalty_mu is on mu + rate * theta: see `training.penalty_gradient`
            rates = np.full_like(sums, stats.shares[1]) if binary else np.zeros_like(sums)
        self.rates = np.ascontiguousarray(np.where(counts[:, None] > 0, rates, 0.0))
        totals = np.array([np.sum(weights * s) for s in self.shares.T])
        self.expected = Moves(counts[:, None], np.ascontiguousarray(sums.T)[:, :, None], totals[:, None])
        spread = np.stack([sums_by_cell(lay, codes, weights * (s * (1 - s))) for s in self.shares.T])
        whole = np.stack([np.sum(weights * s * (1 - s)) for s in self.shares.T])[:, None]
        diagonal = counts * np.maximum(1 - counts / n, 0.05) + 2 * penalties.counts
        self.scale = Moves(
            1.0 / np.maximum(diagonal, 1e-9)[:, None],
            1.0 / np.maximum(spread + 2 * penalties.sums, 1e-9)[:, :, None],
            1.0 / np.maximum(whole, 1e-9),
        )

    def times(self, moves: Moves) -> Moves:
        """H_P times the moves."""
        shifted = moves.mu - np.einsum("pc,cpb->pb", self.rates, moves.theta)  # features are phi and (y - rate) phi
        mean = self.expected.dot(Moves(shifted, moves.theta, moves.offsets)) / self.weights.sum()
        # In single precision, a fifth less time for a bootstrap. Sums err by 1e-6, or 2e-5 over 200,000 rows; the
        # solution by TOL.
        given = Moves(*(np.ascontiguousarray(v, np.float32) for v in (shifted, moves.theta, moves.offsets)))
        out = Moves(*(np.zeros_like(v) for v in given))
        weights, shares, mean = (v.astype(np.float32) for v in (self.weights, self.shares, mean))
        hessian_products(self.cells, weights, shares, mean, given, out)
        mu = out.mu + 2 * self.penalties.counts[:, None] * moves.mu
        theta = out.theta - self.rates.T[:, :, None] * out.mu
        theta += 2 * self.penalties.sums[:, :, None] * moves.theta
        return self._masked(Moves(mu, theta, out.offsets))

    def _masked(self, moves: Moves) -> Moves:
        """Without the parameters of cells that nothing was observed of, which don't move."""
        seen = self.seen
        theta = moves.theta * seen.sums[:, :, None]
        offsets = moves.offsets
        if len(theta) > 1:  # one class is the reference
            offsets = offsets.copy()
            offsets[0] = 0.0
        return Moves(moves.mu * seen.counts[:, None], theta, offsets)

    def answers(self, counts: np.ndarray, sums: np.ndarray, totals: np.ndarray, pulls: Moments | None = None) -> Moves:
        """Moves of mu, theta and offsets, for changes of counts (B, P), label sums (B, C, P) and class totals (B, C).

        pulls: centres (B, P) and (B, C, P) that penalties pull to in place of 0, for the same vectors.
        """
        data = Moves(counts.T.copy(), np.moveaxis(sums, 0, -1).copy(), totals.T.copy())
        data.theta[:] -= self.rates.T[:, :, None] * data.mu
        if pulls is not None:
            data.mu[:] += 2 * self.penalties.counts[:, None] * pulls.counts.T
            data.theta[:] += 2 * self.penalties.sums[:, :, None] * np.moveaxis(pulls.sums, 0, -1)
        found = self._solve(self._masked(data))
        mu = found.mu - np.einsum("pc,cpb->pb", self.rates, found.theta)
        return Moves(mu, found.theta, found.offsets)

    def _solve(self, data: Moves) -> Moves:
        """Conjugate gradients on all vectors at once, scaled by the diagonal."""
        x = Moves(*(np.zeros_like(v) for v in data))
        left = data
        scaled = Moves(*(s * v for s, v in zip(self.scale, left)))
        direction, size = scaled, left.dot(scaled)
        first = np.maximum(size, 1e-300)
        for _ in range(STEPS):
            turned = self.times(direction)
            step = size / np.maximum(direction.dot(turned), 1e-300)
            x, left = x.plus(direction, step), left.plus(turned, -step)
            scaled = Moves(*(s * v for s, v in zip(self.scale, left)))
            now = left.dot(scaled)
            if np.all(now < TOL**2 * first):
                break
            direction, size = scaled.plus(direction, now / np.maximum(size, 1e-300)), now
        else:
            left_over = float(np.sqrt(np.median(size / first)))
            if left_over > LOOSE:
                warn_not_converged(
                    STEPS, left_over, LOOSE, "intervals may be too narrow; merge rare levels.", 6, "residual"
                )
        return x
