"""Belief propagation on forests, against the joint table."""

from __future__ import annotations

import numpy as np
import pytest

from brute_collective import joint_probabilities, log_partition, margin
from messages import raises
from sumwise import DataError, Domain
from sumwise.collective.kernels.belief_propagation import Forest, edge_counts, propagate, support, tangent
from sumwise.collective.kernels.edges import DenseEdge, softmax


def random_forest(seed):
    """A forest, its node logs, and the same as a domain with potentials."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    domain = Domain({f"v{i}": int(rng.integers(1, 4)) for i in range(n)})
    pairs = [(int(rng.integers(0, i)), i) for i in range(1, n) if rng.random() < 0.8]
    pairs = [p if rng.random() < 0.5 else p[::-1] for p in pairs]
    tables = {p: 2.0 * rng.normal(size=(domain.shape[p[0]], domain.shape[p[1]])) for p in pairs}
    logs = [rng.normal(size=s) for s in domain.shape]
    forest = Forest(domain.shape, [(*p, DenseEdge(t)) for p, t in tables.items()])
    potentials = {(f"v{a}", f"v{b}"): t for (a, b), t in tables.items()}
    potentials |= {f"v{i}": x for i, x in enumerate(logs)}
    return forest, logs, domain, potentials


@pytest.mark.parametrize("seed", range(12))
def test_beliefs_and_log_z_equal_the_joint_table(seed):
    forest, logs, domain, potentials = random_forest(seed)
    beliefs = propagate(forest, logs)
    joint = joint_probabilities(domain, potentials)
    assert sum(beliefs.log_z) == pytest.approx(log_partition(domain, potentials), abs=1e-10)
    for i, counts in enumerate(softmax(b) * 5.0 for b in beliefs.nodes):
        np.testing.assert_allclose(counts, 5.0 * margin(joint, domain, [f"v{i}"]), atol=1e-10)
    for e, (a, b, _) in enumerate(forest.edges):
        expected = 5.0 * margin(joint, domain, [f"v{a}", f"v{b}"])
        np.testing.assert_allclose(edge_counts(forest, beliefs, e, 5.0), expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_tangent_is_the_derivative_of_the_beliefs(seed):
    forest, logs, _, _ = random_forest(seed)
    rng = np.random.default_rng(seed)
    direction = [rng.normal(size=x.shape) for x in logs]
    change = tangent(forest, propagate(forest, logs), direction)[0]
    up = propagate(forest, [x + 1e-6 * d for x, d in zip(logs, direction)])
    down = propagate(forest, [x - 1e-6 * d for x, d in zip(logs, direction)])
    for c, a, b in zip(change, up.nodes, down.nodes):
        np.testing.assert_allclose(c, (a - b) / 2e-6, atol=1e-7)


def test_a_batch_is_each_of_its_models():
    rng = np.random.default_rng(0)
    tables, logs = rng.normal(size=(3, 4, 5)), [rng.normal(size=(3, 4)), rng.normal(size=(3, 5))]
    together = propagate(Forest((4, 5), [(0, 1, DenseEdge(tables))]), logs)
    for k in range(3):
        alone = propagate(Forest((4, 5), [(0, 1, DenseEdge(tables[k]))]), [x[k] for x in logs])
        assert together.log_z[0][k] == pytest.approx(alone.log_z[0], abs=1e-12)
        np.testing.assert_allclose(softmax(together.nodes[1])[k], softmax(alone.nodes[1]), atol=1e-14)


def test_torch_tensors_go_through_the_same_code():
    torch = pytest.importorskip("torch")
    forest, logs, _, _ = random_forest(3)
    other = Forest(forest.sizes, [(a, b, DenseEdge(torch.as_tensor(op.theta))) for a, b, op in forest.edges])
    mine, theirs = propagate(forest, logs), propagate(other, [torch.as_tensor(x) for x in logs])
    for a, b in zip(mine.nodes, theirs.nodes):
        np.testing.assert_allclose(a, b.numpy(), atol=1e-12)


def test_a_cycle_is_refused():
    edge = DenseEdge(np.zeros((2, 2)))
    with raises(DataError, "edges-over-nodes"):
        Forest((2, 2, 2), [(0, 1, edge), (1, 2, edge), (2, 0, edge)])


def test_support_finds_states_that_cannot_occur():
    theta = np.array([[0.0, -np.inf, -np.inf], [0.0, 0.0, -np.inf], [-np.inf, 0.0, 0.0]])
    forest = Forest((3, 3, 3), [(0, 1, DenseEdge(theta)), (1, 2, DenseEdge(theta))])
    masks = [np.array([False, True, False]), np.ones(3, bool), np.ones(3, bool)]
    found = support(forest, masks)
    assert [m.tolist() for m in found] == [[False, True, False], [True, True, False], [True, True, False]]
