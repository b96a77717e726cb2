"""Memory: what work will take is foreseen within a factor of three, and refused with the number where it won't fit."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sumwise import Bags, DataError, Domain, Table, Tables, memory, synthetic
from sumwise.aggregate import aggregate
from sumwise.collective import CollectiveEM, FreeTables, GraphModel, TreeModel, map_counts
from sumwise.distribution import (
    BagGaussianProcess,
    BagKernelRidge,
    BagRidge,
    EmbeddingKernel,
    FourierEmbedding,
    MomentEmbedding,
)
from sumwise.ecological import EcologicalEM, King, MultinomialDirichlet
from sumwise.estimator import Estimator
from sumwise.noise import Poisson
from sumwise.proportions import CardinalityClassifier

FACTOR = 3.0  # between what is foreseen and what is taken


def bags(n):
    rng = np.random.default_rng(0)
    return Bags(rng.normal(size=(5 * n, 2)) + np.repeat(rng.normal(size=(n, 2)), 5, axis=0), np.arange(0, 5 * n + 1, 5))


def compared(estimator, **options) -> Callable[[], Any]:
    given, response = bags(700), np.random.default_rng(1).normal(size=700)
    kernel = EmbeddingKernel(MomentEmbedding())
    return lambda: estimator(kernel, widths=(1.0,), random_state=0, **options).fit(given, response)


def counted(domain):
    rng = np.random.default_rng(0)
    tables = [Table(a, rng.poisson(50, domain[a]).astype(float), noise=Poisson()) for a in domain]
    return Tables(tables, domain, n=50 * domain.shape[0])


def junction_tree():
    domain = Domain(dict.fromkeys("abcd", 60))
    square = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    return domain, GraphModel(domain, square)


def solved() -> Callable[[], Any]:
    domain, model = junction_tree()
    return lambda: map_counts(model, counted(domain))


def precincts(estimator, n, **options) -> Callable[[], Any]:
    margins = synthetic.precincts(n, n_rows=2, n_cols=2, random_state=0).margins
    return lambda: estimator(random_state=0, **options).fit(margins)


def classified(n, **options) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    given, counts = Bags(rng.normal(size=(50 * n, 10)), np.arange(0, 50 * n + 1, 50)), rng.integers(10, 40, n)
    return lambda: CardinalityClassifier(max_iter=2, **options).fit(given, counts)


def regressed() -> Callable[[], Any]:
    given, response = bags(700), np.random.default_rng(1).normal(size=700)
    return lambda: BagRidge(FourierEmbedding(300, random_state=0)).fit(given, response)


def learned() -> Callable[[], Any]:
    tables = counted(Domain({"t0": 200, "t1": 200}))
    return lambda: CollectiveEM(FreeTables(), max_iter=1, e_iter=5).fit(tables)


WORK = {
    "kernel ridge": lambda: compared(BagKernelRidge, n_tuning=700),
    "kernel ridge, landmarks": lambda: compared(BagKernelRidge, n_tuning=50, max_bags=100, n_landmarks=500),
    "Gaussian process": lambda: compared(BagGaussianProcess, n_tuning=700),
    "Gaussian process, inducing bags": lambda: compared(BagGaussianProcess, n_tuning=50, max_bags=100, n_inducing=150),
    "junction tree": lambda: junction_tree,
    "map_counts": solved,
    "free tables": learned,
    "ecological EM": lambda: precincts(EcologicalEM, 9_000, max_iter=3),
    "King": lambda: precincts(King, 90, n_draws=1500, max_iter=3),
    "multinomial Dirichlet": lambda: precincts(MultinomialDirichlet, 1_500, n_draws=20, max_draws=20, thin=1),
    "bags with counts": lambda: classified(2_000, penalty=1.0),
    "bags with counts, penalty chosen": lambda: classified(240),
    "features of bags": regressed,
}


@pytest.mark.parametrize("name", WORK)
@pytest.mark.filterwarnings("ignore:Stopped after")
def test_what_work_takes_is_foreseen_and_what_does_not_fit_is_refused(name, monkeypatch):
    work = WORK[name]()
    work()  # compiles, which takes memory too
    tracemalloc.start()
    try:
        kept = work()
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del kept
    real = memory.available_bytes
    monkeypatch.setattr(memory, "available_bytes", lambda: 0)
    with pytest.raises(DataError, match=r"would take about .* are free. Most is .* Hint: ") as refused:
        work()
    foreseen = float(re.search(r"about ([\d,]+) MiB", str(refused.value))[1].replace(",", "")) * 2**20
    print(name, foreseen / taken)
    assert taken / FACTOR < foreseen < FACTOR * taken, (taken, foreseen)
    assert real() > 2**20


def test_a_dense_model_of_many_states_is_refused_before_it_is_made():
    domain = Domain({"t0": 1_000_000, "t1": 1_000_000})
    with pytest.raises(DataError, match=r"dense edges would take about 22,351.7 GiB .*1,000,000,000,000 cells.*sparse"):
        TreeModel(domain, [("t0", "t1")])


def test_counting_is_refused_under_a_small_limit(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    rows = {"a": np.arange(400), "b": np.arange(400)}
    with pytest.raises(DataError, match=r"Counting the 1 tables would take about 6 MiB of memory, and 1 MiB are free"):
        aggregate(rows, ["a", "b"])


def test_running_out_of_memory_is_said_in_one_line():
    class Large(Estimator):
        def fit(self, data):
            if data == "numpy":
                np.empty(2**50)
            raise MemoryError

    with pytest.raises(DataError, match=r"Large ran out of memory: 8.00 PiB more were asked for. Hint: "):
        Large().fit("numpy")
    with pytest.raises(DataError, match=r"Large ran out of memory. Hint: "):
        Large().fit("python")


def test_counting_and_models_without_a_fit_say_so_in_one_line(monkeypatch):
    def full(*given, **options):
        raise MemoryError

    monkeypatch.setattr("sumwise.aggregate.rows_to_tables.Counter", full)
    with pytest.raises(DataError, match=r"Counting ran out of memory. Hint: "):
        aggregate({"a": [0, 1], "b": [1, 1]}, ["a", "b"])
    monkeypatch.setattr("sumwise.collective.tree_model.DenseEdge", full)
    with pytest.raises(DataError, match=r"TreeModel ran out of memory. Hint: "):
        TreeModel(Domain({"t0": 2, "t1": 2}), [("t0", "t1")])


def test_sizes_in_words():
    assert memory.in_words(2**29 - 1) == "512 MiB"
    assert memory.in_words(2**29) == "0.5 GiB"
    assert memory.available_bytes() > 2**20
