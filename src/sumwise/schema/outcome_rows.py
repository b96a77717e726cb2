"""The two sides of margins in two files: each with a row per unit, or outcomes with a row per unit and option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.schema.columns import (
    WORDS,
    Column,
    Grid,
    agreement,
    has_word,
    is_constant,
    joined,
    number_text,
    parts,
    row_keys,
    sums,
)
from sumwise.schema.declared import Schema
from sumwise.schema.margins import NAME_THEM, confirm, contests_of, entry_of, settle
from sumwise.schema.questions import Interview, NoForm, Unanswered
from sumwise.schema.relation import listed, names
from sumwise.schema.rows import TOTAL_ROW, known_word, read_counts
from sumwise.schema.sides import AGREE, KINDS, MEANS, bases, inside, is_apart, is_total, kind_of

FEWEST_GROUPS = 2  # that options are called like, from which on rows hold groups
MOST_OPTIONS = 300  # of one contest
MATCHED = 0.5  # of the units of one file, from which on a column names the units of both


def outcomes_in_rows(grids: list[Grid], iv: Interview) -> Schema | None:
    """The schema of a file of groups and a file with a row per unit and option; None if they aren't such files."""
    for people, votes in (grids, grids[::-1]):
        keys = _shared(people, votes)
        if keys is None:
            continue
        option = _option(votes, keys)
        count = None if option is None else _votes(votes, keys, option)
        if option is None or count is None:
            continue
        if _holds_groups(people, votes, keys, option, iv):
            return _groups_in_rows(votes, people, keys, option, count, iv)
        return _read(people, votes, keys, option, count, iv)
    return None


def _holds_groups(wide: Grid, rows: Grid, keys: tuple[str, ...], option: Column, iv: Interview) -> bool:
    """Whether the file with options in rows has the groups, and the other one what they chose."""
    listed_ = [w for w in option.words if w]
    if sum(known_word([w], *KINDS) for w in listed_) < FEWEST_GROUPS:
        return False
    columns = [c for c in wide.columns if c.name not in keys and c.numbers is not None]
    beside = any(len(b) > 1 for b in bases(columns).values())
    if not beside and not {p for w in listed_ for p in parts(w)} <= {*WORDS["surname"]}:
        return True
    words = f"{', '.join(listed_[:4])} in {rows.name}: are these groups of people, or what they chose?"
    return iv.ask("rows_are", words, {"groups of people": True, "what they chose": False})


def _groups_in_rows(
    people: Grid, votes: Grid, keys: tuple[str, ...], option: Column, count: Column, iv: Interview
) -> Schema:
    """Groups with a row per unit and group, as the census has CVAP, and outcomes with a row per unit."""
    data: dict[str, Any] = {"groups_file": people.path, "outcomes_file": votes.path}
    read_counts(people, count, iv, {}, data)
    votes, people = _matched(votes, people, keys, iv, data)
    grid, pivoted = _joined(votes, people, keys, option.name, count.name, iv, data)
    beside = [grid[c.name] for c in votes.columns if c.name not in keys and c.numbers is not None]
    beside = [c for c in beside if not is_apart(c)]
    outcomes = [c for c in beside if not is_total(c)]
    if iv.named:
        outcomes = [grid[n] for n in iv.columns("columns.outcomes", "Which columns are what they chose?", votes.names)]
    groups, totals = groups_beside(grid, pivoted, outcomes, iv)
    empty = [c for c in groups if not c.numbers.any()]
    iv.remarks += [f"{c.name!r} is left out: nobody is in it." for c in empty]
    groups = [c for c in groups if c not in empty]
    if not outcomes:
        raise Unanswered if iv.named else NoForm(f"{votes.name} has no columns that count votes.", NAME_THEM)
    contests = contests_of(groups, outcomes, iv)
    if not iv.named and not all(agreement(sums(groups), sums(r)) >= AGREE for r in contests.values()):
        confirm(grid, iv, groups, outcomes)
    schema = settle(grid, iv, groups, contests, [*totals, *(c for c in beside if is_total(c))], False, {})
    units = _units(grid, schema, keys)
    data |= {k: v for k, v in schema.data.items() if k != "leave_out"} | ({"without": units} if units else {})
    columns = {**schema.columns, "unit": keys[0] if len(keys) == 1 else list(keys)}
    columns |= {"group_option": option.name, "group_votes": count.name}
    errors = [c.name for c in people.columns if c.numbers is not None and has_word(c.said, "moe")]
    if len(errors) == 1:
        iv.remarks.append(f"{errors[0]}: taken as {MEANS['groups_moe']} of the groups, for intervals.")
        columns["group_moe"] = errors[0]
    return replace(schema, data=data, columns=columns)


def sides_in_two(big: Grid, small: Grid, a: Column, b: Column, reader: Callable[[Grid], Schema]) -> Schema:
    """The two sides of margins, each in a file with a row per unit."""
    if len(big) != len(small):
        raise DataError(
            f"{big.name} has {len(big)} rows, and {small.name} has {len(small)} units.",
            hint="give each unit one row in both files.",
        )
    order = {text: i for i, text in enumerate(b.texts)}
    at = np.array([order[text] for text in a.texts])
    mine = set(big.names)
    more = [c.keep(at) for c in small.columns if c is not b]
    for c in more:
        c.head = small.name
        c.name = f"{c.name} (2)" if c.name in mine else c.name
    both = Grid(f"{big.name}, {small.name}", [*big.columns, *more], big.rows)
    schema = reader(both)
    groups = schema.columns["groups"]
    first, second = (big, small) if {*groups} & mine else (small, big)
    if a.name != b.name:
        raise DataError(
            f"Units are called {a.name!r} in {big.name} and {b.name!r} in {small.name}.", hint="call them alike."
        )
    data = {"groups_file": first.path, "outcomes_file": second.path, **schema.data}
    if "leave_out" in data:
        rows = data.pop("leave_out")
        labels = dict(zip(big.rows.tolist(), a.texts))
        data["without"] = {a.name: [labels[r] for r in rows]}
    return replace(schema, data=data, columns={**schema.columns, "unit": a.name})


def _shared(people: Grid, votes: Grid) -> tuple[str, ...] | None:
    """The columns that name a unit in both files: unique in the one, repeated in the other."""
    both = [c.name for c in people.columns if c.name in votes.names and _is_name(c) and _is_name(votes[c.name])]
    pairs = [(name,) for name in both] + [(a, b) for i, a in enumerate(both) for b in both[i + 1 :]]
    for pair in pairs:
        one, two = (joined([g[name] for name in pair]) for g in (people, votes))
        units = {*one}
        if len(units) == len(people) and len(two) > 1.2 * len({*two}) and len(units & {*two}) >= MATCHED * len(units):
            return pair
    return None


def _is_name(c: Column) -> bool:
    return not c.missing.any() and (c.numbers is None or c.is_whole)


def _option(votes: Grid, keys: tuple[str, ...]) -> Column | None:
    """The column of candidates: by its name, or the one that makes rows unique."""
    texts = [c for c in votes.columns if c.name not in keys and c.numbers is None and 2 <= c.distinct <= MOST_OPTIONS]
    units = row_keys([votes[k] for k in keys])
    texts = [c for c in texts if not is_constant(c.codes, units)]  # another name of the unit
    every = [c for c in votes.columns if c.name in keys or c.numbers is None or c.called("contest")]
    if len(np.unique(row_keys(every))) < len(votes):
        return None  # people, of whom several are alike
    called = [c for word in WORDS["option"] for c in texts if has_word(c.name, word)]
    return called[0] if called else texts[0] if len(texts) == 1 else None


def _votes(votes: Grid, keys: tuple[str, ...], option: Column) -> Column | None:
    """The column of counts: by its name, or the only one of numbers that aren't those of the option or an error."""
    whole = [c for c in votes.columns if c.name not in keys and c.numbers is not None and c.is_whole]
    whole = [c for c in whole if not c.called("unused") and not is_constant(c.numbers, option.codes)]
    called = [c for c in whole if c.name.lower() in WORDS["votes"]]
    return called[0] if called else whole[0] if len(whole) == 1 else None


def _read(people: Grid, votes: Grid, keys: tuple[str, ...], option: Column, count: Column, iv: Interview) -> Schema:
    data: dict[str, Any] = {"groups_file": people.path, "outcomes_file": votes.path}
    leave: dict[int, str] = {}
    votes, left_out = _without_totals(votes, option, keys)
    count = votes[count.name]
    read_counts(votes, count, iv, leave, data)
    votes = votes.without(leave)
    people, votes = _matched(people, votes, keys, iv, data)
    contests = _contests(votes, votes[option.name], keys, iv)
    groups: list[Column] | None = None
    entries, unit = [], keys[0] if len(keys) == 1 else list(keys)
    for name, (part, only) in contests.items():
        wide, outcomes = _joined(people, part, keys, option.name, count.name, iv, data)
        beside = [wide[c.name] for c in people.columns if c.name not in keys and c.name in wide.names]
        chosen, totals = groups_beside(wide, beside, outcomes, iv, groups)
        groups = chosen
        schema = settle(wide, iv, chosen, {"": outcomes}, totals, False, {})
        entries.append((name, only, schema, _units(wide, schema, keys)))
    return _schema(entries, unit, (option.name, count.name), data, left_out)


def _without_totals(votes: Grid, option: Column, keys: tuple[str, ...]) -> tuple[Grid, list[dict[str, str]]]:
    """Rows of lines of totals go: of units, of options, and of ways to vote whose total stands beside them."""
    texts = [c for c in votes.columns if c.numbers is None and (c is option or c.name in keys or c.called("mode"))]
    marks = [(c, w) for c in texts for w in c.words if w and TOTAL_ROW.fullmatch(w) and c.distinct > 1]
    bad = np.zeros(len(votes), dtype=bool)
    for c, word in marks:
        bad |= np.array([t == word for t in c.texts])
    return votes.keep(~bad), [{c.name: word} for c, word in marks]


def _matched(
    people: Grid, votes: Grid, keys: tuple[str, ...], iv: Interview, data: dict[str, Any]
) -> tuple[Grid, Grid]:
    """Both files with the units that they share; what only one has is asked about."""
    one, two = (np.array(joined([g[k] for k in keys]), dtype=object) for g in (people, votes))
    alone = sorted({*one} ^ {*two})
    if not alone:
        return people, votes
    words = (
        f"{len({*one} - {*two})} units are only in {people.name}, {len({*two} - {*one})} only in {votes.name} "
        f"({listed(alone)})"
    )
    data["unmatched"] = iv.ask("unmatched", f"{words}.", {"leave them out": "drop"}, stop=f"{words}. Write them alike.")
    return people.keep(np.isin(one, list({*two}))), votes.keep(np.isin(two, list({*one})))


def _contests(
    votes: Grid, option: Column, keys: tuple[str, ...], iv: Interview
) -> dict[str, tuple[Grid, dict[str, str]]]:
    """The rows of each contest, with what its columns hold; which of several are read is asked."""
    columns = [c for c in votes.columns if c.name not in keys and c is not option and c.called("contest")]
    columns = [c for c in columns if c.distinct > 1 and c.distinct <= MOST_OPTIONS]
    if not columns:
        return {"": (votes, {})}
    codes, labels = row_keys(columns), np.array(joined(columns), dtype=object)
    made: dict[str, tuple[Grid, dict[str, str]]] = {}
    for code in pd.unique(codes):
        at = codes == code
        part = votes.keep(at)
        if part[option.name].distinct > 1:  # lines such as Registered Voters and Ballots Cast are no contests
            first = int(np.argmax(at))
            made[str(labels[first])] = (part, {c.name: c.texts[first] for c in columns})
    if not made:
        raise DataError(f"{votes.name} has no contest with two options.", hint="check the column of candidates.")
    if len(made) == 1:
        return made
    options: dict[str, Any] = {name: [name] for name in made} | {f"all {len(made)} contests": list(made)}
    chosen = iv.ask("contest", f"{votes.name} has {len(made)} contests. Which is to be read?", options)
    return {name: made[name] for name in chosen}


def _joined(
    people: Grid, votes: Grid, keys: tuple[str, ...], option: str, count: str, iv: Interview, data: dict[str, Any]
) -> tuple[Grid, list[Column]]:
    """A row per unit with a column per option beside the columns of the groups, and those columns."""
    place = {text: i for i, text in enumerate(joined([people[k] for k in keys]))}
    units = np.array([place[text] for text in joined([votes[k] for k in keys])])
    kinds, found = pd.factorize(np.array(votes[option].texts, dtype=object))
    cell = units * len(found) + kinds
    twice = pd.Series(cell).duplicated().to_numpy()
    if twice.any():
        i = int(np.argmax(twice))
        words = (
            f"{votes.name}: {int(twice.sum())} rows repeat a unit and option (first: row {votes.rows[i]}, "
            f"{votes[option].texts[i]!r}), by mode or party"
        )
        iv.ask("several_rows", f"{words}.", {"add them up": True}, stop=words)
    values = np.bincount(cell, votes[count].numbers, len(people) * len(found)).reshape(len(people), -1)
    there = np.bincount(cell, minlength=values.size).reshape(values.shape) > 0
    keep = np.asarray(there.any(axis=1))
    if not there[keep].all():
        words = f"{votes.name}: {int((~there[keep]).sum())} units have no row for an option"
        absent = {"yes: nobody chose it": "zero"}
        data["absent"] = iv.ask("absent", f"{words}. Does that mean 0?", absent, stop=words)
    outcomes = []
    for k, name in enumerate(found):
        codes, words_of = pd.factorize(values[keep, k])
        outcomes.append(Column(str(name), codes, [number_text(x) for x in words_of], values[keep, k]))
    mine = people.keep(keep)
    clash = {c.name for c in outcomes} & {*mine.names}
    if clash:
        raise DataError(f"{sorted(clash)[0]!r} is an option, and a column of {people.name}.", hint="rename one.")
    return Grid(f"{people.name}, {votes.name}", [*mine.columns, *outcomes], mine.rows), outcomes


def groups_beside(
    grid: Grid, free: list[Column], outcomes: list[Column], iv: Interview, known: list[Column] | None = None
) -> tuple[list[Column], list[Column]]:
    """The groups among columns beside outcomes that rows show, and columns of totals."""
    pool = [c for c in free if c.numbers is not None and not is_apart(c) and not np.isnan(c.numbers).all()]
    if iv.named:
        listed_ = iv.columns("columns.groups", "Which columns are the groups of people?", tuple(c.name for c in pool))
        if not listed_:
            raise Unanswered
        return [grid[n] for n in listed_], [c for c in pool if is_total(c) and c.name not in listed_]
    totals = [c for c in pool if is_total(c)]
    if known is not None:
        return [grid[c.name] for c in known], totals
    rest = [c for c in pool if c not in totals]
    targets = [sums(outcomes), *(t.numbers for t in totals)]
    counts = [c for c in rest if kind_of(c) == "count"]
    options = {names(r, len(r)): r for t in targets for r in inside(counts, t, Interview())}
    options = options or {names(b, len(b)): b for b in bases(rest).values() if len(b) > 1}
    if not options:
        said = f"{grid.name}: no columns read like groups of people, and no columns have the sums of the outcomes."
        raise NoForm(said, NAME_THEM)
    groups = next(iter(options.values()))
    if len(options) > 1:
        groups = iv.ask("groups", "Several runs of columns may be the groups of people: which?", options)
    if not any(agreement(sums(groups), t) >= AGREE for t in targets):
        confirm(grid, iv, groups, outcomes)
    return groups, totals


def _units(wide: Grid, schema: Schema, keys: tuple[str, ...]) -> list[dict[str, str]]:
    """The units that are left out, by their names."""
    bad = np.isin(wide.rows, schema.data.get("leave_out", []))
    return [{k: wide[k].texts[i] for k in keys} for i in np.flatnonzero(bad)]


def _schema(
    entries: list[tuple], unit: Any, columns: tuple[str, str], data: dict[str, Any], left_out: list[dict[str, str]]
) -> Schema:
    first = entries[0][2]
    shared = {"unit": unit, "option": columns[0], "votes": columns[1]}
    listed_ = []
    for name, only, schema, units in entries:
        own = {k: v for k, v in entry_of(schema).items() if k != "outcomes"}
        without = [*left_out, *units]
        own |= {"only": only} if only else {}
        own |= {"without": without} if without else {}
        listed_.append({"name": name, **own})
    if len(listed_) > 1:
        return replace(first, data=data, columns={**shared, "groups": listed_[0]["groups"]}, contests=tuple(listed_))
    own = {k: v for k, v in listed_[0].items() if k != "name"}
    shared_answers = {k: own.pop(k) for k in ("mismatch", "only", "without") if k in own}
    return replace(first, data={**data, **shared_answers}, columns={**shared, **own}, contests=())
