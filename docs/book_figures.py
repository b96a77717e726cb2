"""Figures of the books as SVG: bars, dots by group, and lines or points over two axes. Used by docs/write_book.py."""

from __future__ import annotations

import html
import math

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8B6914", "#999999", "#7F3C8D")
OURS, THEIRS = COLOURS[0], "#9a9a9a"
LEFT, TOP, WIDE, HIGH = 70, 34, 380, 240
ROW = 26
LETTER = 7.8  # the widest mean width of a letter at 13 pixels among common sans-serif fonts
MOST_TICKS = 6


def bars(rows: list[tuple[str, float, str, str]], unit: str) -> str:
    """A bar chart: label, value, its text and colour of each bar. Bars below 0 go to the left."""
    values = [value for _, value, _, _ in rows]
    low, high = min(0.0, *values), max(0.0, *values)
    size = 300 / ((high - low) or 1.0)
    left, below = _labels(label for label, *_ in rows), ROW * len(rows)
    zero = left - low * size
    parts = []
    for k, (label, value, text, colour) in enumerate(rows):
        begin, end = sorted((zero, zero + value * size))
        parts.append(
            f'<text x="{left - 8}" y="{ROW * k + 22}" text-anchor="end">{html.escape(label)}</text>'
            f'<rect x="{begin:.1f}" y="{ROW * k + 8}" width="{end - begin:.1f}" height="18" fill="{colour}"/>'
            f'<text x="{end + 6:.1f}" y="{ROW * k + 22}">{html.escape(text)}</text>'
        )
    parts.append(f'<text x="8" y="{below + 26}">{html.escape(unit)}</text>')
    wide = max(left + 306 + _width(max((text for *_, text, _ in rows), key=len)), 16 + _width(unit))
    return _figure(wide, below + 36, parts)


def dots(groups: dict[str, dict[str, float]], unit: str, logs: str = "") -> str:
    """A line per group with a dot per series, and a legend; a logarithmic axis where `logs` is "x"."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    colours = dict(zip(names, COLOURS, strict=False))
    across = _Axis([v for group in groups.values() for v in group.values() if _drawn(v, "x" in logs)], "x" in logs)
    left, below = _labels(groups), ROW * len(groups) + 12
    parts = []
    for value, text in across.ticks():
        x = left + WIDE * across.at(value)
        parts.append(f'<path d="M{x:.1f} 4V{below}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x:.1f}" y="{below + 16}" text-anchor="middle">{text}</text>')
    for k, (label, group) in enumerate(groups.items()):
        y = ROW * k + 18
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{html.escape(label)}</text>')
        parts.append(f'<path d="M{left} {y}h{WIDE}" stroke="#e4e4e4"/>')
        parts += [
            f'<circle cx="{left + WIDE * across.at(v):.1f}" cy="{y}" r="5" fill="{colours[n]}" fill-opacity=".85"/>'
            for n, v in group.items()
            if _drawn(v, "x" in logs)
        ]
    legend, most = _legend(left + WIDE + 20, 8, colours)
    parts += [*legend, f'<text x="8" y="{below + 36}">{html.escape(unit)}</text>']
    return _figure(max(most, 16 + _width(unit)), max(below + 46, 20 * len(names) + 20), parts)


def plot(series: dict[str, list[tuple[float, float]]], spec: dict) -> str:
    """Lines or points (`kind`) with a legend; `log` names the logarithmic axes, `diagonal` draws where both agree.

    `least` is where the vertical axis begins: lines that go below it end there.
    """
    logs, least = spec.get("log", ""), spec.get("least", -math.inf)
    kept = {name: [(x, max(y, least)) for x, y in points if _drawn(x, "x" in logs) and _drawn(y, "y" in logs)]
            for name, points in series.items()}  # fmt: skip
    kept = {name: points for name, points in kept.items() if points}
    across = _Axis([x for points in kept.values() for x, _ in points], "x" in logs)
    up = _Axis([y for points in kept.values() for _, y in points], "y" in logs)
    if spec.get("diagonal"):
        across = up = _Axis([*across.ends, *up.ends], False)
    colours = dict(zip(kept, COLOURS, strict=False))
    if len(colours) < len(kept):
        raise ValueError(f"{spec.get('title')}: {len(kept)} lines; there are {len(COLOURS)} colours")
    below, rises = TOP + HIGH, [(below_of(up, value), text) for value, text in up.ticks()]
    left = max(LEFT, 34 + _width(max((text for _, text in rises), key=len)))
    parts = [f'<text x="{left}" y="20" font-weight="bold">{html.escape(spec.get("title", ""))}</text>']
    for value, text in across.ticks():
        x = left + WIDE * across.at(value)
        parts.append(f'<path d="M{x:.1f} {TOP}V{below}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x:.1f}" y="{below + 16}" text-anchor="middle">{text}</text>')
    for y, text in rises:
        parts.append(f'<path d="M{left} {y:.1f}H{left + WIDE}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    if spec.get("diagonal"):
        parts.append(f'<path d="M{left} {below}L{left + WIDE} {TOP}" stroke="#9a9a9a" stroke-dasharray="4 3"/>')
    for name, points in kept.items():
        places = [(left + WIDE * across.at(x), below_of(up, y)) for x, y in points]
        parts += _line(places, colours[name], spec.get("kind", "line") == "line")
    legend, most = _legend(left + WIDE + 14, TOP, {name: colour for name, colour in colours.items() if name})
    names = html.escape(spec["x"]), html.escape(spec["y"])
    parts += legend
    parts.append(f'<text x="{left + WIDE / 2:.0f}" y="{below + 36}" text-anchor="middle">{names[0]}</text>')
    parts.append(
        f'<text transform="translate(14 {TOP + HIGH / 2:.0f}) rotate(-90)" text-anchor="middle">{names[1]}</text>'
    )
    title = left + 8 + 1.1 * _width(spec.get("title", ""))  # bold is wider
    return _figure(max(most, title), max(below + 46, TOP + 20 * len(kept) + 10), parts)


def below_of(up: _Axis, value: float) -> float:
    """The vertical place of a value of a plot."""
    return TOP + HIGH - HIGH * up.at(value)


def _line(places: list[tuple[float, float]], colour: str, joined: bool) -> list[str]:
    """A line, with its points if they are few, or the points alone."""
    parts = []
    if joined:
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{way}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    if not joined or len(places) <= 12:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in places]
    return parts


def _legend(x: float, y: float, colours: dict[str, str]) -> tuple[list[str], float]:
    """Squares with names, and how far to the right they reach."""
    parts = []
    for k, (name, colour) in enumerate(colours.items()):
        parts.append(f'<rect x="{x}" y="{y + 20 * k}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="{y + 20 * k + 11}">{html.escape(name)}</text>')
    return parts, x + 26 + _width(max(colours, key=len)) if colours else x


def _width(text: str) -> int:
    return math.ceil(LETTER * len(text))


def _labels(names) -> int:
    """Where a figure begins that has these labels at its left."""
    return 16 + max(_width(name) for name in names)


def _figure(wide: float, high: float, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(640, math.ceil(wide))} {high}" role="img" '
        'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def _drawn(value: float | None, log: bool) -> bool:
    return value is not None and math.isfinite(value) and (value > 0 or not log)


class _Axis:
    """Where a value lies between the ends of an axis, and its ticks."""

    def __init__(self, values: list[float], log: bool):
        self.log = log
        low, high = min(values), max(values)
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 1, high + 1)
        self.ends = low, high

    def at(self, value: float) -> float:
        """The place of a value, from 0 to 1."""
        low, high, value = (math.log10(v) if self.log else v for v in (*self.ends, value))
        return (value - low) / (high - low)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values between the ends: powers of ten, or 1, 2 or 5 of them, or steps of 1, 2 or 5."""
        low, high = self.ends
        if self.log:
            powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
            within = [
                [m * 10.0**p for p in powers for m in of if low * (1 - 1e-9) <= m * 10.0**p <= high * (1 + 1e-9)]
                for of in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9))
            ]
            chosen = next((values for values in within if len(values) > 1), list(self.ends))
            return [(v, f"{float(f'{v:.2g}'):g}") for v in chosen[:: math.ceil(len(chosen) / MOST_TICKS)]]
        raw = (high - low) / MOST_TICKS
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw)
        return [(k * step, f"{k * step:.4g}") for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
