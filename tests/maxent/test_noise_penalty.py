"""Noise against sampling: cells are trusted by their scale."""

import numpy as np
import pytest

from sumwise import Domain, Table, Tables, synthetic
from sumwise.maxent.noise_penalty import MOST_RAISE, distrust, sampling_counts, ties
from sumwise.maxent.sufficient_statistics import sufficient
from sumwise.noise import Gaussian, Laplace


@pytest.fixture(scope="module")
def tables():
    return synthetic.rows(5000, sizes=[4, 3, 5], rate=0.3, correlation=0.5, random_state=0).tables()


def noisy(tables, noise, seed=0):
    rng = np.random.default_rng(seed)
    parts = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    return Tables(parts, tables.domain, label=tables.label, classes=tables.classes)


def test_exact_tables_are_trusted(tables):
    found = distrust(sufficient(tables))
    assert not found.counts.any()
    assert not found.sums.any()


def test_distrust_grows_with_noise_and_falls_with_counts():
    table = [Table("a", [10.0, 1000.0, 4000.0], [2.0, 300.0, 900.0], Gaussian(s)) for s in (1.0, 10.0)]
    low, high = (distrust(sufficient(Tables([t], Domain({"a": 3}), n=5010))) for t in table)
    np.testing.assert_allclose(high.counts, 100 * low.counts, rtol=0.02)
    assert (np.diff(high.counts) < 0).all()
    assert (high.sums > high.counts).all()


def test_counts_without_noise_are_nearer_to_the_truth(tables):
    truth, found = sufficient(tables), sufficient(noisy(tables, Laplace(40.0)))
    shrunk, exact = sampling_counts(found), truth.data.counts
    assert np.abs(shrunk - exact).mean() < np.abs(found.data.counts - exact).mean()
    assert (shrunk > 0).all()


def test_negative_counts_and_sums_above_counts_are_taken_as_noise():
    table = Table(("a", "b"), [[-5.0, 20.0], [30.0, 55.0]], [[3.0, 25.0], [-4.0, 20.0]], Laplace(5.0))
    found = distrust(sufficient(Tables([table], Domain({"a": 2, "b": 2}))))
    assert np.isfinite(found.counts).all()
    assert (found.counts > 0).all()


def test_only_noisy_tables_of_attributes_that_hardly_hang_together_are_held():
    rng = np.random.default_rng(0)
    a, c = rng.integers(0, 3, (2, 4000))
    frame = {"a": a, "b": np.where(rng.random(4000) < 0.8, a, 0), "c": c, "y": rng.integers(0, 2, 4000)}
    exact = Tables.from_frame(frame, ["a", "b", "c"], label="y")
    assert (ties(sufficient(exact)) == 1.0).all()
    assert (ties(sufficient(noisy(exact, Gaussian(5.0)))) == 1.0).all()  # less noise than sampling error
    found = sufficient(noisy(exact, Gaussian(60.0)))
    raised = {term: ties(found)[found.part(t)].max() for t, term in enumerate(found.layout.terms)}
    assert min(raised[0, 2], raised[1, 2]) > 0.7 * MOST_RAISE
    assert raised[0, 1] < 2
    assert raised[0,] == 1.0
