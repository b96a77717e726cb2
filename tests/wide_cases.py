"""Wide files of margins for the tests of their recognition."""

from __future__ import annotations

import pandas as pd
import pytest

import public_data
from sumwise.recognise.initialise import suggest_problem
from sumwise.recognise.margins import guess
from sumwise.recognise.profile_file import profile_file


def profiled(tmp_path, *frames):
    """Profiles of the frames as files."""
    profiles = []
    for k, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{k}.csv", index=False)
        profiles.append(profile_file(tmp_path / f"{k}.csv"))
    return profiles


def guessed(tmp_path, *frames):
    return guess(profiled(tmp_path, *frames))


real = pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)


def public(name):
    return pd.read_csv(public_data.folder() / "ei" / f"{name}.csv", dtype={"precinct": str})


def suggested(tmp_path, frame):
    frame.to_csv(tmp_path / "a.csv", index=False)
    return suggest_problem([tmp_path / "a.csv"], tmp_path / "p.toml")
