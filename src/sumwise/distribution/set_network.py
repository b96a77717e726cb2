"""The network behind DeepSets: rho of the pooled phi, as plain functions on named tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.inference.networks.pooling import POOLS

ACTIVATIONS = ("silu", "elu", "relu", "tanh")


@dataclass(frozen=True)
class Plan:
    """Widths and kinds of a network's layers.

    Examples
    --------
    >>> from sumwise.distribution.set_network import Plan
    >>> Plan(n_features=3, n_outputs=1, phi=(8,)).pool_width
    8
    """

    n_features: int
    n_outputs: int
    phi: tuple = (64,)
    embedding: int | None = None
    local: tuple = ()
    rho: tuple = (64,)
    pool: str = "mean"
    equivariant: bool = False
    activation: str = "silu"
    normalise: bool = True
    dropout: float = 0.0

    @property
    def pool_width(self) -> int:
        """Numbers that describe a bag."""
        return self.embedding or (*self.phi, *self.local)[-1]

    @property
    def context(self) -> str:
        """How permutation-equivariant layers pool: sums would grow from layer to layer."""
        return "max" if self.pool == "max" else "mean"


def make_plan(n_features: int, n_outputs: int, given: Mapping[str, Any]) -> Plan:
    """Return a checked plan from an estimator's parameters.

    Examples
    --------
    >>> from sumwise.distribution.set_network import make_plan
    >>> make_plan(2, 1, {"phi": [8, 4], "pool": "max"}).phi
    (8, 4)
    """
    kept: dict[str, Any] = dict(given)
    checks.choice(kept.get("pool", "mean"), "pool", (*POOLS, "attention"))
    checks.choice(kept.get("activation", "silu"), "activation", ACTIVATIONS)
    for name in ("phi", "local", "rho"):
        if name in kept:
            widths = checks.listing(kept[name], name, "give the widths of its layers, as in (64, 64).")
            kept[name] = tuple(int(checks.at_least(w, f"a width in {name}", 1)) for w in widths)
    if not kept.get("phi", (64,)):
        raise DataError("phi has no layers.", hint="give at least one width, as in phi=(64,).")
    if kept.get("embedding") is not None:
        checks.at_least(kept["embedding"], "embedding", 1)
    dropout = kept.get("dropout", 0.0)
    if checks.at_least(dropout, "dropout", 0, whole_number=False) >= 1:
        raise DataError(f"dropout is {dropout!r}.", hint="give a share below 1.")
    return Plan(n_features, n_outputs, **kept)


def fresh_weights(plan: Plan, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return new weights by name, float32: normal with variance 2 / n_in, biases uniform within 1 / sqrt(n_in).

    The last layer begins at zero, so that the first prediction is the mean response.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.set_network import Plan, fresh_weights
    >>> sorted(fresh_weights(Plan(3, 1, phi=(8,), rho=()), np.random.default_rng(0)))
    ['phi0.bias', 'phi0.weight', 'pool.bias', 'pool.scale', 'rho0.bias', 'rho0.weight']
    """
    weights: dict[str, np.ndarray] = {}

    def layer(name: str, n_in: int, n_out: int, pooled: bool = False) -> None:
        weights[f"{name}.weight"] = rng.normal(size=(n_in, n_out)) * (2.0 / n_in) ** 0.5
        weights[f"{name}.bias"] = rng.uniform(-1.0, 1.0, n_out) / n_in**0.5
        if pooled:
            weights[f"{name}.context"] = rng.normal(size=(n_in, n_out)) * (1.0 / n_in) ** 0.5

    widths = [plan.n_features, *plan.phi]
    for k, (n_in, n_out) in enumerate(pairwise(widths)):
        layer(f"phi{k}", n_in, n_out, plan.equivariant)
    widths = [2 * plan.phi[-1], *plan.local]
    for k, (n_in, n_out) in enumerate(pairwise(widths)):
        layer(f"local{k}", n_in, n_out)
    if plan.embedding is not None:
        layer("embedding", (*plan.phi, *plan.local)[-1], plan.embedding)
    if plan.pool == "attention":
        n_in = (*plan.phi, *plan.local)[-1]
        layer("attention", n_in, n_in)
        weights["attention.score"] = np.zeros((n_in, 1))  # begins as a mean
    if plan.normalise:
        weights["pool.scale"], weights["pool.bias"] = np.ones(plan.pool_width), np.zeros(plan.pool_width)
    widths = [plan.pool_width, *plan.rho, plan.n_outputs]
    for k, (n_in, n_out) in enumerate(pairwise(widths)):
        layer(f"rho{k}", n_in, n_out)
    last = len(plan.rho)
    weights[f"rho{last}.weight"][:] = 0.0
    weights[f"rho{last}.bias"][:] = 0.0
    return {name: array.astype(np.float32) for name, array in weights.items()}


def embed(
    plan: Plan,
    weights: Mapping[str, Any],
    rows: Any,
    bags: Any,
    seen: list | None = None,
    attended: list | None = None,
) -> Any:
    """Return the pooled phi of each bag, (n_bags, pool_width); bags are `Segments`.

    `seen`, where given, collects every matrix that was pooled by maxima, `attended` the weights of rows (n_rows, 1).
    """
    torch = require("torch")
    active = _activation(torch, plan.activation)

    def pool(x: Any, how: str) -> Any:
        if seen is not None and how == "max":
            seen.append(x)
        return _attended(weights, x, bags, attended) if how == "attention" else bags.pool(x, how)

    for k in range(len(plan.phi)):
        out = torch.addmm(weights[f"phi{k}.bias"], rows, weights[f"phi{k}.weight"])
        if plan.equivariant:
            out = out - bags.spread(pool(rows, plan.context) @ weights[f"phi{k}.context"])
        rows = active(out)
    if plan.local:
        rows = torch.cat([rows, bags.spread(pool(rows, plan.context))], dim=1)
        for k in range(len(plan.local)):
            rows = active(torch.addmm(weights[f"local{k}.bias"], rows, weights[f"local{k}.weight"]))
    if plan.embedding is None:
        return pool(rows, plan.pool)
    weight, bias = weights["embedding.weight"], weights["embedding.bias"]
    if plan.pool == "max":
        return pool(torch.addmm(bias, rows, weight), "max")
    # a layer without activation commutes with sums and means: done once per bag, not once per row
    return pool(rows, plan.pool) @ weight + (bias * bags.totals if plan.pool == "sum" else bias)


def forward(
    plan: Plan,
    weights: Mapping[str, Any],
    pooled: Any,
    statistics: Mapping[str, Any],
    generator: Any = None,
) -> Any:
    """Return rho of the pooled phi, (n_bags, n_outputs).

    Training has a `generator`, which draws dropouts; the pool is then normalised by the batch, and the running
    `statistics` (mean and variance of the pool) are updated in place. A batch of one bag uses them as they are.
    """
    torch = require("torch")
    active = _activation(torch, plan.activation)
    training = generator is not None
    if plan.normalise:
        pooled = torch.nn.functional.batch_norm(
            pooled,
            statistics["mean"],
            statistics["variance"],
            weights["pool.scale"],
            weights["pool.bias"],
            training=training and len(pooled) > 1,
        )
    for k in range(len(plan.rho) + 1):
        if training and plan.dropout:
            kept = torch.rand(pooled.shape, generator=generator, device=pooled.device) >= plan.dropout
            pooled = pooled * kept / (1.0 - plan.dropout)
        pooled = torch.addmm(weights[f"rho{k}.bias"], pooled, weights[f"rho{k}.weight"])
        if k < len(plan.rho):
            pooled = active(pooled)
    return pooled


def _attended(weights: Mapping[str, Any], rows: Any, bags: Any, attended: list | None) -> Any:
    """Means of rows with weights of a softmax over the bag; w' tanh(V h + b) scores a row (Ilse et al. 2018)."""
    hidden = require("torch").tanh(rows @ weights["attention.weight"] + weights["attention.bias"])
    pooled, shares = bags.attend(rows, hidden @ weights["attention.score"])
    if attended is not None:
        attended.append(shares)
    return pooled


def _activation(torch: Any, name: str) -> Any:
    return torch.tanh if name == "tanh" else getattr(torch.nn.functional, name)
