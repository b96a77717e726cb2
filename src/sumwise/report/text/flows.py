"""The report on flows between places, recovered from counts over time (`FlowModel`)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from sumwise import plots
from sumwise.errors import DataError
from sumwise.flows import FlowModel
from sumwise.noise import Exact
from sumwise.plots.map_frame import places_on_map, rings
from sumwise.report.context import Context, plural
from sumwise.report.rounding import span
from sumwise.report.summary import FEW_ROWS, Summary, bullets, facts, figure, finding, note, table, text

MOST_FRAMES = 24  # steps that are drawn
MOST_ROWS = 2000  # flows that are listed: the largest
MOST_CELLS = 2e5  # times x places up to which intervals and checks are computed for the page
INTERVALS = 12  # flows that get an interval
ROUTES = 6
SAME_TOTAL = 0.01  # relative difference of totals that are estimates of one population
MIN_LISTED_FLOW = 0.05  # individuals of a flow that is listed
COUNTS: dict[str, str] = dict.fromkeys(("count", "low", "high", "counted", "estimated", "individuals"), "count")
MOVES = {
    "averaged": "Near moves are more likely than far ones. How much so, a drift, how places attract and how all this "
    "changes over time were averaged over movement models, by how likely each makes the counts.",
    "left out": "Near moves are more likely than far ones; of all movements that predict left-out times about equally "
    "well, the one with the fewest moves was taken.",
    "given": "How individuals move is taken as given.",
    "tracks": "Individuals are of a few types, which differ in how they move; tracks of individuals gave their shares.",
}
RISKS = [
    "Detection that varies between places or times more than the noise allows: the model explains it by moves that did "
    "not happen.",
    "Roads, borders, food: whatever makes one place more attractive than another at the same distance.",
    "Individuals of several types, some of which hardly move: in simulated populations of two types, 90% intervals of "
    "all who stay covered in one case of eight.",
    "Individuals that keep to routes: counts cannot distinguish two individuals that swap places from two that stay.",
]
EXCHANGE = (
    "Counts per place do not determine who went where: two individuals that swap places leave no trace. Estimates "
    "are means, and intervals quantiles, over how individuals may move: as given, or averaged over movement models by "
    "how likely each makes the counts."
)

Staying = tuple[float, str, tuple, float | None]  # the mean share that stays, its kind, interval and level, if any
CLOCK = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(?::00)?")  # a day and a time of it, without seconds


def write(context: Context) -> Summary:
    """The summary of flows, or of the individual model that was learned from counts."""
    if not isinstance(context.model, FlowModel):
        from sumwise.report.text import plain

        return plain.write(context)
    model = context.model
    model.check_data(context.data)
    flows, places = model.flows(least=MIN_LISTED_FLOW), model.to_frame()
    moves = flows.loc[flows["from"] != flows["to"]].sort_values("count", ascending=False, kind="stable")
    context.frames |= {"estimates": flows, "places": places}
    times = _called(model.times_[0], context.time_name, model.times_[-1])
    title = context.title or f"Movement between {plural(len(model.places_), 'place')}, {times}"
    summary = Summary(title, "flows", context.method)
    stay = _staying(model, context.level)
    summary.record = _record(model)
    found, why = intervals = context.step("intervals", lambda: _intervals(model, moves, context.level))
    summary.findings = _findings(context, moves, stay, intervals)
    summary.lead = _lead(context, stay)
    outlines = {} if context.outlines is None else {"outlines": rings(context.outlines)}  # of all maps
    summary.add("found", _flow_figure(context, moves, outlines, stay), _connectivity_figure(context))
    summary.add("estimates", _route_figure(context, outlines))
    largest = f"The largest flows between places, with {context.percent} intervals"
    summary.add("estimates", text(why) if found is None else table(found, largest, COUNTS, about=EXCHANGE))
    few, words = len(moves) <= FEW_ROWS, "Flows between places, largest first"
    listed = table(moves.head(MOST_ROWS), words, COUNTS, "estimates.csv", not few, EXCHANGE)
    summary.add("estimates" if few else "appendix", listed)
    summary.add("appendix", table(places, "Every time and place", COUNTS, "places.csv", folded=True))
    if context.truth is not None:
        _truth(context, summary)
    _seasons_and_detection(model, summary)
    _movement(context, summary)
    _check(context, summary)
    _agreement(context, summary)
    _uncertainty(context, summary, outlines)
    context.convergence(summary)
    params = {k: v for k, v in model.get_params(deep=False).items() if v is not None and k != "places"}
    given = {k: v if isinstance(v, bool) else str(v) for k, v in params.items()}
    more = {"noise": str(model.noise_), "places": str(model.places_)}
    summary.add("certainty", facts({**given, **more}, "Settings"))
    assumed = bullets(_assumed(model), f"{context.method} assumes")
    summary.add("assumptions", assumed, bullets(RISKS, "What could go wrong"))
    return summary


def _record(model: FlowModel) -> dict[str, Any]:
    sizes = {"times": len(model.times_), "places": len(model.places_), "population": model.n_}
    return {**sizes, "staying": model.staying()}


def _lead(context: Context, stay: Staying) -> list[str]:
    model = context.model
    seasons = "" if model.seasons_ is None else f" in {plural(len(model.seasons_), 'season')}"
    if model.relative_:
        unit = f"as relative abundance (scaled so that the largest total is {model.n_:,.0f} individuals)"
    else:
        unit = f"about {model.n_:,.0f} in all"
    within = "at" if context.time_name == "time" else "in"
    ends = "" if stay[3] is None else f" ({context.percent} interval {span(stay[2][0], stay[2][1], 'share', 0)})"
    out = [
        f"An estimated {100 * stay[0]:.0f}% of individuals{ends} stay where they are from one {context.time_name} to "
        f"the next. They were counted at {plural(len(model.places_), 'place')} {within} "
        f"{plural(len(model.times_), context.time_name)}{seasons}, {unit}; who went where was not observed.",
        *context.cautions,
    ]
    if model.places_.distances is not None and model.places is None:
        out.append(
            "No coordinates were given: before the counts are seen, every move is as likely as any other, and there "
            "is no map."
        )
    if not model.fit_.converged:
        out.append("Read with caution: the search for how individuals move stopped early.")
    if (caution := getattr(model, "caution_", None)) is not None:
        out.append(f"Read with caution: {caution[0].lower()}{caution[1:]}")
    if (totals := getattr(model, "total_range_", None)) is not None:  # models saved before have none
        least, most = (f"{n:,.0f} ({_called(t, context.time_name)})" for t, n in totals.values())
        out.append(
            f"Read with caution: totals range from {least} to {most}, more than their noise explains, while the "
            f"population is taken as {model.n_:,.0f} at all times. Set population = 'varying' where individuals are "
            "born, die, enter or leave, or detection = 'time' where the share that is counted changes."
        )
    return out


def _intervals(model: FlowModel, moves: pd.DataFrame, level: float) -> tuple[pd.DataFrame | None, str]:
    """Intervals of the largest moves, or why there are none."""
    if model.seasons_ is not None:
        return None, "Intervals are those of single seasons: see model.seasons_."
    if model.nodes_.size > MOST_CELLS:
        return None, "Intervals were not computed for data of this size; model.interval gives those of any flow."
    top = moves.head(INTERVALS)
    if top.empty:
        return None, "Nobody moves, so there are no intervals for moves."
    at = {name: k for k, name in enumerate(model.places_.names)}
    n = len(at)
    functions = {}
    for k, row in enumerate(top.to_dict("records")):
        weights = np.zeros((n, n))
        weights[at[row["from"]], at[row["to"]]] = 1.0
        functions[str(k)] = {(row["time"], row["next time"]): weights}
    try:
        found = model.interval(functions, level=level)
    except DataError as error:
        return None, error.message
    return top.assign(count=found.values, low=found.low, high=found.high), ""


def _findings(context: Context, moves: pd.DataFrame, stay: Staying, intervals: Any) -> list[dict[str, Any]]:
    model, found = context.model, intervals[0]
    exact = isinstance(model.noise_, Exact)  # else counts are estimates too, and imply nothing with certainty
    what = "Individuals that stay where they are, per step"
    out = [finding(what, *stay, "Swaps leave no trace in counts.", **(_staying_bounds(model) if exact else {}))]
    known = model.places_.distances is None or model.places is not None
    because = "The interval averages over movement models by how likely each makes the counts; swaps leave no trace."
    if not isinstance(model.movement, str):
        because = "The interval takes the kind of movement as known; counts do not show swaps."
    if found is None:
        because = "Under the movement that was fitted; counts do not show swaps."
    if not known:
        because = "Without coordinates every move is as likely as any other: another movement gives other flows."
    rows = (moves if found is None else found).head(4).to_dict("records")
    for row in rows:
        ends = model.flow_bounds(row["from"], row["to"], row["time"]) if exact else (None, None)
        bounds = dict(zip(("lower_bound", "upper_bound"), ends))
        what = (
            f"From {_called(row['from'], 'place')} to {_called(row['to'], 'place')}, "
            f"between {_called(row['time'], context.time_name, row['next time'], 'and')}"
        )
        if "low" not in row:
            out.append(finding(what, row["count"], "count", because=because, **bounds))
        else:
            ends = row["low"], row["high"]
            out.append(finding(what, row["count"], "count", ends, context.level, because, **bounds))
        because = None  # once is enough
    return out


def _staying_bounds(model: FlowModel) -> dict[str, Any]:
    """What exact counts alone imply of those who stay, if nobody comes or goes."""
    nodes = np.asarray(model.nodes_, dtype=float)
    if np.ptp(totals := nodes.sum(axis=1)) > SAME_TOTAL * totals.max():
        return {}
    most = np.minimum(nodes[:-1], nodes[1:]).sum(axis=1)
    least = np.maximum(nodes[:-1] + nodes[1:] - totals[:1, None], 0.0).sum(axis=1)
    return {"lower_bound": float((least / totals[0]).mean()), "upper_bound": float((most / totals[0]).mean())}


def _staying(model: FlowModel, level: float) -> Staying:
    stay = model.staying()
    n, times = len(model.places_), [*model.times_, model.times_[0]]
    weights = np.eye(n) / (len(stay) * model.n_)
    steps = {(times[k], times[k + 1]): weights for k in range(len(stay))}
    try:
        found = model.interval({"stay": steps}, level)
    except DataError:  # its reason is said with the estimates
        return float(stay.mean()), "share", (None, None), None
    low, high = map(np.ravel, found.interval)
    return float(found.values[0]), "share", (float(low[0]), min(float(high[0]), 1.0)), level


def _called(name: Any, word: str, end: Any = None, between: str = "to") -> str:
    """A name, with its word before it where it is a number, up to an `end`; 2024 is a year.

    Times of a day are without seconds that are 0, and the day is said once.
    """
    first, last = CLOCK.fullmatch(str(name)), CLOCK.fullmatch(str(end))
    number = str(name).isdigit() and (word == "place" or len(str(name)) < 4)
    start = f"{word} {name}" if number else f"{first[1]} {first[2]}" if first else str(name)
    if end is None:
        return start
    until = last[2] if first and last and first[1] == last[1] else f"{last[1]} {last[2]}" if last else end
    return f"{start} {between} {until}"


COMPASS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
COMMON = 0.5  # of the mean length of moves, from which their mean is called a direction


def _direction(frames: list[dict[str, Any]]) -> str:
    """Where those who are counted move on average, on a map with degrees; empty if they have no common direction."""
    if not frames or not frames[0].get("lonlat", True):
        return ""
    counts = np.concatenate([frame["counts"] for frame in frames])
    moves = np.concatenate([np.asarray(frame["moves"], dtype=float).reshape(-1, 2) for frame in frames])
    at = np.concatenate([np.asarray(frame["starts"], dtype=float).reshape(-1, 2) for frame in frames])
    if not counts.sum():
        return ""
    moves = moves * np.column_stack(
        [np.cos(np.radians(at[:, 1])), np.ones(len(at))]
    )  # a degree of longitude is shorter
    mean = (counts[:, None] * moves).sum(axis=0) / counts.sum()
    length = float((counts * np.hypot(*moves.T)).sum() / counts.sum())
    if np.hypot(*mean) <= COMMON * length:
        return ""
    return COMPASS[round(float(np.degrees(np.arctan2(mean[1], mean[0]))) / 45) % 8]


def _flow_figure(
    context: Context, moves: pd.DataFrame, outlines: dict[str, Any], stay: Staying
) -> dict[str, Any] | None:
    model = context.model
    if model.places_.distances is not None:  # a map needs coordinates
        return None
    where = {**places_on_map(model), **outlines}
    caption = "Each arrow is the mean move of those who start at a place; colour shows how many there are."
    n = len(model.steps_[0])
    steps = np.unique(np.linspace(0, n - 1, min(MOST_FRAMES, n)).round().astype(int))
    caption += " Play, or use the slider, to move through time." if n > 1 else ""
    caption += f" {len(steps)} of {n} steps are drawn." if len(steps) < n else ""
    frames, labels, counts = [], [], model.counts()
    for k in steps:
        edge = list(counts.edges)[k]
        labels.append(_called(edge[0], context.time_name, edge[1]))
        numbers = plots.flow_numbers(counts, edge, where["positions"])
        frames.append({**numbers, "title": labels[-1], **where})
    data = table(moves.head(MOST_ROWS), "Flows", COUNTS)
    title, where_to = (
        f"{100 * stay[0]:.0f}% stay from one {context.time_name} to the next",
        _direction(frames),
    )
    title += f"; those who move go {where_to} on average" if where_to else ""
    return figure("flows", frames, caption, data, labels=labels, title=title)


def _route_figure(context: Context, outlines: dict[str, Any]) -> dict[str, Any] | None:
    model = context.model
    if model.places_.distances is not None:
        return None
    n = ROUTES
    numbers = plots.route_numbers(model, n, random_state=context.random_state)
    caption = (
        f"{n} routes drawn from the flows; orange dots are their starts. Nobody was followed: the routes agree with "
        "the counts and with the movement that is assumed."
    )
    drawn = model.routes(n, random_state=context.random_state)
    names = np.array(model.places_.names, dtype=object)
    shown = pd.DataFrame({"route": drawn["route_id"], "time": drawn["date"], "place": names[drawn["i"] - 1]})
    context.frames["routes"] = shown
    times = _called(model.times_[0], context.time_name, model.times_[-1])
    numbers |= {"title": f"{n} routes, {times}", "time_name": context.time_name, **outlines}
    return figure("routes", numbers, caption, table(shown, "Routes", None, "routes.csv"))


def _connectivity_figure(context: Context) -> dict[str, Any] | None:
    numbers = plots.connectivity_numbers(context.model, context.regions)
    if len(numbers["regions"]) < 2:
        return None
    frame = pd.DataFrame(numbers["shares"], columns=numbers["regions"])
    frame.insert(0, "region", numbers["regions"])
    start, _, end = numbers["title"].partition(" to ")
    numbers["title"] = _called(start, context.time_name, end)
    caption = f"Where the individuals of each region (rows) were later: {numbers['title']}."
    if context.regions is None:
        caption += (
            " The regions are the quarters of the map around the median individual."
            if context.model.places_.distances is None
            else " Rows and columns are the places with the most individuals, and all others together."
        )
    kinds = dict.fromkeys(numbers["regions"], "share")
    return figure("connectivity", numbers, caption, table(frame, "Connectivity", kinds))


def _truth(context: Context, summary: Summary) -> None:
    true = np.asarray(context.truth, dtype=float)
    off = sum(
        np.abs(context.model.od_matrix(t).to_numpy() - table).sum() for t, table in zip(context.model.times_, true)
    )
    error = float(off / 2 / max(true.sum(), 1e-300))
    words = (
        "The flows are known here and were hidden from the method: "
        f"{100 * error:.1f}% of the individuals are assigned to a wrong flow."
    )
    summary.checked.append(words)
    summary.add("certainty", note(words, "good" if error < 0.2 else "warning"))


def _seasons_and_detection(model: FlowModel, summary: Summary) -> None:
    if model.seasons_ is not None:
        rows = [
            {"season": str(name), "individuals": one.n_, "staying per step": float(one.staying().mean())}
            for name, one in model.seasons_.items()
        ]
        kinds = {"individuals": "count", "staying per step": "share"}
        words = "Seasons share how individuals move; flows on this page are means over seasons."
        summary.add("estimates", table(pd.DataFrame(rows), "Seasons", kinds, about=words))
    if model.detection is None:
        return
    by_time = model.detection == "time"
    names = model.times_ if by_time else model.places_.names
    held: Any = (model.detection_, model.detection_error_)
    found, errors = (np.atleast_2d(v) for v in held)
    rows = [(str(a), float(v), float(e)) for d, s in zip(found, errors) for a, v, e in zip(names, d, s)]
    frame = pd.DataFrame(rows, columns=[model.detection, "detection", "standard error"])
    summary.add("certainty", table(frame, "Estimated detection, relative to the highest", folded=True))


def _movement(context: Context, summary: Summary) -> None:
    model = context.model
    rows = [
        {"stay": m.stay, "scale": m.scale, "attraction": m.attraction, "share of individuals": float(w)}
        for m, w in zip(model.movements_, model.weights_)
    ]
    words = (
        "Before the counts are seen, the log-odds of a move against staying are: minus stay, minus the distance "
        "divided by the scale, plus attraction times the log of the area of the place of arrival."
    )
    kinds = {"share of individuals": "share"}
    summary.add("certainty", table(pd.DataFrame(rows), "How individuals move", kinds, about=words))
    if model.scores_ is not None and "error" in model.scores_:
        title = "Candidates: divergence at left-out times (lower is better)"
        summary.add("certainty", table(model.scores_, title, {"staying": "share"}, folded=True))
    elif model.scores_ is not None and "probability" in model.scores_:
        title = "Movement models and their probabilities"
        summary.add("certainty", table(model.scores_, title, {"probability": "share"}, folded=True))


def _check(context: Context, summary: Summary) -> None:
    model = context.model
    known = int((~np.isnan(model.counts_)).any(axis=1).sum())
    if model.nodes_.size > MOST_CELLS or known < 3:
        return
    singles: dict[Any, Any] = {"": model} if model.seasons_ is None else model.seasons_
    each = context.step("check", lambda: [m.check().assign(season=str(k)) for k, m in singles.items()])
    found = pd.concat(each, ignore_index=True)
    found = found.drop(columns="season") if model.seasons_ is None else found
    summary.add("certainty", table(found, "Forecast check: divergence at times that were left out", folded=True))
    tasks = {"between": "Estimating a left-out time from the others", "ahead": "Forecasting the last time"}
    for kind, words in tasks.items():
        part = found[found["kind"] == kind]
        if part.empty:
            continue
        ours, simple = float(part["model"].mean()), float(part["neighbouring times"].mean())
        rule = "the mean of the neighbouring times" if kind == "between" else "the time before"
        if kind == "between" and ours > simple:
            summary.lead.append(
                "The model predicts left-out times less well than the mean of the times before and after."
            )
        shown, other = (f"{v:#.2g}" for v in (ours, simple))
        tried = f"lower is better; {plural(len(part), 'time')} tried"
        line = f"{words}: the divergence is {shown} by the model and {other} by {rule} ({tried})."
        summary.add("certainty", note(line, "good" if ours <= simple else "warning"))


def _agreement(context: Context, summary: Summary) -> None:
    model = context.model
    seen = model.to_frame().dropna()
    rate = getattr(model.noise_, "rate", 1.0)
    expected = (np.broadcast_to(rate, model.nodes_.shape) * model.nodes_).ravel()[~np.isnan(model.counts_.ravel())]
    seen = seen.assign(expected=expected)
    numbers = plots.predicted_numbers(seen["counted"], seen["expected"], "count at a time and place")
    caption = f"Counts at every time and place, and what the model expects; mean difference {numbers['error']:.3g}."
    summary.add(
        "certainty", figure("predicted", numbers, caption, table(seen, "Counts", {**COUNTS, "expected": "count"}))
    )


def _uncertainty(context: Context, summary: Summary, outlines: dict[str, Any]) -> None:
    model = context.model
    small = model.nodes_.size <= MOST_CELLS and len(model.places_) <= 500
    if model.seasons_ is not None or model.places_.distances is not None or not small:
        return
    time = model.times_[len(model.times_) // 2]
    try:
        numbers = plots.uncertainty_numbers(model, time, context.level)
    except DataError as error:
        summary.add("certainty", text(f"There is no map of uncertainty: {error.message}"))
        return
    at = _called(time, context.time_name)
    numbers["title"] = f"Uncertainty at {at}"
    caption = f"How uncertain the number of individuals at each place is, at {at}."
    names = [str(a) for a in model.places_.names]
    frame = pd.DataFrame({"place": names, "width": numbers["values"]}).dropna()
    summary.add("certainty", figure("places", {**numbers, **outlines}, caption, table(frame, "Widths")))


def _assumed(model: FlowModel) -> list[str]:
    varying = model.population == "varying"
    learned = "given" if not isinstance(model.movement, str) else "left out" if model.relative_ else "averaged"
    moves = MOVES["tracks" if model.log_likelihood_ is not None else learned]
    out = [
        "Individuals may enter and leave at every time; few do unless counts say otherwise."
        if varying
        else "The population is closed: the same individuals are present at all times.",
        "Individuals move independently of each other, and the next place depends on the present place only.",
        moves,
        f"Counts differ from the truth by independent noise: {model.noise_}.",
    ]
    if model.detection is not None:
        out.append(f"The share that is counted differs by {model.detection} alone; its level is not identified.")
    if model.mask_ is not None:
        out.append("Nobody is where the mask says that nobody can be.")
    return out
