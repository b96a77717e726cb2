"""Arrays that free memory doesn't hold are refused before they are allocated, with their shape and what to do."""

import numpy as np
import pytest
from scipy import sparse

from messages import raises
from sumwise import Bags, DataError, Domain, Tables, checks, synthetic
from sumwise.collective import FreeTables, GraphModel, LoopyModel, TreeModel, smooth_counts
from sumwise.distribution import BagKernelRidge, FourierEmbedding
from sumwise.ecological import King


def bags(n=40):
    return Bags(np.random.default_rng(0).normal(size=(2 * n, 2)), np.arange(0, 2 * n + 1, 2))


SQUARE = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
WORK = {
    "The model": lambda: TreeModel(Domain({"a": 50, "b": 50}), [("a", "b")]),
    "The junction tree": lambda: GraphModel(Domain(dict.fromkeys("abcd", 20)), SQUARE),
    "The graph": lambda: LoopyModel(Domain(dict.fromkeys("abcd", 20)), SQUARE),
    "Free tables": lambda: FreeTables().check(type("Data", (), {"domain": Domain({"a": 50, "b": 50}), "n_states": 50})),
    "smooth_counts": lambda: smooth_counts(np.ones((4, 9)), np.random.default_rng(0).normal(size=(9, 2)), draws=200),
    "King": lambda: King().fit(synthetic.precincts(20, n_rows=2, n_cols=2, random_state=0).margins),
    "The kernel matrix": lambda: BagKernelRidge(widths=(1.0,), random_state=0).fit(bags(), np.arange(40.0)),
    "FourierEmbedding": lambda: FourierEmbedding(100, random_state=0).fit(bags()).transform(bags()),
    "Counting": lambda: Tables.from_frame({"a": np.arange(2000), "b": np.arange(2000)}, ["a", "b"]),
    "The sparse matrix": lambda: checks.dense(sparse.eye_array(2000)),
}


@pytest.mark.filterwarnings("ignore::sumwise.errors.ModelWarning")
@pytest.mark.parametrize("what", WORK)
def test_what_does_not_fit_is_refused_by_name(what, monkeypatch):
    WORK[what]()
    monkeypatch.setattr(checks, "free_memory", lambda: 2**13)
    with raises(DataError, "needs-memory-free", what, "0.0 GiB"):
        WORK[what]()


def test_an_array_of_a_million_by_a_million_is_refused_on_any_machine():
    domain = Domain({"t0": 1_000_000, "t1": 1_000_000})
    with raises(DataError, "needs-memory-free-potentials", "7,450.6 GiB", "GiB", "1,000,000"):
        TreeModel(domain, [("t0", "t1")])


def test_the_least_of_all_limits_counts(monkeypatch):
    for name, free in (("_free_of_system", 3 * 2**30), ("_free_of_container", 2**30), ("_free_of_process", None)):
        monkeypatch.setattr(checks, name, lambda free=free: free)
    assert checks.free_memory() == 2**30
    checks.allocation("It", (2**27,), hint="none.")
    with raises(DataError, "needs-memory-free", "It", "1.0 GiB"):
        checks.allocation("It", (2**27 + 1,), hint="none.")
