"""The election by region (Sun 2019, section 4.3.3), linear against sigmoid, and shares of subgroups (Lemus, 5.2.2).

Principal components and fixed embeddings are learned from the rows of all regions, once; trials differ in which
regions' shares the regression sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from sumwise import Bags, synthetic
from sumwise.distribution import (
    BagKernelRidge,
    BagLogistic,
    BagOfWords,
    BagRidge,
    DeepSets,
    EmbeddingKernel,
    FisherVector,
    FourierEmbedding,
    LinearEmbedding,
)
from sumwise.proportions import CardinalityClassifier

from .cells import Cell
from .methods import Vectors, as_bags, quietly

__all__ = ["ATTRIBUTES", "dimension_cells", "election_cells", "subgroups_cells"]

ATTRIBUTES = ("sex", "race", "education")
WIDE = {"n_continuous": 18, "n_categorical": 60}
NETWORKS = {"DeepSets": "regression", "DeepSets, sigmoid": "share"}


def election_cells(options: Any) -> Iterator[Cell]:
    """Explained variance and error on 30% of the regions, ten trials, rows reduced to 100 components."""
    rows, trials = (500, 10) if options.full else (60, 2)
    for regions in (840, 979):
        for trial in range(trials):
            for name in (*_methods(), *NETWORKS):
                key = {"regions": regions, "rows": rows, "trial": trial, "method": name}
                yield Cell("election", key, lambda k=key: _trial(k, options), name in NETWORKS)


def dimension_cells(options: Any) -> Iterator[Cell]:
    """The same with fewer components (H3): does the Fisher vector gain on the others when there are few columns?"""
    rows, trials = (500, 10) if options.full else (60, 2)
    for components in (5, 20, 100):
        for trial in range(trials):
            for name in EMBEDDINGS:
                key = {"regions": 979, "rows": rows, "components": components, "trial": trial, "method": name}
                yield Cell("dimension", key, lambda k=key: _trial(k, options))


def subgroups_cells(options: Any) -> Iterator[Cell]:
    """Shares of D by sex, race and education over all 979 regions, learned from the regions' shares."""
    rows = 500 if options.full else 60
    yield Cell("subgroups", {"rows": rows, "method": "truth"}, lambda: {**_truth(rows), "seconds": 0.0})
    for name in ("means", "means, sigmoid", "marginal kernel", "Fourier", "Fourier, sigmoid", "LLP", *NETWORKS):
        key = {"rows": rows, "method": name}
        yield Cell("subgroups", key, lambda k=key: _shares(k, options.device), name in NETWORKS)


EMBEDDINGS: dict[str, Any] = {
    "means": LinearEmbedding(),
    "Fourier": FourierEmbedding(256, (1.0,), random_state=0),
    "BOW": BagOfWords(200, random_state=0),
    "Fisher": FisherVector(20, random_state=0),
}


def _methods() -> dict[str, tuple[str, Any]]:
    """The embedding of each method, and what learns from its vectors."""
    made: dict[str, tuple[str, Any]] = {name: (name, BagRidge(Vectors())) for name in EMBEDDINGS}
    for name in EMBEDDINGS:
        kernel = EmbeddingKernel(Vectors())
        made[f"{name}, Gaussian kernel"] = name, BagKernelRidge(kernel, random_state=0)
    for name in ("means", "Fourier"):
        made[f"{name}, sigmoid"] = name, BagLogistic(Vectors(), target="proportions", random_state=0)
    return made


@lru_cache(maxsize=1)
def _draw(regions: int, rows: int) -> tuple[Any, np.ndarray, Bags, float]:
    """The election, the share of D by region, the bags reduced to 100 components, and their share of the variance."""
    data = synthetic.election(regions, rows, dtype="float32", random_state=regions, n_test=1, **WIDE)
    return data, data.totals[:, 1] / data.totals.sum(axis=1), *_reduced(data.bags, 100)


def _reduced(bags: Bags, dimension: int) -> tuple[Bags, float]:
    """The leading principal components of the weighted, scaled rows."""
    centre = np.average(bags.values, axis=0, weights=bags.weights)
    scale = np.maximum(np.asarray(bags.values).std(axis=0, dtype=np.float64), 1e-9)
    product = np.zeros((len(centre), len(centre)))
    steps = range(0, bags.n_rows, 2**15)
    for k in steps:
        x = (bags.values[k : k + 2**15] - centre) / scale
        product += (x * bags.weights[k : k + 2**15, None]).T @ x
    values, vectors = np.linalg.eigh(product)
    kept = vectors[:, -dimension:]
    rows = np.vstack([((bags.values[k : k + 2**15] - centre) / scale @ kept).astype(np.float32) for k in steps])
    return bags.with_values(rows), float(values[-dimension:].sum() / values.sum())


@lru_cache(maxsize=2 * len(EMBEDDINGS))
def _vectors(regions: int, rows: int, name: str, components: int, folder: Path) -> dict[str, Any]:
    """Vectors of all regions and the seconds that they took, with shares and facts of the draw; kept in a file."""
    path = folder / f"election-{regions}-{rows}-{components}-{name}.npz"
    if not path.exists():
        data, y, bags, kept = _draw(regions, rows)
        if components < bags.n_features:
            bags = bags.with_values(np.ascontiguousarray(bags.values[:, -components:]))  # the leading ones come last
        made: Any = clone(EMBEDDINGS[name])
        vectors, spent = quietly(lambda: made.fit_transform(bags))
        folder.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".part.npz")
        np.savez(half, vectors=vectors, y=y, kept=kept, columns=data.bags.n_features, seconds=spent)
        half.replace(path)
    with np.load(path) as found:
        return dict(found)


def _trial(key: dict, options: Any) -> dict:
    name, where = key["method"], "cpu"
    if name in NETWORKS:
        data, y, bags, kept = _draw(key["regions"], key["rows"])
        model, where = _network(name, key["trial"], options.device), options.device
        facts = {"y": y, "kept": kept, "columns": data.bags.n_features, "seconds": 0.0}
    else:
        vectors, model = _methods()[name]
        facts = _vectors(key["regions"], key["rows"], vectors, key.get("components", 100), options.folder)
        y, bags = facts["y"], as_bags(facts["vectors"])
    order = np.random.default_rng(key["trial"]).permutation(len(y))
    cut = round(0.7 * len(y))
    rest, held = np.sort(order[:cut]), np.sort(order[cut:])
    said, spent = quietly(lambda: model.fit(bags[rest], y[rest]).predict(bags[held]), where)
    wrong = y[held] - said
    return {
        "mse": float(np.mean(wrong**2)),
        "explained": float(1 - wrong.var() / y[held].var()),
        "mean_share": float(np.mean((y[held] - y[rest].mean()) ** 2)),
        "kept": float(facts["kept"]),
        "columns": int(facts["columns"]),
        "seconds": float(facts["seconds"]) + spent,
        "device": where,
    }


def _network(name: str, seed: int, device: str) -> DeepSets:
    return DeepSets(task=NETWORKS[name], device=device, random_state=seed)


def _truth(rows: int) -> dict:
    data, out = _draw(979, rows)[0], {}
    for attribute in ATTRIBUTES:
        frame = data.shares(attribute)
        out |= {f"{attribute}: {level}": float(d) for level, d in zip(frame[attribute], frame["D"])}
    return out


def _shares(key: dict, device: str) -> dict:
    """Predict every region's part of a subgroup, and average by people."""
    data = _draw(979, key["rows"])[0]
    where = device if key["method"] in NETWORKS else "cpu"
    predict, spent = quietly(lambda: _learned(key, device), where)
    out = {}
    for attribute in ATTRIBUTES:
        for code, level in enumerate(data.levels[attribute]):
            mask = data.codes[attribute] == code
            out[f"{attribute}: {level}"] = quietly(lambda m=mask: predict(m))[0]
    return {**out, "seconds": spent, "device": where}


def _learned(key: dict, device: str) -> Any:
    """Return a function from rows to the share of D among the people behind them."""
    data, y, bags, _ = _draw(979, key["rows"])
    name = key["method"]
    if name == "LLP":
        return _individuals(data, bags)
    given = _coded(data) if name == "marginal kernel" else bags
    if name in NETWORKS:
        model: Any = _network(name, 0, device).fit(given, y)
    elif name == "marginal kernel":
        model = BagRidge(FourierEmbedding(8, (1.0,), marginal=True), random_state=0).fit(given, y)
    else:
        vectors, model = _methods()[name]
        model.set_params(embedding=clone(EMBEDDINGS[vectors])).fit(given, y)
    return lambda mask: _by_region(model, given.subset(mask))


def _by_region(model: Any, part: Bags) -> float:
    there = part.drop_empty()
    people = np.add.reduceat(there.weights, there.offsets[:-1])
    return float(np.average(model.predict(there), weights=people))


def _coded(data: Any) -> Bags:
    """The raw columns: covariates as numbers, attributes as codes with levels."""
    n = WIDE["n_continuous"]
    values = np.column_stack([data.bags.values[:, :n], *data.codes.values()])
    names = [*data.bags.features[:n], *data.codes]
    return Bags(values, data.bags.offsets, weights=data.bags.weights, features=names, levels=dict(data.levels))


def _individuals(data: Any, bags: Bags) -> Any:
    """Learning with label proportions: a classifier of individuals, averaged over the members of a subgroup."""
    model = CardinalityClassifier().fit(bags, data.counts[:, 1])
    chances = model.predict_proba(bags.values)[:, 1]
    return lambda mask: float(np.average(chances[mask], weights=bags.weights[mask]))
