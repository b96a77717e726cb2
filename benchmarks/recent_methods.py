"""Four methods of recent years for label proportions, which the library does not have because they lead nowhere.

`proportions_recent.py` says what they are, and compares them with the default; tests/proportions/test_recent_methods.py
holds each against its definition.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit
from sklearn.neighbors import NearestNeighbors

from sumwise.features import centre_and_scale
from sumwise.proportions import MeanEmbeddingClassifier, ProportionLossNetwork
from sumwise.proportions.kernels.poisson_binomial import count_posterior, exact_counts
from sumwise.proportions.likelihood import Value
from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, maximise
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import SumOverBags

PAIRINGS, ENTROPY, ROUNDS = 10, 0.5, 30
NEIGHBOURS, COUPLING, SWEEPS, REFITS = 5, 0.5, 30, 3
REACH, CONSISTENCY = 0.5, 0.05


class ForwardLikelihood(SumOverBags):
    """Log-probability that a row's bag is the one of its pair, averaged over pairings.

    Given class c it is w_k s_kc / (w_k s_kc + w_l s_lc) for bags k, l of sizes w and shares s.
    """

    def __init__(self, data, rng):
        super().__init__(data)
        self.given = np.ones((PAIRINGS, data.n_bags, 2))
        mass = data.sizes[:, None] * np.clip(data.shares, 1e-6, None)
        for given in self.given:
            order = rng.permutation(data.n_bags)
            one, other = order[0 : len(order) // 2 * 2 : 2], order[1::2][: len(order) // 2]
            both = mass[one] + mass[other]
            given[one], given[other] = mass[one] / both, mass[other] / both

    def evaluate(self, logits, _intercept_scale=None) -> Value:
        data, p = self.data, expit(logits)
        total, slope = np.zeros(len(p)), np.zeros(len(p))
        for given in self.given:
            none, one = np.repeat(given, data.sizes, axis=0).T
            mean = none * (1.0 - p) + one * p
            total += np.log(mean)
            slope += (one - none) * p * (1.0 - p) / mean
        total, slope = data.weights * total / PAIRINGS, data.weights * slope / PAIRINGS
        log_prob = np.add.reduceat(total, data.offsets[:-1])
        return Value(log_prob, slope, np.zeros_like(slope), np.zeros(len(log_prob)))


class LLPFC(ShareClassifier):
    """Learning from label proportions as learning with label noise, with the forward correction."""

    _by_class = True

    def solve_shares(self, data, penalty):
        start = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        likelihood = ForwardLikelihood(data, np.random.default_rng(self.random_state))
        return maximise(LinearProblem(data.rows, likelihood, penalty), start, self.tol, self.max_iter)


def transported(logits, data):
    """Soft labels of least transport cost less entropy: logits over the entropy's weight, moved to the bag's share."""
    scaled = logits / ENTROPY
    shares = np.clip(data.shares[:, 1], 1e-6, 1.0 - 1e-6)
    low, high = np.full(data.n_bags, -60.0), np.full(data.n_bags, 60.0)
    centre = logit(shares) - data.bag_means(scaled[:, None])[:, 0]
    for _ in range(60):  # bisection, all bags at once
        middle = 0.5 * (low + high)
        found = expit(scaled + np.repeat(middle + centre, data.sizes))
        above = data.bag_means(found[:, None])[:, 0] > shares
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return found


class TransportAssignment(ShareClassifier):
    """Labels by entropic optimal transport within each bag, and a fit to them, in turn."""

    _by_class = True

    def solve_shares(self, data, penalty):
        theta = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        labels, change, history = np.full(len(data.values), -1.0), 1.0, []
        for _ in range(ROUNDS):
            before = labels
            labels = transported(data.rows.times(theta[None, :-1])[:, 0] + theta[-1], data)
            change = float(np.abs(labels - before).mean())
            likelihood = ShareLikelihood(np.column_stack([1.0 - labels, labels]), data.weights)
            found = maximise(LinearProblem(data.rows, likelihood, penalty), theta, 1e-2, 100)
            theta = found.theta
            history.append(found.objective)
            if change < 1e-3:
                break
        return Solution(theta, history[-1], change, len(history), change < 1e-3, history)


def neighbours(data):
    """Pairs of nearest neighbours, both directions, (n_edges, 2), and the place of each edge's reverse."""
    values = data.values / centre_and_scale(data.values)[1]
    near = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(values).kneighbors(values, return_distance=False)[:, 1:]
    one = np.column_stack([np.repeat(np.arange(len(values)), NEIGHBOURS), near.ravel()])
    pairs = np.unique(np.sort(one[one[:, 0] != one[:, 1]], axis=1), axis=0)
    n = len(pairs)
    return np.vstack([pairs, pairs[:, ::-1]]), np.concatenate([np.arange(n) + n, np.arange(n)])


def propagated(unary, data, edges, back):
    """Marginals of labels, by damped loopy belief propagation on logits: counts of bags and couplings of neighbours."""
    counts = exact_counts(np.round(data.counts[:, 1]).astype(int))
    messages, from_bag = np.zeros(len(edges)), np.zeros(len(unary))
    for _ in range(SWEEPS):
        incoming = np.bincount(edges[:, 1], messages, len(unary))
        chance = count_posterior(unary + incoming, data.offsets, counts).posterior
        from_bag = 0.5 * from_bag + 0.5 * (logit(np.clip(chance, 1e-9, 1 - 1e-9)) - unary - incoming)
        cavity = (unary + incoming + from_bag)[edges[:, 0]] - messages[back]
        messages = 0.5 * messages + 0.5 * 2.0 * np.arctanh(np.tanh(COUPLING) * np.tanh(np.clip(cavity, -20, 20) / 2.0))
    return expit(unary + from_bag + np.bincount(edges[:, 1], messages, len(unary)))


class BeliefPropagation(ShareClassifier):
    """Pseudo-labels by belief propagation over counts and neighbours, and a fit to them, in turn."""

    _by_class = True

    def solve_shares(self, data, penalty):
        edges, back = data.once("neighbours", lambda: neighbours(data))
        theta, history, found = np.zeros(data.values.shape[1] + 1), [], None
        for _ in range(REFITS):
            unary = data.rows.times(theta[None, :-1])[:, 0] + theta[-1]
            labels = propagated(unary, data, edges, back)
            likelihood = ShareLikelihood(np.column_stack([1.0 - labels, labels]), data.weights)
            found = maximise(LinearProblem(data.rows, likelihood, penalty), theta, 1e-2, 100)
            theta = found.theta
            history.append(found.objective)
        return Solution(theta, history[-1], 0.0, REFITS, True, history)


class ConsistencyNetwork(ProportionLossNetwork):
    """The proportion loss and, per row, the divergence of the prediction at its worst small perturbation."""

    def batch_loss(self, run, params, which):
        torch = run.torch
        values = run.values[run.rows_of(which)[0]]

        def log_prob(x):
            for layer in range(len(self.hidden)):
                x = torch.nn.functional.silu(x @ params[2 * layer].T + params[2 * layer + 1])
            return torch.log_softmax(x @ params[-2].T + params[-1], dim=1)

        with torch.no_grad():
            before = log_prob(values)
        drawn = torch.as_tensor(run.rng.normal(size=tuple(values.shape)), dtype=values.dtype)
        shift = torch.nn.functional.normalize(drawn, dim=1).requires_grad_()
        divergence = (before.exp() * (before - log_prob(values + 0.1 * shift))).sum(dim=1).mean()
        worst = torch.nn.functional.normalize(torch.autograd.grad(divergence, shift)[0], dim=1)
        apart = (before.exp() * (before - log_prob(values + REACH * worst.detach()))).sum(dim=1).mean()
        return super().batch_loss(run, params, which) + CONSISTENCY * apart
