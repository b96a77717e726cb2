import numpy as np
import pytest

from brute_distribution import mean_features
from messages import raises
from sumwise import Bags
from sumwise.distribution import BagOfWords
from sumwise.errors import DataError


@pytest.mark.parametrize("counts", ["hard", "soft"])
def test_counts_are_those_of_a_loop(counts, weighted_bags):
    embedding = BagOfWords(5, counts, root=False, random_state=0).fit(weighted_bags)
    columns, words = embedding.columns_, embedding.words_

    def member(x):
        squares = ((columns.numbers(x[None]) - words) ** 2).sum(axis=1)
        if counts == "hard":
            return (np.arange(len(words)) == squares.argmin()).astype(float)
        near = np.exp(-squares / (2 * embedding.width_**2))
        return near / near.sum()

    shares = embedding.transform(weighted_bags)
    assert np.allclose(shares, mean_features(weighted_bags, member), atol=1e-9)
    assert np.allclose(shares.sum(axis=1), 1)
    rooted = BagOfWords(5, counts, random_state=0).fit_transform(weighted_bags)
    assert np.allclose(rooted**2, shares)


def test_fewer_distinct_rows_than_words_give_fewer_words():
    bags = Bags.from_arrays([[0.0, 0.0, 1.0], [1.0, 0.0]])
    assert np.allclose(np.sort(BagOfWords(10, root=False, random_state=0).fit_transform(bags)[0]), [1 / 3, 2 / 3])


def test_large_samples_go_in_minibatches():
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(m, 0.1, (9000, 1)) for m in (0, 5, 10)])
    embedding = BagOfWords(3, root=False, n_sample=60_000, random_state=0)
    assert np.allclose(np.sort(embedding.fit_transform(bags), axis=1), [0, 0, 1], atol=0.05)


def test_bad_settings_are_refused(weighted_bags):
    for settings, message in (
        ({"n_words": 0}, ("must-least", "n_words", 0)),
        ({"counts": "fuzzy"}, ("is-takes", "counts", "fuzzy")),
        ({"width": 0.0}, ("not-above-zero-2", "width")),
        ({"n_sample": 0}, ("must-least", "n_sample", 0)),
    ):
        with raises(DataError, *message):
            BagOfWords(**settings).fit(weighted_bags)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_measurement_do_not_reorder_words(unit):
    """Rows with a missing first column lie at its mean, so that many words agree in it up to rounding."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(300, 3))
    values[rng.random(300) < 0.3, 0] = np.nan
    offsets = np.arange(0, 301, 15)
    usual, other = (BagOfWords(40, random_state=0).fit_transform(Bags(values * u, offsets)) for u in (1.0, unit))
    np.testing.assert_allclose(other, usual, atol=1e-12)
