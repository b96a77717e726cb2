"""What the report says of flows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.errors import DataError
from sumwise.report.summary import Summary, bullets, facts, figure, note, table, text

MOST_FRAMES = 24  # steps that are drawn
ASSUMED = [
    "The same individuals are there at all times; none come or go.",
    "Each moves on its own, and where it goes next depends on where it is now, not on where it was before.",
    "Moves of the same length are alike at all times and places; the longer a move, the less likely.",
    "Counts differ from the truth by the noise that the problem file names, independently of each other.",
]
BREAKS = [
    (
        "Counting that misses more at some places or times than the rate says: the model explains it by moves that "
        "weren't made."
    ),
    "Wind, roads, borders: anything that makes one direction likelier than another of the same length.",
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
        "scale": m["settings"]["scale"],
    }
    summary.lead = lead_lines(study, frame, float(stay.mean()))
    summary.add("found", flow_figure(study, frame))
    kinds = {"count": "count", "low": "count", "high": "count", "counted": "count", "estimated": "count"}
    moves = frame[frame["from"] != frame["to"]]
    order = np.argsort(-moves["count"].to_numpy(), kind="stable")
    summary.add(
        "estimates",
        table(moves.iloc[order], "Flows between places, largest first", kinds, "estimates.csv"),
        text(f"low and high: the {100 * study.problem.level:g}% interval, for the largest flows."),
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
            f"({100 * study.problem.level:g}% interval {row['low']:,.0f} to {row['high']:,.0f})."
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
        {"count": "count", "low": "count", "high": "count"},
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
            "The flows are the most likely ones, with a proof: no others score better by more than the gap. "
            "Intervals are by a normal or gamma "
            "approximation around them, given the model of moves; they don't allow for a wrong model."
        ),
    )
    if m["scores"] is not None and len(m["scores"]) > 1:
        rows = [
            {"scale": s, "mean error of left-out times": e, "chosen": s == m["settings"]["scale"]}
            for s, e in m["scores"].items()
        ]
        summary.add(
            "certainty",
            table(pd.DataFrame(rows), "How far individuals move: chosen by times that were left out"),
            text(
                "scale: a move this long is e times less likely than staying. The error is of counts at inner times "
                "that the fit has not seen."
            ),
        )
    if study.problem.sensitivity:
        tell_scales(study, summary)
    places = study.extra()["places"].dropna()
    rate = m["settings"]["rate"] if m["settings"]["noise"] == "poisson" else 1.0
    numbers = diagnostics.predicted_numbers(places["counted"], rate * places["estimated"], "count at a time and place")
    caption = f"Counted against estimated, at every time and place; the mean difference is {numbers['error']:.3g}."
    data = table(places, "Counts", {"counted": "count", "estimated": "count"})
    summary.add("certainty", figure("predicted", numbers, caption, data))
    summary.add("certainty", facts({k: v for k, v in m["settings"].items() if v is not None}, "Settings"))


def tell_scales(study: Any, summary: Summary) -> None:
    """Flows under half and twice the scale."""
    from sumwise.collective import map_counts

    own = study.settings()
    rows = []
    for factor in (0.5, 2.0):
        tried = replace(own, scale=factor * float(own.scale or 1.0))
        try:
            fit = study.work.step(
                f"scale times {factor:g}",
                lambda s=tried: [
                    _moved(map_counts(study.individual(s), study.tables(s)).edges[pair]) for pair in _pairs(study)
                ],
            )
        except DataError:
            continue
        rows.append({"scale": f"times {factor:g}", "share that moves": float(np.mean(fit)) / study.model["n"]})
    moving = 1 - np.einsum("tii->t", study.model["edges"]).mean() / study.model["n"]
    rows.insert(0, {"scale": "as chosen", "share that moves": float(moving)})
    summary.add(
        "certainty",
        table(pd.DataFrame(rows), "If individuals moved less or more", {"share that moves": "share"}),
        text(
            "Counts tell little of moves that cancel out; how many there are follows from the scale. Net flows "
            "between places depend on it less."
        ),
    )


def _pairs(study: Any) -> list[tuple[str, str]]:
    names = study.attributes()
    return list(pairwise(names))


def _moved(edge: Any) -> float:
    table_ = edge.toarray() if hasattr(edge, "toarray") else np.asarray(edge)
    return float(table_.sum() - np.trace(table_))
