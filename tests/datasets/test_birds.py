"""Blackbirds: abundance by week, and banded birds."""

import numpy as np


def test_weeks_sum_to_one_and_birds_have_weeks(load):
    data = load("blackbirds")
    assert data.abundance.shape == (52 * 337, 3)
    np.testing.assert_allclose(data.abundance.groupby("week")["abundance"].sum(), 1.0, atol=1e-6)
    assert data.bands["week_from"].between(1, 52).all()
    first = data.bands.iloc[0]
    assert first["week_from"] == 21  # 23 May
    assert first["days"] == (first["date_to"] - first["date_from"]).days
    assert len(data.outlines["features"]) > 40
    assert data.cells["lon"].between(-180, 0).all()
