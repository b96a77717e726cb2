"""The samplers against exact enumeration, and each against the other."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from collective_cases import random_evidence, random_tree
from messages import raises, warns
from sumwise import Domain, Table, Tables
from sumwise.collective import GraphModel, TreeModel, map_counts, sample_counts
from sumwise.errors import DataError, NotConverged, SumwiseError
from sumwise.noise import Exact, Gaussian, Laplace, Poisson

METHODS = ("paths", "cycles")


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return sample_counts(*args, **options)


def agree(sample, mean, keys, sigmas=5.0, slack=0.01):
    """Sampled means lie within their own Monte Carlo error."""
    for key in keys:
        error = np.abs(np.asarray(sample.mean.table(*key)) - np.asarray(mean.table(*key)))
        size = np.maximum(np.asarray(sample.effective_size.table(*key)), 1.0)
        assert (error <= sigmas * np.asarray(sample.sd.table(*key)) / np.sqrt(size) + slack).all(), key


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(8))
def test_means_are_those_of_the_enumeration(seed, method):
    model = random_tree(seed, nodes=4, levels=2)
    tables = random_evidence(model, seed, exact=seed % 2 == 1, n=6)
    exact = map_counts(model, tables, method="exact")
    sample = quiet(model, tables, draws=1500, method=method, random_state=seed)
    agree(sample, exact.mean, [(a,) for a in model.domain] + list(model.edges))


@pytest.mark.parametrize("method", METHODS)
def test_exact_counts_are_kept_in_every_draw(method):
    domain = Domain({"t0": 2, "t1": 3, "t2": 2})
    edges = [("t0", "t1"), ("t1", "t2")]
    model = TreeModel(domain, edges, {e: np.random.default_rng(0).normal(size=[domain[a] for a in e]) for e in edges})
    tables = Tables([Table("t0", [5, 3]), Table("t1", [4, 2, 2])], domain, n=8)
    exact = map_counts(model, tables, method="exact")
    sample = quiet(model, tables, draws=2000, method=method, random_state=0)
    assert (sample.nodes["t1"] == [4, 2, 2]).all()
    agree(sample, exact.mean, edges)
    assert sample.mean.edges[edges[0]].sum() == pytest.approx(8)


@pytest.mark.parametrize("zero", [Exact(), Poisson(2.0)])
@pytest.mark.parametrize("method", METHODS)
def test_two_components_with_zero_counts_are_those_of_the_enumeration(method, zero):
    domain = Domain({"a": 2, "b": 2, "c": 2, "d": 2, "alone": 2})
    edges = [("a", "b"), ("c", "d")]
    model = TreeModel(domain, edges, {e: [[1.0, 0.0], [0.3, 0.5]] for e in edges})
    seen = [Table("a", [5, 0], noise=zero), Table("d", [0, 3], noise=Poisson())]
    seen.append(Table("alone", [0, 0], noise=Poisson()))
    tables = Tables(seen, domain, n=5)
    exact = map_counts(model, tables, method="exact")
    sample = quiet(model, tables, draws=1500, method=method, random_state=0)
    agree(sample, exact.mean, [(a,) for a in domain] + edges)


@pytest.mark.parametrize("method", METHODS)
def test_forbidden_moves_stay_empty(method):
    domain = Domain({"t0": 3, "t1": 3, "t2": 3})
    edges = [("t0", "t1"), ("t1", "t2")]
    moves = sparse.csr_array(np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]))
    model = TreeModel(domain, edges, dict.fromkeys(edges, moves))
    tables = Tables([Table("t2", [0, 1, 4], noise=Poisson())], domain, n=5)
    exact = map_counts(model, tables, method="exact")
    sample = quiet(model, tables, draws=2000, method=method, random_state=0)
    agree(sample, exact.mean, [("t0",), ("t1",), ("t2",)])
    assert sample.mean.edges["t0", "t1"].toarray()[0, 2] == 0


def test_a_graph_with_a_cycle_is_sampled():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    triangle = [("a", "b"), ("b", "c"), ("c", "a")]
    model = GraphModel(domain, triangle, {p: np.array([[0.8, 0.0], [0.3, 0.5]]) for p in triangle})
    tables = Tables([Table(("a", "b"), [[3.0, 1.0], [0.0, 1.0]], noise=Gaussian(1.0))], domain, n=4)
    exact = map_counts(model, tables, method="exact")
    for method in METHODS:
        sample = quiet(model, tables, draws=1500, method=method, random_state=0)
        agree(sample, exact.mean, [("a",), ("b",), ("c",), ("a", "b"), ("a", "b", "c")])
    with raises(SumwiseError, "exact-counts-bounds"):
        sample_counts(model, Tables([Table("a", [3, 1])], domain, n=4))


@pytest.mark.check
def test_two_ways_agree_on_a_larger_population():
    domain = Domain({"t0": 4, "t1": 4, "t2": 4})
    edges = [("t0", "t1"), ("t1", "t2")]
    rng = np.random.default_rng(4)
    model = TreeModel(domain, edges, {e: 2 * rng.normal(size=(4, 4)) for e in edges})
    truth = model.sample_tables(800, random_state=1)
    laplace, poisson = Laplace(20.0), Poisson(0.3)
    seen = [
        Table(edges[0], laplace.sample(truth.edges[edges[0]], rng), noise=laplace),
        Table("t2", poisson.sample(truth.nodes["t2"], rng), noise=poisson),
    ]
    tables = Tables(seen, domain, n=800)
    one, two = (quiet(model, tables, draws=250, method=m, random_state=0, thin=k) for m, k in zip(METHODS, (1, 5)))
    for key in [("t0",), ("t1",), ("t2",), *edges]:
        error = np.abs(one.mean.table(*key) - two.mean.table(*key))
        a, b = (s.sd.table(*key) / np.sqrt(s.effective_size.table(*key)) for s in (one, two))
        assert (error <= 5 * np.hypot(a, b) + 0.05).all()


def test_a_seed_fixes_the_draws_and_chains_differ():
    model = random_tree(4)
    tables = random_evidence(model, 4, n=50)
    one, two = (quiet(model, tables, draws=30, random_state=3) for _ in range(2))
    a = next(iter(model.domain))
    assert all(np.array_equal(one.nodes[k], two.nodes[k]) for k in model.domain)
    wide = max(model.domain, key=lambda k: one.sd.nodes[k].max())
    assert not np.array_equal(one.nodes[wide][0], one.nodes[wide][1])
    assert one.nodes[a].shape[:2] == (2, 30)


def test_chains_that_disagree_are_told():
    domain = Domain({"t0": 8, "t1": 8})
    model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): 4 * np.eye(8)})
    seen = Tables([Table("t0", np.full(8, 50.0), noise=Gaussian(0.4))], domain, n=400)
    with warns(NotConverged, "chains-disagree-after"):
        sample_counts(model, seen, draws=6, burn_in=0, random_state=0)


def test_auto_takes_cycles_for_exact_counts_and_large_populations():
    domain = Domain({"a": 2})
    model = TreeModel(domain, [])
    soft = Table("a", [6, 4], noise=Poisson())
    assert quiet(model, Tables([soft], domain, n=10), draws=10, random_state=0).method == "paths"
    assert quiet(model, Tables([soft], domain, n=10**8), draws=10, random_state=0).method == "cycles"
    assert quiet(model, Tables([Table("a", [6, 4])], domain, n=10), draws=10, random_state=0).method == "cycles"


class Own:
    def log_density(self, observed, true):
        return 0.0 * np.asarray(true)

    def gradient(self, observed, true):
        return 0.0 * np.asarray(true)


@pytest.mark.parametrize(
    ("table", "options", "told"),
    [
        (Table("a", [6, 4], noise=Poisson()), {"n": 10.5}, ("n-whole-individuals",)),
        (Table("a", [6.5, 3.5], noise=Exact()), {"n": 10}, ("exact-table-over-holds",)),
        (Table("a", [6, 4], noise=Own()), {"n": 10}, ("sample-counts-takes",)),
        (Table("a", [6, 4], noise=Poisson()), {"n": 10, "method": "path"}, ("did-you-mean",)),
        (Table("a", [6, 4], noise=Poisson()), {"n": 10, "draws": 1}, ("must-least", "draws")),
        (Table("a", [6, 4], noise=Poisson()), {"n": 10**8, "method": "paths"}, ("method-paths-would",)),
        (Table("a", [6, 4], noise=Poisson()), {}, ("size-population-not",)),
    ],
)
def test_bad_input_is_refused(table, options, told):
    domain = Domain({"a": 2})
    with raises(SumwiseError, *told):
        sample_counts(TreeModel(domain, []), Tables([table], domain), **options)


def test_functions_over_part_of_an_unobserved_clique_are_sampled():
    domain = Domain({"a": 2, "b": 3, "c": 2})
    model = GraphModel(domain, [("a", "b", "c")], {("a", "b", "c"): np.random.default_rng(0).normal(size=(2, 3, 2))})
    seen = Tables([Table("a", [30, 70], noise=Poisson())], domain, n=100)
    weights = np.array([[1.0, 0.5], [0.0, 2.0]])
    functions = {"plain": {("a", "c"): weights}, "turned": {("c", "a"): weights.T}}
    sample = sample_counts(model, seen, draws=50, functions=functions, random_state=0)
    np.testing.assert_allclose(sample.functions["plain"], sample.functions["turned"])
    assert sample.functions["plain"].mean() == pytest.approx((weights * sample.mean.table("a", "c")).sum())


@pytest.mark.parametrize("method", ["paths", "cycles"])
@pytest.mark.parametrize("size", [3, 5])
def test_tables_that_no_move_reaches_are_refused(method, size):
    domain = Domain({"a": size, "b": size})
    ring = np.full((size, size), -np.inf)
    ring[np.arange(size), np.arange(size)] = ring[np.arange(size), (np.arange(size) + 1) % size] = 0.0
    model = TreeModel(domain, [("a", "b")], {("a", "b"): ring})
    seen = Tables([Table("a", np.ones(size)), Table("b", np.ones(size))], domain, n=size)
    for seed in range(3):
        if size == 3 and method == "cycles":
            stay = {"stay": {("a", "b"): np.eye(size)}}
            sample = sample_counts(model, seen, draws=300, functions=stay, method=method, random_state=seed)
            assert sample.functions["stay"].mean() == pytest.approx(1.5, abs=0.6)  # all stay, or all move
        else:
            with raises(DataError, "exact-counts-allow"):
                sample_counts(model, seen, draws=60, method=method, random_state=seed)


@pytest.mark.parametrize("method", ["paths", "cycles"])
def test_ends_of_a_chain_whose_middle_is_hidden_are_refused_where_no_move_leads_on(method):
    size = 5
    domain = Domain({"b": size, "a": size, "h": size})
    ring, stay = np.full((size, size), -np.inf), np.where(np.eye(size) > 0, 0.0, -np.inf)
    ring[np.arange(size), np.arange(size)] = ring[np.arange(size), (np.arange(size) + 1) % size] = 0.0
    ends = Tables([Table("a", np.ones(size)), Table("b", np.ones(size))], domain, n=size)
    stuck = TreeModel(domain, [("a", "h"), ("b", "h")], {("a", "h"): stay, ("b", "h"): ring.T})
    for seed in range(2):
        with raises(DataError, "exact-counts-allow", "a", "b"):
            sample_counts(stuck, ends, draws=60, method=method, random_state=seed)
    if method == "cycles":
        free = TreeModel(domain, [("a", "h"), ("b", "h")], {("a", "h"): np.zeros((size, size)), ("b", "h"): ring.T})
        stays = {"stay": {("b", "h"): np.eye(size)}}
        sample = sample_counts(free, ends, draws=300, functions=stays, method=method, random_state=0)
        assert 0.5 < sample.functions["stay"].mean() < 4.5
