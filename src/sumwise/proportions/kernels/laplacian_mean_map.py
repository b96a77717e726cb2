"""Means of the features within each class, from the means and class shares of bags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu
from scipy.spatial import KDTree

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

DENSE = 1000  # bags up to which every pair is compared
RIDGE = np.sqrt(
    np.finfo(float).eps
)  # makes the system solvable where shares are all equal; it pulls to the centre of the means
EXACT = 1e-11  # residual of conjugate gradients, relative


def class_means(means: np.ndarray, shares: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, int]:
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
    return found, int(rank)


def bag_similarity(means: np.ndarray, n_neighbors: int = 20) -> csc_matrix:
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
    graph = graph.maximum(graph.T)
    graph = sparse.csc_matrix(graph - sparse.diags(graph.diagonal()))
    graph.eliminate_zeros()
    return graph


def laplacian_class_means(
    means: np.ndarray, shares: np.ndarray, weights: np.ndarray, similarity: csc_matrix, smoothness: float = 1.0
) -> np.ndarray:
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
    centre = means.mean(axis=0)
    w = weights / weights.mean()
    right = np.vstack([(w * shares[:, c])[:, None] * (means - centre) for c in range(n_classes)])
    system = _system(shares, w, similarity, smoothness)
    found = np.linalg.solve(system.toarray(), right) if n * n_classes <= 2 * DENSE else splu(system).solve(right)
    return found.reshape(n_classes, n, -1).transpose(1, 0, 2) + centre


def laplacian_class_sums(
    means: np.ndarray, shares: np.ndarray, weights: np.ndarray, similarity: csc_matrix, smoothness: float = 1.0
) -> np.ndarray:
    """The sum over bags of members of each class times their `laplacian_class_means`: all that a linear model needs.

    The system A of Patrini et al. is solved for one column per class instead of one per feature: with C the members of
    each class by bag and R its right side, the sums are C' A^-1 R = (A^-1 C)' R. Beyond 1,000 bags by conjugate
    gradients, since a graph of neighbours in many dimensions fills up when factorised.

    Parameters
    ----------
    means, shares, weights, similarity, smoothness : as in `laplacian_class_means`; weights are the bags' sizes.

    Returns
    -------
    (n_classes, n_features) array

    Examples
    --------
    >>> means, shares = np.array([[1.0], [3.0]]), np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> laplacian_class_sums(means, shares, np.full(2, 10), bag_similarity(means), 1e6).round(2)
    array([[ 0.],
           [40.]])
    """
    n, n_classes = shares.shape
    centre = means.mean(axis=0)
    w = weights / weights.mean()
    system = _system(shares, w, similarity, smoothness)
    members = weights[:, None] * shares
    columns = np.zeros((n_classes, n, n_classes))
    for c in range(n_classes):
        columns[c, :, c] = members[:, c]
    columns = columns.reshape(-1, n_classes)
    if n * n_classes <= 2 * DENSE:
        found = np.linalg.solve(system.toarray(), columns)
    else:
        found = _conjugate_gradients(system, columns)
    pulls = found.reshape(n_classes, n, n_classes) * (w[:, None] * shares).T[:, :, None]
    return pulls.sum(axis=0).T @ (means - centre) + members.sum(axis=0)[:, None] * centre


def _system(shares: np.ndarray, w: np.ndarray, similarity: csc_matrix, smoothness: float) -> csc_matrix:
    """Pi D_w Pi' + gamma L of Patrini et al. 2014, Lemma 2, class by class: (n_classes n_bags, n_classes n_bags)."""
    n, n_classes = shares.shape
    degree = np.asarray(similarity.sum(axis=1)).ravel()
    scale = smoothness / max(degree.mean(), 1e-300)
    smooth = scale * (sparse.diags(degree) - similarity) + RIDGE * sparse.eye(n)
    blocks = [
        [
            sparse.diags(w * shares[:, c] * shares[:, d]) + (smooth if c == d else sparse.csc_matrix((n, n)))
            for d in range(n_classes)
        ]
        for c in range(n_classes)
    ]
    return sparse.csc_matrix(sparse.block_array(blocks))


def _conjugate_gradients(system: csc_matrix, columns: np.ndarray) -> np.ndarray:
    """Solve a positive definite system for several columns at once, scaled by its diagonal; what conjugate gradients
    don't reach in twice as many steps as there are unknowns is factorised."""
    root = 1.0 / np.sqrt(system.diagonal())
    scaled = (sparse.diags(root) @ system @ sparse.diags(root)).tocsr()
    right = root[:, None] * columns
    x, r = np.zeros_like(right), right.copy()
    p, squared = r.copy(), (r * r).sum(axis=0)
    goal = (EXACT**2) * squared
    for _ in range(2 * len(columns)):
        if (squared <= goal).all():
            return root[:, None] * x
        ahead = scaled @ p
        step = squared / np.maximum((p * ahead).sum(axis=0), 1e-300)
        x += step * p
        r -= step * ahead
        last, squared = squared, (r * r).sum(axis=0)
        p = r + squared / np.maximum(last, 1e-300) * p
    return splu(system).solve(columns)
