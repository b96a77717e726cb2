"""Four population statistics (Sun 2019, section 4.3.1), and linear against kernel ridge on two of them.

Training bags come in spans: the first 128, the next 128, the next 256 and so on to 65,536, each from a seed of its
own, so that a larger training set holds the smaller ones. An embedding is learned on the first 128 bags (65,536 rows),
and the vectors of a span are kept in `results/distribution`: every size then costs its ridge regression only. The
seconds of a size are those of embedding all its bags and of the regression. Draw 0 has every size; other draws
(`--draws`) have other covariances, training and test bags, in 128, 512 and 2,048 bags.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from sumwise import Bags, synthetic
from sumwise.distribution import BagKernelRidge, BagRidge, DeepSets, EmbeddingKernel

from .cells import Cell, timed
from .methods import EMBEDDINGS, PRINTED, Vectors, as_bags, embedding, error

__all__ = ["ridge_cells", "statistics_cells"]

TASKS = ("rotation", "correlation", "rank1", "random")
BLOCK = 1024  # bags drawn at once
EXACT = 4096  # bags up to which kernel ridge uses the whole Gram matrix, then 1,024 landmarks
WASSERSTEIN = "Wasserstein kernel"  # BagKernelRidge with all defaults
KERNELS = {"BOW, Laplace kernel": ("BOW", "laplace"), "moments, Gaussian kernel": ("moments", "gaussian")}


def statistics_cells(options: Any) -> Iterator[Cell]:
    """Errors on 512 test bags by task, number of training bags and method."""
    for draw in options.draws:
        powers = range(7, 17) if options.full and not draw else (7, 9, 11)
        for power in (p for p in powers if 2**p <= options.most):
            for task in TASKS if options.tasks is None else options.tasks:
                yield from _statistics_cells(task, draw, power, options)


def _statistics_cells(task: str, draw: int, power: int, options: Any) -> Iterator[Cell]:
    of = {"draw": draw} if draw else {}

    def key(method: str, bags: int) -> dict:
        return {"task": task, "bags": bags, "method": method, **of}

    yield Cell("statistics", key("reference", 0), lambda: _reference(task, draw))
    for name in (*EMBEDDINGS, *(PRINTED if power <= 9 else ()), *KERNELS):
        made = key(name, 2**power)
        yield Cell("statistics", made, lambda k=made: _fixed(k, options.folder), half=key(name, 2 ** (power - 1)))
    if 2**power <= (EXACT if task == "rotation" else 512):  # memory: columns times bags squared
        made = key(WASSERSTEIN, 2**power)
        yield Cell("statistics", made, lambda k=made: _on_rows(k, BagKernelRidge(random_state=0), "cpu"))
    made, net = key("DeepSets", 2**power), DeepSets.preset("statistics", device=options.device)
    work = lambda: _on_rows(made, net, options.device)  # noqa: E731
    yield Cell("statistics", made, work, True, key("DeepSets", 2 ** (power - 1)))


def ridge_cells(options: Any) -> Iterator[Cell]:
    """Linear and kernel ridge on the same vectors (thesis figure 4.4), with the conditioning of the Gram matrices."""
    for draw, task in product(range(10 if options.full else 1), ("rotation", "random")):
        for power, name in product((7, 9), ("Fourier", "BOW", "Fisher")):
            key = {"task": task, "bags": 2**power, "embedding": name} | ({"draw": draw} if draw else {})
            yield Cell("ridge", key, lambda k=key: _both_ridges(k, options.folder))


@cache
def _base(task: str, draw: int = 0) -> Any:
    return None if task == "random" else synthetic.statistics(task, 1, random_state=draw).base


@lru_cache(maxsize=4)
def _test(task: str, draw: int = 0) -> Any:
    rng = np.random.default_rng([1, draw] if draw else 1)
    return synthetic.statistics(task, 512, random_state=rng, dtype="float32", base=_base(task, draw))


def _span(task: str, power: int, draw: int = 0) -> Iterator[Any]:
    """Yield the training bags from 2^(power - 1) to 2^power in blocks (power 7: the first 128)."""
    n = 2**power if power == 7 else 2 ** (power - 1)
    for k in range(0, n, BLOCK):
        rng = np.random.default_rng([2, power, k, draw] if draw else [2, power, k])
        yield synthetic.statistics(task, min(n, BLOCK), random_state=rng, dtype="float32", base=_base(task, draw))


def _reference(task: str, draw: int) -> dict:
    test = _test(task, draw)
    bayes = None if test.base is None else test.bayes_error
    return {"variance": float(test.response.var()), "bayes": bayes, "seconds": 0.0}


@cache
def _learned(task: str, name: str, draw: int) -> tuple[Any, float]:
    """An embedding of the first 128 bags, and the seconds of learning it."""
    first = next(_span(task, 7, draw))
    return timed(lambda: embedding(name).fit(first.bags))


def _kept(task: str, name: str, power: int, folder: Path, draw: int) -> dict[str, np.ndarray]:
    """Vectors and responses of a span of bags (power 0: of the test bags), and the seconds that they took.

    From a file where they were made before. That of the test bags also holds the sets of features that an estimator
    may choose among, one row each, and the seconds of learning the embedding.
    """
    path = folder / f"{task}-{name}-{power}{f'-{draw}' if draw else ''}.npz"
    if not path.exists():
        made, learning = _learned(task, name, draw)
        found, response, spent = [], [], 0.0
        for part in _span(task, power, draw) if power else [_test(task, draw)]:
            rows, seconds = timed(lambda p=part: made.transform(p.bags))
            found.append(rows.astype(np.float32))
            response.append(part.response)
            spent += seconds
        told = {"vectors": np.vstack(found), "response": np.concatenate(response), "seconds": spent}
        if power == 0:
            width = told["vectors"].shape[1]
            told |= {"sets": np.array([np.isin(np.arange(width), s) for s in made.candidates(width)])}
            told["seconds"] = learning
        folder.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".part.npz")
        np.savez(half, **told)
        half.replace(path)
    with np.load(path) as kept:
        return dict(kept)


def _ready(task: str, name: str, bags: int, folder: Path, draw: int = 0) -> tuple[tuple, tuple, Any, float]:
    """Training and test bags as vectors, an embedding that takes them as they are, and the seconds of embedding."""
    tested, *spans = (_kept(task, name, power, folder, draw) for power in (0, *range(7, int(np.log2(bags)) + 1)))
    train = as_bags(np.vstack([s["vectors"] for s in spans])), np.concatenate([s["response"] for s in spans])
    vectors = Vectors([np.flatnonzero(chosen) for chosen in tested["sets"]])
    spent = float(sum(s["seconds"] for s in (tested, *spans)))
    return train, (as_bags(tested["vectors"]), tested["response"]), vectors, spent


def _fixed(key: dict, folder: Path) -> dict:
    name, kind = KERNELS.get(key["method"], (key["method"], ""))
    train, test, vectors, spent = _ready(key["task"], name, key["bags"], folder, key.get("draw", 0))
    if kind:
        kernel = EmbeddingKernel(Vectors(), kind)
        model: Any = BagKernelRidge(kernel, max_bags=EXACT, n_landmarks=1024, random_state=0)
    else:
        model = BagRidge(vectors)
    found = error(model, train, test)
    return {**found, "seconds": found["seconds"] + spent}


def _on_rows(key: dict, model: Any, device: str) -> dict:
    task, draw = key["task"], key.get("draw", 0)
    parts = [part for power in range(7, int(np.log2(key["bags"])) + 1) for part in _span(task, power, draw)]
    values = np.vstack([part.bags.values for part in parts])
    bags = Bags(values, np.arange(key["bags"] + 1) * 512)
    y, test = np.concatenate([part.response for part in parts]), _test(task, draw)
    del parts
    return error(model, (bags, y), (test.bags, test.response), device)


def _both_ridges(key: dict, folder: Path) -> dict:
    train, test, vectors, _ = _ready(key["task"], key["embedding"], key["bags"], folder, key.get("draw", 0))
    linear = error(BagRidge(vectors), train, test)["mse"]
    model: Any = BagKernelRidge(EmbeddingKernel(Vectors()), random_state=0)
    gaussian = error(model, train, test)["mse"]
    gram = model.kernel_.gram(train[0])
    values = np.linalg.eigvalsh(gram)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    added = float(model.penalty_[0] * np.linalg.eigvalsh(centred)[-1])  # penalties are relative to the centred matrix
    return {
        "linear": linear,
        "kernel": gaussian,
        "condition": float(values[-1] / max(abs(values[0]), 1e-300)),
        "with_penalty": float((values[-1] + added) / (max(values[0], 0.0) + added)),
        **_plain_kernel_ridge(model, train, test),
        "seconds": 0.0,
    }


def _plain_kernel_ridge(model: Any, train: tuple, test: tuple) -> dict:
    """scikit-learn's kernel ridge over a grid of widths and small penalties: errors, conditions and its warnings."""
    chosen = model.kernel_.gamma_
    errors, conditions, told = [], [], 0
    for width in model.widths:
        model.kernel_.gamma_ = width
        gram, other = model.kernel_.gram(train[0]), model.kernel_.gram(test[0], train[0])
        values = np.linalg.eigvalsh(gram)
        conditions.append(float(values[-1] / max(abs(values[0]), 1e-300)))
        for alpha in (1e-12, 1e-9, 1e-6, 1e-3):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                plain = KernelRidge(alpha=alpha, kernel="precomputed").fit(gram, train[1])
            told += bool(caught)
            errors.append(float(np.mean((other @ plain.dual_coef_ - test[1]) ** 2)))
    model.kernel_.gamma_ = chosen
    return {
        "plain_best": min(errors),
        "plain_worst": max(errors),
        "condition_widest": max(conditions),
        "warned": told,
        "tried": len(errors),
    }
