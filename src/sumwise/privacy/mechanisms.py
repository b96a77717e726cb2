"""Mechanisms: noise drawn by OpenDP, with the loss that OpenDP proves for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.noise import Gaussian, Geometric, Laplace

LARGEST_WHOLE = 2.0**53
LARGEST_SCALE = 1e15  # beyond it doubles have no digits left for counts
GRID = 2**16
"""Gaussian noise on whole counts is drawn in steps of 1 / GRID and then rounded, which costs nothing. On a grid that
fine the delta of the discrete Gaussian is that of the Gaussian mechanism, up to (epsilon / GRID)**2 / 12 of it; drawn
on whole numbers it would differ by up to epsilon**2 / 12."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One way of adding noise to a vector of numbers.

    Parameters
    ----------
    name : str
        ``"geometric"``, ``"laplace"`` or ``"gaussian"``.
    noise : type
        The noise model that the released table carries.
    pure : bool
        Whether the loss is an epsilon (else it is a rho of zCDP).
    whole : bool or None
        Whether numbers are whole: required (True), or taken as they come (None).

    Examples
    --------
    >>> from sumwise.privacy.mechanisms import mechanism
    >>> geometric = mechanism("geometric")
    >>> round(geometric.scale(sensitivity=2.0, loss=1.0), 9)
    2.0
    """

    name: str
    noise: type
    pure: bool
    whole: bool | None

    def scale(self, sensitivity: float, loss: float) -> float:
        """The least scale whose loss, as OpenDP computes it, is at most ``loss``."""
        scale = sensitivity / (loss if self.pure else math.sqrt(2 * loss)) if loss > 0 else math.inf
        if not 0 < scale < LARGEST_SCALE:
            raise DataError(
                f"The {self.name} noise of a table would have a scale of {scale:.3g}.",
                hint="epsilon is too small or too large to mean anything.",
            )
        while self.loss(sensitivity, scale) > loss:  # OpenDP rounds against us, by a last digit
            scale *= 1 + 1e-12
        return float(scale)

    def loss(self, sensitivity: float, scale: float) -> float:
        """The loss that OpenDP proves: epsilon where the mechanism is pure, else rho."""
        return float(self._measurement(scale, whole=False).map(float(sensitivity)))

    def add(self, values: np.ndarray, scale: float, whole: bool = True) -> np.ndarray:
        """Numbers with noise.

        ``whole`` says that all numbers are whole in any data that could be here; they then stay whole unless the
        noise is Laplace's. It is stated, never read off the numbers: that they happen to be whole would show.
        """
        whole = (whole or bool(self.whole)) and self.name != "laplace"
        if whole and np.any((values != np.floor(values)) | (np.abs(values) > LARGEST_WHOLE)):
            raise DataError(
                f"The {self.name} mechanism needs whole counts of at most 2**53, and some are not.",
                hint="weighted tables take mechanism='laplace' or 'gaussian'.",
            )
        if not values.size:
            return values.astype(float)
        grid = GRID if whole and not self.pure and np.abs(values).max() < LARGEST_WHOLE / GRID else 1
        measurement = self._measurement(scale * grid, whole)
        flat = values.ravel().astype(np.int64 if whole else np.float64) * grid
        noisy = np.asarray(measurement(flat), dtype=np.float64)
        return (noisy if grid == 1 else np.round(noisy / grid)).reshape(values.shape)

    def _measurement(self, scale: float, whole: bool) -> Any:
        dp = require("opendp.prelude", extra="privacy")
        dp.enable_features("contrib")  # without it OpenDP offers no mechanism
        atoms = dp.atom_domain(T="i64") if whole else dp.atom_domain(T="f64", nan=False)
        distance = dp.l1_distance if self.pure else dp.l2_distance
        make = dp.m.make_laplace if self.pure else dp.m.make_gaussian
        kind = "i64" if whole and self.pure else "f64"
        return make(dp.vector_domain(atoms), distance(T=kind), scale=scale)


MECHANISMS = {
    "geometric": Mechanism("geometric", Geometric, pure=True, whole=True),
    "laplace": Mechanism("laplace", Laplace, pure=True, whole=None),
    "gaussian": Mechanism("gaussian", Gaussian, pure=False, whole=None),
}


def mechanism(name: str) -> Mechanism:
    """The mechanism of that name."""
    if name not in MECHANISMS:
        raise DataError(f"mechanism is {name!r}.", hint=f"it takes {', '.join(map(repr, MECHANISMS))}.")
    return MECHANISMS[name]
