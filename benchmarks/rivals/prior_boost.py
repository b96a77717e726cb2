"""PriorBoost, written from Javanmard, Fahrbach and Mirrokni (2024, arXiv 2402.04987), for a logistic model.

The learner chooses who is in a bag. People come in stages. Those of the first are put into random bags; those of every
later one are sorted by what the model of all stages before predicts for them, and cut into bags of neighbours, which is
the optimal bagging under that prediction. The model is fitted to all people so far, each with the share of the bag as
a label ("event-level loss").
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from sumwise import Bags


def on_shares(bags, counts) -> LogisticRegression:
    """A logistic regression in which everybody has the share of the bag as a label."""
    share = np.repeat(counts / bags.sizes, bags.sizes)
    labels = np.repeat([0, 1], len(share))
    model = LogisticRegression(max_iter=1000)
    return model.fit(np.vstack([bags.values] * 2), labels, sample_weight=np.append(1 - share, share))


def in_stages(values, labels, size, n_stages, rng):
    """All bags that were chosen, their counts and the last model; people who don't fill up a bag are left out."""
    chosen, model = [], None
    for people in np.array_split(rng.permutation(len(values)), n_stages):
        full = people[: len(people) - len(people) % size]
        if model is not None:
            full = full[np.argsort(model.predict_proba(values[full])[:, 1], kind="stable")]
        chosen.append(full)
        order = np.concatenate(chosen)
        bags = Bags(values[order], np.arange(0, len(order) + 1, size))
        counts = np.add.reduceat(labels[order], bags.offsets[:-1])
        model = on_shares(bags, counts)
    return bags, counts, model
