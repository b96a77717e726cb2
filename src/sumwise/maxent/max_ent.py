"""MaxEntClassifier: the most even distribution that agrees with all tables, and P(label | features) under it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent import engines
from sumwise.maxent.engines import Parameters
from sumwise.maxent.export import coefficient_frame, logistic_weights, write_weights
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.penalties import usual_penalties
from sumwise.maxent.penalty_search import choose_penalties
from sumwise.maxent.sparse_terms import listing_of
from sumwise.maxent.sufficient_statistics import Sufficient, added, parts_of, sufficient
from sumwise.maxent.trained import FEWEST_CHAINS, SAMPLING, Trained
from sumwise.networks.tensors import find_device
from sumwise.tables import Tables

__all__ = ["MaxEntClassifier"]


class MaxEntClassifier(Trained):
    """Learn P(label | features) of individuals from contingency tables alone, by the maximum entropy model.

    The model is p(x, y) proportional to exp(phi(x) . (mu + y theta)), where phi marks the cells that x falls in, over
    all tables; its prediction is that of a logistic regression with the tables as cross features. Trained by
    persistent contrastive divergence [1], or exactly where the domain allows it.

    Parameters
    ----------
    penalty_theta : float, sequence of float or "auto", optional
        L2 penalty on theta; a sequence gives one for tables of one attribute, of two, and so on, the last also for
        larger ones. Default: 1, and 3 for every other attribute that one can be paired with (39 for 14 attributes).
        "auto" starts there and moves only where the tables alone clearly say so, at several times the cost.
    penalty_mu : float or sequence of float, default 1.0
        L2 penalty on mu, best kept small; a sequence is by the order of tables, as above.
    engine : {"auto", "gibbs", "spark", "exact", "tree", "trw", "loopy"}
        Where expectations come from: sampling, here or on Spark (extra ``spark``) with the same result; enumeration; a
        junction tree; tree-reweighted or loopy belief propagation. "auto" takes an exact one where it is quick, else
        sampling.
    solver : {"auto", "steps", "lbfgs"}
        Steps on the moments (needed for sampling), or L-BFGS on the penalised likelihood (deterministic engines).
    n_chains : int or "tenth", default 10_000
        Number of Gibbs chains; "tenth" is a tenth of the population.
    rescale : bool, default True
        Compare label sums per count (eq. (6) of [1]) in steps; the optimum moves a little where ``penalty_mu > 0``.
    marginalise : bool, default True
        Use P(label | x) of each chain in place of a drawn label.
    precondition : {"effects", "diagonal", None}
        Divide the gradient by the Hessian's diagonal; "effects" besides lets what is a table's own move faster than
        what tables have in common.
    step, step_mu : float, optional
        Step sizes for theta and mu. Default: 0.15 and 0.2 with "effects", else 1 and 5 over the number of terms.
    decay : float, default 0.02
        Steps shrink as 1 / (1 + decay t).
    average : bool, default True
        Average late iterates.
    margins : bool, default True
        Give the smaller tables that the tables imply parameters of their own.
    blocks : "auto" or sequence of pairs of attributes
        Attributes that are redrawn together; "auto" finds those that are strongly tied.
    noise : {"aware", "ignore"}
        What to do with the noise that tables state: weigh it against the counts, or take what was observed for the
        truth.
    shrink_large : bool, default True
        Raise the penalties of attributes of more than 100 levels to what their own tables suggest: where rates of
        levels hardly differ beyond chance, and where several such attributes nearly determine each other and would
        share one effect.
    max_iter : int, default 500
    tol : float, default 0.15
        Moments of model and data agree when they differ by this many standard errors of the data, Monte Carlo error
        taken out. A sampler then makes twice as many steps again, to average its error out of the parameters.
    preset : {None, "paper"}
        "paper" sets what appendix A of [1] used, in place of the parameters above that it names.
    device : str, default "cpu"
        "cuda", or another device of torch (extra ``torch``), to sample and step there: in single precision, with rows
        of the tables in half precision. "cpu" samples with Numba in double precision.
    master : str, optional
        Spark's master, as ``"local[2]"`` or ``"spark://host:7077"``; default: the active session.
    n_jobs : int, default 1
        Threads; -1 for all cores. The result doesn't depend on it.
    warm_start : bool, default False
        Start from the last fit's parameters and chains.
    checkpoint : path, optional
        Where training keeps its state; a fit that was interrupted goes on from there, to the same result.
    verbose : int, default 0
    random_state : int, Generator or None

    Attributes
    ----------
    theta_, mu_ : ndarray
        Parameters, (1 or K, P) and (P,); `coefficients` names them.
    offsets_ : ndarray of shape (K,)
        Log-weights of the classes.
    engine_ : str
    penalty_theta_ : float or tuple
        The penalties used; ``choice_`` has those that "auto" tried, with their scores on held-out tables.
    fit_ : Fit
        With the history of ``misfit``, ``moment_error`` and ``held_out``.

    References
    ----------
    .. [1] Gilotte, Ben Yahmed, Rohde (2022), Learning from aggregated data with a maximum entropy model.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import MaxEntClassifier
    >>> example = synthetic.xor(10_000, random_state=0)
    >>> model = MaxEntClassifier(penalty_theta=1e-3).fit(example.expected_tables)
    >>> model.predict_proba({"x1": [0, 0], "x2": [0, 1], "x3": [0, 1]})[:, 1].round(2)  # section 4.2 of [1]
    array([0.1, 0.9])
    """

    def __init__(
        self,
        penalty_theta: Any = None,
        penalty_mu: Any = 1.0,
        *,
        engine: str = "auto",
        solver: str = "auto",
        n_chains: Any = 10_000,
        rescale: bool = True,
        marginalise: bool = True,
        precondition: str | None = "effects",
        step: float | None = None,
        step_mu: float | None = None,
        decay: float = 0.02,
        average: bool = True,
        margins: bool = True,
        blocks: Any = "auto",
        noise: str = "aware",
        shrink_large: bool = True,
        max_iter: int = 500,
        tol: float = 0.15,
        preset: str | None = None,
        device: str = "cpu",
        master: str | None = None,
        n_jobs: int = 1,
        warm_start: bool = False,
        checkpoint: str | os.PathLike | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.penalty_theta = penalty_theta
        self.penalty_mu = penalty_mu
        self.engine = engine
        self.solver = solver
        self.n_chains = n_chains
        self.rescale = rescale
        self.marginalise = marginalise
        self.precondition = precondition
        self.step = step
        self.step_mu = step_mu
        self.decay = decay
        self.average = average
        self.margins = margins
        self.blocks = blocks
        self.noise = noise
        self.shrink_large = shrink_large
        self.max_iter = max_iter
        self.tol = tol
        self.preset = preset
        self.device = device
        self.master = master
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, tables: Any, held_out: Any = None, rows: Any = None) -> MaxEntClassifier:
        """Learn from tables with label sums.

        Parameters
        ----------
        tables : Tables, or list of Tables
            Of any orders; pairs of features are the common case. Several are parts of the data (days, regions) over the
            same attributes: their counts are added up, and penalties are chosen by what one part says of another.
        held_out : (frame, labels), optional
            Individuals to score while training, for the record in ``fit_.history["held_out"]``; they change nothing.
        rows : data frame, optional
            Individuals without labels, from the same population: they take the place of the model of x, which is then
            not learned. With tens of thousands of rows that is better, with hundreds worse.
        """
        self._check()
        parts = parts_of(tables)
        listed = listing_of(parts) if self._lists(parts) else None
        found = [self._read(t, listed) for t in parts]
        return self._fit_found(added(found), parts[0], held_out, found, rows)

    def _read(self, tables: Any, listed: Any) -> Sufficient:
        """What the tables tell; as if exact where their noise is to be ignored."""
        found = sufficient(tables, self.margins, listed)
        if self.noise == "aware":
            return found
        return replace(found, noise=Moments(*(np.zeros_like(v) for v in found.noise)))

    def _fit_found(
        self, found: Sufficient, tables: Tables, held_out: Any = None, parts: Any = (), rows: Any = None, weigh=True
    ) -> MaxEntClassifier:
        name = engines.choose(self._engine(), found.layout, len(found.shares))
        solver = self._solver(name)
        before = self._before(found, tables) if self.warm_start else None
        chains = getattr(self, "chains_", None) if before is not None else None
        self._remember(tables, found.n)
        self.__dict__.pop("replicates_", None)  # they are of another fit
        self.listed_ = list(found.layout.listed)
        self.terms_ = [tuple(tables.domain.attributes[a] for a in term) for term in found.layout.terms]
        self.engine_, self.chains_ = name, None
        self.penalty_theta_, self.choice_ = self.penalty_theta, None
        if self.penalty_theta is None:
            self.penalty_theta_ = usual_penalties(len(tables.domain))
        if isinstance(self.penalty_theta, str):
            self.penalty_theta_, self.choice_ = self._chosen(found, parts, tables)
        penalties = self._penalties(found)
        if rows is not None:
            self._fit_rows(found, rows)
        elif solver == "lbfgs":
            self._fit_lbfgs(found, penalties, before)
        else:
            self._fit_steps(found, penalties, before, chains, tables, held_out)
        if weigh and found.noisy and rows is None:
            self._weigh(found, penalties)
        return self

    def _chosen(self, found: Sufficient, parts: Sequence[Sufficient], tables: Tables) -> tuple[tuple, dict]:
        checks.choice(self.penalty_theta, "penalty_theta", ("auto",))
        if not self.margins:
            raise DataError("penalty_theta='auto' needs the margins of tables.", hint="use margins=True.")
        return choose_penalties(self, found, parts, tables)

    def to_logistic(self, path: str | os.PathLike | None = None) -> dict[str, Any]:
        """Return the model as plain weights, for a bidder or any program that adds up; written to `path` as JSON too.

        Returns
        -------
        dict
            ``intercept`` and ``weights``: a list of features, their levels, and the weight that is added where an
            individual has all of them; levels that aren't listed add 0. P(class 1) is 1 / (1 + exp(-sum)). With more
            than two classes there is one number per class, and P is their softmax. ``encoding`` says how raw columns
            become levels.

        Examples
        --------
        >>> from sumwise import synthetic
        >>> from sumwise.maxent import MaxEntClassifier
        >>> plain = MaxEntClassifier().fit(synthetic.xor(1000, random_state=0).tables).to_logistic()
        >>> plain["weights"][0]["features"], plain["weights"][0]["levels"]
        (['x1', 'x2'], [0, 0])
        """
        self._fitted("theta_")
        weights = logistic_weights(self)
        if path is not None:
            write_weights(weights, path)
        return weights

    def coefficients(self) -> Any:
        """Return theta as a pandas frame: table, levels, class, coefficient."""
        self._fitted("theta_")
        return coefficient_frame(self)

    def _check(self) -> None:
        engines.check_name(self.engine)
        checks.choice(self.solver, "solver", ("auto", "steps", "lbfgs"))
        checks.choice(self.precondition, "precondition", ("effects", "diagonal", None))
        checks.choice(self.preset, "preset", (None, "paper"))
        checks.choice(self.noise, "noise", ("aware", "ignore"))
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.at_least(self.tol, "tol", 0, whole_number=False)
        if self.n_chains != "tenth":
            checks.at_least(self.n_chains, "n_chains", FEWEST_CHAINS)

    def _lists(self, parts: Sequence[Any]) -> bool:
        """Whether tables that are held sparse are used so: the sampler here and on Spark can."""
        sampled = self.engine in ("auto", *SAMPLING) and not self._on_device()
        return sampled and all(isinstance(t, Tables) for t in parts)

    def _engine(self) -> str:
        """The engine as given; on a device it is sampling."""
        if not self._on_device():
            return self.engine
        checks.choice(self.engine, "engine on a device", ("auto", "gibbs"))
        find_device(self.device)
        return "gibbs"

    def _solver(self, name: str) -> str:
        if name in SAMPLING and self.solver == "lbfgs":
            raise DataError(f"L-BFGS needs exact gradients; engine is {name!r}.", hint="use solver='steps'.")
        if self.solver != "auto":
            return self.solver
        return "steps" if name in SAMPLING or self.preset else "lbfgs"

    def _before(self, found: Sufficient, tables: Tables) -> Parameters | None:
        """Parameters of the last fit, where there is one of the same shape."""
        if not hasattr(self, "theta_") or self.domain_ != tables.domain:
            return None
        same = self.theta_.shape == found.data.sums.shape and len(self.offsets_) == len(found.shares)
        mine = self._layout().listing_by_term()
        theirs = found.layout.listing_by_term()
        same = same and mine.keys() == theirs.keys() and all(np.array_equal(mine[k], theirs[k]) for k in mine)
        return self._parameters().copy() if same else None
