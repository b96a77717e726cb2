"""Questions about a source that its numbers can't answer, and the answers that a person gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sumwise import checks
from sumwise.errors import DataError

STOP = "stop: none of these"
NAME = "none of these: I name the columns"
COLUMNS = "columns."  # keys of the questions by which a person names columns


@dataclass(frozen=True)
class Question:
    """One open question: its key, its words, and the answers to choose from; none of them is a default.

    Parameters
    ----------
    key : str
        By which an answer is given: ``sumwise init votes.csv --answer key=...``.
    text : str
    options : tuple of str
    several : bool, default False
        Whether an answer is a list of the options (of columns), separated by commas.

    Examples
    --------
    >>> from sumwise.schema import Question
    >>> Question("form", "What is a row?", ("a person", "a precinct")).key
    'form'
    """

    key: str
    text: str
    options: tuple[str, ...]
    several: bool = False


class Stopped(DataError):
    """A person answered a question with stop."""


class NoForm(DataError):
    """No form fits a source by its words and sums; a person may still name its columns."""


class Naming(Exception):
    """A person wants to name the columns; its argument is the key of the question that was left so."""


class Unanswered(Exception):
    """An answer is needed before anything else can be read.

    Examples
    --------
    >>> from sumwise.schema.questions import Interview
    >>> asked = Interview()
    >>> asked.columns("columns.outcomes", "Which columns count votes?", ("abrams", "kemp"))
    []
    >>> asked.open[0].text
    'Which columns count votes?'
    """


@dataclass
class Interview:
    """The answers of a person, the questions that are still open, and remarks on what was read.

    An open question is followed on its first option that isn't a stop, to see what else there is to ask; what is read
    so is never used.

    Parameters
    ----------
    answers : mapping of key to answer, default none
    open : list of Question, default none
        Questions without an answer.
    remarks : list of str, default none
    used : set of str, default none
        Keys of the answers that a question asked for.
    naming : bool, default False
        Whether every question has the way out that a person names the columns.

    Examples
    --------
    >>> from sumwise.schema.questions import Interview
    >>> Interview({"form": "a person"}).ask("form", "What is a row?", {"a person": 1, "a precinct": 2})
    1
    """

    answers: Mapping[str, Any] = field(default_factory=dict)
    open: list[Question] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    naming: bool = False

    @property
    def named(self) -> bool:
        """Whether a person names the columns."""
        return NAME in self.answers.values() or any(key.startswith(COLUMNS) for key in self.answers)

    def ask(self, key: str, text: str, options: Mapping[str, Any], stop: str | None = None) -> Any:
        """What the chosen option leads to; `stop` is a refusal that comes first among the options."""
        listed = ((STOP,) if stop is not None else ()) + tuple(options) + ((NAME,) if self.naming else ())
        if key in self.answers and not (self.named and self.answers[key] == NAME):
            self.used.add(key)
            given = self.answers[key]
            single = given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given
            chosen = _option(key, str(single), listed)
            if chosen == STOP:
                raise Stopped(str(stop), hint=f"{key} was answered with {STOP!r}.")
            if chosen == NAME:
                raise Naming(key)
            return options[chosen]
        if not any(question.key == key for question in self.open):
            self.open.append(Question(key, text, listed))
        return next(iter(options.values()), None)

    def columns(self, key: str, text: str, names: tuple[str, ...]) -> list[str]:
        """Columns that a person names; none while the question is open."""
        if key not in self.answers:
            self.open.append(Question(key, text, names, several=True))
            return []
        self.used.add(key)
        given = self.answers[key]
        listed = [given] if isinstance(given, str) and given in names else given
        if isinstance(listed, str):
            listed = [part.strip() for part in listed.split(",")]
        if not listed:
            raise DataError(f"The answer to {key} names no column.", hint="name at least one.")
        for name in listed:
            checks.known(name, names, "column")
        return list(dict.fromkeys(listed))

    def column(self, key: str, text: str, names: tuple[str, ...]) -> str:
        """One column that a person names; nothing while the question is open."""
        named = self.columns(key, text, names)
        if len(named) > 1:
            raise DataError(f"The answer to {key} is {', '.join(named)}.", hint="name one column.")
        return next(iter(named), "")

    def branch(self) -> Interview:
        """The same answers, for one of several readings."""
        return Interview(self.answers, naming=self.naming)

    def follow(self, other: Interview) -> None:
        """Take over the questions and remarks of a branch."""
        self.open += [q for q in other.open if not any(q.key == mine.key for mine in self.open)]
        self.remarks += other.remarks
        self.used |= other.used


def _option(key: str, answer: str, options: tuple[str, ...]) -> str:
    """The option that an answer names: whole, by its number from 1, or by how it begins."""
    if answer in options:
        return answer
    if answer.isdigit() and 1 <= int(answer) <= len(options):
        return options[int(answer) - 1]
    starts = [option for option in options if answer and option.lower().startswith(answer.lower())]
    if len(starts) == 1:
        return starts[0]
    listed = "; ".join(options)
    raise DataError(f"The answer to {key} is {answer!r}.", hint=f"choose one of: {listed}.")
