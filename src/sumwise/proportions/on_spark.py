"""The bags' likelihood on Spark: bags stay in the executors, one pass per gradient."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise.checkpoint import fingerprint
from sumwise.extras import require
from sumwise.proportions.journal import Journal
from sumwise.proportions.linear import LinearProblem
from sumwise.spark import broken_workers, spark_session


def _evaluated(part: LinearProblem, method: str, sent: Any) -> Any:
    """A method of a part's problem at broadcast parameters."""
    return getattr(part, method)(sent.value)


def _kept(part: LinearProblem) -> LinearProblem:
    return part


class SparkProblem(LinearProblem):
    """A `LinearProblem` whose bags are spread over Spark's executors.

    Parts come back in their order and are added here, so the result doesn't depend on who was done first; it differs
    from the local problem's by rounding. A part that is lost with its executor is sent again.

    Parameters
    ----------
    local : LinearProblem
        The problem with all bags.
    session : SparkSession
    checkpoint : path, optional
        Where evaluations are kept, so that a fit whose driver was lost resumes from there.
    """

    def __init__(self, local: LinearProblem, session: Any, checkpoint: Any = None) -> None:
        super().__init__(local.values, local.likelihood, local.penalty, local.n_classes, local.random_intercept)
        self.session = session
        context = session.sparkContext
        key = None if checkpoint is None else _key(local)
        self.journal = Journal(checkpoint, key, context.defaultParallelism)
        parts = cut(local, self.journal.n_parts)
        storage = require("pyspark", extra="spark").StorageLevel
        self.rdd = context.parallelize(parts, len(parts)).map(_kept).persist(storage.MEMORY_AND_DISK)

    def _all(self, method: str, theta: np.ndarray) -> list[Any]:
        sent = self.session.sparkContext.broadcast(np.asarray(theta))
        with broken_workers("evaluate bags", self.session):
            found = self.rdd.map(partial(_evaluated, method=method, sent=sent)).collect()
        sent.destroy()
        return found

    def _summed(self, theta: np.ndarray) -> list[Any]:
        found = self._all("value_and_gradient", theta)
        return [sum(f[0] for f in found), np.sum([f[1] for f in found], axis=0)]

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The penalised total to maximise, and its gradient: one pass over the executors."""
        summed, gradient = self.journal.evaluated("value_and_gradient", theta, self._summed)
        total, gradient = float(summed), gradient.copy()
        coef = self.split(theta)[0]
        pull = self.pull(coef)
        gradient[: self.n_logits * self.width].reshape(self.n_logits, self.width)[:, :-1] -= pull
        return total - 0.5 * float((pull * coef).sum()), gradient

    def information(self, theta: np.ndarray) -> list[np.ndarray]:
        """As the local problem's: parts' blocks added up, then the penalty."""
        blocks = self.journal.evaluated(
            "information", theta, lambda at: [np.sum(b, axis=0) for b in zip(*self._all("information", at))]
        )
        return [block + self.penalty_block for block in blocks]


def cut(problem: LinearProblem, n_parts: int) -> list[LinearProblem]:
    """Cut a problem into parts of neighbouring bags with about as many rows each, without penalty."""
    offsets = problem.likelihood.offsets
    wanted = np.linspace(0, offsets[-1], n_parts + 1)[1:-1]
    edges = [0, *np.searchsorted(offsets, wanted), len(offsets) - 1]
    parts = []
    for begin, end in pairwise(edges):
        if begin < end:
            rows = slice(offsets[begin], offsets[end])
            part = problem.likelihood.take(np.arange(begin, end), rows)  # type: ignore[union-attr]
            parts.append(LinearProblem(problem.values[rows], part, 0.0, problem.n_classes, problem.random_intercept))
    return parts


def _key(problem: LinearProblem) -> str:
    """What evaluations depend on: rows, bags, what was observed of them, and the penalty."""
    likelihood = problem.likelihood
    seen = getattr(likelihood, "observed", None)
    known = [] if seen is None else [*(seen.observations or ()), seen.counts, seen.multiplicity]
    shape = [problem.n_logits, problem.random_intercept]
    temper = getattr(likelihood, "temper", None)
    return fingerprint(np.asarray(problem.values), likelihood.offsets, known, temper, problem.penalty, shape)


@contextmanager
def on_spark(problem: LinearProblem, master: str | None = None, checkpoint: Any = None) -> Iterator[SparkProblem]:
    """The problem on Spark, for the time of one fit; a session that is made here is stopped.

    With a checkpoint evaluations are kept while it runs and when it ends; whoever gave the file removes it.
    """
    session, stop = spark_session(master)
    try:
        spread = SparkProblem(problem, session, checkpoint)
        try:
            yield spread
        finally:
            spread.journal.save()
            spread.rdd.unpersist()
    finally:
        stop()
