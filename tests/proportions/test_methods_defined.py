"""Every method against its paper's own equations, written out for tiny bags and solved by brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from sumwise import Bags
from sumwise.proportions import (
    AlternatingMeanMap,
    CentralLimitClassifier,
    EasyLLP,
    MeanEmbeddingClassifier,
    MeanMap,
    ProportionLossClassifier,
)
from sumwise.proportions.kernels.laplacian_mean_map import bag_similarity, laplacian_class_means

SIZES = np.array([3, 4, 2, 4, 3])
COUNTS = np.array([1, 3, 1, 1, 2])
PENALTY = 0.7


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(5)
    offsets = np.concatenate([[0], np.cumsum(SIZES)])
    return Bags(rng.normal(size=(SIZES.sum(), 2)) + np.repeat(rng.normal(size=(5, 2)), SIZES, axis=0), offsets)


def members(bags):
    return [bags.values[a:b] for a, b in zip(bags.offsets[:-1], bags.offsets[1:])]


def fitted(cost):
    """The minimum of a cost of (coefficients, intercept) with a ridge on the coefficients."""
    found = minimize(lambda t: cost(t[:2], t[2]) + 0.5 * PENALTY * t[:2] @ t[:2], np.zeros(3), method="BFGS", tol=1e-10)
    return found.x


def logistic(values, labels):
    return lambda w, b: (np.logaddexp(0, values @ w + b) - labels * (values @ w + b)).sum()


def agrees(clf, theta):
    np.testing.assert_allclose(np.append(clf.coef_[0], clf.intercept_[0]), theta, atol=2e-3)


def allowed_labels():
    """All labels of all members with the bags' counts (Sigma_pi of Patrini et al.)."""
    parts = []
    for n, z in zip(SIZES, COUNTS):
        parts.append([np.isin(np.arange(n), chosen).astype(float) for chosen in combinations(range(n), z)])
    return [np.concatenate(labels) for labels in product(*parts)]


@pytest.mark.parametrize("variant", ["min", "max"])
def test_alternating_mean_map_is_algorithm_2_with_enumerated_labels(bags, variant):
    x = bags.values
    start = MeanEmbeddingClassifier(penalty=PENALTY, tol=1e-6).fit(bags, COUNTS)
    theta, seen, rounds = np.append(start.coef_[0], start.intercept_[0]), set(), []
    pick = min if variant == "min" else max
    everything = allowed_labels()
    while len(rounds) < 10:
        labels = pick(everything, key=lambda y: logistic(x, y)(theta[:2], theta[2]))  # step 1.1
        if labels.tobytes() in seen:
            break
        seen.add(labels.tobytes())
        theta = fitted(logistic(x, labels))  # step 1.2
        loss = logistic(x, labels)(theta[:2], theta[2]) + 0.5 * PENALTY * theta[:2] @ theta[:2]
        rounds.append((loss, theta))
    clf = AlternatingMeanMap(variant=variant, penalty=PENALTY, tol=1e-9).fit(bags, COUNTS)
    assert clf.fit_.n_iter == len(rounds)
    np.testing.assert_allclose(-clf.fit_.history["objective"], [loss for loss, _ in rounds], atol=1e-3)
    agrees(clf, min(rounds, key=lambda r: r[0])[1])


def test_mean_map_is_least_squares_then_the_loss_of_the_mean_operator(bags):
    """Quadrianto et al.: class means from bag means; Patrini et al.: F = (both softplus - theta mu) / 2."""
    x, m = np.column_stack([bags.values, np.ones(SIZES.sum())]), SIZES.sum()
    shares = np.column_stack([1 - COUNTS / SIZES, COUNTS / SIZES])
    means = np.array([part.mean(axis=0) for part in members(bags)])
    weights = np.diag(SIZES)
    mu = np.linalg.solve(shares.T @ weights @ shares, shares.T @ weights @ means)
    one = COUNTS.sum() / m
    operator = one * np.append(mu[1], 1.0) - (1 - one) * np.append(mu[0], 1.0)  # E[y x], y = -1 or 1

    def loss(w, b):
        logits = x @ np.append(w, b)
        return 0.5 * (np.logaddexp(0, logits) + np.logaddexp(0, -logits)).sum() - 0.5 * m * np.append(w, b) @ operator

    agrees(MeanMap(penalty=PENALTY, tol=1e-6).fit(bags, COUNTS), fitted(loss))


def test_laplacian_class_means_are_those_of_lemma_2():
    """Patrini et al. 2014: B = (Pi D_w Pi' + gamma L)^-1 Pi D_w b, with L of similarities exp(-|b_j - b_k| / s)."""
    rng = np.random.default_rng(1)
    means, share, sizes, smoothness = rng.normal(size=(6, 3)), rng.uniform(0.1, 0.9, 6), rng.integers(2, 9, 6), 0.8
    distance = np.linalg.norm(means[:, None] - means, axis=2)
    v = np.exp(-distance / np.median(distance[~np.eye(6, dtype=bool)]))
    np.fill_diagonal(v, 0.0)
    gamma = smoothness / v.sum(axis=1).mean()
    pi, w = np.vstack([np.diag(share), np.diag(1 - share)]), np.diag(sizes / sizes.mean())
    laplacian = np.kron(np.eye(2), np.diag(v.sum(axis=1)) - v)
    theirs = np.linalg.solve(pi @ w @ pi.T + gamma * laplacian, pi @ w @ means)
    shares = np.column_stack([share, 1 - share])
    found = laplacian_class_means(means, shares, sizes, bag_similarity(means), smoothness)
    np.testing.assert_allclose(np.vstack([found[:, 0], found[:, 1]]), theirs, atol=1e-6)


def test_easy_llp_is_the_mean_of_the_papers_loss_over_bags_of_any_size(bags):
    """Busa-Fekete et al. 2023: a bag's loss is (k (a - p) + p) l(1) + (k (p - a) + 1 - p) l(0), mean over members."""
    p = COUNTS.sum() / SIZES.sum()

    def loss(w, b):
        total = 0.0
        for x, k, z in zip(members(bags), SIZES, COUNTS):
            one, none = np.logaddexp(0, -(x @ w + b)).mean(), np.logaddexp(0, x @ w + b).mean()
            total += (k * (z / k - p) + p) * one + (k * (p - z / k) + 1 - p) * none
        return SIZES.mean() * total

    clf = EasyLLP(penalty=PENALTY, tol=1e-6).fit(bags, COUNTS)
    assert clf.fit_.converged
    agrees(clf, fitted(loss))


def test_central_limit_is_the_normal_density_of_the_count(bags):
    def loss(w, b):
        total = 0.0
        for x, z in zip(members(bags), COUNTS):
            p = expit(x @ w + b)
            total -= norm.logpdf(z, p.sum(), np.sqrt((p * (1 - p)).sum() + 1 / 12))
        return total

    clf = CentralLimitClassifier(penalty=PENALTY, tol=1e-6).fit(bags, COUNTS)
    ours = loss(clf.coef_[0], clf.intercept_[0]) + 0.5 * PENALTY * (clf.coef_**2).sum()
    assert -clf.fit_.objective == pytest.approx(ours, abs=1e-6)
    best = fitted(loss)
    assert ours == pytest.approx(loss(best[:2], best[2]) + 0.5 * PENALTY * best[:2] @ best[:2], abs=1e-4)


@pytest.mark.parametrize("kind", [MeanEmbeddingClassifier, ProportionLossClassifier])
def test_share_losses_are_cross_entropies_of_bags(bags, kind):
    def loss(w, b):
        total = 0.0
        for x, k, z in zip(members(bags), SIZES, COUNTS):
            p = expit(x.mean(axis=0) @ w + b) if kind is MeanEmbeddingClassifier else expit(x @ w + b).mean()
            total -= z * np.log(p) + (k - z) * np.log1p(-p)
        return total

    agrees(kind(penalty=PENALTY, tol=1e-6).fit(bags, COUNTS), fitted(loss))
