"""Large attributes that another determines are left out, the one that says less of the label."""

import numpy as np
import pytest

from sumwise import DataError, Table, Tables
from sumwise.maxent import MaxEntClassifier, SolverOptions, drop_tied


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    site = rng.integers(0, 120, 6000)
    twin = np.where(rng.random(6000) < 0.95, rng.permutation(120)[site], rng.integers(0, 120, 6000))
    chance = 0.1 + 0.6 * (site % 3 == 0)
    return {"twin": twin, "site": site, "age": rng.integers(0, 3, 6000), "y": (rng.random(6000) < chance).astype(int)}


def test_the_one_that_says_less_goes(frame):
    tables = drop_tied(Tables.from_frame(frame, ["twin", "site", "age"], label="y"))
    assert tables.domain.attributes == ("site", "age")
    assert [t.attributes for t in tables] == [("site", "age")]
    model = MaxEntClassifier(random_state=0, options=SolverOptions(max_iter=200, tol=1.0)).fit(tables)
    assert model.predict_proba({k: frame[k][:5] for k in ("twin", "site", "age")}).shape == (5, 2)


def test_small_or_loose_attributes_stay(frame):
    tables = Tables.from_frame(frame, ["twin", "site", "age"], label="y")
    assert drop_tied(tables, levels=200) is tables
    assert drop_tied(tables, tie=0.99) is tables
    assert drop_tied(Tables.from_frame(frame, ["site", "age"], label="y")).domain.attributes == ("site", "age")


def test_tables_without_labels_or_cells_are_no_trouble(frame):
    tables = Tables.from_frame(frame, ["twin", "site", "age"], label="y")
    bare = [t if "age" in t.attributes else Table(t.attributes, t.counts) for t in tables]
    assert drop_tied(tables.with_tables(bare)).domain.attributes == ("site", "age")
    with pytest.raises(DataError):
        drop_tied(tables, tie=2.0)


def test_levels_that_occur_once_are_not_tied_by_chance():
    rng = np.random.default_rng(0)
    rows = {"a": rng.integers(0, 5000, 4000), "b": rng.integers(0, 5000, 4000), "y": rng.integers(0, 2, 4000)}
    apart = Tables.from_frame(rows, ["a", "b"], label="y")
    assert drop_tied(apart) is apart
    tied = Tables.from_frame(rows | {"b": rows["a"] * 3}, ["a", "b"], label="y")
    left = drop_tied(tied)
    assert [t.attributes for t in left] == [left.domain.attributes]  # the table of one, from that of both
    assert left.n == 4000
