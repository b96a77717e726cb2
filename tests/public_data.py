"""Whether the public data sets are on this machine; tests and examples that read them are skipped otherwise."""

from __future__ import annotations

import os
from pathlib import Path

REASON = "the public data sets aren't here: set SUMWISE_DATA, or put them in ../shared/data"


def folder() -> Path | None:
    """The folder of public data where sumwise.datasets would look, if it is there."""
    places = [os.environ.get("SUMWISE_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    return next((Path(place) for place in places if place and Path(place).is_dir()), None)


def present() -> bool:
    """Whether there is such a folder."""
    return folder() is not None
