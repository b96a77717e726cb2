"""Lines run from the estimate to place-only voting."""

import numpy as np

from sumwise import synthetic
from sumwise.ecological import EcologicalEM, place_shares, sensitivity_band
from sumwise.plots import plot_sensitivity_band


def test_lines_run_from_the_estimate_to_place_only_voting():
    m = synthetic.precincts(60, random_state=0).margins
    est = EcologicalEM().fit(m)
    ax = plot_sensitivity_band(sensitivity_band(est, m, steps=3))
    first = est.shares_.argmax(axis=1)
    for r, line in enumerate(ax.lines):
        ends = [shares[r, first[r]] for shares in (est.shares_, place_shares(est, m))]
        np.testing.assert_allclose(line.get_ydata()[[0, -1]], ends)
