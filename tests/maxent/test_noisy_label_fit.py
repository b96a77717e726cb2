"""Theta from noisy label sums, all at once: what it gains over single cells, and over taking noise for truth."""

import numpy as np
import pytest

from sumwise import Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.noisy_label_fit import n_rows, told_sums, weighed_theta
from sumwise.maxent.sufficient_statistics import sufficient
from sumwise.metrics import nllh
from sumwise.noise import Gaussian


@pytest.fixture(scope="module")
def people():
    made = synthetic.rows(8000, sizes=[4, 5, 3], rate=0.3, correlation=0.4, random_state=1)
    names = list(made.domain.attributes)
    frame = made.frame()
    label = next(c for c in frame.columns if c not in names)
    tables = Tables.from_frame(frame.head(4000), names, label=label, domain=made.domain)
    rng, noise = np.random.default_rng(0), Gaussian(80.0)
    drawn = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables]
    return Tables(drawn, tables.domain, label=label, classes=tables.classes), frame, names, label


def test_given_rows_noise_is_weighed(people):
    tables, frame, names, label = people
    test = frame.iloc[4000:]
    found = {n: MaxEntClassifier(noise=n).fit(tables, rows=frame[names].head(4000)) for n in ("aware", "ignore")}
    scores = {n: nllh(test[label].to_numpy(), m.predict_proba(test[names])) for n, m in found.items()}
    assert scores["aware"] > scores["ignore"] + 0.001


def test_noisy_tables_end_between_training_and_all_sums_at_once(people):
    """Theta is the mean of what the steps gave and what the least squares on drawn rows gave."""
    tables, *_ = people
    found = sufficient(tables)
    by_cells, both = MaxEntClassifier(random_state=0), MaxEntClassifier(random_state=0)
    by_cells._fit_found(found, tables, weigh=False)
    both.fit(tables)
    codes, _ = by_cells._draws(n_rows(found, 10_000), None)
    at_once, *_ = weighed_theta(
        found, codes, by_cells._penalties(found, aware=False).sums, (by_cells.theta_, by_cells.offsets_)
    )
    np.testing.assert_allclose(both.theta_, 0.5 * (by_cells.theta_ + at_once), atol=1e-6)
    assert np.abs(at_once - by_cells.theta_).max() > 0.01


def test_counts_correct_rows_as_far_as_they_are_told_well(people):
    tables, *_ = people
    found = sufficient(tables)
    here = np.maximum(found.data.counts, 1.0) * 1.5
    ratio = told_sums(found, here).ratio
    assert (ratio[here > 500] < 1.0).all()
    assert told_sums(found, None).ratio.tolist() == [1.0] * found.layout.n_params
