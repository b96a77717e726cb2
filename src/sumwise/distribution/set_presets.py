"""Networks of the papers, as settings of `DeepSets`."""

from __future__ import annotations

from typing import Any

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
