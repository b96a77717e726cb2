import numpy as np
import pytest

import sumwise.distribution as distribution
from brute_distribution import replicated
from messages import raises
from sumwise import Bags
from sumwise.distribution import BagKernelRidge, EmbeddingKernel, LinearEmbedding, MomentEmbedding, bag_kernel
from sumwise.distribution.bag_kernel import BagKernel
from sumwise.errors import DataError

KERNELS = [
    kind
    for kind in (getattr(distribution, name) for name in distribution.__all__)
    if isinstance(kind, type) and issubclass(kind, BagKernel)
]


def made(kind):
    return kind(random_state=0) if "random_state" in kind().get_params() else kind()


@pytest.mark.parametrize("kind", KERNELS)
def test_gram_matrices_are_symmetric_definite_and_blind_to_replication(kind, weighted_bags):
    kernel = made(kind).fit(weighted_bags)
    gram = kernel.gram(weighted_bags)
    assert np.allclose(gram, gram.T)
    assert np.linalg.eigvalsh(gram)[0] > -1e-10 * np.linalg.eigvalsh(gram)[-1]
    assert np.allclose(kernel.gram(weighted_bags[:5], weighted_bags[5:]), gram[:5, 5:], atol=1e-12)
    assert np.allclose(kernel.gram(replicated(weighted_bags)), gram, atol=1e-9)


@pytest.mark.parametrize("kind", KERNELS)
def test_many_bags_are_compared_some_at_a_time(kind, weighted_bags, monkeypatch):
    kernel = made(kind).fit(weighted_bags)
    model = BagKernelRidge(made(kind), random_state=0).fit(weighted_bags, np.arange(12.0))
    whole, said, remote = kernel.gram(weighted_bags), model.predict(weighted_bags), model.remoteness(weighted_bags)
    monkeypatch.setattr(bag_kernel, "BLOCK", 150)
    assert np.allclose(kernel.gram(weighted_bags), whole)
    assert np.allclose(model.predict(weighted_bags), said)
    assert np.allclose(model.remoteness(weighted_bags), remote)


@pytest.mark.parametrize("kind", KERNELS)
def test_categorical_columns_count(kind, mixed_bags):
    kernel = made(kind).fit(mixed_bags)
    gram = kernel.gram(mixed_bags)
    values = np.array(mixed_bags.values)
    j = list(mixed_bags.features).index("sex")
    values[: mixed_bags.offsets[1], j] = 1 - values[: mixed_bags.offsets[1], j]
    values[0, j] = 1 - values[0, j]
    changed = kernel.gram(mixed_bags.with_values(values, mixed_bags.features, mixed_bags.levels))
    assert not np.allclose(changed[0], gram[0], rtol=1e-6, atol=0)


@pytest.mark.parametrize("kind", KERNELS)
def test_empty_bags_are_refused(kind, weighted_bags):
    with raises(DataError, "bags-empty-first"):
        made(kind).fit(weighted_bags.subset(weighted_bags.bag_index > 0))
    with raises(DataError, "bags-least-needed", 1):
        made(kind).fit(weighted_bags[[3]])


def test_kernels_on_embeddings_have_their_formulas(weighted_bags):
    vectors = MomentEmbedding().fit_transform(weighted_bags)
    differences = vectors[:, None] - vectors
    for kind, expected in {
        "gaussian": np.exp(-0.1 * (differences**2).sum(-1)),
        "laplace": np.exp(-0.1 * np.abs(differences).sum(-1)),
        "linear": vectors @ vectors.T,
    }.items():
        kernel = EmbeddingKernel(MomentEmbedding(), kind, gamma=0.1).fit(weighted_bags)
        assert np.allclose(kernel.gram(weighted_bags), expected)


def test_the_median_rule_puts_the_median_similarity_at_one_over_e(weighted_bags):
    gram = EmbeddingKernel(MomentEmbedding()).fit(weighted_bags).gram(weighted_bags)
    assert np.median(gram[np.triu_indices(12, 1)]) == pytest.approx(np.exp(-1), rel=0.01)


def test_bags_that_are_all_the_same_are_refused():
    bags = Bags.from_arrays([[0.0, 1.0]] * 5)
    with raises(DataError, "median-distance-between"):
        EmbeddingKernel(LinearEmbedding()).fit(bags)
    assert EmbeddingKernel(LinearEmbedding(), gamma=1.0).fit(bags).gram(bags).min() == 1.0


def test_bad_settings_are_refused(weighted_bags):
    with raises(DataError, "is-takes", "kind", "cubic"):
        EmbeddingKernel(kind="cubic").fit(weighted_bags)
    with raises(DataError, "did-you-mean"):
        EmbeddingKernel(gamma="mean").fit(weighted_bags)
    with raises(DataError, "not-above-zero-2", "gamma"):
        EmbeddingKernel(gamma=-1.0).fit(weighted_bags)
