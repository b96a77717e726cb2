"""Shares between the estimate and place-only voting."""

import numpy as np
import pytest

from messages import raises
from sumwise import Margins, synthetic
from sumwise.ecological import EcologicalEM, place_shares, sensitivity
from sumwise.errors import DataError


def test_place_only_shares_are_those_if_all_in_a_unit_behaved_alike():
    m = synthetic.precincts(60, 3, 3, random_state=0).margins
    x, y = m.row_shares, m.col_shares
    flat = x @ np.linalg.lstsq(x, y, rcond=None)[0]  # outcomes linear in composition, exactly
    m = Margins(m.rows, m.totals[:, None] * np.clip(flat, 0, None) / np.clip(flat, 0, None).sum(axis=1, keepdims=True))
    est = EcologicalEM().fit(m)
    alike = np.einsum("ir,ic->rc", m.rows, m.col_shares) / m.rows.sum(axis=0)[:, None]
    np.testing.assert_allclose(place_shares(est, m), alike, atol=0.02)
    np.testing.assert_array_equal(place_shares(est, m, 0.0), est.shares_)


def test_totals_of_outcomes_stay_as_they_are():
    m = synthetic.precincts(40, 3, 2, random_state=1).margins
    est = EcologicalEM().fit(m)
    for part in (0.2, 0.7, 1.0):
        counts = m.rows.sum(axis=0) @ place_shares(est, m, part)
        np.testing.assert_allclose(counts, m.cols.sum(axis=0))


def test_at_the_tipping_part_two_choices_are_level():
    m = synthetic.precincts(80, 2, 2, segregation=0.1, base_shares=[[0.8, 0.2], [0.1, 0.9]], random_state=0).margins
    est = EcologicalEM().fit(m)
    frame = sensitivity(est, m)
    assert frame["tipping"].notna().any()
    for r, part in enumerate(frame["tipping"]):
        if np.isfinite(part):
            level = place_shares(est, m, part)[r]
            assert level[0] == pytest.approx(level[1])


def test_parts_outside_0_to_1_and_single_candidates_are_refused():
    m = synthetic.precincts(20, random_state=0).margins
    est = EcologicalEM().fit(m)
    with raises(DataError, "part-estimate-place"):
        place_shares(est, m, 1.5)
    alone = Margins(m.rows, m.cols, col_names=["Smith", "no vote"])
    with raises(DataError, "fewer-two-candidates"):
        sensitivity(EcologicalEM().fit(alone), alone)
