"""Point clouds (Sun 2019, section 4.3.2) and two multiple-instance sets: classes of bags."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np

from sumwise import Bags, datasets, synthetic
from sumwise.distribution import (
    BagLogistic,
    BagOfWords,
    DeepSets,
    EmbeddingKernel,
    FisherVector,
    KernelEmbedding,
    LinearEmbedding,
    MomentEmbedding,
    QuantileEmbedding,
)
from sumwise.errors import DataError

from .cells import Cell
from .methods import accuracy, classifier

__all__ = ["clouds_cells", "instances_cells"]

KERNELISED = "Fisher, Gaussian kernel"


def clouds_cells(options: Any) -> Iterator[Cell]:
    """Accuracy by data, points per cloud and method: generated shapes, and ModelNet10 where it is at hand.

    With ``options.clouds``, a reduced copy of ModelNet10 is read in its place: the first points of every cloud. Ten
    runs draw a network's and an embedding's numbers anew; those of the shapes also draw other clouds.
    """
    shapes = (2000, 500) if options.full else (320, 160)
    sizes = [("shapes", n) for n in (100, 1000, 5000)] + [("ModelNet10", n) for n in (100, 256, 1000)]
    for data, points in sizes:
        reduced = str(options.clouds or "")
        if data == "ModelNet10" and (points > 256 if reduced else not _there("modelnet10")):
            continue
        bags = shapes[0] if data == "shapes" else len(range(0, 3991, 1 if options.full else 8))
        for seed, name in product(
            range(10 if options.full else 1), ("Fourier", "BOW", "Fisher", KERNELISED, "DeepSets")
        ):
            key = {"data": data, "points": points, "bags": bags, "method": name} | ({"seed": seed} if seed else {})
            work = lambda k=key, r=reduced: _classify(k, shapes, options.device, r)  # noqa: E731
            yield Cell("clouds", key, work, name == "DeepSets")


def instances_cells(options: Any) -> Iterator[Cell]:
    """Accuracy by fold of ten on Musk 1 and Elephant."""
    for data in ("musk1", "elephant"):
        if not _there(data):
            continue
        for fold in range(10 if options.full else 5):
            for name in (*_instance_methods(), "DeepSets, mean", "DeepSets, max"):
                key = {"data": data, "folds": 10 if options.full else 5, "fold": fold, "method": name}
                network = name.startswith("DeepSets")
                yield Cell("instances", key, lambda k=key: _fold(k, options.device), network)


@cache
def _there(name: str) -> bool:
    try:
        getattr(datasets, name)()
    except DataError as error:
        print(f"{name} is left out: {error}")
        return False
    return True


@lru_cache(maxsize=1)
def _shapes(n: int, seed: int) -> Any:
    return synthetic.shapes(n, 5000, random_state=seed)


@lru_cache(maxsize=1)
def _parts(data: str, points: int, bags: int, shapes: tuple[int, int], seed: int, reduced: str) -> tuple[tuple, tuple]:
    if data == "shapes":
        drawn = _shapes(sum(shapes), seed)
        kept = _first_rows(drawn.bags, points)
        return (kept[:bags], drawn.labels[:bags]), (kept[bags:], drawn.labels[bags:])
    if reduced:
        with np.load(reduced) as kept:
            train, test = (
                (Bags.from_arrays(list(kept[f"X_{part}"][:, :points].astype(np.float32))), kept[f"y_{part}"])
                for part in ("train", "test")
            )
        return train, test
    real = datasets.modelnet10()
    some = slice(0, None, max(1, len(real.bags) // bags))
    train = _first_rows(real.bags, points)[some], real.y[some]
    return train, (_first_rows(real.test_bags, points), real.test_y)


def _first_rows(bags: Bags, n: int) -> Bags:
    within = np.arange(bags.n_rows) - np.repeat(bags.offsets[:-1], bags.sizes)
    return bags.subset(within < n)


def _classify(key: dict, shapes: tuple[int, int], device: str, reduced: str) -> dict:
    seed = key.get("seed", 0)
    train, test = _parts(
        key["data"], key["points"], key["bags"], shapes, seed if key["data"] == "shapes" else 0, reduced
    )
    if key["method"] == "DeepSets":
        rows = 256 if device == "cpu" else 1024
        drawn = {"random_state": seed} if seed else {}
        net = DeepSets.preset("pointnet", max_rows=rows, batch_bags=32, max_epochs=40, device=device, **drawn)
        return accuracy(net, train, test, device)
    if key["method"] == KERNELISED:
        fisher = FisherVector(random_state=seed) if seed else FisherVector()
        vectors = KernelEmbedding(EmbeddingKernel(fisher), random_state=seed)
        return accuracy(BagLogistic(vectors, target="classes", random_state=0), train, test)
    return accuracy(classifier(key["method"], seed), train, test)


def _instance_methods() -> dict[str, Any]:
    made = {"means": LinearEmbedding(), "moments": MomentEmbedding(2, cross=False), "quantiles": QuantileEmbedding()}
    made |= {"BOW": BagOfWords(20, random_state=0), "Fisher": FisherVector(4, random_state=0)}
    return {name: BagLogistic(e, target="classes", random_state=0) for name, e in made.items()}


def _fold(key: dict, device: str) -> dict:
    bags, y = getattr(datasets, key["data"])()
    fold = np.random.default_rng(0).permutation(np.arange(len(bags)) % key["folds"])
    held = fold == key["fold"]
    train, test = (bags[~held], y[~held]), (bags[held], y[held])
    name = key["method"]
    if name.startswith("DeepSets"):
        net = DeepSets({"pool": name.split()[-1], "dropout": 0.2}, "classification", device=device)
        return accuracy(net, train, test, device)
    return accuracy(_instance_methods()[name], train, test)
