"""Newton systems on chains: conjugate gradients preconditioned by symmetric block Gauss-Seidel, at one pass a step.

On a path the Hessian of the dual is ``L + B + U``: B holds each node's own block (a diagonal less one rank), and L
links a node with those before it. By the Markov property ``L x`` is a recursion of message derivatives, so solving
``(B + L) x = r`` is half a pass, and so is ``(B + U) x = r``. Eisenstat's device makes one step of the preconditioned
method as cheap as one product with the Hessian: with ``t = (B + U)^-1 p``,
``(B + L)^-1 A t = t + (B + L)^-1 (p - B t)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sumwise.inference.kernels.compiled import njit

if TYPE_CHECKING:
    from sumwise.collective.kernels.belief_propagation import Beliefs, Forest
    from sumwise.collective.kernels.count_problem import CountProblem


def paths(forest: Forest) -> list[tuple[list[int], list[int]]] | None:
    """Nodes and steps of each component from its far end to its root; None where a component is no path."""
    if (forest.degrees > 2).any():
        return None
    out = []
    follow = {child: (k, parent) for k, (child, parent, _, _) in enumerate(forest.steps)}
    parents = {parent for _, parent, _, _ in forest.steps}
    for start in range(len(forest.sizes)):
        if start in parents:
            continue
        nodes, steps, node = [start], [], start
        while node in follow:
            k, node = follow[node]
            nodes.append(node)
            steps.append(k)
        out.append((nodes, steps))
    # A root in the middle of a path would have two children, and be reached twice.
    return out if sum(len(nodes) for nodes, _ in out) == len(forest.sizes) else None


class PathSystem:
    """``(curvature + covariance) x = r`` on the free cells of a forest of paths.

    Parameters
    ----------
    problem : CountProblem
        On paths, with every cell observed at most once.
    beliefs, cells
        What a pass left.
    curvature : (n_cells,) array
    free : (n_cells,) bool array
        Cells whose multiplier may move; the others stay at zero.
    """

    def __init__(
        self, problem: CountProblem, beliefs: Beliefs, cells: np.ndarray, curvature: np.ndarray, free: np.ndarray
    ) -> None:
        self.problem, self.beliefs, self.cells = problem, beliefs, cells
        self.diagonal = np.where(free, curvature + cells, 0.0)
        self.inverse = np.where(free, 1.0 / np.maximum(self.diagonal, 1e-300), 0.0)
        self.n = np.where(free, cells, 0.0)
        self.u = self.inverse * self.n
        used = np.add.reduceat(self.n * self.u, problem.offsets[:-1])
        # The rank that is taken off must leave the block positive: a little less is taken where needed.
        self.whole = np.maximum(problem.total, used + 1e-3 * problem.total)
        self.rest = self.whole - used

    def block(self, x: np.ndarray) -> np.ndarray:
        """``B x``."""
        return _block(x, self.diagonal, self.n, self.problem.offsets, self.whole)

    def _substitute(self, rhs: np.ndarray, down: bool) -> np.ndarray:
        """Solve ``(B + L) x = rhs`` from the far ends to the roots, or ``(B + U) x = rhs`` the other way."""
        problem, edges, steps = self.problem, self.problem.forest.edges, self.problem.forest.steps
        memos = self.beliefs.memo_down if down else self.beliefs.memo_up
        x = np.zeros_like(rhs)
        for nodes, links in problem.paths or ():
            received = None
            last = len(nodes) - 1
            for j in range(last + 1):
                i = nodes[last - j] if down else nodes[j]
                here = slice(problem.offsets[i], problem.offsets[i + 1])
                fixed = self.cells[here], self.n[here], self.inverse[here], self.u[here]
                own = x[here]
                if received is None:
                    sent = _first(rhs[here], *fixed[2:], self.rest[i], own)
                else:
                    sent = _next(rhs[here], received, *fixed, problem.total, self.rest[i], own)
                if j < last:
                    k = links[last - 1 - j] if down else links[j]
                    received = edges[steps[k][2]][2].tangent(memos[k], sent)
        return x

    def solve(self, rhs: np.ndarray, forcing: float, max_products: int) -> np.ndarray:
        """Lower the residual of the preconditioned system to `forcing` of its size at zero."""
        x = np.zeros_like(rhs)
        residual = self._substitute(rhs, down=False)
        moved = self.block(residual)
        size = float(residual @ moved)
        first, p = size, moved.copy()
        for _ in range(max_products):
            if size <= 0:
                break
            self.problem.n_tangents += 1
            t = self._substitute(p, down=True)
            w = t + self._substitute(p - self.block(t), down=False)
            steep = float(p @ w)
            if steep <= 0:
                break
            x += (size / steep) * t
            residual -= (size / steep) * w
            moved = self.block(residual)
            size, before = float(residual @ moved), size
            if size <= forcing**2 * first:
                break
            p *= size / before
            p += moved
        return x


# One pass over a node's cells in place of a dozen: on tables of moves the temporaries cost more than the arithmetic.
# Only loops that store nothing may sum in another order: one that stores, too, would do so or not by where arrays lie.


@njit(cache=True, fastmath={"reassoc", "nsz"})
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for c in range(len(a)):
        total += a[c] * b[c]
    return total


@njit(cache=True, fastmath={"reassoc", "nsz"})
def _pull(u: np.ndarray, rhs: np.ndarray, n: np.ndarray, received: np.ndarray, mean: float) -> float:
    total = 0.0
    for c in range(len(u)):
        total += u[c] * (rhs[c] - n[c] * (received[c] - mean))
    return total


@njit(cache=True)
def _block(x: np.ndarray, diagonal: np.ndarray, n: np.ndarray, offsets: np.ndarray, whole: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    for i in range(len(whole)):
        here = slice(offsets[i], offsets[i + 1])
        v, d, m, to = x[here], diagonal[here], n[here], out[here]
        inner = _dot(m, v) / whole[i]
        for c in range(len(v)):
            to[c] = d[c] * v[c] - m[c] * inner
    return out


@njit(cache=True)
def _first(rhs: np.ndarray, inverse: np.ndarray, u: np.ndarray, rest: float, own: np.ndarray) -> np.ndarray:
    """A path's first node: fills in its part `own` of the solution, and returns its message to the next."""
    pull = _dot(u, rhs) / rest
    for c in range(len(rhs)):
        own[c] = inverse[c] * rhs[c] + u[c] * pull
    return own


@njit(cache=True)
def _next(
    rhs: np.ndarray,
    received: np.ndarray,
    cells: np.ndarray,
    n: np.ndarray,
    inverse: np.ndarray,
    u: np.ndarray,
    total: float,
    rest: float,
    own: np.ndarray,
) -> np.ndarray:
    """The same for a node that has received from the one before it."""
    mean = _dot(cells, received) / total
    pull = _pull(u, rhs, n, received, mean) / rest
    sent = np.empty_like(rhs)
    for c in range(len(rhs)):
        own[c] = inverse[c] * (rhs[c] - n[c] * (received[c] - mean)) + u[c] * pull
        sent[c] = received[c] + own[c]
    return sent
