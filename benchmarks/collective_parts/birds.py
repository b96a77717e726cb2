"""Seasons of birds, learners of their four weights, and how far off these are."""

from __future__ import annotations

import signal
import time
import warnings
from typing import ClassVar

import numpy as np

from sumwise import synthetic
from sumwise.collective import CollectiveEM, LogLinear

__all__ = ["LARGE", "SEED", "SMALL", "flat", "learn", "learner", "off", "timed", "years_of"]

SEED = 1000  # seeds from here on were used for nothing else
LARGE, SMALL = (5.0, 10.0, 10.0, 10.0), (0.5, 1.0, 1.0, 1.0)


def timed(function, *args, **options):
    """What a function returns, and its CPU seconds; warnings of convergence are in the results."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = function(*args, **options)
    return out, time.process_time() - start


def flat(counts, edges):
    """All edge tables as one vector."""
    return np.concatenate([np.asarray(counts.edges[e]).ravel() for e in edges])


def years_of(side, weights, seed, n=1000, n_years=3, steps=20):
    """Several seasons, each with its own wind."""
    return [synthetic.birds(side, steps, n, weights=weights, random_state=seed + y) for y in range(n_years)]


def learner(years, **options):
    """A CollectiveEM of the four weights."""
    return CollectiveEM(LogLinear([y.features for y in years], start=years[0].log_potentials["t0"]), **options)


def off(weights, truth):
    """The papers' relative error of the weights."""
    truth = np.asarray(truth)
    return float(np.abs(weights - truth).sum() / np.abs(truth).sum())


class _Watched(LogLinear):
    """Features whose weights are noted after every M step, with the CPU seconds."""

    course: ClassVar[list] = []

    def improve(self, theta, data, counts):
        better = super().improve(theta, data, counts)
        _Watched.course.append((time.process_time(), better[: self.n_weights].copy()))
        return better


class _TimeIsUp(BaseException):
    raised = False


def _stop(_number, _frame):
    _TimeIsUp.raised = True
    raise _TimeIsUp


def learn(years, truth, limit, **options):
    """Learn for at most `limit` CPU seconds; a row with the weights, their error and its course over time."""
    _Watched.course.clear()
    em = CollectiveEM(_Watched([y.features for y in years], start=years[0].log_potentials["t0"]), **options)
    start, stopped, objective, rose = time.process_time(), False, None, None
    _TimeIsUp.raised = False
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        timed(em.fit, [y.tables for y in years])
        objective = em.fit_.objective
        rose = bool((np.diff(em.fit_.history["objective"]) > 0).any())
    except (_TimeIsUp, SystemError):  # compiled code hands the signal on as a SystemError
        if not _TimeIsUp.raised:
            raise
        stopped = True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    seconds = time.process_time() - start
    found = _Watched.course[-1][1] if _Watched.course else np.zeros(4)
    row = {"cpu s": seconds, "iterations": len(_Watched.course), "stopped by time": stopped}
    row |= {"relative error": off(found, truth), "of the first three": off(found[:3], truth[:3])}
    row |= {"move": float(found[3]), "F": objective, "F rose": rose}
    row["course"] = [[0.0, 1.0], *([t - start, off(w, truth)] for t, w in _Watched.course)]
    return row
