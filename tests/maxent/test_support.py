"""What tables can carry: pairs that lack, thin cells, noise."""

import numpy as np
import pytest

from sumwise import Table, Tables, synthetic
from sumwise.maxent import can_support
from sumwise.noise import Laplace


@pytest.fixture(scope="module")
def tables():
    return synthetic.rows(20_000, sizes=[4, 3, 5], rate=0.3, correlation=0.3, random_state=0).tables()


def test_good_tables_are_told_so(tables):
    found = can_support(tables)
    assert found
    assert found.pairs == 1.0
    assert found.noise_pairs == 0.0
    assert found.per_cell > found.positives_per_cell > 5
    assert len(found.to_frame()) == 6
    assert "pairs=1" in repr(found)


def test_pairs_without_a_table_are_named(tables):
    found = can_support(tables.with_tables([tables[0], Table("f2", tables["f0", "f2"].counts.sum(axis=0))]))
    assert not found
    assert found.pairs == pytest.approx(1 / 3)
    assert found.missing_pairs == (("f0", "f2"), ("f1", "f2"))
    assert "2 pairs of attributes share no table" in found.reasons[0]


def test_noise_and_thin_cells_are_reasons(tables):
    rng, noise = np.random.default_rng(0), Laplace(200.0)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    found = can_support(Tables(made, tables.domain, n=20_000))
    assert found.noise_pairs > found.noise_one_way > 1
    assert "times the sampling variance" in found.reasons[-1]
    few = synthetic.rows(60, sizes=[4, 3, 5], rate=0.3, random_state=0).tables()
    assert "of the rarest class" in can_support(few).reasons[0]
