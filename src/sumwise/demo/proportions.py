"""Individuals from region counts: how single people would vote, learned from results per region."""

from __future__ import annotations

from sumwise.demo.story import Finding, Findings, Story


def run(say):
    import numpy as np

    from sumwise import synthetic
    from sumwise.diagnostics import calibration_numbers
    from sumwise.metrics import calibration
    from sumwise.proportions import CardinalityClassifier, covariance, subgroups

    data = synthetic.election(80, 100, n_categorical=3, weight_spread=0, mean_weight=1, region_effect=0, random_state=1)
    say("80 regions of 100 people: we hold their features and each region's result; every single vote is hidden.")
    clf = CardinalityClassifier(penalty=10.0).fit(data.bags, data.counts[:, 1])
    accuracy = float((clf.predict(data.test_values) == data.test_labels).mean())
    guess = float(np.bincount(data.test_labels).max()) / len(data.test_labels)
    say(f"Learned from 80 numbers, it predicts {accuracy:.0%} of 10,000 strangers' votes.")
    say(f"Always guessing the winner predicts {guess:.0%}, a model that knew the truth {data.bayes_accuracy:.0%}.")
    women = data.codes["sex"] == data.levels["sex"].index("female")
    sure = covariance(clf, data.bags, data.counts[:, 1])
    found = subgroups(clf, data.bags, {"women": women}, uncertainty=sure, realised=True, random_state=0)
    frame = found.to_frame()
    row = frame[(frame["women"] == True) & (frame["class"] == 1)].iloc[0]  # noqa: E712  a column, not a truth value
    truth = float(data.labels[women].mean())
    shown = (float(x) for x in (row["share"], truth, row["low"], row["high"]))
    tenths = calibration(data.test_labels, clf.predict_proba(data.test_values))
    caption = "Votes of 10,000 strangers, in tenths by predicted probability: predicted and true share of D."
    return Findings(
        [
            Finding(
                "accuracy on strangers (truth: that of the true model)", accuracy, data.bayes_accuracy, kind="share"
            ),
            Finding("share of class D among women", *shown, kind="share"),
        ],
        ("calibration", calibration_numbers({"predictions": tenths}), caption),
    )


STORY = Story("Individuals from region counts", family="proportions", run=run, order=30)
