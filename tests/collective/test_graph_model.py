"""GraphModel: junction trees against the joint table."""

from __future__ import annotations

import numpy as np
import pytest

from brute_collective import convex_reference, joint_probabilities, log_partition, margin, population_distribution
from collective_cases import random_evidence, random_tree
from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.collective import GraphModel, map_counts
from sumwise.noise import Gaussian


def random_graph(seed):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(5)]
    domain = Domain({a: int(rng.integers(2, 4)) for a in names})
    cliques = [tuple(rng.choice(names, size=int(rng.integers(2, 4)), replace=False)) for _ in range(4)]
    cliques = [tuple(str(a) for a in c) for c in cliques]
    potentials = {}
    for c in {frozenset(c): c for c in cliques}.values():
        potentials[c] = rng.normal(size=[domain[a] for a in c])
    potentials["v0"] = rng.normal(size=domain["v0"])
    return GraphModel(domain, cliques, potentials), cliques


@pytest.mark.parametrize("seed", range(8))
def test_marginals_equal_the_joint_table(seed):
    model, _ = random_graph(seed)
    joint = joint_probabilities(model.domain, model.log_potentials)
    assert model.log_partition() == pytest.approx(log_partition(model.domain, model.log_potentials), abs=1e-9)
    counts = model.marginals(3)
    for group in [*((a,) for a in model.domain), *model.cliques, model.cliques[0][::-1][:2]]:
        np.testing.assert_allclose(counts.table(*group), 3 * margin(joint, model.domain, group), atol=1e-10)


def test_log_probability_of_a_cycle_equals_enumeration():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    rng = np.random.default_rng(0)
    square = [("a", "b"), ("b", "c"), ("a", "c")]
    model = GraphModel(domain, square, {e: rng.normal(size=(2, 2)) for e in square})
    for key, chance in population_distribution(domain, model.log_potentials, model.cliques, 2).items():
        tables = {c: np.reshape(v, [2] * len(c)) for c, v in zip(model.cliques, key)}
        assert model.log_probability(tables) == pytest.approx(np.log(chance), abs=1e-10)
        assert model.log_probability(tables, form="marginals") == pytest.approx(np.log(chance), abs=1e-10)


def test_sampling_lies_in_the_polytope():
    model, _ = random_graph(1)
    counts = model.sample_tables(40, random_state=0)
    model.check_counts(counts)
    people = model.sample(40, random_state=0)
    np.testing.assert_array_equal(np.bincount(people[:, 0], minlength=model.domain["v0"]), counts.nodes["v0"])


@pytest.mark.parametrize("seed", range(6))
def test_map_counts_equals_a_cone_solver(seed):
    pytest.importorskip("cvxpy")
    model, cliques = random_graph(seed)
    groups = [*((a,) for a in model.domain), model.cliques[0], model.cliques[0][:2]]
    tables = random_evidence(model, seed, groups=groups, n=200)
    fit = map_counts(model, tables)
    value, joint = convex_reference(model.domain, cliques, model.log_potentials, tables, 200)
    assert fit.objective == pytest.approx(value, rel=1e-6, abs=1e-5)
    assert model.objective(fit, tables) == pytest.approx(fit.objective, rel=1e-9, abs=1e-8)
    model.check_counts(fit)
    for clique in model.cliques:
        np.testing.assert_allclose(fit.cliques[clique], margin(joint, model.domain, clique), atol=0.02)


def test_a_tree_gives_the_same_answer_by_both_models():
    tree = random_tree(4, levels=3)
    graph = GraphModel(tree.domain, tree.edges, tree.log_potentials)
    tables = random_evidence(tree, 4)
    one, other = map_counts(tree, tables), map_counts(graph, tables)
    assert one.objective == pytest.approx(other.objective, rel=1e-6)


def test_bad_graphs_and_evidence_are_refused():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    model = GraphModel(domain, [("a", "b"), ("b", "c")])
    with raises(DataError, "table-over-lies"):
        map_counts(model, Tables([Table(("a", "c"), np.ones((2, 2)), noise=Gaussian(1.0))], domain), n=4)
    with raises(DataError, "no-clique-junction"):
        GraphModel(domain, [("a", "b"), ("b", "c")], {("a", "c"): np.zeros((2, 2))})
    with raises(DataError, "there-is-no", "attribute", "x"):
        GraphModel(domain, [("a", "x")])
    wide = Domain({f"x{i}": 1000 for i in range(5)})
    with raises(DataError, "needs-memory-free-drop", "tree", "GiB"):
        GraphModel(wide, [tuple(wide)])
