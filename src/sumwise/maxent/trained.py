"""How the parameters of the maximum entropy model are found: by steps on chains, by L-BFGS, or on rows."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.checkpoint import Checkpoint, fingerprint
from sumwise.errors import DataError
from sumwise.fit import Fit, warn_not_converged
from sumwise.maxent import device_training, engines, on_spark
from sumwise.maxent.engines import Parameters
from sumwise.maxent.export import own_places
from sumwise.maxent.individuals import codes_of, term_scores
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.noisy_label_fit import n_rows, weighed_theta
from sumwise.maxent.penalties import penalties_of
from sumwise.maxent.rows import from_rows
from sumwise.maxent.sufficient_statistics import Sufficient
from sumwise.maxent.training import CALM, SETTLED, Course, Rule, by_lbfgs, by_steps, start
from sumwise.maxent.uncertainty import Uncertainty
from sumwise.progress import Progress
from sumwise.tables import Tables

__all__ = ["FEWEST_CHAINS", "SAMPLING", "Trained"]

FEWEST_CHAINS = 64
SAMPLING = ("gibbs", "spark")  # engines that run chains
FOLLOW = 40  # steps for the model of x to follow a theta that was fitted apart
BRIEF = 1e-9  # relative change of the loss at which a refit ends: a thirtieth of a standard error from the optimum
SECONDS = 1.0  # at least, between two checkpoints
PAPER = {  # Gilotte et al. 2022, appendix A
    "penalty_mu": 1.0,
    "precondition": "diagonal",
    "rescale": True,
    "marginalise": True,
    "average": False,
    "blocks": (),
    "decay": 0.0,
    "n_chains": "tenth",
    "shrink_large": False,
}


class Trained(Uncertainty):
    """Base of `MaxEntClassifier`: its training, once tables are read and penalties are known.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import MaxEntClassifier
    >>> model = MaxEntClassifier(engine="gibbs", max_iter=500, random_state=0)
    >>> model.fit(synthetic.xor(1000, random_state=0).tables).fit_.converged
    True
    """

    solver: str
    n_chains: Any
    step: float | None
    step_mu: float | None
    max_iter: int
    tol: float
    preset: str | None
    device: str
    master: str | None
    n_jobs: int
    checkpoint: Any
    fit_: Fit

    def _penalties(self, found: Sufficient, aware: bool = True) -> Moments:
        mu, large = self._setting("penalty_mu"), self._setting("shrink_large")
        return penalties_of(found, self.penalty_theta_, mu, aware, large)

    def _fit_lbfgs(self, found: Sufficient, penalties: Moments, before: Parameters | None) -> None:
        engine = engines.Exact(self.engine_, found)
        begin = before or start(found).parameters
        options = {"ftol": BRIEF} if self._brief else {}
        answer, loss, history, _ = by_lbfgs(found, engine, penalties, begin, max(self.max_iter, 1000), **options)
        self._store(answer)
        distance = history["misfit"][-1]
        self.fit_ = Fit(
            answer=None, objective=loss, n_iter=len(history["misfit"]), converged=distance <= self.tol, history=history
        )
        if not self.fit_.converged:
            warn_not_converged(self.fit_.n_iter, distance, self.tol, stacklevel=5)

    def _fit_steps(self, found: Sufficient, penalties: Moments, before, chains, tables, held_out: Any) -> None:
        rule = self._rule(found, penalties)
        course = start(found)
        if before is not None:
            course.parameters, course.mean = before, before.copy()
        scorer = None if held_out is None else self._scorer(held_out)
        key = self._key(tables) if self.checkpoint else None
        kept = Checkpoint(self.checkpoint, key=key, every=10, seconds=SECONDS)
        with closing(self._expectations(found, chains)) as engine:
            course, converged = self._run(found, engine, rule, course, kept, self.max_iter, scorer)
        history = {k: np.array(v) for k, v in course.history.items()}
        distance = course.history["misfit"][-1]
        self.fit_ = Fit(objective=distance, n_iter=course.n_iter, converged=converged, history=history)
        if not converged:
            early = f"that must last for {CALM} steps after the first {SETTLED}; raise max_iter."
            warn_not_converged(course.n_iter, distance, self.tol, early if distance < self.tol else None, stacklevel=5)

    def _fit_rows(self, found: Sufficient, rows: Any) -> None:
        codes = codes_of(rows, self.domain_, self.encoding_)
        plain = self._penalties(found, aware=False)
        theta, offsets, loss, n_iter, converged = from_rows(found, codes, plain.sums)
        self.engine_ = "rows"
        self._store(Parameters(np.zeros(theta.shape[1]), theta, offsets))
        self.fit_ = Fit(objective=loss, n_iter=n_iter, converged=converged)
        if not converged:
            warn_not_converged(n_iter, float("nan"), self.tol, stacklevel=5)

    def _weigh(self, found: Sufficient, penalties: Moments) -> None:
        """Take theta half from training, half from all noisy label sums at once; then let the model of x follow."""
        codes, _ = self._draws(n_rows(found, self._n_chains(found)), None)
        plain = self._penalties(found, aware=False)
        theta, offsets, *_ = weighed_theta(
            found, codes, plain.sums, (self.theta_, self.offsets_), self._setting("rescale")
        )
        mean = Parameters(self.mu_, 0.5 * (self.theta_ + theta), 0.5 * (self.offsets_ + offsets))
        course = start(found)
        course.parameters, course.mean = mean.copy(), mean.copy()
        rule = replace(self._rule(found, penalties), step_theta=0.0, tol=0.0)
        with closing(self._expectations(found, self.chains_)) as engine:
            self._run(found, engine, rule, course, Checkpoint(None, key=None), FOLLOW)

    def _expectations(self, found: Sufficient, chains: dict | None) -> Any:
        if self.engine_ not in SAMPLING:
            return engines.Exact(self.engine_, found)
        return self._sampler(found, checks.generator(self.random_state), chains)

    def _run(
        self, found: Sufficient, engine: Any, rule: Rule, course: Course, kept: Checkpoint, max_iter: int, scorer=None
    ) -> tuple[Course, bool]:
        """Train from `course`, or from where the checkpoint is, and store the parameters and chains."""
        state = kept.load()
        if state is not None:
            course = Course.from_state(state["course"])
            engine.restore(state["chains"])
        run: Any = by_steps
        if self._on_device():
            course = device_training.DeviceCourse.of(course, found, rule, engine)
            run = partial(device_training.by_steps, max_iter=max_iter)
        with Progress("MaxEntClassifier", total=max_iter, verbose=self.verbose) as progress:
            progress.step(course.n_iter)

            def after(now: Course) -> bool:
                progress.step(misfit=now.history["misfit"][-1])
                if kept.due(now.n_iter):
                    kept.save({"course": now.state(), "chains": engine.state()})
                return now.n_iter >= max_iter

            converged = course.n_iter < max_iter and run(found, engine, rule, course, after, scorer)
        kept.clear()
        self._store(course.mean)
        if self.engine_ in SAMPLING:
            self.chains_ = engine.named()
            self.blocks_ = list(engine.blocks)
        return course, bool(converged)

    def _rule(self, found: Sufficient, penalties: Moments) -> Rule:
        precondition = self._setting("precondition")
        k = len(found.layout.terms)
        default = (0.15, 0.2) if precondition == "effects" else (1.0 / k, 5.0 / k)
        theta = default[0] if self.step is None else float(checks.positive(self.step, "step"))
        mu = default[1] if self.step_mu is None else float(checks.positive(self.step_mu, "step_mu"))
        return Rule(
            penalties,
            rescale=self._setting("rescale"),
            precondition=precondition,
            step_theta=theta,
            step_mu=mu,
            decay=float(self._setting("decay")),
            average=self._setting("average"),
            tol=self.tol,
        )

    def _n_chains(self, found: Sufficient) -> int:
        n = self._setting("n_chains")
        return max(FEWEST_CHAINS, round(found.n / 10)) if n == "tenth" else int(n)

    def _on_device(self) -> bool:
        return self.device != "cpu"

    def _sampler(self, found: Sufficient, rng: np.random.Generator, before: dict | None = None) -> Any:
        n = self._n_chains(found)
        margins = [found.margin(a) for a in range(len(found.layout.sizes))]
        chains = gibbs.draw_chains(n, margins, len(found.shares), rng)
        chains.labels[:] = rng.choice(len(found.shares), size=n, p=found.shares)
        if before is not None and len(before["labels"]) == n:
            chains.codes[:], chains.labels[:] = before["codes"], before["labels"]
        given = self._setting("blocks")
        blocks = engines.strong_pairs(found) if isinstance(given, str) else self._named_blocks(given)
        marginal = self._setting("marginalise")
        if self._on_device():
            seed = int(rng.integers(0, 2**62))
            return device_training.DeviceGibbs(found, chains, blocks, self.device, marginal, seed)
        if self.engine_ == "spark":
            return on_spark.SparkGibbs(found, chains, blocks, self.master, marginal)
        return engines.Gibbs(found, chains, blocks, n_threads(self.n_jobs), marginal)

    def _named_blocks(self, given: Any) -> tuple[tuple[int, int], ...]:
        pairs = [
            tuple(sorted(self.domain_.axes(checks.listing(p, "A block")))) for p in checks.listing(given, "blocks")
        ]
        members = [a for p in pairs for a in p]
        if any(len(p) != 2 for p in pairs) or len(set(members)) < len(members):
            raise DataError("blocks must be pairs of attributes, each attribute in one block.")
        return tuple(pairs)  # type: ignore[return-value]

    def _scorer(self, held_out: Any):
        if not isinstance(held_out, (tuple, list)) or len(held_out) != 2:
            raise DataError(f"held_out is a {type(held_out).__name__}.", hint="give (frame, labels).")
        codes = codes_of(held_out[0], self.domain_, self.encoding_)
        y = self._label_codes(held_out[1], len(codes))
        shares = np.bincount(y, minlength=len(self.classes_)) / len(y)
        entropy = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))

        def score(parameters: Parameters) -> float:
            z = self._scores_of(parameters, codes)
            log_p = z[np.arange(len(y)), y] - np.logaddexp.reduce(z, axis=1)
            return float(1 + log_p.mean() / entropy)

        return score

    def _scores(self, codes: np.ndarray) -> np.ndarray:
        return self._scores_of(self._parameters(), codes)

    def _scores_of(self, parameters: Parameters, codes: np.ndarray) -> np.ndarray:
        lay = self._layout()
        scores = term_scores(codes, list(lay.terms), lay.term_starts, lay.sizes, parameters.theta, lay.listed)
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
        return scores + parameters.offsets

    def _setting(self, name: str) -> Any:
        return PAPER.get(name, getattr(self, name)) if self.preset == "paper" else getattr(self, name)

    def _store(self, parameters: Parameters) -> None:
        self.mu_, self.theta_, self.offsets_ = parameters
        common = ~own_places(self._layout())
        self.mu_[common] = self.theta_[:, common] = 0.0  # told of no cell, so added to none

    def _key(self, tables: Tables) -> str:
        free = ("verbose", "n_jobs", "checkpoint", "master")
        settings = {k: v for k, v in self.get_params().items() if k not in free}
        return fingerprint(tables, settings)


def n_threads(n_jobs: Any) -> int:
    """Number of threads that `n_jobs` asks for."""
    if n_jobs in (None, 1):
        return 1
    if isinstance(n_jobs, int) and n_jobs < 0:
        return os.cpu_count() or 1
    return int(checks.at_least(n_jobs, "n_jobs", 1))
