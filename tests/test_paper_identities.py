"""Formulas of the five papers again, by public names alone: each by enumeration, or by what follows from it.

tests/test_paper_formulas.py derives the steps of the algorithms; here are definitions and the identities between them.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, xlogy

from sumwise import (
    Bags,
    Domain,
    Margins,
    Table,
    Tables,
    collective,
    distribution,
    ecological,
    maxent,
    metrics,
    noise,
    synthetic,
)
from sumwise import proportions as p


@pytest.fixture
def rng():
    return np.random.default_rng(24)


def assignments(mu: np.ndarray, counts: np.ndarray):
    """All labels of a bag with these counts of classes, and their probabilities: mu is (n, C)."""
    n, k = mu.shape
    labels = np.array([y for y in product(range(k), repeat=n) if (np.bincount(y, minlength=k) == counts).all()])
    return labels, np.prod(mu[np.arange(n), labels], axis=1)


# 002, IV: posteriors of labels given their count.


def test_posterior_given_a_count_is_that_of_all_labels_with_it(rng):
    """q_i = p(y_i | x, z) (IV-A): the sum over all labels with z ones, over the same sum without y_i."""
    bags = Bags(rng.normal(size=(18, 2)), [0, 5, 11, 18])
    counts = np.array([2, 5, 3])
    clf = p.CardinalityClassifier(penalty=1.0).fit(bags, counts)
    found = clf.posterior(bags, counts)[:, 1]
    chance = clf.predict_proba(bags.values)
    for k, z in enumerate(counts):
        rows = slice(*bags.offsets[k : k + 2])
        labels, weights = assignments(chance[rows], np.array([labels_left(bags, k) - z, z]))
        np.testing.assert_allclose(found[rows], weights @ labels / weights.sum(), atol=1e-10)


def labels_left(bags, k):
    return int(bags.offsets[k + 1] - bags.offsets[k])


def test_posterior_of_three_classes_is_that_of_all_labels_with_their_counts(rng):
    """The same with softmax regression and counts of every class (IV-C a)."""
    bags = Bags(rng.normal(size=(15, 2)), [0, 4, 9, 15])
    counts = np.array([[1, 2, 1], [3, 1, 1], [0, 2, 4]])
    clf = p.CardinalityClassifier(penalty=1.0).fit(bags, counts)
    found, chance = clf.posterior(bags, counts), clf.predict_proba(bags.values)
    for k, z in enumerate(counts):
        rows = slice(*bags.offsets[k : k + 2])
        labels, weights = assignments(chance[rows], z)
        np.testing.assert_allclose(found[rows], np.tensordot(weights, np.eye(3)[labels], 1) / weights.sum(), atol=1e-9)


def test_maximum_of_the_likelihood_is_a_fixed_point_of_em(rng):
    """M step: a logistic regression on the soft labels q (Appendix). At the optimum it gives the same coefficients."""
    bags = Bags(rng.normal(size=(120, 2)) + np.repeat(rng.normal(size=(12, 2)), 10, axis=0), np.arange(0, 121, 10))
    counts = (expit(bags.values @ [1.0, -0.5]) > rng.random(120)).reshape(12, 10).sum(axis=1)
    clf = p.CardinalityClassifier(penalty=1.0, tol=1e-9).fit(bags, counts)
    q = clf.posterior(bags, counts)[:, 1]
    residual = q - clf.predict_proba(bags.values)[:, 1]
    gradient = bags.values.T @ residual  # of the cross-entropy; the penalty holds it, and leaves the intercept free
    np.testing.assert_allclose(residual.sum(), 0.0, atol=1e-4)
    ratio = gradient / np.ravel(clf.coef_)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-2)
    assert ratio[0] > 0


# 003: the log-linear model, its conditional distribution, naive Bayes.


@pytest.fixture
def small_tables(rng):
    import pandas as pd

    rows = pd.DataFrame(
        {"x": rng.integers(2, size=500), "z": rng.integers(3, size=500), "v": rng.integers(2, size=500)}
    )
    rows["y"] = (rng.random(500) < 0.2 + 0.4 * rows["x"] * (rows["z"] == 1) + 0.2 * rows["v"]).astype(int)
    return rows, Tables.from_frame(rows, ["x", "z", "v"], label="y")


def test_model_of_maximum_entropy_has_the_largest_entropy_of_all_with_these_tables(small_tables):
    """4.1: no direction that leaves all pairwise tables (with labels) as they are raises the entropy."""
    _, tables = small_tables
    model = maxent.MaxEntClassifier(1e-9, options=maxent.SolverOptions(penalty_mu=1e-9), engine="exact").fit(tables)
    grid = np.array(list(product(range(2), range(3), range(2))))
    frame = dict(zip("xzv", grid.T))
    chance = model.predict_proba(frame)[:, 1]
    joint = np.exp(model.log_density(frame))  # up to a constant: (2) is never computed, as the paper says
    joint /= joint.sum()
    q = np.column_stack([joint * (1 - chance), joint * chance]).ravel()
    cells = np.repeat(grid, 2, axis=0), np.tile([0, 1], len(grid))
    rows = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        for i, j, y in product(range(3), range(3), range(2)):
            rows.append((cells[0][:, a] == i) & (cells[0][:, b] == j) & (cells[1] == y))
    held = np.array([r for r in rows if r.any()], dtype=float)
    free = np.linalg.svd(held)[2][np.linalg.matrix_rank(held) :]
    assert len(free) > 0
    np.testing.assert_allclose(free @ np.log(q), 0.0, atol=1e-4)  # the slope of the entropy along each


def test_model_of_single_features_is_naive_bayes(small_tables):
    """4.1: with one table a feature, P(y | x) is P(y) prod P(x_k | y) over its sum."""
    rows, _ = small_tables
    single = Tables.from_frame(rows, ["x", "z", "v"], label="y", order=1)
    model = maxent.MaxEntClassifier(1e-9, options=maxent.SolverOptions(penalty_mu=1e-9), engine="exact").fit(single)
    grid = np.array(list(product(range(2), range(3), range(2))))
    log = np.zeros((len(grid), 2))
    for y in (0, 1):
        mine = rows[rows["y"] == y]
        log[:, y] = np.log(len(mine) / len(rows))
        for k, name in enumerate("xzv"):
            log[:, y] += np.log((np.bincount(mine[name], minlength=3) / len(mine))[grid[:, k]])
    expected = np.exp(log - logsumexp(log, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(dict(zip("xzv", grid.T))), expected, atol=1e-5)


def test_pairs_of_an_exclusive_or_predict_a_tenth_and_nine_tenths():
    """4.2: naive Bayes on X_3 and U with likelihood ratios 3 each: 1 / (1 + 9) = .1, where the truth is .25."""
    cells = np.array(list(product((0, 1), (0, 1), (0, 1))))
    truth = np.where(cells[:, 2] == (cells[:, 0] ^ cells[:, 1]), 0.25, 0.0)
    positive = truth * (0.25 + 0.5 * cells[:, 2])
    made = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        count, label = np.zeros((2, 2)), np.zeros((2, 2))
        np.add.at(count, (cells[:, a], cells[:, b]), 4e6 * truth)
        np.add.at(label, (cells[:, a], cells[:, b]), 4e6 * positive)
        made.append(Table((f"x{a}", f"x{b}"), count, label_sums=label))
    tables = Tables(made, Domain({"x0": 2, "x1": 2, "x2": 2}), n=4e6, label="y")
    model = maxent.MaxEntClassifier(1e-6, options=maxent.SolverOptions(penalty_mu=1e-6), engine="exact").fit(tables)
    low, high = model.predict_proba({"x0": [0, 0], "x1": [0, 1], "x2": [0, 1]})[:, 1]
    np.testing.assert_allclose([low, high], [0.1, 0.9], atol=1e-3)


# 004: additive kernels, earth mover's distance, bounds and Goodman.


def test_marginal_kernel_is_the_mean_of_double_sums_by_column(rng):
    """4.1.1: K_ab = sum_i 1 / (N_a N_b) sum_jl exp(-(x - x')^2 / 2 s_i^2), here over the number of columns."""
    bags = Bags(rng.normal(size=(30, 2)) * [1.0, 5.0], [0, 8, 20, 30])
    kernel = distribution.MarginalKernel().fit(bags)
    found, sums = kernel.gram(bags), np.zeros((3, 3))
    for column in bags.values.T:
        distance = np.abs(column[:, None] - column)
        width = np.median(distance[np.triu_indices(30, 1)])
        each = np.exp(-(distance**2) / (2 * width**2))
        sums += [[each[slice(*bags.offsets[a : a + 2]), slice(*bags.offsets[b : b + 2])].mean() for b in range(3)]
                 for a in range(3)]  # fmt: skip
    np.testing.assert_allclose(found, sums / 2, atol=2e-2)  # widths are medians of drawn pairs
    np.testing.assert_allclose(found / np.sqrt(np.outer(found.diagonal(), found.diagonal())),
                               sums / np.sqrt(np.outer(sums.diagonal(), sums.diagonal())), atol=2e-2)  # fmt: skip


def test_wasserstein_kernel_is_the_mean_of_exponentials_of_distances(rng):
    """4.1.3: exp(-gamma W1) by column; W1 of equally large bags is the mean distance of sorted rows."""
    bags = Bags(rng.normal(size=(40, 2)), [0, 10, 20, 30, 40])
    kernel = distribution.WassersteinKernel(order=1, n_quantiles=10).fit(bags)
    found = kernel.gram(bags)
    ordered = np.sort(bags.values.reshape(4, 10, 2), axis=1)
    distance = np.abs(ordered[:, None] - ordered[None]).mean(axis=2)  # (4, 4, 2)

    def off(gammas):
        return np.abs(np.exp(-np.exp(gammas) * distance).mean(axis=2) - found).max()

    best = minimize(off, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000})
    assert best.fun < 1e-6  # six numbers from two widths


def test_signatures_of_figure_4_4_are_apart_by_a_sixth_and_by_nothing():
    """P = {(1, 1), (2, 2), (3, 1)}, Q = {(1, 1), (2, 1), (3, 1)}: the distance of masses 0, of shares 1 / 6."""
    places = np.array([[1.0], [2.0], [3.0]])
    one, other = np.array([1.0, 2.0, 1.0]), np.ones(3)
    assert distribution.earth_movers_distance(places, one, places, other) == pytest.approx(0.0, abs=1e-12)
    assert distribution.earth_movers_distance(places, one / 4, places, other / 3) == pytest.approx(1 / 6)


def test_bounds_are_the_least_and_largest_share_that_both_totals_allow():
    """3.3.1: max(0, (T - (1 - X)) / X) <= beta <= min(1, T / X), over all whole tables."""
    margins = Margins(rows=[[6, 4], [3, 9]], cols=[[7, 3], [2, 10]])
    low, high = ecological.Bounds().fit(margins).unit_interval(margins)
    for k, (row, col) in enumerate((((6, 4), (7, 3)), ((3, 9), (2, 10)))):
        inside = [a for a in range(row[0] + 1) if 0 <= col[0] - a <= row[1] and row[0] - a <= col[1]]
        np.testing.assert_allclose([low[k, 0, 0], high[k, 0, 0]], np.array([min(inside), max(inside)]) / row[0])


# 000, 001: entropies and stationary points of the relaxed problem.


def test_tables_of_edges_are_independent_given_the_node_between_them():
    """The hyper Markov property (000, 2.1.2.3), over all tables of three people on a chain of three variables."""
    domain, edges = Domain({"a": 2, "b": 2, "c": 2}), [("a", "b"), ("b", "c")]
    logs = dict(zip(edges, np.random.default_rng(5).normal(size=(2, 2, 2))))
    model = collective.TreeModel(domain, edges, logs)
    people = [np.bincount(k, minlength=4).reshape(2, 2) for k in combinations_with_replacement(range(4), 3)]
    chance = {}
    for one, two in product(people, repeat=2):
        if (one.sum(axis=0) == two.sum(axis=1)).all():
            nodes = {"a": one.sum(axis=1), "b": one.sum(axis=0), "c": two.sum(axis=0)}
            found = model.log_probability(collective.Counts(nodes, dict(zip(edges, (one, two))), 3.0))
            chance[tuple(nodes["b"]), tuple(one.ravel()), tuple(two.ravel())] = np.exp(found)
    assert sum(chance.values()) == pytest.approx(1.0)
    for given in {key[0] for key in chance}:
        part = {key[1:]: value for key, value in chance.items() if key[0] == given}
        whole = sum(part.values())
        first = {a: sum(v for (x, _), v in part.items() if x == a) / whole for a, _ in part}
        second = {b: sum(v for (_, x), v in part.items() if x == b) / whole for _, b in part}
        for (a, b), value in part.items():
            assert value / whole == pytest.approx(first[a] * second[b], abs=1e-12)


def test_no_feasible_direction_lowers_the_objective_of_most_likely_counts():
    """(2.7) is convex on trees: random tables with the same totals are no better, along the way to each."""
    season = synthetic.birds(2, 3, 40, weights=(0.5, 1, 1, 1), random_state=1)
    chain = collective.TreeModel(season.domain, season.edges, season.log_potentials)
    best = collective.map_counts(chain, season.tables, tol=1e-10)
    lowest = free_energy(best.nodes, best.edges, chain, season)
    for seed in range(20):
        other = chain.sample_tables(40, random_state=seed)
        for share in (1e-4, 1e-2, 0.3):
            nodes = {a: (1 - share) * best.nodes[a] + share * other.nodes[a] for a in best.nodes}
            edges = {e: (1 - share) * best.edges[e] + share * other.edges[e] for e in best.edges}
            assert free_energy(nodes, edges, chain, season) >= lowest - 1e-7


def free_energy(nodes, edges, chain, season):
    """-<n, log phi> - sum log Poisson(y | n) - H_B, with H_B = -sum n_ij log n_ij + sum (nu_i - 1) n_i log n_i."""
    degree = {a: sum(a in e for e in season.edges) for a in nodes}
    tables = {"t0": nodes["t0"], **{e: edges[e] for e in season.edges}}
    energy = -sum(float((tables[a] * phi).sum()) for a, phi in season.log_potentials.items())
    entropy = -sum(xlogy(z, z).sum() for z in (edges[e] for e in season.edges))
    entropy += sum((degree[a] - 1) * xlogy(z, z).sum() for a, z in nodes.items())
    noisy = 0.0
    for table in season.tables:
        (name,) = table.attributes
        noisy += (nodes[name] - xlogy(table.counts, nodes[name])).sum()
    return energy + noisy - entropy


def test_chain_without_evidence_has_the_marginals_of_the_model(rng):
    """Without evidence the most likely counts are M times the marginals: H_B is then the entropy, and F is -M log Z."""
    season = synthetic.birds(2, 3, 40, weights=(0.5, 1, 1, 1), random_state=2)
    potentials = {a: phi + rng.normal(size=phi.shape) for a, phi in season.log_potentials.items()}  # log Z isn't 0
    chain = collective.TreeModel(season.domain, season.edges, potentials)
    hidden = Tables([Table("t0", np.full(4, np.nan), noise=noise.Poisson())], season.domain, n=40)
    found, marginals = collective.map_counts(chain, hidden, tol=1e-10), chain.marginals()
    for e in season.edges:
        np.testing.assert_allclose(found.edges[e], 40 * marginals.edges[e], atol=1e-5)
    assert chain.log_partition() == pytest.approx(log_z(potentials, season), rel=1e-10)


def log_z(potentials, season):
    """By all paths."""
    names = list(season.domain)
    total = [
        potentials["t0"][path[0]] + sum(potentials[e][path[k], path[k + 1]] for k, e in enumerate(season.edges))
        for path in product(range(4), repeat=len(names))
    ]
    return logsumexp(total)


# 000: exponential families, Fourier features, scores of groups' shares.


def test_marginals_are_the_gradient_of_log_z():
    """(1.3): d log Z / d theta = E S, by differences of log Z in single log-potentials."""
    season = synthetic.birds(2, 3, 40, weights=(0.5, 1, 1, 1), random_state=3)
    chain = collective.TreeModel(season.domain, season.edges, season.log_potentials)
    marginals, edge, h = chain.marginals(), season.edges[1], 1e-5
    for cell in ((0, 1), (3, 3)):
        ends = []
        for sign in (1, -1):
            moved = np.array(season.log_potentials[edge])
            moved[cell] += sign * h
            other = collective.TreeModel(season.domain, season.edges, {**season.log_potentials, edge: moved})
            ends.append(other.log_partition())
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(marginals.edges[edge][cell], rel=1e-6)


def test_fourier_features_of_two_points_have_the_gaussian_kernel_as_product(rng):
    """Chapter 4: <psi(x), psi(x')> is near exp(-|x - x'|^2 / 2 s^2), by many frequencies."""
    points = rng.normal(size=(6, 2))
    points = (points - points.mean(axis=0)) / points.std(axis=0)  # columns are scaled by their spreads
    single = Bags(points, np.arange(7))
    made = distribution.FourierEmbedding(20_000, widths=(0.5,), moments=0, random_state=0).fit(single)
    found = made.transform(single) @ made.transform(single).T
    apart = ((points[:, None] - points) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, np.exp(-apart / (2 * (0.5 * made.unit_) ** 2)), atol=0.01)


def test_scores_of_shares_are_those_of_section_3_5_3_2():
    """Majorities on the same side of a half, pairs in the same order, and the root of the weighted mean square."""
    ours, polls, weights = np.array([0.4, 0.6, 0.55]), np.array([0.45, 0.52, 0.7]), np.array([1.0, 2.0, 5.0])
    scores = metrics.share_scores(ours, polls, weights)
    assert scores["majority"] == 3
    assert metrics.share_scores(1 - ours, polls)["majority"] == 0
    assert scores["order"] == pytest.approx(2 / 3)  # .6 > .55, and .52 < .7
    expected = np.sqrt((1 * 0.05**2 + 2 * 0.08**2 + 5 * 0.15**2) / 8)
    assert scores["rmse"] == pytest.approx(expected)


# 001: fixed points of (2.8). The most likely counts are the marginals of a model with tilted potentials.


def tilted(season, slopes):
    """Edge counts of the model whose log-potentials of nodes are raised by the slopes of log p(y | z)."""
    potentials = dict(season.log_potentials)
    for name, slope in slopes.items():
        potentials[name] = potentials.get(name, 0.0) + slope
    model = collective.TreeModel(season.domain, season.edges, potentials)
    return {e: season.tables.n * model.marginals().edges[e] for e in season.edges}


def test_counts_under_poisson_noise_are_a_fixed_point():
    """phi^ = phi exp(-l'), l = -log Poisson(y | alpha z): the slope of the log-likelihood is y / z - alpha.

    One rate for all cells would only add a constant; here every cell has its own.
    """
    season = synthetic.birds(2, 4, 200, weights=(0.5, 1, 1, 1), random_state=4)
    rate = np.array([0.2, 0.5, 0.9, 1.3])
    seen = [Table(t.attributes, np.round(rate * t.counts), noise=noise.Poisson(rate)) for t in season.tables]
    chain = collective.TreeModel(season.domain, season.edges, season.log_potentials)
    fit = collective.map_counts(chain, Tables(seen, season.domain, n=200), tol=1e-12)
    slopes = {t.attributes[0]: t.counts / fit.nodes[t.attributes[0]] - rate for t in seen}
    for e, z in tilted(season, slopes).items():
        np.testing.assert_allclose(fit.edges[e], z, rtol=1e-3, atol=1e-3)


def test_counts_under_normal_noise_are_a_fixed_point():
    """The slope of log N(y | z, s^2) is (y - z) / s^2."""
    season = synthetic.birds(2, 4, 200, weights=(0.5, 1, 1, 1), random_state=5)
    seen = [Table(t.attributes, t.counts, noise=noise.Gaussian(4.0)) for t in season.tables]
    chain = collective.TreeModel(season.domain, season.edges, season.log_potentials)
    fit = collective.map_counts(chain, Tables(seen, season.domain, n=200), tol=1e-12)
    slopes = {t.attributes[0]: (t.counts - fit.nodes[t.attributes[0]]) / 16 for t in seen}
    for e, z in tilted(season, slopes).items():
        np.testing.assert_allclose(fit.edges[e], z, rtol=1e-4, atol=1e-4)


def test_tilts_under_laplace_noise_are_within_one_over_b():
    """p(y | z) = exp(-|y - z| / b) / 2b: the log-ratio of the counts to the model's is sign(y - z) / b, or less."""
    morning = synthetic.mobility((1, 3), 2, 4000, scale=20.0, random_state=0)
    chain = collective.TreeModel(morning.domain, morning.edges, morning.log_potentials)
    fit = collective.map_counts(chain, morning.edge_tables, tol=1e-12)
    (edge,), (seen,) = morning.edges, morning.edge_tables
    ratio = np.log(fit.edges[edge] / chain.marginals().edges[edge])  # the tilt, up to the constant of n and log Z
    free = np.abs(seen.counts - fit.edges[edge]) > 1e-2
    above, below = free & (seen.counts > fit.edges[edge]), free & (seen.counts < fit.edges[edge])
    assert above.any()
    assert below.any()
    constant = ratio[above].mean() - 1 / 20
    np.testing.assert_allclose(ratio[above] - constant, 1 / 20, atol=1e-3)
    np.testing.assert_allclose(ratio[below] - constant, -1 / 20, atol=1e-3)
    assert np.abs(ratio - constant).max() <= 1 / 20 + 1e-3


def test_belief_propagation_ends_where_the_dual_does():
    """Theorem 4: (2.7) is convex in trees, so that every method's fixed point is the same."""
    season = synthetic.birds(2, 4, 200, weights=(0.5, 1, 1, 1), random_state=6)
    chain = collective.TreeModel(season.domain, season.edges, season.log_potentials)
    best = collective.map_counts(chain, season.tables, tol=1e-12)
    for method in ("nlbp", "nlbp-naive"):
        other = collective.map_counts(chain, season.tables, method=method, tol=1e-9, max_iter=3000)
        for e in season.edges:
            np.testing.assert_allclose(other.edges[e], best.edges[e], atol=0.05)


# 002: the likelihood, mean embeddings, shares of groups.


def test_score_is_the_mean_log_probability_of_the_counts(rng):
    """p(z | x) = sum over labels with z ones of prod p(y_i | x_i) (IV-A), the Poisson binomial, by enumeration."""
    bags = Bags(rng.normal(size=(15, 2)), [0, 4, 9, 15])
    counts = np.array([1, 5, 2])
    clf = p.CardinalityClassifier(penalty=1.0).fit(bags, counts)
    chance = clf.predict_proba(bags.values)
    logs = []
    for k, z in enumerate(counts):
        part = chance[slice(*bags.offsets[k : k + 2])]
        logs.append(np.log(assignments(part, np.array([len(part) - z, z]))[1].sum()))
    assert clf.score(bags, counts) == pytest.approx(np.mean(logs), rel=1e-9)


def test_mean_embedding_is_a_logistic_regression_of_shares_on_means(rng):
    """V-B.2, mean-emb: sum_b n_b (z_b / n_b - sigma(w . mean_b)) mean_b = penalty w, with a free intercept."""
    bags = Bags(rng.normal(size=(120, 2)) + np.repeat(rng.normal(size=(12, 2)), 10, axis=0), np.arange(0, 121, 10))
    counts = rng.binomial(10, expit(bags.values.reshape(12, 10, 2).mean(axis=1) @ [1.0, -1.0]))
    clf = p.MeanEmbeddingClassifier(penalty=2.0, tol=1e-8).fit(bags, counts)
    means = bags.values.reshape(12, 10, 2).mean(axis=1)
    residual = counts - 10 * expit(means @ np.ravel(clf.coef_) + clf.intercept_[0])
    np.testing.assert_allclose(residual.sum(), 0.0, atol=1e-4)
    np.testing.assert_allclose(means.T @ residual, 2.0 * np.ravel(clf.coef_), rtol=1e-5)


def test_two_party_share_of_a_group_leaves_other_classes_out(rng):
    """V-C: sum p(D) / (sum p(D) + sum p(R)) over a group's people, non-voters in neither sum."""
    bags = Bags(rng.normal(size=(60, 2)), np.arange(0, 61, 10))
    counts = rng.multinomial(10, [0.3, 0.3, 0.4], size=6)
    clf = p.MeanEmbeddingClassifier().fit(bags, counts)
    groups = np.where(bags.values[:, 0] > 0, "a", "b")
    found = p.subgroups(clf, bags.values, {"side": groups}, classes=["D", "R", "none"]).two_party("D", "R")
    chance = clf.predict_proba(bags.values)
    for name, share in zip(found["side"], found["share"]):
        sums = chance[groups == name].sum(axis=0)
        assert share == pytest.approx(sums[0] / (sums[0] + sums[1]))


# 003 as printed: the sign of NLLH, and Table 2 from Table 1.


def test_normalised_likelihood_is_one_plus_the_mean_over_the_entropy(rng):
    """5.1 prints the other sign: 1 + mean log-likelihood / H, so that a constant has 0 and a certain one 1."""
    labels = rng.integers(2, size=200)
    chance = np.clip(0.3 + 0.4 * labels + 0.1 * rng.normal(size=200), 0.05, 0.95)
    share = labels.mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    mean = np.where(labels == 1, np.log(chance), np.log(1 - chance)).mean()
    assert metrics.nllh(labels, chance) == pytest.approx(1 + mean / entropy)
    assert metrics.nllh(labels, np.full(200, share)) == pytest.approx(0.0, abs=1e-12)
    assert 0 < metrics.nllh(labels, chance) < 1


def test_rows_of_table_1_have_other_pairs_than_table_2_prints():
    """Table 1 counted: 1B is 2 with sum 1 (printed 1, 1), 2B is 1 with 1 (2, 1), 2a is 1 with 1 (1, 0)."""
    import pandas as pd

    rows = pd.DataFrame({"1": list("12121"), "2": list("BABBA"), "3": list("abbab"), "y": [1, 1, 0, 1, 0]})
    tables = Tables.from_frame(rows, ["1", "2", "3"], label="y")
    pair, third = tables["1", "2"], tables["1", "3"]
    np.testing.assert_array_equal(pair.counts, [[1, 2], [1, 1]])  # rows 1, 2; columns A, B
    np.testing.assert_array_equal(pair.label_sums, [[0, 1], [1, 1]])
    np.testing.assert_array_equal(third.counts[1], [1, 1])  # 2a, 2b
    np.testing.assert_array_equal(third.label_sums[1], [1, 1])


# 004: Goodman's regression.


def test_goodman_is_least_squares_of_column_shares_on_row_shares():
    """3.3.2: T_i = b X_i + w (1 - X_i) + e_i, units weighted by their people."""
    margins = Margins(rows=[[30, 70], [60, 40], [160, 40], [45, 55]], cols=[[35, 65], [50, 50], [122, 78], [44, 56]])
    people = np.array([100.0, 100.0, 200.0, 100.0])
    x, t = np.array([0.3, 0.6, 0.8, 0.45]), np.array([0.35, 0.5, 0.61, 0.44])
    design = np.column_stack([x, 1 - x]) * np.sqrt(people)[:, None]
    expected, *_ = np.linalg.lstsq(design, t * np.sqrt(people), rcond=None)
    np.testing.assert_allclose(ecological.Goodman().fit(margins).shares_[:, 0], expected, atol=1e-9)
