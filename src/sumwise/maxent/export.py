"""A fitted model as plain weights: feature crosses to coefficients, for a program that only adds up and compares."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.maxent.effects import effect_terms
from sumwise.maxent.fitted_model import LogLinearModel, Schema


def logistic_weights(model: LogLinearModel) -> dict[str, Any]:
    """The weights of a fitted classifier as a dict that JSON can hold; see `MaxEntClassifier.to_logistic`."""
    lay, theta, schema = model.layout, model.parameters.theta, model.schema
    names = schema.domain.attributes
    classes = [checks.plain(c) for c in schema.classes]
    binary = len(theta) == 1
    offsets = model.parameters.offsets - model.parameters.offsets[0]
    level_of = [[checks.plain(v) for v in schema.domain.levels(a)] for a in names]
    weights = []
    for t, term in enumerate(lay.terms):
        part = theta[:, lay.term_starts[t] : lay.term_starts[t + 1]]
        for i, at in enumerate(lay.term_cells(t)):
            if part[:, i].any():
                levels = [level_of[a][v] for a, v in zip(term, at)]
                value = float(part[0, i]) if binary else [float(v) for v in part[:, i]]
                weights.append({"features": [names[a] for a in term], "levels": levels, "weight": value})
    return {
        "label": schema.label,
        "classes": classes,
        "intercept": float(offsets[1]) if binary else [float(v) for v in offsets],
        "weights": weights,
        "encoding": encoding_rules(schema),
    }


def encoding_rules(schema: Schema) -> dict[str, Any] | None:
    """How raw columns become the levels of a model's attributes, as JSON can hold it."""
    if schema.encoding is None:
        return None
    return schema.encoding.project([a for a in schema.domain.attributes if a in schema.encoding]).to_dict()


def _classes_and_levels(model: LogLinearModel) -> tuple[Any, list]:
    """Classes that have parameters of their own, and the levels of every attribute."""
    classes, domain = model.schema.classes, model.schema.domain
    own = classes[1:] if len(model.parameters.theta) == 1 else classes
    return own, [domain.levels(a) for a in domain.attributes]


def coefficient_frame(model: LogLinearModel) -> Any:
    """Theta of a fitted classifier as a pandas frame: table, levels, class, coefficient."""
    import pandas as pd

    lay, theta, schema = model.layout, model.parameters.theta, model.schema
    classes, level_of = _classes_and_levels(model)
    rows = []
    for t, term in enumerate(lay.terms):
        part = theta[:, lay.term_starts[t] : lay.term_starts[t + 1]]
        for i, at in enumerate(lay.term_cells(t)):
            levels = tuple(level_of[a][v] for a, v in zip(term, at))
            rows += [(schema.names(term), levels, checks.plain(c), part[k, i]) for k, c in enumerate(classes)]
    return pd.DataFrame(rows, columns=["table", "levels", "class", "coefficient"])


def effect_frame(model: LogLinearModel, effects: list, halves: list, contraction: list) -> Any:
    """Effects (C, cells) of every set of attributes as a pandas frame, with half widths of their intervals."""
    import pandas as pd

    lay, schema = model.layout, model.schema
    classes, level_of = _classes_and_levels(model)
    rows = []
    for term, *values in zip(effect_terms(lay), effects, halves, contraction):
        place = lay.terms.index(term) if term in lay.terms else None
        cells = np.ndindex(*lay.shape(term)) if place is None else lay.term_cells(place)
        for i, at in enumerate(cells):
            levels = tuple(level_of[a][v] for a, v in zip(term, at))
            for k, c in enumerate(classes):
                effect, half, known = (v[k, i] for v in values)
                title = schema.names(term)
                rows.append((title, levels, checks.plain(c), effect, effect - half, effect + half, known))
    return pd.DataFrame(rows, columns=["table", "levels", "class", "effect", "low", "high", "contraction"])
