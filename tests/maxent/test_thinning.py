"""Thinned tables: parts that add up, agree on margins, and don't tell of each other; noisy ones too."""

import numpy as np
import pytest

from sumwise import Domain, Table, Tables, synthetic
from sumwise.maxent.kernels.reconcile import effect
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.thinning import drawn_noise, redrawn, thin
from sumwise.noise import Gaussian


@pytest.fixture(scope="module")
def world():
    made = synthetic.rows(100 * 2000, sizes=[4, 3, 5], rate=0.3, correlation=0.6, random_state=1)
    frame, names = made.frame(), list(made.domain.attributes)
    label = next(c for c in frame.columns if c not in names)
    return made.domain, names, frame[names].to_numpy(), frame[label].to_numpy()


def counted(world, part, noise=None, rng=None):
    domain, names, codes, y = world
    rows = {name: codes[part, j] for j, name in enumerate(names)} | {"y": y[part]}
    tables = Tables.from_frame(rows, names, label="y", domain=domain)
    if noise is None:
        return sufficient_statistics(tables)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    return sufficient_statistics(Tables(made, domain, n=len(y[part])))


def test_parts_add_up_and_agree_on_margins(world):
    found = counted(world, slice(0, 2000))
    first, rest = thin(found, world[2][:2000], world[3][:2000], 0.7, np.random.default_rng(0))
    np.testing.assert_allclose(first.data.counts + rest.data.counts, found.data.counts)
    np.testing.assert_allclose(first.data.sums + rest.data.sums, found.data.sums)
    lay = found.layout
    by_term = {t: first.data.counts[found.part(i)].reshape(lay.shape(t)) for i, t in enumerate(lay.terms)}
    np.testing.assert_allclose(by_term[0, 1].sum(axis=1), by_term[0,])
    np.testing.assert_allclose(by_term[0, 2].sum(axis=1), by_term[0,])
    assert first.data.sums[0, found.part(3)].sum() == pytest.approx(0.7 * world[3][:2000].sum())


@pytest.mark.parametrize("noise", [None, Gaussian(15.0)], ids=["exact", "noisy"])
def test_parts_do_not_tell_of_each_other(world, noise):
    """Over fresh populations, counts of one part and the rest are uncorrelated; thinned apart, margins of ab and ac
    would have a correlation of about 0.5."""
    rng = np.random.default_rng(0)
    pairs = []
    for i in range(100):
        part = slice(2000 * i, 2000 * (i + 1))
        other = slice(2000 * ((i + 1) % 100), 2000 * ((i + 1) % 100) + 2000)  # rows of a model: not the counted ones
        found = counted(world, part, noise, rng)
        pairs.append([p.data for p in thin(found, world[2][other], world[3][other], 0.5, rng)])
    first, rest = (np.array([np.r_[p[k].counts, p[k].sums[0]] for p in pairs]) for k in (0, 1))
    first, rest = first - first.mean(axis=0), rest - rest.mean(axis=0)
    together = (first * rest).mean(axis=0) / np.sqrt((first**2).mean(axis=0) * (rest**2).mean(axis=0))
    assert abs(together.mean()) < 0.08
    assert together.std() < 0.14  # chance alone gives 0.1


def test_noise_is_split_with_the_counts(world):
    found = counted(world, slice(0, 2000), Gaussian(5.0), np.random.default_rng(0))
    first, rest = thin(found, world[2][:2000], world[3][:2000], 0.8, np.random.default_rng(0))
    np.testing.assert_allclose(first.noise.counts, 0.8 * found.noise.counts)
    np.testing.assert_allclose(first.noise.sums + rest.noise.sums, found.noise.sums)


def test_redrawn_tables_are_those_of_the_rows(world):
    found = counted(world, slice(0, 2000))
    again = redrawn(found, world[2][:2000], world[3][:2000], np.random.default_rng(0))
    np.testing.assert_allclose(again.data.counts, found.data.counts)
    np.testing.assert_allclose(again.data.sums, found.data.sums)


def test_noise_that_counts_and_label_sums_share_is_that_of_a_release():
    """Tables of noise alone, released by class: the covariance read off them is that of what was drawn."""
    rng, names = np.random.default_rng(0), ["a", "b", "c"]
    domain = Domain(dict.fromkeys(names, 3))
    one, both = Gaussian(4.0), Gaussian(4.0 * np.sqrt(2.0))
    read = []
    for _ in range(250):
        made = []
        for pair in (("a", "b"), ("a", "c"), ("b", "c")):
            by_class = np.full((3, 3, 2), [300.0, 100.0]) + 4.0 * rng.standard_normal((3, 3, 2))
            made.append(Table(pair, by_class.sum(axis=-1), by_class[..., 1], both, label_noise=one))
        read.append(sufficient_statistics(Tables(made, domain, n=3600)))
    stats = read[0]
    assert stats.shared is not None
    drawn = [drawn_noise(stats, rng) for _ in range(250)]
    for t in (0, 3):  # a pair, and a level
        at, shape = stats.part(t), stats.layout.shape(stats.layout.terms[t])
        free = np.prod([1 - 1 / k for k in shape])
        for values in ([s.data for s in read], drawn):
            counts = np.array([effect(m.counts[at].reshape(shape)).ravel() for m in values])
            sums = np.array([effect(m.sums[0, at].reshape(shape)).ravel() for m in values])
            for found, wanted in (
                (counts**2, stats.noise.counts[at]),
                (sums**2, stats.noise.sums[0, at]),
                (counts * sums, stats.shared[0, at]),
                ((sums - 0.25 * counts) ** 2, stats.noise_per_count(np.array([[0.25]]))[0, at]),
            ):
                assert found.mean() == pytest.approx(free * wanted[0], rel=0.15)


def test_independent_noise_shares_nothing():
    table = Table("a", [300.0, 200.0], [100.0, 50.0], Gaussian(3.0))
    stats = sufficient_statistics(Tables([table], Domain({"a": 2}), n=500))
    assert stats.shared is None
    assert not table.by_class
