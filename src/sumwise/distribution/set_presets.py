"""Options of `DeepSets`: of its network and of its training, with defaults, and the networks of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sumwise import checks

NETWORK: dict[str, Any] = {
    "phi": (64,),
    "rho": (64,),
    "pool": "mean",
    "embedding": None,
    "equivariant": False,
    "local": (),
    "activation": "silu",
    "normalise": True,
    "dropout": 0.0,
}
"""Options of a network by name, with their defaults; see `DeepSets`."""

TRAINING: dict[str, Any] = {
    "learning_rate": None,
    "weight_decay": None,
    "schedule": "cosine",
    "batch_bags": None,
    "max_rows": None,
    "patience": 20,
    "validation": 0.1,
    "checkpoint": None,
    "n_jobs": 1,
}
"""Options of training by name, with their defaults; see `DeepSets`."""


def completed(given: Mapping[str, Any] | None, defaults: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Options with their defaults; a name that is none of them is refused.

    Examples
    --------
    >>> from sumwise.distribution.set_presets import NETWORK, completed
    >>> completed({"pool": "max"}, NETWORK, "option of the network")["pool"]
    'max'
    """
    for name in given or {}:
        checks.known(name, list(defaults), what)
    return {**defaults, **(given or {})}


def arranged(options: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of `DeepSets` from options of network and training side by side.

    Examples
    --------
    >>> from sumwise.distribution.set_presets import arranged
    >>> arranged({"pool": "max", "task": "share", "patience": 5})
    {'task': 'share', 'network': {'pool': 'max'}, 'training': {'patience': 5}}
    """
    network = {name: value for name, value in options.items() if name in NETWORK}
    training = {name: value for name, value in options.items() if name in TRAINING}
    rest = {name: value for name, value in options.items() if name not in (*NETWORK, *TRAINING)}
    return {**rest, "network": network, "training": training}


PRESETS: dict[str, dict[str, Any]] = {
    # Zaheer et al. 2017, population statistics; widths as in their code. Sun 2019, section 4.3.1.
    "statistics": {
        "phi": (128, 128),
        "embedding": 128,
        "rho": (256, 128, 64),
        "pool": "mean",
        "activation": "elu",
        "normalise": False,
        "learning_rate": 1e-3,
        "weight_decay": 0.2,
    },
    # Zaheer et al. 2017, point clouds; Sun 2019, section 4.3.2.
    "points": {
        "phi": (256, 256, 256),
        "rho": (256,),
        "pool": "max",
        "equivariant": True,
        "activation": "tanh",
        "normalise": False,
        "dropout": 0.5,
        "task": "classification",
        "learning_rate": 1e-3,
        "weight_decay": 0.0,
    },
    # In the manner of PointNet (Qi et al. 2017), without its spatial transformers; widths chosen on held-out clouds.
    "pointnet": {
        "phi": (64, 128, 256),
        "rho": (128,),
        "pool": "max",
        "activation": "relu",
        "dropout": 0.3,
        "weight_decay": 0.2,
        "task": "classification",
    },
    # Lemus Gonzalez, section 4.2.1: the network of the Gamma, Gaussian and election experiments.
    "gamma": {
        "phi": (250, 250),
        "embedding": 250,
        "rho": (75, 75),
        "pool": "mean",
        "activation": "relu",
        "normalise": False,
        "learning_rate": 1e-4,
        "weight_decay": 0.0,
        "schedule": "constant",
        "batch_bags": 10,
        "max_epochs": 100,
    },
}
"""Settings by name; see `DeepSets.preset`."""
