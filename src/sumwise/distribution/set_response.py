"""How a network sees the responses of bags: standardised numbers, shares, or class numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.regressor import check_labels, check_response
from sumwise.errors import DataError
from sumwise.learned import check_learned

__all__ = ["TASKS", "Response"]

TASKS = ("regression", "classification", "share")


@dataclass(frozen=True)
class Response:
    """What was learned of the training responses.

    Parameters
    ----------
    task : str
        One of `TASKS`.
    n_outputs : int
        Numbers that the network gives for a bag.
    flat : bool
        Whether responses were given as (n_bags,).
    mean, scale : arrays of shape (n_outputs,)
        For a regression: mean and scale of the response.
    classes : array
        For a classification: the classes, sorted.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution.set_response import Response
    >>> bags = Bags.from_arrays([[1.0], [2.0]])
    >>> seen = Response.learn("classification", bags, ["b", "a"])
    >>> seen.encode(bags, ["b", "a"]), seen.n_outputs
    (array([1, 0]), 2)
    """

    task: str
    n_outputs: int
    flat: bool
    mean: Any = None
    scale: Any = None
    classes: Any = None

    def __post_init__(self) -> None:
        check_learned(self, "task: is str; n_outputs: size K; mean?, scale?: float K; classes?: len K")

    @classmethod
    def learn(cls, task: str, bags: Bags, y: Any, classes: Any = None) -> Response:
        """Learn from training responses; `classes` names labels that they lack."""
        if task == "classification":
            labels = checks.listing(y if classes is None else classes, "y" if classes is None else "classes")
            found = np.unique(np.asarray(labels))
            if len(found) < 2:
                raise DataError(
                    f"There is only one class: {checks.plain(found[0])!r}." if len(found) else "y is empty."
                )
            return cls(task, len(found), True, classes=found)
        truth = check_response(bags, y, least=2)[1]
        spread = truth.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        return cls(task, truth.shape[1], np.ndim(y) == 1, truth.mean(axis=0), scale)

    def encode(self, bags: Bags, y: Any) -> np.ndarray:
        """Return responses as the network sees them: (n_bags, n_outputs) numbers, or (n_bags,) class numbers."""
        if self.task == "classification":
            labels = check_labels(bags, y)
            place = np.clip(np.searchsorted(self.classes, labels), 0, len(self.classes) - 1)
            for label in labels[self.classes[place] != labels][:1]:
                raise DataError(f"y has the class {checks.plain(label)!r}, which is not among classes_.")
            return place.astype(np.int64)
        truth = check_response(bags, y, least=1)[1]
        if truth.shape[1] != self.n_outputs:
            raise DataError(f"y has {truth.shape[1]} columns; the network has {self.n_outputs}.")
        if self.task == "share":
            if truth.min() < 0 or truth.max() > 1:
                raise DataError("Shares must lie in [0, 1].", hint="task='regression' takes any numbers.")
            return truth
        return (truth - self.mean) / self.scale

    def restore(self, target: np.ndarray) -> np.ndarray:
        """Return numbers or shares as they were before `encode`."""
        return target if self.task == "share" else target * self.scale + self.mean

    def decode(self, outputs: np.ndarray) -> np.ndarray:
        """Return the answers to a network's outputs: numbers, shares, or class probabilities."""
        if self.task == "classification":
            return softmax(outputs, axis=1)
        return expit(outputs) if self.task == "share" else self.restore(outputs)
