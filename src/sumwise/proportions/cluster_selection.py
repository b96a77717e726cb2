"""ClusterSelection: clusters of rows that get the labels under which bags have their shares."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from sumwise import checks
from sumwise.bags import Bags
from sumwise.features import centre_and_scale
from sumwise.fit import Fit
from sumwise.proportions.base import BagClassifier
from sumwise.proportions.identification import warn_of_few_bags
from sumwise.proportions.shares import BagShares, bag_shares


def cluster_labels(occupancy: np.ndarray, shares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Classes of clusters under which bags' shares have the least squared error: greedy, one cluster at a time.

    Parameters
    ----------
    occupancy : (n_bags, n_clusters) array
        Share of each bag's members in each cluster.
    shares : (n_bags, n_classes) array
    weights : (n_bags,) array

    Returns
    -------
    (n_clusters,) array of int
    """
    n_clusters, n_classes = occupancy.shape[1], shares.shape[1]
    labels = np.full(n_clusters, int(np.argmax(weights @ shares)))

    def loss(given):
        return float(weights @ ((occupancy @ np.eye(n_classes)[given] - shares) ** 2).sum(axis=1))

    best = loss(labels)
    for _ in range(20 * n_clusters):
        trials = []
        for k in range(n_clusters):
            for c in range(n_classes):
                if c != labels[k]:
                    trial = labels.copy()
                    trial[k] = c
                    trials.append((loss(trial), k, c))
        least = min(trials)
        if least[0] >= best - 1e-12:
            break
        best, labels = least[0], labels.copy()
        labels[least[1]] = least[2]
    return labels


@dataclass(eq=False, repr=False)
class ClusterSelection(BagClassifier):
    """Learning from label proportions by clusters (Stolpe and Morik 2011).

    Rows are clustered by k-means; each cluster gets one class, such that the bags have about their shares; a row has
    the class of its cluster. The number of clusters is the one under which held-out bags' shares have the least squared
    error. The paper also searches weights of features by an evolutionary strategy; here features are standardised.
    Probabilities are those of the class of the cluster, mixed with the overall shares as far as shares are missed.

    Parameters
    ----------
    n_clusters : int or sequence of int, default (2, 4, 8, 16)
        Numbers to choose from.
    totals : as in `CardinalityClassifier`.
    random_state : int or None, default 0

    Attributes
    ----------
    n_clusters_ : int
    centres_ : array of shape (n_clusters, n_columns), of standardised features.
    labels_ : array of shape (n_clusters,), the class of each.
    fit_ : Fit, with the held-out error of each number of clusters.

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.
    MeanMap : The mean map of Quadrianto et al. (2009), or its Laplacian form (Patrini et al. 2014).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import ClusterSelection
    >>> bags = Bags(np.array([[0.0], [0.3], [0.2], [5.0], [5.1], [6.0]]), [0, 2, 4, 6])
    >>> ClusterSelection(2).fit(bags, [0, 1, 2]).predict([[0.1], [5.5]])
    array([0, 1])
    """

    centres_columns = True

    n_clusters: Any = (2, 4, 8, 16)
    _: KW_ONLY
    totals: str = "match"
    random_state: Any = 0

    def fit(self, bags: Bags, counts: Any, sample_weight: Any = None) -> ClusterSelection:
        """Fit to bags and their counts.

        Parameters
        ----------
        bags : Bags
        counts : array of shape (n_bags,) of class 1, or (n_bags, n_classes)
        sample_weight : array of shape (n_bags,), optional
            How much each bag counts, in clustering and for the classes of clusters; 0 leaves it out.
        """
        given = [self.n_clusters] if np.ndim(self.n_clusters) == 0 else list(self.n_clusters)
        for k in given:
            checks.at_least(k, "n_clusters", 2)
        bags, counts, weights = self._training(bags, counts, sample_weight)
        data = bag_shares(bags, counts, self.totals, weights)
        sizes = data.bag_weights * data.sizes
        self.n_classes_, self.classes_ = data.n_classes, np.arange(data.n_classes)
        self.mean_, self.scale_ = centre_and_scale(data.values)
        rng = checks.generator(self.random_state)
        seeds = [int(rng.integers(2**31)) for _ in given]
        folds = rng.permutation(np.arange(data.n_bags) % min(4, data.n_bags))
        rows = (data.values - self.mean_) / self.scale_
        most = len(np.unique(rows, axis=0))
        tried = [(k, seed) for k, seed in zip(given, seeds) if k <= most] or [(max(2, min(most, *given)), seeds[0])]
        errors = {k: self._held_out(rows, data, k, seed, folds) for k, seed in tried}
        self.n_clusters_ = min(errors, key=lambda k: errors[k])
        found = _clusters(rows, data, self.n_clusters_, 4, dict(tried)[self.n_clusters_])
        self.centres_ = found.cluster_centers_
        occupancy = _occupancy(found.labels_, data, self.n_clusters_)
        self.labels_ = cluster_labels(occupancy, data.shares, sizes / sizes.sum())
        self._smooth(occupancy, data)
        history = {"held_out": np.array([errors[k] for k, _ in tried])}
        self.fit_ = Fit(self.labels_, errors[self.n_clusters_], None, int(found.n_iter_), True, history)
        warn_of_few_bags(len(bags), bags.n_features)
        return self

    def _held_out(self, rows, data: BagShares, k, seed, folds) -> float:
        """Squared error of the shares of held-out bags; clusters are of all rows, which have no labels."""
        occupancy = _occupancy(_clusters(rows, data, k, 2, seed).labels_, data, k)
        total, sizes = 0.0, data.bag_weights * data.sizes
        for fold in range(int(folds.max()) + 1):
            train, test = folds != fold, folds == fold
            if train.any():
                labels = cluster_labels(occupancy[train], data.shares[train], sizes[train] / sizes.sum())
                off = occupancy[test] @ np.eye(data.n_classes)[labels] - data.shares[test]
                total += float(sizes[test] @ (off**2).sum(axis=1)) / sizes.sum()
        return total

    def _smooth(self, occupancy, data: BagShares) -> None:
        """How much of a cluster is taken to be of its class: the mixture with the overall shares of least error."""
        hard, overall = np.eye(data.n_classes)[self.labels_], data.overall
        away = occupancy @ hard - overall
        weights = (data.bag_weights * data.sizes)[:, None]
        part = float((weights * away * (data.shares - overall)).sum() / max((weights * away**2).sum(), 1e-300))
        part = min(max(part, 0.02), 0.98)
        self.probabilities_ = part * hard + (1.0 - part) * overall

    def _logits(self, bags: Bags) -> np.ndarray:
        rows = (np.asarray(bags.values, dtype=np.float64) - self.mean_) / self.scale_
        squares = (self.centres_**2).sum(axis=1) - 2.0 * rows @ self.centres_.T
        logs = np.log(np.maximum(self.probabilities_[np.argmin(squares, axis=1)], 1e-12))
        return logs[:, 1] - logs[:, 0] if self.n_classes_ == 2 else logs


def _occupancy(clusters: np.ndarray, data: BagShares, k: int) -> np.ndarray:
    return data.bag_means(np.eye(k)[clusters])


def _clusters(rows: np.ndarray, data: BagShares, k: int, starts: int, seed: int) -> Any:
    options: dict[str, Any] = {"n_init": starts, "random_state": seed}
    weights = None if data.importance is None else np.repeat(data.importance, data.sizes)
    return KMeans(k, **options).fit(rows, sample_weight=weights)
