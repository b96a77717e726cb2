"""SolverOptions: how a maximum entropy model is trained, in one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sumwise import checks
from sumwise.display import record_html
from sumwise.errors import DataError

FEWEST_CHAINS = 64
PAPER = {"margins": False, "noise": "ignore", "shrink_large": False}  # Gilotte et al. 2022, Algorithm 1


@dataclass(frozen=True)
class SolverOptions:
    """How `MaxEntClassifier` is trained; the defaults suit nearly everybody.

    Parameters
    ----------
    solver : {"auto", "steps", "lbfgs"}
        Steps on the moments (needed for sampling), or L-BFGS on the penalised likelihood (deterministic engines).
    max_iter : int >= 1, default 500
        Steps at most.
    tol : float >= 0, default 0.25
        Moments of model and data agree when they differ by this many standard errors of the data, Monte Carlo error
        taken out; so do the moments of the parameters that are returned. A quarter adds 3% to the standard error.
    n_chains : int or "tenth", default 10_000
        Number of Gibbs chains; "tenth" is a tenth of the population.
    rescale : bool, default True
        Compare label sums per count (eq. (6) of Gilotte et al. 2022) in steps; the optimum moves a little where
        ``penalty_mu > 0``.
    marginalise : bool, default True
        Use P(label | x) of each chain in place of a drawn label.
    step, step_mu : float, optional
        Step sizes for theta and mu. Default: 1 and 5 over the number of tables (appendix A).
    decay : float, default 0
        Steps shrink as 1 / (1 + decay t).
    average : bool, default True
        Average late iterates.
    margins : bool, default True
        Give the smaller tables that the tables imply parameters of their own.
    blocks : "auto" or sequence of pairs of attributes
        Attributes that are redrawn together; "auto" finds those that are strongly associated.
    noise : {"aware", "ignore"}
        What to do with the noise that tables state: weigh it against the counts, or take what was observed for the
        truth.
    shrink_large : bool, default True
        Raise the penalties of attributes of more than 100 levels to what their own tables suggest: where rates of
        levels hardly differ beyond chance, and where several such attributes nearly determine each other and would
        share one effect.
    preset : {None, "paper"}
        "paper" runs Algorithm 1 of Gilotte et al. (2022) to the letter, `max_iter` times: the tables as given without
        those that they imply, no class offset, no noise model, both step sizes 1 over the number of tables unless
        given. Needs engine "gibbs" or "auto", and two classes.
    master : str, optional
        Spark's master, as ``"local[2]"`` or ``"spark://host:7077"``; default: the active session.

    See Also
    --------
    MaxEntClassifier : Learn P(label | features) of individuals from contingency tables alone, by the maximum entropy
        model.

    Examples
    --------
    >>> from sumwise.maxent import MaxEntClassifier, SolverOptions
    >>> MaxEntClassifier(options=SolverOptions(max_iter=200)).options.max_iter
    200
    """

    solver: str = "auto"
    max_iter: int = 500
    tol: float = 0.25
    n_chains: Any = 10_000
    rescale: bool = True
    marginalise: bool = True
    step: float | None = None
    step_mu: float | None = None
    decay: float = 0.0
    average: bool = True
    margins: bool = True
    blocks: Any = "auto"
    noise: str = "aware"
    shrink_large: bool = True
    preset: str | None = None
    master: str | None = None

    _repr_html_ = record_html

    def __post_init__(self) -> None:
        checks.choice(self.solver, "solver", ("auto", "steps", "lbfgs"))
        checks.choice(self.preset, "preset", (None, "paper"))
        checks.choice(self.noise, "noise", ("aware", "ignore"))
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.at_least(self.tol, "tol", 0, whole_number=False)
        if self.n_chains != "tenth":
            checks.at_least(self.n_chains, "n_chains", FEWEST_CHAINS)

    def resolved(self) -> SolverOptions:
        """The options with those that the preset names set."""
        return replace(self, **PAPER) if self.preset == "paper" else self


NAMES = frozenset(f.name for f in fields(SolverOptions))


def options_of(given: Any) -> SolverOptions:
    """Options as a record: None gives the defaults, a mapping those that it names."""
    if given is None:
        return SolverOptions()
    if isinstance(given, SolverOptions):
        return given
    if not isinstance(given, Mapping):
        raise DataError(f"options is of type {type(given).__name__}.", hint="give SolverOptions(...).")
    for name in given:
        checks.known(name, NAMES, "option")
    return SolverOptions(**given)


def changed_options(options: Any, given: Mapping[str, Any]) -> SolverOptions:
    """Options with the given ones changed."""
    for name in given:
        checks.known(name, NAMES, "option")
    return replace(options_of(options), **given)
