"""CollectiveEM: the individual model behind noisy counts of a population."""

# Names are bound in loops that run at least once.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from sumwise import checks
from sumwise.collective.counts import dense
from sumwise.collective.free_tables import FreeTables
from sumwise.collective.log_linear import LogLinear
from sumwise.collective.map_counts import METHODS, map_counts
from sumwise.collective.realisations import Realisations, read_realisations
from sumwise.collective.sample_counts import sample_counts
from sumwise.collective.transitions import transitions
from sumwise.collective.tree_model import TreeModel
from sumwise.errors import DataError, NotConverged
from sumwise.estimator import Estimator
from sumwise.fit import Fit, warn_not_converged
from sumwise.io.checkpoint import Checkpoint, fingerprint
from sumwise.progress import Progress

E_STEPS = (*METHODS, "gibbs")
GUARDED = ("dual", "nlbp", "rda", "rda-tuned", "accelerated-rda", "mirror", "generic")  # feasible minimisers of F
FINEST_E_TOL = 1e-11
NEWTON_STEPS = 20
FEW = 100  # parameters, an E step for each of which takes seconds
DECREMENT = 1e-3  # of F, in nats: far below what data can distinguish
SHARE = 1e-3  # of what the last iteration gained is a fine enough gap (tables are then off by the root of it)


@dataclass(eq=False, repr=False)
class CollectiveEM(Estimator):
    """Learn how one individual moves from noisy counts of populations, by expectation maximisation.

    The E step finds the most likely tables of every realisation (or their mean, by sampling), the M step the most
    likely parameters for them (Sun 2019, section 2.3.2). Both lower one objective ``F(z, theta)``, minus the log of
    the joint probability of tables and counts, ``n log Z`` and the penalty included: it never increases, as
    ``fit_.history`` shows. Only sampled or approximate E steps (``"gibbs"``, ``"exact"``, ``"gaussian"``,
    ``"nlbp-naive"``) don't promise that.

    Parameters
    ----------
    parameters : LogLinear or FreeTables, optional
        What is learned; default ``FreeTables()``.
    e_step : str, default "dual"
        Any method of `map_counts`, or ``"gibbs"`` for the means of `sample_counts`; ``"exact"`` takes the mean, too.
    max_iter : int >= 1, default 200
    tol : float > 0, default 1e-7
        Stop when an iteration lowers F by less than `tol` times all that was gained so far (twice in a row).
    e_tol : float, default 1e-6
        Tolerance of the E step; it is tightened when it would let F increase. ``"dual"`` stops earlier where its
        proven gap is below a thousandth of what the last iteration gained.
    e_iter : int >= 1, optional
        Steps of an E step at most; default that of `map_counts`.
    accelerate : bool, default True
        Try every third step to extrapolate the parameters (SQUAREM), and keep what lowers F.
    n_starts : int, default 1
        Starts, of which the best is kept; all but the first are random. Counts of moves need one only: `FreeTables`
        then starts from the maximum-likelihood fit that ignores the noise, and `LogLinear` from weights of zero.
    start : array, optional
        Parameters to begin the first start from, such as ``theta_`` of an earlier fit.
    standard_errors : bool or "auto", default "auto"
        Whether to compute the observed information, by one E step for every parameter (with the ``"dual"`` E step).
        ``"auto"``: for the weights of `LogLinear` with its start given, else for up to 100 parameters. Without it,
        convergence is judged by how much F falls alone, and starts may end at different parameters.
    draws : int >= 4, default 200
        Draws per E step of ``"gibbs"``.
    checkpoint : path, optional
        Where to keep the state of a fit; an interrupted one resumes from there.
    verbose : int, default 0
    random_state : int, numpy.random.Generator or None, default None
        A fit begins with draws in the order of levels, which decide what the tables leave open.

    Attributes
    ----------
    theta_ : ndarray
        All parameters.
    weights_ : ndarray
        Weights of the features (`LogLinear`).
    standard_errors_, covariance_ : ndarrays or None
        Those of the weights (`LogLinear`) or of all parameters (`FreeTables`), from the observed information: what the
        counts leave open about the moves is part of it. `transition_errors` has those of probabilities, which is what
        free tables are about: some directions of shared potentials change no probability and are fixed by the penalty
        alone. Infinite where the counts say nothing.
    unidentified_ : (d, k) array or None
        Directions of the parameters about which the counts say nothing, as long as standard deviations along them
        are at least; `covariance_` leaves them out.
    decrement_ : float or None
        How much F would still fall by a Newton step with the observed information: convergence is judged by it, since
        EM creeps where counts say little.
    baseline_ : ndarray or None
        The parameters that ignore the noise (`FreeTables` with counts of moves).
    nodes_, edges_ : lists of dicts
        The tables of every realisation under the parameters that were learned.
    fit_ : Fit
        ``history`` has F after the M step (``objective``) and after the E step before it (``after_e_step``).

    See Also
    --------
    LogLinear : Moves with ``P(j | i, t) prop. to exp(w . f_t(i, j))``, normalised for every cell i.
    FreeTables : A chain ``phi_1(x_1) prod_t psi_t(x_t, x_{t+1}) phi_T(x_T) / Z`` with free tables.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective import CollectiveEM, LogLinear
    >>> years = [synthetic.birds(4, 8, 1000, weights=(0.5, 1, 1, 1), random_state=year) for year in range(3)]
    >>> features = LogLinear([year.features for year in years], start=years[0].log_potentials["t0"])
    >>> em = CollectiveEM(features, max_iter=60).fit([year.tables for year in years])
    >>> em.weights_.round(1)
    array([0.5, 1. , 1. , 0.8])
    """

    _learned = "domain_: is Domain; sizes_: float s; theta_: float *; fit_: is Fit; nodes_, edges_: is list"

    parameters: Any = None
    e_step: str = "dual"
    max_iter: int = 200
    tol: float = 1e-7
    e_tol: float = 1e-6
    e_iter: Any = None
    accelerate: bool = True
    n_starts: int = 1
    start: Any = field(default=None, kw_only=True)
    standard_errors: str = field(default="auto", kw_only=True)
    draws: int = 200
    checkpoint: Any = None
    verbose: int = 0
    random_state: Any = None

    def fit(self, tables: Any, y: Any = None) -> CollectiveEM:
        """Learn from `Tables`, or from a list of them, one per realisation; `y` is ignored."""
        self._check()
        data = read_realisations(tables)
        kind = FreeTables() if self.parameters is None else self.parameters
        kind.check(data)
        self.baseline_ = kind.ignoring_noise(data)
        rng = checks.generator(self.random_state)
        runs = _Runs(self, kind, data, rng, self.baseline_)
        best = runs.run()
        self.covariance_ = self.unidentified_ = self.decrement_ = self.standard_errors_ = None
        if self._wants_errors(kind, data) and best.converged:
            covariance, unidentified, self.decrement_ = runs.newton(best)
            if isinstance(kind, LogLinear):
                covariance = covariance[: kind.n_weights, : kind.n_weights]
                unidentified = unidentified[: kind.n_weights]
            self.covariance_, self.unidentified_ = covariance, unidentified
            self.standard_errors_ = _errors(np.diag(covariance), unidentified)
        self.domain_ = data.domain
        self.sizes_ = np.array(data.sizes)
        self.theta_ = best.theta
        if isinstance(kind, LogLinear):
            self.weights_ = best.theta[: kind.n_weights].copy()
        fits = runs.e_step(best.theta, best)
        self.nodes_ = [{a: np.array(f.nodes[a]) for a in data.weeks} for f in fits]
        self.edges_ = [{e: f.edges[e] for e in data.edges} for f in fits]
        history = {name: np.array(values) for name, values in best.history.items()}
        self.fit_ = Fit(
            answer=self.theta_,
            objective=float(best.history["objective"][-1]),
            n_iter=len(best.history["objective"]),
            converged=best.converged,
            history=history,
        )
        if not best.converged:
            warn_not_converged(self.fit_.n_iter, best.change, self.tol)
        return self

    def model(self, realisation: int = 0, theta: Any = None) -> TreeModel:
        """Return the individual model of one realisation, with `theta` (``baseline_``, say) for ``theta_`` if given."""
        self._fitted("theta_")
        checks.at_least(realisation, "realisation", 0)
        if realisation >= len(self.sizes_):
            raise DataError(f"realisation is {realisation}; there are {len(self.sizes_)}.")
        kind = FreeTables() if self.parameters is None else self.parameters
        shape = Realisations(self.domain_, self.sizes_)
        return _model(kind, self.theta_ if theta is None else np.asarray(theta, float), shape, realisation)

    def transitions(self, realisation: int = 0) -> dict[tuple[str, str], np.ndarray]:
        """Return the probabilities (L, L) of moving, for every step."""
        model = self.model(realisation)
        return dict(zip(model.edges, (dense(p) for p in transitions(model.marginals()))))

    def transition_errors(self, realisation: int = 0) -> dict[tuple[str, str], np.ndarray]:
        """Return standard errors (L, L) of the probabilities of moving, for every step (delta method).

        Of `transitions`, in the same order.

        Examples
        --------
        >>> import numpy as np
        >>> from sumwise import Domain, Table, Tables
        >>> from sumwise.collective import CollectiveEM, FreeTables
        >>> from sumwise.noise import Gaussian
        >>> domain = Domain({"t0": 2, "t1": 2})
        >>> moves = Table(("t0", "t1"), [[60.0, 40.0], [20.0, 80.0]], noise=Gaussian(3.0))
        >>> em = CollectiveEM(FreeTables(shared=False)).fit(Tables([moves], domain, n=200))
        >>> em.transition_errors()["t0", "t1"].round(2)
        array([[0.05, 0.05],
               [0.05, 0.05]])
        """
        covariance = self._fitted("theta_").covariance_
        if covariance is None:
            raise DataError("This fit has no standard errors.", hint="set standard_errors=True, with e_step='dual'.")
        edges = self.model(realisation).edges

        def probabilities(theta):
            return np.stack([dense(p) for p in transitions(self.model(realisation, theta).marginals())])

        now, slopes = probabilities(self.theta_), []
        for k in range(len(covariance)):
            moved = self.theta_.copy()
            moved[k] += 1e-5
            slopes.append((probabilities(moved) - now) / 1e-5)
        each = np.stack(slopes, axis=-1)
        variance = np.einsum("...k,kl,...l->...", each, covariance, each)
        return dict(zip(edges, _errors(variance, each @ self.unidentified_)))

    def _wants_errors(self, kind, data) -> bool:
        """Whether standard errors are asked for and can be had."""
        if self.standard_errors != "auto":
            if self.standard_errors and self.e_step != "dual":
                raise DataError(
                    "Standard errors need the E step 'dual'.", hint="set standard_errors='auto', or e_step='dual'."
                )
            return bool(self.standard_errors)
        few = len(kind.first(data, None)) <= FEW or (isinstance(kind, LogLinear) and kind.start is not None)
        return self.e_step == "dual" and few

    def _check(self):
        checks.choice(self.standard_errors, "standard_errors", (True, False, "auto"))
        checks.choice(self.e_step, "e_step", E_STEPS)
        checks.choice(self.accelerate, "accelerate", (True, False))
        for name in ("max_iter", "n_starts"):
            checks.at_least(getattr(self, name), name, 1)
        checks.at_least(self.draws, "draws", 4)
        if self.e_iter is not None:
            checks.at_least(self.e_iter, "e_iter", 1)
        for name in ("tol", "e_tol"):
            checks.positive(getattr(self, name), name, ndim=0)
        if self.parameters is not None and not isinstance(self.parameters, (LogLinear, FreeTables)):
            raise DataError(
                f"parameters is of type {type(self.parameters).__name__}.",
                hint="give LogLinear(features) or FreeTables().",
            )


def _errors(variance, open_part):
    """Roots of the variances; infinite where the unidentified directions contribute more than all others.

    `open_part` (..., k): standard deviations along each of those directions, at least.
    """
    known = np.maximum(variance, 0.0)
    return np.where((open_part**2).sum(axis=-1) > known, np.inf, np.sqrt(known))


def _model(kind, theta, data, r):
    return TreeModel(data.domain, data.edges, kind.potentials(theta, data, r))


@dataclass
class _State:
    """Where a fit is: enough to go on from."""

    theta: np.ndarray
    multipliers: list  # per realisation, for a warm start
    e_tol: float
    recent: list = field(default_factory=list)  # parameters of the last plain steps
    history: dict = field(default_factory=lambda: {"objective": [], "after_e_step": [], "extrapolated": []})
    calm: int = 0
    converged: bool = False
    change: float = np.inf


class _Runs:
    """All starts of one fit."""

    def __init__(self, em, kind, data, rng, baseline):
        self.em, self.kind, self.data, self.rng = em, kind, data, rng
        self.baseline = baseline
        self.guarded = em.e_step in GUARDED

    def run(self) -> _State:
        em = self.em
        key = None
        if em.checkpoint is not None:
            settings = {k: v for k, v in em.get_params(deep=False).items() if k not in ("checkpoint", "verbose")}
            settings.pop("max_iter")  # a fit may be continued for longer
            key = fingerprint(settings, list(self.data.tables))
        checkpoint = Checkpoint(em.checkpoint, key=key, seconds=0.0)
        held = checkpoint.load()
        done: list[_State] = [] if held is None else [_State(**s) for s in held["done"]]
        state = None if held is None or held["state"] is None else _State(**held["state"])
        if held is not None:
            self.rng = held["rng"]
        with Progress("EM", em.n_starts * em.max_iter, em.verbose) as progress:
            while len(done) < em.n_starts:
                state = self._start(len(done)) if state is None else state
                while not state.converged and len(state.history["objective"]) < em.max_iter:
                    self._step(state)
                    progress.step(objective=state.history["objective"][-1])
                    if checkpoint.due(len(state.history["objective"])):
                        others = [vars(s) for s in done]
                        checkpoint.save({"done": others, "state": vars(state), "rng": self.rng})
                done.append(state)
                state = None
        checkpoint.clear()
        return min(done, key=lambda s: s.history["objective"][-1])

    def _start(self, number):
        theta = self.baseline if number == 0 else None
        if number == 0 and self.em.start is not None:
            theta = checks.finite(self.em.start, "start", ndim=1)
            wanted = self.kind.first(self.data, None).shape
            if theta.shape != wanted:
                raise DataError(f"start has {len(theta)} parameters; the model has {wanted[0]}.")
            theta = self.kind.normalised(theta, self.data)
        if theta is None:
            plain = number == 0 and isinstance(self.kind, LogLinear)
            theta = self.kind.first(self.data, None if plain else self.rng)
        return _State(theta, [None] * len(self.data), float(self.em.e_tol))

    def newton(self, state: _State):
        """Newton steps with the observed information, from where EM ended.

        The gradient of F at its most likely tables is that of the M step (envelope theorem); differences of it give the
        information, one E step per weight. Its asymmetry is the error of these differences: directions with less
        information than that are unidentified.

        Returns
        -------
        covariance, unidentified, decrement : (d, d) array, (d, k) array, float
            The second: directions as long as the least standard deviations that their information allows.
        """
        state.e_tol = min(state.e_tol, 1e-9)
        slope, value = self._profile(state.theta, state)
        vectors, known, least, inverse, decrement = (
            np.eye(len(slope)),
            np.ones(len(slope), dtype=bool),
            1.0,
            np.full((len(slope), len(slope)), np.inf),
            np.inf,
        )
        for _ in range(NEWTON_STEPS):
            information, rounding = self._information(state, slope)
            values, vectors = np.linalg.eigh(information)
            least = max(rounding, 1e-10 * max(values.max(), 1e-300))
            known = values > least
            inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T
            step = -inverse @ slope
            decrement = 0.5 * float(-slope @ step)
            if decrement <= DECREMENT or isinstance(self.kind, FreeTables):  # whose M step is as good as Newton's
                break
            length = 1.0
            while length > 1e-3:
                moved, lower = self._profile(state.theta + length * step, state)
                if lower < value:
                    break
                length *= 0.5
            else:
                break
            state.theta = self.kind.normalised(state.theta + length * step, self.data)
            slope, value = moved, lower
            self._record(state, value, value, False)
        if isinstance(self.kind, LogLinear):
            state.converged = state.converged and decrement <= 10 * DECREMENT
            state.change = decrement
        return inverse, self._changing(state.theta, vectors[:, np.logical_not(known)]) / np.sqrt(least), decrement

    def _changing(self, theta, directions):
        """What directions (d, k) of the parameters do to the model: free tables have some that normalising undoes."""
        h = 1e-6
        moved = [(self.kind.normalised(theta + h * u, self.data) - theta) / h for u in directions.T]
        return np.array(moved).reshape(-1, len(theta)).T

    def _profile(self, theta, state):
        """Gradient and value of F at its most likely tables."""
        theta = self.kind.normalised(theta, self.data)
        fits = self.e_step(theta, state)
        state.multipliers = _multipliers(fits)
        return self.kind.gradient(theta, self.data, fits), self._value(theta, fits)

    def _information(self, state, slope):
        """The information, and the error of its differences."""
        size = len(slope)
        out = np.empty((size, size))
        for k in range(size):
            h = 1e-4 * max(1.0, abs(state.theta[k]))
            out[k] = (self._profile(state.theta + h * np.eye(size)[k], state)[0] - slope) / h
        return 0.5 * (out + out.T), 0.5 * float(np.linalg.norm(out - out.T, 2))

    def _value(self, theta, fits):
        """F at tables and the parameters that they were fitted with."""
        return sum(f.objective for f in fits) + self.kind.log_partition(theta, self.data) + self.kind.cost(theta)

    def _step(self, state: _State) -> None:
        """One E step and one M step; F doesn't increase."""
        last = state.history["objective"][-1] if state.history["objective"] else np.inf
        theta, fits, before, leapt = self._e_step_from(state, last)
        if fits is None:  # the E step can't lower F any more
            self._record(state, last, last, False)
            state.converged, state.change = True, 0.0
            return
        better = self.kind.improve(theta, self.data, fits)
        after = before + self._gain(theta, better, fits)
        if self.guarded and after > before:
            better, after = theta, before
        state.multipliers = _multipliers(fits)
        state.recent = [better] if leapt else [*state.recent[-2:], better]
        state.theta = better
        self._record(state, after, before, leapt)
        self._watch(state)

    def _e_step_from(self, state, last):
        """Tables for the current parameters, or for extrapolated ones where those are better."""
        values = state.history["objective"]
        enough = max(0.0, SHARE * (values[-2] - values[-1])) if len(values) > 1 else 0.0
        if self.em.accelerate and self.guarded and len(state.recent) == 3:
            theta = self.kind.normalised(_extrapolated(*state.recent), self.data)
            fits = self.e_step(theta, state, enough)
            value = self._value(theta, fits)
            if value <= last:
                return theta, fits, value, True
            state.recent = state.recent[-1:]
        while True:
            fits = self.e_step(state.theta, state, enough)
            value = self._value(state.theta, fits)
            if not self.guarded or value <= last:
                return state.theta, fits, value, False
            state.multipliers = _multipliers(fits)
            if enough > 0:
                enough = 0.0
                continue
            if state.e_tol <= FINEST_E_TOL or self.em.e_step != "dual":
                return state.theta, None, last, False
            state.e_tol = max(0.01 * state.e_tol, FINEST_E_TOL)

    def _gain(self, old, new, fits):
        """Change of F with the parameters, at fixed tables."""
        value = self.kind.log_partition(new, self.data) - self.kind.log_partition(old, self.data)
        value += self.kind.cost(new) - self.kind.cost(old)
        for r, fit in enumerate(fits):
            a, b = (self.kind.potentials(theta, self.data, r) for theta in (old, new))
            value -= sum(_score(b[k], a[k], fit.nodes[k] if isinstance(k, str) else fit.edges[k]) for k in a)
        return value

    def _record(self, state, after, before, leapt):
        for name, x in (("objective", after), ("after_e_step", before), ("extrapolated", leapt)):
            state.history[name].append(x)

    def _watch(self, state):
        values = state.history["objective"]
        if len(values) < 2:
            return
        scale = max(values[0] - values[-1], 1e-9 * abs(values[-1]))
        state.change = abs(values[-2] - values[-1]) / scale
        state.calm = state.calm + 1 if state.change <= self.em.tol else 0
        state.converged = state.calm >= 2

    def e_step(self, theta, state, enough=0.0):
        """Tables of all realisations under some parameters."""
        em, fits = self.em, []
        for r, tables in enumerate(self.data.tables):
            model = _model(self.kind, theta, self.data, r)
            with warnings.catch_warnings():  # an E step that stops early is judged by F
                warnings.simplefilter("ignore", NotConverged)
                warnings.simplefilter("ignore", UserWarning)
                if em.e_step == "gibbs":
                    sample = sample_counts(model, tables, draws=em.draws, random_state=self.rng)
                    fits.append(_at_mean(model, tables, sample.mean))
                    continue
                start: Any = SimpleNamespace(multipliers=state.multipliers[r]) if em.e_step == "dual" else None
                tol = state.e_tol if em.e_step == "dual" else em.e_tol
                options = {"tol": tol, "max_gap": enough / len(self.data), "start": start, "max_iter": em.e_iter}
                fit = map_counts(model, tables, method=em.e_step, **options)
                fits.append(fit if fit.mean is None else _at_mean(model, tables, fit.mean))
        return fits


def _multipliers(fits):
    """Of every realisation, where the E step has any."""
    return [getattr(f, "multipliers", None) for f in fits]


def _at_mean(model, tables, mean):
    """Posterior means of the tables, and F at them."""
    return SimpleNamespace(nodes=mean.nodes, edges=mean.edges, objective=model.objective(mean, tables))


def _score(new, old, counts):
    """``<new - old, counts>`` of one table."""
    if sparse.issparse(new):
        return float((sparse.csr_array(counts) * (new - old)).sum())
    counts = np.asarray(counts)
    return float(((np.where(counts == 0, 0.0, new) - np.where(counts == 0, 0.0, old)) * counts).sum())


def _extrapolated(a, b, c):
    """SQUAREM's step from three successive parameters (Varadhan and Roland 2008, scheme S3)."""
    first, second = b - a, c - 2.0 * b + a
    size = float(np.linalg.norm(second))
    if size == 0:
        return c
    length = max(1.0, float(np.linalg.norm(first)) / size)
    return a + 2.0 * length * first + length**2 * second
