"""Two by two from shares: published truths, and totals that agree."""

import numpy as np


def test_matproii_has_the_published_truth(load):
    e = load("matproii")
    np.testing.assert_allclose(e.shares[:, 0], [0.5500, 0.8242], atol=6e-5)
    np.testing.assert_allclose(e.cells.sum(axis=1) / e.margins.totals[:, None], e.margins.col_shares, atol=1e-3)


def test_foreign_illiteracy_is_robinsons_fallacy(load):
    e = load("foreign_illiteracy_1930")
    x, y = e.margins.row_shares[:, 0], e.margins.col_shares[:, 0]
    assert np.polyfit(x, y, 1)[0] < 0  # over states, more foreign born means less illiteracy
    assert (e.cells[:, 0, 0] / e.margins.rows[:, 0] > e.cells[:, 1, 0] / e.margins.rows[:, 1]).mean() > 0.9
    assert e.total is None
    assert e.shares is None
