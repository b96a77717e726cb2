from dataclasses import replace

import numpy as np
import pytest

from sumwise import Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier
from sumwise.noise import Gaussian


@pytest.fixture(scope="module")
def rows():
    return synthetic.rows(20_000, sizes=[3, 4, 5], correlation=0.6, random_state=5)


def off(model, tables):
    """Mean distance of expected pairs from exact ones, in shares."""
    found = [(model.expected(t.attributes).values.sum(axis=-1), t.counts) for t in tables]
    return np.mean([np.abs(a / a.sum() - b / b.sum()).sum() / 2 for a, b in found])


def noisy(tables, scale, seed):
    rng, made = np.random.default_rng(seed), []
    for t in tables:
        one = Gaussian(scale)
        by_class = one.sample(np.stack([t.counts - t.label_sums, t.label_sums], axis=-1), rng)
        whole = Gaussian(scale * np.sqrt(2))
        made.append(Table(t.attributes, by_class.sum(axis=-1), by_class[..., 1], whole, label_noise=one))
    return replace(tables, tables=tuple(made), n=None)


@pytest.mark.check
def test_expected_pairs_are_nearer_to_the_truth_than_noisy_ones(rows):
    exact = rows.tables()
    for seed in (1, 2):
        given = noisy(exact, 150.0, seed)
        model = MaxEntClassifier(random_state=0).fit(given)
        raw = np.mean([np.abs(t.counts - exact[t.attributes].counts).sum() / 2 / 20_000 for t in given])
        assert off(model, exact) < 0.7 * raw


@pytest.mark.check
def test_little_noise_leaves_the_counts_as_they_are(rows):
    given = noisy(rows.tables(), 1.0, 3)
    assert off(MaxEntClassifier(random_state=0).fit(given), rows.tables()) < 1e-3


def test_rare_levels_of_a_noisy_attribute_are_not_filled_by_noise():
    """Forty levels of which one has nine in ten: the counts of the others are mostly noise."""
    rng = np.random.default_rng(3)
    shares = np.r_[0.9, np.full(39, 0.1 / 39)]
    frame = {"land": rng.choice(40, 20_000, p=shares), "sex": rng.integers(0, 2, 20_000)}
    exact = Tables.from_frame(frame | {"y": rng.integers(0, 2, 20_000)}, ["land", "sex"], label="y")
    found = []
    for seed in (1, 2):
        given = noisy(exact, 120.0, seed)
        model = MaxEntClassifier(random_state=0).fit(given)
        raw = given["land", "sex"].counts.sum(axis=1).clip(0)
        true = exact["land", "sex"].counts.sum(axis=1)
        ours = model.expected("land").values.sum(axis=-1)
        found.append([np.abs(x / x.sum() - true / true.sum()).sum() for x in (ours, raw)])
    ours, raw = np.mean(found, axis=0)
    assert ours < 0.5 * raw
