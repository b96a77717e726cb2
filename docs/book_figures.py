"""Figures of the books as SVG: bars, and lines or points over two axes. Used by docs/write_book.py."""

from __future__ import annotations

import html
import math

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8B6914", "#999999", "#7F3C8D")
LEFT, TOP, WIDE, HIGH = 70, 34, 380, 240
MOST_TICKS = 6


def bars(rows: list[tuple[str, float, str, str]], unit: str) -> str:
    """A bar chart: label, value, its text and colour of each bar."""
    most = max(abs(value) for _, value, _, _ in rows) or 1.0
    parts = [_head(26 * len(rows) + 30)]
    for k, (label, value, text, colour) in enumerate(rows):
        width = 300 * abs(value) / most
        parts.append(
            f'<text x="250" y="{26 * k + 22}" text-anchor="end">{html.escape(label)}</text>'
            f'<rect x="258" y="{26 * k + 8}" width="{width:.1f}" height="18" fill="{colour}"/>'
            f'<text x="{264 + width:.1f}" y="{26 * k + 22}">{html.escape(text)}</text>'
        )
    parts.append(f'<text x="258" y="{26 * len(rows) + 22}">{html.escape(unit)}</text></svg>\n')
    return "\n".join(parts)


def plot(series: dict[str, list[tuple[float, float]]], spec: dict) -> str:
    """Lines or points (`kind`) with a legend; `log` names the logarithmic axes, `diagonal` draws where both agree."""
    logs = spec.get("log", "")
    kept = {name: [(x, y) for x, y in points if _drawn(x, "x" in logs) and _drawn(y, "y" in logs)]
            for name, points in series.items()}  # fmt: skip
    kept = {name: points for name, points in kept.items() if points}
    across = _Axis([x for points in kept.values() for x, _ in points], "x" in logs)
    up = _Axis([y for points in kept.values() for _, y in points], "y" in logs)
    if spec.get("diagonal"):
        across = up = _Axis([*across.ends, *up.ends], False)
    below = TOP + HIGH
    parts = [_head(max(below + 46, TOP + 20 * len(kept) + 10))]
    parts.append(f'<text x="{LEFT}" y="20" font-weight="bold">{html.escape(spec.get("title", ""))}</text>')
    for value, text in across.ticks():
        x = LEFT + WIDE * across.at(value)
        parts.append(f'<path d="M{x:.1f} {TOP}V{below}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x:.1f}" y="{below + 16}" text-anchor="middle">{text}</text>')
    for value, text in up.ticks():
        y = below - HIGH * up.at(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{LEFT + WIDE}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    if spec.get("diagonal"):
        parts.append(f'<path d="M{LEFT} {below}L{LEFT + WIDE} {TOP}" stroke="#9a9a9a" stroke-dasharray="4 3"/>')
    for k, (name, points) in enumerate(kept.items()):
        colour, dash = COLOURS[k % len(COLOURS)], ' stroke-dasharray="6 3"' if k >= len(COLOURS) else ""
        places = [(LEFT + WIDE * across.at(x), below - HIGH * up.at(y)) for x, y in points]
        if spec.get("kind", "line") == "line":
            way = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            parts.append(f'<path d="M{way}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>')
        if spec.get("kind", "line") == "points" or len(places) <= 12:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in places]
        parts.append(f'<rect x="{LEFT + WIDE + 14}" y="{TOP + 20 * k}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + WIDE + 32}" y="{TOP + 20 * k + 11}">{html.escape(name)}</text>')
    names = html.escape(spec["x"]), html.escape(spec["y"])
    parts.append(f'<text x="{LEFT + WIDE / 2:.0f}" y="{below + 36}" text-anchor="middle">{names[0]}</text>')
    parts.append(
        f'<text transform="translate(14 {TOP + HIGH / 2:.0f}) rotate(-90)" text-anchor="middle">{names[1]}</text>'
    )
    return "\n".join([*parts, "</svg>\n"])


def _head(height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" role="img" '
        'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>'
    )


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
        """Round values between the ends: powers of ten, or steps of 1, 2 or 5."""
        low, high = self.ends
        if self.log:
            powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
            step = max(1, math.ceil(len(powers) / MOST_TICKS))
            found = [10.0**p for p in powers][::step]
            return [(v, f"{v:g}") for v in (found if len(found) > 1 else self.ends)] if found else [
                (v, f"{v:.2g}") for v in self.ends
            ]  # fmt: skip
        raw = (high - low) / MOST_TICKS
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw)
        return [(k * step, f"{k * step:.4g}") for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
