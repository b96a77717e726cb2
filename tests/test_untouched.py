"""No function changes its caller's problem: containers, arrays, options and dictionaries are as they were after a call.

Every estimator is fitted and used on data of its family, and the solvers of counts run; what was given to `fit` and to
each public function of a kernel package on the way is compared before and after.
"""

import dataclasses
import sys
import threading
import types
import warnings

import numpy as np
import pytest
from scipy import sparse

from collective_cases import random_tree
from contract import CASES, OWN_CASES, build, estimators, fitted, outputs
from sumwise import Table, Tables
from sumwise.collective import map_counts
from sumwise.collective.map_counts import GRADIENT
from sumwise.noise import Poisson

# Samplers that move the chains they are given, as their docstrings say; all else that they are given must stay.
STATES = {"sample_chain": ("tables", "alpha"), "sweep_halves": ("chains",)}
PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.FunctionType, types.ModuleType)
DEEPEST = 6


def arrays(thing, depth=0) -> list:
    """All arrays and plain values that a thing holds, in a fixed order."""
    if isinstance(thing, np.ndarray):
        return (
            [thing] if thing.dtype != object else [part for item in thing.ravel() for part in arrays(item, depth + 1)]
        )
    if sparse.issparse(thing):
        return [thing.data]
    if isinstance(thing, PLAIN) or depth > DEEPEST:
        return [thing] if isinstance(thing, (str, int, float, bool)) else []
    if isinstance(thing, dict):
        return [part for key, value in thing.items() for part in (str(key), *arrays(value, depth + 1))]
    if isinstance(thing, (list, tuple)):
        return [part for value in thing for part in arrays(value, depth + 1)]
    if dataclasses.is_dataclass(thing):
        return [part for f in dataclasses.fields(thing) for part in arrays(getattr(thing, f.name, None), depth + 1)]
    if type(thing).__module__.startswith("sumwise") and hasattr(type(thing), "__slots__"):
        return [part for name in type(thing).__slots__ for part in arrays(getattr(thing, name, None), depth + 1)]
    return []


def snapshot(thing) -> list:
    return [a.tobytes() if isinstance(a, np.ndarray) else a for a in arrays(thing)]


def _kernel(frame) -> bool:
    return frame is not None and "/kernels/" in frame.f_code.co_filename and "sumwise" in frame.f_code.co_filename


class Watch:
    """Compares what public functions of kernel packages are given from outside, before and after each call.

    Kernels may share work arrays among themselves. A function that returns nothing is there to write into what it is
    given, and its docstring says so.
    """

    def __init__(self):
        self.open: dict[int, tuple] = {}
        self.seen: set[str] = set()
        self.changed: set[str] = set()

    def __call__(self, frame, event, result):
        code = frame.f_code
        if event == "call" and _kernel(frame) and not _kernel(frame.f_back):
            if code.co_name.startswith(("_", "<")) or code.co_argcount == 0:
                return
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if names[0] == "self":  # a method changes its own state at most
                return
            given = [frame.f_locals.get(name) for name in names if name not in STATES.get(code.co_name, ())]
            given = [getattr(value, "problem", value) for value in given]  # of a `Run`, the course of one method
            self.open[id(frame)] = given, snapshot(given)
        elif event == "return" and id(frame) in self.open:
            given, before = self.open.pop(id(frame))
            name = f"{code.co_filename.split('sumwise/')[-1]}:{code.co_name}"
            self.seen.add(name)
            if result is not None and snapshot(given) != before:
                self.changed.add(name)

    def __enter__(self):
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.check
@pytest.mark.parametrize("kind", estimators(), ids=lambda k: f"{k.__module__.split('.')[1]}.{k.__name__}")
def test_a_fit_leaves_its_data_as_they_were(kind):
    case = (OWN_CASES.get(kind.__name__) or CASES[kind.__module__.split(".")[1]])()
    made = build(kind)
    parameters = snapshot(made.get_params())
    before = snapshot([case.arguments, case.inputs])
    assert any(isinstance(part, bytes) for part in before)
    with Watch() as watch:
        outputs(fitted(made, case), case)
    assert snapshot([case.arguments, case.inputs]) == before
    assert snapshot(made.get_params()) == parameters
    assert not watch.changed


@pytest.mark.parametrize("method", ["dual", *GRADIENT, "generic", "gaussian", "exact"])
def test_solvers_of_counts_leave_the_problem_as_it_was(method):
    model = random_tree(1, nodes=3, levels=3)
    rng = np.random.default_rng(0)
    shares = dict(zip(model.domain, model.domain.shape))
    seen = [Table(a, rng.poisson(4, size).astype(float), noise=Poisson()) for a, size in shares.items()]
    tables = Tables(seen, model.domain, n=8)
    before = snapshot([model.log_potentials, [t.counts for t in tables]])
    with Watch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        map_counts(model, tables, method=method)
    assert snapshot([model.log_potentials, [t.counts for t in tables]]) == before
    assert watch.seen
    assert not watch.changed


def test_the_watch_sees_a_function_that_changes_what_it_is_given(tmp_path, monkeypatch):
    folder = tmp_path / "sumwise" / "kernels"
    folder.mkdir(parents=True)
    (folder / "careless.py").write_text("def scaled(problem):\n    problem['x'] *= 2.0\n    return problem['x']\n")
    monkeypatch.syspath_prepend(str(folder))
    import careless  # pyright: ignore[reportMissingImports]

    with Watch() as watch:
        careless.scaled({"x": np.ones(3)})
    assert watch.changed == {"kernels/careless.py:scaled"}
