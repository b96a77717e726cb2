import tracemalloc

import numpy as np
import pytest
from sklearn import config_context

import sumwise.distribution as distribution
from brute_distribution import replicated
from messages import raises
from sumwise import Bags
from sumwise.distribution import BagOfWords, BagRidge, FourierEmbedding, LinearEmbedding, MomentEmbedding
from sumwise.distribution.embedding import Embedding, fresh
from sumwise.distribution.kernels import segments
from sumwise.errors import DataError

EMBEDDINGS = [
    kind
    for kind in (getattr(distribution, name) for name in distribution.__all__)
    if isinstance(kind, type) and issubclass(kind, Embedding)
]


def made(kind):
    return kind(random_state=0) if "random_state" in kind().get_params() else kind()


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_weights_are_replicated_rows(kind, weighted_bags):
    embedding = made(kind).fit(weighted_bags)
    assert np.allclose(embedding.transform(weighted_bags), embedding.transform(replicated(weighted_bags)), atol=1e-10)


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_bags_are_embedded_one_by_one(kind, weighted_bags):
    embedding = made(kind).fit(weighted_bags)
    whole = embedding.transform(weighted_bags)
    assert np.isfinite(whole).all()
    assert np.allclose(np.vstack([embedding.transform(weighted_bags[[i]]) for i in range(12)]), whole, atol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in EMBEDDINGS if kind.__name__ != "KernelEmbedding"])
def test_categorical_columns_enter_as_shares(kind, mixed_bags):
    features = made(kind).fit_transform(mixed_bags)
    assert np.allclose(features[:, -5:-3].sum(axis=1), 1.0) or np.allclose(features[:, -3:].sum(axis=1), 1.0)
    only = mixed_bags.with_values(mixed_bags.values[:, [1]], ["sex"], {"sex": mixed_bags.levels["sex"]})
    assert made(kind).fit_transform(only).shape == (10, 2)


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_features_that_are_used_are_the_same_alone(kind, mixed_bags):
    embedding = made(kind).fit(mixed_bags)
    whole = embedding.transform(mixed_bags)
    for used in [*embedding.candidates(whole.shape[1]), np.array([0, whole.shape[1] - 1])]:
        assert np.array_equal(embedding.transform_used(mixed_bags, used), whole[:, used])


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_single_precision_and_large_values_survive(kind):
    rng = np.random.default_rng(0)
    parts = [rng.normal(m, 1, (20, 2)) for m in rng.normal(0, 1, 8)]
    double = Bags.from_arrays(parts)
    single = Bags.from_arrays([p.astype(np.float32) for p in parts])
    embedding = made(kind).fit(double)
    one, other = embedding.transform(double), embedding.transform(single)
    assert np.allclose(one @ one.T, other @ other.T, atol=1e-3)
    shifted = double.with_values(np.asarray(double.values) + 2.0**30)
    few = {"n_words": 8} if kind is BagOfWords else {}  # with nearly a word per row, k-means turns on lost digits
    one, other = (made(kind).set_params(**few).fit_transform(bags) for bags in (shifted, double))
    assert np.allclose(one @ one.T, other @ other.T, atol=1e-4)


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_frames_come_out_with_names_where_asked(kind, mixed_bags):
    embedding = made(kind).set_output(transform="pandas").fit(mixed_bags)
    frame, plain = embedding.transform(mixed_bags), embedding.vectors(mixed_bags)
    assert np.array_equal(frame.to_numpy(), plain)
    assert list(frame.columns) == list(embedding.get_feature_names_out())
    assert frame.columns.is_unique
    assert list(frame.index) == list(mixed_bags.ids)
    with raises(DataError, "input-features-columns"):
        embedding.get_feature_names_out(["other"])


def test_estimators_work_whatever_transform_gives(mixed_bags):
    y = np.arange(float(len(mixed_bags)))
    plain = BagRidge(LinearEmbedding()).fit(mixed_bags, y).predict(mixed_bags)
    with config_context(transform_output="pandas"):
        assert np.array_equal(BagRidge(LinearEmbedding()).fit(mixed_bags, y).predict(mixed_bags), plain)


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_empty_bags_and_other_widths_are_refused(kind, weighted_bags):
    embedding = made(kind).fit(weighted_bags)
    with raises(DataError, "bags-empty-first"):
        embedding.transform(weighted_bags.subset(weighted_bags.bag_index > 0))
    with raises(DataError, "bags-columns-those", 1):
        embedding.transform(Bags.from_arrays([[1.0]]))


def test_linear_embedding_is_the_weighted_mean(weighted_bags):
    features = LinearEmbedding(standardize=False).fit_transform(weighted_bags)
    plain = replicated(weighted_bags)
    means = np.array([x.mean(axis=0) for x in plain])
    assert np.allclose(features, means - means.mean(axis=0))


@pytest.mark.parametrize("kind", [distribution.FourierEmbedding, distribution.QuantileEmbedding, LinearEmbedding])
def test_memory_is_that_of_the_result_and_a_block(kind, monkeypatch):
    monkeypatch.setattr(segments, "BLOCK", 2**15)  # numbers: a quarter of a megabyte
    bags = Bags(np.random.default_rng(0).normal(size=(200_000, 8)), np.arange(101) * 2000)
    embedding = made(kind).fit(bags[:5])
    tracemalloc.start()
    out = embedding.transform(bags)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * out.nbytes + 2**20
    assert peak < bags.values.nbytes / 4


def test_parts_are_copied_and_seeded_where_they_have_no_seed():
    given = FourierEmbedding(n_frequencies=3)
    part = fresh(given, FourierEmbedding, 5)
    assert part is not given
    assert (part.n_frequencies, part.random_state, given.random_state) == (3, 5, None)
    assert fresh(FourierEmbedding(random_state=1), FourierEmbedding, 5).random_state == 1
    assert isinstance(fresh(MomentEmbedding(), FourierEmbedding, 5), MomentEmbedding)


def test_other_objects_are_refused():
    with raises(DataError, "type-such", "embedding", "int", "FourierEmbedding"):
        fresh(3, FourierEmbedding, None)
