"""Small bags whose labels a logistic model drew, for tests of several modules."""

import numpy as np

from sumwise import Bags


def people(n_bags=30, size=5, n_classes=2, seed=0, own=0.0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    logits = np.column_stack([np.zeros(len(values)), values @ rng.normal(size=(2, n_classes - 1))])
    logits[:, 1:] += np.repeat(own * rng.normal(size=(n_bags, n_classes - 1)), size, axis=0)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    counts = np.eye(n_classes, dtype=int)[labels].reshape(n_bags, size, -1).sum(axis=1)
    return Bags(values, np.arange(0, len(values) + 1, size)), counts
