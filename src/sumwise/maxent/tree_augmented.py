"""TreeAugmentedNaiveBayes: each feature leans on the class and on one other feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from sumwise import checks
from sumwise.maxent.naive_bayes import class_counts
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.tables_classifier import TablesClassifier
from sumwise.tables import Tables


@dataclass(eq=False, repr=False)
class TreeAugmentedNaiveBayes(TablesClassifier):
    """Naive Bayes with a tree between the features, in closed form from pairwise tables (Friedman et al. 1997).

    The tree is the one with the largest mutual information between neighbours given the class.

    Parameters
    ----------
    smoothing : float >= 0, default 20.0
        Individuals added to each conditional distribution, shaped like the feature's own given the class.

    Attributes
    ----------
    parents_ : dict of str to str or None
        Each feature's neighbour towards the root.

    See Also
    --------
    MaxEntClassifier : Learn P(label | features) of individuals from contingency tables alone, by the maximum entropy
        model.
    NaiveBayesTables : Naive Bayes from tables: every feature speaks for itself, as if the others weren't there.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import TreeAugmentedNaiveBayes
    >>> example = synthetic.xor(10_000, random_state=0)
    >>> model = TreeAugmentedNaiveBayes().fit(example.tables)
    >>> sorted(model.parents_)
    ['x1', 'x2', 'x3']
    """

    smoothing: float = 20.0

    def fit(self, tables: Tables) -> TreeAugmentedNaiveBayes:
        """Learn from tables of pairs (larger ones are summed onto pairs)."""
        smoothing = float(checks.at_least(self.smoothing, "smoothing", 0, whole_number=False))
        found = sufficient_statistics(tables, margins=True)
        d, names = len(tables.domain), tables.domain.attributes
        lay = found.layout
        pairs = {t: class_counts(found, t)[1].reshape(*lay.shape(t), -1) for t in lay.terms if len(t) == 2}
        parent = _tree(d, pairs)
        self._remember(tables, found.n)
        self.parents_ = {names[a]: None if p is None else names[p] for a, p in parent.items()}
        self.log_levels_ = {}
        self.log_conditionals_ = {}
        for a, p in parent.items():
            _, classes = class_counts(found, (a,))
            pool = (classes.sum(axis=1) + 0.5) / (classes.sum(axis=1) + 0.5).sum()
            share = (classes + smoothing * pool[:, None] + 1e-12) / (classes.sum(axis=0) + smoothing + 1e-12)
            self.log_levels_[names[a]] = np.log(share)  # (S_a, K)
            if p is not None:
                table = pairs[p, a] if (p, a) in pairs else pairs[a, p].transpose(1, 0, 2)
                filled = table + smoothing * share[None] + 1e-12
                self.log_conditionals_[names[a]] = np.log(filled / filled.sum(axis=1, keepdims=True))  # (S_p, S_a, K)
        self.log_shares_ = np.log(found.shares)
        return self

    def _scores(self, codes: np.ndarray) -> np.ndarray:
        scores = np.tile(self.log_shares_, (len(codes), 1))
        place = {a: i for i, a in enumerate(self.domain_.attributes)}
        for a, p in self.parents_.items():
            own = codes[:, place[a]]
            other = np.full(len(own), -1) if p is None else codes[:, place[p]]
            plain = self.log_levels_[a][np.maximum(own, 0)]
            if p is not None:
                tied = self.log_conditionals_[a][np.maximum(other, 0), np.maximum(own, 0)]
                plain = np.where((other >= 0)[:, None], tied, plain)  # a parent of unknown level is left out
            scores += np.where((own >= 0)[:, None], plain, 0.0)
        return scores


def _tree(d: int, pairs: dict) -> dict[int, int | None]:
    """Parents on the spanning forest of largest conditional mutual information."""
    weight = np.zeros((d, d))
    for (i, j), counts in pairs.items():
        weight[i, j] = -(_information(counts) + 1e-12)  # a tree of least weight; 0 means no edge
    forest = minimum_spanning_tree(weight)
    both = forest + forest.T
    parent: dict[int, int | None] = {}
    for root in range(d):
        if root in parent:
            continue
        order, before = breadth_first_order(both, root, directed=False)
        for a in order.tolist():
            parent[a] = None if a == root else int(before[a])
    return parent


def _information(counts: np.ndarray) -> float:
    """Mutual information of two features given the class, from counts (S, T, K)."""
    p = counts / max(counts.sum(), 1e-300)
    rows, cols, both = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True), p.sum(axis=(0, 1), keepdims=True)
    inside = p > 0
    ratio = np.where(inside, p * both, 1.0) / np.where(inside, rows * cols, 1.0)
    return float(np.sum(p * np.log(ratio)))
