"""The page: one file, nothing from outside, names as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from nasty_names import NASTY_LEVELS
from sumwise.report import Summary, page
from sumwise.report.html import strip, strip_ends
from sumwise.report.summary import bullets, facts, figure, finding, note, table, text

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; //",
    "</style><b>",
    "{{ 7 * 7 }}",
    "=1+1",
    *NASTY_LEVELS,
]


class Reader(HTMLParser):
    """Tags, the texts outside of style and script, and what a browser would fetch."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.fetched, self.open = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "xlink:href", "action") and not str(value).startswith("#"):
                self.fetched.append(value)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)


def hostile_page() -> str:
    frame = pd.DataFrame({"unit": HOSTILE, "share": [0.5] * len(HOSTILE)})
    summary = Summary(HOSTILE[0], HOSTILE[1], HOSTILE[2], list(HOSTILE))
    numbers = {
        "grid": [0.0, 0.5, 1.0],
        "density": [[0, 2, 0]] * 2,
        "groups": HOSTILE[:2],
        "outcome": "$x^{$ " + HOSTILE[0],
    }
    summary.add(
        "found",
        figure("share_density", numbers, HOSTILE[1], table(frame, HOSTILE[0], {"share": "share"})),
        figure("share_density", [numbers, numbers], HOSTILE[0], labels=HOSTILE[:2]),
    )
    summary.add(
        "certainty",
        text(*HOSTILE),
        bullets(HOSTILE, HOSTILE[0]),
        note(HOSTILE[1]),
        facts(dict.fromkeys(HOSTILE, HOSTILE[0])),
    )
    summary.add("provenance", {"kind": "source", "title": HOSTILE[0], "text": "\n".join(HOSTILE)})
    return page(summary.to_dict())


@pytest.fixture(scope="module")
def written():
    return hostile_page()


@pytest.fixture(scope="module")
def read(written):
    reader = Reader()
    reader.feed(written)
    return reader


def test_hostile_names_are_shown_and_never_run(read):
    assert read.tags.count("script") == 1  # ours
    assert "img" not in read.tags
    assert "b" not in read.tags
    shown = "".join(read.text)
    for name in HOSTILE:
        assert " ".join(name.split()) in " ".join(shown.split())
    assert "49" not in shown


def test_page_asks_for_nothing_outside(read, written):
    assert read.fetched == []
    css = re.sub(r"url\(#[^)]*\)", "", written)
    assert "url(" not in css
    assert "@import" not in css
    assert "default-src 'none'" in css


def test_page_is_the_same_for_the_same_summary(written):
    assert hostile_page() == written


def test_figure_with_frames_has_a_slider(read, written):
    assert written.count('type="range"') == 1
    assert read.tags.count("svg") == 6  # each for desktops and for phones


def test_several_summaries_share_a_page():
    parts = [Summary(f"Part {k}", "f", "m", [f"lead {k}"]).to_dict() for k in range(2)]
    text_ = page(*parts, title="All", intro=["Both."])
    assert text_.count("<article") == 2
    assert "Both." in text_
    assert 'href="#s2"' in text_


def test_findings_are_cards_with_interval_and_bounds():
    found = finding("<i> who chose x", 0.5, ends=(0.4, 0.6), level=0.9, lower_bound=0.1, upper_bound=0.95)
    text_ = page(Summary("t", "f", "m", ["Verdict.", "Caution."], [found]).to_dict())
    assert "&lt;i&gt; who chose x" in text_
    for words in ("90% interval", "40% to 60%", "data alone imply", "10% to 95%"):
        assert words in text_
    assert '<p class="note warning">Caution.</p>' in text_


def test_long_tables_have_a_filter_and_are_cut_on_paper_unless_full():
    summary = Summary("t", "f", "m")
    summary.add("estimates", table(pd.DataFrame({"x": range(50)}), "Long"))
    summary.add("appendix", table(pd.DataFrame({"x": range(3)}), "Folded", folded=True))
    short, whole = page(summary.to_dict()), page(summary.to_dict(), full=True)
    assert 'class="filter"' in short
    assert 'class="sortable long"' in short
    assert 'class="sortable long"' not in whole
    assert short.count('<details class="appendix">') == 1
    assert short.count("<caption>") == 2


def test_strips_show_what_a_finding_has_and_stay_inside():
    base = {"kind": "points", "value": -0.4, "low": -0.9, "high": 0.1, "lower_bound": -1.0, "upper_bound": 1.0}
    whole = str(strip(base))
    for mark in ("bounds", "interval", "estimate"):
        assert f'class="{mark}"' in whole
    assert whole.count('class="axis"') == 2  # the line, and zero
    assert "truth" not in whole
    assert 'class="truth"' in str(strip({**base, "truth": 0.2}))
    assert str(strip({"kind": "number", "value": 3.0})) == ""  # a number has no scale
    places = [float(x) for x in re.findall(r'(?:x1|x2|cx|x)="([-\d.]+)"', str(strip({"kind": "share", "value": 1.7})))]
    assert min(places) >= 0
    assert max(places) <= 260


def test_tables_link_to_files_that_lie_beside_the_page():
    summary = Summary("t", "f", "m")
    summary.add("estimates", table(pd.DataFrame({"x": [1.5]}), "T", file="estimates.csv", about="x: a <number>."))
    assert "estimates.csv" not in page(summary.to_dict())
    linked = page(summary.to_dict(), files_beside=["estimates.csv"])
    assert '<a href="estimates.csv">' in linked
    assert "<b>x</b>: a &lt;number&gt;." in linked
    assert linked.count('class="xlsx"') == linked.count('class="csv"') == 1


def test_only_kinds_that_have_ends_are_drawn_on_a_strip():
    count = finding("Birds", 30.0, "count", ends=(14.0, 53.0), lower_bound=0.0, upper_bound=112.0)
    assert (strip_ends(count), str(strip(count))) == (None, "")
    assert strip_ends(finding("x", 1.2, ends=(-0.1, 1.3))) == (-0.1, 1.3)


def test_names_that_run_from_right_to_left_leave_the_order_of_a_sentence():
    summary = Summary("ליכוד, לא and x", "ecological", "Bounds", ["ליכוד won."])
    summary.add("estimates", table(pd.DataFrame({"group": ["ליכוד"]}), "T"))
    text = page(summary.to_dict())
    assert "<h1>\u2068ליכוד\u2069, \u2068לא\u2069 and x</h1>" in text
    assert '<th scope="row">ליכוד</th>' in text  # what a page downloads has no invisible signs


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\u200f", "\x1b", "\x9b", "\x07", "\u2028"])
def test_control_characters_of_names_are_written_out(sign):
    summary = Summary(f"a{sign}b", "ecological", "Bounds", [f"a{sign}b won."])
    summary.add("estimates", table(pd.DataFrame({"group": [f"a{sign}b"]}), f"a{sign}b"))
    text = page(summary.to_dict())
    assert sign not in text
    assert sign.encode("unicode_escape").decode() in text


def test_tables_and_findings_have_names_for_a_screen_reader():
    summary = Summary("t", "f", "m", ["Verdict."], [finding("Share of a", 0.5)])
    summary.add("estimates", table(pd.DataFrame({"group": ["a"] * 9, "x": range(9)}), "Shares"))
    text = page(summary.to_dict())
    assert '<p class="what" role="heading" aria-level="3">Share of a</p>' in text
    for name in ("CSV: Shares", "Excel: Shares", "Filter rows of Shares"):
        assert f'aria-label="{name}"' in text
    assert text.count('<th scope="row">a</th>') == 9
    assert '<span class="left" role="status"></span>' in text


def test_buttons_of_figures_say_of_which_figure_they_are():
    numbers = {"names": ["f"], "share": [0.5], "low": [0.4], "high": [0.6], "truth": None, "level": 0.95}
    summary = Summary("t", "f", "m", ["Verdict."])
    drawn = figure("subgroups", numbers, "Shares of subgroups.", table(pd.DataFrame({"a": [1]}), "T"))
    summary.add("found", drawn, {**drawn, "caption": "Shares of others."})
    names = re.findall(r'aria-label="((?:Download|Data of)[^"]*)"', page(summary.to_dict()))
    assert len(set(names)) == len(names) == 6
