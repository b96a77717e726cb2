"""Means of the features within each class, from the means and class shares of bags."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu
from scipy.spatial import KDTree

__all__ = ["bag_similarity", "class_means", "laplacian_class_means"]

DENSE = 1000  # bags up to which every pair is compared


def class_means(means, shares, weights):
    """Class means that all bags share (Quadrianto et al. 2009): the weighted least squares of m_b = sum_c p_bc mu_c.

    Parameters
    ----------
    means : (n_bags, n_features) array
    shares : (n_bags, n_classes) array
    weights : (n_bags,) array

    Returns
    -------
    (n_classes, n_features) array, and the rank of the system

    Examples
    --------
    >>> mu, rank = class_means(np.array([[1.0], [3.0]]), np.array([[0.75, 0.25], [0.25, 0.75]]), np.ones(2))
    >>> mu.round(9), int(rank)
    (array([[0.],
           [4.]]), 2)
    """
    root = np.sqrt(weights)[:, None]
    found, _, rank, _ = np.linalg.lstsq(shares * root, means * root, rcond=1e-10)
    return found, rank


def bag_similarity(means, n_neighbors=20):
    """Similarity ``exp(-|m_b - m_c| / s)`` of bags, s the median distance; of all pairs up to 1,000 bags, else of each
    bag's nearest (v^G,s of Patrini et al. 2014, eq. 9).

    Returns a symmetric sparse (n_bags, n_bags) matrix without a diagonal.

    Examples
    --------
    >>> bag_similarity(np.array([[0.0], [1.0]])).toarray().round(3)
    array([[0.   , 0.368],
           [0.368, 0.   ]])
    """
    n = len(means)
    k = n if n <= DENSE else min(n_neighbors + 1, n)
    if k < 2:
        return sparse.csc_matrix((n, n))
    distance, index = KDTree(means).query(means, k=k)
    spread = np.median(distance[:, 1:])
    values = np.exp(-distance / (spread if spread > 0 else 1.0))
    graph = sparse.csc_matrix((values.ravel(), (np.repeat(np.arange(n), k), index.ravel())), shape=(n, n))
    graph = graph.maximum(graph.T).tolil()
    graph.setdiag(0.0)
    graph = graph.tocsc()
    graph.eliminate_zeros()
    return graph


def laplacian_class_means(means, shares, weights, similarity, smoothness=1.0):
    """Class means of each bag, alike in bags that are alike (Patrini et al. 2014, eq. 7).

    Minimises ``sum_b w_b |m_b - sum_c p_bc mu_bc|^2 + smoothness / 2 * sum_bb' v_bb' sum_c |mu_bc - mu_b'c|^2``, with
    weights scaled to a mean of one and similarities to a mean degree of one, so that gamma of the paper is
    ``smoothness`` over the mean degree.

    Parameters
    ----------
    means : (n_bags, n_features) array
    shares : (n_bags, n_classes) array
    weights : (n_bags,) array
    similarity : (n_bags, n_bags) sparse array, symmetric
    smoothness : float

    Returns
    -------
    (n_bags, n_classes, n_features) array

    Examples
    --------
    >>> means, shares = np.array([[1.0], [3.0]]), np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> laplacian_class_means(means, shares, np.ones(2), bag_similarity(means), 1e6)[0].round(3)
    array([[0.],
           [4.]])
    """
    n, n_classes = shares.shape
    w = weights / weights.mean()
    degree = np.asarray(similarity.sum(axis=1)).ravel()
    scale = smoothness / max(degree.mean(), 1e-300)
    laplacian = sparse.diags(degree) - similarity
    blocks = [
        [
            sparse.diags(w * shares[:, c] * shares[:, d])
            + (scale * laplacian + 1e-9 * sparse.eye(n) if c == d else sparse.csc_matrix((n, n)))
            for d in range(n_classes)
        ]
        for c in range(n_classes)
    ]
    centre = means.mean(axis=0)  # the tiny ridge that makes it solvable pulls to the centre, not to zero
    right = np.vstack([(w * shares[:, c])[:, None] * (means - centre) for c in range(n_classes)])
    system = sparse.csc_matrix(sparse.block_array(blocks))
    found = np.linalg.solve(system.toarray(), right) if n * n_classes <= 2 * DENSE else splu(system).solve(right)
    return found.reshape(n_classes, n, -1).transpose(1, 0, 2) + centre
