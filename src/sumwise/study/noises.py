"""The noise of counts as a problem file says it: its kind, and its rate, standard deviation or dispersion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, NegativeBinomial, Noise, Poisson

NEGATIVE = ("gaussian", "laplace", "geometric")  # kinds of noise that can make a count negative
NOISES: dict[str, tuple[str, ...]] = {  # kind -> its parameters
    "auto": (),
    "poisson": ("rate",),
    "negative-binomial": ("rate", "dispersion"),
    "exact": (),
    **dict.fromkeys(NEGATIVE, ("sd",)),
    "relative": (),
}


def noise_of(given: Mapping[str, Any], kinds: Any = NOISES) -> Noise | None:
    """The noise of a problem file; None where the counts decide.

    Parameters
    ----------
    given : mapping
        ``noise``, one of `kinds`, and its parameters: ``rate``, ``sd``, ``dispersion``.
    kinds : iterable of str
        Those that are known here.

    Examples
    --------
    >>> from sumwise.study.noises import noise_of
    >>> noise_of({"noise": "gaussian", "sd": 3.0}), noise_of({})
    (Gaussian(scale=3), None)
    """
    kind = checks.choice(given.get("noise", "poisson" if "rate" in given else "auto"), "noise", tuple(kinds))
    for key in ("rate", "sd", "dispersion"):
        if key in given and key not in NOISES[kind]:
            raise DataError(f"{key} is {given[key]!r} with noise {kind!r}.", hint=f"{kind} noise has no {key}.")
        if key in given:
            checks.positive(given[key], key, ndim=0)
    rate, sd = float(given.get("rate", 1.0)), float(given.get("sd", 1.0))
    made = {
        "poisson": lambda: Poisson(rate),
        "negative-binomial": lambda: NegativeBinomial(rate, float(given.get("dispersion", 0.1))),
        "exact": Exact,
        "gaussian": lambda: Gaussian(sd),
        "laplace": lambda: Laplace(sd / np.sqrt(2)),
        "geometric": lambda: Geometric(sd / np.sqrt(2)),
    }
    return made[kind]() if kind in made else None
