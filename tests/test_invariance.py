"""The same data give the same answer, in any order, under any names, in any dtype and unit: for every estimator."""

import inspect
import warnings

import numpy as np
import pytest

from contract import build, estimators
from invariance import ARRAYS, CHANGES, COLUMNS, DOORS, DTYPES, LEVELS_TOO, answer, of_contests
from sumwise import Bags, Margins, Table
from sumwise.ecological import EcologicalEM
from sumwise.estimator import Estimator
from sumwise.maxent import MaxEntClassifier
from sumwise.proportions import MeanMap

EXACT = 1e-8  # of the largest entry of the answer
LEVELS = ("order of attributes", "order of levels")
# What may differ, by how much of the largest entry of the answer, and why; all else is held to EXACT.
SAMPLED = {
    "King": dict.fromkeys(("order of units", "order of rows"), (0.02, "simulated: draws follow the order")),
    "MultinomialDirichlet": {"order of rows": (0.08, "a chain of draws, which starts from the order of cells")},
    "MaxEntClassifier": dict.fromkeys(LEVELS, (0.03, "200 chains of draws, in the order of attributes and levels")),
    "SampledLogistic": dict.fromkeys(
        (*LEVELS, "order of classes"), (0.3, "its rows are drawn in the order of attributes, levels and classes")
    ),
    "CollectiveEM": {"order of levels": (0.1, "begins with draws, which decide what the tables leave open")},
    "FlowModel": {"order of places": (0.03, "draws of movement follow the order of places")},
}
# .06, .03 and .01 with three seeds; exact engines give 1e-7, 20,000 chains .001
SAMPLED["MaxEntClassifier"]["order of classes"] = (0.1, "200 chains of draws for 60 steps, which do not converge")
SAMPLED["MultinomialDirichlet"]["order of units"] = (0.03, "draws of units that are equal follow their order")
SAMPLED["King"]["order of columns"] = SAMPLED["King"]["order of rows"]
SAMPLED["MultinomialDirichlet"]["order of columns"] = SAMPLED["MultinomialDirichlet"]["order of rows"]
MERGED = {"Bounds", "Goodman"}  # whose answer depends on equal units only by their sum
OUTSIDE = {
    "Oracle": "is fitted to the labels of individuals",
    "OnInstances": "carries a transformer of scikit-learn",
}
SLOW = {"BagStacking", "CardinalityClassifier", "CardinalityNetwork", "King", "MultinomialDirichlet", "BagLogistic"}
SLOW |= {"FlowModel", "MaxEntClassifier", "DeepSets"}  # seconds each


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
    if name not in MERGED:
        changes.pop("equal units merged", None)
    limits = {change: limit for change, (limit, _) in SAMPLED.get(name, {}).items()}
    moved = differences(kind, base, changes)
    wrong = {change: by for change, by in moved.items() if not by <= limits.get(change, EXACT)}
    assert not wrong, wrong


def test_swapped_classes_change_no_exact_fit_from_tables():
    base, changes = cases(MaxEntClassifier)
    swapped = changes["order of classes"]
    plain, other = (MaxEntClassifier(engine="exact").fit(c.arguments[0]) for c in (base, swapped))
    there = swapped.back(answer(other, swapped.asked))
    np.testing.assert_allclose(there, answer(plain, base.asked), atol=1e-5)


@pytest.mark.parametrize("name", DOORS)
def test_frames_are_read_the_same_in_any_dtype(name):
    frame, made_of = DOORS[name]
    plain = np.asarray(made_of(frame))
    for kind, change in COLUMNS.items():
        if kind != "decimal" or name not in LEVELS_TOO:
            assert np.array_equal(np.asarray(made_of(frame.apply(change))), plain), kind


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_are_read_the_same_in_any_dtype(dtype):
    change, counts = DTYPES[dtype], np.arange(24).reshape(12, 2)
    margins = Margins(change(counts), change(counts[:, ::-1]))
    assert np.array_equal(margins.rows, counts)
    assert np.array_equal(margins.cols, counts[:, ::-1])
    if dtype in ARRAYS:
        assert np.array_equal(Bags.from_arrays([change(counts)]).values, counts)
        table = Table(["a", "b"], change(counts + 24), change(counts))
        assert np.array_equal(table.counts, counts + 24)
        assert np.array_equal(table.label_sums, counts)


@pytest.mark.filterwarnings("ignore::sumwise.errors.ModelWarning")
@pytest.mark.parametrize("round_to", [0, 3])  # 0: most distances between means of bags are tied
def test_a_laplacian_mean_map_does_not_depend_on_order_or_units(round_to):
    rng = np.random.default_rng(3)
    parts = [rng.normal(size=(size, 2)).round(round_to) for size in range(3, 12)]
    counts, order = np.array([size // 3 for size in range(3, 12)]), rng.permutation(9)
    rows = np.vstack(parts)

    def shares(given, y, asked):
        return MeanMap(laplacian=True).fit(Bags.from_arrays(given), y).predict_proba(asked)

    base = shares(parts, counts, rows)
    assert np.abs(shares([parts[i] for i in order], counts[order], rows) - base).max() < EXACT
    assert np.abs(shares([p[:, ::-1] * 1e-6 for p in parts], counts, rows[:, ::-1] * 1e-6) - base).max() < EXACT
    assert np.abs(shares([p * [1e-3, 1e3] for p in parts], counts, rows * [1e-3, 1e3]) - base).max() < EXACT


def test_contests_in_any_order_and_under_any_names():
    base, changes = of_contests()
    moved = differences(EcologicalEM, base, changes)
    assert {name: by for name, by in moved.items() if not by <= EXACT} == {}


@pytest.mark.parametrize("kind", [kind for kind in estimators() if kind.__name__ in SAMPLED], ids=lambda k: k.__name__)
def test_what_depends_on_an_order_says_so(kind):
    assert "order of" in inspect.getdoc(kind)


def test_every_estimator_has_changes_or_a_reason():
    assert {kind.__name__ for kind in estimators() if cases(kind) is None} <= set(OUTSIDE)


class OrderMatters(Estimator):
    """An estimator whose answer depends on which unit comes last."""

    def fit(self, margins, y=None):
        self.cells_ = np.tile(margins.rows[-1, 0], (len(margins), 2, 2))
        return self

    def interval(self, _level):
        return np.zeros((2, 2)), np.ones((2, 2))


def test_a_dependence_on_order_is_seen():
    base, changes = CHANGES["King"]()
    assert differences(OrderMatters, base, changes)["order of units"] > EXACT
