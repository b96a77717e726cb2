"""What every estimator promises, as functions; `test_contract.py` runs them on all."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import sumwise
from sumwise import Bags, Domain, Margins, Table, Tables
from sumwise.errors import DataError, ModelWarning, NotConverged
from sumwise.estimator import Estimator
from sumwise.fit import Fit
from sumwise.noise import Poisson

FAMILIES = ("ecological", "proportions", "distribution", "collective", "flows", "maxent")
LEVELS = (0.2, 0.5, 0.7)  # of intervals; narrow ones leave out what isn't their estimate
USES = ("predict", "predict_proba", "predict_counts", "posterior", "transform", "score", "interval", "estimate")


@dataclass(frozen=True)
class Case:
    """Data that an estimator is fitted to, and what of it must be reproduced."""

    arguments: tuple  # of fit
    inputs: dict[str, tuple]  # method to its arguments
    by_unit: bool  # whether scikit-learn splits it


def margins_case() -> Case:
    rng = np.random.default_rng(0)
    x, n = rng.uniform(0.1, 0.9, 24), rng.integers(100, 400, 24)
    groups = np.column_stack([np.round(x * n), n - np.round(x * n)])
    yes = rng.binomial(groups[:, 0].astype(int), 0.7) + rng.binomial(groups[:, 1].astype(int), 0.3)
    margins = Margins(groups, np.column_stack([yes, n - yes]))
    inputs = {"interval": (0.9,), "estimate": (0.9,), "score": (margins,), "predict": (margins,)}
    return Case((margins,), inputs, True)


def counts_case() -> Case:
    rng = np.random.default_rng(1)
    parts = [rng.normal(m, 1.0, (int(k), 2)) for m, k in zip(rng.normal(0, 1, 24), rng.integers(3, 12, 24))]
    bags = Bags.from_arrays(parts)
    counts = np.array([(1 / (1 + np.exp(-x[:, 0])) > rng.random(len(x))).sum() for x in parts])
    inputs = dict.fromkeys(("predict", "predict_proba"), (bags.values,))
    inputs |= {"predict_counts": (bags,), "posterior": (bags, counts), "score": (bags, counts), "transform": (bags,)}
    return Case((bags, counts), inputs, True)


def response_case() -> Case:
    rng = np.random.default_rng(2)
    centre = rng.normal(0, 1, 30)
    bags = Bags.from_arrays([rng.normal(m, 1.0, (int(k), 2)) for m, k in zip(centre, rng.integers(5, 15, 30))])
    inputs = dict.fromkeys(("predict", "predict_proba", "transform"), (bags,))
    return Case((bags, centre), {**inputs, "score": (bags, centre)}, True)


def tables_case() -> Case:
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(0, k, 400) for k in (2, 3, 2))
    rows = {"a": a, "b": b, "c": c, "y": (rng.random(400) < 0.2 + 0.3 * a + 0.1 * b).astype(int)}
    tables = Tables.from_frame(rows, ["a", "b", "c"], label="y")
    frame = {name: rows[name] for name in "abc"}
    return Case((tables,), {"predict": (frame,), "predict_proba": (frame,), "score": (frame, rows["y"])}, False)


def labels_case() -> Case:
    case = counts_case()
    bags = case.arguments[0]
    from sumwise.proportions import label_bags

    labels = label_bags(bags, bags.values[:, 0] > np.median(bags.values[:, 0]))
    return Case((bags, labels), case.inputs, True)


def weeks_case() -> Case:
    rng = np.random.default_rng(4)
    domain = Domain(dict.fromkeys(("w0", "w1", "w2"), 3))
    seen = [Table(week, rng.multinomial(300, [0.5, 0.3, 0.2]), noise=Poisson()) for week in domain]
    return Case((Tables(seen, domain, n=300),), {}, False)


def flows_case() -> Case:
    counts = np.random.default_rng(6).poisson(30, (3, 4))
    return Case((counts,), {"interval": ({"at the first place": {0: [1, 0, 0, 0]}},), "forecast": (counts[0],)}, False)


# Estimators that are fitted to something else than their family, by class name.
OWN_CASES: dict[str, Callable[[], Case]] = {
    "Oracle": labels_case,
}
CASES: dict[str, Callable[[], Case]] = {
    "ecological": margins_case,
    "proportions": counts_case,
    "distribution": response_case,
    "maxent": tables_case,
    "collective": weeks_case,
    "flows": flows_case,
}
# Settings that keep the contract quick, by class name; what is promised doesn't depend on them.
QUICK: dict[str, dict[str, Any]] = {
    "BagLogistic": {"target": "classes", "penalty": 0.1},
    "CardinalityNetwork": {"module": (8,), "n_members": 2, "max_epochs": 4},
    "DeepSets": {"network": {"phi": (8,), "rho": (8,)}, "max_epochs": 4},
    "CollectiveEM": {"max_iter": 5},
    "MaxEntClassifier": {"engine": "gibbs", "options": {"n_chains": 200, "max_iter": 60}},
}


def estimators() -> list[type[Estimator]]:
    """Return every public estimator of every family."""
    found = []
    for family in FAMILIES:
        module = importlib.import_module(f"sumwise.{family}")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) and issubclass(thing, Estimator) and not inspect.isabstract(thing):
                found.append(thing)
    return found


def build(kind: type[Estimator]) -> Estimator:
    """Return an estimator with its defaults, seeded, and quick."""
    made = kind(**QUICK.get(kind.__name__, {}))
    return made.set_params(random_state=0) if "random_state" in made.get_params() else made


def fitted(estimator: Estimator, case: Case) -> Estimator:
    """Fit; a warning about convergence on so little data is no matter here."""
    wanted = len(inspect.signature(estimator.fit).parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        warnings.simplefilter("ignore", UserWarning)
        result = estimator.fit(*case.arguments[:wanted])
    assert result is estimator, "fit must return self"
    return estimator


_FITTED: dict[tuple[type[Estimator], int], tuple[Estimator, Case]] = {}


def fitted_once(kind: type[Estimator], case: Case) -> Estimator:
    """An estimator fitted to a case, the same one for every clause that only looks at it."""
    if (kind, id(case)) not in _FITTED:
        _FITTED[kind, id(case)] = fitted(build(kind), case), case  # the case is kept, so that no other gets its id
    return _FITTED[kind, id(case)][0]


def outputs(estimator: Estimator, case: Case) -> dict[str, Any]:
    """Return all that the estimator says: learned arrays and the answers of its methods."""
    said = {k: v for k, v in vars(estimator).items() if k.endswith("_") and isinstance(v, (np.ndarray, float, int))}
    for method, arguments in case.inputs.items():
        if hasattr(estimator, method):
            said[method] = getattr(estimator, method)(*arguments)
    plain = {k: v for k, v in said.items() if isinstance(v, (np.ndarray, float, int, tuple))}
    return {k: [np.asarray(part) for part in (v if isinstance(v, tuple) else (v,))] for k, v in plain.items()}


def same(a: dict[str, list], b: dict[str, list]) -> None:
    assert a.keys() == b.keys()
    assert a, "an estimator that says nothing can't be compared"
    for name, parts in a.items():
        for x, y in zip(parts, b[name], strict=True):
            assert np.array_equal(x, y, equal_nan=x.dtype.kind == "f"), name


def check_parameters(kind: type[Estimator], case: Case, folder: Path) -> None:
    """Parameters are stored untouched, have defaults, and survive clone and set_params."""
    made = build(kind)
    given = made.get_params(deep=False)
    assert not [name for name in vars(made) if name not in given], "__init__ stores parameters and nothing else"
    twin = clone(made)
    assert twin is not made
    assert twin.get_params(deep=False).keys() == given.keys()
    assert made.set_params(**given) is made
    family = kind.__module__.split(".")[1]
    if family == "distribution" and hasattr(made, "predict"):
        assert is_classifier(made) or is_regressor(made), "a bag has a response or a class"
    else:
        assert not is_classifier(made), "units are not classified: stratified splitting makes no sense"


def check_unfitted(kind: type[Estimator], case: Case, folder: Path) -> None:
    """Use before fit raises scikit-learn's NotFittedError."""
    for method in USES:
        if hasattr(build(kind), method):
            with pytest.raises(NotFittedError):
                getattr(build(kind), method)(*case.inputs.get(method, ()))


def check_seed(kind: type[Estimator], case: Case, folder: Path) -> None:
    """The same seed gives the same result, and fitting leaves the parameters alone."""
    other = fitted_once(kind, case)
    assert repr(other.get_params()) == repr(build(kind).get_params())
    before = outputs(other, case)
    same(before, outputs(fitted(build(kind), case), case))
    same(before, outputs(fitted(other, case), case))  # a second fit forgets the first


def check_record(kind: type[Estimator], case: Case, folder: Path) -> None:
    """An iterative fit leaves its record."""
    estimator = fitted_once(kind, case)
    iterative = {"max_iter", "tol", "n_iter", "draws", "options"} & set(estimator.get_params(deep=False))
    if iterative or hasattr(estimator, "fit_"):
        assert isinstance(estimator.fit_, Fit)
        assert isinstance(estimator.fit_.converged, (bool, np.bool_))
        assert estimator.fit_.history, "the history of the objective is part of the record"


def check_splitting(kind: type[Estimator], case: Case, folder: Path) -> None:
    """GridSearchCV, which splits as cross_validate does, works by unit."""
    if not (case.by_unit and hasattr(kind, "score")):
        return
    parameter, value = next(iter(build(kind).get_params(deep=False).items()), (None, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid = {} if parameter is None else {parameter: [value]}
        search = GridSearchCV(build(kind), grid, cv=2, error_score="raise").fit(*case.arguments)
    assert search.best_index_ == 0
    assert np.isfinite([search.cv_results_[f"split{k}_test_score"][0] for k in range(2)]).all()


def check_saving(kind: type[Estimator], case: Case, folder: Path) -> None:
    """Saved and loaded, an estimator says the same to the last bit."""
    estimator = fitted_once(kind, case)
    sumwise.save(estimator, folder / "model.sumwise")
    loaded = sumwise.load(folder / "model.sumwise")
    assert type(loaded) is kind
    assert repr(loaded.get_params()) == repr(estimator.get_params())
    same(outputs(estimator, case), outputs(loaded, case))


def check_declared(kind: type[Estimator], case: Case, folder: Path) -> None:
    """Every learned array has a rule that a loaded model is held to."""
    rules = ";".join(vars(base).get("_learned", "") for base in kind.__mro__)
    declared = {
        part.partition("?")[0].strip() for rule in rules.split(";") for part in rule.partition(":")[0].split(",")
    }
    learned = {name for name, value in vars(fitted_once(kind, case)).items() if isinstance(value, np.ndarray)}
    others = {"penalty_", "reference_"}  # a number, or one for each column; an array, or bags, checked by itself
    assert learned - declared <= others


def shares_with_ends(est: Any, case: Case, level: float) -> tuple:
    return (est.shares_, *est.interval(level))


def units_with_ends(est: Any, case: Case, level: float) -> tuple:
    return (est.unit_shares(case.arguments[0]), *est.unit_interval(case.arguments[0], level))


def predicted_with_ends(est: Any, case: Case, level: float) -> tuple:
    """Of units, rows or bags; a classifier of two classes gives the ends of class 1."""
    data = case.arguments[0].rows if isinstance(case.arguments[0], Margins) else case.inputs["predict"][0]
    predicted = (est.predict_proba if hasattr(est, "predict_proba") else est.predict)(data)
    low, high = est.predict_interval(data, level)
    return predicted[:, 1] if low.ndim < predicted.ndim else predicted, low, high


def table_with_ends(method: str, column: str) -> Callable[[Any, Case, float], tuple]:
    def ends(est: Any, case: Case, level: float) -> tuple:
        table = getattr(est, method)(level)
        return tuple(table[name].to_numpy(float) for name in (column, "low", "high"))

    return ends


HALVES = ([0, 1], [2, 3])  # of the places
# What has an interval: method to the estimate and the ends of its interval at a level.
INTERVALS: dict[str, Callable[[Any, Case, float], tuple]] = {
    "interval": shares_with_ends,
    "unit_interval": units_with_ends,
    "predict_interval": predicted_with_ends,
    "intervals": table_with_ends("intervals", "coefficient"),
    "coefficient_intervals": table_with_ends("coefficient_intervals", "coefficient"),
    "effect_intervals": table_with_ends("effect_intervals", "effect"),
}
DRAWN: dict[str, Callable[[Any, Case], Any]] = {
    "draws": lambda est, case: est.draws(*(() if case.by_unit else case.inputs["interval"])),
    "connectivity_draws": lambda est, case: est.connectivity_draws({"west": HALVES[0], "east": HALVES[1]}, 0, 1),
    "count_draws": lambda est, case: est.count_draws(case.arguments[0], 40),
}


def uncertain(kind: type[Estimator]) -> list[str]:
    """The methods of a class that give intervals or draws, by their names."""
    public = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    return [name for name in public if "interval" in name.split("_") or {"intervals", "draws"} & set(name.split("_"))]


def check_intervals(kind: type[Estimator], case: Case, folder: Path) -> None:
    """An estimate is the mean of its draws and lies in its interval at any level; shares add up in every draw; a loaded
    model says the same."""
    methods = uncertain(kind)
    unknown = set(methods) - {*INTERVALS, *DRAWN}
    assert not unknown, f"intervals without their estimates in this contract: {unknown}"
    if not methods:
        return
    estimator = fitted_once(kind, case)
    if hasattr(estimator, "bootstrap"):
        estimator = fitted(build(kind), case).bootstrap(*case.arguments, n=5, random_state=0)
    sumwise.save(estimator, folder / "model.sumwise")
    loaded = sumwise.load(folder / "model.sumwise")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        for name in methods:
            check_method(estimator, loaded, name, case)


def check_method(estimator: Any, loaded: Any, name: str, case: Case) -> None:
    if name == "draws" and not getattr(estimator, "can_sample", True):
        with pytest.raises(DataError, match="probability"):
            said_of(estimator, name, case)
        return
    said = said_of(estimator, name, case)
    for level, (value, low, high) in said.items():
        undetermined = np.isnan(low) & np.isnan(high)
        inside = (low <= value) & (value <= high) | undetermined
        assert inside.all(), f"{name} at {level}: {(~inside).sum()} of {inside.size} estimates lie outside"
        assert not undetermined.all(), name
    for level, parts in said_of(loaded, name, case).items():
        for one, other in zip(parts, said[level]):
            assert np.array_equal(one, other, equal_nan=True), f"{name} of a loaded model"


def said_of(estimator: Any, name: str, case: Case) -> dict[float, tuple]:
    """Estimates and the ends of their intervals, by level."""
    if name not in DRAWN:
        if "functions" in inspect.signature(getattr(estimator, name)).parameters:
            every = [estimator.interval(*case.inputs["interval"], level) for level in LEVELS]
            return {e.level: (e.values, e.low, e.high) for e in every}
        return {level: INTERVALS[name](estimator, case, level) for level in LEVELS}
    draws = DRAWN[name](estimator, case)
    assert np.allclose(draws.estimate(0.5).values, draws.values.mean(axis=0), rtol=1e-12, equal_nan=True)
    if draws.name in ("share", "count") and len(draws.shape) == 2:  # of everybody, in every draw
        whole = draws.values.sum(axis=-1)
        assert np.allclose(whole, whole[:1], rtol=1e-9), f"{name} do not add up"
    if hasattr(estimator, "shares_"):
        chance = 4 * draws.deviation / np.sqrt(len(draws))  # of draws that are simulated
        assert (np.abs(draws.mean - estimator.shares_) <= chance + 1e-9).all(), "the estimate is not the draws' mean"
    return {level: (draws.mean, *draws.interval(level)) for level in LEVELS}


CHECKS = [check_parameters, check_unfitted, check_seed, check_record, check_splitting, check_saving, check_declared]
CHECKS.append(check_intervals)
