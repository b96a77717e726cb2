"""BagRidge: ridge regression on an embedding of bags, the penalty chosen by leave-one-out errors in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.embedding import Embedding
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.regressor import BagRegressor
from sumwise.errors import DataError
from sumwise.fit import Fit
from sumwise.kernels.ridge import ridge_path

__all__ = ["BagRidge"]


class BagRidge(BagRegressor):
    """Ridge regression on an embedding: from bags of samples to one response per bag.

    Parameters
    ----------
    embedding : Embedding, default FourierEmbedding()
        How a bag becomes a vector.
    penalty : "loo" or float, default "loo"
        Weight of the squared coefficients, relative to the largest squared singular value of the features. "loo" takes
        the one with the least leave-one-out error, per output, from one decomposition.
    random_state : int, numpy.random.Generator or None
        For the embedding, where it draws.

    Attributes
    ----------
    embedding_ : Embedding
        Fitted.
    coef_, intercept_ : arrays of shape (dimension, n_outputs), (n_outputs,)
    penalty_ : array of shape (n_outputs,)
        Relative, as the parameter.
    loo_error_ : array of shape (n_outputs,)
        Mean squared leave-one-out error at the penalty.
    fit_ : Fit
        The path: penalties and errors.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import BagRidge
    >>> train, test = (synthetic.gamma(200, 200, noise=0, random_state=seed) for seed in (0, 1))
    >>> model = BagRidge(random_state=0).fit(train.bags, train.response)
    >>> bool(model.score(test.bags, test.response) > 0.6)
    True
    """

    def __init__(self, embedding: Embedding | None = None, penalty: Any = "loo", random_state: Any = None):
        self.embedding = embedding
        self.penalty = penalty
        self.random_state = random_state

    def _learn(self, bags: Bags, y: np.ndarray) -> None:
        self.embedding_ = fresh(self.embedding, FourierEmbedding, self.random_state)
        features = self.embedding_.fit_transform(bags)
        path = ridge_path(features, y)
        top = path.squares.max(initial=0.0) or 1.0
        if isinstance(self.penalty, str):
            checks.choice(self.penalty, "penalty", ("loo",))
            chosen = path.penalties[np.argmin(path.errors, axis=0)]
        else:
            chosen = np.full(y.shape[1], float(checks.positive(self.penalty, "penalty", ndim=0)) * top)
        columns = [path.coefficients(features, penalty)[:, k] for k, penalty in enumerate(chosen)]
        left_out = np.column_stack([path.leave_one_out(penalty)[:, k] for k, penalty in enumerate(chosen)])
        self.coef_ = np.column_stack(columns)
        self.intercept_ = path.level - path.mean @ self.coef_
        self.penalty_ = chosen / top
        self.loo_error_ = np.mean(left_out**2, axis=0)
        history = {"penalty": (path.penalties / top).tolist(), "error": path.errors.mean(axis=1).tolist()}
        self.fit_ = Fit(self.coef_, float(self.loo_error_.mean()), None, len(path.penalties), True, history)

    def _predict(self, bags: Bags) -> np.ndarray:
        return self.embedding_.transform(bags) @ self.coef_ + self.intercept_


def fresh(given: Any, default: type, random_state: Any, kind: type = Embedding) -> Any:
    """Return an unfitted copy of a part (an embedding or a kernel), seeded by the estimator where it has no seed.

    Examples
    --------
    >>> from sumwise.distribution import FourierEmbedding
    >>> from sumwise.distribution.ridge import fresh
    >>> fresh(None, FourierEmbedding, 7).random_state
    7
    """
    if given is not None and not isinstance(given, kind):
        name = kind.__name__.lower()
        raise DataError(f"{name} is a {type(given).__name__}.", hint=f"give one such as {default.__name__}().")
    part: Any = default() if given is None else clone(given)
    if random_state is not None and getattr(part, "random_state", 0) is None:
        part.set_params(random_state=random_state)
    return part
