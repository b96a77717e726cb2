"""Products of rows are the same from a sparse copy and from the table."""

import numpy as np
import pytest

from sumwise.proportions import feature_rows as module
from sumwise.proportions.feature_rows import Rows


@pytest.mark.parametrize("dense", [0.0, 1.0])
def test_products_are_those_of_the_table(monkeypatch, dense):
    monkeypatch.setattr(module, "DENSE", dense)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.2)
    rows = Rows(values)
    assert (rows.matrix is values) == (dense == 0)
    for k in (1, 3):
        coef, weights = rng.normal(size=(k, 6)), rng.normal(size=(40, k))
        np.testing.assert_allclose(rows.times(coef), values @ coef.T, atol=1e-12)
        np.testing.assert_allclose(rows.summed(weights), weights.T @ values, atol=1e-12)
    weights = rng.random(40)
    design = np.column_stack([values, np.ones(40)])
    np.testing.assert_allclose(rows.gram(weights), design.T @ (weights[:, None] * design), atol=1e-12)
    assert rows.summed(weights).shape == (6,)
    assert Rows.of(rows) is rows


def test_full_tables_stay_as_they_are():
    values = np.ones((5, 2))
    assert Rows(values).matrix is values
