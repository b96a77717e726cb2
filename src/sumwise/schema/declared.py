"""Schema: what each column of a source is; inferred with questions, read from a problem file, or declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sumwise.display import record_html
from sumwise.schema.questions import Question


@dataclass(frozen=True)
class Schema:
    """What each column of a source is, and how it is read into a container.

    Parameters
    ----------
    family : {"ecological", "proportions", "distribution", "maxent", "collective"}
        Which kind of problem the source holds: margins, bags with counts, bags with responses, tables, or counts over
        time and place.
    data : mapping
        How the source is opened, which rows are left out, and what is done where sums differ: [data] of a problem
        file.
    columns : mapping
        Role -> column, or columns: [columns] of a problem file.
    contests : tuple of mappings
        What is different for each of several contests.
    options : mapping
        Of the method: how counts come about.
    questions : tuple of Question
        What is still open; nothing can be read before they are answered.
    remarks : tuple of str
        What was passed over and left out.
    unused : mapping
        Columns without a role, and why.
    names : mapping
        What reports show in place of names of columns.

    See Also
    --------
    sumwise.Margins : One of the containers that a schema reads.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise import Schema
    >>> frame = pd.DataFrame({"young": [60, 10, 5], "old": [40, 80, 5], "yes": [55, 30, 4], "no": [45, 60, 6]})
    >>> schema = Schema.infer(frame)
    >>> schema.columns
    {'groups': ['young', 'old'], 'outcomes': ['yes', 'no']}

    >>> schema.read(frame).cols
    array([[55., 45.],
           [30., 60.],
           [ 4.,  6.]])

    What the numbers don't show is asked:

    >>> schema = Schema.infer(frame.assign(no=[30, 40, 3]))
    >>> [question.key for question in schema.questions]
    ['confirm', 'fewer']
    """

    family: str
    data: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    contests: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    remarks: tuple[str, ...] = ()
    unused: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    _repr_html_ = record_html

    @classmethod
    def infer(cls, source: Any, answers: Mapping[str, Any] | None = None, **opening: Any) -> Schema:
        """Find out what each column of a source is.

        Parameters
        ----------
        source : path, frame, or two of them that belong together
        answers : mapping, optional
            Key of a question -> the option that is chosen.
        **opening
            How files are opened: ``sheet``, ``separator``, ``encoding``, ``decimal``.

        Returns
        -------
        Schema
            With ``questions`` where the source leaves something open.
        """
        from sumwise.schema.infer import infer

        return infer(source, answers, opening)

    def read(self, source: Any = None) -> Any:
        """The container that a source holds; every check of its entries is made here.

        Parameters
        ----------
        source : path or frame, or a list of two, optional
            Default: the files that ``data`` names.

        Returns
        -------
        Margins, Contests, Tables, (Bags, counts), (Bags, responses), or a frame of counts over time and place
        """
        from sumwise.schema.reading.contests import read

        return read(self, source)

    def to_toml(self) -> str:
        """The schema as the tables of a problem file; an open question is a line to uncomment."""
        from sumwise.schema.toml import to_toml

        return to_toml(self)

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """The schema of a problem file."""
        from sumwise.schema.toml import from_toml

        return from_toml(text)
