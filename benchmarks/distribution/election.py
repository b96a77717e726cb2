"""The election by region (Sun 2019, section 4.3.3), linear against sigmoid, and shares of subgroups (Lemus, 5.2.2).

Principal components and fixed embeddings are learned from the rows of all regions, once; trials differ in which
regions' shares the regression sees.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
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
MARGINAL = "marginal kernel"


def election_cells(options: Any) -> Iterator[Cell]:
    """Explained variance and error on 30% of the regions, ten trials, rows reduced to 100 components."""
    rows, trials = (500, 10) if options.full else (60, 2)
    for regions in (840, 979):
        for trial in range(trials):
            for name in (*_methods(), MARGINAL, *NETWORKS):
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
    """Shares of D by sex, race and education over all 979 regions, learned from the regions' shares; ten elections."""
    rows, draws = (500, 10) if options.full else (60, 1)
    names = ("truth", "means", "means, sigmoid", MARGINAL, "Fourier", "Fourier, sigmoid", "LLP", *NETWORKS)
    for seed, name in product(range(draws), names):
        key = {"rows": rows, "method": name} | ({"seed": seed} if seed else {})
        yield Cell("subgroups", key, lambda k=key: _shares(k, options), name in NETWORKS)


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


@dataclass(frozen=True)
class Drawn:
    """An election as the experiments need it."""

    bags: Bags  # rows reduced to 100 components
    y: np.ndarray  # share of D by region
    counts: np.ndarray  # rows that voted D by region
    covariates: np.ndarray  # (n_rows, 18) as drawn
    codes: dict[str, np.ndarray]
    levels: dict[str, tuple]
    truth: dict[str, float]  # share of D by subgroup
    kept: float  # share of the variance in the components
    columns: int  # before they were reduced


@lru_cache(maxsize=1)
def _draw(regions: int, rows: int, folder: Path, seed: int = 0) -> Drawn:
    """Draw an election, or read it from the file where it was kept."""
    path = folder / f"election-{regions}-{rows}{f'-draw{seed}' if seed else ''}.npz"
    if not path.exists():
        data = synthetic.election(regions, rows, dtype="float32", random_state=regions + 1000 * seed, n_test=1, **WIDE)
        bags, kept = _reduced(data.bags, 100)
        truth = {f"{a}: {level}": float(d) for a in ATTRIBUTES for level, d in data.shares(a)[[a, "D"]].to_numpy()}
        folder.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".part.npz")
        np.savez(
            half, values=bags.values, offsets=bags.offsets, weights=bags.weights, counts=data.counts[:, 1],
            y=data.totals[:, 1] / data.totals.sum(axis=1), covariates=data.bags.values[:, : WIDE["n_continuous"]],
            codes=np.array(list(data.codes.values()), dtype=np.int8),
            facts=json.dumps([data.levels, truth, kept, data.bags.n_features]),
        )  # fmt: skip
        half.replace(path)
    with np.load(path) as found:
        levels, truth, kept, columns = json.loads(str(found["facts"]))
        bags = Bags(found["values"], found["offsets"], weights=found["weights"])
        codes = dict(zip(levels, found["codes"]))
        facts = {k: found[k] for k in ("y", "counts", "covariates")}
    return Drawn(bags, codes=codes, levels=levels, truth=truth, kept=kept, columns=columns, **facts)


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
        data = _draw(regions, rows, folder)
        bags = data.bags
        if components < bags.n_features:
            bags = bags.with_values(np.ascontiguousarray(bags.values[:, -components:]))  # the leading ones come last
        made: Any = clone(EMBEDDINGS[name])
        vectors, spent = quietly(lambda: made.fit_transform(bags))
        folder.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".part.npz")
        np.savez(half, vectors=vectors, y=data.y, kept=data.kept, columns=data.columns, seconds=spent)
        half.replace(path)
    with np.load(path) as found:
        return dict(found)


def _trial(key: dict, options: Any) -> dict:
    name, where = key["method"], "cpu"
    if name in NETWORKS:
        data = _draw(key["regions"], key["rows"], options.folder)
        y, bags = data.y, data.bags
        model, where = _network(name, key["trial"], options.device), options.device
        facts = {"kept": data.kept, "columns": data.columns, "seconds": 0.0}
    elif name == MARGINAL:
        data = _draw(key["regions"], key["rows"], options.folder)
        y, bags, model = data.y, _coded(data), _marginal()
        facts = {"kept": 1.0, "columns": data.columns, "seconds": 0.0}
    else:
        vectors, model = _methods()[name]
        facts = _vectors(key["regions"], key["rows"], vectors, key.get("components", 100), options.folder)
        y, bags = facts["y"], as_bags(facts["vectors"])
    order = np.random.default_rng(key["trial"]).permutation(len(y))
    cut = round(0.7 * len(y))
    rest, held = np.sort(order[:cut]), np.sort(order[cut:])
    said, spent = quietly(lambda: model.fit(bags[rest], y[rest]).predict(bags[held]), where)
    wrong = y[held] - said
    points = [[round(float(a), 4), round(float(b), 4)] for a, b in zip(y[held], said)]
    return {
        **({"points": points} if key["trial"] == 0 and name in (MARGINAL, "DeepSets") else {}),
        "mse": float(np.mean(wrong**2)),
        "explained": float(1 - wrong.var() / y[held].var()),
        "mean_share": float(np.mean((y[held] - y[rest].mean()) ** 2)),
        "kept": float(facts["kept"]),
        "columns": int(facts["columns"]),
        "seconds": float(facts["seconds"]) + spent,
        "device": where,
    }


def _marginal() -> BagRidge:
    return BagRidge(FourierEmbedding(8, (1.0,), marginal=True), random_state=0)


def _network(name: str, seed: int, device: str) -> DeepSets:
    return DeepSets(task=NETWORKS[name], training={"max_rows": 128}, max_epochs=60, device=device, random_state=seed)


def _shares(key: dict, options: Any) -> dict:
    """Predict every region's part of a subgroup, and average by people."""
    data = _draw(979, key["rows"], options.folder, key.get("seed", 0))
    if key["method"] == "truth":
        return {**data.truth, "seconds": 0.0}
    where = options.device if key["method"] in NETWORKS else "cpu"
    predict, spent = quietly(lambda: _learned(key["method"], data, options.device), where)
    out = {}
    for attribute in ATTRIBUTES:
        for code, level in enumerate(data.levels[attribute]):
            mask = data.codes[attribute] == code
            out[f"{attribute}: {level}"] = quietly(lambda m=mask: predict(m))[0]
    return {**out, "seconds": spent, "device": where}


def _learned(name: str, data: Drawn, device: str) -> Any:
    """Return a function from rows to the share of D among the people behind them."""
    if name == "LLP":
        return _individuals(data)
    given = _coded(data) if name == MARGINAL else data.bags
    if name in NETWORKS:
        model: Any = _network(name, 0, device).fit(given, data.y)
    elif name == MARGINAL:
        model = _marginal().fit(given, data.y)
    else:
        vectors, model = _methods()[name]
        model.set_params(embedding=clone(EMBEDDINGS[vectors])).fit(given, data.y)
    return lambda mask: _by_region(model, given.subset(mask))


def _by_region(model: Any, part: Bags) -> float:
    there = part.drop_empty()
    people = np.add.reduceat(there.weights, there.offsets[:-1])
    return float(np.average(model.predict(there), weights=people))


def _coded(data: Drawn) -> Bags:
    """The raw columns: covariates as numbers, attributes as codes with levels."""
    values = np.column_stack([data.covariates, *data.codes.values()])
    names = [*(f"x{k}" for k in range(data.covariates.shape[1])), *data.codes]
    return Bags(values, data.bags.offsets, weights=data.bags.weights, features=names, levels=data.levels)


def _individuals(data: Drawn) -> Any:
    """Learning with label proportions: a classifier of individuals, averaged over the members of a subgroup."""
    bags = data.bags
    rows = Bags(bags.values, bags.offsets)  # counts are of rows, not of the people behind them
    chances = CardinalityClassifier().fit(rows, data.counts).predict_proba(bags.values)[:, 1]
    return lambda mask: float(np.average(chances[mask], weights=bags.weights[mask]))
