"""map_counts: every method against a cone solver and against each other; bad observations; hard cases."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest

from brute_collective import convex_reference, margin
from collective_cases import random_evidence, random_tree
from messages import raises, warns
from sumwise import DataError, Domain, NotConverged, Table, Tables
from sumwise.collective import Energy, TreeModel, map_counts
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson


def check_against_cones(model, tables, fit, atol=0.05):
    value, joint = convex_reference(model.domain, model.edges, model.log_potentials, tables, fit.n)
    assert fit.objective == pytest.approx(value, rel=3e-6, abs=1e-5)
    assert fit.objective - fit.gap <= value + 1e-6 * abs(value) + 1e-5
    for edge in model.edges:
        np.testing.assert_allclose(fit.edges[edge], margin(joint, model.domain, edge), atol=atol)


@pytest.mark.parametrize("seed", range(12))
def test_dual_equals_a_cone_solver_on_random_trees_with_mixed_noise(seed):
    pytest.importorskip("cvxpy")
    model = random_tree(seed)
    tables = random_evidence(model, seed)
    fit = map_counts(model, tables)
    assert fit.converged
    assert fit.gap <= 1e-6 * abs(fit.objective) + 1e-9
    assert fit.objective - fit.dual == pytest.approx(fit.gap, abs=1e-6 * abs(fit.objective))
    model.check_counts(fit)
    assert model.objective(fit, tables) == pytest.approx(fit.objective, rel=1e-9, abs=1e-7)
    check_against_cones(model, tables, fit)


@pytest.mark.parametrize("seed", range(100, 110))
def test_dual_equals_a_cone_solver_with_exact_tables_too(seed):
    pytest.importorskip("cvxpy")
    model = random_tree(seed)
    tables = random_evidence(model, seed, exact=True)
    fit = map_counts(model, tables)
    assert fit.converged
    assert fit.violation <= 1e-6 * fit.n
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the cone solver may find exact constraints hard
        check_against_cones(model, tables, fit, atol=0.3)


def chain(levels=3, length=4, seed=0, weight=1.0):
    rng = np.random.default_rng(seed)
    domain = Domain({f"t{i}": levels for i in range(length)})
    edges = [(f"t{i}", f"t{i + 1}") for i in range(length - 1)]
    return TreeModel(domain, edges, {e: weight * rng.normal(size=(levels, levels)) for e in edges})


APPROXIMATE = ("nlbp", "nlbp-naive", "rda", "rda-tuned", "accelerated-rda", "mirror", "generic")


@pytest.mark.parametrize("method", APPROXIMATE)
@pytest.mark.parametrize("noise", [Poisson(0.7), Gaussian(3.0)], ids=lambda n: type(n).__name__)
def test_all_methods_find_the_same_counts(method, noise):
    model = chain(levels=3, length=4, seed=5)
    truth = model.sample_tables(200, random_state=0)
    rng = np.random.default_rng(0)
    groups = ["t0", "t1", "t3", ("t2", "t3")]
    seen = [Table(g, noise.sample(truth.table(*([g] if isinstance(g, str) else g)), rng), noise=noise) for g in groups]
    tables = Tables(seen, model.domain)
    best = map_counts(model, tables, n=200, tol=1e-9)
    slow = method.startswith("rda")  # one over the number of steps
    fit = map_counts(model, tables, n=200, method=method, tol=1e-3 if slow else 1e-5)
    assert fit.converged
    assert fit.method == method
    assert fit.objective == pytest.approx(best.objective, rel=1e-4)
    for e in model.edges:
        np.testing.assert_allclose(fit.edges[e], best.edges[e], atol=1.0)


@pytest.mark.parametrize("method", ["nlbp", "rda", "accelerated-rda", "mirror"])
def test_laplace_noise_by_subgradient_and_by_smoothing(method):
    model = chain(levels=3, length=3, seed=5)
    truth = model.sample_tables(200, random_state=0)
    rng = np.random.default_rng(0)
    seen = [Table(a, Laplace(5.0).sample(truth.nodes[a], rng), noise=Laplace(5.0)) for a in model.domain]
    tables = Tables(seen, model.domain)
    best = map_counts(model, tables, n=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # a subgradient proves nothing
        rough = map_counts(model, tables, n=200, method=method, max_iter=300)
        smooth = map_counts(model, tables, n=200, method=method, max_iter=300, smoothing=0.5)
    excess = rough.history["objective"][0] - best.objective
    assert rough.objective - best.objective < 0.3 * excess
    assert model.objective(smooth, tables) - best.objective < 0.05 * excess


def test_the_mode_of_the_integer_tables_is_close_to_the_relaxed_one():
    model = chain(levels=2, length=3)
    tables = Tables([Table("t0", [9, 3], noise=Poisson()), Table("t2", [4, 8], noise=Poisson())], model.domain)
    exact = map_counts(model, tables, n=12, method="exact")
    fit = map_counts(model, tables, n=12)
    for e in model.edges:
        assert np.abs(exact.edges[e] - fit.edges[e]).max() < 1.5
        assert np.abs(exact.mean.edges[e] - fit.edges[e]).max() < 0.5
    assert exact.objective >= fit.dual - 1e-9


class Cauchy:
    """A noise of the user's own, which is not log-concave."""

    def log_density(self, observed, true):
        return -np.log1p((np.asarray(observed) - true) ** 2)

    def gradient(self, observed, true):
        off = np.asarray(observed) - true
        return 2.0 * off / (1.0 + off**2)


def test_a_noise_of_the_users_own_works_and_is_told_when_not_log_concave():
    model = chain(levels=3, length=3)
    tables = Tables([Table("t1", [40.0, 10.0, np.nan], noise=Cauchy())], model.domain, n=60)
    with warns(UserWarning, "noise-energy-not"):
        fit = map_counts(model, tables, method="mirror", tol=1e-5)
    assert fit.converged  # at a point that was verified to be stationary
    assert np.isnan(fit.gap)
    assert fit.objective < model.objective(model.marginals(60), tables)
    with raises(DataError, "method-takes-noise"):
        map_counts(model, tables)


def test_a_concave_energy_has_no_gap_and_ends_at_a_stationary_point():
    model = chain(levels=3, length=2, seed=3)
    start = model.marginals(60).nodes["t0"]

    def away(z):  # concave: repelled from the start
        return -0.02 * float(((z - start) ** 2).sum()), -0.04 * (z - start)

    for method in ("nlbp", "mirror"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fit = map_counts(model, None, n=60, method=method, energy=Energy("t0", away), tol=1e-8, max_iter=3000)
        assert np.isnan(fit.gap)
        slope = away(fit.nodes["t0"])[1]
        tilted = TreeModel(model.domain, model.edges, {**model.log_potentials, "t0": -slope})
        stationary = np.abs(tilted.marginals(60).nodes["t0"] - fit.nodes["t0"]).max() < 0.01
        assert stationary == fit.converged
        assert stationary


def test_an_energy_that_is_given_as_convex_has_a_gap():
    model = chain(levels=3, length=3)
    y = np.array([20.0, 30.0, 10.0])
    gaps = [
        map_counts(model, None, n=60, method="nlbp", energy=Energy("t1", squared_error(y, 3.0), convex=known)).gap
        for known in (True, False)
    ]
    assert 0 <= gaps[0] < 1e-3
    assert np.isnan(gaps[1])


def test_messages_whose_margins_differ_have_no_gap():
    model = chain(levels=3, length=4, seed=5)
    tables = Tables([Table("t1", [90.0, 5.0, 5.0], noise=Gaussian(1.0))], model.domain, n=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        fit = map_counts(model, tables, method="nlbp-naive", max_iter=3)
    assert fit.violation > 1e-3
    assert np.isnan(fit.gap)


def squared_error(y, sd):
    def function(z):
        return 0.5 * float(((z - y) ** 2).sum()) / sd**2, (z - y) / sd**2

    return function


@pytest.mark.parametrize("method", ["nlbp", "mirror", "accelerated-rda", "rda"])
def test_an_energy_equals_the_noise_that_it_spells_out(method):
    model = chain(levels=3, length=3)
    y = np.array([20.0, 30.0, 10.0])
    noise = map_counts(model, Tables([Table("t1", y, noise=Gaussian(3.0))], model.domain), n=60)
    fit = map_counts(model, None, n=60, method=method, energy=Energy("t1", squared_error(y, 3.0)), tol=1e-5)
    assert fit.converged
    np.testing.assert_allclose(fit.nodes["t2"], noise.nodes["t2"], atol=0.05)


def test_gradient_methods_refuse_exact_counts():
    model = chain()
    with raises(DataError, "method-follows-gradients"):
        map_counts(model, Tables([Table("t0", [1.0, 2.0, 3.0])], model.domain), method="nlbp")


def test_counts_between_bounds_are_kept_there():
    pytest.importorskip("cvxpy")
    model = chain()
    hidden = np.array([np.nan, 40.0, np.nan])
    table = Table("t0", hidden, bounds=([1.0, 0.0, 50.0], [3.0, 0.0, np.inf]))
    tables = Tables([table, Table("t1", [30.0, 40.0, 30.0], noise=Gaussian(3.0))], model.domain, n=100)
    fit = map_counts(model, tables)
    assert fit.converged
    assert 1 - 1e-4 <= fit.nodes["t0"][0] <= 3 + 1e-4
    assert fit.nodes["t0"][1] == pytest.approx(40, abs=1e-4)
    check_against_cones(model, tables, fit)


def test_zero_counts_next_to_a_million_are_certified():
    model = chain(levels=6, length=5, seed=1)
    n = 1_000_000
    tables = []
    for i in range(5):
        y = np.zeros(6)
        y[i % 6] = n
        tables.append(Table(f"t{i}", y, noise=Poisson(0.5) if i % 2 else Laplace(1.0)))
    fit = map_counts(model, Tables(tables, model.domain), n=n)
    assert fit.converged
    assert fit.gap <= 1e-6 * abs(fit.objective)
    model.check_counts(fit)


@pytest.mark.parametrize("noise", [Poisson(), Gaussian(0.5), Laplace(1.0), Exact()], ids=lambda n: type(n).__name__)
def test_weights_of_fifty_are_certified(noise):
    model = chain(levels=8, length=6, seed=2, weight=50.0)
    truth = chain(levels=8, length=6, seed=3, weight=1.0).sample_tables(1000, random_state=0)  # not this model's
    seen = [Table(a, noise.sample(truth.nodes[a], 0), noise=noise) for a in ("t0", "t2", "t5")]
    fit = map_counts(model, Tables(seen, model.domain), n=1000)
    assert fit.converged
    assert fit.gap <= 1e-6 * abs(fit.objective)
    model.check_counts(fit, tol=1e-8)


def test_exact_counts_against_weights_of_fifty_are_met():
    model = chain(levels=8, length=6, seed=2, weight=50.0)
    rng = np.random.default_rng(0)
    seen = []
    for a in model.domain:
        y = np.round(1e6 * rng.dirichlet(np.full(8, 0.1)))
        y[0] += 1e6 - y.sum()
        seen.append(Table(a, y))
    fit = map_counts(model, Tables(seen, model.domain))
    assert fit.converged
    assert fit.violation <= 1.0
    assert fit.gap <= 1e-6 * abs(fit.objective)


def test_potentials_a_thousand_apart_keep_their_rare_states():
    domain = Domain({"a": 3, "b": 3})
    theta = np.array([[0.0, -2000.0, -3000.0], [-1000.0, 0.0, -50.0], [-3000.0, -1.0, 0.0]])
    model = TreeModel(domain, [("a", "b")], {("a", "b"): theta, "a": [0.0, -900.0, -1800.0]})
    tables = Tables([Table("b", [5.0, 3.0, 2.0], noise=Exact())], domain)
    fit = map_counts(model, tables)
    assert fit.converged
    np.testing.assert_allclose(fit.nodes["b"], [5, 3, 2], atol=1e-5)
    assert np.isfinite(fit.objective)


def test_laplace_on_edges_meets_its_gap_where_subgradients_stall():
    model = chain(levels=8, length=4, seed=4)
    n = 100_000
    truth = model.sample_tables(n, random_state=0)
    rng = np.random.default_rng(0)
    for b in (1.0, 50.0):
        seen = [Table(e, Laplace(b).sample(truth.edges[e], rng), noise=Laplace(b)) for e in model.edges]
        fit = map_counts(model, Tables(seen, model.domain), n=n)
        excess = fit.history["objective"][0] - fit.objective
        assert fit.converged
        assert fit.gap <= 1e-6 * max(excess, 1e-4 * abs(fit.objective))
        model.check_counts(fit)


def test_a_forest_has_one_n_log_n_per_component():
    domain = Domain({"a": 2, "b": 3, "c": 2})
    model = TreeModel(domain, [("a", "b")], {"c": [0.5, 0.0]})
    tables = Tables([Table("b", [5, 3, 2], noise=Poisson()), Table("c", [4, 6], noise=Gaussian(2.0))], domain)
    fit = map_counts(model, tables, n=10)
    assert fit.converged
    assert model.objective(fit, tables) == pytest.approx(fit.objective, abs=1e-9)


def test_without_information_the_answer_is_the_expectation():
    model = chain()
    tables = Tables([Table("t0", [np.nan] * 3, noise=Poisson())], model.domain, n=50)
    fit = map_counts(model, tables)
    assert fit.gap == 0.0
    np.testing.assert_allclose(fit.nodes["t2"], model.marginals(50).nodes["t2"])


def test_zero_counts_everywhere_one_state_and_one_node_work():
    model = chain()
    zeros = Tables([Table(a, [0, 0, 0], noise=Poisson(0.3)) for a in model.domain], model.domain)
    assert map_counts(model, zeros, n=7).nodes["t0"].sum() == pytest.approx(7)
    domain = Domain({"a": 1, "b": 1})
    single = TreeModel(domain, [("a", "b")])
    fit = map_counts(single, Tables([Table("a", [3], noise=Poisson())], domain), n=5)
    np.testing.assert_allclose(fit.edges["a", "b"], [[5.0]])
    alone = TreeModel(Domain({"a": 2}), [])
    fit = map_counts(alone, Tables([Table("a", [3.0, 7.0], noise=Exact())], alone.domain))
    np.testing.assert_allclose(fit.nodes["a"], [3, 7], atol=1e-5)


def test_several_observations_pull_more_than_one():
    model = chain()
    y = [30.0, 5.0, 15.0]
    one = map_counts(model, Tables([Table("t1", y, noise=Gaussian(4.0))], model.domain), n=50)
    two = map_counts(model, Tables([Table("t1", y, noise=Gaussian(4.0))] * 4, model.domain), n=50)
    same = map_counts(model, Tables([Table("t1", y, noise=Gaussian(2.0))], model.domain), n=50)
    assert np.abs(two.nodes["t1"] - y).sum() < np.abs(one.nodes["t1"] - y).sum()
    np.testing.assert_allclose(two.nodes["t1"], same.nodes["t1"], atol=1e-3)


def test_a_warm_start_needs_fewer_passes():
    model = chain(levels=6, length=6)
    tables = random_evidence(model, 0, groups=[(a,) for a in model.domain], n=500)
    cold = map_counts(model, tables)
    warm = map_counts(model, tables, start=cold)
    assert warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    with raises(DataError, "start-multipliers-observations"):
        map_counts(model, Tables([Table("t0", [1.0] * 6, noise=Gaussian(1.0))], model.domain), n=5, start=cold)


def test_a_gap_that_is_small_enough_ends_the_search():
    model = chain(6, 5, seed=4)
    tables = random_evidence(model, 4, n=500)
    fine, rough = map_counts(model, tables), map_counts(model, tables, max_gap=1.0)
    assert rough.converged
    assert fine.gap < 1e-3 < rough.gap <= 1.0
    assert fine.dual <= rough.objective <= fine.objective + rough.gap
    with raises(DataError, "must-least", "max_gap"):
        map_counts(model, tables, max_gap=-1.0)


def test_a_fit_that_stops_early_says_so():
    model = chain(levels=6, length=6, weight=3.0)
    seen = [Table(a, np.arange(6.0) * 10, noise=Gaussian(0.1)) for a in model.domain]
    with warns(NotConverged, "stopped-after-steps", 1):
        fit = map_counts(model, Tables(seen, model.domain), n=150, max_iter=1)
    assert not fit.converged


def test_negative_poisson_counts_and_unknown_methods_are_refused():
    with raises(DataError, "negative-counts-start"):
        Table("t0", [-1.0, 2.0], noise=Poisson())
    model = chain()
    with raises(DataError, "did-you-mean", "dual"):
        map_counts(model, Tables([Table("t0", [1, 2, 3], noise=Poisson())], model.domain), n=6, method="dul")
    with raises(DataError, "tables-tables-table", "list"):
        map_counts(model, [Table("t0", [1, 2, 3], noise=Poisson())], n=6)


def test_exact_tables_that_no_move_can_join_are_refused():
    domain = Domain({"a": 2, "b": 2})
    stay = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    model = TreeModel(domain, [("a", "b")], {("a", "b"): stay})
    tables = Tables([Table("a", [3.0, 2.0]), Table("b", [2.0, 3.0])], domain)
    with raises(DataError, "no-tables-model"):
        map_counts(model, tables)


def test_geometric_noise_counts_like_laplace():
    model = chain()
    y = [10.0, 3.0, 7.0]
    one = map_counts(model, Tables([Table("t1", y, noise=Geometric(2.0))], model.domain), n=20)
    two = map_counts(model, Tables([Table("t1", y, noise=Laplace(2.0))], model.domain), n=20)
    np.testing.assert_allclose(one.nodes["t1"], two.nodes["t1"], atol=1e-6)


def test_frames_and_transposed_tables():
    model = chain()
    fit = map_counts(model, Tables([Table("t1", [5, 5, 10], noise=Poisson())], model.domain), n=20)
    frame = fit.to_frame("t1", "t0")
    assert list(frame.columns) == ["t1", "t0", "count"]
    assert frame["count"].sum() == pytest.approx(20)
    np.testing.assert_array_equal(fit.edges["t1", "t0"], fit.edges["t0", "t1"].T)
    with raises(KeyError, "no-table-holds"):
        fit.table("t0", "t2")


def test_the_damping_of_nlbp_can_be_fixed():
    model = chain(levels=3, length=4, seed=5)
    tables = Tables([Table("t1", [90.0, 5.0, 5.0], noise=Gaussian(10.0))], model.domain, n=100)
    best = map_counts(model, tables)
    fit = map_counts(model, tables, method="nlbp", damping=0.3, tol=1e-4)
    assert fit.converged
    assert fit.objective == pytest.approx(best.objective, rel=1e-3)
    with raises(DataError, "damping-method-damping", "0.3", "dual"):
        map_counts(model, tables, damping=0.3)
    with raises(DataError, "damping-method-damping", 0):
        map_counts(model, tables, method="nlbp", damping=0)


@pytest.mark.parametrize("seed", range(6))
def test_exact_inference_decides_three_dimensional_matching(seed):
    """Theorem 3 (Sun 2019, appendix A.1): covering every element once is possible iff there is a matching."""
    rng, size = np.random.default_rng(seed), 3
    triples = sorted({tuple(int(k) for k in rng.integers(size, size=3)) for _ in range(7)})
    columns = (list(zip(*chosen)) for chosen in combinations(triples, size))
    matched = any(all(len(set(column)) == size for column in chosen) for chosen in columns)
    domain = Domain({"edge": len(triples)} | dict.fromkeys("pqr", size))
    covers = {("edge", v): np.eye(size)[[t[k] for t in triples]] for k, v in enumerate("pqr")}
    once = Tables([Table(v, np.ones(size), noise=Exact()) for v in "pqr"], domain, n=size)
    logs = {edge: np.where(table > 0, 0.0, -np.inf) for edge, table in covers.items()}
    if matched:
        chosen = map_counts(TreeModel(domain, list(logs), logs), once, method="exact").nodes["edge"]
        assert sorted(chosen) == [0.0] * (len(triples) - size) + [1.0] * size
        assert all((chosen @ table == 1.0).all() for table in covers.values())
    else:
        with raises(DataError, "log-potential-over-forbids-everything|observations-impossible-under"):
            map_counts(TreeModel(domain, list(logs), logs), once, method="exact")
