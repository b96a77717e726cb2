"""Who voted for whom: precinct totals to the cells behind them."""

from __future__ import annotations

from sumwise.demo.story import Finding, Story


def run(say):
    from sumwise import synthetic
    from sumwise.ecological import Bounds, EcologicalEM, error_index, voting_patterns

    made = synthetic.precincts(120, 2, 3, random_state=4)
    m = made.margins
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
    return [
        Finding(
            f"share of {m.row_names[r]} for {m.col_names[c]}",
            float(est.shares_[r, c]),
            float(made.shares[r, c]),
            float(low[r, c]),
            float(high[r, c]),
        )
        for r, c in ((0, 0), (1, 0), (1, 2))
    ]


STORY = Story("Who voted for whom", family="ecological", run=run, order=20)
