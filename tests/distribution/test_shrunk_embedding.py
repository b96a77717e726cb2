import numpy as np
import pytest

from sumwise import Bags, synthetic
from sumwise.distribution import BagRidge, FourierEmbedding, LinearEmbedding, ShrunkEmbedding
from sumwise.errors import DataError


def test_small_bags_shrink_by_their_size():
    rng = np.random.default_rng(0)
    sizes = np.repeat([2, 8], 2000)
    centres = rng.normal(0, 1, 4000)
    bags = Bags.from_arrays([rng.normal(m, 1, n) for m, n in zip(centres, sizes)])
    linear = LinearEmbedding(standardize=False)
    plain, shrunk = linear.fit_transform(bags)[:, 0], ShrunkEmbedding(linear, random_state=0).fit_transform(bags)[:, 0]
    for n in (2, 8):
        assert np.polyfit(plain[sizes == n], shrunk[sizes == n], 1)[0] == pytest.approx(n / (n + 1), abs=0.03)
    truth = centres - plain.mean()
    assert np.mean((shrunk - truth) ** 2) < 0.9 * np.mean((plain - truth) ** 2)


@pytest.mark.parametrize("embedding", [FourierEmbedding(), FourierEmbedding(8, (1.0,), marginal=True)])
def test_shrinkage_helps_where_sizes_differ(embedding):
    train, test = (synthetic.gamma(400, 200, small=0.25, random_state=s) for s in (3, 4))
    errors = []
    for part in (embedding, ShrunkEmbedding(embedding)):
        model = BagRidge(part, random_state=0).fit(train.bags, train.response)
        errors.append(np.mean((model.predict(test.bags) - test.response) ** 2))
    assert errors[1] < 0.85 * errors[0]


def test_the_noise_within_bags_is_that_of_one_observation():
    rng = np.random.default_rng(0)
    cover = np.array([[2.0, 0.6], [0.6, 1.0]])
    parts = [rng.multivariate_normal(m, cover, n) for m, n in zip(rng.normal(size=(600, 2)), rng.integers(2, 40, 600))]
    linear = LinearEmbedding(standardize=False)
    weights = [rng.uniform(0.5, 2, len(p)) for p in parts]
    for bags in (Bags.from_arrays(parts), Bags.from_arrays(parts, weights)):
        embedding = ShrunkEmbedding(linear).fit(bags)
        assert np.allclose(embedding._within(bags, embedding.embedding_.transform(bags), rng), cover, atol=0.1)


def test_weights_of_a_survey_are_no_observations():
    rng = np.random.default_rng(0)
    parts = [rng.normal(m, 1, (3, 1)) for m in rng.normal(size=300)]
    plain, heavy = Bags.from_arrays(parts), Bags.from_arrays(parts, [np.full(3, 50.0)] * 300)
    linear = LinearEmbedding(standardize=False)
    vectors = linear.fit_transform(plain)
    kept = {survey: ShrunkEmbedding(linear, survey, 0).fit_transform(heavy) for survey in (False, True)}
    assert np.allclose(kept[True], ShrunkEmbedding(linear, random_state=0).fit_transform(plain))
    assert np.polyfit(vectors[:, 0], kept[True][:, 0], 1)[0] == pytest.approx(0.75, abs=0.08)
    assert np.polyfit(vectors[:, 0], kept[False][:, 0], 1)[0] > 0.98


def test_bags_of_one_row_only_are_refused():
    with pytest.raises(DataError, match="0 of 5 bags have more than one row"):
        ShrunkEmbedding(LinearEmbedding()).fit(Bags.from_arrays([[float(i)] for i in range(5)]))
