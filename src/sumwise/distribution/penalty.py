"""Penalties of a ridge path: as given, or averaged by how well each predicts units that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.distribution.kernels.ridge import Path
from sumwise.inference.averaging import evidence_weights


def penalties_and_weights(path: Path, penalty: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return penalties (p,) and the weight of each for every output (p, k): of all of the path, or of the given one.

    A unit that is left out has a normal error, whose variance at a penalty is the mean squared error there: the
    likelihood of n units, or groups, is that to the power of -n / 2. The prior of the signal's deviation over the
    noise's is half-Cauchy (Gelman 2006) along the axis on which bags differ most.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.ridge import ridge_path
    >>> from sumwise.distribution.penalty import penalties_and_weights
    >>> x = np.arange(5.0)[:, None]
    >>> path = ridge_path(x, 2 * x + np.array([[0.1], [-0.1], [0.0], [-0.1], [0.1]]), penalties=[0.01, 1000.0])
    >>> penalties_and_weights(path, "loo")[1].round(4).ravel()
    array([1., 0.])
    >>> penalties_and_weights(path, 0.1)
    (array([1.]), array([[1.]]))
    """
    if isinstance(penalty, str):
        checks.choice(penalty, "penalty", ("loo",))
        return path.penalties, _weights(path.errors[None], path, 0)[0]
    given = float(checks.positive(penalty, "penalty", ndim=0))
    return np.array([given * path.top]), np.ones((1, path.targets.shape[1]))


def _weights(errors: np.ndarray, path: Path, n_out: int) -> np.ndarray:
    """Weights (m, p, k) from mean, or summed, squared errors (m, p, k) of all units, or groups, but `n_out`."""
    n_units = (len(path.left) if path.groups is None else len(np.unique(path.groups))) - n_out
    rounding = np.finfo(float).eps * errors.max(axis=1, keepdims=True, initial=0.0) + np.finfo(float).tiny
    evidence = -0.5 * n_units * np.log(np.maximum(errors, rounding))
    relative = path.penalties[:, None] / path.top
    return evidence_weights(evidence + 0.5 * np.log(relative) - np.log1p(relative), axis=1)


def middle_penalty(path: Path, penalties: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the geometric mean of the penalties of each output, (k,), relative to the largest eigenvalue."""
    return np.exp(np.log(penalties) @ weights) / path.top


def held_out_errors(paths: Sequence[Path], penalty: Any, scale: np.ndarray) -> np.ndarray:
    """Return the error of every unit under the path and the weights of penalties from all other units, (n, n_outputs).

    Errors at settings that were chosen by the same errors are too small: with 30 bags, intervals of 90% covered 85% of
    new ones. `paths` are alternatives for the same units; of each output, errors are divided by `scale` (n_outputs,).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.ridge import ridge_path
    >>> from sumwise.distribution.penalty import held_out_errors
    >>> x = np.arange(5.0)[:, None]
    >>> held_out_errors([ridge_path(x, 2 * x)], "loo", np.ones(1)).round(6).ravel()
    array([-0., -0.,  0.,  0.,  0.])
    """
    squares = [path.each**2 for path in paths]
    others = [each.sum(axis=0) - _of_group(each, paths[0].groups) for each in squares]  # (n, p, k) per path
    best = np.argmin([np.mean(each.min(axis=1) / scale, axis=1) for each in others], axis=0)
    out = np.empty(squares[0][:, 0].shape)
    for k, (path, each) in enumerate(zip(paths, others)):
        mine = np.flatnonzero(best == k)
        if isinstance(penalty, str):
            errors = (_weights(each[mine], path, 1) * path.each[mine]).sum(axis=1)
            out[mine] = errors / path.root[mine, None]
        else:
            out[mine] = path.leave_one_out(penalties_and_weights(path, penalty)[0])[mine]
    return out


def _of_group(squares: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Return the sum over each unit's group, (n, p, k)."""
    if groups is None:
        return squares
    total = np.zeros((int(groups.max()) + 1, *squares.shape[1:]))
    np.add.at(total, groups, squares)
    return total[groups]
