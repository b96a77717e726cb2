"""Numbers as people write them: thousands separators, decimal commas, percent signs; read when there is one reading."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sumwise.errors import DataError

PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
PLAIN_SQL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"  # the same, for DuckDB's regular expressions
WITHHELD = re.compile(r"[*†‡]+|\(?[dsc]\)?|supp(r(essed)?)?|withheld|n?\s*[<≤]=?\s*\d+", re.IGNORECASE)
LAKHS = r"|[1-9]\d?(,\d{2})+,\d{3}"  # 12,34,567, as in India


@dataclass(frozen=True, slots=True)
class Style:
    """One way to write numbers: what separates thousands, and what the decimals.

    Examples
    --------
    >>> from sumwise.io.formats.numerals import Style
    >>> Style("German", ".", ",").number("1.234,5")
    1234.5
    >>> Style("English", ",", ".").number("1.234,5") is None
    True
    """

    name: str
    thousands: str
    decimal: str

    def number(self, text: str) -> float | None:
        """The number that the text stands for in this style, or None."""
        digits = text.removesuffix("%").strip()
        if self.decimal == "." and PLAIN.fullmatch(digits):
            return float(digits)
        whole = (
            rf"[+-]?(\d+|[1-9]\d{{0,2}}([{re.escape(self.thousands)}]\d{{3}})+{LAKHS if self.thousands == ',' else ''})"
        )
        if not re.fullmatch(rf"{whole}({re.escape(self.decimal)}\d+)?", digits, re.ASCII):
            return None
        for sign in self.thousands:
            digits = digits.replace(sign, "")
        return float(digits.replace(self.decimal, "."))


SPACES = " \u00a0\u202f\u2009"
STYLES = (
    Style("thousands with a comma", ",", "."),
    Style("thousands with a point, decimal comma", ".", ","),
    Style("thousands with a space", SPACES, "."),
    Style("thousands with a space, decimal comma", SPACES, ","),
    Style("thousands with an apostrophe", "'’", "."),
)


def is_withheld(text: str) -> bool:
    """Whether a text is how offices mark a count that they withhold: a star, (D), s, or <10."""
    return WITHHELD.fullmatch(text.strip()) is not None


class NotNumbers(Exception):
    """A column holds a text that is not a number in any style that fits the others.

    Examples
    --------
    >>> from sumwise.io.formats.numerals import NotNumbers
    >>> NotNumbers("votes", "12x").text
    '12x'
    """

    def __init__(self, column: str, text: str, remark: str = ""):
        super().__init__(column, text, remark)
        self.column, self.text, self.remark = column, text, remark


def styles_for(decimal: str | None) -> tuple[Style, ...]:
    """The styles that a decimal sign leaves open; all where none is given.

    Examples
    --------
    >>> from sumwise.io.formats.numerals import styles_for
    >>> {s.decimal for s in styles_for(",")}
    {','}
    """
    if decimal not in (None, ".", ","):
        raise DataError(f"decimal is {decimal!r}.", hint="give '.' or ',', or leave it out.")
    return tuple(style for style in STYLES if decimal in (None, style.decimal))


def parse_columns(
    columns: Mapping[str, Sequence[str]], decimal: str | None = None, separator: str | None = None
) -> dict[str, np.ndarray]:
    """Read the distinct texts of several columns of one file, which share one style.

    Parameters
    ----------
    columns : mapping of name to texts
        Distinct, not empty, without spaces around.
    decimal : {".", ","}, optional
        The decimal sign, where the reader knows it.
    separator : str, optional
        What separates the fields of the file. Where that is a comma, a comma in a number that could separate
        thousands does; where it is a semicolon, ``1.234`` may be a thousand and is refused where nothing decides.

    Returns
    -------
    dict of name to float array

    Examples
    --------
    >>> from sumwise.io.formats.numerals import parse_columns
    >>> parse_columns({"votes": ["1.234", "56"], "share": ["12,5%", "7%"]})
    {'votes': array([1234.,   56.]), 'share': array([0.125, 0.07 ])}
    """
    percent = {name: _percent(name, texts) for name, texts in columns.items()}
    plain = all(PLAIN.fullmatch(text.removesuffix("%").strip()) for texts in columns.values() for text in texts)
    fitting: list[tuple[Style, dict[str, np.ndarray]]] = []
    failures: list[tuple[int, NotNumbers]] = []
    for style in styles_for(decimal):
        try:
            fitting.append((style, {name: _read(style, name, texts) for name, texts in columns.items()}))
        except NotNumbers as failure:
            failures.append((_successes(style, columns), failure))
    if not fitting:
        raise max(failures, key=lambda pair: pair[0])[1]
    chosen = fitting[0]
    if not (plain and separator != ";" and decimal is None):
        chosen = _only_reading(fitting, columns, separator)
    return {name: values / 100 if percent[name] else values for name, values in chosen[1].items()}


def _percent(name: str, texts: Sequence[str]) -> bool:
    with_sign = [text.endswith("%") for text in texts]
    if any(with_sign) and not all(with_sign):
        odd = texts[with_sign.index(False)]
        raise NotNumbers(name, odd, "has no percent sign, while others have")
    return any(with_sign)


def _read(style: Style, name: str, texts: Sequence[str]) -> np.ndarray:
    values = np.empty(len(texts))
    for i, text in enumerate(texts):
        value = style.number(text)
        if value is None:
            raise NotNumbers(name, text)
        values[i] = value
    return values


def _successes(style: Style, columns: Mapping[str, Sequence[str]]) -> int:
    return sum(style.number(text) is not None for texts in columns.values() for text in texts)


def _only_reading(
    fitting: list[tuple[Style, dict[str, np.ndarray]]], columns: Mapping[str, Sequence[str]], separator: str | None
) -> tuple[Style, dict[str, np.ndarray]]:
    """The style that fits, once all that fit give the same numbers; else the first text with two readings."""
    first = fitting[0]
    if separator == "," and first[0].thousands == ",":
        return first  # a decimal comma would have split the field
    for style, values in fitting[1:]:
        for name, texts in columns.items():
            differ = np.flatnonzero(values[name] != first[1][name])
            if len(differ):
                i = int(differ[0])
                remark = (
                    f"can be read as {first[1][name][i]:g} ({first[0].name}) or as {values[name][i]:g} ({style.name})"
                )
                raise NotNumbers(name, texts[i], remark)
    return first
