"""SolverOptions: how a maximum entropy model is trained, in one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sumwise import checks
from sumwise.display import record_html
from sumwise.errors import DataError

FEWEST_CHAINS = 64


@dataclass(frozen=True)
class SolverOptions:
    """How `MaxEntClassifier` is trained; the defaults suit most data.

    Parameters
    ----------
    max_iter : int >= 1, default 500
        Steps at most.
    tol : float >= 0, default 0.25
        Moments of the parameters that are returned agree with the tables when they differ by this many standard errors
        of the data, Monte Carlo error taken out. A quarter adds 3% to the standard error.
    n_chains : int or "tenth", default 10_000
        Number of Gibbs chains; "tenth" is a tenth of the population.
    penalty_mu : float or sequence of float, default 1.0
        L2 penalty on the parameters that all classes share, best kept small; a sequence is by the order of tables. With
        two classes these are mu + rate * theta, so that it doesn't matter which class is the first.
    preset : {None, "paper", "plain"}
        "paper" runs Algorithm 1 of Gilotte et al. (2022) to the letter, `max_iter` times: the tables as given without
        those that they imply, no class offset, no noise model, both step sizes 1 over the number of tables, and
        `penalty_mu` on mu itself. Needs engine "gibbs" or "auto", and two classes. "plain" is the same with the
        gradient of its Lemma 2 in place of equation (6).
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

    max_iter: int = 500
    tol: float = 0.25
    n_chains: Any = 10_000
    penalty_mu: Any = 1.0
    preset: str | None = None
    master: str | None = None

    _repr_html_ = record_html

    def __post_init__(self) -> None:
        checks.choice(self.preset, "preset", (None, "paper", "plain"))
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.at_least(self.tol, "tol", 0, whole_number=False)
        if self.n_chains != "tenth":
            checks.at_least(self.n_chains, "n_chains", FEWEST_CHAINS)

    @property
    def paper(self) -> bool:
        """Whether training is Algorithm 1 of Gilotte et al. (2022)."""
        return self.preset is not None


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
