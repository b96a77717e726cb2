"""The methods that are compared, by the names that tables give them, and how one is judged."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise import Bags
from sumwise.distribution import (
    BagKernelRidge,
    BagLogistic,
    BagOfWords,
    BagRidge,
    EmbeddingKernel,
    FisherVector,
    FourierEmbedding,
    GaussianKernel,
    LinearEmbedding,
    MarginalKernel,
    MomentEmbedding,
    PyramidMatchKernel,
    QuantileEmbedding,
    WassersteinKernel,
)
from sumwise.distribution.embedding import Embedding

from .cells import timed

__all__ = [
    "EMBEDDINGS",
    "PRINTED",
    "RawPyramid",
    "Vectors",
    "accuracy",
    "as_bags",
    "as_printed",
    "classifier",
    "embedding",
    "error",
    "kernels",
    "quietly",
    "ridges",
]

EMBEDDINGS: dict[str, Callable[[], Any]] = {
    "means": LinearEmbedding,
    "moments": MomentEmbedding,
    "quantiles": QuantileEmbedding,
    "Fourier": FourierEmbedding,
    "BOW": lambda: BagOfWords(200),
    "Fisher": lambda: FisherVector(20),
}


PRINTED: dict[str, Callable[[], Any]] = {"Fisher, 200 components": lambda: FisherVector(200, shares=False)}


def embedding(name: str, seed: int = 0) -> Any:
    """Return an embedding with a seed, where it draws."""
    made = (EMBEDDINGS | PRINTED)[name]()
    return made.set_params(random_state=seed) if "random_state" in made.get_params() else made


def ridges(seed: int = 0) -> dict[str, Any]:
    """Linear ridge regression on every embedding."""
    return {name: BagRidge(make(), random_state=seed) for name, make in EMBEDDINGS.items()}


def kernels(seed: int = 0) -> dict[str, Any]:
    """Kernel ridge regression with every kernel between bags."""
    made = {
        "Gaussian kernel": GaussianKernel(random_state=seed),
        "marginal kernel": MarginalKernel(),
        "pyramid kernel": PyramidMatchKernel(),
        "W1 kernel": WassersteinKernel(1),
        "sliced W2 kernel": WassersteinKernel(2, slices=50),
        "BOW, Laplace kernel": EmbeddingKernel(BagOfWords(), "laplace"),
    }
    return {name: BagKernelRidge(kernel, random_state=seed) for name, kernel in made.items()}


def as_printed(seed: int = 0) -> dict[str, Any]:
    """The Gaussian kernels as Lemus Gonzalez has them: random features of one width, the median distance of rows."""
    plain = {"n_frequencies": 256, "widths": (1.0,), "standardize": False, "random_state": seed}
    return {
        "Gaussian kernel, median width": BagRidge(FourierEmbedding(**plain), random_state=seed),
        "marginal kernel, median width": BagRidge(FourierEmbedding(**plain, marginal=True), random_state=seed),
    }


class RawPyramid:
    """Pyramid match as Lemus Gonzalez prints it: counts in the units of the data, ridge regression without intercept.

    The penalty has the least leave-one-out error of 1e-6 to 1 times the largest eigenvalue.
    """

    def fit(self, bags: Bags, y: np.ndarray) -> RawPyramid:
        self.bags, self.kernel = bags, PyramidMatchKernel(scale="data", normalise=False).fit(bags)
        values, vectors = np.linalg.eigh(self.kernel.gram(bags))
        best = np.inf
        for share in 10.0 ** np.arange(-6, 0.1):
            inverse = (vectors / (values.clip(0) + share * values[-1])) @ vectors.T
            dual = inverse @ y
            loss = float(np.mean((dual / np.diag(inverse)) ** 2))
            if loss < best:
                best, self.dual = loss, dual
        return self

    def predict(self, bags: Bags) -> np.ndarray:
        return self.kernel.gram(bags, self.bags) @ self.dual


class Vectors(Embedding):
    """Bags of one row each, which is the vector of a bag that was embedded before.

    `sets` are the sets of features that an estimator may choose among (see `Embedding.candidates`).
    """

    standardize = False

    def __init__(self, sets: list | None = None):
        self.sets = sets

    def _embed(self, bags: Any) -> np.ndarray:
        return np.array(bags.values, dtype=np.float64)

    def candidates(self, dimension: int) -> list[np.ndarray]:
        """Return those of the embedding that made the vectors."""
        return super().candidates(dimension) if self.sets is None else self.sets


def as_bags(vectors: np.ndarray) -> Bags:
    """Bags of one row each, for `Vectors`."""
    return Bags(vectors, np.arange(len(vectors) + 1))


def quietly(work: Callable[[], Any], device: str = "cpu") -> tuple[Any, float]:
    """Time some work, warnings left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timed(work, device)


def error(model: Any, train: tuple, test: tuple, device: str = "cpu", **options: Any) -> dict[str, Any]:
    """Mean squared error on test bags, and seconds of fitting and predicting."""
    said, spent = quietly(lambda: model.fit(*train, **options).predict(test[0]), device)
    return {"mse": float(np.mean((said - test[1]) ** 2)), "seconds": spent, "device": device}


def accuracy(model: Any, train: tuple, test: tuple, device: str = "cpu") -> dict[str, Any]:
    """Share of test bags whose class is told, and seconds of fitting and predicting."""
    said, spent = quietly(lambda: model.fit(*train).predict(test[0]), device)
    return {"accuracy": float(np.mean(said == test[1])), "seconds": spent, "device": device}


def classifier(name: str, seed: int = 0) -> BagLogistic:
    """Logistic regression on an embedding."""
    return BagLogistic(embedding(name, seed), target="classes", random_state=0)
