"""Population statistics of Gaussian bags: entropy and mutual information (Sun 2019, section 4.3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.synthetic.draws import float_dtype, softmax
from sumwise.synthetic.record import Record

TASKS = ("rotation", "correlation", "rank1", "random")
CHUNK = 2**22  # numbers transformed at once


@dataclass(frozen=True, eq=False, repr=False)
class Statistics(Record):
    """Gaussian bags and a statistic of the population behind each; made by `statistics`.

    Attributes
    ----------
    bags : Bags
    response : (n_bags,) array
        The entropy or mutual information of the population, not of the sample.
    task : str
    parameter : (n_bags,) array or None
        alpha (rotation, correlation) or lambda (rank1) of each bag; None for the random task.
    base : array or None
        What is drawn once for all bags: Sigma (2, 2) or (16, 16), the direction v (32,); None for the random task.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> data = synthetic.statistics("rotation", 16, random_state=0)
    >>> data.bags.n_features, data.response.shape
    (2, (16,))
    """

    bags: Bags
    response: np.ndarray
    task: str
    parameter: np.ndarray | None
    base: np.ndarray | None

    def bayes(self) -> np.ndarray:
        """Return E[response | bag] under the true model, by a grid over the parameter; not for the random task.

        The sample second moments are sufficient; their log-likelihood is evaluated on 4,096 parameter values
        (16,384 angles for the rotation task).
        """
        if self.base is None:
            raise DataError(
                "The Bayes predictor of the random task isn't computable here: each bag has a covariance of its own.",
                hint="the other three tasks have one.",
            )
        grid, log_prior = _parameter_grid(self.task)
        covariances = _covariances(self.task, grid, self.base)
        _, log_det = np.linalg.slogdet(covariances)
        precision = np.linalg.inv(covariances).reshape(len(grid), -1)
        answers = _responses(self.task, grid, covariances)
        out = np.empty(len(self.bags))
        for first in range(0, len(self.bags), 256):
            part = self.bags[first : first + 256]
            moments = np.stack([(x.T.astype(float) @ x).ravel() for x in part])
            fit = part.sizes[:, None] * log_det + moments @ precision.T
            out[first : first + 256] = softmax(log_prior - 0.5 * fit) @ answers
        return out

    @property
    def bayes_error(self) -> float:
        """Mean squared error of `bayes` on these bags."""
        return float(np.mean((self.bayes() - self.response) ** 2))


def statistics(
    task: str = "rotation",
    n_bags: int = 1024,
    bag_size: int = 512,
    *,
    base: Any = None,
    dtype: Any = np.float64,
    random_state: Any = None,
) -> Statistics:
    """Draw one of the four population-statistics tasks.

    Parameters
    ----------
    task : {"rotation", "correlation", "rank1", "random"}
    n_bags : int >= 1, default 1024
        The papers use 2^7 to 2^16 for training and 512 for testing.
    bag_size : int >= 1, default 512
    base : array, optional
        Reuse the ``base`` of another draw, so that training and test bags come from one meta-distribution.
    dtype : float64 or float32, default float64
        The largest setting (2^16 bags of 512 x 32) takes 8.6 GB in double and 4.3 GB in single precision.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    Statistics

    Notes
    -----
    ::

        rotation     N(0, R(a) S R(a)'), a ~ Uniform(0, pi), S (2, 2);   response: entropy of the first coordinate,
                     0.5 log(2 pi e (R S R')_11)
        correlation  N(0, [S, a S; a S, S]), a ~ Uniform(-1, 1), S (16, 16);   response: mutual information of the
                     first and the last 16 coordinates, -8 log(1 - a^2)
        rank1        N(0, I + l v v'), l ~ Uniform(0, 1), v a unit vector in R^32
        random       N(0, S_i), S_i (32, 32) drawn for each bag
                     response of both: mutual information of all coordinates (total correlation),
                     0.5 (sum_j log S_jj - log det S)

    The thesis says "randomly choose" for the base. Here, with A uniform on (0, 1) entry by entry: S = A A' for the
    rotation; S = (A A' + I) / sum(A^2) for correlation and random; v proportional to a uniform vector.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> train = synthetic.statistics("rank1", 128, random_state=0)
    >>> test = synthetic.statistics("rank1", 16, base=train.base, random_state=1)
    >>> test.bags.n_features, bool(test.response.max() < 0.5)
    (32, True)
    """
    rng = checks.generator(random_state)
    checks.choice(task, "task", TASKS)
    checks.at_least(n_bags, "n_bags", 1)
    checks.at_least(bag_size, "bag_size", 1)
    single = float_dtype(dtype).name == "float32"
    base = _draw_base(task, rng) if base is None else _checked_base(task, base)
    parameter = _draw_parameter(task, n_bags, rng)
    dimension = {"rotation": 2}.get(task, 32)
    values = rng.standard_normal((n_bags, bag_size, dimension), dtype=np.float32 if single else np.float64)
    response = np.empty(n_bags)
    per_chunk = max(1, CHUNK // (bag_size * dimension))
    for first in range(0, n_bags, per_chunk):
        part = slice(first, min(n_bags, first + per_chunk))
        if parameter is None:
            covariances = _random_covariances(32, part.stop - part.start, rng)
        else:
            covariances = _covariances(task, parameter[part], base)
        response[part] = _responses(task, None if parameter is None else parameter[part], covariances)
        root = np.linalg.cholesky(covariances).astype(values.dtype)
        values[part] = values[part] @ root.transpose(0, 2, 1)
    offsets = np.arange(n_bags + 1) * bag_size
    return Statistics(Bags(values.reshape(-1, dimension), offsets), response, task, parameter, base)


def _draw_base(task: str, rng: np.random.Generator) -> np.ndarray | None:
    if task == "rotation":
        root = rng.random((2, 2))
        return root @ root.T
    if task == "correlation":
        return _random_covariances(16, 1, rng)[0]
    if task == "rank1":
        direction = rng.random(32)
        return direction / np.linalg.norm(direction)
    return None


def _checked_base(task: str, base: Any) -> np.ndarray:
    if task == "random":
        raise DataError("The random task has no base.", hint="leave base out; every bag draws its own covariance.")
    array = checks.finite(base, "base")
    wanted = {"rotation": (2, 2), "correlation": (16, 16), "rank1": (32,)}[task]
    if array.shape != wanted:
        raise DataError(f"base has shape {array.shape}; the {task} task needs {wanted}.")
    if array.ndim == 2 and (not np.allclose(array, array.T) or np.linalg.eigvalsh(array).min() <= 0):
        raise DataError("base is not a covariance matrix: it must be symmetric and positive definite.")
    return array


def _draw_parameter(task: str, n: int, rng: np.random.Generator) -> np.ndarray | None:
    ranges = {"rotation": (0.0, np.pi), "correlation": (-1.0, 1.0), "rank1": (0.0, 1.0)}
    if task not in ranges:
        return None
    low, high = ranges[task]
    return low + (high - low) * (1 - rng.random(n)) * (1 - 1e-15)  # open at both ends: the correlation task has poles


def _random_covariances(dimension: int, n: int, rng: np.random.Generator) -> np.ndarray:
    root = rng.random((n, dimension, dimension))
    scale = (root**2).sum(axis=(1, 2))[:, None, None]
    return (root @ root.transpose(0, 2, 1) + np.eye(dimension)) / scale


def _covariances(task: str, parameter: np.ndarray, base: Any) -> np.ndarray:
    """Return the covariance of each parameter value, (n, d, d)."""
    if task == "rotation":
        cos, sin = np.cos(parameter), np.sin(parameter)
        rotation = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], axis=-2)
        return rotation @ base @ rotation.transpose(0, 2, 1)
    if task == "correlation":
        half = len(base)
        out = np.empty((len(parameter), 2 * half, 2 * half))
        out[:, :half, :half] = out[:, half:, half:] = base
        out[:, :half, half:] = out[:, half:, :half] = parameter[:, None, None] * base
        return out
    return np.eye(len(base)) + parameter[:, None, None] * np.outer(base, base)


def _responses(task: str, parameter: np.ndarray | None, covariances: np.ndarray) -> np.ndarray:
    if task == "rotation":
        return 0.5 * np.log(2 * np.pi * np.e * covariances[:, 0, 0])
    if task == "correlation":
        assert parameter is not None
        return -8.0 * (np.log1p(-parameter) + np.log1p(parameter))
    diagonal = np.diagonal(covariances, axis1=1, axis2=2)
    return 0.5 * (np.log(diagonal).sum(axis=1) - np.linalg.slogdet(covariances)[1])


def _parameter_grid(task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return parameter values and their log prior weights, spaced so that posteriors stay wider than a step."""
    if task == "rotation":
        return (np.arange(16384) + 0.5) * np.pi / 16384, np.zeros(16384)
    if task == "rank1":
        return (np.arange(4096) + 0.5) / 4096, np.zeros(4096)
    z = np.linspace(-8, 8, 4096)  # alpha = tanh z: the posterior of z has about the same width everywhere
    return np.tanh(z), -2 * np.log(np.cosh(z))
