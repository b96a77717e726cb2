"""A fitted model as plain weights: feature crosses to coefficients, for a program that only adds up and compares."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.maxent.effects import effect_terms

__all__ = ["cells_of", "coefficient_frame", "effect_frame", "logistic_weights", "own_places", "write_weights"]


def cells_of(lay: Any, t: int) -> Iterable[tuple[int, ...]]:
    """Levels of each cell that term `t` has a parameter for, in their order; the last place of listed cells has none.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.kernels.loglinear import layout
    >>> from sumwise.maxent.export import cells_of
    >>> list(cells_of(layout((2, 3), [(0, 1)], {(0, 1): np.array([1, 5])}), 0))
    [(0, 1), (1, 2)]
    """
    kept, shape = lay.listing(t), lay.shape(lay.terms[t])
    if kept is None:
        return np.ndindex(*shape)
    return (tuple(map(int, at)) for at in zip(*np.unravel_index(kept, shape)))


def own_places(lay: Any) -> np.ndarray:
    """Whether a parameter is a cell's own (P,), not that of all cells that a table doesn't list."""
    own = np.ones(lay.n_params, dtype=bool)
    own[[lay.starts[c + 1] - 1 for c, kept in enumerate(lay.listed) if kept is not None]] = False
    return own


def logistic_weights(model: Any) -> dict[str, Any]:
    """The weights of a fitted classifier as a dict that JSON can hold; see `MaxEntClassifier.to_logistic`."""
    lay, names = model._layout(), model.domain_.attributes
    classes = [checks.plain(c) for c in model.classes_]
    binary = len(model.theta_) == 1
    offsets = model.offsets_ - model.offsets_[0]
    level_of = [[checks.plain(v) for v in model.domain_.levels(a)] for a in names]
    weights = []
    for t, term in enumerate(lay.terms):
        part = model.theta_[:, lay.term_starts[t] : lay.term_starts[t + 1]]
        for i, at in enumerate(cells_of(lay, t)):
            if part[:, i].any():
                levels = [level_of[a][v] for a, v in zip(term, at)]
                value = float(part[0, i]) if binary else [float(v) for v in part[:, i]]
                weights.append({"features": [names[a] for a in term], "levels": levels, "weight": value})
    return {
        "label": model.label_,
        "classes": classes,
        "intercept": float(offsets[1]) if binary else [float(v) for v in offsets],
        "weights": weights,
        "encoding": None if model.encoding_ is None else _rules_of(model),
    }


def _rules_of(model: Any) -> dict[str, Any]:
    return model.encoding_.project([a for a in model.domain_.attributes if a in model.encoding_]).to_dict()


def coefficient_frame(model: Any) -> Any:
    """Theta of a fitted classifier as a pandas frame: table, levels, class, coefficient."""
    import pandas as pd

    lay, names = model._layout(), model.domain_.attributes
    classes = model.classes_[1:] if len(model.theta_) == 1 else model.classes_
    level_of = [model.domain_.levels(a) for a in names]
    rows = []
    for t, term in enumerate(lay.terms):
        part = model.theta_[:, lay.term_starts[t] : lay.term_starts[t + 1]]
        for i, at in enumerate(cells_of(lay, t)):
            levels = tuple(level_of[a][v] for a, v in zip(term, at))
            rows += [(model.terms_[t], levels, checks.plain(c), part[k, i]) for k, c in enumerate(classes)]
    return pd.DataFrame(rows, columns=["table", "levels", "class", "coefficient"])


def effect_frame(model: Any, effects: list, halves: list, told: list) -> Any:
    """Effects (C, cells) of every set of attributes as a pandas frame, with half widths of their intervals."""
    import pandas as pd

    lay, names = model._layout(), model.domain_.attributes
    classes = model.classes_[1:] if len(model.theta_) == 1 else model.classes_
    level_of = [model.domain_.levels(a) for a in names]
    rows = []
    for term, *values in zip(effect_terms(lay), effects, halves, told):
        place = lay.terms.index(term) if term in lay.terms else None
        cells = np.ndindex(*lay.shape(term)) if place is None else cells_of(lay, place)
        for i, at in enumerate(cells):
            levels = tuple(level_of[a][v] for a, v in zip(term, at))
            for k, c in enumerate(classes):
                effect, half, known = (v[k, i] for v in values)
                title = tuple(names[a] for a in term)
                rows.append((title, levels, checks.plain(c), effect, effect - half, effect + half, known))
    return pd.DataFrame(rows, columns=["table", "levels", "class", "effect", "low", "high", "told"])


def write_weights(weights: dict[str, Any], path: Any) -> None:
    """Write weights as JSON, whole or not at all."""
    target = Path(path)
    draft = target.with_name(target.name + ".part")
    draft.write_text(json.dumps(weights, ensure_ascii=False, indent=1, default=str), encoding="utf-8")
    draft.replace(target)
