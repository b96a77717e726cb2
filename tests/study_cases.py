"""Small problems for the tests of studies and of the commands on them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sumwise import synthetic


def votes(n: int = 40, units=None) -> pd.DataFrame:
    """A wide table of margins: precinct, young, old, yes, no."""
    m = synthetic.precincts(n, 2, 2, random_state=3).margins
    frame = pd.DataFrame({"precinct": [f"P{i:03d}" for i in range(n)] if units is None else units})
    return frame.assign(young=m.rows[:, 0], old=m.rows[:, 1], yes=m.cols[:, 0], no=m.cols[:, 1])


def ecological(folder: Path, frame: pd.DataFrame | None = None, **top: object) -> Path:
    """Write votes.csv and its problem file."""
    (votes() if frame is None else frame).to_csv(folder / "votes.csv", index=False)
    told = {"method": '"Goodman"', "sensitivity": "false", **top}
    lines = [
        'family = "ecological"',
        *(f"{k} = {v}" for k, v in told.items()),
        "[data]",
        'file = "votes.csv"',
        "[columns]",
    ]
    lines += ['unit = "precinct"', 'groups = ["young", "old"]', 'outcomes = ["yes", "no"]']
    path = folder / "problem.toml"
    path.write_text("\n".join(lines) + "\n")
    return path
