"""What is computed for every golden answer: a key, and a function that returns numbers by name."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from golden import inputs
from golden.from_files import estimates_from_file, outcome_of_reading
from sumwise import Bags, Contests, Domain, Margins, Table, Tables
from sumwise.noise import Laplace, Poisson

CASES: dict[str, Callable[[], dict[str, Any]]] = {}
SIDES = {"rows": ["white", "black", "hispanic"], "cols": ["garcia", "oneil", "abstain"], "unit": "precinct"}


def case(key: str) -> Callable:
    """Register what is computed for a key."""

    def register(function: Callable) -> Callable:
        CASES[key] = function
        return function

    return register


def answer(key: str) -> dict[str, Any]:
    """The numbers of a case, as lists; warnings are part of what others test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: plain(value) for name, value in CASES[key]().items()}


def plain(value: Any) -> Any:
    """Numbers as JSON has them; NaN as null."""
    if isinstance(value, str | bool | dict):
        return value
    array = np.asarray(value, dtype=float)
    return np.where(np.isfinite(array), array.astype(object), None).tolist()


# --- ecological


def _cells(model: Any, level: float = 0.9) -> dict[str, Any]:
    low, high = model.interval(level)
    return {"total": model.total_, "shares": model.shares_, "low": low, "high": high, "first units": model.cells_[:3]}


def _ecological(name: str, **options: Any) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        from sumwise import ecological

        model = getattr(ecological, name)(**options)
        return _cells(model.fit(Margins.from_frame(inputs.votes(), **SIDES)))

    return compute


case("ecological/goodman")(_ecological("Goodman"))
case("ecological/em")(_ecological("EcologicalEM"))
case("ecological/em-classic")(_ecological("EcologicalEM", method="multinomial"))
case("ecological/multinomial-dirichlet")(_ecological("MultinomialDirichlet", random_state=0))


@case("ecological/bounds")
def bounds():
    from sumwise.ecological import Bounds

    model = Bounds().fit(Margins.from_frame(inputs.votes(), **SIDES))
    return {"low": model.lower_bound_, "high": model.upper_bound_}


@case("ecological/king")
def king():
    from sumwise.ecological import King

    margins = Margins.from_frame(inputs.two_by_two(), rows=["young", "old"], cols=["yes", "no"], unit="precinct")
    return _cells(King(random_state=0).fit(margins))


@case("ecological/pooled")
def pooled():
    from sumwise.ecological import EcologicalEM

    contests = {f"contest {k}": Margins.from_frame(inputs.votes(14, seed=k), **SIDES) for k in (10, 11, 12)}
    model = EcologicalEM().fit(Contests(contests))
    return {name: model[name].shares_ for name in contests}


# --- proportions


def _proportions(name: str, **options: Any) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        from sumwise import proportions

        rows, counts = inputs.people()
        bags = Bags.from_frame(rows, bag="district", features=["age", "income"])
        model = getattr(proportions, name)(**options).fit(bags, counts.yes.to_numpy())
        grid = np.array([[-1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [1.5, -1.5]])
        return {"probabilities": model.predict_proba(grid)[:, 1], "counts": model.predict_counts(bags)[:5]}

    return compute


for _name in ("CardinalityClassifier", "MeanEmbeddingClassifier", "MeanMap", "AlternatingMeanMap"):
    case(f"proportions/{_name}")(_proportions(_name))
case("proportions/CardinalityClassifier-given-penalty")(_proportions("CardinalityClassifier", penalty=1.0))


@case("proportions/posterior")
def posterior():
    from sumwise.proportions import CardinalityClassifier

    rows, counts = inputs.people()
    bags = Bags.from_frame(rows, bag="district", features=["age", "income"])
    yes = counts.yes.to_numpy()
    return {"posterior": CardinalityClassifier(penalty=1.0).fit(bags, yes).posterior(bags, yes)[:10, 1]}


# --- distribution


def _distribution(build: Callable[[Any], Any]) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        from sumwise import distribution

        frame, response = inputs.samples()
        bags = Bags.from_frame(frame, bag="site", features=["depth", "salt"])
        model = build(distribution).fit(bags[:30], response[:30])
        return {"predicted": model.predict(bags[30:]), "score": model.score(bags[30:], response[30:])}

    return compute


REGRESSORS: dict[str, Callable[[Any], Any]] = {
    "fourier": lambda d: d.BagRidge(embedding=d.FourierEmbedding(random_state=0)),
    "moments": lambda d: d.BagRidge(embedding=d.MomentEmbedding()),
    "quantiles": lambda d: d.BagRidge(embedding=d.QuantileEmbedding()),
    "words": lambda d: d.BagRidge(embedding=d.BagOfWords(random_state=0)),
    "fisher": lambda d: d.BagRidge(embedding=d.FisherVector(random_state=0)),
    "gaussian-kernel": lambda d: d.BagKernelRidge(kernel=d.GaussianKernel(random_state=0)),
    "marginal-kernel": lambda d: d.BagKernelRidge(kernel=d.MarginalKernel()),
    "wasserstein-kernel": lambda d: d.BagKernelRidge(kernel=d.WassersteinKernel()),
    "pyramid-kernel": lambda d: d.BagKernelRidge(kernel=d.PyramidMatchKernel()),
}
for _name, _build in REGRESSORS.items():
    case(f"distribution/{_name}")(_distribution(_build))


@case("distribution/gaussian-process")
def gaussian_process():
    from sumwise.distribution import BagGaussianProcess

    frame, response = inputs.samples()
    bags = Bags.from_frame(frame, bag="site", features=["depth", "salt"])
    model = BagGaussianProcess(random_state=0).fit(bags[:30], response[:30])
    mean, sd = model.predict(bags[30:], return_std=True)
    return {"mean": mean, "sd": sd}


# --- collective


def _chain() -> tuple[Any, Tables]:
    from sumwise.collective import TreeModel

    counts, _, places = inputs.weeks()
    names = [f"t{k}" for k in range(len(counts))]
    domain = Domain(dict.fromkeys(names, counts.shape[1]))
    here = places[["lon", "lat"]].to_numpy()
    log_step = -1.2 * np.sqrt(((here[:, None] - here) ** 2).sum(axis=2))
    edges = list(pairwise(names))
    tables = Tables([Table(t, y, noise=Poisson()) for t, y in zip(names, counts)], domain, n=900)
    return TreeModel(domain, edges, dict.fromkeys(edges, log_step)), tables


def _flows(method: str) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        from sumwise.collective import map_counts

        model, tables = _chain()
        fit = map_counts(model, tables, method=method)
        return {"node": fit.nodes["t1"], "flows": fit.edges["t1", "t2"]}

    return compute


for _name in ("dual", "nlbp", "generic", "gaussian"):
    case(f"collective/{_name}")(_flows(_name))


@case("collective/exact")
def exact():
    from sumwise.collective import TreeModel, map_counts

    domain = Domain({"a": 2, "b": 2, "c": 2})
    edges = [("a", "b"), ("b", "c")]
    model = TreeModel(domain, edges, {edge: [[1.0, 0.0], [0.0, 1.0]] for edge in edges})
    fit = map_counts(model, Tables([Table("a", [4, 2]), Table("c", [1, 5])], domain, n=6), method="exact")
    return {"first": fit.edges["a", "b"], "second": fit.edges["b", "c"]}


@case("collective/posterior")
def counts_posterior():
    from sumwise.collective import sample_counts

    model, tables = _chain()
    sample = sample_counts(model, tables, draws=200, random_state=0)
    interval = sample.node_interval("t1", 0.9)
    return {"low": interval.low, "high": interval.high}


@case("collective/log-linear")
def log_linear():
    from sumwise.collective import CollectiveEM, LogLinear

    _, tables = _chain()
    _, _, places = inputs.weeks()
    here = places[["lon", "lat"]].to_numpy()
    distance = np.sqrt(((here[:, None] - here) ** 2).sum(axis=2))
    north = here[None, :, 1] - here[:, None, 1]
    features = np.broadcast_to(np.stack([-distance, north], axis=-1), (4, 9, 9, 2))
    return {"theta": CollectiveEM(LogLinear(features)).fit(tables).theta_}


@case("collective/flow-model")
def flow_model():
    from sumwise.flows import FlowModel, Places

    _, frame, places = inputs.weeks()
    model = FlowModel(Places(lon=places.lon, lat=places.lat, names=places.cell))
    model.fit(frame, time="week", place="cell", count="count")
    return {"transitions": model.transitions(2, 3)}


@case("collective/flow-model-laplace")
def flow_model_laplace():
    from sumwise.flows import FlowModel, Places

    counts, _, places = inputs.weeks()
    noise = np.random.default_rng(0).laplace(0, 5, counts.shape)
    model = FlowModel(Places(lon=places.lon, lat=places.lat), noise=Laplace(5.0)).fit(counts + noise)
    return {"transitions": model.transitions(model.times_[1], model.times_[2])}


# --- maxent


def _tables() -> Tables:
    return Tables.from_frame(inputs.rows(), ["region", "income", "married"], label="bought", order=2)


def _maxent(name: str, **options: Any) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        from sumwise import maxent

        model = getattr(maxent, name)(**options).fit(_tables())
        return {"probabilities": model.predict_proba(inputs.rows(12, seed=9).drop(columns="bought"))[:, 1]}

    return compute


for _name in ("NaiveBayesTables", "BestPair"):
    case(f"maxent/{_name}")(_maxent(_name))
case("maxent/MaxEntClassifier")(_maxent("MaxEntClassifier", random_state=0))


@case("maxent/xor")
def xor():
    from sumwise.maxent import MaxEntClassifier

    cells = np.array([[a, b] for a in (0, 1) for b in (0, 1) for _ in range(200)])
    label = cells[:, 0] ^ cells[:, 1]
    tables = Tables.from_frame({"a": cells[:, 0], "b": cells[:, 1], "y": label}, ["a", "b"], label="y", order=2)
    four = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
    return {"labels": MaxEntClassifier(random_state=0).fit(tables).predict(four)}


# --- ways in


@case("ways-in/aggregate")
def aggregated():
    from sumwise.aggregate import aggregate

    tables = aggregate(inputs.rows(), ["region", "income", "married"], label="bought", order=2)
    return {" x ".join(t.attributes): [t.counts.ravel(), t.label_sums.ravel()] for t in tables}


# --- from file to report, and hostile files


def _written(folder: Path, **frames: Any) -> list[Path]:
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return [folder / f"{name}.csv" for name in frames]


def _people() -> dict[str, Any]:
    people, results = inputs.people()
    return {"people": people, "results": results}


FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "ecological": lambda: {"votes": inputs.votes()},
    "proportions": _people,
    "distribution": lambda: dict(zip(("samples", "sites"), inputs.sites())),
    "maxent": lambda: {"cells": inputs.cells()},
    "flows": lambda: {"weeks": inputs.weeks()[1]},
}


def _from_file(name: str) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        with TemporaryDirectory() as folder:
            return estimates_from_file(_written(Path(folder), **FILES[name]()), Path(folder))

    return compute


def _hostile(source: Path) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        with TemporaryDirectory() as folder:
            shutil.copytree(source, folder, dirs_exist_ok=True)
            names = sorted(path.name for path in source.iterdir())
            return outcome_of_reading([Path(folder) / name for name in names], Path(folder))

    return compute


for _name in FILES:
    case(f"from-file/{_name}")(_from_file(_name))
for _source in sorted((Path(__file__).parent / "hostile").iterdir()):
    case(f"hostile/{_source.name}")(_hostile(_source))
