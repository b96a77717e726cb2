"""The report on flows between places, recovered from counts over time (`FlowModel`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from sumwise import diagnostics
from sumwise.collective import CountsOverTime, FlowModel
from sumwise.errors import DataError
from sumwise.report.context import Context, plural
from sumwise.report.summary import Summary, bullets, facts, figure, finding, note, table, text

MOST_FRAMES = 24  # steps that are drawn
MOST_ROWS = 2000  # flows that are listed: the largest
MOST_CELLS = 2e5  # times x places up to which intervals and checks are computed for the page
INTERVALS = 12  # flows that get an interval
ROUTES = 12
LEAST = 0.05  # individuals of a flow that is listed
COUNTS: dict[str, str] = dict.fromkeys(("count", "low", "high", "counted", "estimated", "individuals"), "count")
MOVES = {
    "distance": "Near moves are more likely than far ones; of all movements that predict left-out times about equally "
    "well, the one with the fewest moves was taken.",
    "adaptive": "Moves start from a preference for near places and follow the flows of every step.",
    "given": "How individuals move is taken as given.",
    "tracks": "Individuals are of a few types, which differ in how they move; tracks of individuals gave their shares.",
}
RISKS = [
    "Detection that varies between places or times more than the noise allows: the model explains it by moves that did "
    "not happen.",
    "Roads, borders, food: whatever makes one place more attractive than another at the same distance.",
    "Individuals that keep to routes: counts cannot distinguish two individuals that swap places from two that stay.",
]
EXCHANGE = (
    "Counts per place do not determine who went where: two individuals that swap places leave no trace. Intervals take "
    "the movement as known; they do not include what is unknown about it."
)


def write(context: Context) -> Summary:
    """The summary of flows, or of the individual model that was learned from counts."""
    if not isinstance(context.model, FlowModel):
        from sumwise.report.text import plain

        return plain.write(context)
    model = context.model
    _check_data(model, context.data)
    flows, places = _flows(model), _places(model)
    context.frames |= {"estimates": flows, "places": places}
    steps = f"{_time(model.times_[0])} to {model.times_[-1]}"
    title = context.titled(f"Movement between {plural(len(model.places_), 'place')}, {steps}")
    summary = Summary(title, "collective", context.method)
    stay = _staying(model)
    summary.record = {
        "times": len(model.times_),
        "places": len(model.places_),
        "population": model.n_,
        "staying": stay,
    }
    intervals = context.step("intervals", lambda: _intervals(model, flows, context.level))
    summary.findings = _findings(context, flows, stay, intervals)
    summary.lead = _lead(context, stay)
    summary.add("found", _flow_figure(context, flows), _route_figure(context), _connectivity_figure(context))
    _listed(summary, flows, intervals, context)
    summary.add("appendix", table(places, "Every time and place", COUNTS, "places.csv", folded=True))
    if context.truth is not None:
        _truth(context, summary)
    _by_season(model, summary)
    _movement(context, summary)
    _check(context, summary)
    _detection(model, summary)
    _agreement(context, summary)
    _uncertainty(context, summary)
    context.convergence(summary)
    summary.add("certainty", facts(_settings(model), "Settings"))
    assumed = bullets(_assumed(model), f"{context.method} assumes")
    summary.add("assumptions", assumed, bullets(RISKS, "What could go wrong"))
    return summary


def _check_data(model: FlowModel, data: Any) -> None:
    """The model holds its counts; what is given beside it must at least be of their shape."""
    if isinstance(data, (CountsOverTime, np.ndarray)) and model.seasons_ is None:
        given = np.shape(data.counts if isinstance(data, CountsOverTime) else data)
        if given != model.counts_.shape:
            raise DataError(
                f"The counts have shape {given}; the model was fitted to {model.counts_.shape}.",
                hint="give what fit was given.",
            )


def _singles(model: FlowModel) -> dict[Any, FlowModel]:
    """The models of single seasons, or the model itself."""
    return {"": model} if model.seasons_ is None else model.seasons_


def _staying(model: FlowModel) -> np.ndarray:
    """The share of individuals that stay where they are, for every step."""
    steps = [sum(w * s[k] for w, s in zip(model.weights_, model.steps_)) for k in range(len(model.steps_[0]))]
    return np.array([float(f.diagonal().sum() / max(f.sum(), 1e-300)) for f in steps])


def _lead(context: Context, stay: np.ndarray) -> list[str]:
    model = context.model
    seasons = "" if model.seasons_ is None else f" in {plural(len(model.seasons_), 'season')}"
    if model.relative_:
        unit = f"as relative abundance (flows are in a unit of {model.n_:,.0f} individuals at the largest total)"
    else:
        unit = f"about {model.n_:,.0f} in all"
    out = [
        f"Individuals were counted at {plural(len(model.places_), 'place')} and {plural(len(model.times_), 'time')}"
        f"{seasons}, {unit}; who went where was not observed. In the most likely movements, "
        f"{100 * stay.mean():.0f}% of them stay where they are from one time to the next.",
        *context.cautions,
    ]
    if model.places_.distances is not None and model.places is None:
        out.append("No coordinates were given, so that all moves are equally likely a priori.")
    if not model.fit_.converged:
        out.append("Read with caution: the search for the most likely flows stopped early.")
    return out


def _step(model: FlowModel, k: int) -> Any:
    return sum(w * steps[k] for w, steps in zip(model.weights_, model.steps_))


def _next(model: FlowModel, k: int) -> Any:
    return model.times_[(k + 1) % len(model.times_)]


def _flows(model: FlowModel) -> pd.DataFrame:
    """The largest flows of every step, those of staying included."""
    names, parts = np.array(model.places_.names, dtype=object), []
    for k in range(len(model.steps_[0])):
        found = sparse.coo_array(_step(model, k))
        kept = np.flatnonzero(found.data >= LEAST)
        kept = kept[np.argsort(-found.data[kept], kind="stable")]
        columns = {"from": names[found.row[kept]], "to": names[found.col[kept]], "count": found.data[kept]}
        parts.append(pd.DataFrame({"time": model.times_[k], "next time": _next(model, k), **columns}))
    return pd.concat(parts, ignore_index=True)


def _places(model: FlowModel) -> pd.DataFrame:
    t, k = np.indices(model.counts_.shape).reshape(2, -1)
    times, places = np.array(model.times_, dtype=object), np.array(model.places_.names, dtype=object)
    columns = {"time": times[t], "place": places[k]}
    return pd.DataFrame({**columns, "counted": model.counts_.ravel(), "estimated": model.nodes_.ravel()})


def _moving(flows: pd.DataFrame) -> pd.DataFrame:
    moves = flows[flows["from"] != flows["to"]]
    return moves.sort_values("count", ascending=False, kind="stable")


def _intervals(model: FlowModel, flows: pd.DataFrame, level: float) -> tuple[pd.DataFrame | None, str]:
    """Intervals of the largest moves, or why there are none."""
    if model.seasons_ is not None:
        return None, "Intervals are those of single seasons: see model.seasons_."
    if model.nodes_.size > MOST_CELLS:
        return None, "Intervals were not computed for data of this size; model.interval gives those of any flow."
    top = _moving(flows).head(INTERVALS)
    if top.empty:
        return None, "Nobody moves, so that there are no intervals of moves."
    at = {name: k for k, name in enumerate(model.places_.names)}
    n = len(at)
    functions = {}
    for row in top.itertuples():
        weights = np.zeros((n, n))
        weights[at[row[3]], at[row[4]]] = 1.0
        functions[str(row.Index)] = {(row[1], row[2]): weights}
    try:
        found = model.interval(functions, level=level)
    except DataError as error:
        return None, f"There are no intervals of single flows: {error.message}"
    return top.assign(low=found.low, high=found.high), ""


def _findings(context: Context, flows: pd.DataFrame, stay: np.ndarray, intervals: Any) -> list[dict[str, Any]]:
    model, found = context.model, intervals[0]
    shares = None if model.scores_ is None or "plausible" not in model.scores_ else model.scores_
    kept = [] if shares is None else shares.loc[shares["plausible"], "staying"].tolist()
    spread = {"low": min([*kept, stay.mean()]), "high": max([*kept, stay.mean()])} if len(kept) > 1 else {}
    because = "Swaps leave no trace in counts"
    because += "; the range is over the movements that predict left-out times about equally well." if spread else "."
    what = "Individuals that stay where they are, per step"
    out = [finding(what, float(stay.mean()), trust="low", because=because, **spread)]
    rows = (_moving(flows) if found is None else found).head(4).to_dict("records")
    for row in rows:
        ends = {k: row[k] for k in ("low", "high")} if "low" in row else {}
        ends |= {"level": context.level} if ends else {}
        lower, upper = _implied(model, row)
        out.append(
            finding(
                f"From {_place(row['from'])} to {_place(row['to'])}, between {_time(row['time'])} and "
                f"{row['next time']}",
                row["count"],
                "count",
                lower_bound=lower,
                upper_bound=upper,
                trust="moderate" if ends and row["low"] > 0.5 * row["count"] else "low",
                because="The movement is taken as known; counts do not show swaps.",
                **ends,
            )
        )
    return out


def _implied(model: FlowModel, row: dict[str, Any]) -> tuple[float | None, float | None]:
    """What the estimated counts of two places imply for the flow between them, whatever the movement."""
    t, u = model.times_.index(row["time"]), model.times_.index(row["next time"])
    i, j = model.places_.index([row["from"], row["to"]])
    here, there = model.nodes_[t, i], model.nodes_[u, j]
    low = max(here + there - model.n_, 0.0) if model.population == "fixed" else 0.0
    return float(low), float(min(here, there))


def _place(name: Any) -> str:
    return f"place {name}" if str(name).isdigit() else str(name)


def _time(name: Any) -> str:
    return f"time {name}" if str(name).isdigit() and len(str(name)) < 4 else str(name)  # 2024 is a year


def _where(context: Context) -> tuple[np.ndarray, bool, str]:
    """Coordinates of the places, whether they are degrees, and what to say where there are none."""
    places = context.model.places_
    if places.distances is None:
        return places.positions, places.lon is not None, ""
    angle = np.linspace(0, 2 * np.pi, len(places), endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return circle, False, " No coordinates were given: places are drawn on a circle."


def _outlined(context: Context, numbers: dict[str, Any]) -> dict[str, Any]:
    if context.outlines is None:
        return numbers
    from sumwise.plots.map_frame import rings

    return {**numbers, "outlines": rings(context.outlines)}


def _flow_figure(context: Context, flows: pd.DataFrame) -> dict[str, Any]:
    model = context.model
    where, lonlat, more = _where(context)
    caption = "Each arrow is the mean move of those who start at a place; colour shows how many they are." + more
    n = len(model.steps_[0])
    steps = np.unique(np.linspace(0, n - 1, min(MOST_FRAMES, n)).round().astype(int))
    caption += " Use the slider to move through time." if n > 1 else ""
    caption += f" {len(steps)} of {n} steps are drawn." if len(steps) < n else ""
    frames, labels = [], []
    for k in steps:
        labels.append(f"{_time(model.times_[k])} to {_next(model, k)}")
        edges = SimpleNamespace(edges={("a", "b"): _step(model, k)})
        numbers = diagnostics.flow_numbers(edges, ("a", "b"), where)
        frames.append(_outlined(context, {**numbers, "title": labels[-1], "lonlat": lonlat}))
    data = table(_moving(flows).head(MOST_ROWS), "Flows", COUNTS)
    return figure("map_flows", frames, caption, data, labels=labels)


def _route_figure(context: Context) -> dict[str, Any] | None:
    model = context.model
    if model.places_.distances is not None:
        return None
    n = ROUTES
    numbers = diagnostics.route_numbers(model, n, random_state=context.random_state)
    caption = (
        f"{n} routes drawn from the flows; orange dots are their starts. Nobody was followed: the routes agree with "
        "the counts and with the movement that is assumed."
    )
    drawn = model.routes(n, random_state=context.random_state)
    names = np.array(model.places_.names, dtype=object)
    shown = pd.DataFrame({"route": drawn["route_id"], "time": drawn["date"], "place": names[drawn["i"] - 1]})
    context.frames["routes"] = shown
    return figure("map_routes", _outlined(context, numbers), caption, table(shown, "Routes", None, "routes.csv"))


def _connectivity_figure(context: Context) -> dict[str, Any] | None:
    numbers = diagnostics.connectivity_numbers(context.model, context.regions)
    if len(numbers["regions"]) < 2:
        return None
    frame = pd.DataFrame(numbers["shares"], columns=numbers["regions"])
    frame.insert(0, "region", numbers["regions"])
    caption = f"Where the individuals of each region (rows) were later: {numbers['title']}."
    if context.regions is None:
        caption += " Regions were made for this page, around the middle of the population."
    kinds = dict.fromkeys(numbers["regions"], "share")
    return figure("connectivity", numbers, caption, table(frame, "Connectivity", kinds))


def _listed(summary: Summary, flows: pd.DataFrame, intervals: Any, context: Context) -> None:
    found, why = intervals
    if found is not None:
        title = f"The largest flows between places, with {context.percent} intervals"
        summary.add("estimates", table(found, title, COUNTS))
    else:
        summary.add("estimates", text(why))
    moves = _moving(flows).head(MOST_ROWS)
    listed = table(moves, "Flows between places, largest first", COUNTS, "estimates.csv", about=EXCHANGE)
    summary.add("estimates", listed)


def _truth(context: Context, summary: Summary) -> None:
    true = np.asarray(context.truth, dtype=float)
    steps = range(len(context.model.steps_[0]))
    off = sum(np.abs(np.asarray(_dense(_step(context.model, k)) - true[k])).sum() for k in steps)
    error = float(off / 2 / max(true.sum(), 1e-300))
    words = (
        "The flows are known here and were hidden from the method: "
        f"{100 * error:.1f}% of the individuals are assigned to a wrong flow."
    )
    summary.checked.append(words)
    summary.add("certainty", note(words, "good" if error < 0.2 else "warning"))


def _dense(found: Any) -> np.ndarray:
    return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=float)


def _by_season(model: FlowModel, summary: Summary) -> None:
    if model.seasons_ is None:
        return
    rows = [
        {"season": str(name), "individuals": one.n_, "staying per step": float(_staying(one).mean())}
        for name, one in model.seasons_.items()
    ]
    kinds = {"individuals": "count", "staying per step": "share"}
    words = "Seasons share how individuals move; flows on this page are means over seasons."
    summary.add("estimates", table(pd.DataFrame(rows), "Seasons", kinds, about=words))


def _movement(context: Context, summary: Summary) -> None:
    model = context.model
    rows = [
        {"stay": m.stay, "scale": m.scale, "attraction": m.attraction, "share of individuals": float(w)}
        for m, w in zip(model.movements_, model.weights_)
    ]
    words = (
        "log p(i to j) = - stay [i is not j] - distance / scale + attraction log area of j, before the counts are seen."
    )
    kinds = {"share of individuals": "share"}
    summary.add("certainty", table(pd.DataFrame(rows), "How individuals move", kinds, about=words))
    if model.scores_ is not None and "error" in model.scores_:
        title = "Candidates: divergence at left-out times (lower is better)"
        summary.add("certainty", table(model.scores_, title, {"staying": "share"}, folded=True))


def _check(context: Context, summary: Summary) -> None:
    model = context.model
    known = int((~np.isnan(model.counts_)).any(axis=1).sum())
    if model.nodes_.size > MOST_CELLS or known < 3:
        return
    each = context.step("check", lambda: [m.check().assign(season=str(k)) for k, m in _singles(model).items()])
    found = pd.concat(each, ignore_index=True)
    found = found.drop(columns="season") if model.seasons_ is None else found
    summary.add("certainty", table(found, "Forecast check: divergence at times that were left out", folded=True))
    for kind, words in (("between", "Estimating a left-out time from the others"), ("ahead", "Forecasting the last")):
        part = found[found["kind"] == kind]
        if part.empty:
            continue
        ours, simple = float(part["model"].mean()), float(part["neighbouring times"].mean())
        rule = "the mean of the neighbouring times" if kind == "between" else "the time before"
        line = f"{words}: divergence {ours:.3g} by the model, {simple:.3g} by {rule} ({plural(len(part), 'time')})."
        summary.add("certainty", note(line, "good" if ours <= simple else "warning"))


def _detection(model: FlowModel, summary: Summary) -> None:
    if model.detection is None:
        return
    by_time = model.detection == "time"
    names = model.times_ if by_time else model.places_.names
    found, errors = (np.atleast_2d(v) for v in (model.detection_, model.detection_error_))
    rows = [(str(a), float(v), float(e)) for d, s in zip(found, errors) for a, v, e in zip(names, d, s)]
    frame = pd.DataFrame(rows, columns=[model.detection, "detection", "standard error"])
    summary.add("certainty", table(frame, "Estimated detection, relative to the highest", folded=True))


def _agreement(context: Context, summary: Summary) -> None:
    model = context.model
    seen = _places(model).dropna()
    rate = getattr(model.noise_, "rate", 1.0)
    expected = (np.broadcast_to(rate, model.nodes_.shape) * model.nodes_).ravel()[~np.isnan(model.counts_.ravel())]
    seen = seen.assign(expected=expected)
    numbers = diagnostics.predicted_numbers(seen["counted"], seen["expected"], "count at a time and place")
    caption = f"Counts at every time and place, and what the model expects; mean difference {numbers['error']:.3g}."
    summary.add(
        "certainty", figure("predicted", numbers, caption, table(seen, "Counts", {**COUNTS, "expected": "count"}))
    )


def _uncertainty(context: Context, summary: Summary) -> None:
    model = context.model
    small = model.nodes_.size <= MOST_CELLS and len(model.places_) <= 500
    if model.seasons_ is not None or model.places_.distances is not None or not small:
        return
    time = model.times_[len(model.times_) // 2]
    try:
        numbers = diagnostics.uncertainty_numbers(model, time, context.level)
    except DataError as error:
        summary.add("certainty", text(f"There is no map of uncertainty: {error.message}"))
        return
    caption = f"How uncertain the number of individuals at each place is, at {time}, given the movement."
    names = [str(a) for a in model.places_.names]
    frame = pd.DataFrame({"place": names, "width": numbers["values"]}).dropna()
    summary.add("certainty", figure("map_values", _outlined(context, numbers), caption, table(frame, "Widths")))


def _settings(model: FlowModel) -> dict[str, Any]:
    given = {k: v for k, v in model.get_params(deep=False).items() if v is not None}
    shown = {k: v if isinstance(v, (int, float, str, bool)) else str(v) for k, v in given.items()}
    noise = str(model.noise_)
    return {**shown, "noise": noise, "weight of movement": model.weight_, "places": str(model.places_)}


def _assumed(model: FlowModel) -> list[str]:
    varying = model.population == "varying"
    if model.log_likelihood_ is not None:
        moves = MOVES["tracks"]
    else:
        moves = MOVES[model.movement if isinstance(model.movement, str) else "given"]
    out = [
        "Individuals may enter and leave at every time; few do unless counts say otherwise."
        if varying
        else "The population is closed: the same individuals are present at all times.",
        "Individuals move independently of each other, and the next place depends on the present place only.",
        moves,
        f"Counts differ from the truth by independent noise: {model.noise_}.",
    ]
    if model.detection is not None:
        out.append(f"Which share is counted differs by {model.detection} alone; its level is not identified.")
    if model.mask_ is not None:
        out.append("Nobody is where the mask says that nobody can be.")
    return out
