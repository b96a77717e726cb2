"""Exchanges between individuals that keep the counts at both ends of a chain: how many must move at once."""

from __future__ import annotations

from collections import deque

import numpy as np


def fewest_movers(tail: np.ndarray, head: np.ndarray, counts: np.ndarray, cell: int, most: int) -> int:
    """The fewest individuals that must move at once to raise one move between two exact sets of counts.

    Times and states in between are nodes of a graph; raising a move is an arc along time, lowering one that
    somebody makes an arc against it. An exchange is a cycle, and every run of arcs against time is one individual.

    Parameters
    ----------
    tail, head : (E,) int arrays
        Nodes (states of a time) that each allowed move leads from and to; those of different times differ.
    counts : (E,) array
        Individuals that make it.
    cell : int
        The move to raise.
    most : int
        Give up beyond this many.

    Returns
    -------
    int
        ``most + 1`` where more are needed, 0 where no number suffices.
    """
    size = int(max(tail.max(), head.max())) + 1
    ahead: list[list[int]] = [[] for _ in range(size)]
    behind: list[list[int]] = [[] for _ in range(size)]
    for k, (a, b, n) in enumerate(zip(tail.tolist(), head.tolist(), np.asarray(counts).tolist())):
        ahead[a].append(b)
        if n > 0 and k != cell:
            behind[b].append(a)
    goal = int(tail[cell])
    queue, best = deque([(0, int(head[cell]), False)]), {}
    while queue:  # fewest first: going on costs nothing, a new individual costs one
        cost, node, back = queue.popleft()
        if best.get((node, back), most + 1) <= cost:
            continue
        best[node, back] = cost
        if node == goal and cost > 0:
            return cost
        for other in behind[node]:
            if back:
                queue.appendleft((cost, other, True))
            else:
                queue.append((cost + 1, other, True))
        for other in ahead[node]:
            queue.appendleft((cost, other, False))
    return most + 1 if _joined(ahead, behind, int(head[cell]), goal) else 0


def _joined(ahead: list[list[int]], behind: list[list[int]], start: int, goal: int) -> bool:
    """Whether any cycle leads back, however long."""
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        if node == goal:
            return True
        new = [n for n in (*ahead[node], *behind[node]) if n not in seen]
        seen.update(new)
        stack.extend(new)
    return False


def stuck_cells(
    tail: np.ndarray, head: np.ndarray, counts: np.ndarray, unchanged: np.ndarray, most: int, tries: int = 200
) -> int:
    """How many of (at most `tries`) unchanged moves need more than `most` individuals to move at once."""
    chosen = np.flatnonzero(unchanged)[:: max(1, int(np.sum(unchanged)) // tries)]
    return sum(fewest_movers(tail, head, counts, int(k), most) > most for k in chosen)
