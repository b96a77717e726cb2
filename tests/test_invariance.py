"""The same data give the same answer, in any order, under any names, in any dtype and unit: for every estimator."""

import inspect
import warnings

import numpy as np
import pytest

from contract import build, estimators
from invariance import CHANGES, answer
from sumwise.estimator import Estimator

EXACT = 1e-8  # of the largest entry of the answer
LEVELS = ("order of attributes", "order of levels")
# What may differ, by how much of the largest entry of the answer, and why; all else is held to EXACT.
SAMPLED = {
    "King": dict.fromkeys(("order of units", "order of rows"), (0.02, "simulated: draws follow the order")),
    "MultinomialDirichlet": {"order of rows": (0.08, "a chain of draws, which starts from the order of cells")},
    "MaxEntClassifier": dict.fromkeys(LEVELS, (0.03, "200 chains of draws, in the order of attributes and levels")),
    "SampledLogistic": dict.fromkeys(LEVELS, (0.3, "its rows are drawn in the order of attributes and levels")),
    "FlowModel": {"order of places": (0.03, "draws of movement follow the order of places")},
}
SAMPLED["King"]["order of columns"] = SAMPLED["King"]["order of rows"]
SAMPLED["MultinomialDirichlet"]["order of columns"] = SAMPLED["MultinomialDirichlet"]["order of rows"]
# Defects: an answer that depends on what it must not depend on. An entry that no longer fails is an error here, too.
DEFECTS: dict[str, dict[str, str]] = {}
OUTSIDE = {
    "Oracle": "is fitted to the labels of individuals",
    "OnInstances": "carries a transformer of scikit-learn",
    "AggregateRegressor": "its target is a sum, not counts of classes",
}
SLOW = {"BagStacking", "CardinalityClassifier", "CardinalityNetwork", "King", "MultinomialDirichlet", "BagLogistic"}
SLOW |= {"FlowModel"}  # seconds each


def cases(kind):
    """The data of an estimator and their changes; None where the contract lists it as outside."""
    for key in (kind.__name__, kind.__module__.split(".")[1]):
        if key in CHANGES and kind.__name__ not in OUTSIDE:
            return CHANGES[key]()
    return None


def run(kind, change):
    estimator = build(kind)
    n_arguments = len(inspect.signature(estimator.fit).parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return change.back(answer(estimator.fit(*change.arguments[:n_arguments]), change.asked))


def differences(kind, base, changes):
    """How far each change moves the answer, as a share of its largest entry."""
    said = run(kind, base)
    scale = max(np.abs(said).max(), 1e-300)
    return {name: float(np.abs(run(kind, change) - said).max() / scale) for name, change in changes.items()}


def checked(kind):
    mark = pytest.mark.check if kind.__name__ in SLOW else ()
    return pytest.param(kind, marks=mark, id=f"{kind.__module__.split('.')[1]}.{kind.__name__}")


@pytest.mark.parametrize("kind", [checked(kind) for kind in estimators() if cases(kind)])
def test_answers_depend_on_the_data_alone(kind):
    base, changes = cases(kind)
    name = kind.__name__
    limits = {change: limit for change, (limit, _) in SAMPLED.get(name, {}).items()}
    moved = differences(kind, base, changes)
    wrong = {change: by for change, by in moved.items() if not by <= limits.get(change, EXACT)}
    assert wrong.keys() == DEFECTS.get(name, {}).keys(), wrong


def test_every_estimator_has_changes_or_a_reason():
    assert {kind.__name__ for kind in estimators() if cases(kind) is None} <= set(OUTSIDE)


class OrderMatters(Estimator):
    """An estimator whose answer depends on which unit comes first."""

    def fit(self, margins, y=None):
        self.cells_ = np.tile(margins.rows[0, 0], (len(margins), 2, 2))
        return self


def test_a_dependence_on_order_is_seen():
    base, changes = CHANGES["ecological"]()
    assert differences(OrderMatters, base, changes)["order of units"] > EXACT
