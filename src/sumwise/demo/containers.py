"""What you hold: the three containers, and how they refuse data that can't be right."""

from __future__ import annotations

from collections.abc import Callable

from sumwise.demo.story import Finding, Story

SEED = 20


def run(say: Callable[[str], None]) -> list[Finding]:
    """Sum the same made-up voters in three ways, and make one mistake."""
    import numpy as np
    import pandas as pd

    from sumwise import Bags, DataError, Margins, Tables

    # One row per voter; young people say yes more often, and live together
    rng = np.random.default_rng(SEED)
    precinct = rng.integers(0, 8, 4_000)
    years = 18 + 60 * rng.beta(1.5, 3.0 - precinct / 4)
    young = years < 40
    yes = rng.random(4_000) < 0.3 + 0.4 * young
    age = ["young" if y else "old" for y in young]
    voters = pd.DataFrame({"precinct": precinct, "years": years, "age": age, "yes": yes.astype(int)})
    say(f"{len(voters):,} voters in 8 precincts have an age group and a choice, which we now forget.")
    margins = _margins(voters, pd)
    say(f"Totals per precinct:      {margins}")
    bags = Bags.from_frame(voters, bag="precinct", features=["years"])
    say(f"People, choices summed:   {bags}")
    tables = Tables.from_frame(voters, ["precinct", "age"], label="yes", order=2)
    say(f"Counts with label sums:   {tables}")
    try:
        Margins(margins.rows, margins.cols + np.eye(8, 2))
    except DataError as error:
        say(f"A slip in two precincts:  {error}")
    truth = float(voters["yes"].to_numpy().sum())
    return [Finding("voters for yes, from the totals", float(margins.cols[:, 0].sum()), truth=truth, kind="count")]


def _margins(voters, pd):
    """One row per precinct, with a column per age group and per choice."""
    from sumwise import Margins

    ages = pd.crosstab(voters["precinct"], voters["age"])
    choices = pd.crosstab(voters["precinct"], voters["yes"]).rename(columns={1: "yes", 0: "no"})
    frame = ages.join(choices).reset_index()
    return Margins.from_frame(frame, rows=["young", "old"], cols=["yes", "no"], unit="precinct")


STORY = Story("What you hold", family="containers", run=run, order=10)
