"""Tracks: individuals that were seen twice, beside the counts of everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.display import finding_html
from sumwise.errors import DataError
from sumwise.frames import to_pandas


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tracks:
    """Where and when individuals were first and next seen (banded birds, tagged animals, a travel survey).

    Parameters
    ----------
    from_place, from_time, to_place, to_time : (n,) sequences
        Places and times by the names that the counts use.

    See Also
    --------
    FlowModel : Flows of a population between places, from counts over time: who went where, along which routes, and
        where next.

    Examples
    --------
    >>> from sumwise.flows import Tracks
    >>> len(Tracks(["a", "b"], [1, 1], ["a", "c"], [3, 2]))
    2
    """

    from_place: Any
    from_time: Any
    to_place: Any
    to_time: Any

    def __post_init__(self):
        names = ("from_place", "from_time", "to_place", "to_time")
        for name in names:
            listed = tuple(checks.plain(v) for v in checks.listing(getattr(self, name), name))
            object.__setattr__(self, name, listed)
        checks.same_length(**{name: getattr(self, name) for name in names})
        if not self.from_place:
            raise DataError("There are no tracks.")

    @classmethod
    def from_frame(cls, frame: Any, from_place: str, from_time: str, to_place: str, to_time: str) -> Tracks:
        """Return the tracks of a frame with a row each, by the names of four columns."""
        columns = [from_place, from_time, to_place, to_time]
        data = to_pandas(frame, columns, "the frame of tracks")
        return cls(*(data[c].tolist() for c in columns))

    def __len__(self) -> int:
        return len(self.from_place)

    def __getitem__(self, index: Any) -> Tracks:
        at = np.atleast_1d(np.arange(len(self))[index])
        return Tracks(*([v[k] for k in at] for v in (self.from_place, self.from_time, self.to_place, self.to_time)))

    def _repr_html_(self) -> str:
        stayed = sum(a == b for a, b in zip(self.from_place, self.to_place))
        words = f"{len(self):,} tracks, seen first at {len(set(self.from_place)):,} places; {stayed:,} were seen again "
        return finding_html(f"{words}at the same place, {len(self) - stayed:,} elsewhere.")

    def __repr__(self) -> str:
        return f"Tracks({len(self)})"
