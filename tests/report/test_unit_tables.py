"""Frames of an ecological fit: cells of every unit, and first choices."""

import numpy as np

from messages import raises
from sumwise import Margins, synthetic
from sumwise.errors import DataError
from sumwise.report.unit_tables import first_choices, unit_cells


def two_by_two(n=30):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.05, 0.95, n)
    x[0] = 1.0
    t = x * rng.normal(0.4, 0.05, n) + (1 - x) * rng.normal(0.7, 0.05, n)
    sides = [np.stack([s, 1 - s], axis=1) * 200 for s in (x, t)]
    return Margins(*sides, row_names=["a", "b"], col_names=["yes", "no"])


def test_unit_cells_add_up_and_lie_in_their_bounds():
    from sumwise.ecological import EcologicalEM

    m = synthetic.precincts(40, random_state=0).margins
    units = unit_cells(EcologicalEM().fit(m), m)
    np.testing.assert_allclose(units.groupby("unit", sort=False)["count"].sum().to_numpy(), m.totals)
    inside = units.dropna()
    assert (inside["share"] >= inside["lower_bound"] - 1e-9).all()
    assert (inside["share"] <= inside["upper_bound"] + 1e-9).all()


def test_first_choices_leave_abstention_out():
    from sumwise.ecological import EcologicalEM
    from sumwise.voting import turnout

    base = synthetic.precincts(40, random_state=0).margins
    cols = np.column_stack([base.cols, 3 * base.totals])
    est = EcologicalEM().fit(Margins(4 * base.rows, cols, col_names=["yes", "no", "no vote"]))
    found = first_choices(est)
    real = turnout(est).choice.values  # of those who voted
    assert found["first choice"].tolist() == [est.col_names_[c] for c in real.argmax(axis=1)]
    np.testing.assert_allclose(found["support"], real.max(axis=1))
    voted = est.group_sizes_ * est.shares_[:, :2].sum(axis=1)
    c = int(real[0].argmax())
    np.testing.assert_allclose(found["support elsewhere"][0], voted[1:] @ real[1:, c] / voted[1:].sum())
    choice = turnout(est).choice
    np.testing.assert_allclose(found["low"], choice.interval[0][np.arange(len(real)), real.argmax(axis=1)])
    with raises(DataError, "all-outcomes-abstentions"):
        est.col_names_ = ("no vote", "blank", "abstained")
        first_choices(est)
