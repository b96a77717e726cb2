"""Every amount in the prose of the reproduction book has a source.

A sentence that states an amount, in figures or in words, is a claim of test_book_claims.py, which holds it against the
committed results, or it is listed in book_amounts.toml with what it is: something a paper prints, a setting of the
experiment, arithmetic, or the history of a run. A new or rewritten sentence with an amount fails until one of the two
is done. ``python tests/test_book_amounts.py`` prints those that have neither.
"""

from __future__ import annotations

import re
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent)]
from test_book_claims import CLAIMS  # noqa: E402

ROOT = Path(__file__).parents[1]
KNOWN = tomllib.loads(Path(__file__).with_name("book_amounts.toml").read_text("utf-8"))
PAGES = sorted(p for p in (ROOT / "docs" / "book").glob("*.toml") if p.stem != "items")
PROSE = ("shows", "finds", "differ", "missing", "note")
NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen twenty thirty forty "
    "fifty sixty seventy eighty ninety hundreds? thousands? millions? tens halfs? halves thirds? quarters? fifths? "
    "sixths? tenths? twentieth hundredths? thousandths? twice tenfold fivefold several"
)
AMOUNT = re.compile(
    r"(?<![\w/^])[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e-?\d+|%)?(?!\w)|\b(?:" + "|".join(NUMBERS.split()) + r")\b"
    r"|\borders? of magnitude\b",
    re.I,
)
SENTENCE = re.compile(r"(?<=[.:;?!])\s+(?=[A-Z*`\[(])|\n+")
NAMES = re.compile(  # numbers that name something: code, links, tables and figures, years
    r"`[^`]*`|\]\([^)]*\)|\(\d+(?:\.\d+)?\)|\b(?:19|20)\d\d\b|\b(?:Figures?|Tables?|[Ss]ections?|Theorem|Algorithm|Lemma"
    r"|chapter|equation)\s+[\dA-Z][\d.]*(?:\s[a-e]\b)?(?:(?:,|\sand|\sto|,\sand)\s(?:[\d][\d.]*(?:\s[a-e]\b)?|[a-e]\b))*"
)


def blanked(match: re.Match | str) -> str:
    """As many blanks as a text has characters, so that places in it stay what they are."""
    return " " * len(match if isinstance(match, str) else match[0])


def amounts(text: str, claims=tuple(sentence for _, sentence in CLAIMS)) -> list[str]:
    """Sentences of a text with an amount that no claim holds."""
    left = NAMES.sub(blanked, text)
    for claim in claims:
        for match in re.finditer(re.escape(claim), text):
            left = left[: match.start()] + blanked(claim) + left[match.end() :]
    ends = [m.end() for m in SENTENCE.finditer(text)] + [len(text)]
    spans = [slice(*pair) for pair in pairwise([0, *ends])]
    return [text[span].strip() for span in spans if AMOUNT.search(left[span])]


def prose(page: Path) -> list[str]:
    """What a page says in words."""
    spec = tomllib.loads(page.read_text("utf-8"))
    return [spec["intro"], *(item[key] for item in spec["item"] for key in PROSE if key in item)]


def unknown(page: Path) -> list[str]:
    """Sentences of a page with an amount that is neither a claim nor listed."""
    listed = {s for kind in KNOWN.values() for s in kind.get(page.stem, [])}
    return [s for text in prose(page) for s in amounts(text) if s not in listed]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_an_amount_in_words_is_held_by_a_claim_or_listed(page):
    assert unknown(page) == [], "hold it against the results in test_book_claims.py, or list it in book_amounts.toml"


def test_what_is_listed_is_on_the_pages():
    said = {page.stem: {s for text in prose(page) for s in amounts(text)} for page in PAGES}
    gone = [s for kind in KNOWN.values() for page, listed in kind.items() for s in listed if s not in said[page]]
    assert gone == []


def test_an_untied_amount_is_found():
    text = "It errs by .173. It is twice as fast as in Figure 2.3, with `k=5`. All is well. About ten times as many."
    assert amounts(text, ("It errs by .173",)) == [
        "It is twice as fast as in Figure 2.3, with `k=5`.",
        "About ten times as many.",
    ]


if __name__ == "__main__":
    for path in PAGES:
        sys.stdout.write("".join(f"{path.stem}: {line}\n" for line in unknown(path)))
