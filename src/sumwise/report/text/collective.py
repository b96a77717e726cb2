"""The report on flows between places, recovered from counts over time (collective graphical models)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from sumwise import diagnostics
from sumwise.collective import CountsOverTime, interpolation_error
from sumwise.errors import DataError
from sumwise.report.context import Context, plural
from sumwise.report.summary import Summary, bullets, facts, figure, finding, note, table

MOST_FRAMES = 24  # steps that are drawn
LEAST = 0.05  # individuals of a flow that is listed
COUNTS: dict[str, str] = dict.fromkeys(
    ("count", "least", "most", "lower bound", "upper bound", "counted", "estimated"), "count"
)
ASSUMED = [
    "The population is closed: the same individuals are present at all times.",
    "Individuals move independently of each other, and the next place depends on the present place only.",
    "Among all flows that agree with the counts, those with the shortest moves are the most likely.",
    "Counts differ from the truth by independent noise of the stated kind.",
]
RISKS = [
    "Detection that varies between places or times more than the noise allows: the model explains it by moves that did "
    "not happen.",
    "Roads, borders, food: whatever makes one place more attractive than another at the same distance.",
    "Individuals that keep to routes: counts cannot distinguish two individuals that swap places from two that stay.",
]
EXCHANGE = (
    "Counts per place do not determine who went where: two individuals that swap places leave no trace. least, most: "
    "the flow under half and twice the scale of moves. lower bound, upper bound: the range that the estimated counts "
    "of the places imply, whatever the model. Neither is a probability statement."
)


def write(context: Context) -> Summary:
    """The summary of flows, or of the individual model that was learned from counts."""
    if not hasattr(context.model, "least_"):
        from sumwise.report.text import plain

        return plain.write(context)
    if not isinstance(context.data, CountsOverTime):
        raise DataError("A report on flows needs the counts over time.", hint="give the CountsOverTime of fit.")
    model, counts = context.model, context.data
    flows: Any = _flows(context)
    places = _places(context)
    context.frames |= {"estimates": flows, "places": places}
    steps = f"{_time(counts.times[0])} to {counts.times[-1]}"
    title = context.titled(f"Movement between {plural(len(counts.places), 'place')}, {steps}")
    summary = Summary(title, "collective", context.method)
    stay = np.einsum("tii->t", model.edges_) / model.n_
    summary.record = {
        "times": len(counts.times),
        "places": len(counts.places),
        "population": model.n_,
        "staying": stay,
    }
    summary.findings = _findings(context, flows)
    summary.lead = [
        f"Individuals were counted at {plural(len(counts.places), 'place')} and {plural(len(counts.times), 'time')}, "
        f"{_how_many(model, counts)}; who went where was not observed. In the most likely movements, "
        f"{100 * stay.mean():.0f}% of them stay where they are from one time to the next.",
        *context.cautions,
    ]
    if counts.positions is None:
        summary.lead.append("No coordinates were given, so that all moves are equally likely a priori.")
    if not model.fit_.converged:
        summary.lead.append("Read with caution: the search for the most likely flows stopped early.")
    summary.add("found", _flow_figure(context, flows))
    moves = _named(flows[flows["from"] != flows["to"]].sort_values("count", ascending=False, kind="stable"))
    summary.add(
        "estimates",
        table(moves, "Flows between places, largest first", COUNTS, "estimates.csv", about=EXCHANGE),
    )
    summary.add("appendix", table(places, "Every time and place", COUNTS, "places.csv", folded=True))
    if context.truth is not None:
        _truth(context, summary)
    _scales(context, summary)
    _agreement(context, summary, places)
    context.convergence(summary)
    pairs = {k: v for k, v in model.get_params(deep=False).items() if v is not None}
    summary.add("certainty", facts({**pairs, "scale": model.scale_}, "Settings"))
    summary.add("assumptions", bullets(ASSUMED, f"{context.method} assumes"), bullets(RISKS, "What could go wrong"))
    return summary


def _how_many(model: Any, counts: CountsOverTime) -> str:
    """How many individuals there are; where counts are no whole numbers and no noise explains that, nobody knows."""
    seen = counts.counts[np.isfinite(counts.counts)]
    noisy = model.noise in ("laplace", "geometric") or bool((seen < 0).any())
    if model.population is None and not noisy and (seen != np.round(seen)).any():
        return f"in a relative unit that sums to {model.n_:,.4g} (not individuals: the counts are no whole numbers)"
    return f"about {model.n_:,.0f} in all"


def _named(frame: Any) -> Any:
    return frame.rename(columns={"lower_bound": "lower bound", "upper_bound": "upper bound"})


def _flows(context: Context) -> pd.DataFrame:
    """Flows between places at every step, with their range over scales and the bounds that the places imply."""
    m = context.model
    lower, upper = m.bounds()
    t, i, j = np.nonzero(m.edges_ >= LEAST)
    times, places = (np.asarray(names, dtype=object) for names in (m.times_, m.places_))
    columns = {"time": times[t], "next time": times[t + 1], "from": places[i], "to": places[j]}
    values = {"count": m.edges_, "least": m.least_, "most": m.most_, "lower_bound": lower, "upper_bound": upper}
    return pd.DataFrame({**columns, **{name: array[t, i, j] for name, array in values.items()}})


def _places(context: Context) -> pd.DataFrame:
    m, counts = context.model, context.data
    t, k = np.indices(counts.counts.shape).reshape(2, -1)
    times, places = (np.asarray(names, dtype=object) for names in (m.times_, m.places_))
    columns = {"time": times[t], "place": places[k]}
    return pd.DataFrame({**columns, "counted": counts.counts.ravel(), "estimated": m.nodes_.ravel()})


def _findings(context: Context, frame: Any) -> list[dict[str, Any]]:
    m = context.model
    stay = [float(np.einsum("tii->t", e).sum() / (m.n_ * len(e))) for e in (m.edges_, m.least_, m.most_)]
    out = [
        finding(
            "Individuals that stay where they are, per step",
            stay[0],
            low=min(stay),
            high=max(stay),
            trust="low",
            because="Swaps leave no trace in counts; the range is over half and twice the scale of moves.",
        )
    ]
    moves = frame[frame["from"] != frame["to"]]
    for row in moves.loc[moves["count"].nlargest(4).index].to_dict("records"):
        close = row["most"] - row["least"] <= 0.25 * max(row["count"], 1.0)
        out.append(
            finding(
                f"From {_place(row['from'])} to {_place(row['to'])}, between {_time(row['time'])} and "
                f"{row['next time']}",
                row["count"],
                "count",
                low=row["least"],
                high=row["most"],
                lower_bound=row["lower_bound"],
                upper_bound=row["upper_bound"],
                trust="moderate" if close else "low",
                because="It changes little with the scale of moves." if close else "It depends on the scale of moves.",
            )
        )
    return out


def _place(name: Any) -> str:
    return f"place {name}" if str(name).isdigit() else str(name)


def _time(name: Any) -> str:
    return f"time {name}" if str(name).isdigit() and len(str(name)) < 4 else str(name)  # 2024 is a year


def _flow_figure(context: Context, flows: Any) -> dict[str, Any]:
    m, counts = context.model, context.data
    where = counts.positions
    caption = "Each arrow is the mean move of those who start at a place; colour shows how many they are."
    if where is None:
        angle = np.linspace(0, 2 * np.pi, len(counts.places), endpoint=False)
        where = np.column_stack([np.cos(angle), np.sin(angle)])
        caption += " No coordinates were given: places are drawn on a circle."
    n = len(counts.times) - 1
    steps = np.unique(np.linspace(0, n - 1, min(MOST_FRAMES, n)).round().astype(int))
    if n > 1:
        caption += " Use the slider to move through time."
    if len(steps) < n:
        caption += f" {len(steps)} of {n} steps are drawn."
    frames, labels = [], []
    for t in steps:
        labels.append(f"{_time(counts.times[t])} to {counts.times[t + 1]}")
        edges = SimpleNamespace(edges={("a", "b"): m.edges_[t]})
        numbers = diagnostics.flow_numbers(edges, ("a", "b"), where)
        frames.append({**numbers, "title": labels[-1], "names": list(map(str, counts.places))})
    top = _named(flows[flows["from"] != flows["to"]].sort_values("count", ascending=False, kind="stable"))
    return figure("flows", frames, caption, table(top, "Flows", COUNTS), labels=labels)


def _truth(context: Context, summary: Summary) -> None:
    true = np.asarray(context.truth, dtype=float)
    error = float(np.abs(context.model.edges_ - true).sum() / 2 / max(true.sum(), 1e-300))
    words = (
        "The flows are known here and were hidden from the method: "
        f"{100 * error:.1f}% of the individuals are assigned to a wrong flow."
    )
    summary.checked.append(words)
    summary.add("certainty", note(words, "good" if error < 0.2 else "warning"))


def _scales(context: Context, summary: Summary) -> None:
    m, counts = context.model, context.data
    if m.scores_ is not None and len(m.scores_) > 1:
        rows = [{"scale": s, "mean error": e, "selected": s == m.scale_} for s, e in m.scores_.items()]
        middle = counts.times[len(counts.times) // 2]
        summary.add(
            "certainty",
            table(
                pd.DataFrame(rows),
                f"Scale of moves: error at {_time(middle)}, which was left out",
                about="scale: a move of this length is e times less likely than staying, before adapting to the "
                "counts. mean error: per count; lower is better.",
            ),
        )
        baseline = interpolation_error(counts)
        if baseline is not None:
            best = min(m.scores_.values())
            words = (
                f"Predicting the left-out time: the mean error per count is {best:.3g}; interpolating between the "
                f"times before and after gives {baseline:.3g}."
            )
            summary.add("certainty", note(words, "good" if best < baseline else "warning"))
    moving = {
        "selected scale": m.edges_,
        "least, over scales": m.least_,
        "most, over scales": m.most_,
    }
    rows = [
        {"flows": name, "movers per step": float(e.sum() / len(e) - np.einsum("tii->t", e).mean())}
        for name, e in moving.items()
    ]
    summary.add(
        "certainty", table(pd.DataFrame(rows), "Sensitivity to the scale of moves", {"movers per step": "count"})
    )


def _agreement(context: Context, summary: Summary, places: pd.DataFrame) -> None:
    seen = places.assign(expected=context.model.expected_counts().ravel()).dropna()
    numbers = diagnostics.predicted_numbers(seen["counted"], seen["expected"], "count at a time and place")
    caption = f"Counts at every time and place, and what the model expects; mean difference {numbers['error']:.3g}."
    data = table(seen, "Counts", {**COUNTS, "expected": "count"})
    summary.add("certainty", figure("predicted", numbers, caption, data))
