import numpy as np

from sumwise.synthetic.population import ATTRIBUTES, Population


def draw(separation=0.2, n_regions=400, **options):
    rng = np.random.default_rng(0)
    people = Population.draw(n_regions, 5, 7, separation, rng)
    regions = np.repeat(np.arange(n_regions), 200)
    return people, regions, people.individuals(regions, np.dtype(float), 24.0, options.get("spread", 0.5), rng)


def test_columns_are_standardised_and_one_hot():
    people, _, (values, codes, _) = draw()
    np.testing.assert_allclose(values[:, :5].var(axis=0), 1, atol=0.25)
    column = 5
    for name, levels in people.attributes.items():
        block = values[:, column : column + len(levels)]
        np.testing.assert_array_equal(block.sum(axis=1), 1)
        np.testing.assert_array_equal(block.argmax(axis=1), codes[name])
        column += len(levels)
    assert len(people.features) == values.shape[1] == column + 2
    np.testing.assert_allclose(values[:, -2:].var(axis=0), 1, atol=0.15)


def test_attributes_have_about_their_shares():
    _, _, (_, codes, _) = draw(separation=0.0)
    for name, shares in ATTRIBUTES.items():
        got = np.bincount(codes[name], minlength=len(shares)) / len(codes[name])
        np.testing.assert_allclose(got, list(shares.values()), atol=0.12)
    assert "attribute6" in codes
    assert codes["attribute7"].max() == 5


def test_separation_is_the_share_of_variance_between_regions():
    spread = {}
    for separation in (0.0, 0.4):
        _, regions, (values, _, _) = draw(separation)
        means = np.bincount(regions, weights=values[:, 0]) / 200
        spread[separation] = means.var() / values[:, 0].var()
    assert spread[0.0] < 0.01
    assert 0.12 < spread[0.4] < 0.4  # 60% of a covariate's variance comes from the factors


def test_weights_are_whole_with_their_mean():
    _, _, (_, _, weights) = draw(spread=0.5)
    assert weights.dtype == np.int64
    assert weights.min() >= 1
    np.testing.assert_allclose(weights.mean(), 24, rtol=0.08)
    _, _, (_, _, equal) = draw(spread=0.0)
    assert (equal == 24).all()
