"""Who voted for whom: precinct totals to the cells behind them."""

from __future__ import annotations

from sumwise.demo.story import Finding, Findings, Story


def run(say):
    from sumwise import Margins, synthetic
    from sumwise.ecological import Bounds, EcologicalEM, error_index, voting_patterns

    made = synthetic.precincts(120, 2, 3, random_state=4)
    m = Margins(made.margins.rows, made.margins.cols, row_names=["young", "old"], col_names=["yes", "no", "no vote"])
    say(f"{m.n_units} precincts: we hold how many of each group live there, and the votes. Who voted how is hidden.")
    bounds = Bounds().fit(m)
    group, outcome = m.row_names[0], m.col_names[0]
    least, most = bounds.lower_bound_[0, 0], bounds.upper_bound_[0, 0]
    say(f"Whatever the model, {least:.0%} to {most:.0%} of {group} chose {outcome}.")
    est = EcologicalEM().fit(m)
    wrong = error_index(est.total_, made.total)
    say(f"EcologicalEM's cells add up to every precinct's totals; {wrong:.1f}% of the people are in a wrong one.")
    say(voting_patterns(est).to_text().split("\n")[0])
    low, high = est.interval(0.95)
    found = [
        Finding(
            f"share of {m.row_names[r]} for {m.col_names[c]}",
            *(float(values[r, c]) for values in (est.shares_, made.shares, low, high)),
            kind="share",
        )
        for r, c in ((0, 0), (1, 0), (1, 2))
    ]
    ends = {"share": est.shares_.ravel(), "low": low.ravel(), "high": high.ravel(), "truth": made.shares.ravel()}
    names = [f"{g}: {o}" for g in m.row_names for o in m.col_names]
    caption = "Estimated share of each group for each outcome, with its 95% interval; crosses are the true shares."
    return Findings(
        found, ("subgroups", {"names": names, **ends, "level": 0.95, "label": "share of the group"}, caption)
    )


STORY = Story("Who voted for whom", family="ecological", run=run, order=20)
