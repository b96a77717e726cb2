"""What a private release costs: sensitivity, noise, and a budget that is spent once."""

from __future__ import annotations

from collections.abc import Callable

from sumwise.demo.story import Finding, Findings, Story

SEED = 80


def run(say: Callable[[str], None]) -> list[Finding]:
    """Spend a budget, try to spend it again, and read a total off noisy cells."""
    import numpy as np

    from sumwise import DataError, Tables
    from sumwise.diagnostics import predicted_numbers
    from sumwise.noise import Geometric
    from sumwise.privacy import Budget

    rng = np.random.default_rng(SEED)
    people = {"region": rng.integers(0, 8, 5_000), "age": rng.integers(0, 5, 5_000)}
    tables = Tables.from_frame(people, ["region", "age"])
    say("5,000 people in a table of 40 cells. One person is in one cell, so one person moves the table by 1.")
    budget = Budget(1.0)
    budget.spend(1.0, what="census table")
    scale = 1 / 1.0
    say(f"With epsilon 1 the noise has scale sensitivity / epsilon = {scale:g}. The budget now: {budget}")
    try:
        budget.spend(1.0, what="the same table again")
    except DataError as error:
        say(f"A second draw:            {error}")
    say("The noise below is simulated from a seed, to be the same each time; release() draws it from OpenDP.")
    noise = Geometric(scale)
    true = tables["region", "age"].counts
    noisy = noise.sample(true, random_state=SEED)
    say(f"First cells, true:        {true[0].astype(int).tolist()}")
    say(f"The same with noise:      {noisy[0].astype(int).tolist()}")
    young, truth = float(noisy[:, 0].sum()), float(true[:, 0].sum())
    spread = 1.96 * float(np.sqrt(np.sum(noise.variance(true[:, 0]))))
    what, ends = "people in the first age class, from 8 noisy cells", (young - spread, young + spread)
    numbers = predicted_numbers(true.ravel(), noisy.ravel(), "count of a cell")
    numbers |= {"labels": ["true count of a cell", "released count of the cell"]}
    caption = "The 40 cells: true and released count. With epsilon 1, most are off by one or two."
    return Findings([Finding(what, young, truth, *ends, kind="count")], ("predicted", numbers, caption))


STORY = Story("What privacy costs", family="privacy", run=run, order=80)
