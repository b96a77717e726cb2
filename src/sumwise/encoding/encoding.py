"""Encoding: how raw columns became levels; it travels with Tables and is applied again at prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise import checks, frames
from sumwise.display import facts_html
from sumwise.encoding.learning import FrameSummary, fitted_rule, held_out_frame, learned_names, parsed_spec
from sumwise.encoding.rules import RULES, Cross, Levels, Target, cross_cell
from sumwise.encoding.values import Unseen, count_unseen, looked_up, report_unseen
from sumwise.errors import DataError, UnknownName

if TYPE_CHECKING:
    import pandas as pd

    from sumwise.domain import Domain


@dataclass(frozen=True, eq=False)
class Encoding:
    """How raw columns become levels: one rule per attribute.

    Parameters
    ----------
    rules : mapping of str to rule
        Attribute to one of the rules of :mod:`sumwise.encoding.rules`: ``Levels``, ``Cuts``, ``Hashed``, ``Target``
        or ``Cross``. A cross names attributes that
        have rules of their own. Usually made by :meth:`fit`.
    learned : sequence of str, default ()
        Attributes whose levels or cut points were read from rows, without noise. `sumwise.privacy.release` refuses
        these where nobody says that they are public. Their rules keep it (``rule.learned``), so that an encoding made
        of rules of another one knows it too. Equality ignores it.
    releases : sequence of mappings, default ()
        What levels and cut points that were learned privately cost (`sumwise.privacy.private_encoding`): tables that
        are counted with the encoding state it in their provenance. It is not kept in the encoding's own file.

    Notes
    -----
    A value that a rule has no level for (unseen in fitting, or missing where there is no level for missing
    values) goes
    to the rule's ``other`` (or ``unseen``) level where there is one, else to its ``missing`` level; where
    there is
    neither, :meth:`codes` raises, or gives -1 on request.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.encoding import Encoding
    >>> people = pd.DataFrame({"age": [20, 35, 50, 65], "city": ["Bern", "Bern", "Rome", None]})
    >>> enc = Encoding.fit(people, {"age": {"kind": "quantiles", "bins": 2}, "city": "levels"})
    >>> enc.domain.sizes
    {'age': 2, 'city': 3}
    >>> enc.transform(pd.DataFrame({"age": [99], "city": ["Rome"]}))
                 age  city
    0  42.5 and above  Rome
    """

    rules: Mapping[str, Any]
    learned: Sequence[str] = ()
    releases: Sequence[Mapping[str, Any]] = field(default=(), compare=False)

    def __post_init__(self):
        if not isinstance(self.rules, Mapping) or not self.rules:
            raise DataError("An encoding needs a rule for at least one attribute.", hint="see Encoding.fit.")
        object.__setattr__(self, "rules", dict(self.rules))
        object.__setattr__(self, "releases", tuple(dict(r) for r in self.releases))
        for name, rule in self.rules.items():
            if not isinstance(name, str) or not name:
                raise DataError(f"An attribute's name must be text; got {name!r}.")
            if not isinstance(rule, tuple(RULES.values())):
                raise DataError(f"Attribute {name!r} has {rule!r} for a rule.", hint="see Encoding.fit.")
        for name in checks.listing(self.learned, "learned", "give attributes."):
            if not isinstance(self._rule(name), Cross):  # which depends on the rows by its parts alone
                self.rules[name] = replace(self.rules[name], learned=True)  # type: ignore[index]
        learned = tuple(n for n, r in self.rules.items() if not isinstance(r, Cross) and r.learned)
        object.__setattr__(self, "learned", learned)
        for name, rule in self.rules.items():
            for part in rule.of if isinstance(rule, Cross) else ():
                if part not in self.rules or isinstance(self.rules[part], Cross):
                    raise UnknownName(
                        f"Cross {name!r} needs attribute {part!r}, which has no rule of its own.",
                        hint=f"add a rule for {part!r}; a cross can't be crossed again.",
                    )

    @classmethod
    def fit(cls, df, spec, label=None, held_out=None, random_state=None) -> Encoding:
        """Learn the rules from rows.

        Parameters
        ----------
        df : data frame
            Any frame that narwhals knows (pandas, polars, pyarrow, ...).
        spec : mapping
            Attribute to what is asked of it: ``"levels"``; ``"deciles"``, ``"quartiles"`` or ``{"kind":
            "quantiles", "bins":
            20}``; ``{"kind": "width", "bins": 10}``; a list of cut points; ``{"kind": "levels", "min_count":
            50, "max_levels":
            100, "other": "other"}``; ``{"kind": "hash", "cells": 1000}``; ``{"kind": "target", "count_bins":
            5, "rate_bins":
            10}``; ``{"kind": "cross", "of": ["age", "city"], "cells": 500}``; or a rule made by hand.
            ``"column"`` names the
            raw column where it isn't called like the attribute; ``"missing"`` names the level of missing
            values (by default
            there is one if the column has missing values; False refuses them). A plain list of columns means
            ``"levels"``.
        label : str, optional
            Column of 0 and 1; needed by target encoding alone.
        held_out : float, boolean array, index array or data frame, optional
            The rows that target encoding learns from: a share of the rows, which rows, or other rows. Don't
            count
            them afterwards: :func:`held_out_rows` gives the rows that a share picks.
        random_state : int, Generator or None
            Picks the rows where ``held_out`` is a share.

        Returns
        -------
        Encoding

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from sumwise.encoding import Encoding, held_out_rows
        >>> rng = np.random.default_rng(0)
        >>> site = rng.integers(0, 50, 2000)
        >>> df = pd.DataFrame({"site": site, "click": rng.random(2000) < site / 50})
        >>> asked = {"site": {"kind": "target", "count_bins": 1, "rate_bins": 4}}
        >>> enc = Encoding.fit(df, asked, label="click", held_out=0.5, random_state=0)
        >>> enc.domain.size(["site"])
        5
        >>> to_count = df[~held_out_rows(2000, 0.5, random_state=0)]
        """
        asked = parsed_spec(spec)
        learned = {n: a for n, a in asked.items() if isinstance(a, dict) and a["kind"] != "cross"}
        target = {n for n, a in learned.items() if a["kind"] == "target"}
        if target and (held_out is None or label is None):
            raise DataError(
                f"Target encoding of {min(target)!r} needs a label and held-out rows.",
                hint="pass label='...' and held_out=0.1 (a share), a mask, or another frame.",
            )
        columns = {n: checks.name_of_column(a.get("column", n), f"column of {n!r}") for n, a in learned.items()}
        wanted = dict.fromkeys([*columns.values(), *([label] if target else [])])
        frame = frames.to_pandas(df, tuple(wanted))
        estimation_rows = held_out_frame(frame, held_out, tuple(wanted), random_state) if target else frame
        summaries = {n: FrameSummary(estimation_rows if n in target else frame, c, label) for n, c in columns.items()}
        return cls({n: fitted_rule(n, a, summaries.get(n)) for n, a in asked.items()}, learned_names(asked))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes, in order."""
        return tuple(self.rules)

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns that are needed, each once."""
        return tuple(dict.fromkeys(r.column for r in self.rules.values() if not isinstance(r, Cross)))

    @property
    def crosses(self) -> dict[str, Cross]:
        """The hashed cross features: attribute to its rule."""
        return {n: r for n, r in self.rules.items() if isinstance(r, Cross)}

    @property
    def domain(self) -> Domain:
        """Attributes and levels that this encoding leads to."""
        from sumwise.domain import Domain

        learned = self.learned_by(self.rules)
        spec = {n: r.levels if n in learned else _levels_or_size(r.levels) for n, r in self.rules.items()}
        return Domain(spec, learned)

    def project(self, attributes: Iterable[str]) -> Encoding:
        """The rules of these attributes alone; a cross brings the attributes that it is made of.

        Examples
        --------
        >>> from sumwise.encoding import Encoding
        >>> from sumwise.encoding.rules import Cuts, Cross
        >>> enc = Encoding({"a": Cuts("a", (0,)), "b": Cuts("b", (0,)), "ab": Cross(("a", "b"), 2)})
        >>> enc.project(["ab"]).attributes
        ('a', 'b', 'ab')
        """
        wanted = list(attributes)
        for name in wanted:
            self._rule(name)
        needed = set(wanted) | {p for n in wanted if isinstance(self.rules[n], Cross) for p in self.rules[n].of}
        return Encoding({n: r for n, r in self.rules.items() if n in needed}, releases=self.releases)

    def learned_by(self, attributes: Iterable[str]) -> tuple[str, ...]:
        """Those of some attributes that depend on rows: learned themselves, or a cross of one that was."""
        known = set(self.learned)
        crosses = {n for n, r in self.crosses.items() if known & set(r.of)}
        return tuple(a for a in attributes if a in known or a in crosses)

    def codes(self, df, unseen: str = "raise") -> dict[str, np.ndarray]:
        """Level codes of individuals, one int64 array per attribute.

        Parameters
        ----------
        df : data frame
            Rows with the raw columns.
        unseen : {"raise", "code"}
            What to do with a value that has no level and nowhere to go: an error, or the code -1.

        Examples
        --------
        >>> import pandas as pd
        >>> from sumwise.encoding import Encoding
        >>> enc = Encoding.fit(pd.DataFrame({"x": ["a", "b"]}), {"x": "levels"})
        >>> enc.codes(pd.DataFrame({"x": ["b", "z"]}), unseen="code")
        {'x': array([ 1, -1])}
        """
        checks.choice(unseen, "unseen", ("raise", "code"))
        frame = frames.to_pandas(df, self.columns)
        codes = {}
        for name, rule in self.rules.items():
            if isinstance(rule, Cross):
                continue
            raw = frame[rule.column]
            codes[name] = rule.codes(raw)
            if unseen == "raise":
                _refuse_unseen(name, codes[name], raw)
        for name, rule in self.crosses.items():
            codes[name] = cross_cell([codes[p] for p in rule.of], rule.cells, rule.salt)
        return {name: codes[name] for name in self.rules}

    def unseen(self, df) -> dict[str, Unseen]:
        """For each column with listed levels, how many values are not among them, wherever such values go."""
        ruled = {n: r for n, r in self.rules.items() if _listed(r) is not None}
        frame = frames.to_pandas(df, tuple(dict.fromkeys(r.column for r in ruled.values())))
        counts = {}
        for name, rule in ruled.items():
            values = _listed(rule)
            unknown = looked_up(frame[rule.column], dict.fromkeys(values, 0), missing=0, unseen=-1) < 0
            counts[name] = count_unseen(frame[rule.column], unknown, values)
        return counts

    def decode(self, codes: Mapping[str, np.ndarray]) -> pd.DataFrame:
        """Codes to a pandas frame of levels; the code -1 becomes a missing value.

        Examples
        --------
        >>> from sumwise.encoding import Encoding
        >>> from sumwise.encoding.rules import Cuts
        >>> Encoding({"x": Cuts("x", (0,))}).decode({"x": [1, 0, -1]})["x"].tolist()
        ['0 and above', 'below 0', None]
        """
        import pandas as pd

        columns = {}
        for name, given in codes.items():
            levels = np.empty(len(self._rule(name).levels) + 1, dtype=object)
            levels[:-1] = self.rules[name].levels
            c = np.asarray(given)
            if len(c) and not -1 <= c.min() <= c.max() < len(levels) - 1:
                raise DataError(f"Codes of {name!r} must be from -1 to {len(levels) - 2}; got {c.min()} to {c.max()}.")
            columns[name] = pd.Series(levels[c], dtype=object)
        return pd.DataFrame(columns)

    def transform(self, df, unseen: str = "warn") -> pd.DataFrame:
        """Raw rows to a pandas frame of levels, one column per attribute.

        Parameters
        ----------
        df : data frame
            Rows with the raw columns.
        unseen : {"warn", "raise", "code"}
            A value that has no level and nowhere to go becomes a missing one. "warn" does as `predict_proba`: it says
            so where they are more than 1% of a column, and refuses a column of which no value is a level. "code" is
            silent, "raise" refuses any.
        """
        checks.choice(unseen, "unseen", ("warn", "raise", "code"))
        if unseen == "warn":
            counts = self.unseen(df).items()
            lost = {n: u for n, u in counts if u.rows == u.present or getattr(self.rules[n], "unseen_code", -1) < 0}
            report_unseen(lost)
        return self.decode(self.codes(df, unseen="raise" if unseen == "raise" else "code"))

    def to_dict(self) -> dict:
        """A dict that JSON can hold; :meth:`from_dict` reads it.

        Examples
        --------
        >>> from sumwise.encoding import Encoding
        >>> from sumwise.encoding.rules import Cuts
        >>> enc = Encoding({"x": Cuts("x", (0,))})
        >>> enc.to_dict()
        {'x': {'kind': 'cuts', 'column': 'x', 'edges': [0.0], 'missing': None}}
        >>> Encoding.from_dict(enc.to_dict()) == enc
        True
        """
        spent = [dict(r) for r in self.releases]
        more = {"releases": spent} if spent else {}  # with every rule: no name is free for the encoding's own facts
        return {n: _plain(r) | more for n, r in self.rules.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Mapping]) -> Encoding:
        """The encoding that :meth:`to_dict` wrote."""
        rules = checks.mapping(data, "The data of an encoding")
        from_json = {n: _rule_of(n, given) for n, given in rules.items()}
        releases: list[Any] = []
        for given in rules.values():
            listed = checks.listing(given.get("releases", []), "The releases of an encoding")
            releases += [checks.mapping(r, "A release of an encoding") for r in listed if r not in releases]
        return cls(from_json, releases=releases)

    def describe(self) -> dict[str, dict[str, Any]]:
        """Facts per attribute: rule, raw columns, number of levels, where unseen and missing values go.

        Examples
        --------
        >>> from sumwise.encoding import Encoding
        >>> from sumwise.encoding.rules import Levels
        >>> Encoding({"x": Levels("x", ("a", "b"), other="other")}).describe()["x"]
        {'rule': 'levels', 'from': ['x'], 'levels': 3, 'unseen': 'other', 'missing': 'other'}
        """
        return {
            name: {
                "rule": rule.kind,
                "from": list(rule.of) if isinstance(rule, Cross) else [rule.column],
                "levels": len(rule.levels),
                "unseen": _home(rule, "unseen_code"),
                "missing": _home(rule, "missing_code"),
            }
            for name, rule in self.rules.items()
        }

    def __eq__(self, other) -> bool:
        if not isinstance(other, Encoding):
            return NotImplemented
        return list(self.rules.items()) == list(other.rules.items())

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.rules)

    def __contains__(self, name: object) -> bool:
        return name in self.rules

    def __getitem__(self, name: str):
        return self._rule(name)

    def __repr__(self) -> str:
        parts = [f"{n}: {r.kind}, {len(r.levels)} levels" for n, r in list(self.rules.items())[:6]]
        more = "" if len(self.rules) <= 6 else f"; and {len(self.rules) - 6} more"
        return f"Encoding({'; '.join(parts)}{more})"

    def _repr_html_(self) -> str:
        facts = {n: f"{r.kind}, {len(r.levels)} levels" for n, r in list(self.rules.items())[:50]}
        return facts_html(f"Encoding of {len(self)} attributes", facts)

    def _rule(self, name: str):
        checks.known(name, self.rules, "attribute")
        return self.rules[name]


def _refuse_unseen(name: str, codes: np.ndarray, raw: Any) -> None:
    bad = np.flatnonzero(codes < 0)
    if not len(bad):
        return
    value = checks.plain(raw.iloc[bad[0]])
    what = "is missing" if raw.isna().iloc[bad[0]] else f"has {value!r}"
    raise UnknownName(
        f"Attribute {name!r} has no level for {len(bad)} of {len(codes)} rows. First: row {bad[0]} {what}.",
        hint="fit the encoding with other='other' or missing='missing', or ask for unseen='code'.",
    )


def _listed(rule: Any) -> Any:
    """The raw values that a rule knows; None where it takes any."""
    return rule.values if isinstance(rule, Levels | Target) and rule.values else None


def _levels_or_size(levels: tuple):
    numbered = all(type(v) is int and v == i for i, v in enumerate(levels))  # True == 1, and isn't one
    return len(levels) if numbered else levels


def _home(rule, which: str):
    code = getattr(rule, which, -1)
    return None if code < 0 else rule.levels[code]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple(RULES.values())):
        parts = {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name != "learned"}
        return {"kind": value.kind, **parts, **({"learned": True} if getattr(value, "learned", False) else {})}
    return list(value) if isinstance(value, tuple) else value


def _rule_of(name: str, given: Any) -> Any:
    if not isinstance(given, Mapping) or given.get("kind") not in RULES:
        raise DataError(f"Attribute {name!r} has no known rule: {given!r}.", hint=f"kinds are {', '.join(RULES)}.")
    rule = RULES[given["kind"]]
    known = {f.name for f in fields(rule)}
    given = {k: v for k, v in given.items() if k != "releases" and (k != "learned" or (k in known and v is True))}
    extra = set(given) - known - {"kind"}
    if extra:
        listed = ", ".join(f.name for f in fields(rule))
        raise DataError(f"The rule of {name!r} has an unknown field {min(extra)!r}.", hint=f"its fields are {listed}.")
    options: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if k != "kind"}
    if isinstance(options.get("rule"), Mapping):
        options["rule"] = _rule_of(name, options["rule"])
    try:
        return rule(**options)
    except TypeError as error:
        listed = ", ".join(f.name for f in fields(rule))
        raise DataError(f"The rule of {name!r} is incomplete: {error}.", hint=f"its fields are {listed}.") from None
