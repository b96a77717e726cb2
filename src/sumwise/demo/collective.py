"""Where the birds flew: noisy counts per week and place to the flights between them."""

from __future__ import annotations

from collections.abc import Callable

from sumwise.demo.story import Finding, Findings, Story

SEED = 7


def run(say: Callable[[str], None]) -> list[Finding]:
    """Count birds on a grid over time, and recover the most likely flights with a proof."""
    import numpy as np

    from sumwise import synthetic
    from sumwise.collective import CollectiveEM, LogLinear, TreeModel, count_intervals, map_counts
    from sumwise.diagnostics import flow_numbers

    season = synthetic.birds(8, 12, 2000, rate=0.5, random_state=SEED)
    say("2,000 birds cross an 8 x 8 grid in 12 weeks. About half of them are counted; no flight is seen.")
    model = TreeModel(season.domain, season.edges, season.log_potentials)
    fit = map_counts(model, season.tables)
    say(f"The most likely flights in {fit.n_iter} steps, with a proof: no others score better by {fit.gap:.0e}.")
    raw = np.concatenate([t.counts / 0.5 for t in season.tables])
    true, found = (np.concatenate([nodes[a] for a in season.domain]) for nodes in (season.nodes, fit.nodes))
    plain, ours = np.abs(raw - true).mean(), np.abs(found - true).mean()
    say(f"Mean error per cell and week: {plain:.2f} birds by doubling the counts, {ours:.2f} by the model.")
    north = season.positions[:, 1] >= 4

    def crossing(tables, week):
        return float(tables[f"t{week}", f"t{week + 1}"][np.ix_(~north, north)].sum())

    learned = CollectiveEM(LogLinear(season.features, start=season.log_potentials["t0"])).fit(season.tables)
    names = ("distance", "wind", "destination", "moving")
    shown = ", ".join(f"{name} {w:.1f}" for name, w in zip(names, learned.weights_))
    say(
        f"How one bird weighs its moves can be learned from the counts alone: {shown} (in truth 5, 10, 10, 10; birds "
        "hardly ever stay where they are, so the counts say little about the last)."
    )
    weeks = sorted(range(11), key=lambda week: -crossing(season.edge_counts, week))[:2]
    flows = {str(w): {(f"t{w}", f"t{w + 1}"): np.outer(~north, north)} for w in weeks}
    sure = count_intervals(model, season.tables, flows, level=0.9)
    ends = " to ".join(f"{x:.0f}" for x in sure.to_frame().loc[0, ["low", "high"]])
    say(f"Over the middle of the map in week {weeks[0]}: {ends} birds, with 90% certainty.")
    shown = "birds that fly over the middle of the map in week"
    low, high = sure.interval
    found = [
        Finding(
            f"{shown} {w}",
            float(sure.values[k]),
            crossing(season.edge_counts, w),
            float(low[k]),
            float(high[k]),
            "count",
            level=0.9,
        )
        for k, w in enumerate(weeks)
    ]
    numbers = flow_numbers(fit, (f"t{weeks[0]}", f"t{weeks[0] + 1}"), season.positions)
    caption = f"Week {weeks[0]}: the mean flight of the birds at each place, and how many there are."
    return Findings(found, ("flows", {**numbers, "title": f"week {weeks[0]}"}, caption))


STORY = Story("Where the birds flew", family="collective", run=run, order=50)
