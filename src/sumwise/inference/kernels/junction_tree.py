"""Junction trees: triangulate a graph, find its maximal cliques, join them by the largest separators."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

__all__ = ["junction_tree"]


def junction_tree(
    sets: list[list[int] | tuple[int, ...]] | tuple[tuple[int, ...], ...],
    sizes: np.ndarray | list[int] | tuple[int, ...],
) -> tuple[list[tuple[int, ...]], list[tuple[int, int, tuple[int, ...]]]]:
    """Cliques and the tree between them for a graph in which each of `sets` is fully connected.

    Vertices are eliminated by least fill-in (then least table); the cliques are joined by a spanning tree of
    largest separators.

    Parameters
    ----------
    sets : sequence of sequences of int
        Vertices that must share a clique.
    sizes : sequence of int
        Number of states of each vertex.

    Returns
    -------
    cliques : list of sorted tuples
    links : list of (clique, clique, separator as a sorted tuple), separators not empty

    Examples
    --------
    >>> junction_tree([(0, 1), (1, 2), (2, 3), (3, 0)], [2, 2, 2, 2])
    ([(0, 1, 3), (1, 2, 3)], [(0, 1, (1, 3))])
    """
    cliques, links = _tree(tuple(map(tuple, sets)), tuple(map(int, sizes)))
    return list(cliques), list(links)


@lru_cache(maxsize=32)  # a trainer asks for the same tree at every step
def _tree(
    sets: tuple[tuple[int, ...], ...], sizes: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], list[tuple[int, int, tuple[int, ...]]]]:
    n = len(sizes)
    neighbours = [set() for _ in range(n)]
    for group in sets:
        for a, b in combinations(group, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
    cliques = []
    left = set(range(n))
    while left:
        vertex = min(left, key=lambda v: _price(v, neighbours, sizes))
        around = neighbours[vertex]
        clique = frozenset(around | {vertex})
        if not any(clique <= other for other in cliques):
            cliques.append(clique)
        for a, b in combinations(around, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
        for a in around:
            neighbours[a].discard(vertex)
        left.discard(vertex)
    ordered = sorted(tuple(sorted(c)) for c in cliques)
    return ordered, _spanning_tree(ordered)


def _price(vertex: int, neighbours: list[set[int]], sizes: tuple[int, ...]) -> tuple[int, float, int]:
    around = neighbours[vertex]
    fill = sum(1 for a, b in combinations(around, 2) if b not in neighbours[a])
    return fill, float(np.log([sizes[v] for v in around | {vertex}]).sum()), vertex


def _spanning_tree(cliques: list[tuple[int, ...]]) -> list[tuple[int, int, tuple[int, ...]]]:
    pairs = [
        (-len(shared), i, j, shared)
        for (i, a), (j, b) in combinations(enumerate(cliques), 2)
        if (shared := tuple(sorted(set(a) & set(b))))
    ]
    parent = list(range(len(cliques)))

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    links = []
    for _, i, j, shared in sorted(pairs):
        if root(i) != root(j):
            parent[root(i)] = root(j)
            links.append((i, j, shared))
    return links
