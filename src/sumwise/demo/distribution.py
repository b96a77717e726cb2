"""What a sample reveals about its source: one number per bag of measurements."""

from __future__ import annotations

from collections.abc import Callable

from sumwise.demo.story import Finding, Findings, Story

SEED = 3


def run(say: Callable[[str], None]) -> list[Finding]:
    """Predict each bag's parameter from its sample, with intervals."""
    import numpy as np

    from sumwise import synthetic
    from sumwise.diagnostics import predicted_numbers
    from sumwise.distribution import BagRidge, FourierEmbedding, LinearEmbedding
    from sumwise.metrics import conformal_half_width

    data = synthetic.gamma(300, 60, noise=0.0, random_state=SEED)
    train, rest = np.arange(150), np.arange(150, 300)
    say("300 bags of 60 measurements each; a number belongs to each bag, and is known for 150 of them.")
    bags, y = data.bags, np.asarray(data.response, dtype=float)
    means, whole = (
        BagRidge(e, random_state=SEED).fit(bags[train], y[train]) for e in (LinearEmbedding(), FourierEmbedding())
    )
    scores = [m.score(bags[rest], y[rest]) for m in (means, whole)]
    say(
        f"From the bags' means alone, R squared on other bags is {scores[0]:.2f}; from the whole distribution, "
        f"{scores[1]:.2f}."
    )
    left, judged = rest[:100], rest[100:]
    wide = conformal_half_width(whole.predict(bags[left]) - y[left], 0.9)
    found = whole.predict(bags[judged])
    inside = float((np.abs(found - y[judged]) <= wide).mean())
    say(
        f"Errors on 100 bags give the width of 90% intervals: {wide:.2f} either way; they hold {inside:.0%} of 50 "
        "others."
    )
    numbers = predicted_numbers(y[judged], found, "number of the bag", found - wide, found + wide)
    caption = "50 bags that were not used: predicted and true number, with 90% intervals."
    return Findings(
        [
            Finding(f"the number of bag {k + 1}", mid, float(y[judged][k]), mid - wide, mid + wide, level=0.9)
            for k, mid in enumerate(map(float, found[:2]))
        ],
        ("predicted", numbers, caption),
    )


STORY = Story("What a sample reveals about its source", family="distribution", run=run, order=40)
