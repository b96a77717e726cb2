"""Tables.combine: parts added, merged and forgotten, with their noise."""

from functools import partial

import numpy as np
import pytest

from messages import raises
from sumwise import Domain, Table, Tables
from sumwise.aggregate import aggregate
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson, Summed
from sumwise.privacy import release

DOMAIN = Domain({"a": 3, "b": 2})


def day(seed, n=200):
    rng = np.random.default_rng(seed)
    rows = {"a": rng.integers(0, 3, n), "b": rng.integers(0, 2, n), "y": rng.integers(0, 2, n)}
    return Tables.from_frame(rows, ["a", "b"], "y", domain=DOMAIN)


def noisy(noise, counts=(5.0, 7.0, 9.0)):
    return Tables([Table("a", counts, noise=noise)], Domain({"a": 3}))


def test_exact_parts_add_up_and_can_be_forgotten():
    days = [day(i) for i in range(3)]
    week = Tables.combine(days)
    assert week.n == 600
    assert np.array_equal(week[0].counts, sum(d[0].counts for d in days))
    assert np.array_equal(week[0].label_sums, sum(d[0].label_sums for d in days))
    left = Tables.combine([week], forget=days[:1])
    assert left == Tables.combine(days[1:])


def test_rows_counted_apart_equal_rows_counted_together():
    rng = np.random.default_rng(0)
    rows = {"a": rng.integers(0, 300, 900), "b": rng.integers(0, 300, 900)}
    domain = Domain({"a": 300, "b": 300})
    count = partial(aggregate, attributes=["a", "b"], domain=domain)
    parts = [count({k: v[s] for k, v in rows.items()}) for s in (slice(0, 400), slice(400, 900))]
    assert Tables.combine(parts) == count(rows)


@pytest.mark.parametrize(
    ("noises", "total"),
    [
        ([Gaussian(3.0), Gaussian(4.0)], Gaussian(5.0)),
        (
            [Gaussian(np.array([3.0, 6.0, 3.0])), Gaussian(np.array([4.0, 8.0, 4.0]))],
            Gaussian(np.array([5.0, 10.0, 5.0])),
        ),
        ([Geometric(2.0)] * 3, Summed(Geometric(2.0), 3)),
        ([Laplace(2.0), Summed(Laplace(2.0), 2)], Summed(Laplace(2.0), 3)),
        ([Exact(), Gaussian(2.0)], Gaussian(2.0)),
        ([Poisson(0.5), Poisson(0.5)], Poisson(0.5)),
    ],
)
def test_noise_adds_up(noises, total):
    combined = Tables.combine([noisy(n) for n in noises])
    assert combined["a"].noise == total
    assert combined["a"].counts.tolist() == [5.0 * len(noises), 7.0 * len(noises), 9.0 * len(noises)]


@pytest.mark.parametrize("noise", [Gaussian(3.0), Geometric(2.0), Laplace(1.5)])
def test_what_is_forgotten_takes_its_noise_along(noise):
    parts = [noisy(noise, (k, k + 1.0, k + 2.0)) for k in (5.0, 6.0, 7.0)]
    left = Tables.combine([Tables.combine(parts)], forget=parts[:2])
    assert left["a"].counts.tolist() == [7.0, 8.0, 9.0]
    assert float(left["a"].noise.variance(0.0)) == pytest.approx(float(noise.variance(0.0)))
    assert type(left["a"].noise) is type(noise)


@pytest.mark.parametrize(
    ("a", "b"), [(Laplace(1.0), Laplace(2.0)), (Poisson(0.5), Poisson(1.0)), (Gaussian(1.0), Geometric(1.0))]
)
def test_noise_without_a_model_of_the_sum_is_refused(a, b):
    with raises(DataError, "sums-no-noise"):
        Tables.combine([noisy(a), noisy(b)])


@pytest.mark.parametrize(("a", "b"), [(Gaussian(1.0), Gaussian(2.0)), (Laplace(1.0), Summed(Laplace(1.0), 2))])
def test_what_was_not_added_cannot_be_forgotten(a, b):
    with raises(DataError, "cant-taken-out"):
        Tables.combine([noisy(a)], forget=[noisy(b)])
    with raises(DataError, "table-over-would"):
        Tables.combine([noisy(Exact())], forget=[noisy(Exact(), (9.0, 9.0, 9.0))])


def test_releases_of_days_add_up_by_class():
    days = [release(day(i), 1.0, budget=None) for i in range(2)]
    week = Tables.combine(days)
    assert week[0].noise == Summed(Geometric(1.0), 4)
    assert week[0].label_noise == Summed(Geometric(1.0), 2)
    assert len(week.provenance.releases) == 2
    again = Tables.combine([week], forget=days[:1])
    assert again[0].label_noise == days[1][0].label_noise


def test_merged_releases_are_averaged_by_precision():
    a, b = noisy(Gaussian(1.0), (6.0, 6.0, 6.0)), noisy(Gaussian(2.0), (1.0, 1.0, 1.0))
    merged = Tables.combine([a, b], how="merge")
    assert merged["a"].counts.tolist() == [5.0, 5.0, 5.0]
    assert merged["a"].noise.scale == pytest.approx(1 / np.sqrt(1.25))
    apart = Tables.combine([noisy(Geometric(1.0)), noisy(Geometric(1.0))], how="merge")
    assert len(apart) == 2


def test_withheld_cells_keep_bounds():
    low, high = np.array([0.0, 1.0, 0.0]), np.array([9.0, 4.0, 9.0])
    part = Tables([Table("a", [9.0, np.nan, 9.0], bounds=(low, high))], Domain({"a": 3}))
    both = Tables.combine([part, part])
    assert both["a"].bounds[0].tolist() == [18, 2, 18]
    assert both["a"].bounds[1].tolist() == [18, 8, 18]
    with raises(DataError, "table-over-withheld"):
        Tables.combine([both], forget=[part])


@pytest.mark.parametrize(
    ("parts", "options", "words"),
    [
        ([], {}, ("no-parts-list",)),
        ([day(0), noisy(Exact())], {}, ("part-another-part", "domain")),
        ([day(0), 3], {}, ("part-type-tables", 1, "int")),
        ([day(0)], {"how": "sum"}, ("is-takes", "how", "sum")),
        ([day(0)], {"how": "merge", "forget": [day(0)]}, ("parts-merged-cant",)),
        ([day(0), day(1, 100)], {"how": "merge"}, ("parts-merge-count", "100, 200")),
    ],
)
def test_combine_refuses(parts, options, words):
    with raises(DataError, *words):
        Tables.combine(parts, **options)
