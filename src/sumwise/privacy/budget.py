"""Budget: how much privacy may be lost in all, what was lost so far, and a refusal of more."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.display import facts_html, facts_text
from sumwise.errors import DataError

__all__ = ["Budget", "epsilon_of_rho", "rho_of_epsilon"]

SLACK = 1e-9  # rounding of sums of shares; far below anything that matters to privacy


def epsilon_of_rho(rho: float, delta: float) -> float:
    """The epsilon that rho-zCDP implies at a delta: rho + 2 sqrt(rho log(1 / delta)) (Bun and Steinke 2016, prop.
    1.3).

    Examples
    --------
    >>> from sumwise.privacy.budget import epsilon_of_rho
    >>> round(epsilon_of_rho(0.5, 1e-6), 3)
    5.757
    """
    return rho + 2 * math.sqrt(-rho * math.log(delta))


def rho_of_epsilon(epsilon: float, delta: float) -> float:
    """The largest rho for which rho-zCDP implies (epsilon, delta): the inverse of `epsilon_of_rho`.

    Examples
    --------
    >>> from sumwise.privacy.budget import epsilon_of_rho, rho_of_epsilon
    >>> round(epsilon_of_rho(rho_of_epsilon(1.0, 1e-6), 1e-6), 12)
    1.0
    """
    log = -math.log(delta)
    return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2  # no difference of nearly equal roots


class Budget:
    """A privacy budget: releases spend it, and what would overdraw it is refused.

    Parameters
    ----------
    epsilon : float
        The privacy loss allowed in all.
    delta : float, default 0
        The probability allowed for a larger loss. With 0 only pure mechanisms (geometric, Laplace) can spend.
    path : path, optional
        A file that keeps the budget between programs. Where it exists, it must be of the same epsilon and delta,
        and what it says was spent is spent. It is read again and written before any noise is drawn, under a lock, so
        that neither a crash nor another program can give budget back.

    Notes
    -----
    Pure releases compose by adding their epsilons. With a delta, Gaussian releases compose in zero-concentrated
    differential privacy (zCDP): their rhos add up, and the sum is turned into an epsilon at the budget's delta.
    Pure releases are then added to that epsilon, or each counts as a rho of epsilon squared over two; both bounds
    hold, and the smaller is used.

    Examples
    --------
    >>> from sumwise.privacy import Budget
    >>> budget = Budget(1.0)
    >>> budget.spend(0.75, what="march")
    >>> budget.left
    0.25
    >>> budget.spend(0.5, what="april")
    Traceback (most recent call last):
    sumwise.errors.DataError: The budget of epsilon 1 has 0.25 left; 'april' would bring what is spent to 1.25.
    Hint: ...
    """

    def __init__(self, epsilon: float, delta: float = 0.0, path: Any = None):
        self.epsilon = _positive(epsilon, "epsilon")
        self.delta = _delta(delta)
        self.path = None if path is None else Path(path)
        self.entries: list[dict[str, Any]] = []
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
        epsilon, delta, _ = _kept(Path(path))
        return cls(epsilon, delta, path)

    @property
    def spent(self) -> float:
        """The epsilon spent so far, at the budget's delta."""
        return self._epsilon_of(self.entries)

    @property
    def left(self) -> float:
        """The epsilon left for one pure release."""
        return max(self.epsilon - self.spent, 0.0)

    def spend(self, epsilon: float | None = None, rho: float | None = None, what: str = "release") -> None:
        """Take from the budget, or refuse.

        Parameters
        ----------
        epsilon : float, optional
            The loss of a pure mechanism.
        rho : float, optional
            The loss of a Gaussian mechanism, in zCDP; give one of the two.
        what : str
            What it was spent on; kept in the ledger.
        """
        if (epsilon is None) == (rho is None):
            raise DataError("Spend either epsilon or rho.", hint="epsilon for pure mechanisms, rho for Gaussian noise.")
        amount = _positive(epsilon if rho is None else rho, "epsilon" if rho is None else "rho")
        if rho is not None and not self.delta:
            raise DataError(
                f"{what!r} has Gaussian noise, and the budget has no delta.", hint="give the budget a delta, as 1e-6."
            )
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"what": what, "epsilon" if rho is None else "rho": amount, "when": when}
        if self.path is None:
            self._check_room(entry)
            self.entries.append(entry)
            return
        try:
            with _locked(self.path):
                if self.path.exists():
                    self._take_over(self.path)  # others may have spent since it was read
                self._check_room(entry)
                self._write(self.path, [*self.entries, entry])
        except OSError as error:
            raise DataError(f"The budget can't be written to {str(self.path)!r}: {error}.") from None
        self.entries.append(entry)

    def _check_room(self, entry: dict[str, Any]) -> None:
        after = self._epsilon_of([*self.entries, entry])
        if after > self.epsilon * (1 + SLACK):
            raise DataError(
                f"The budget of epsilon {self.epsilon:.6g} has {self.left:.6g} left; "
                f"{entry['what']!r} would bring what is spent to {after:.6g}.",
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
        return facts_html("Budget", self._facts())

    def _facts(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "spent": self.spent, "releases": len(self.entries)}

    def _epsilon_of(self, entries: list[dict[str, Any]]) -> float:
        if not entries:
            return 0.0
        pure = math.fsum(e.get("epsilon", 0.0) for e in entries)
        if not self.delta:
            return pure
        rho = math.fsum(e.get("rho", 0.0) for e in entries)
        all_in_rho = rho + math.fsum(e.get("epsilon", 0.0) ** 2 / 2 for e in entries)
        apart = pure + (epsilon_of_rho(rho, self.delta) if rho else 0.0)
        return min(apart, epsilon_of_rho(all_in_rho, self.delta))

    def _take_over(self, path: Path) -> None:
        epsilon, delta, entries = _kept(path)
        if (epsilon, delta) != (self.epsilon, self.delta):
            raise DataError(
                f"The budget file {str(path)!r} allows epsilon {epsilon:g} and delta {delta:g}; "
                f"epsilon {self.epsilon:g} and delta {self.delta:g} were asked for.",
                hint="give the file's own, or another file if the budget really changes.",
            )
        self.entries = entries

    def _write(self, path: Path, entries: list[dict[str, Any]]) -> None:
        data = {"epsilon": self.epsilon, "delta": self.delta, "entries": entries}
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False, encoding="utf-8") as out:
            try:
                json.dump(data, out, indent=1)
                out.flush()
                os.fsync(out.fileno())
                os.replace(out.name, path)
            except BaseException:
                os.unlink(out.name)
                raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the budget's file for one program; the system lets go when the program ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "a") as lock:
        try:
            import fcntl
        except ImportError:  # Windows
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _kept(path: Path) -> tuple[float, float, list[dict[str, Any]]]:
    """Epsilon, delta and entries of a budget's file."""
    try:
        data = json.loads(path.read_text("utf-8"))
        return float(data["epsilon"]), float(data["delta"]), [_entry(e) for e in data["entries"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"The budget file {str(path)!r} can't be read: {error}.") from None


def _entry(given: Any) -> dict[str, Any]:
    which = [k for k in ("epsilon", "rho") if k in given]
    if len(which) != 1:
        raise ValueError("an entry must have either epsilon or rho")
    amount = _positive(given[which[0]], which[0])
    return {"what": str(given["what"]), which[0]: amount, "when": str(given["when"])}


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
