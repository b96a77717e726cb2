"""Penalties by order of the table and by noise."""

import numpy as np
import pytest

from messages import raises
from sumwise import DataError, Domain, Table, Tables, synthetic
from sumwise.maxent.penalties import (
    MOST_RAISE,
    association_penalty,
    copies,
    effect_variance,
    large_penalties,
    noise_ratio,
    penalties_of,
    sampling_counts,
    tied_groups,
)
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.noise import Gaussian, Laplace

FRAME = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [1, 0, 1, 1]}


@pytest.fixture(scope="module")
def found():
    return sufficient_statistics(Tables.from_frame(FRAME, ["a", "b"], label="y"))


def test_the_last_penalty_holds_for_larger_tables(found):
    np.testing.assert_array_equal(penalties_of(found, 3.0, 1.0).sums, np.full((1, 8), 3.0))
    assert penalties_of(found, (1.0, 5.0), 0.5).sums[0].tolist() == [5.0] * 4 + [1.0] * 4
    assert penalties_of(found, (1.0, 5.0), 0.5).counts.tolist() == [0.5] * 8


def test_noise_multiplies_penalties_unless_it_is_ignored():
    exact = Tables.from_frame(FRAME, ["a", "b"], label="y")
    tables = Tables([Table(t.attributes, t.counts, t.label_sums, Gaussian(2.0)) for t in exact], exact.domain)
    found = sufficient_statistics(tables)
    less = noise_ratio(found)
    np.testing.assert_allclose(penalties_of(found, 3.0, 1.0).sums, 3.0 * (1 + less.sums))
    np.testing.assert_array_equal(penalties_of(found, 3.0, 1.0, aware=False).sums, np.full((1, 8), 3.0))


def test_a_negative_penalty_is_refused(found):
    with raises(DataError, "must-least", "penalty_theta"):
        penalties_of(found, (-1.0,), 1.0)


@pytest.fixture(scope="module")
def tables():
    return synthetic.rows(5000, sizes=[4, 3, 5], rate=0.3, correlation=0.5, random_state=0).tables()


def noisy(tables, noise, seed=0):
    rng = np.random.default_rng(seed)
    parts = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    return Tables(parts, tables.domain, label=tables.label, classes=tables.classes)


def test_exact_tables_are_trusted(tables):
    found = noise_ratio(sufficient_statistics(tables))
    assert not found.counts.any()
    assert not found.sums.any()


def test_distrust_grows_with_noise_and_falls_with_counts():
    table = [Table("a", [10.0, 1000.0, 4000.0], [2.0, 300.0, 900.0], Gaussian(s)) for s in (1.0, 10.0)]
    low, high = (noise_ratio(sufficient_statistics(Tables([t], Domain({"a": 3}), n=5010))) for t in table)
    np.testing.assert_allclose(high.counts, 100 * low.counts, rtol=0.02)
    assert (np.diff(high.counts) < 0).all()
    assert (high.sums > high.counts).all()


def test_counts_without_noise_are_nearer_to_the_truth(tables):
    truth, found = sufficient_statistics(tables), sufficient_statistics(noisy(tables, Laplace(40.0)))
    shrunk, exact = sampling_counts(found), truth.data.counts
    assert np.abs(shrunk - exact).mean() < np.abs(found.data.counts - exact).mean()
    assert (shrunk > 0).all()


def test_negative_counts_and_sums_above_counts_are_taken_as_noise():
    table = Table(("a", "b"), [[-5.0, 20.0], [30.0, 55.0]], [[3.0, 25.0], [-4.0, 20.0]], Laplace(5.0))
    found = noise_ratio(sufficient_statistics(Tables([table], Domain({"a": 2, "b": 2}))))
    assert np.isfinite(found.counts).all()
    assert (found.counts > 0).all()


def test_only_noisy_tables_of_attributes_that_hardly_hang_together_are_held():
    rng = np.random.default_rng(0)
    a, c = rng.integers(0, 3, (2, 4000))
    frame = {"a": a, "b": np.where(rng.random(4000) < 0.8, a, 0), "c": c, "y": rng.integers(0, 2, 4000)}
    exact = Tables.from_frame(frame, ["a", "b", "c"], label="y")
    assert (association_penalty(sufficient_statistics(exact)) == 1.0).all()
    assert (
        association_penalty(sufficient_statistics(noisy(exact, Gaussian(5.0)))) == 1.0
    ).all()  # less noise than sampling error
    found = sufficient_statistics(noisy(exact, Gaussian(60.0)))
    raised = {term: association_penalty(found)[found.part(t)].max() for t, term in enumerate(found.layout.terms)}
    assert min(raised[0, 2], raised[1, 2]) > 0.7 * MOST_RAISE
    assert raised[0, 1] < 2
    assert raised[0,] == 1.0


def rows(sd, n=40_000, levels=400, seed=0):
    rng = np.random.default_rng(seed)
    site = rng.integers(0, levels, n)
    effect = rng.normal(0, sd, levels)
    return {"site": site, "age": rng.integers(0, 3, n), "y": rng.random(n) < 1 / (1 + np.exp(1 - effect[site]))}


@pytest.mark.parametrize("sd", [0.0, 0.2, 0.5])
def test_the_variance_of_effects_is_found(sd):
    found = sufficient_statistics(Tables.from_frame(rows(sd), ["site"], label="y", order=1))
    assert effect_variance(found, 0)[0] == pytest.approx(sd**2, abs=0.3 * sd**2 + 0.004)


def test_levels_that_hardly_differ_are_penalised_more_and_never_less():
    flat, steep = (sufficient_statistics(Tables.from_frame(rows(sd), ["site", "age"], label="y")) for sd in (0.1, 3.0))
    one = flat.part(flat.layout.terms.index((0,)))
    other = flat.part(flat.layout.terms.index((1,)))
    assert 20 < penalties_of(flat, (1.0, 48.0), 1.0).sums[0, one][0] <= 48
    assert (penalties_of(steep, (1.0, 48.0), 1.0).sums[0, one] == 1.0).all()
    assert (penalties_of(flat, (1.0, 48.0), 1.0).sums[0, other] == 1.0).all()  # three levels aren't many
    assert (penalties_of(flat, (1.0, 48.0), 1.0, large=False).sums[0, one] == 1.0).all()


def test_tied_attributes_share_an_effect():
    data = rows(1.0, n=4000, levels=120)
    data["page"], data["other"] = 119 - data["site"], np.random.default_rng(1).integers(0, 120, 4000)
    found = sufficient_statistics(Tables.from_frame(data, ["site", "age", "page", "other"], label="y"))
    assert tied_groups(found) == [{0, 2}]
    times = dict(zip(found.layout.terms, (copies(found)[found.part(t)][0] for t in range(len(found.layout.terms)))))
    assert times[0, 2] == times[0, 1] == times[0,] == times[2, 3] == 2
    assert times[1,] == times[1, 3] == times[3,] == 1
    assert large_penalties(found, np.ones((1, found.layout.n_params)), 48.0).min() >= 1


def test_three_tied_attributes_are_one_group():
    data = rows(1.0, n=3000, levels=110)
    data["page"], data["path"] = 109 - data["site"], (data["site"] * 3) % 110
    found = sufficient_statistics(Tables.from_frame(data, ["site", "page", "path"], label="y"))
    assert tied_groups(found) == [{0, 1, 2}]
