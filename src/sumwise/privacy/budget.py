"""Budget: how much privacy may be lost in all, what was lost so far, and a refusal of more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.display import facts_text, finding_html
from sumwise.errors import DataError
from sumwise.privacy import ledger
from sumwise.privacy.accounting import check_promise, epsilon_of_mu, epsilon_of_rho

UNSAID: Any = object()  # a budget that nobody decided on
ROUNDING_SLACK = 1e-9  # rounding of sums of shares; far below anything that matters to privacy


class Budget:
    """A privacy budget: releases spend it, and can't overdraw it.

    Parameters
    ----------
    epsilon : float > 0
        The privacy loss allowed in all.
    delta : float in [0, 1), default 0
        The probability allowed for a larger loss. With 0 only pure mechanisms (geometric, Laplace) can spend.
    path : path, optional
        A file, the ledger, that keeps the budget between programs. Where it exists, it must be of the same epsilon and
        delta, and what it says was spent is spent. It is read again and written before any noise is drawn, under a
        lock, so that neither a crash nor another program can give budget back. Links lead to the one file behind
        them; a damaged file is an error, never an empty ledger.

    Notes
    -----
    Pure releases compose by adding their epsilons. With a delta, the squares of the mu of Gaussian releases add up,
    and their sum has an exact epsilon at the budget's delta (the analytic Gaussian mechanism). Other losses in
    zero-concentrated differential privacy (zCDP) add up as rhos, and OpenDP turns the sum into an epsilon. Pure
    releases are then added to that epsilon, or each counts as a rho of epsilon squared over two; both bounds hold, and
    the smaller is used.

    Examples
    --------
    >>> from sumwise.privacy import Budget
    >>> budget = Budget(1.0)
    >>> budget.spend(0.75, what="march")
    >>> budget.left
    0.25
    >>> budget.spend(0.5, what="april")
    Traceback (most recent call last):
    sumwise.errors.DataError: The budget of epsilon 1 has 0.25 left; 'april' would bring the total to 1.25.
    Hint: ...
    """

    def __init__(self, epsilon: float, delta: float = 0.0, path: Any = None):
        self.epsilon = _positive(epsilon, "epsilon")
        self.delta = _delta(delta)
        check_promise(self.epsilon, self.delta)
        self.path = None if path is None else ledger.real_path(path)
        self.entries: list[dict[str, Any]] = []
        self.id: str | None = None
        self.source: Sequence[str] = ()  # names of the rows behind all releases, noted besides the data of each
        if self.path is not None and self.path.exists():
            self._take_over(self.path)

    @classmethod
    def from_file(cls, path: Any) -> Budget:
        """The budget that a file keeps, with the epsilon and delta that it allows.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sumwise.privacy import Budget
        >>> with tempfile.TemporaryDirectory() as place:
        ...     file = pathlib.Path(place) / "budget.json"
        ...     Budget(2.0, path=file).spend(0.5)
        ...     Budget.from_file(file).left
        1.5
        """
        kept = ledger.read(ledger.real_path(path))
        return cls(kept.epsilon, kept.delta, path)

    @property
    def spent(self) -> float:
        """The epsilon spent so far, at the budget's delta; infinite if a spent loss has no epsilon."""
        return self._epsilon_of(self.entries)

    @property
    def left(self) -> float:
        """The epsilon left for one pure release."""
        return max(self.epsilon - self.spent, 0.0)

    def spend(
        self,
        epsilon: float | None = None,
        rho: float | None = None,
        what: str = "release",
        *,
        mu: float | None = None,
        delta: float = 0.0,
        data: Sequence[str] = (),
    ) -> None:
        """Take from the budget, or refuse.

        Parameters
        ----------
        epsilon : float > 0, optional
            The loss of a pure mechanism.
        rho : float, optional
            The loss of a mechanism in zCDP.
        what : str
            What it was spent on; kept in the ledger.
        mu : float, optional
            The loss of a Gaussian mechanism: sensitivity over standard deviation. Give one of the three.
        delta : float in [0, 1), default 0
            The probability of a larger loss that the mechanism itself has; taken from the budget's delta.
        data : sequence of str, optional
            What was released, as `sumwise.privacy.ledger.fingerprints` names it. The first ledger that data are
            released from is theirs: another one, or a copy, is refused, also for some of the tables.
        """
        given = {k: v for k, v in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if v is not None}
        if len(given) != 1:
            raise DataError("Spend either epsilon, rho or mu.", hint="epsilon for pure mechanisms, mu for Gaussian.")
        ((unit, amount),) = given.items()
        amount = _positive(amount, unit)
        self.spend_all([{unit: amount} | ({"delta": _delta(delta)} if delta else {})], what, data)

    def spend_all(self, losses: Sequence[dict[str, float]], what: str, data: Sequence[str] = ()) -> None:
        """Take several losses at once, or refuse all of them.

        Parameters
        ----------
        losses : sequence of mappings
            Each has one of ``epsilon``, ``rho`` and ``mu``, and perhaps a ``delta``.
        what, data
            As in :meth:`spend`.
        """
        if not self.delta and any("epsilon" not in loss for loss in losses):
            raise DataError(f"{what!r} has Gaussian noise, and the budget has no delta.", hint="give it one, as 1e-6.")
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entries: list[dict[str, Any]] = [{"what": str(what), **loss, "when": when} for loss in losses]
        if self.path is None:
            self._check_remaining(entries)
            self.entries += entries
            return
        try:
            with ledger.locked(self.path):
                if self.path.exists():
                    self._take_over(self.path)  # others may have spent since it was read
                self._check_remaining(entries)
                identity = self.id or ledger.new_id()
                before = ledger.LedgerContents(self.epsilon, self.delta, self.entries, identity)
                after = replace(before, entries=[*self.entries, *entries])
                with ledger.registered([*data, *self.source], self.path, before, after):
                    ledger.write(self.path, after)
        except OSError as error:
            raise DataError(f"The budget can't be written to {str(self.path)!r}: {error}.") from None
        self.id = identity
        self.entries += entries

    def _check_remaining(self, entries: list[dict[str, Any]]) -> None:
        after = self._epsilon_of([*self.entries, *entries])
        if after > self.epsilon * (1 + ROUNDING_SLACK):
            raise DataError(
                f"The budget of epsilon {self.epsilon:.6g} has {self.left:.6g} left; "
                f"{entries[0]['what']!r} would bring the total to {after:.6g}.",
                hint="what was released before stays released; a larger budget means less privacy for everybody in it.",
            )

    def describe(self) -> dict[str, Any]:
        """The facts: what was allowed, what is spent and left, and on what."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "spent": self.spent,
            "left": self.left,
            "entries": [dict(e) for e in self.entries],
        }

    def __repr__(self) -> str:
        return facts_text("Budget", self._facts())

    def _repr_html_(self) -> str:
        import pandas as pd

        n = len(self.entries)
        words = f"Epsilon {self.spent:.4g} of {self.epsilon:g} is spent, by {n} release{'' if n == 1 else 's'}; "
        words += f"{self.left:.4g} is left{f', at delta {self.delta:g}' if self.delta else ''}."
        return finding_html(words, pd.DataFrame([dict(e) for e in self.entries]))

    def _facts(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "spent": self.spent, "releases": len(self.entries)}

    def _epsilon_of(self, entries: list[dict[str, Any]]) -> float:
        pure = math.fsum(e.get("epsilon", 0.0) for e in entries)
        squares = math.fsum(e.get("mu", 0.0) ** 2 for e in entries)
        rho = math.fsum(e.get("rho", 0.0) for e in entries)
        delta = self.delta - math.fsum(e.get("delta", 0.0) for e in entries)
        if delta < -ROUNDING_SLACK * self.delta:
            return math.inf  # more was allowed to fail than the budget allows
        if not squares and not rho and not (pure and delta > 0):
            return pure
        if delta <= 0:
            return math.inf  # no finite epsilon holds without a delta
        if rho:
            apart = pure + epsilon_of_rho(rho + squares / 2, delta)
        else:
            apart = pure + (epsilon_of_mu(math.sqrt(squares), delta) if squares else 0.0)
        as_rho = rho + squares / 2 + math.fsum(e.get("epsilon", 0.0) ** 2 / 2 for e in entries)
        return min(apart, epsilon_of_rho(as_rho, delta))

    def _take_over(self, path: Path) -> None:
        kept = ledger.read(path)
        if (kept.epsilon, kept.delta) != (self.epsilon, self.delta):
            raise DataError(
                f"The budget file {str(path)!r} allows epsilon {kept.epsilon:g} and delta {kept.delta:g}; "
                f"epsilon {self.epsilon:g} and delta {self.delta:g} were asked for.",
                hint="give the file's own, or another file if the budget really changes.",
            )
        self.entries, self.id = kept.entries, kept.id


def checked_budget(budget: Any) -> None:
    """Refuse anything but a budget, or None that was said."""
    if budget is UNSAID:
        raise DataError(
            "budget is not given, so nothing would keep this release from being repeated.",
            hint="give budget=Budget(...), or budget=None for a release that no ledger knows of.",
        )
    if budget is not None and not isinstance(budget, Budget):
        raise DataError(f"budget is of type {type(budget).__name__}.", hint="give a Budget.")


def _positive(value: Any, name: str) -> float:
    checks.at_least(value, name, 0, whole_number=False)
    if value <= 0:
        raise DataError(
            f"{name} is {value!r}; it must be above 0.", hint="smaller means more noise; 0 would be nothing."
        )
    return float(value)


def _delta(value: Any) -> float:
    checks.at_least(value, "delta", 0, whole_number=False)
    if value >= 1:
        raise DataError(
            f"delta is {value!r}; it must be below 1.", hint="usual values lie far below one over n, as 1e-6."
        )
    return float(value)
