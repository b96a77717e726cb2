"""Contests: margins of several contests whose groups, and some of whose outcomes, are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sumwise import checks
from sumwise.display import facts_text, finding_html
from sumwise.errors import DataError, UnknownName
from sumwise.margins import Margins

__all__ = ["Contests"]

ALIGNMENTS = ("auto", "name", "party", "learned")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contests:
    """Margins of several contests (districts, offices, years) that a method may fit together.

    Groups are matched across contests by name. Outcomes are matched by name, by party, or by the groups that they
    attract, which is learned from first estimates: candidates have a different name in every district.

    Parameters
    ----------
    contests : mapping of id to Margins
        In the order in which results are listed.
    parties : mapping of id to a sequence or a mapping, optional
        For each contest the party of every outcome, in the order of ``col_names`` or by name. Outcomes with the same
        party are compared across contests; None leaves an outcome unmatched.
    elections : mapping of id to str, optional
        Contests are compared within an election only; by default all are of one.
    align : {"auto", "name", "party", "learned"}, default "auto"
        How outcomes are matched. ``"auto"`` uses parties where they are given, names that at least a third of an
        election's contests share, and the groups attracted for all others.

    See Also
    --------
    Margins : One contest.
    sumwise.ecological.validate : How well a method does on contests whose cells are known.

    Examples
    --------
    >>> from sumwise import Contests, Margins
    >>> north = Margins([[60, 40], [10, 90]], [[55, 45], [30, 70]], row_names=["a", "b"], col_names=["yes", "no"])
    >>> contests = Contests({"north": north, "south": north[[0]]})
    >>> contests
    Contests(contests=2, elections=1, units=3, align=auto)
    >>> contests["south"].n_units
    1
    """

    contests: Mapping[Any, Margins]
    parties: Mapping[Any, Any] | None = None
    elections: Mapping[Any, Any] | None = None
    align: str = "auto"

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(
            self,
            contests: Mapping[Any, Margins],
            parties: Mapping[Any, Sequence[Any] | Mapping[Any, Any]] | None = None,
            elections: Mapping[Any, Any] | None = None,
            align: str = "auto",
        ) -> None: ...

    def __post_init__(self):
        if not isinstance(self.contests, Mapping):
            raise DataError(
                f"Contests take a mapping of ids to margins, not a {type(self.contests).__name__}.",
                hint='such as Contests({"north": margins_north, "south": margins_south}).',
            )
        if not self.contests:
            raise DataError("There are no contests.", hint="give at least one id with its margins.")
        for key, margins in self.contests.items():
            if not isinstance(margins, Margins):
                raise DataError(
                    f"Contest {key!r} is of type {type(margins).__name__}, not Margins.",
                    hint="build it with Margins(...).",
                )
        checks.choice(self.align, "align", ALIGNMENTS)
        self._set("contests", dict(self.contests))
        self._set("parties", self._checked_parties())
        self._set("elections", self._checked_elections())
        if self.align == "party" and not self.parties:
            raise DataError("align is 'party', and no parties are given.", hint="parties={id: [...], ...}.")

    @property
    def ids(self) -> tuple[Any, ...]:
        """The ids, in order."""
        return tuple(self.contests)

    @property
    def n_units(self) -> int:
        """Number of units of all contests."""
        return sum(len(m) for m in self.contests.values())

    def election_of(self, key: Any) -> Any:
        """Return the election of a contest; None where all contests are of one."""
        return (self.elections or {}).get(key)

    def describe(self) -> dict[str, Any]:
        """Return the facts: how many contests, elections and units, and the groups that all contests share."""
        groups = [set(m.row_names) for m in self.contests.values()]
        return {
            "contests": len(self),
            "elections": len({self.election_of(key) for key in self.contests}),
            "units": self.n_units,
            "groups in all contests": sorted(set.intersection(*groups), key=str),
            "groups in some contests": sorted(set.union(*groups) - set.intersection(*groups), key=str),
            "align": self.align,
            "parties given": len(self.parties or {}),
        }

    def __len__(self) -> int:
        return len(self.contests)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.contests)

    def __getitem__(self, key: Any) -> Margins:
        if key not in self.contests:
            first_ids = ", ".join(map(repr, self.ids[:5])) + (", ..." if len(self) > 5 else "")
            raise UnknownName(f"There is no contest {key!r}.", hint=f"there are {first_ids}.")
        return self.contests[key]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Contests):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):  # a copy is as frozen as the original
        return Contests, tuple(getattr(self, n) for n in self.__slots__)

    def __repr__(self) -> str:
        return facts_text("Contests", self._facts())

    def _repr_html_(self) -> str:
        import pandas as pd

        words = f"{len(self)} contests, {self.describe()['units']:,} units in all."
        listed = {str(key): self[key] for key in self}
        rows = [
            (k, len(m), ", ".join(map(str, m.row_names)), ", ".join(map(str, m.col_names))) for k, m in listed.items()
        ]
        return finding_html(words, pd.DataFrame(rows, columns=["contest", "units", "groups", "outcomes"]))

    def _facts(self) -> dict[str, Any]:
        facts = self.describe()
        return {name: facts[name] for name in ("contests", "elections", "units", "align")}

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _checked_parties(self) -> dict[Any, tuple[Any, ...]] | None:
        """For each contest with parties, the party of every outcome."""
        if self.parties is None:
            return None
        self._known(self.parties, "parties")
        return {key: self._party_of_each(key, parties) for key, parties in self.parties.items()}

    def _party_of_each(self, key: Any, parties: Any) -> tuple[Any, ...]:
        names = self.contests[key].col_names
        if isinstance(parties, Mapping):
            unknown = [name for name in parties if name not in names]
            if unknown:
                raise UnknownName(
                    f"The parties of contest {key!r} name {unknown[0]!r}, which is not one of its outcomes.",
                    hint=f"its outcomes are {', '.join(map(str, names))}.",
                )
        party = tuple(parties.get(name) for name in names) if isinstance(parties, Mapping) else tuple(parties)
        if len(party) != len(names):
            raise DataError(
                f"Contest {key!r} has {len(names)} outcomes and {len(party)} parties.",
                hint="give one party per outcome, None where it has none.",
            )
        stated = [p for p in party if p is not None]
        if len(stated) != len(set(stated)):
            twice = next(p for p in stated if stated.count(p) > 1)
            raise DataError(
                f"Contest {key!r} has two outcomes of party {twice!r}.", hint="merge them, or give one of them None."
            )
        return party

    def _checked_elections(self) -> dict[Any, Any] | None:
        if self.elections is None:
            return None
        self._known(self.elections, "elections")
        missing = [key for key in self.contests if key not in self.elections]
        if missing:
            raise DataError(
                f"elections has no entry for {len(missing)} of {len(self.contests)} contests; first {missing[0]!r}.",
                hint="give every contest its election, or leave `elections` out.",
            )
        return dict(self.elections)

    def _known(self, value: Any, what: str) -> None:
        if not isinstance(value, Mapping):
            raise DataError(f"{what} is of type {type(value).__name__}.", hint="give a mapping of contest ids.")
        unknown = [key for key in value if key not in self.contests]
        if unknown:
            raise UnknownName(f"{what} names the contest {unknown[0]!r}, which isn't there.", hint="check the ids.")
