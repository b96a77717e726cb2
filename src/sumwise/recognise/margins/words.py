"""Words in the names of columns: who people are, what they chose, how many there are, where."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sumwise.nonvoting import HEADING, is_nonvoting
from sumwise.recognise.profile_file import Column, FileProfile, has_word, is_called, name_parts

UNITS = (
    "unit*", "precinct*", "district*", "county", "ward", "wards", "box", "mesa", "region*", "fips*", "id", "name",
    "geoid*", "dist", "icpsr", "tract*", "vtd*", "town", "municipality", "constituency", "state", "code", "split*",
    "portion", "section*", "parish", "borough", "booth", "polling", "station*",
)  # fmt: skip
UNITS += ("sección", "seccion", "secciones", "distrito", "municipio", "município", "parroquia", "comuna")
UNITS += ("circonscription", "canton", "comune", "sezione", "seggio", "urna")
UNITS += ("gemeinde*", "wahlkreis*", "stimmbezirk*", "okręg", "okreg", "obwód", "obwod")
GROUPS = (
    "white*", "wht", "black*", "blk", "hisp*", "asian*", "asn", "natam", "native*", "aian", "nhpi", "latin*", "race*",
    "minority", "nonwhite", "male*", "female*", "men", "women", "young*", "old*", "age*", "middle", "bvap", "ovap",
    "wvap", "hvap", "avap", "urban", "rural", "foreign*", "x",
)  # fmt: skip
MEN_AND_WOMEN = (
    "hombre*", "mujer*", "homme*", "femme*", "männer", "maenner", "frauen", "homens", "mulheres", "uomini", "donne",
)  # fmt: skip
GROUPS += MEN_AND_WOMEN
GROUPS += ("población*", "poblacion*", "população*", "populacao*", "indígena*", "indigena*", "afro*", "mestiz*")
GROUPS += ("jung*", "mittel*", "alt", "ältere*", "jóven*", "joven*", "mayores", "ancian*", "adult*", "jeune*", "âgé*")
GROUPS += ("giovan*", "anzian*", "jovens", "idoso*")
GROUPS += ("renter*", "tenant*", "owner*", "homeowner*", "student*", "retired", "retiree*", "pensioner*", "employed")
GROUPS += ("unemployed", "catholic*", "protestant*", "muslim*", "immigrant*", "inquilin*", "propietari*", "estudiante*")
GROUPS += ("jubilad*", "locataire*", "propriétaire*", "étudiant*", "retraité*", "mieter*", "eigentümer*", "rentner*")
SEXES = ("male*", "female*", "men", "women", "m", "f", *MEN_AND_WOMEN)
OUTCOMES = (
    "dem*", "rep*", "gop", "ind", "lib*", "green*", "vote*", "turnout", "noturnout", "yes", "no", "abstain*", "novote",
    "blank", "null", "writein", "t", "y", "for", "against", "non", "party", "cand*", "pres", "gov", "sen",
)  # fmt: skip
OFFICES = (
    "president*", "governor*", "ussen", "senate*", "senator*", "house", "hse", "ushse", "congress*", "cong", "mayor*",
)  # fmt: skip
OFFICES += ("sheriff*", "attorney*", "atty", "treas*", "auditor*", "council*", "judge*", "justice*", "ltgov", "sos")
OFFICES += ("pres", "gov", "sen", "senat*", "prosecutor*", "commissioner*", "secretary*", "board*", "school*", "clerk*")
OFFICES += ("assessor*", "coroner*", "referendum*", "measure*", "amendment*", "alcald*", "gobernador*", "diputad*")
OFFICES += ("maire", "bürgermeister*", "landrat*", "prefeit*", "vereador*")
OUTCOMES += OFFICES
OUTCOMES += ("voto*", "voix", "voti", "stimmen", "suffrage*", "abstenc*", "abstenç*", "nulo*", "nulos")
OUTCOMES += ("psoe", "pp", "vox", "podemos", "sumar", "spd", "cdu", "csu", "fdp", "afd", "grüne*", "linke", "ps", "lr")
OUTCOMES += ("rn", "lfi", "fi", "pd", "lega", "m5s", "fdi", "pt", "psdb", "labour", "tory", "conservative*", "snp")
PARTIES = ("dem*", "rep*", "gop", "ind", "lib*", "green*", "yes", "no", "for", "against", "other*", "blank", "null")
PARTY = (*PARTIES, "oth", "d", "r", "l", "g", "i", "o")  # also as the letter at the end of PRES16D
CODED = re.compile(r"([GPSRC]\d{2}[A-Z0-9]{3})[A-Z][A-Z0-9]{2,3}")  # G20PREDBID: year and office, party, candidate
EITHER_SIDE = ("other*", "oth", "rest", "unknown*", "mixed", "multi*", "two", "undeclared", "misc")
TOTALS = (
    "total*", "tot", "n", "all", "turnout", "votes", "voters", "ballots", "pop", "sum", "vap", "cvap", "registered",
    "population", "persons", "people", "electors", "electorate", "inscrits", "votants", "wahlberechtigte",
)  # fmt: skip
ELECTORATE = ("registered", "vap", "cvap", "wahlberechtigte", "censo*", "inscrits", "electors", "electorate")
ELECTORATE += ("eligible", "eleitores", "elettori")
"""Totals of those who may vote: whoever chose none of the candidates didn't vote, or not validly."""
COUNTED = (
    "cast", "counted", "issued", "voters", "number", "no", "of", "total*", "active", "valid", "last", "registered",
)  # fmt: skip
"""Words beside one of the totals that change nothing: ballots cast, number of voters."""
ERRORS = ("moe", "margin*", "error*", "stderr", "diff*")  # margins of error, and differences: no counts of people
AVERAGES = ("median*", "average*", "avg", "mean", "density", "percapita")  # of people, and no counts of them
STATED_ERROR = re.compile(
    r"(.+?)[\s_.]*(?:(se|sd|stderr|std[_ ]err(?:or)?|standard[_ ]error)|(moe|margin[_ ]of[_ ]error))"
)
TURNOUT = ("turnout*", "participa*", "partecipa*", "affluen*", "wahlbeteiligung", "voted", "comparecimento")
VOTED = ("turnout", "voted", "ballots", "votes", "yes")
SHARES = ("pct*", "percent*", "perc", "share*", "prop*", "frac*", "prc")
PRECINCT = re.compile(r"(?:pct|prec|prct)[\s_.#-]*(no|num|number|nbr|id|code|name|key)?\.?", re.IGNORECASE)
PLACES = ("lat", "latitude", "lon", "lng", "longitude", "x_coord", "y_coord", "easting", "northing", "area", "shape*")
AGES = re.compile(r"(x|age)?\s*\d{2}\s*(\D{0,4}\s*\d{2}|\+|plus)?\s*(\+|plus)?", re.IGNORECASE)
TOTAL_ROW = re.compile(
    r"(grand |sub-?|overall )?totals?\b.*|(county|state|city|district)-?wide|sum|all (units|precincts|counties)|"
    r".*\b(sub)?totals?:?|percent(age)?s?( of total)?|pct|%|shares?|average|mean|median|all|insgesamt|gesamt|summe|"
    r"totale?|totaal|totalt|suma|razem|итого|всего|合计|总计|小计|合計|المجموع",
    re.IGNORECASE,
)


def names_unit(column: Column) -> bool:
    """Whether a column's name says that it holds names or numbers of units.

    ``pct`` abbreviates precinct as well as percent, and ``pct_no`` is the percent of no, too. Numbers of precincts are
    whole, and either in order or beyond 100.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.recognise.profile_file import Column
    >>> from sumwise.recognise.margins.words import names_unit
    >>> names_unit(Column("Pct", np.array([101.0, 102.0, 201.0]), None, distinct=3, missing=0))
    True
    >>> names_unit(Column("Pct", np.array([61.0, 40.0, 38.0]), None, distinct=3, missing=0))
    False
    """
    if is_called(column, UNITS):
        return True
    found = PRECINCT.fullmatch(column.name.strip())
    if found is None or column.amounts is None:
        return found is not None
    if found[1] and found[1].lower() != "no":
        return True
    amounts = column.amounts
    numbered = column.whole and column.missing == 0 and len(amounts) > 2
    alone = bool(found[1]) or column.distinct == len(amounts)
    return bool(numbered and alone and ((np.diff(amounts) >= 0).all() or amounts.max() > 100))


def stated_error(column: Column, names: Iterable[str]) -> tuple[str, str] | None:
    """The column whose error this one states, by its name, and the key of the problem file: black_moe is of black.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sumwise.recognise.margins.words import stated_error
    >>> stated_error(SimpleNamespace(name="Black_MOE"), ["black", "white"])
    ('black', 'groups_moe')
    """
    found = STATED_ERROR.fullmatch(column.name.strip().lower())
    base = next((name for name in names if found and name.strip().lower() == found[1]), None)
    return None if found is None or base is None else (base, "groups_sd" if found[2] else "groups_moe")


def like_group(column: Column) -> bool:
    """Whether a name says who people are."""
    bare = re.sub(r"[^\w+]+", " ", column.name).strip().lstrip("Xx ")
    return is_called(column, GROUPS) or bool(AGES.fullmatch(bare)) or column.name.lower() in ("m", "f")


def like_outcome(column: Column) -> bool:
    """Whether a name says what people chose."""
    return is_called(column, OUTCOMES) or is_nonvoting(column.name) or CODED.fullmatch(column.name) is not None


def leaning(columns: list[Column]) -> float:
    """How much the names of a side read like groups (1) or like outcomes (-1)."""
    plain = [c for c in columns if not is_called(c, EITHER_SIDE)] or columns
    return sum(like_group(c) - like_outcome(c) * (not like_group(c)) for c in plain) / max(1, len(plain))


def is_total_row(name: str) -> bool:
    """Whether a unit's name says that it is a line of totals."""
    return TOTAL_ROW.fullmatch(name.strip()) is not None


def by_contest(columns: list[Column]) -> dict[str, list[Column]]:
    """Outcomes of several contests by what their names share at the end or the beginning; one contest: one entry.

    ``dem_16, rep_16, dem_20, rep_20`` are two contests, 16 and 20, and so are ``Sheriff: Hale, Sheriff: Ruiz,
    Clerk: Ames, Clerk: Voss``; ``C1, C2, C3`` are one.
    """
    if (headed := _headed(columns)) is not None:
        return headed
    parts = {c.name: name_parts(c.name) for c in columns}
    if (marked := _without_party(columns, parts)) is not None:
        return marked
    for place in (-1, 0):
        found: dict[str, list[Column]] = {}
        for c in columns:
            found.setdefault(parts[c.name][place] if len(parts[c.name]) > 1 else "", []).append(c)
        if "" in found and not all(mark.isdigit() for mark in found if mark):
            continue
        rest = [{" ".join(_unmarked(parts[c.name], place)) for c in cs} for cs in found.values()]
        distinct = all(len(names) == len(cs) for names, cs in zip(rest, found.values()))
        party = any(has_word(mark, word) for mark in found for word in PARTIES)
        several = len(found) > 1 and all(len(cs) > 1 for cs in found.values())
        offices = all(map(_is_office, found))
        if several and distinct and not party and (offices or _alike(found, rest)):
            return found
    return {"": columns}


def _headed(columns: list[Column]) -> dict[str, list[Column]] | None:
    """Contests that names put before a colon, a dash or a bar, unless that is the party: Sheriff: Hale."""
    for sign in HEADING:
        found: dict[str, list[Column]] = {}
        for c in columns:
            head, between, rest = c.name.partition(sign)
            found.setdefault(head.strip() if between and rest.strip() else "", []).append(c)
        if "" in found or len(found) < 2 or any(len(some) < 2 for some in found.values()):
            continue
        if not any(has_word(part, word) for head in found for part in name_parts(head) for word in PARTIES):
            return found
    return None


def heading(names: list[str]) -> str:
    """The contest that names have in common: before a colon, a dash or a bar, or as their first or last word.

    Examples
    --------
    >>> from sumwise.recognise.margins.words import heading
    >>> heading(["Mayor - Okafor", "Mayor - Reyes"]), heading(["mayor_okafor", "mayor_reyes"]), heading(["Yes", "No"])
    ('Mayor', 'mayor', '')
    """
    for sign in HEADING:
        heads = {name.partition(sign)[0].strip() for name in names if sign in name}
        if len(heads) == 1 and all(sign in name for name in names):
            return heads.pop()
    parts = [re.findall(r"[^\W_]+", name) for name in names]
    if min(map(len, parts), default=0) > 1:
        for place in (0, -1):
            ends = {some[place] for some in parts}
            if len(ends) == 1 and all(end.isdigit() or _is_office(end) for end in ends):
                return ends.pop()
    return ""


def _is_office(word: str) -> bool:
    return any(has_word(word, office) for office in OFFICES)


def _without_party(columns: list[Column], parts: dict[str, list[str]]) -> dict[str, list[Column]] | None:
    """Contests by what is left of names without the party: PRES16D, PRES16R, SEN16D, SEN16R, or G20PREDBID."""
    codes = {c.name: CODED.fullmatch(c.name) for c in columns}
    marks = {name: code[1] for name, code in codes.items() if code is not None}
    if len(marks) < len(columns):
        for place in (-1, 0):
            ends = {name: some[place] for name, some in parts.items() if len(some) > 1}
            if len(ends) == len(columns) and all(any(has_word(e, word) for word in PARTY) for e in ends.values()):
                marks = {name: " ".join(_unmarked(some, place)) for name, some in parts.items()}
                break
        else:
            return None
    found: dict[str, list[Column]] = {}
    for c in columns:
        found.setdefault(marks[c.name], []).append(c)
    return found if len(found) > 1 and all(len(some) > 1 for some in found.values()) else None


def _unmarked(parts: list[str], place: int) -> list[str]:
    if len(parts) < 2:
        return parts
    return parts[:-1] if place else parts[1:]


def _alike(found: dict[str, list[Column]], rest: list[set[str]]) -> bool:
    """Whether contests are marked by numbers, or have the same outcomes, as dem and rep of two offices."""
    return all(mark.isdigit() for mark in found if mark) or all(names == rest[0] for names in rest)


def cumulative(profile: FileProfile) -> list[str]:
    """A note on columns that grow from one to the next in every row: running sums of groups, perhaps."""
    run = [c for c in profile.numeric if like_group(c)]
    if len(run) < 2 or profile.n_rows < 4:
        return []
    if all((b.amounts >= a.amounts).all() and (b.amounts > a.amounts).any() for a, b in itertools.pairwise(run)):
        listed = ", ".join(repr(c.name) for c in run[:6])
        return [f"The columns {listed} grow from left to right in every row: are they running sums of the groups?"]
    return []


def transposed(profile: FileProfile) -> list[str]:
    """A note on a file whose rows are what columns should be: groups and outcomes in its first column."""
    first = next((c for c in profile.columns if c.texts is not None), None)
    wide = len(profile.columns) > 2 * profile.n_rows  # more columns than rows, as no file of units has
    if first is None and wide and len(profile.columns) > 20:
        return [f"It has {len(profile.columns)} columns and {profile.n_rows} rows: are rows and columns swapped?"]
    if first is None or profile.n_rows > 60:
        return []
    names = [replace(first, name=str(text)) for text in first.texts.dropna().tolist()]
    groups, outcomes = sum(map(like_group, names)), sum(map(like_outcome, names))
    if groups + outcomes > 1 and (wide or (groups > 1 and outcomes and groups + outcomes > 0.5 * len(names))):
        return [
            f"The rows of {first.name!r} read like groups and outcomes: give each unit a row, and these the columns."
        ]
    return []


def one_sided(profile: FileProfile) -> list[str]:
    """A note on a file with outcomes and no groups, or with groups and no outcomes; or with flows that are known."""
    numbers = profile.numeric
    if {"origin", "destination"} <= {c.name.lower() for c in profile.columns}:
        return ["It holds flows from origin to destination, which sumwise estimates from counts over time."]
    groups = [c.name for c in numbers if like_group(c)]
    outcomes = [c.name for c in numbers if like_outcome(c) and not like_group(c)]
    if bool(groups) == bool(outcomes) or len(groups) + len(outcomes) > 40:
        return []
    listed = ", ".join(map(repr, (groups or outcomes)[:4]))
    here, lacking = ("groups of people", "an outcome") if groups else ("outcomes", "a group of people")
    return [
        f"{listed} read like {here}, and no column of numbers reads like {lacking}: margins need both sides, in one "
        "file or in two."
    ]


def group_of_everybody(profile: FileProfile) -> list[str]:
    """A note on a column called like a group that holds the sum of all outcomes: it counts everybody."""
    counts = [c for c in profile.columns if c.counts and c.whole]
    rest = [c.numbers for c in counts if not like_group(c)]
    if len(rest) < 2:
        return []
    total = sum(rest)
    found = [c.name for c in counts if like_group(c) and (abs(c.numbers - total) <= 1e-6 * total).mean() > 0.8]
    return [f"{name!r} reads like a group and is the sum of all outcomes: does it count everybody?" for name in found]
