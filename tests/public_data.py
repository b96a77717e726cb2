"""Whether the public data sets are on this machine; tests and examples that read them are skipped otherwise."""

from __future__ import annotations

import os
from pathlib import Path

REASON = "the public data sets aren't here: set SUMWISE_DATA, or put them in ../shared/data"


def present() -> bool:
    """Whether there is a folder of public data where sumwise.datasets would look."""
    places = [os.environ.get("SUMWISE_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    return any(Path(place).is_dir() for place in places if place)
