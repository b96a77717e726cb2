"""Names in figures: long ones are cut, so that the picture stays larger than its labels."""

from __future__ import annotations

__all__ = ["short"]


def short(name: object, most: int = 28) -> str:
    """A name on one line, cut in the middle where it is long.

    Examples
    --------
    >>> from sumwise.plots.labels import short
    >>> short("Registered voters of no party\\nat all", 20)
    'Registered…ty at all'
    """
    text = " ".join(str(name).split())
    text = "".join(c if c.isprintable() else "�" for c in text)
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"
