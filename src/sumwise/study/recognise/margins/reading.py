"""Reading: what a file of margins says so far, on the way to its problem file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.study.profile_file import FileProfile
from sumwise.study.recognise.margins.sides import (
    Sides,
)


@dataclass
class Reading:
    """What is being written into the problem file: its tables, comments, what to check."""

    profile: FileProfile
    sides: Sides
    data: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    comments: dict[tuple[str, str], str] = field(default_factory=dict)
    ask: list[str] = field(default_factory=list)
    out: dict[int, str] = field(default_factory=dict)  # rows that are left out, and why
    contests: list[dict[str, Any]] = field(default_factory=list)
    refusal: DataError | None = None  # why such a file can't be fitted as it is

    @property
    def keep(self) -> np.ndarray:
        """Rows that aren't left out."""
        keep = np.ones(self.profile.n_rows, dtype=bool)
        keep[list(self.out)] = False
        return keep
