"""Formulas of the papers, derived again on paper and written down here as plainly as can be, against the code.

Each test states the formula and computes it by enumeration, by quadrature or by differences; none uses a kernel of the
package on its own side. Where a printed formula is wrong, the test says so.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import sqrtm
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm, poisson

from sumwise import Bags, Domain, Table, Tables
from sumwise.collective import TreeModel, map_counts, process_counts
from sumwise.distribution import FisherVector, PyramidMatchKernel, mixture_similarity
from sumwise.distribution.kernels.gaussian_transport import gaussian_w2
from sumwise.ecological.kernels.truncated_normal import NODES, WEIGHTS, line_moments, units_log_likelihood
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.maxent.algorithm_1 import _step
from sumwise.maxent.engines import Parameters
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.noise import Poisson

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


def mild(chain):
    """Counts near the model's, so that every step falls, and the last point is the best."""
    logs, y = chain
    return logs, 0.5 * y + 0.5 * node_counts(logs)


def tilted(logs, by):
    """Node counts of a model whose log-potentials are less by a share of every node in each of its edges."""
    return node_counts([logs[t] - by[t][:, None] - by[t + 1] for t in range(T - 1)])


def test_accelerated_dual_averaging_takes_the_steps_of_a_4(chain):
    """theta_t = theta - t (t + 1) / (t (t + 1) + 4 L') g~, with A_t = t (t + 1) / 4, so that weights are 2 / (t + 1).

    g~ is the mean of gradients at a mixture of the point and the guide with those weights; L' begins at 1.
    """
    logs, y = mild(chain)
    z = guide = node_counts(logs)
    mean = 0.0
    for t in (1, 2, 3):
        w = 2 / (t + 1)
        mean = (1 - w) * mean + w * slopes((1 - w) * z + w * guide, y)[1]
        guide = tilted(logs, t * (t + 1) / (t * (t + 1) + 4) * mean)
        z = (1 - w) * z + w * guide
    np.testing.assert_allclose(by_package((logs, y), method="accelerated-rda", max_iter=3), z, rtol=1e-10)


def test_mirror_descent_takes_the_step_of_a_2(chain):
    """With R as its own distance a step eta moves the tilt to (tilt - eta g) / (1 + eta): s = eta / (1 + eta)."""
    logs, y = mild(chain)
    first = slopes(node_counts(logs), y)[1]
    z = tilted(logs, 0.1 * first)
    z = tilted(logs, (1 - 0.11) * 0.1 * first + 0.11 * slopes(z, y)[1])  # steps grow by a tenth
    np.testing.assert_allclose(by_package((logs, y), method="mirror", max_iter=2), z, rtol=1e-10)


def test_objective_is_energy_less_bethe_entropy(chain):
    """(2.7): F = -<z, log phi> - log p(y | z) - H_B(z), with nu_i - 1 times the entropy of every node taken off."""
    logs, y = chain
    model, tables = model_and_tables(logs, y)
    fit = map_counts(model, tables)
    edges = [fit.edges[e] for e in model.edges]
    nodes = [fit.nodes[a] for a in model.domain]
    bethe = -sum((z * np.log(z)).sum() for z in edges) + sum((z * np.log(z)).sum() for z in nodes[1:-1])
    energy = -sum((z * f).sum() for z, f in zip(edges, logs)) - poisson.logpmf(y, nodes).sum()
    assert fit.objective == pytest.approx(energy - bethe)


def test_probability_of_tables_is_that_of_all_populations_with_them():
    """(2.4): p(n) = M! prod_i prod (n_i!)^(nu_i - 1) / prod prod n_ij! prod phi^n_ij / Z^M, and its posterior mean."""
    rng, m = np.random.default_rng(6), 3
    logs, y = rng.normal(size=(2, 2, 2)), np.array([[2, 1], [1, 1], [0, 2]])
    paths = list(product(range(2), repeat=3))
    weight = np.exp([logs[0][a, b] + logs[1][b, c] for a, b, c in paths])
    by_people, by_formula = {}, {}
    for people in product(range(8), repeat=m):
        n = np.zeros((2, 2, 2), dtype=int)
        for a, b, c in (paths[k] for k in people):
            n[0, a, b] += 1
            n[1, b, c] += 1
        key = tuple(n.ravel())
        by_people[key] = by_people.get(key, 0.0) + (weight / weight.sum())[list(people)].prod()
        middle = gammaln(n[0].sum(axis=0) + 1).sum()
        log = gammaln(m + 1) + middle - gammaln(n + 1).sum() + (n * logs).sum()
        by_formula[key] = np.exp(log) / weight.sum() ** m
    assert by_formula == pytest.approx(by_people)

    def seen(key):
        n = np.array(key).reshape(2, 2, 2)
        return poisson.pmf(y, [n[0].sum(axis=1), n[1].sum(axis=1), n[1].sum(axis=0)]).prod()

    mass = {key: p * seen(key) for key, p in by_formula.items()}
    mean = sum(np.array(key) * p for key, p in mass.items()).reshape(2, 2, 2) / sum(mass.values())
    domain = Domain({"a": 2, "b": 2, "c": 2})
    edges = [("a", "b"), ("b", "c")]
    tables = Tables([Table([a], y[k], noise=Poisson()) for k, a in enumerate(domain)], domain, n=m)
    found = map_counts(TreeModel(domain, edges, dict(zip(edges, logs))), tables, method="exact").mean
    np.testing.assert_allclose([found.edges[e] for e in edges], mean, rtol=1e-8)


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


def test_maximum_entropy_model_is_stationary_by_lemma_2():
    """E(D) - d + 2 lambda m = 0 and E(C) - c + rate 2 lambda m + 2 lambda theta = 0, so (1) follows from residuals.

    With m = mu + rate theta, what penalty_mu is on here (on mu in the paper). log p(x, y) less the sums of
    g = (d - E(D)) / 2 lambda_mu and of (y - rate) (c - E(C) - rate (d - E(D))) / 2 lambda_theta over the cells of x is
    a constant of each class. Tables of one and of two features have parameters.
    """
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(300, 3))
    y = (rng.random(300) < 0.2 + 0.3 * x[:, 0] + 0.3 * (x[:, 1] == x[:, 2])).astype(int)
    frame = dict(zip("abc", x.T)) | {"y": y}
    tables = Tables.from_frame(frame, ["a", "b", "c"], label="y")
    options = SolverOptions(tol=1e-6, penalty_mu=0.5)
    model = MaxEntClassifier(2.0, engine="exact", options=options).fit(tables)
    p = model.model_.joint()  # of y, a, b, c
    data = np.zeros_like(p)
    np.add.at(data, (y, *x.T), 1)
    left = np.log(p)
    for others in ((1,), (2,), (3,), (1, 2), (1, 3), (2, 3)):  # axes that a table sums over
        gap, rate = (data - 300 * p).sum(axis=others, keepdims=True), y.mean()
        left = left - gap.sum(axis=0, keepdims=True) / (2 * 0.5)
        of_theta = (gap[1] - rate * gap.sum(axis=0)) / (2 * 2.0)
        left -= np.stack([-rate * of_theta, (1 - rate) * of_theta])
    np.testing.assert_allclose(left, np.broadcast_to(left.mean(axis=(1, 2, 3), keepdims=True), p.shape), atol=2e-4)


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
    plain = _step(stats, now, chains * p, chains * q, n / chains, Moments(lam, lam[None]), (0.1, 0.2), rescale=False)
    np.testing.assert_allclose(plain.theta[0], theta - 0.2 * (n * q - c + 2 * lam * theta) / (n * q + 2 * lam))


def test_pyramid_match_counts_new_matches_at_every_level():
    """K = sum_i 2^-i (I_i - I_{i-1}), with I_i the overlap of histograms of cells of side 2^i (004, section 4.1.2)."""
    rng = np.random.default_rng(3)
    bags = [rng.uniform(0, 8, size=9) for _ in range(4)]
    bags[0][0] = 7.9  # cells of side 1, 2, 4 and 8 cover the range
    found = PyramidMatchKernel(scale="data", normalise=False)
    found = found.fit(Bags.from_arrays([b[:, None] for b in bags])).gram(Bags.from_arrays([b[:, None] for b in bags]))
    for (a, x), (b, y) in product(enumerate(bags), repeat=2):
        overlap = []
        for side in (1, 2, 4, 8):
            cells = [np.floor(v / side).astype(int).tolist() for v in (x, y)]
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


def test_similarity_of_gaussians_has_the_root_that_its_last_line_lost():
    """E exp(-(X - Y)^2 / 2 l^2) = l / sqrt(v) exp(-(m - k)^2 / 2 v) with v = l^2 + s^2 + t^2 (004, section 2.2)."""
    (m, s), (k, t), width = (0.3, 0.8), (-0.5, 1.2), 0.7
    found = mixture_similarity(([1.0], [m], [s**2]), ([1.0], [k], [t**2]), width)
    u, v = (np.linspace(mean - 8 * sd, mean + 8 * sd, 400) for mean, sd in ((m, s), (k, t)))
    mass = np.outer(norm.pdf(u, m, s), norm.pdf(v, k, t)) * np.exp(-((u[:, None] - v) ** 2) / (2 * width**2))
    by_quadrature = mass.sum() * (u[1] - u[0]) * (v[1] - v[0])
    total = width**2 + s**2 + t**2
    assert found == pytest.approx(width / np.sqrt(total) * np.exp(-((m - k) ** 2) / (2 * total)))
    assert found == pytest.approx(by_quadrature)


def test_distance_of_gaussians_is_the_cost_of_the_optimal_map():
    """T = S^-1/2 (S^1/2 S' S^1/2)^1/2 S^-1/2 carries N(m, S) to N(m', S'): W2^2 = |m - m'|^2 + tr((I - T) S (I - T)).

    004, section 4.1.3, prints the square as W2. T is symmetric and positive, so the gradient of a convex function: no
    plan costs less. In one column it is the integral of squared differences of quantiles.
    """
    rng = np.random.default_rng(1)
    first, other = (a @ a.T + 0.1 * np.eye(2) for a in rng.normal(size=(2, 2, 2)))
    m, k = rng.normal(size=(2, 2))
    root = sqrtm(first).real
    carry = np.linalg.solve(root, sqrtm(root @ other @ root).real) @ np.linalg.inv(root)
    np.testing.assert_allclose(carry @ first @ carry.T, other, atol=1e-10)
    assert np.linalg.eigvalsh(carry + carry.T).min() > 0
    cost = ((m - k) ** 2).sum() + np.trace((np.eye(2) - carry) @ first @ (np.eye(2) - carry).T)
    assert gaussian_w2(m[None], root[None], k[None], sqrtm(other).real[None])[0, 0] == pytest.approx(cost)
    line, _ = quad(lambda u: (norm.ppf(u, 0.2, 0.5) - norm.ppf(u, 1.0, 2.0)) ** 2, 0, 1)
    on_line = gaussian_w2(np.array([[0.2]]), np.array([[[0.5]]]), np.array([[1.0]]), np.array([[[2.0]]]))
    assert on_line[0, 0] == pytest.approx(line, rel=1e-6)


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
