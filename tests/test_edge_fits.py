"""At the edges an estimator gives finite numbers within bounds, or one of our errors; errors and warnings say why.

Estimators are those that the families export, so a new one is tried too.
"""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from contract import build, estimators
from sumwise import Bags, Domain, Margins, Table, Tables
from sumwise.errors import MissingExtra, ModelWarning, SumwiseError
from sumwise.noise import Poisson
from sumwise.proportions import label_bags

RNG = np.random.default_rng(0)
ROWS = RNG.integers(20, 200, (12, 2)).astype(float)
YES = np.round(0.7 * ROWS[:, 0] + 0.2 * ROWS[:, 1])
VALUES = RNG.normal(size=(8, 10, 2))
COUNTS = (VALUES[:, :, 0] > 0).sum(1)
SEEN = RNG.poisson(30, (3, 4))


def margins() -> dict:
    edges = {
        "one unit": (ROWS[:1], YES[:1]),
        "one class": (ROWS, ROWS.sum(1)),
        "all zeros": (np.zeros((5, 2)), np.zeros(5)),
        "some empty units": (np.where(np.arange(12)[:, None] < 3, 0, ROWS), np.where(np.arange(12) < 3, 0, YES)),
        "1e15 counts": (ROWS * 1e13, YES * 1e13),
        "constant rows": (np.full((12, 2), 50.0), np.arange(12) + 40.0),
        "separable": (np.array([[100.0, 0], [0, 100]] * 6), np.array([100.0, 0] * 6)),
        "an empty group": (np.stack([ROWS[:, 0], np.zeros(12)], 1), np.round(0.5 * ROWS[:, 0])),
        "duplicated groups": (ROWS[:, [0, 0, 1]], np.round(ROWS @ [1.0, 0.2])),
        "duplicated units": (np.repeat(ROWS[:3], 4, axis=0), np.repeat(YES[:3], 4)),
    }
    return {k: (lambda r=r, y=y: (Margins(r, np.stack([y, r.sum(1) - y], 1)),)) for k, (r, y) in edges.items()}


def bags() -> dict:
    edges = {
        "one bag": (VALUES[:1], COUNTS[:1]),
        "one class": (VALUES, np.full(8, 10)),
        "no class": (VALUES, np.zeros(8, int)),
        "constant column": (np.concatenate([VALUES, np.ones((8, 10, 1))], 2), COUNTS),
        "only constants": (np.ones((8, 10, 2)), COUNTS),
        "all zeros": (np.zeros((8, 10, 2)), np.zeros(8, int)),
        "duplicated columns": (np.concatenate([VALUES, VALUES], 2), COUNTS),
        "duplicated bags": (np.repeat(VALUES[:1], 8, axis=0), np.repeat(COUNTS[:1], 8)),
        "separable": (np.sign(VALUES) * 100, COUNTS),
        "1e15 values": (VALUES * 1e15, COUNTS),
        "bags of one": (VALUES.reshape(80, 1, 2)[:40], (VALUES[:, :, 0] > 0).astype(int).ravel()[:40]),
    }
    return {k: (lambda x=x, y=y: (Bags.from_arrays(list(x)), y)) for k, (x, y) in edges.items()}


def tables() -> dict:
    frame = pd.DataFrame(RNG.integers(0, 2, (60, 2)), columns=["a", "b"])
    label = (frame["a"] ^ (RNG.random(60) < 0.2)).astype(int)
    edges = {
        "one class": frame.assign(y=1),
        "constant column": frame.assign(c=0, y=label),
        "duplicated columns": frame.assign(c=frame["a"], y=label),
        "separable": frame.assign(y=frame["a"]),
        "one row": frame[:1].assign(y=1),
        "no weight": frame.assign(y=label, w=0.0),
        "1e15 counts": frame.assign(y=label, w=1e13),
    }

    def made(rows):
        names = [c for c in rows if c not in ("y", "w")]
        return Tables.from_frame(rows, names, label="y", weight="w" if "w" in rows else None), rows[names], rows

    return {k: (lambda rows=rows: made(rows)) for k, rows in edges.items()}


def weeks() -> dict:
    edges = {
        "one place": SEEN.sum(1, keepdims=True),
        "all in one place": SEEN * [1, 0, 0, 0],
        "all zeros": SEEN * 0,
        "a week of zeros": SEEN * [[1], [0], [1]],
        "1e15 counts": SEEN * 10**13,
        "constant": np.full((3, 4), 30),
        "two weeks": SEEN[:2],
        "one week": SEEN[:1],
    }
    return {k: (lambda counts=counts: (counts,)) for k, counts in edges.items()}


FAMILIES = {
    "ecological": margins(),
    "proportions": bags(),
    "distribution": bags(),
    "maxent": tables(),
    "collective": weeks(),
    "flows": weeks(),
}


CAUSES = {
    "one unit": "single unit",
    "one bag": "[Oo]ne bag|1 bags?",
    "one class": "[Cc]lass|same mean response",
    "no class": "[Cc]lass|same mean response",
    "one row": "[Cc]lass",
    "all zeros": "empty|constant|no member|of the class|same mean response|Nothing was counted",
    "an empty group": "has nobody",
    "only constants": "constant|no member|overall shares",
    "constant column": "constant",
    "constant rows": "same row shares",
    "duplicated groups": "not identifiable",
    "duplicated bags": "same|copies|rank|class|overall shares",
    "bags of one": "more than one row",
    "no weight": "empty|never occurs",
    "1e15 counts": r"e\+1[456] (people|rows|individuals)|sums to|range from 990(,000){4}",
    "a week of zeros": "sums to 0|range from 0 ",
    "one week": "one time|1 week",
}
"""What a refusal or a warning of the model has to say at an edge; that a fit stopped early is no such warning."""


FEW = "five parameters for every two groups"
"""In King's warning of fewer than 30 units, which is true of every edge here."""


def arguments(kind, given: tuple) -> tuple:
    """What `fit` of this estimator takes, from the data of its family."""
    name, family = kind.__name__, kind.__module__.split(".")[1]
    if family == "maxent":
        return given[:1]
    if family == "distribution":
        return given[0], given[1] > np.median(given[1]) if name == "BagLogistic" else given[1].astype(float)
    if name == "Oracle":
        return given[0], label_bags(given[0], given[0].values[:, 0] > 0)
    if name == "AggregateRegressor":
        return given[0], given[1].astype(float)
    if name == "CollectiveEM":
        domain = Domain({f"w{i}": given[0].shape[1] for i in range(len(given[0]))})
        seen = [Table(week, counts, noise=Poisson()) for week, counts in zip(domain, given[0])]
        return (Tables(seen, domain, n=max(given[0].sum(1).max(), 1)),)
    return given[: len(inspect.signature(kind.fit).parameters) - 1]


def answers(model, given: tuple) -> dict[str, np.ndarray]:
    """What a fitted model says of the data that it was fitted to; what it learned, if it says nothing."""
    family = type(model).__module__.split(".")[1]
    if family == "ecological":
        return {"interval": np.array(model.interval(0.9)), "total": model.total_}
    inputs = {"predict_proba": given[1] if family == "maxent" else given[0], "transform": given[0]}
    if family == "proportions":
        inputs = {"predict_proba": given[0].values, "predict_counts": given[0], "transform": given[0]}
    if not hasattr(model, "predict_proba"):
        inputs["predict"] = (
            given[1] if family == "maxent" else given[0][0] if family in ("collective", "flows") else given[0]
        )
    found = {name: getattr(model, name)(x) for name, x in inputs.items() if hasattr(model, name)}
    learned = {k: v for k, v in vars(model).items() if k.endswith("_") and isinstance(v, (np.ndarray, float))}
    found = {k: np.asarray(v.values if isinstance(v, Bags) else v) for k, v in (found or learned).items()}
    assert found, "an estimator that says nothing can't be judged"
    return {k: v for k, v in found.items() if v.dtype.kind in "fiu"}


def bounds(kind, name: str) -> tuple[float, float]:
    """Where a number of this name lies."""
    if name == "predict_proba" or (name == "interval" and kind.__name__ != "Goodman"):  # whose line may leave 0 to 1
        return 0, 1
    return (0, np.inf) if name in ("total", "predict_counts") else (-np.inf, np.inf)


def verdict(kind, make, cause: str = "....") -> str:
    """What an estimator made of data at the edge: "numbers", "refused", or what is wrong with its answer."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given = make()
            found = answers(build(kind).fit(*arguments(kind, given)), given)
        except MissingExtra:
            raise
        except SumwiseError as error:
            return "refused" if re.search(cause, str(error)) else f"an error that doesn't name the cause: {error!r}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    said = [str(w.message) for w in caught if issubclass(w.category, ModelWarning) and FEW not in str(w.message)]
    if said and not re.search(cause, " ".join(said)):
        return f"warnings that don't name the cause: {said}"
    for name, numbers in found.items():
        low, high = bounds(kind, name)
        if not np.isfinite(numbers).all():
            return f"{name} has {np.sum(~np.isfinite(numbers))} numbers that are not finite"
        if ((numbers < low - 1e-9) | (numbers > high + 1e-9)).any():
            return f"{name} leaves {low} to {high}: {numbers.min()} to {numbers.max()}"
    return "numbers"


@pytest.mark.parametrize("kind", estimators(), ids=lambda k: f"{k.__module__.split('.')[1]}.{k.__name__}")
def test_edges_give_numbers_or_name_the_cause(kind):
    edges = FAMILIES[kind.__module__.split(".")[1]]
    found = {edge: verdict(kind, make, CAUSES.get(edge, "....")) for edge, make in edges.items()}
    assert not {edge: words for edge, words in found.items() if words not in ("numbers", "refused")}
    assert "numbers" in found.values()  # else nothing was judged


class Silent:
    """An estimator that answers with what it was told to."""

    __module__ = "sumwise.distribution.silent"

    def __init__(self, numbers=(), random_state=0):
        self.numbers = numbers

    def get_params(self):
        return {}

    def fit(self, bags, y):
        return self

    def predict(self, bags):
        return np.array(self.numbers)


@pytest.mark.parametrize(("numbers", "words"), [([1.0, np.nan], "predict has 1 numbers"), ([1.0], "numbers")])
def test_a_silent_number_is_found(numbers, words):
    kind = type("Kind", (Silent,), {"__init__": lambda self: Silent.__init__(self, numbers)})
    found = verdict(kind, FAMILIES["distribution"]["one class"])
    assert found.startswith(words)


def test_words_without_the_cause_are_found():
    class Vague(Silent):
        def fit(self, bags, y):
            warnings.warn("Take care of this fit.", ModelWarning, stacklevel=1)
            return self

    edge = FAMILIES["distribution"]["one class"]
    assert verdict(Vague, edge, CAUSES["one class"]).startswith("warnings that don't name the cause")

    class Curt(Silent):
        def fit(self, bags, y):
            raise SumwiseError("This can't be done.")

    assert verdict(Curt, edge, CAUSES["one class"]).startswith("an error that doesn't name the cause")
