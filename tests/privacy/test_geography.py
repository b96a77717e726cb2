"""Counts of nested places: whole, not negative, and the same at every level."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.encoding import Declaration
from sumwise.noise import Geometric
from sumwise.privacy import consistent_counts, release_rows
from sumwise.privacy.geography import divided

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")
TRACTS = {f"{c}{i}": c for c in ("A1", "A2", "B1") for i in range(4)}
COUNTIES = {"A1": "A", "A2": "A", "B1": "B"}
OTHERS = {"other": "other", "missing": "missing"}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    tract = rng.choice(list(TRACTS), 4000, p=rng.dirichlet(np.full(len(TRACTS), 0.5)))
    frame = pd.DataFrame({"tract": tract, "sex": rng.choice(["f", "m"], 4000), "ill": rng.integers(0, 2, 4000)})
    return frame.assign(county=frame["tract"].map(TRACTS), state=frame["tract"].map(TRACTS).map(COUNTIES))


@pytest.mark.parametrize("label", [None, "ill"])
def test_released_counts_add_up_from_tract_to_state(people, label):
    values = {"state": ["A", "B"], "county": list(COUNTIES), "tract": list(TRACTS), "sex": ["f", "m"]}
    declared = Declaration({a: {"kind": "levels", "values": v} for a, v in values.items()}, label=label)
    subsets = [(level, "sex") for level in ("state", "county", "tract")]
    noisy = release_rows(people, declared, 0.5, budget=None, subsets=subsets)
    made = consistent_counts(noisy, {"county": COUNTIES | OTHERS, "tract": TRACTS | OTHERS})
    columns = ["count", *([] if label is None else [0, 1])]
    for coarse, fine, parent in (("state", "county", COUNTIES), ("county", "tract", TRACTS)):
        assert (made[fine][columns] >= 0).all(axis=None)
        assert all(made[fine][c].dtype == np.int64 for c in columns)
        above = made[fine].assign(**{coarse: made[fine][fine].map(parent | OTHERS)})
        sums = above.groupby([coarse, "sex"], sort=False)[columns].sum()
        pd.testing.assert_frame_equal(made[coarse].set_index([coarse, "sex"])[columns].loc[sums.index], sums)
    true = people.groupby(["state", "sex"]).size()
    assert abs(made["state"].set_index(["state", "sex"])["count"].loc[true.index] - true).max() < 60


def test_averaging_over_levels_is_closer_than_the_finest_level_alone():
    rng, noise = np.random.default_rng(1), Geometric(10.0)
    domain = Domain({"state": ["A"], "county": [f"c{i}" for i in range(20)]})
    true, errors = np.full(20, 1000.0), []
    for _ in range(30):
        state = Table("state", noise.sample(np.array([true.sum()]), rng), noise=noise)
        county = Table("county", noise.sample(true, rng), noise=noise)
        made = consistent_counts(
            Tables([state, county], domain), {"county": dict.fromkeys(domain.levels("county"), "A")}
        )
        errors.append((made["county"]["count"].sum() - true.sum(), county.counts.sum() - true.sum()))
    consistent, plain = np.sqrt(np.mean(np.square(errors), axis=0))
    assert consistent < 0.6 * plain


@given(st.integers(1, 8), st.integers(0, 50), st.integers(0, 10**6))
def test_parts_are_whole_not_negative_and_add_up(k, total, seed):
    rng = np.random.default_rng(seed)
    means, variances = rng.normal(total / k, 20, (k, 3)), rng.uniform(0.1, 9, k)
    parts = divided(means, variances, np.full(3, float(total)))
    assert (parts >= 0).all()
    assert (parts == np.floor(parts)).all()
    assert (parts.sum(axis=0) == total).all()


def test_what_does_not_nest_is_refused():
    domain = Domain({"state": ["A"], "county": ["x", "y"]})
    noisy = Tables([Table("state", [5], noise=Geometric(1)), Table("county", [2, 3], noise=Geometric(1))], domain)
    with raises(DataError, "levels-no-level", 1, 2, "county", "y"):
        consistent_counts(noisy, {"county": {"x": "A"}})
    with raises(DataError, "places-above-levels", 0):
        consistent_counts(noisy, {"county": {"x": "B", "y": "B"}})
    with raises(DataError, "parents-empty-county"):
        consistent_counts(noisy, {})
    two = [Table("state", [5, 1], noise=Geometric(1)), noisy["county"]]
    with raises(DataError, "no-level-every", "county", "B"):
        wider = Domain({"state": ["A", "B"], "county": ["x", "y"]})
        consistent_counts(Tables(two, wider), {"county": {"x": "A", "y": "A"}})
