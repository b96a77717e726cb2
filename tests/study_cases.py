"""Small problems for the tests of studies and of the commands on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sumwise import synthetic
from sumwise.cli.study import Problem, study_of


def long_votes(frame: pd.DataFrame, **names: str) -> pd.DataFrame:
    """The same votes in long form: a row for every unit and option, groups as rows and outcomes as columns."""
    rows = []
    for _, unit in frame.iterrows():
        rows += [(unit["precinct"], "row", k, unit[k]) for k in ("young", "old")]
        rows += [(unit["precinct"], "col", k, unit[k]) for k in ("yes", "no")]
    return pd.DataFrame(rows, columns=["unit", "side", "option", "votes"]).rename(columns=names)


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


def people(n_bags: int = 24, size: int = 40, seed: int = 0) -> pd.DataFrame:
    """Individuals in areas: area, age, sex, vote; older people and women vote yes more often."""
    rng = np.random.default_rng(seed)
    area = np.repeat(np.arange(n_bags), size)
    age = rng.normal(40 + 8 * rng.normal(size=n_bags)[area], 12)
    women = rng.random(len(area)) < (0.2 + 0.6 * rng.random(n_bags))[area]
    chance = 1 / (1 + np.exp(-(0.08 * (age - 40) + 0.8 * women - 0.4)))
    vote = np.where(rng.random(len(area)) < chance, "yes", "no")
    return pd.DataFrame(
        {"area": [f"A{a:02d}" for a in area], "age": age.round(1), "sex": np.where(women, "f", "m"), "vote": vote}
    )


def doses(n_bags: int = 24, size: int = 10) -> pd.DataFrame:
    """Samples of a number whose mean is the response: sample, x, dose."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=n_bags).round(6)
    bag = np.repeat(np.arange(n_bags), size)
    return pd.DataFrame({"sample": bag, "x": rng.normal(mean[bag]), "dose": mean[bag]})


def clicks(n: int = 400) -> pd.DataFrame:
    """Rows with two attributes and a label, click."""
    made = synthetic.rows(n, sizes=[3, 2], rate=0.4, random_state=2)
    frame = made.frame().rename(columns={made.label: "click"})
    return frame.assign(click=np.where(frame["click"] == 1, "yes", "no"))


def flocks(n_times: int = 5, side: int = 3, seed: int = 1) -> pd.DataFrame:
    """Counts on a grid over time: week, site, birds, x, y."""
    season = synthetic.birds(side, n_times, 400, rate=1.0, random_state=seed)
    rows = []
    for t, name in enumerate(season.domain.attributes):
        for k, count in enumerate(season.tables[name].counts):
            rows.append((t + 1, f"cell {k}", count, *season.positions[k]))
    return pd.DataFrame(rows, columns=["week", "site", "birds", "x", "y"])


def study(folder: Path, frame: pd.DataFrame, text: str, fit: bool = True):
    """The study of a frame, which is written beside its problem file as data.csv."""
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "problem.toml").write_text(text)
    made = study_of(Problem.from_file(folder / "problem.toml"))
    made.read()
    if fit:
        made.fit()
    return made
