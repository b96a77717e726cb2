"""Calibration against held-out bags."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sumwise import synthetic
from sumwise.errors import DataError
from sumwise.metrics import nllh
from sumwise.noise import Geometric
from sumwise.proportions import (
    CalibratedBagClassifier,
    CardinalityClassifier,
    MeanEmbeddingClassifier,
    StratifiedBagKFold,
)


def drawn(n_classes=2):
    return synthetic.election(
        150, 20, n_classes=n_classes, n_categorical=0, mean_weight=1, weight_spread=0, n_test=3000, random_state=0
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_pulled_classifier_is_set_right(n_classes):
    data = drawn(n_classes)
    counts = data.counts[:, 1] if n_classes == 2 else data.counts
    base = CardinalityClassifier(penalty=3000.0, tol=1e-3, multiclass="ovr")
    pulled = base.fit(data.bags, counts)
    found = CalibratedBagClassifier(base, cv=StratifiedBagKFold(3)).fit(data.bags, counts)
    assert found.slope_ > 2
    assert found.gain_ > 0
    assert found.fit_.converged
    before, after = (nllh(data.test_labels, m.predict_proba(data.test_values)) for m in (pulled, found))
    assert after > before + 0.05
    assert found.score(data.bags, counts) > pulled.score(data.bags, counts)


def test_a_good_classifier_is_left_alone():
    data = drawn()
    found = CalibratedBagClassifier(CardinalityClassifier(penalty=5.0), cv=3).fit(data.bags, data.counts[:, 1])
    assert abs(found.slope_ - 1) < 3 * found.slope_error_
    assert 0.01 < found.slope_error_ < 0.5
    np.testing.assert_allclose(found.predict_counts(data.bags).sum(), data.counts[:, 1].sum(), rtol=0.05)


def test_other_methods_are_taken():
    data = drawn()
    found = CalibratedBagClassifier(MeanEmbeddingClassifier(), cv=3).fit(data.bags, data.counts)
    assert found.predict_counts(data.bags).shape == (150, 2)
    assert found.posterior(data.bags, data.counts).shape == (3000, 2)


def test_bags_never_held_out_are_refused():
    class Half(StratifiedBagKFold):
        def split(self, X, y=None, groups=None):
            yield np.arange(75), np.arange(75, 150)

    data = drawn()
    with pytest.raises(DataError, match="75 of 150 bags are held out in no fold"):
        CalibratedBagClassifier(CardinalityClassifier(penalty=1.0), cv=Half(2)).fit(data.bags, data.counts[:, 1])
    with pytest.raises(DataError, match="bags is of type ndarray"):
        CalibratedBagClassifier().fit(np.zeros((3, 1)), [1, 2, 3])


def test_what_cannot_be_calibrated_is_told():
    data = drawn()
    counts = data.counts[:, 1]
    with pytest.raises(DataError, match="2 bags can't make 5 folds"):
        CalibratedBagClassifier(MeanEmbeddingClassifier(penalty=1.0)).fit(data.bags[:2], counts[:2])
    with pytest.raises(DataError, match="cv is 'spatial'"):
        CalibratedBagClassifier(cv="spatial").fit(data.bags, counts)
    with pytest.raises(DataError, match=r"learns from labels, not from bags. Hint: CardinalityClassifier\(Logistic"):
        CalibratedBagClassifier(LogisticRegression()).fit(data.bags, counts)


def test_noise_and_totals_of_the_classifier_are_taken_over():
    data = drawn()
    noisy = Geometric(3.0).sample(data.counts[:, 1], random_state=0)
    assert noisy.min() < 0  # read as exact, such a count is refused
    base = CardinalityClassifier(noise=Geometric(3.0), penalty=5.0, tol=1e-3)
    found = CalibratedBagClassifier(base, cv=3).fit(data.bags, noisy)
    same = CalibratedBagClassifier(base, cv=3, noise=Geometric(3.0)).fit(data.bags, noisy)
    assert found.slope_ == same.slope_
    assert np.isfinite(found.score(data.bags, noisy))
    own = CalibratedBagClassifier(cv=2, noise=Geometric(3.0)).fit(data.bags[:60], noisy[:60])
    assert own.classifier_.noise == Geometric(3.0)
    scaled = CalibratedBagClassifier(CardinalityClassifier(totals="scale", penalty=5.0), cv=3)
    assert scaled.fit(data.bags, 7 * data.counts).posterior(data.bags, 7 * data.counts).shape == (3000, 2)


def test_noise_other_than_the_classifiers_is_refused():
    data = drawn()
    with pytest.raises(DataError, match=r"reads the counts with noise=None, calibration with noise=Geometric\(scale=3"):
        CalibratedBagClassifier(CardinalityClassifier(), noise=Geometric(3.0)).fit(data.bags, data.counts[:, 1])
    found = CalibratedBagClassifier(MeanEmbeddingClassifier(penalty=1.0), cv=3, noise=Geometric(0.1))
    assert 0.2 < found.fit(data.bags, data.counts[:, 1]).slope_ < 5


def test_weights_reach_the_classifier_and_the_calibration():
    data = synthetic.election(24, 8, n_categorical=0, mean_weight=1, weight_spread=0, n_test=10, random_state=0)
    bags, counts = data.bags, data.counts[:, 1]
    base, weights = MeanEmbeddingClassifier(penalty=1.0), np.tile([2.0, 1.0, 0.0], 8)
    found = CalibratedBagClassifier(base, cv=3).fit(bags, counts, sample_weight=weights)
    piped = CalibratedBagClassifier(make_pipeline(base), cv=3).fit(bags, counts, sample_weight=weights)
    assert found.slope_ == pytest.approx(piped.slope_)
    index = np.repeat(np.arange(24), weights.astype(int))
    np.testing.assert_allclose(found.classifier_.theta_, base.fit(bags[index], counts[index]).theta_, atol=1e-2)
    assert abs(found.slope_ - CalibratedBagClassifier(base, cv=3).fit(bags, counts).slope_) > 1e-3
