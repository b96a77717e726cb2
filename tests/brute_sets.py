"""DeepSets one bag and one row at a time, in double precision."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

ACTIVATIONS = {
    "silu": lambda x: x * expit(x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}


def pooled(rows, weights, how):
    if how == "max":
        return rows.max(axis=0)
    total = sum(w * r for w, r in zip(weights, rows))
    return total if how == "sum" else total / sum(weights)


def attended(rows, hidden, weights, w):
    """Mean of the rows by softmax(w' tanh(V h + b)) times weights; h is before the embedding (Ilse et al. 2018)."""
    scores = np.tanh(hidden @ w["attention.weight"] + w["attention.bias"]) @ w["attention.score"]
    shares = np.exp(scores[:, 0]) * weights
    return shares @ rows / shares.sum()


def bag_output(plan, arrays, x, weights):
    """rho(pool(phi(x))) of one bag from the stored weights and statistics."""
    w = {name: np.asarray(a, dtype=float) for name, a in arrays["weights"].items()}
    act, context = ACTIVATIONS[plan.activation], "max" if plan.pool == "max" else "mean"
    rows = np.asarray(x, dtype=float)
    for k in range(len(plan.phi)):
        out = rows @ w[f"phi{k}.weight"] + w[f"phi{k}.bias"]
        if plan.equivariant:
            out = out - pooled(rows, weights, context) @ w[f"phi{k}.context"]
        rows = act(out)
    if plan.local:
        top = pooled(rows, weights, context)
        rows = np.array([np.concatenate([r, top]) for r in rows])
        for k in range(len(plan.local)):
            rows = act(rows @ w[f"local{k}.weight"] + w[f"local{k}.bias"])
    hidden = rows
    if plan.embedding is not None:
        rows = rows @ w["embedding.weight"] + w["embedding.bias"]
    z = attended(rows, hidden, weights, w) if plan.pool == "attention" else pooled(rows, weights, plan.pool)
    if plan.normalise:
        mean, variance = (np.asarray(arrays["statistics"][n], dtype=float) for n in ("mean", "variance"))
        z = (z - mean) / np.sqrt(variance + 1e-5) * w["pool.scale"] + w["pool.bias"]
    for k in range(len(plan.rho) + 1):
        z = z @ w[f"rho{k}.weight"] + w[f"rho{k}.bias"]
        if k < len(plan.rho):
            z = act(z)
    return z
