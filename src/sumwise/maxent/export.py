"""A fitted model as plain weights: feature crosses to coefficients, for a program that only adds up and compares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sumwise import checks

__all__ = ["logistic_weights", "write_weights"]


def logistic_weights(model: Any) -> dict[str, Any]:
    """The weights of a fitted classifier as a dict that JSON can hold; see `MaxEntClassifier.to_logistic`."""
    lay, names = model._layout(), model.domain_.attributes
    classes = [checks.plain(c) for c in model.classes_]
    binary = len(model.theta_) == 1
    offsets = model.offsets_ - model.offsets_[0]
    weights = []
    for t, term in enumerate(lay.terms):
        part = model.theta_[:, lay.term_starts[t] : lay.term_starts[t + 1]]
        for i, at in enumerate(np.ndindex(*lay.shape(term))):
            if part[:, i].any():
                levels = [checks.plain(model.domain_.levels(names[a])[v]) for a, v in zip(term, at)]
                value = float(part[0, i]) if binary else [float(v) for v in part[:, i]]
                weights.append({"features": [names[a] for a in term], "levels": levels, "weight": value})
    return {
        "label": model.label_,
        "classes": classes,
        "intercept": float(offsets[1]) if binary else [float(v) for v in offsets],
        "weights": weights,
        "encoding": None if model.encoding_ is None else model.encoding_.project(names).to_dict(),
    }


def write_weights(weights: dict[str, Any], path: Any) -> None:
    """Write weights as JSON, whole or not at all."""
    target = Path(path)
    draft = target.with_name(target.name + ".part")
    draft.write_text(json.dumps(weights, ensure_ascii=False, indent=1, default=str), encoding="utf-8")
    draft.replace(target)
