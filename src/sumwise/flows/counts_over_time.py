"""CountsOverTime: counts by time and place, with the places' coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks
from sumwise.display import finding_html
from sumwise.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class CountsOverTime:
    """How many individuals were counted at every time and place.

    Parameters
    ----------
    counts : array of shape (n_times, n_places)
        NaN where nothing was observed; noisy counts may be negative.
    times, places : sequences of str, optional
        Their names. Default: "0", "1", ...
    positions : array of shape (n_places, 2), optional
        Coordinates of the places; without them all moves but staying are equally likely.

    Examples
    --------
    >>> from sumwise.flows import CountsOverTime
    >>> len(CountsOverTime([[9, 1], [4, 6]], places=["a", "b"]))
    2
    """

    counts: np.ndarray
    times: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    positions: np.ndarray | None = None

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(self, counts: Any, times: Any = (), places: Any = (), positions: Any = None) -> None: ...

    def __post_init__(self):
        counts = checks.finite(self.counts, "counts", ndim=2, allow_nan=True)
        if len(counts) < 2:
            raise DataError("There is only one time; flows need at least two.", hint="counts has one row per time.")
        object.__setattr__(self, "counts", checks.frozen(counts))
        for name, n in (("times", counts.shape[0]), ("places", counts.shape[1])):
            given = getattr(self, name)
            object.__setattr__(self, name, checks.names(list(given) or list(map(str, range(n))), n, name, name[:-1]))
        if self.positions is not None:
            positions = checks.finite(self.positions, "positions", ndim=2)
            if positions.shape != (counts.shape[1], 2):
                raise DataError(
                    f"positions has shape {positions.shape}; there are {counts.shape[1]} places.",
                    hint="give two coordinates per place.",
                )
            object.__setattr__(self, "positions", checks.frozen(positions))

    def __len__(self) -> int:
        return len(self.counts)

    def _repr_html_(self) -> str:
        missing = int(np.isnan(self.counts).all(axis=1).sum())
        words = f"Counts at {len(self):,} times and {self.counts.shape[1]:,} places"
        return finding_html(f"{words}{f'; {missing} times were not observed' if missing else ''}.")

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the figure that suits these data and return its axes; see `sumwise.plots.plot_containers`."""
        from importlib import import_module

        return import_module("sumwise.plots").plot_containers(self, ax, **options)
