"""Formulas of the papers, derived again on paper and written down here as plainly as can be, against the code.

Each test states the formula and computes it by enumeration, by quadrature or by differences; none uses a kernel of the
package on its own side. Where a printed formula is wrong, the test says so.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from sumwise import Bags, Domain, Table, Tables
from sumwise.collective import TreeModel, map_counts, process_counts
from sumwise.distribution import FisherVector, PyramidMatchKernel
from sumwise.ecological.kernels.truncated_normal import NODES, WEIGHTS, line_moments, units_log_likelihood
from sumwise.maxent.algorithm_1 import _step
from sumwise.maxent.engines import Parameters
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.noise import Poisson
from sumwise.proportions.central_limit import CentralLimitLikelihood
from sumwise.proportions.shares import BagShares

N, L, T = 50.0, 3, 3


@pytest.fixture
def chain():
    rng = np.random.default_rng(5)
    logs = [rng.normal(size=(L, L)) for _ in range(T - 1)]
    y = rng.poisson(N / L, size=(T, L)).astype(float)
    return logs, y


def node_counts(logs):
    """Node marginals of a chain by enumeration, times the population."""
    z = np.zeros((T, L))
    for x in product(range(L), repeat=T):
        weight = np.exp(sum(logs[t][x[t], x[t + 1]] for t in range(T - 1)))
        for t in range(T):
            z[t, x[t]] += weight
    return N * z / z[0].sum()


def slopes(z, y):
    """Slope of -log p(y | z) for y ~ Poisson(z), and its share 1 / degree for each incident edge (2.4.2.2)."""
    slope = 1.0 - y / z
    degree = np.array([1.0, *[2.0] * (T - 2), 1.0])
    return slope, slope / degree[:, None]


def model_and_tables(logs, y):
    domain = Domain({f"x{t}": L for t in range(T)})
    edges = [(f"x{t}", f"x{t + 1}") for t in range(T - 1)]
    tables = Tables([Table([f"x{t}"], y[t], noise=Poisson()) for t in range(T)], domain, n=N)
    return TreeModel(domain, edges, dict(zip(edges, logs))), tables


def by_package(chain, **options):
    model, tables = model_and_tables(*chain)
    with pytest.warns(match="Stopped"):
        fit = map_counts(model, tables, tol=1e-14, **options)
    return np.array([fit.nodes[a] for a in model.domain])


def test_feasible_belief_propagation_takes_the_steps_of_algorithm_2(chain):
    """phi^ = phi exp(-l'_i / nu_i - l'_j / nu_j): the thesis prints the exponents without their minus signs."""
    logs, y = chain
    z = node_counts(logs)
    for _ in range(3):
        _, share = slopes(z, y)
        tilted = [logs[t] - share[t][:, None] - share[t + 1] for t in range(T - 1)]
        z = 0.9 * z + 0.1 * node_counts(tilted)
    np.testing.assert_allclose(by_package(chain, method="nlbp", damping=0.1, max_iter=3), z, rtol=1e-10)


def test_dual_averaging_takes_the_steps_of_algorithm_3(chain):
    logs, y = chain
    y = 0.5 * y + 0.5 * node_counts(logs)  # near enough that every step falls, and the last point is the best
    z, mean = node_counts(logs), 0.0
    for t in (1, 2, 3):
        mean = (t - 1) / t * mean + slopes(z, y)[1] / t
        z = node_counts([logs[s] - mean[s][:, None] - mean[s + 1] for s in range(T - 1)])
    np.testing.assert_allclose(by_package((logs, y), method="rda", max_iter=3), z, rtol=1e-10)


def test_field_over_places_is_the_stationary_point_of_one_likelihood(chain):
    """The end-to-end training that section 1.1 leaves open: min of (2.7) + n log Z(f) + f' K^-1 f / 2.

    K = s^2 exp(-dt^2 / 2a^2) exp(-dx^2 / 2b^2). The slope of n log Z in f is the expected
    counts n p(f), and that of (2.7), which holds -<z, f>, is -z: so f = K (z - n p(f)). At the best z given f
    the potentials are tilted by exp(-l'(z)) with l = -log p(y | z), as in (2.8); a count that was not observed has
    none. Marginals are by enumeration.
    """
    logs, y = chain
    y[1, 0] = np.nan
    places, a, b, scale = np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 1.1]]), 0.7, 0.6, 0.8
    model, tables = model_and_tables(logs, y)
    found = process_counts(model, tables, places, time_length=a, space_length=b, scale=scale, tol=1e-10)
    z, f = np.array([found.counts.nodes[t] for t in model.domain]), found.field

    def expected(node):
        tilted = [logs[t] + node[t][:, None] for t in range(T - 1)]
        return node_counts([*tilted[:-1], tilted[-1] + node[-1]])

    in_time = np.exp(-((np.arange(T)[:, None] - np.arange(T)) ** 2) / (2 * a**2))
    in_space = np.exp(-((places[:, None] - places) ** 2).sum(axis=2) / (2 * b**2))
    kernel = scale**2 * np.kron(in_time, in_space)
    np.testing.assert_allclose(f.ravel(), kernel @ (z - expected(f)).ravel(), atol=1e-3)
    np.testing.assert_allclose(z, expected(f - np.nan_to_num(1.0 - y / z)), rtol=1e-4)
    assert np.abs(f).max() > 0.05  # a field of zero would satisfy the second equation with z of the model alone


def test_preconditioner_is_the_diagonal_hessian_of_appendix_c():
    """Second derivative of n log Z is n P (1 - P), near n P = (n / n') d^ for rare cells: Algorithm 1 lacks n / n'."""
    phi = np.array([[1, 0, 1.0], [0, 1, 1], [1, 1, 0], [0, 0, 0]])  # 4 values of x, 3 features
    mu, theta = np.array([-3.0, -2.5, -2.0]), np.array([0.3, -0.2, 0.5])
    n, lam, at, h = 1000.0, np.array([0.5, 1.0, 2.0]), np.eye(3), 1e-3

    def log_z(m, t):
        return np.log(sum(np.exp(f @ m) * (1.0 + np.exp(f @ t)) for f in phi))

    def curvature(f):
        return np.array([(f(h * e) - 2 * f(0 * e) + f(-h * e)) / h**2 for e in at]) * n

    weight = np.array([np.exp(f @ mu) * (1.0 + np.exp(f @ theta)) for f in phi])
    share = weight / weight.sum()
    positive = 1.0 / (1.0 + np.exp(-phi @ theta))
    p, q = share @ phi, (share * positive) @ phi
    np.testing.assert_allclose(curvature(lambda e: log_z(mu + e, theta)), n * p * (1 - p), rtol=1e-4)
    np.testing.assert_allclose(curvature(lambda e: log_z(mu, theta + e)), n * q * (1 - q), rtol=1e-4)

    chains = 400.0  # n': sums over so many chains
    d, c = n * p + [5.0, -3.0, 2.0], n * q + [1.0, 2.0, -4.0]

    class stats:
        data, seen = Moments(d, c[None]), Moments(np.ones(3), np.ones((1, 3)))

    now = Parameters(mu, theta[None], np.zeros(2))
    after = _step(stats, now, chains * p, chains * q, n / chains, Moments(lam, lam[None]), (0.1, 0.2))
    np.testing.assert_allclose(after.mu, mu - 0.1 * (n * p - d + 2 * lam * mu) / (n * p + 2 * lam))
    pseudo = d / (chains * p) * (chains * q) - c + 2 * lam * theta  # (6)
    np.testing.assert_allclose(after.theta[0], theta - 0.2 * pseudo / (n * q + 2 * lam))


def test_pyramid_match_counts_new_matches_at_every_level():
    """K = sum_i 2^-i (I_i - I_{i-1}), with I_i the overlap of histograms of cells of side 2^i (004, section 4.1.2)."""
    rng = np.random.default_rng(3)
    bags = [rng.uniform(0, 8, size=9) for _ in range(4)]
    bags[0][:2] = 0.0, 8.0  # the range that the package divides
    found = PyramidMatchKernel(levels=4, normalize=False)
    found = found.fit(Bags.from_arrays([b[:, None] for b in bags])).gram(Bags.from_arrays([b[:, None] for b in bags]))
    for (a, x), (b, y) in product(enumerate(bags), repeat=2):
        overlap = []
        for side in (1, 2, 4, 8):
            cells = [np.minimum(v // side, 8 // side - 1).astype(int).tolist() for v in (x, y)]
            overlap.append(sum(min(cells[0].count(j), cells[1].count(j)) for j in range(8)))
        new = np.diff([0, *overlap])
        assert found[a, b] == pytest.approx(sum(m / 2**i for i, m in enumerate(new)))


def test_fisher_vector_is_the_gradient_over_the_root_of_the_information():
    """Gradients of the mean log-likelihood by mean, deviation and (softmax) share, as 000, section 4.1.2."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 2)) * [1.0, 2.0] + np.repeat([[0.0, 0.0], [3.0, 1.0]], 30, axis=0)
    bags = Bags(x, [0, 25, 60])
    fisher = FisherVector(2, power=False, normalize=False, random_state=0).fit(bags)
    rows = fisher.columns_.numbers(bags.values)
    found = fisher.transform(bags)
    w, m, s = fisher.shares_, fisher.means_, fisher.deviations_

    def level(w, m, s, part):
        z = rows[part]
        return np.log(sum(w[k] * norm.pdf(z, m[k], s[k]).prod(axis=1) for k in range(2))).mean()

    h = 1e-5
    for b, part in enumerate((slice(0, 25), slice(25, 60))):
        expected = []
        for k in range(2):
            logits = np.log(w) + h * np.eye(2)[k]
            less = np.log(w) - h * np.eye(2)[k]
            up, down = (np.exp(v) / np.exp(v).sum() for v in (logits, less))
            expected.append((level(up, m, s, part) - level(down, m, s, part)) / (2 * h) / np.sqrt(w[k]))
        for array, scale in ((1, 1.0), (2, 2.0)):
            for k, j in product(range(2), repeat=2):
                step = np.zeros((2, 2))
                step[k, j] = h
                more, fewer = ([w, m, s] for _ in range(2))
                more[array], fewer[array] = more[array] + step, fewer[array] - step
                slope = (level(*more, part) - level(*fewer, part)) / (2 * h)
                expected.append(slope * s[k, j] / np.sqrt(scale * w[k]))  # information: scale w / s^2
        np.testing.assert_allclose(found[b], expected, rtol=1e-4, atol=1e-6)


def test_slope_of_the_normal_approximation_of_a_count():
    """log N(z; sum p, sum p (1 - p) + 1/12): its derivative in every logit, by differences."""
    rng = np.random.default_rng(4)
    sizes = np.array([3, 5])
    offsets = np.array([0, 3, 8])
    counts = np.array([1.0, 4.0])
    shares = np.column_stack([1 - counts / sizes, counts / sizes])
    data = BagShares(np.zeros((8, 1)), offsets, np.ones(8), shares)
    logits = rng.normal(size=8)

    def log_density(x):
        p = 1 / (1 + np.exp(-x))
        mean, variance = (np.add.reduceat(v, offsets[:-1]) for v in (p, p * (1 - p)))
        return norm.logpdf(counts, mean, np.sqrt(variance + 1 / 12))

    value = CentralLimitLikelihood(data).evaluate(logits)
    np.testing.assert_allclose(value.log_prob, log_density(logits))
    h = 1e-6 * np.eye(8)
    slope = [(log_density(logits + e) - log_density(logits - e)).sum() / 2e-6 for e in h]
    np.testing.assert_allclose(value.posterior, slope, rtol=1e-6)


def test_kings_likelihood_is_the_density_of_t_under_the_truncated_normal():
    """N(T | mu, sigma^2) S / R is the density of T = X b + (1 - X) w, integrated along the line here.

    The variance of b given T is s_b^2 - w_i^2 / sigma_i^2; 004 prints w_i without its square.
    """
    mean, sd, rho = np.array([0.4, 0.7]), np.array([0.3, 0.2]), 0.5
    cov = np.array([[sd[0] ** 2, rho * sd.prod()], [rho * sd.prod(), sd[1] ** 2]])
    joint = multivariate_normal(mean, cov)
    inside = quad(lambda b: quad(lambda w: joint.pdf([b, w]), 0, 1, epsabs=1e-8)[0], 0, 1, epsabs=1e-8)[0]
    for x, t in ((0.3, 0.5), (0.8, 0.65)):
        low, high = max(0.0, (t - 1 + x) / x), min(1.0, t / x)
        line = quad(lambda b, x=x, t=t: joint.pdf([b, (t - x * b) / (1 - x)]), low, high)[0] / (1 - x)
        found = units_log_likelihood(
            np.array([x]), np.array([t]), np.ones(1), mean[:1], mean[1:], *sd, rho, NODES, WEIGHTS
        )
        assert found - 0.5 * np.log(2 * np.pi) == pytest.approx(np.log(line / inside), abs=1e-6)
        along, by = cov @ [x, 1 - x], np.array([x, 1 - x])
        moments = line_moments(np.array([x]), np.array([t]), *mean, *sd, rho)
        assert moments.sd[0] ** 2 == pytest.approx(cov[0, 0] - along[0] ** 2 / (by @ along))
        assert moments.mean[0] == pytest.approx(mean[0] + along[0] / (by @ along) * (t - by @ mean))
