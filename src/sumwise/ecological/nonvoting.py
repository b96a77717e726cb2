"""Outcomes that are no choice: not voting, abstaining, staying at home."""

from __future__ import annotations

import re

WHOLE = {
    "novote",
    "novotes",
    "abs",
    "abst",
    "nonvoter",
    "nonvoters",
    "nonvoting",
    "nonvote",
    "noturnout",
    "notvoted",
    "noballot",
    "didnotvote",
    "notvoting",
    "notvote",
    "stayedhome",
    "stayhome",
    "nichtwähler",
    "nichtwahler",
    "enthaltung",
    "enthaltungen",
    "astenuti",
    "astensione",
    "abstenção",
    "abstencao",
}
PART = re.compile(r"abstain|abstention|abstenci|didnt?vote|did ?not ?vote|no[nt]? ?vot(e|es|er|ers|ing)\b|no ?turnout")


INVALID = re.compile(
    r"^(not[\s_-]*counted|blank|null|invalid|spoil(ed|t)?|informal|under[\s_-]*votes?|over[\s_-]*votes?|"
    r"ungültig\w*|nuls?|nul[oa]s?)\b",
    re.IGNORECASE,
)


def is_abstention(name: object) -> bool:
    """Whether an outcome's name says that no choice was made: not voting, or a ballot that is blank or invalid.

    Examples
    --------
    >>> from sumwise.ecological.nonvoting import is_abstention
    >>> [name for name in ("no vote", "No", "abstained", "Novak", "nonvoters", "Blank votes") if is_abstention(name)]
    ['no vote', 'abstained', 'nonvoters', 'Blank votes']
    """
    return is_nonvoting(name) or INVALID.match(str(name).strip()) is not None


def is_nonvoting(name: object) -> bool:
    """Whether an outcome's name says that no choice was made; such an outcome is never a candidate.

    Examples
    --------
    >>> from sumwise.ecological.nonvoting import is_nonvoting
    >>> [is_nonvoting(name) for name in ("NoVote", "no vote", "pres_abs", "Norton", "Blank votes")]
    [True, True, True, False, False]

    A bare "non" or "none" may be people without a party, so it is taken for a choice like any other.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    words = re.findall(r"[^\W_]+", spaced.lower())
    return "".join(words) in WHOLE or PART.search(" ".join(words)) is not None or words[-1:] in (["abs"], ["novote"])
