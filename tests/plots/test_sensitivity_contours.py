"""The line where a first choice is overturned lies where the numbers say."""

import numpy as np

from sumwise import synthetic
from sumwise.ecological import EcologicalEM, sensitivity, sensitivity_contours
from sumwise.plots import plot_sensitivity_contours


def test_overturning_line_is_where_slopes_sum_to_twice_the_tipping_one():
    m = synthetic.precincts(60, random_state=0).margins
    est = EcologicalEM(n_groups=0).fit(m)
    row = sensitivity(est, m).iloc[0]
    numbers = sensitivity_contours(est, m, row["group"], steps=41, reach=2 * row["tipping"])
    ax = plot_sensitivity_contours(numbers)
    line = next(c for c in ax.collections if len(c.get_paths()) == 1 and len(c.get_paths()[0].vertices) > 2)
    at = line.get_paths()[0].vertices
    assert np.allclose(at.sum(axis=1), 200 * row["tipping"], rtol=0.01)


def test_lead_that_nothing_overturns_has_no_line():
    numbers = {"first_slope": [0, 1], "second_slope": [0, 1], "gap": [[0.5, 0.4], [0.4, 0.3]], "group": "g"}
    assert len(plot_sensitivity_contours(numbers | {"first": "a", "second": "b"}).texts) == 0
