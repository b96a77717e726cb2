"""What the report says of flows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.report.summary import Summary, bullets, facts, figure, note, table, text

MOST_FRAMES = 24  # steps that are drawn
ASSUMED = [
    "The same individuals are there at all times; none come or go.",
    "Each moves on its own, and where it goes next depends on where it is now, not on where it was before.",
    "Of all flows that agree with the counts, those are taken that need the fewest long moves, within the scale.",
    "Counts differ from the truth by the noise that the problem file names, independently of each other.",
]
BREAKS = [
    (
        "Counting that misses more at some places or times than the rate says: the model explains it by moves that "
        "weren't made."
    ),
    "Roads, borders, food: anything that makes one place likelier than another of the same distance and direction.",
    "Individuals that keep to routes: counts can't tell a swap of two individuals from two that stay.",
]


def tell(study: Any, summary: Summary) -> None:
    """Say what was found, how sure it is and what it rests on."""
    frame, m = study.estimates(), study.model
    stay = np.einsum("tii->t", m["edges"]) / m["n"]
    summary.record = {
        "times": len(study.times),
        "places": len(study.places),
        "population": m["n"],
        "staying": stay,
    }
    summary.lead = lead_lines(study, frame, float(stay.mean()))
    summary.add("found", flow_figure(study, frame))
    kinds: dict[str, str] = dict.fromkeys(
        ("count", "least", "most", "lower_bound", "upper_bound", "counted", "estimated"), "count"
    )
    moves = frame[frame["from"] != frame["to"]]
    order = np.argsort(-moves["count"].to_numpy(), kind="stable")
    summary.add(
        "estimates",
        table(moves.iloc[order], "Flows between places, largest first", kinds, "estimates.csv"),
        text("least and most: over half and twice the scale of moves. bounds: whatever the model."),
        table(study.extra()["places"], "Every time and place", kinds, "places.parquet"),
    )
    tell_certainty(study, summary)
    summary.add("assumptions", bullets(ASSUMED, "The model assumes"), bullets(BREAKS, "What would break it"))


def lead_lines(study: Any, frame: Any, stay: float) -> list[str]:
    """The population, who stays, and the largest flows."""
    lines = [
        f"{len(study.places):,} places counted at {len(study.times):,} times; about {study.model['n']:,.0f} "
        "individuals. Where they were is counted, who "
        "went where is not.",
        f"From one time to the next, an estimated {100 * stay:.0f}% stay where they are.",
    ]
    moves = frame[frame["from"] != frame["to"]]
    for row in moves.loc[moves["count"].nlargest(3).index].to_dict("records"):
        lines.append(
            f"From {row['from']} to {row['to']}, between {row['time']} and {row['next time']}: an estimated "
            f"{row['count']:,.0f} "
            f"({row['least']:,.0f} to {row['most']:,.0f} over scales of moves; whatever the model, "
            f"{row['lower_bound']:,.0f} to "
            f"{row['upper_bound']:,.0f})."
        )
    return lines


def flow_figure(study: Any, frame: Any) -> dict[str, Any]:
    """Arrows step by step; places without coordinates stand on a circle."""
    where = study.positions
    told = (
        "Each arrow is the mean move of those who start at a place, as dark as they are many; drag the slider "
        "through time."
    )
    if where is None:
        angle = np.linspace(0, 2 * np.pi, len(study.places), endpoint=False)
        where = np.column_stack([np.cos(angle), np.sin(angle)])
        told += " No coordinates were given, so places stand on a circle."
    steps = np.unique(np.linspace(0, len(study.times) - 2, min(MOST_FRAMES, len(study.times) - 1)).round().astype(int))
    if len(steps) < len(study.times) - 1:
        told += f" {len(steps)} of {len(study.times) - 1} steps are drawn."
    frames, labels = [], []
    for t in steps:
        label = f"{study.times[t]} to {study.times[t + 1]}"
        counts = SimpleNamespace(edges={("a", "b"): study.model["edges"][t]})
        frames.append({**diagnostics.flow_numbers(counts, ("a", "b"), where), "title": label})
        labels.append(label)
    top = frame[frame["from"] != frame["to"]]
    data = table(
        top.iloc[np.argsort(-top["count"].to_numpy(), kind="stable")],
        "Flows",
        dict.fromkeys(("count", "least", "most", "lower_bound", "upper_bound"), "count"),
    )
    return figure("flows", frames, told, data, labels=labels)


def tell_certainty(study: Any, summary: Summary) -> None:
    """Proof of the optimum, the choice of scale, what other scales give, counted against estimated."""
    m = study.model
    fit = m["fit"]
    if not fit["converged"]:
        summary.add("certainty", note("The search for the most likely flows stopped early."))
    summary.add("certainty", study.told_fit(SimpleNamespace(**fit)))
    summary.add(
        "certainty",
        text(
            "Counts per place don't determine who went where: two individuals that swap places leave no trace. least "
            "and most: the flow under half "
            "and twice the scale. lower and upper bound: between these it must lie whatever the model, given the "
            "estimated counts of the places. "
            "There is no probability in either: no data here tell how likely a flow is."
        ),
    )
    tell_scales(study, summary)
    places = study.extra()["places"].dropna()
    rate = m["settings"]["rate"] if m["settings"]["noise"] == "poisson" else 1.0
    numbers = diagnostics.predicted_numbers(places["counted"], rate * places["estimated"], "count at a time and place")
    caption = f"Counted against estimated, at every time and place; the mean difference is {numbers['error']:.3g}."
    data = table(places, "Counts", {"counted": "count", "estimated": "count"})
    summary.add("certainty", figure("predicted", numbers, caption, data))
    summary.add("certainty", facts({k: v for k, v in m["settings"].items() if v is not None}, "Settings"))


def tell_scales(study: Any, summary: Summary) -> None:
    """How the scale was chosen, and what another one would give."""
    m = study.model
    plain = study.neighbours_error()
    if m["scores"] is not None and len(m["scores"]) > 1:
        rows = [{"scale": s, "mean error": e, "chosen": s == m["settings"]["scale"]} for s, e in m["scores"].items()]
        told = (
            f"Time {study.times[len(study.times) // 2]} was left out and predicted from the others. scale: at first, "
            "a move this long is "
            "e times less likely than staying."
        )
        summary.add(
            "certainty",
            table(pd.DataFrame(rows), "How far individuals move: what predicts a left-out time best"),
            text(told),
        )
        if plain is not None:
            best = min(m["scores"].values())
            words = (
                f"The mean error of a count there is {best:.3g}; the mean of the times before and after has "
                f"{plain:.3g}."
            )
            summary.add("certainty", note(words, "good" if best < plain else "warning"))
    rows = []
    for name, edges in (
        ("as chosen", m["edges"]),
        ("least, over scales", m["least"]),
        ("most, over scales", m["most"]),
    ):
        rows.append(
            {
                "scale": name,
                "individuals that move, per step": float(edges.sum() / len(edges) - np.einsum("tii->t", edges).mean()),
            }
        )
    summary.add(
        "certainty",
        table(pd.DataFrame(rows), "What another scale would give", {"individuals that move, per step": "count"}),
    )
