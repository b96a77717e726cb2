"""Outcomes that are not a choice: not voting, abstaining, staying at home."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sumwise.errors import UnknownName

WHOLE_NAMES = {
    "novote", "novotes", "abs", "abst", "nonvoter", "nonvoters", "nonvoting", "nonvote", "noturnout", "notvoted",
    "noballot", "didnotvote", "notvoting", "notvote", "stayedhome", "stayhome", "nichtwähler", "nichtwahler",
    "enthaltung", "enthaltungen", "astenuti", "astensione", "abstenção", "abstencao",
}  # fmt: skip
NAME_PARTS = re.compile(
    r"abstain|abstention|abstenci|didnt?vote|did ?not ?vote|no[nt]? ?vot(e|es|er|ers|ing)\b|no ?turnout"
)


HEADING = (":", " - ", " \u2013 ", " \u2014 ", "|")  # between a contest and a candidate
INVALID = re.compile(
    r"^(not[\s_-]*counted|exhausted|blank|null|invalid|spoil(ed|t)?|informal|ungültig\w*|nuls?|nul[oa]s?)\b|"
    r".*(?<![^\W_])((under|over)[\s_-]*vot(e|es|ed|ing)|exhausted)(?![^\W_])",
    re.IGNORECASE,
)


def is_abstention(name: object) -> bool:
    """Whether an outcome's name says that no choice was made: not voting, or a ballot that is blank or invalid.

    Parameters
    ----------
    name : object
        The name of an outcome.

    Examples
    --------
    >>> from sumwise.nonvoting import is_abstention
    >>> [name for name in ("no vote", "No", "abstained", "Novak", "exhausted", "Blank votes") if is_abstention(name)]
    ['no vote', 'abstained', 'exhausted', 'Blank votes']

    A contest before a colon or a dash is no part of the name:

    >>> is_abstention("Mayor - Blank"), is_abstention("Mayor - Arthur Blank"), is_abstention("mayor_undervotes")
    (True, False, True)
    >>> is_abstention("Round 2 exhausted")
    True
    """
    return is_nonvoting(name) or INVALID.match(_of_contest(name)) is not None


def _of_contest(name: object) -> str:
    """An outcome's name without the contest before it."""
    text = str(name).strip()
    tails = [text.partition(sign)[2].strip() for sign in HEADING if sign in text]
    return min(filter(None, tails), key=len, default=text)


def is_nonvoting(name: object) -> bool:
    """Whether an outcome's name says that no choice was made; such an outcome is never a candidate.

    Examples
    --------
    >>> from sumwise.nonvoting import is_nonvoting
    >>> [is_nonvoting(name) for name in ("NoVote", "no vote", "pres_abs", "Norton", "Blank votes")]
    [True, True, True, False, False]

    A bare "non" or "none" may be people without a party, so it is treated as a choice like any other.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    words = re.findall(r"[^\W_]+", spaced.lower())
    return (
        "".join(words) in WHOLE_NAMES
        or NAME_PARTS.search(" ".join(words)) is not None
        or words[-1:] in (["abs"], ["novote"])
    )


EVERYBODY_ELSE = re.compile(r"(not|all other|other|others|rest|the rest|everybody else)\b", re.IGNORECASE)


def is_rest(name: object) -> bool:
    """Whether an outcome's name says that it stands for all other candidates: "not Smith", "others".

    Examples
    --------
    >>> from sumwise.nonvoting import is_rest
    >>> [is_rest(name) for name in ("not Smith", "pct_not_smith", "Others", "Notley", "not voting")]
    [True, True, True, False, False]
    """
    words = re.findall(r"[^\W_]+", str(name))
    at = next((k for k, word in enumerate(words) if word.lower() not in ("pct", "percent", "votes")), 0)
    return EVERYBODY_ELSE.match(" ".join(words[at:])) is not None and not is_abstention(name)


YES = re.compile(r"(^|[\W_])(?:yes|yea|aye|for)(?=[\W_]*votes?)", re.IGNORECASE)


def choices(names: Sequence) -> list[int]:
    """Positions of the outcomes that are a choice.

    Examples
    --------
    >>> from sumwise.nonvoting import choices
    >>> choices(["A", "B", "NoVote"]), choices(["yes votes", "no votes", "blank"])
    ([0, 1], [0, 1])
    """
    return [c for c, away in enumerate(no_candidates(names)) if not away]


def no_candidates(names: Sequence, abstention: Any = None) -> list[bool]:
    """Which outcomes are not candidates: those given, or those whose name says so.

    Beside "yes votes", "no votes" are votes against, not people who stayed at home.

    Examples
    --------
    >>> from sumwise.nonvoting import no_candidates
    >>> no_candidates(["A", "B", "NoVote"]), no_candidates(["A", "B", "rest"], "rest")
    ([False, False, True], [False, False, True])
    """
    if abstention is None:
        against = {YES.sub(r"\1no", str(name)).lower() for name in names if YES.search(str(name))}
        return [is_abstention(name) and str(name).lower() not in against for name in names]
    away = [abstention] if isinstance(abstention, str) else list(abstention)
    unknown = [name for name in away if name not in names]
    if unknown:
        raise UnknownName(
            f"abstention names {unknown[0]!r}, which is not an outcome.", hint=f"there are {list(names)}."
        )
    return [name in away for name in names]


STATES = re.compile(
    r"(?<![a-z])(il)?literate|(?<![a-z])(un|not )?(regist|employed|insured|enrol|vaccinat|infect|married)|turned ?out|"
    r"^(voted|turnout|voters?|ill|healthy|sick|died|dead|alive|survived|poor)$"
)


def chose(names: Sequence, c: int) -> str:
    """What people with one of the outcomes did, for a sentence: a choice, or a state that nobody chooses.

    Parameters
    ----------
    names : sequence
        All outcomes.
    c : int
        Which of them.

    Examples
    --------
    >>> from sumwise.nonvoting import chose
    >>> [chose(["Adams", "illiterate", "blank votes", "no vote"], c) for c in range(4)]
    ['chose Adams', 'were counted as illiterate', 'were counted as “blank votes”', 'did not vote']
    """
    name = str(names[c])
    state = INVALID.match(_of_contest(name)) or STATES.search(re.sub(r"[\W_]+", " ", name).strip().lower())
    if no_candidates(names)[c] and not state:
        return "did not vote"
    return f"were counted as {quoted(name)}" if state else f"chose {quoted(name)}"


WORD = re.compile(r"[^\W\d_]+(?:[.'’&-][^\W\d_]*)*")
PEOPLE = re.compile(r"(?:people|persons|wo?men|voters?|citizens|adults|[^\W\d_]{2,}[^\W\d_us]s)$", re.IGNORECASE)


def quoted(name: object) -> str:
    """A name for a sentence: as it is if it reads as one, a word or words with capitals; else in quotation marks.

    Examples
    --------
    >>> from sumwise.nonvoting import quoted
    >>> [quoted(name) for name in ("Kemp", "yes", "Brian Kemp", "blank votes", "dem_16")]
    ['Kemp', 'yes', 'Brian Kemp', '“blank votes”', '“dem_16”']
    """
    first, *more = str(name).split() or [""]
    plain = all(map(WORD.fullmatch, (first, *more))) and all(word[0].isupper() for word in more)
    return str(name) if plain and (not more or first[0].isupper()) else f"“{name}”"


def members(group: object, noun: str = "people") -> str:
    """The people of a group, for a sentence: `noun` is "people", or "voters" where it is known who voted.

    Examples
    --------
    >>> from sumwise.nonvoting import members
    >>> [members(name, "voters") for name in ("Black", "women", "Democrats", "18 to 24", "b")]
    ['Black voters', 'women', 'Democrats', 'voters in “18 to 24”', 'voters in “b”']
    >>> members("other")
    'people of other groups'
    """
    name = str(group)
    if name.casefold() in ("other", "others", "all others", "rest"):
        return f"{noun} of other groups"
    if PEOPLE.search(name):
        return name
    return f"{name} {noun}" if WORD.fullmatch(name) and len(name) > 2 else f"{noun} in “{name}”"


def people_who(group: object, outcomes: Sequence, c: int, noun: str = "people") -> str:
    """The people of a group with an outcome: "white voters who chose Kemp".

    Examples
    --------
    >>> from sumwise.nonvoting import people_who
    >>> people_who("white", ["Abrams", "Kemp"], 1, "voters")
    'white voters who chose Kemp'
    """
    return f"{members(group, noun)} who {chose(outcomes, c)}"
