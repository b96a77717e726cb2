"""TreeModel: the joint table, the population's distribution, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from brute_collective import joint_probabilities, log_partition, margin
from collective_cases import random_tree
from messages import raises
from sumwise import DataError, Domain
from sumwise.collective import GraphModel, TreeModel


@pytest.mark.parametrize("seed", range(8))
def test_marginals_and_log_partition_equal_the_joint_table(seed):
    model = random_tree(seed)
    joint = joint_probabilities(model.domain, model.log_potentials)
    assert model.log_partition() == pytest.approx(log_partition(model.domain, model.log_potentials), abs=1e-9)
    counts = model.marginals(20)
    for group in [*((a,) for a in model.domain), *model.edges]:
        np.testing.assert_allclose(counts.table(*group), 20 * margin(joint, model.domain, group), atol=1e-9)


def chain(levels=2, length=3, seed=0):
    rng = np.random.default_rng(seed)
    domain = Domain({f"t{i}": levels for i in range(length)})
    edges = [(f"t{i}", f"t{i + 1}") for i in range(length - 1)]
    return TreeModel(
        domain, edges, {e: rng.normal(size=(levels, levels)) for e in edges} | {"t0": rng.normal(size=levels)}
    )


def test_sparse_and_dense_potentials_agree():
    rng = np.random.default_rng(0)
    size = 30
    band = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 2
    theta = np.where(band, rng.normal(size=(size, size)), -np.inf)
    i, j = np.nonzero(band)
    stored = sparse.csr_array((theta[i, j], (i, j)), shape=(size, size))
    domain, edges = Domain({"a": size, "b": size, "c": size}), [("a", "b"), ("c", "b")]
    dense = TreeModel(domain, edges, dict.fromkeys(edges, theta))
    thin = TreeModel(domain, edges, dict.fromkeys(edges, stored))
    assert thin.log_partition() == pytest.approx(dense.log_partition(), abs=1e-10)
    for e in edges:
        np.testing.assert_allclose(thin.marginals(9).edges[e].toarray(), dense.marginals(9).edges[e], atol=1e-12)


def test_a_batch_of_models_is_each_model():
    rng = np.random.default_rng(0)
    domain, theta, start = Domain({"a": 3, "b": 4}), rng.normal(size=(5, 3, 4)), rng.normal(size=3)
    batch = TreeModel(domain, [("a", "b")], {("a", "b"): theta, "a": start})
    assert batch.batch == 5
    for k in range(5):
        alone = TreeModel(domain, [("a", "b")], {("a", "b"): theta[k], "a": start})
        assert batch.log_partition()[k] == pytest.approx(alone.log_partition(), abs=1e-12)
        np.testing.assert_allclose(batch.marginals(7).nodes["b"][k], alone.marginals(7).nodes["b"], atol=1e-12)
        np.testing.assert_allclose(
            batch.marginals(7).edges["a", "b"][k], alone.marginals(7).edges["a", "b"], atol=1e-12
        )
    with raises(DataError, "works-model-time", 5):
        batch.sample(3)


def test_a_batch_may_differ_at_some_nodes_only():
    rng = np.random.default_rng(0)
    domain, theta, start = Domain({"a": 3, "b": 4}), rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3))
    start[0, 1] = -np.inf
    for batch in (
        TreeModel(domain, [("a", "b")], {("a", "b"): theta, "a": start}),
        TreeModel(domain, [("a", "b")], {("a", "b"): theta[1], "a": start}),
        GraphModel(domain, [("a", "b")], {("a", "b"): theta, "a": start}),
    ):
        same = batch.log_potentials["a", "b"].ndim == 2
        for k in range(2):
            alone = TreeModel(domain, [("a", "b")], {("a", "b"): theta[1 if same else k], "a": start[k]})
            assert batch.log_partition()[k] == pytest.approx(alone.log_partition(), abs=1e-12)
            np.testing.assert_allclose(batch.marginals(7).nodes["a"][k], alone.marginals(7).nodes["a"], atol=1e-12)


def _dense(table):
    return table.toarray() if sparse.issparse(table) else table


@pytest.mark.parametrize("stored", [False, True])
def test_torch_model_agrees_with_numpy(stored):
    pytest.importorskip("torch")
    model = chain(4, 4)
    potentials = dict(model.log_potentials)
    if stored:
        potentials |= {e: sparse.csr_array(potentials[e]) for e in model.edges}
    other = TreeModel(model.domain, model.edges, potentials, device="cpu")
    assert other.log_partition() == pytest.approx(model.log_partition(), abs=1e-12)
    for e in model.edges:
        np.testing.assert_allclose(_dense(other.marginals(5).edges[e]), model.marginals(5).edges[e], atol=1e-12)


def test_one_node_and_one_state_work():
    alone = TreeModel(Domain({"a": 3}), [], {"a": np.log([0.2, 0.3, 0.5])})
    np.testing.assert_allclose(alone.marginals(10).nodes["a"], [2.0, 3.0, 5.0])
    single = TreeModel(Domain({"a": 1, "b": 1}), [("a", "b")])
    assert single.log_partition() == 0.0


DOMAIN = Domain({"a": 2, "b": 2, "c": 2})
EYE = np.zeros((2, 2))


@pytest.mark.parametrize(
    ("edges", "potentials", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], {}, ("edge-closes-cycle", "c", "a")),
        ([("a", "a")], {}, ("edge-closes-cycle",)),
        ([("a", "x")], {}, ("there-is-no", "attribute", "x")),
        (["ab"], {}, ("edge-doesnt-join",)),
        ([("a", "b")], {("a", "c"): EYE}, ("potential-over-not-edge",)),
        ([("a", "b")], {("a", "b"): np.zeros((2, 3))}, ("log-potential-over-shape",)),
        ([("a", "b")], {("a", "b"): [[0.0, np.nan], [0.0, 0.0]]}, ("log-potential-over-nan", "(0, 1)")),
        ([("a", "b")], {("a", "b"): [[-np.inf, -np.inf], [0.0, 0.0]]}, ("log-potential-over-forbids-everything", 1, 0)),
        (
            [("a", "b")],
            {("a", "b"): sparse.csr_array(([1.0], ([0], [1])), shape=(2, 2))},
            ("log-potential-over-allow",),
        ),
        ([("a", "b")], {"a": [-np.inf, -np.inf]}, ("log-potential-over-forbids",)),
        (
            [("a", "b")],
            {("a", "b"): [[0.0, -np.inf], [-np.inf, 0.0]], "a": [0, -np.inf], "b": [-np.inf, 0]},
            ("no-state-possible",),
        ),
        ([("a", "b")], {("a", "b"): EYE, ("b", "a"): EYE}, ("two-potentials-over",)),
        ([("a", "b")], [EYE], ("log-potentials-dict", "list")),
        ([("a", "b")], {("a", "b"): [["x", "y"], ["z", "w"]]}, ("log-potential-over",)),
    ],
)
def test_bad_models_are_refused(edges, potentials, message):
    with raises(DataError, *message):
        TreeModel(DOMAIN, edges, potentials)
