"""The bag bootstrap: spread, resumption, any method, rare classes."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sumwise import Bags
from sumwise.errors import DataError, NotConverged
from sumwise.proportions import (
    CardinalityClassifier,
    MeanEmbeddingClassifier,
    MeanMap,
    bootstrap,
    covariance,
    on_instances,
)


def people(n_bags=80, size=8, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    labels = values[:, 0] - values[:, 1] + rng.logistic(size=len(values)) > 0
    return Bags(values, np.arange(0, len(values) + 1, size)), labels.reshape(n_bags, size).sum(axis=1)


def test_spread_is_that_of_the_information():
    bags, counts = people(200)
    clf = CardinalityClassifier(penalty=0.1).fit(bags, counts)
    found = bootstrap(clf, bags, counts, n=60)
    np.testing.assert_allclose(found.standard_errors, covariance(clf, bags, counts).standard_errors, rtol=0.35)
    assert found.matrix.shape == (3, 3)


def test_the_chosen_penalty_is_kept():
    bags, counts = people()
    clf = CardinalityClassifier().fit(bags, counts)
    found = bootstrap(clf, bags, counts, n=2)
    assert all(np.array_equal(m.penalty_, clf.penalty_) and m.penalty_search_ is None for m in found.fitted)
    assert clf.penalty == "auto"
    three = np.column_stack([counts, (8 - counts) // 2, 8 - counts - (8 - counts) // 2])
    rest = CardinalityClassifier(multiclass="ovr").fit(bags, three)
    again = bootstrap(rest, bags, three, n=2).fitted[0]
    np.testing.assert_array_equal(np.stack(again.penalty_), np.stack(rest.penalty_))


def test_any_method_and_pipelines_are_taken():
    bags, counts = people()
    model = make_pipeline(on_instances(StandardScaler()), MeanEmbeddingClassifier()).fit(bags, counts)
    found = bootstrap(model, bags, counts, n=3)
    assert found.coefficients.shape == (3, 1, 3)
    assert len(list(found.models())) == 3


def test_an_interrupted_bootstrap_goes_on_to_the_same(tmp_path, monkeypatch):
    from sumwise.proportions import bootstrap as function

    module = __import__("sys").modules[function.__module__]
    bags, counts = people()
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    whole = function(clf, bags, counts, n=6)
    original, calls = module._refit, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(module, "_refit", interrupted)
    monkeypatch.setattr(module.Checkpoint, "due", lambda self, step: self.path is not None)
    with pytest.raises(KeyboardInterrupt):
        function(clf, bags, counts, n=6, checkpoint=tmp_path / "b")
    monkeypatch.setattr(module, "_refit", original)
    resumed = function(clf, bags, counts, n=6, checkpoint=tmp_path / "b")
    np.testing.assert_array_equal(resumed.coefficients, whole.coefficients)
    assert not (tmp_path / "b").exists()


def test_refits_that_stop_early_are_counted():
    bags, counts = people()
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts).set_params(max_iter=1, tol=1e-12)
    with pytest.warns(NotConverged, match="3 of 3 refits"):
        assert bootstrap(clf, bags, counts, n=3).n_stopped == 3


def test_a_rare_class_is_never_lost():
    bags, counts = people(10)
    three = np.column_stack([counts, 8 - counts, np.zeros(10, int)])
    three[0] = [4, 3, 1]
    clf = CardinalityClassifier(penalty=1.0, multiclass="ovr").fit(bags, three)
    assert len(bootstrap(clf, bags, three, n=8).fitted) == 8


def test_bad_numbers_are_refused():
    bags, counts = people(10)
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    with pytest.raises(DataError, match="n is 1"):
        bootstrap(clf, bags, counts, n=1)
    with pytest.raises(DataError, match="Lengths differ"):
        bootstrap(clf, bags, counts[:5])


def test_a_gap_that_few_bags_have_is_in_every_draw():
    bags, counts = people(12)
    values = bags.values.copy()
    values[3, 1] = np.nan
    bags = Bags(values, bags.offsets)
    clf = CardinalityClassifier(penalty=np.ones(3)).fit(bags, counts)
    assert all(np.size(m.coef_) == 3 for m in bootstrap(clf, bags, counts, n=6).fitted)


def test_samples_that_a_method_refuses_are_drawn_anew():
    bags = Bags.from_arrays([[[0.0], [0.2]], [[1.0], [1.3]], [[2.0], [2.5]]])
    model = MeanMap(penalty=1.0).fit(bags, [0, 1, 2])  # a sample of one bag thrice has one share: not identified
    assert len(bootstrap(model, bags, [0, 1, 2], n=20).fitted) == 20
