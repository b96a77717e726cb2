"""How the two sides of margins are related: of whom shares are, and who is missing where sums differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.nonvoting import is_abstention
from sumwise.schema.columns import Column, Grid, agreement, has_word, parts, sums
from sumwise.schema.questions import Interview
from sumwise.schema.sides import AGREE

LISTED = 5


@dataclass(frozen=True)
class Side:
    """The columns of one side, and what they hold."""

    columns: tuple[str, ...]
    kind: str = "count"  # count, share or percent
    rest: str | None = None  # a name for everybody else, of the total


@dataclass(frozen=True)
class Relation:
    """Two sides, of whom they are, and what is done where their sums differ."""

    groups: Side
    outcomes: Side
    total: tuple[str, ...] | float = ()  # of whom shares and rests are: a column, or several that are added up
    ballots: tuple[str, ...] | float = ()
    mismatch: str = "raise"  # raise, no_vote, rescale or seats
    leave_out: dict[int, str] = field(default_factory=dict)  # rows of the file, and why


@dataclass
class Sides:
    """The columns of two sides and of totals, with the rows that are used."""

    grid: Grid
    groups: list[Column]
    outcomes: list[Column]
    totals: list[Column]
    ok: np.ndarray
    iv: Interview
    key: str = ""  # after the keys of questions on shares
    larger: list[Column] = field(default_factory=list)  # that may count everybody, whatever they are called
    cast: list[Column] = field(default_factory=list)  # that may count people who turned out

    def rows(self, bad: np.ndarray) -> list[int]:
        """The rows of the file."""
        return self.grid.rows[np.flatnonzero(bad)].tolist()


def names(columns: Sequence[Column], most: int = 4) -> str:
    """A few names of columns."""
    return ", ".join(c.name for c in columns[:most]) + (", ..." if len(columns) > most else "")


def listed(rows: Sequence[object]) -> str:
    """A few rows."""
    return ", ".join(map(str, rows[:LISTED])) + (", ..." if len(rows) > LISTED else "")


# --- shares


@dataclass(frozen=True)
class Everybody:
    """Whom shares are of: a column, or the sum of several."""

    columns: tuple[str, ...] | float  # a number of people, if all units count alike
    numbers: np.ndarray


def of_whom(sides: Sides, groups: Side, outcomes: Side) -> Relation:
    """Shares: of how many people? Proved if every share times a total is a whole number; else asked."""
    plain = Relation(groups, outcomes)
    if groups.kind == "count":
        return _shares_of_outcomes(sides, plain)
    if outcomes.kind != "count":
        total, cast = _totals_of_both(sides, groups, outcomes)
    else:
        total = cast = _total_of(sides, sides.groups, groups, (sides.outcomes, outcomes))
    plain = replace(plain, total=total.columns, groups=_with_rest(sides.groups, groups, "all others"))
    if outcomes.kind != "count":
        plain = replace(plain, outcomes=_with_rest(sides.outcomes, outcomes, "none of these"))
        same = cast.columns == total.columns
        return plain if same else replace(plain, ballots=cast.columns, mismatch="no_vote")
    votes, people = sums(sides.outcomes), total.numbers
    if not len(people) or agreement(votes, people) >= AGREE:
        return plain if not len(people) or agreement(votes, people) == 1 else replace(plain, mismatch="drop")
    said = ", ".join(total.columns) if isinstance(total.columns, tuple) else ""
    if (votes > people * (1 + 1e-6)).mean() > 1 - AGREE:
        words = f"{names(sides.outcomes)} sum to more than {said}"
        scale = {"scale them to it": "rescale"}
        return replace(plain, mismatch=sides.iv.ask("more", f"{words}: do they count other people?", scale, stop=words))
    return replace(plain, mismatch=_who_is_missing(sides, f"{names(sides.outcomes)} sum to less than {said}"))


def _totals_of_both(sides: Sides, groups: Side, outcomes: Side) -> tuple[Everybody, Everybody]:
    """Whom the shares of both sides are of: the same people, or voters among all."""
    listed = ((sides.groups, groups), (sides.outcomes, outcomes))
    found = [_proved_total(sides, columns, side, other) for (columns, side), other in zip(listed, listed[::-1])]
    one, two = (exact[0] if len(exact) == 1 else None for _, exact in found)
    if one is not None and two is not None:
        return one, two
    options = found[0][0]
    pairs = {f"of {n}": (t, t) for n, t in options.items()}
    for n, t in options.items():
        pairs |= {f"groups of {n}, outcomes of {m}": (t, u) for m, u in options.items() if u is not t}
    pairs = {n: (t, u) for n, (t, u) in pairs.items() if one in (None, t) and two in (None, u)}
    words = f"{names(sides.groups)} and {names(sides.outcomes)} are {groups.kind}s. Of whom?"
    stop = f"{sides.grid.name}: {names(sides.groups)} are {groups.kind}s of people whom no column counts"
    return sides.iv.ask(f"of_whom{sides.key}", words, pairs, stop=stop)


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        raise DataError(f"people is {text!r}.", hint="give a number of people that every unit has.") from None


def _shares_of_outcomes(sides: Sides, plain: Relation) -> Relation:
    """Counts of groups beside shares of outcomes: shares of the same people, or of some of them."""
    cast = _total_of(sides, sides.outcomes, plain.outcomes, (sides.groups, plain.groups))
    people, votes = sums(sides.groups), cast.numbers
    if not isinstance(cast.columns, tuple):
        raise DataError("people is given, and the groups are counts.", hint="leave people out.")
    plain = replace(plain, outcomes=_with_rest(sides.outcomes, plain.outcomes, "none of these"))
    if agreement(people, votes) >= AGREE:
        return replace(plain, total=cast.columns, mismatch="raise" if agreement(people, votes) == 1 else "drop")
    said = ", ".join(cast.columns)
    if (people >= votes * (1 - 1e-6)).all():
        words = f"{said}, of which {names(sides.outcomes)} are shares, is less than {names(sides.groups)} sum to"
        mismatch = _who_is_missing(sides, words)
        if mismatch == "no_vote":
            return replace(plain, ballots=cast.columns, mismatch=mismatch)
        return replace(plain, total=cast.columns, mismatch=mismatch)
    words = f"{names(sides.groups)} don't sum to {said}, of which the outcomes are shares"
    options = {
        "both are of the same people: scale the groups": "rescale",
        "groups are all, others are the rest": "rest",
    }
    if not (people <= votes * (1 + 1e-6)).all():
        del options["groups are all, others are the rest"]
    if sides.iv.ask("less", f"{words}. Whom do they count?", options, stop=words) == "rest":
        return replace(plain, total=cast.columns, groups=replace(plain.groups, rest="all others"))
    return replace(plain, total=cast.columns, mismatch="rescale")


def _total_of(sides: Sides, columns: list[Column], side: Side, other: tuple[list[Column], Side]) -> Everybody:
    """Whom the shares of one side are of."""
    options, exact = _proved_total(sides, columns, side, other)
    if len(exact) == 1:
        return exact[0]
    words = f"{names(columns)} are {side.kind}s. Of whom?"
    stop = f"{sides.grid.name}: {names(columns)} are {side.kind}s of people whom no column counts"
    return sides.iv.ask(f"of_whom{sides.key}", words, options, stop=stop)


def _proved_total(
    sides: Sides, columns: list[Column], side: Side, other: tuple[list[Column], Side]
) -> tuple[dict[str, Everybody], list[Everybody]]:
    """Whom shares may be of, and of whom they are whole numbers of people."""
    scale = 100.0 if side.kind == "percent" else 1.0
    options = {t.name: Everybody((t.name,), t.numbers) for t in sides.totals if t.is_whole}
    options = {name: t for name, t in options.items() if not np.isnan(t.numbers).any()}
    counted = other[1].kind == "count"
    if counted and not any(agreement(sums(other[0]), t.numbers) >= AGREE for t in options.values()):
        options[f"the sum of {names(other[0])}"] = Everybody(tuple(c.name for c in other[0]), sums(other[0]))
    if "people" in sides.iv.answers:
        sides.iv.used.add("people")
        people = checks.at_least(_number(sides.iv.answers["people"]), "people", 1, whole_number=False)
        everybody = Everybody(people, np.zeros(0))
        return {"people": everybody}, [everybody]
    if not options:
        raise DataError(
            f"{sides.grid.name}: {names(columns)} are {side.kind}s and no column says of how many people.",
            hint="add a column of everybody, or give a number of people that every unit has (--answer people=1000).",
        )
    return options, [t for t in options.values() if _whole_numbers(columns, scale, t.numbers)]


def _whole_numbers(columns: list[Column], scale: float, total: np.ndarray) -> bool:
    """Whether shares times the total are whole numbers to within the rounding of the shares, where that shows."""
    values = np.column_stack([c.numbers for c in columns]) / scale
    digits = next((d for d in range(1, 9) if np.allclose(values, np.round(values, d), rtol=0, atol=1e-9)), 9)
    counts = values * total[:, None]
    return 0.5 * 10.0**-digits * np.median(total) < 0.1 and (np.abs(counts - counts.round()) < 0.12).mean() > 0.95


def _with_rest(columns: list[Column], side: Side, rest: str) -> Side:
    """Shares with a name for everybody else, if they leave people out."""
    scale = 100.0 if side.kind == "percent" else 1.0
    return replace(side, rest=rest) if float(np.mean(sums(columns) / scale < 0.97)) > 0.1 else side


# --- counts against counts


def relate(sides: Sides, groups: Side, outcomes: Side, proved: bool) -> Relation:
    """Counts of groups against counts of outcomes: equal, fewer, more, or near; all but equal is asked."""
    a, b, ok = sums(sides.groups), sums(sides.outcomes), sides.ok
    nobody = ok & (a == 0) & (b > 0)
    if nobody.any():
        return _without_people(sides, groups, outcomes, proved, nobody, b)
    bad = ok & (np.abs(a - b) > 1e-6 * np.maximum(a, b))
    plain = Relation(groups, outcomes)
    if not bad.any():
        return plain
    rows = sides.rows(bad)
    if len(rows) <= (1 - AGREE) * ok.sum():
        words = f"Both sides have equal sums in all but {len(rows)} of {ok.sum()} units (rows {listed(rows)})."
        options = {"leave these units out": "drop", "scale the outcomes to the groups": "rescale"}
        if sides.iv.ask("differ", words, options, stop=words) == "rescale":
            return replace(plain, mismatch="rescale")
        return replace(plain, leave_out=dict.fromkeys(rows, "the sides differ"))
    _ask_overlap(sides, a)
    return _unequal(sides, plain, a, b)


def _without_people(
    sides: Sides, groups: Side, outcomes: Side, proved: bool, nobody: np.ndarray, votes: np.ndarray
) -> Relation:
    rows = sides.rows(nobody)
    share = 100 * votes[nobody].sum() / votes[sides.ok].sum()
    words = (
        f"{len(rows)} rows have votes and nobody in any group (absentee, early, provisional?): rows {listed(rows)}, "
        f"{share:.0f}% of all votes."
    )
    options = {"leave these out: their voters count as people who did not vote": True}
    sides.iv.ask("nobody", words, options, stop=words)
    rest = replace_ok(sides, sides.ok & ~nobody)
    relation = relate(rest, groups, outcomes, proved)
    return replace(relation, leave_out={**relation.leave_out, **dict.fromkeys(rows, "votes and nobody in any group")})


def replace_ok(sides: Sides, ok: np.ndarray) -> Sides:
    """The same sides in other rows."""
    return replace(sides, ok=ok)


def _is_closed(sides: Sides, a: np.ndarray) -> bool:
    return any(agreement(a, t.numbers) >= AGREE for t in sides.totals)


def _ask_overlap(sides: Sides, a: np.ndarray) -> None:
    """Whether Hispanics are counted in a race too, where no total shows it."""
    g = sides.groups
    closed = _is_closed(sides, a)
    larger = [t for t in sides.totals if not closed and t.called("electorate") and (a > 1.01 * t.numbers).mean() > 0.5]
    hispanic = any(has_word(c.said, w) for c in g for w in ("hisp*", "latin*", "hvap"))
    race = any(has_word(c.said, w) for c in g for w in ("white*", "black*", "wvap", "bvap"))
    apart = any("nh" in parts(c.said) for c in g)
    if not larger and (closed or apart or not (hispanic and race)):
        return
    words = f"sum to more than {larger[0].name}" if larger else "count everybody once, and no total confirms it"
    stop = f"{names(g)} {words}: Hispanics may also be counted in a race"
    text = f"{names(g)} {words}: are Hispanics also counted in White or Black? If so, stop."
    sides.iv.ask("overlap", text, {"no, nobody is counted twice": True}, stop=stop)


def _unequal(sides: Sides, plain: Relation, a: np.ndarray, b: np.ndarray) -> Relation:
    ok = sides.ok
    over = ok & (b > a * (1 + 1e-6))
    middle = float(np.median((np.abs(a - b) / np.maximum(np.maximum(a, b), 1))[ok]))
    exceeded = [t for t in sides.totals if not t.called("electorate") and (b[ok] > 1.02 * t.numbers[ok]).mean() > 0.5]
    if exceeded or (over.sum() > 0.5 * ok.sum() and middle > 0.05):
        return _more(sides, plain, exceeded)
    if (over.sum() <= 0.15 * ok.sum() and middle > 0.02) or not over.any():
        return _fewer(sides, plain, a, b, over)
    words = f"The sums of the two sides differ by {100 * middle:.1f}% in the median unit, up and down."
    return replace(plain, mismatch=sides.iv.ask("near", words, {"scale the outcomes to the groups": "rescale"}, words))


def _more(sides: Sides, plain: Relation, exceeded: list[Column]) -> Relation:
    """More votes than people, or than ballots."""
    than = exceeded[0].name if exceeded else "there are people"
    words = f"{names(sides.outcomes)}: more votes than {than} in most units"
    options = {
        "voters had several votes: fit each candidate by itself": "seats",
        "scale the outcomes to the people": "rescale",
    }
    text = f"{words}. Did voters have several votes, or are these several contests?"
    mismatch = sides.iv.ask("more", text, options, stop=words)
    cast = (exceeded[0].name,) if exceeded and mismatch == "seats" else ()
    return replace(plain, mismatch=mismatch, ballots=cast)


def _fewer(sides: Sides, plain: Relation, a: np.ndarray, b: np.ndarray, over: np.ndarray) -> Relation:
    """Fewer votes than people: who are the others?"""
    g, iv, leave = sides.groups, sides.iv, {}
    if over.any():
        rows = sides.rows(over)
        words = f"{len(rows)} units have more votes than people: rows {listed(rows)}; far apart"
        iv.ask("over", words, {"leave these out": True}, stop=words)
        leave = dict.fromkeys(rows, "more votes than people")
    plain = replace(plain, leave_out=leave)
    closed = _is_closed(sides, a)
    larger = [t for t in sides.totals if t.called("electorate") and t not in sides.larger]
    larger = [] if closed else [*larger, *sides.larger]
    rest = [t for t in larger if (a <= t.numbers * 1.001).all() and agreement(a, t.numbers) < AGREE]
    rest = [t for t in rest if (b[~over] <= t.numbers[~over]).all()]
    if rest:
        words = f"{names(g)} sum to less than {rest[0].name}. Who are the others?"
        options = {"a group of their own: all others": True, "nobody: use the sum of the groups": False}
        if iv.ask("rest_group", words, options):
            groups = replace(plain.groups, rest="all others")
            return replace(plain, groups=groups, total=(rest[0].name,), mismatch="no_vote")
    cast = _ballots(sides, a, b, over)
    if cast is not None:
        return replace(plain, ballots=(cast,), mismatch="no_vote")
    adults = closed and any(c.called("electorate") for c in (*g, *sides.totals))
    if adults or all(c.called("electorate") for c in g):
        iv.remarks.append(
            f"{names(sides.outcomes)}: fewer votes than people; those missing are counted as people who didn't vote."
        )
        return replace(plain, mismatch="no_vote")
    middle = 100 * float(np.median((np.abs(a - b) / np.maximum(np.maximum(a, b), 1))[sides.ok]))
    words = f"{names(sides.outcomes)}: fewer votes than people in the groups, by {middle:.0f}% in the median unit"
    return replace(plain, mismatch=_who_is_missing(sides, words))


def _who_is_missing(sides: Sides, words: str) -> str:
    options = {"they did not vote": "no_vote", "both sides count the same people: scale": "rescale"}
    return sides.iv.ask("fewer", f"{words}. Who are the others?", options, stop=f"{sides.grid.name}: {words}")


def _ballots(sides: Sides, a: np.ndarray, b: np.ndarray, over: np.ndarray) -> str | None:
    """A column of people who turned out, if the votes are fewer than it and it is fewer than the people."""
    ok = sides.ok & ~over
    for t in [*(t for t in sides.totals if t.called("ballots")), *sides.cast]:
        n = t.numbers
        between = not np.isnan(n).any() and (b[ok] <= n[ok]).all() and (n[ok] <= a[ok] * (1 + 1e-9)).all()
        if not between or (n[ok] == b[ok]).all() or (n[ok] == a[ok]).all():
            continue
        words = f"{names(sides.outcomes)} sum to less than {t.name}. What did the others in {t.name} do?"
        options = {"they turned out, without a vote for these: undervote": t.name, "they did not vote": ""}
        return sides.iv.ask("ballots", words, options) or None
    return None


def check_scale(grid: Grid, pool: list[Column]) -> None:
    """Refuse counts in thousands, and running sums of units."""
    if any("'000" in c.name or any(has_word(c.name, w) for w in ("thousand*", "million*")) for c in pool):
        raise DataError(
            f"{grid.name}: columns have counts in thousands or millions, by their names.", hint="write out the counts."
        )
    run = [c for c in pool if c.is_whole and not c.odd]
    if len(grid) > 9 and len(run) > 2 and all((np.diff(c.numbers) >= 0).all() for c in run):
        raise DataError(
            f"{grid.name}: counts grow from each row to the next, in all {len(grid)} rows: running sums of the units.",
            hint="subtract from each count the one before it.",
        )


def seats(contest: Relation, columns: list[Column]) -> list[tuple[str, dict[str, Any]]]:
    """One contest per candidate, for voters with several votes; votes that were not cast are nobody's contest."""
    entries = []
    for c in (c for c in columns if not is_abstention(c.name)):
        entry: dict[str, Any] = {"outcomes": [c.name], "mismatch": "no_vote"}
        if isinstance(contest.ballots, tuple) and contest.ballots:
            entry |= {"ballots": next(iter(contest.ballots)), "rest_outcome": f"not {c.name}"}
        entries.append((c.name, entry))
    return entries


def ask_of_lines(iv: Interview, key: str, columns: list[Column]) -> None:
    """Ask whether columns such as "Lee (D)" and "Lee (WF)" are lines of one candidate, whose votes belong together."""
    lines: dict[str, list[Column]] = {}
    for c in columns:
        candidate, sign, _ = c.name.partition("(")
        lines.setdefault(candidate.strip().lower() if sign else c.name, []).append(c)
    several = [same for same in lines.values() if len(same) > 1]
    if not several or len([c for c in lines if not is_abstention(c)]) < 2:
        return
    text = f"{'; '.join(map(names, several))}: lines of one candidate? Apart, each is taken for a candidate."
    stop = f"{names(several[0])} are lines of one candidate: add them up in the file, or use sumwise.voting.merge_lines"
    iv.ask(f"lines{key}", text, {"no, they are different choices": True}, stop=stop)
