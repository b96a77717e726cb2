"""Tables of amounts: one row adds 1 in all, so a release protects them like tables of classes."""

import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise import DataError, Domain, Tables
from sumwise.maxent import amount_sums, amount_tables
from sumwise.privacy import plan_release, release

DOMAIN = Domain({"a": 2, "b": 3})


def people(n, rng):
    return pd.DataFrame({"a": rng.integers(0, 2, n), "b": rng.integers(0, 3, n), "spent": rng.normal(40, 60, n)})


@pytest.mark.parametrize("squares", [True, False])
def test_one_person_changes_a_table_by_one_at_most(squares):
    rng = np.random.default_rng(0)
    for _ in range(6):
        frame = people(12, rng)
        more, less = (
            amount_tables(f, ["a", "b"], "spent", 0, 100, squares=squares, domain=DOMAIN)["a", "b"]
            for f in (frame, frame.iloc[1:])
        )
        parts = []
        for t in (more, less):
            sums = t.label_sums
            parts.append(sums if squares else np.stack([t.counts - sums, sums], axis=-1))
        moved = (parts[0] - parts[1]).ravel()
        assert np.abs(moved).sum() == pytest.approx(1.0)
        assert np.sqrt((moved**2).sum()) <= 1.0 + 1e-12


def test_sums_are_those_of_the_clipped_amounts():
    frame = people(200, np.random.default_rng(1))
    table = amount_tables(frame, ["a", "b"], "spent", -10, 90, domain=DOMAIN)["a", "b"]
    clipped = frame.assign(spent=frame["spent"].clip(-10, 90), square=frame["spent"].clip(-10, 90) ** 2)
    summed = clipped.groupby(["a", "b"])[["spent", "square"]].sum()
    sums, squares = (summed[c].to_numpy().reshape(2, 3) for c in ("spent", "square"))
    np.testing.assert_allclose(table.label_sums, amount_sums(table.counts, sums, squares, low=-10, high=90), atol=1e-9)


def test_release_states_sensitivity_one_and_keeps_the_range(tmp_path):
    tables = amount_tables(people(500, np.random.default_rng(2)), ["a", "b"], "spent", 0, 100, domain=DOMAIN)
    plan = plan_release(tables, 1.0, mechanism="laplace")
    assert plan.sensitivities == (1.0,)
    noisy = release(tables, 1.0, mechanism="laplace", budget=None)
    assert noisy.provenance.amount == (0.0, 100.0)
    assert noisy["a", "b"].by_class
    sumwise.save(noisy, tmp_path / "t.sumwise")
    assert sumwise.load(tmp_path / "t.sumwise").provenance.amount == (0.0, 100.0)
    with pytest.raises(DataError, match="Sums of an amount are fractions"):
        release(tables, 1.0, mechanism="geometric", budget=None)


def test_bad_amounts_are_refused():
    frame = people(10, np.random.default_rng(3))
    with pytest.raises(DataError, match="low is below high"):
        amount_tables(frame, ["a"], "spent", 5, 5, order=1)
    with pytest.raises(DataError, match="1 of 10 places"):
        amount_tables(frame.assign(spent=[np.nan, *frame["spent"][1:]]), ["a"], "spent", 0, 9, order=1)
    with pytest.raises(DataError, match="between 0 and 10"):
        amount_sums([2.0], [30.0], low=0, high=10)
    days = [amount_tables(frame, ["a"], "spent", 0, h, order=1, domain=Domain({"a": 2})) for h in (5, 9)]
    with pytest.raises(DataError, match="different ranges"):
        Tables.combine(days)
