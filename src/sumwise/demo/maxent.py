"""Who will click: a classifier of individuals from tables of counts."""

from __future__ import annotations

from collections.abc import Callable

from sumwise.demo.story import Finding, Findings, Story

SEED = 20


def run(say: Callable[[str], None]) -> list[Finding]:
    """Count made-up people in pairs of features, forget them, and predict other people."""
    import numpy as np

    from sumwise import Tables, synthetic
    from sumwise.diagnostics import calibration_numbers
    from sumwise.maxent import MaxEntClassifier, NaiveBayesTables, skyline
    from sumwise.metrics import auc, auc_interval, calibration, nllh

    people = synthetic.rows(20_000, sizes=[4, 3, 5, 4], rate=0.3, correlation=0.6, random_state=SEED)
    frame, names = people.frame(), list(people.domain.attributes)
    label = people.label
    train, test = frame.head(10_000), frame.tail(10_000)
    tables = Tables.from_frame(train, names, label=label, domain=people.domain)
    say(f"10,000 people are counted in {len(tables)} tables, one per pair of features, with their clicks.")
    model = MaxEntClassifier(random_state=SEED).fit(tables)
    say("The most even distribution that agrees with all tables gives each person a probability of clicking.")
    naive, best = NaiveBayesTables().fit(tables), skyline(tables, train, train[label])
    y = test[label].to_numpy()
    areas = [auc(y, m.predict_proba(test)) for m in (model, best)]
    scores = {name: nllh(y, m.predict_proba(test)) for name, m in (("model", model), ("naive", naive), ("rows", best))}
    say(
        f"On 10,000 others (0 is a constant, 1 is perfect): naive Bayes {scores['naive']:.3f}, the model "
        f"{scores['model']:.3f}, a logistic regression on the lost rows {scores['rows']:.3f}."
    )
    chance = model.predict_proba(test)[:, 1]
    top = np.argsort(-chance, kind="stable")[:1000]
    share = float(chance[top].mean())
    spread = 1.96 * float(np.sqrt((chance[top] * (1 - chance[top])).sum())) / len(top)
    asked = [names[0], names[2]]
    expected = float(model.expected(asked).values[1, 2].sum())
    counted = float(tables[tuple(asked)].counts[1, 2])
    ends = share - spread, share + spread
    found = [
        Finding("normalised log-likelihood from tables (truth: from rows)", scores["model"], truth=scores["rows"]),
        Finding("AUC from tables (truth: from rows)", areas[0], areas[1], *auc_interval(y, model.predict_proba(test))),
        Finding(f"people at {asked[0]} = 1, {asked[1]} = 2", expected, truth=counted, kind="count"),
        Finding("share that clicks of the likeliest 1,000", share, float(y[top].mean()), *ends, kind="share"),
    ]
    tenths = {
        "the model": calibration(y, model.predict_proba(test)),
        "naive Bayes": calibration(y, naive.predict_proba(test)),
    }
    caption = "10,000 others in tenths by predicted probability: predicted share of clicks, and the share that clicked."
    return Findings(found, ("calibration", calibration_numbers(tenths), caption))


STORY = Story("Who will click", family="maxent", run=run, order=60)
