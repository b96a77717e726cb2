import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from sumwise.estimator import Estimator


class Thing(Estimator):
    def __init__(self, size=1, random_state=None):
        self.size = size
        self.random_state = random_state

    def fit(self, x):
        self.twice_ = 2 * self.size
        return self

    def predict(self):
        return self._fitted().twice_


def test_parameters_clone_and_change():
    thing = Thing(size=3)
    assert clone(thing).get_params() == {"size": 3, "random_state": None}
    assert thing.set_params(size=4).size == 4
    assert not is_classifier(thing)


def test_unfitted_use_is_scikit_learn_s_error():
    with pytest.raises(NotFittedError):
        Thing().predict()
    assert Thing(2).fit(None).predict() == 4
