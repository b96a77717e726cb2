"""Memory: what work will take is foreseen within a factor of three, and refused with the number where it won't fit."""

from __future__ import annotations

import re
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sumwise import Bags, DataError, Domain, Table, Tables, memory, synthetic
from sumwise.aggregate import aggregate
from sumwise.collective import (
    CollectiveEM,
    FreeTables,
    GraphModel,
    Movement,
    Places,
    TreeModel,
    map_counts,
    process_counts,
    sample_counts,
    smooth_counts,
)
from sumwise.collective.flow_problem import FlowProblem
from sumwise.distribution import (
    BagGaussianProcess,
    BagKernelRidge,
    BagRidge,
    DeepSets,
    EmbeddingKernel,
    FourierEmbedding,
    MomentEmbedding,
)
from sumwise.ecological import Bounds, EcologicalEM, Goodman, King, MultinomialDirichlet
from sumwise.estimator import Estimator
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables, SolverOptions
from sumwise.noise import Gaussian, Poisson
from sumwise.proportions import (
    AggregateRegressor,
    CardinalityClassifier,
    CardinalityNetwork,
    MeanMap,
    MixBag,
    ProportionLossNetwork,
)

SOLVER = sys.modules["sumwise.collective.map_counts"]  # the module, which has the name of its function
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
    seed = {"random_state": 0} if "random_state" in estimator().get_params() else {}
    return lambda: estimator(**seed, **options).fit(margins)


def classified(n, **options) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    given, counts = Bags(rng.normal(size=(50 * n, 10)), np.arange(0, 50 * n + 1, 50)), rng.integers(10, 40, n)
    return lambda: CardinalityClassifier(max_iter=2, **options).fit(given, counts)


def regressed() -> Callable[[], Any]:
    given, response = bags(700), np.random.default_rng(1).normal(size=700)
    return lambda: BagRidge(FourierEmbedding(300, random_state=0)).fit(given, response)


def counted_frame() -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    rows = {"a": rng.integers(0, 300, 20_000), "b": rng.integers(0, 300, 20_000), "y": rng.integers(0, 2, 20_000)}
    return lambda: Tables.from_frame(rows, ["a", "b"], label="y")


def naive_bayes() -> Callable[[], Any]:
    tables = counted_frame()()
    return lambda: NaiveBayesTables().fit(tables)


def maximum_entropy() -> Callable[[], Any]:
    tables = synthetic.rows(2_000, sizes=[300, 300], rate=0.3, random_state=0).tables()
    options = SolverOptions(n_chains=1_000, max_iter=2, tol=0.0)
    return lambda: MaxEntClassifier(engine="gibbs", options=options, random_state=0).fit(tables)


def flows() -> Callable[[], Any]:
    places, weeks = Places.grid(40, 40, reach=1.5), 20
    seen = np.random.default_rng(0).poisson(50.0, (weeks, len(places))).astype(float)
    moves, n = places.moves(), 50.0 * len(places)
    return lambda: FlowProblem(places, moves, seen, Gaussian(7.0), n, tol=1e-2).solve(Movement(1, 1))


def levels_of_members(use: str) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    rows = {"bag": np.repeat(np.arange(100), 20), "c": rng.integers(0, 90, 2_000).astype(str)}
    given, counts = Bags.from_frame(rows, "bag", ["c"]), rng.integers(1, 19, 100)
    fitted = MeanMap(penalty=1.0).fit(given, counts)
    return {"fit": lambda: MeanMap(penalty=1.0).fit(given, counts), "use": lambda: fitted.predict_proba(given)}[use]


def embedded() -> Callable[[], Any]:
    given = bags(700)
    embedding = FourierEmbedding(300, random_state=0).fit(given)
    return lambda: embedding.transform(given)


def similarities() -> Callable[[], Any]:
    given = bags(600)
    kernel = EmbeddingKernel(MomentEmbedding()).fit(given)
    return lambda: kernel.gram(given)


def learned() -> Callable[[], Any]:
    tables = counted(Domain({"t0": 200, "t1": 200}))
    return lambda: CollectiveEM(FreeTables(), max_iter=1, e_iter=5).fit(tables)


def sampled() -> Callable[[], Any]:
    season = synthetic.birds(6, 3, 200, random_state=0)
    model = TreeModel(season.domain, season.edges, season.log_potentials)
    return lambda: sample_counts(model, season.tables, draws=200, method="paths", burn_in=0, random_state=0)


def smoothed(function) -> Callable[[], Any]:
    season = synthetic.birds(9 if function is smooth_counts else 13, 3, 5_000, random_state=0)
    lengths = {"time_length": 1.0, "space_length": 2.0}
    if function is process_counts:
        model = TreeModel(season.domain, season.edges)
        return lambda: process_counts(model, season.tables, season.positions, max_iter=1, tol=1e9, **lengths)
    seen = np.array([season.tables[t].counts for t in season.domain])
    return lambda: smooth_counts(seen, season.positions, noise=0.25, draws=10, **lengths)


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
    "vectors of bags": embedded,
    "similarities": similarities,
    "bounds": lambda: precincts(Bounds, 3_000),
    "Goodman": lambda: precincts(Goodman, 3_000),
    "members with levels": lambda: levels_of_members("fit"),
    "chances of members with levels": lambda: levels_of_members("use"),
    "tables of a frame": counted_frame,
    "naive Bayes": naive_bayes,
    "maximum entropy": maximum_entropy,
    "flows": flows,
    "draws of counts": sampled,
    "field and counts": lambda: smoothed(process_counts),
    "smooth field": lambda: smoothed(smooth_counts),
}

NETWORKS = {
    "CardinalityNetwork": lambda given, y: CardinalityNetwork().fit(given, y),
    "ProportionLossNetwork": lambda given, y: ProportionLossNetwork().fit(given, y),
    "MixBag": lambda given, y: MixBag().fit(given, y),
    "AggregateRegressor": lambda given, y: AggregateRegressor(hidden=(64,)).fit(given, y),
    "DeepSets": lambda given, y: DeepSets().fit(given, y),
}


SLOW = {"smooth field"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(w, marks=pytest.mark.check) if w in SLOW else w for w in WORK])
@pytest.mark.filterwarnings("ignore:Stopped after", "ignore:The chains disagree")
def test_what_work_takes_is_foreseen_and_what_does_not_fit_is_refused(name, monkeypatch):
    monkeypatch.setattr(SOLVER, "SMALL", 0)
    work, free = WORK[name](), Unlimited("inf")
    work()  # compiles, which takes memory too
    monkeypatch.setattr(memory, "available_bytes", lambda: free)
    tracemalloc.start()
    try:
        kept = work()
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del kept
    print(name, free.most / taken)
    assert taken / FACTOR < free.most < FACTOR * taken
    monkeypatch.setattr(memory, "available_bytes", lambda: int(free.most) - 1)
    size = re.escape(memory.in_words(free.most))
    with pytest.raises(DataError, match=rf"would take about {size} of memory, and .* are free. Most is .* Hint: "):
        work()


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_that_do_not_fit_are_refused_before_they_are_made(name, monkeypatch):
    """What they take is in benchmarks/results/growth.json: tracemalloc doesn't see torch's arrays."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    monkeypatch.setattr("torch.Generator", None)  # nothing is drawn
    given, y = bags(2_000), np.random.default_rng(0).integers(1, 5, 2_000)
    with pytest.raises(DataError, match=rf"{name} would take about \d+ MiB of memory, and 1 MiB are free. Most is \d"):
        NETWORKS[name](given, y)


class Unlimited(float):
    """Free memory without end, which keeps the largest size that is compared with it."""

    most = 0.0

    def __lt__(self, n_bytes):
        self.most = max(self.most, float(n_bytes))
        return False


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


@pytest.mark.parametrize(
    ("said", "size"),
    [
        (
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8589934592 bytes. Error code 12",
            "8.0 GiB",
        ),
        ("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 139.72 GiB", "20.00 GiB"),
    ],
)
def test_so_does_running_out_of_torchs_memory(said, size):
    def fit(self, data):
        raise RuntimeError(said if data == "large" else "shapes don't match")

    model = type("Large", (Estimator,), {"fit": fit})()
    with pytest.raises(DataError, match=rf"Large ran out of memory: {size} more were asked for. Hint: "):
        model.fit("large")
    with pytest.raises(RuntimeError, match="shapes"):
        model.fit("small")


@pytest.mark.parametrize("name", ["predict", "predict_proba", "transform", "partial_fit", "score"])
def test_so_does_every_use_of_a_model(name):
    def use(self, data):
        np.empty(2**50)

    with pytest.raises(DataError, match=r"Large ran out of memory: 8.00 PiB more were asked for. Hint: "):
        getattr(type("Large", (Estimator,), {name: use})(), name)(None)


def test_counting_and_models_without_a_fit_say_so_in_one_line(monkeypatch):
    def full(*given, **options):
        raise MemoryError

    monkeypatch.setattr("sumwise.aggregate.rows_to_tables.Counter", full)
    with pytest.raises(DataError, match=r"Counting ran out of memory. Hint: "):
        aggregate({"a": [0, 1], "b": [1, 1]}, ["a", "b"])
    domain, model = junction_tree()
    monkeypatch.setattr(SOLVER, "observe", full)
    with pytest.raises(DataError, match=r"map_counts ran out of memory. Hint: "):
        map_counts(model, counted(domain))
    monkeypatch.setattr("sumwise.collective.tree_model.DenseEdge", full)
    with pytest.raises(DataError, match=r"TreeModel ran out of memory. Hint: "):
        TreeModel(Domain({"t0": 2, "t1": 2}), [("t0", "t1")])


def test_sizes_in_words():
    assert memory.in_words(2**29 - 1) == "512 MiB"
    assert memory.in_words(2**29) == "0.5 GiB"
    assert memory.available_bytes() > 2**20
