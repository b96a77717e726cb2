"""AdamW whose state can be kept in arrays, and learning rates over the epochs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import cos, pi
from typing import Any

import numpy as np

from sumwise.extras import require

SCHEDULES = ("cosine", "plateau", "constant")
MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def adamw(params: Iterable, learning_rate: float, weight_decay: float, matrix_dimensions: int = 2) -> Any:
    """Return an AdamW optimiser; tensors of as many dimensions as matrices have (more where several networks are
    trained at once) are decayed, biases and scales aren't.

    Examples
    --------
    >>> import torch
    >>> from sumwise.inference.networks.optimiser import adamw
    >>> params = [torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True)]
    >>> [g["weight_decay"] for g in adamw(params, 1e-3, 0.1).param_groups]
    [0.1, 0.0]
    """
    torch = require("torch")
    params = list(params)
    decayed = [p for p in params if p.ndim >= matrix_dimensions]
    free = [p for p in params if p.ndim < matrix_dimensions]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": free, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True)


def state_arrays(optimiser: Any, params: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    """Return the optimiser's moments by the name of the tensor; empty before the first step."""
    kept = {}
    for name, tensor in params.items():
        state = optimiser.state.get(tensor)
        if state:
            kept[name] = {key: np.array(state[key].detach().cpu().numpy()) for key in MOMENTS}
    return kept


def restore(optimiser: Any, params: Mapping[str, Any], kept: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Put moments back that `state_arrays` returned: the next step is the one that would have followed."""
    torch = require("torch")
    for name, state in kept.items():
        tensor = params[name]
        moments = {key: torch.from_numpy(np.array(state[key])).to(tensor.device) for key in MOMENTS[1:]}
        optimiser.state[tensor] = {"step": torch.from_numpy(np.array(state["step"])), **moments}


def rate_at(schedule: str, share: float, drops: int = 0) -> float:
    """Return the factor of the learning rate when `share` of all steps are done.

    "cosine" falls from 1 to 0 by half a cosine, after a rise over the first 5% of the steps; "plateau" is halved
    for each of `drops`, which count how often the held-out loss stood still; "constant" stays.

    Examples
    --------
    >>> from sumwise.inference.networks.optimiser import rate_at
    >>> rate_at("cosine", 1.0), rate_at("plateau", 0.3, drops=2), rate_at("constant", 0.3)
    (0.0, 0.25, 1.0)
    """
    if schedule == "cosine":
        warm = 0.05
        if share < warm:
            return 0.1 + 0.9 * share / warm
        return 0.5 * (1.0 + cos(pi * (share - warm) / (1.0 - warm)))
    return 0.5**drops if schedule == "plateau" else 1.0
