"""Linear discriminant analysis from pair tables equals that from rows."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sumwise import Table, Tables, synthetic
from sumwise.maxent.linear_discriminant import linear_discriminant
from sumwise.maxent.penalties import penalties_of
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.noise import Gaussian


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_that_of_the_rows(n_classes):
    rng = np.random.default_rng(n_classes)
    codes = rng.integers(0, 3, (5000, 4))
    codes[:, 1] = np.where(rng.random(5000) < 0.5, codes[:, 0], codes[:, 1])
    logits = rng.normal(size=(n_classes, 12)) @ np.eye(3)[codes].reshape(5000, 12).T
    y = np.argmax(logits + rng.gumbel(size=logits.shape), axis=0)
    rows = {f"a{j}": codes[:, j] for j in range(4)}
    stats = sufficient_statistics(Tables.from_frame(rows | {"y": y}, list(rows), label="y"))
    found = linear_discriminant(stats, penalties_of(stats, 1e-6, 1.0).sums)
    assert found is not None
    indicators = np.eye(3)[codes][:, :, 1:].reshape(5000, 8)
    p = LinearDiscriminantAnalysis(solver="lsqr").fit(indicators, y).predict_proba(indicators)
    from sumwise.maxent.kernels.loglinear import class_scores

    z = class_scores(stats.layout, found.theta, found.offsets, codes)
    mine = np.exp(z - np.logaddexp.reduce(z, axis=1)[:, None])
    if n_classes == 2:
        assert mine == pytest.approx(p, abs=1e-3)
    else:  # each class against all others, so that a penalty can be given by class
        assert np.corrcoef(mine[:, 1], p[:, 1])[0, 1] > 0.98


def test_noisy_tables_have_none():
    exact = synthetic.xor(1000, random_state=0).tables
    noisy = [Table(t.attributes, t.counts, t.label_sums, noise=Gaussian(3.0)) for t in exact]
    stats = sufficient_statistics(Tables(noisy, exact.domain, label=exact.label, n=1000))
    assert linear_discriminant(stats, penalties_of(stats, 1.0, 1.0).sums) is None
