"""The court edition over several contests."""

import re

import numpy as np
import pytest

from messages import raises
from sumwise import Margins
from sumwise.ecological import Bounds, EcologicalEM
from sumwise.errors import DataError
from sumwise.report import ContestResult, court_edition_contests, report
from sumwise.report.court_contests import _times_polarised


def margins(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(40, 400, (20, 2))
    votes = [[rng.multinomial(a, [0.8, 0.2]), rng.multinomial(b, [0.3, 0.7])] for a, b in rows]
    return Margins(rows, np.sum(votes, axis=1), row_names=["black", "white"], col_names=["Smith", "Jones"])


@pytest.mark.check
def test_one_document_has_every_contest_once():
    m, results = margins(0), {}
    shares, bounds = EcologicalEM().fit(m), Bounds().fit(m)
    pages = {est: report(est, m) for est in (shares, bounds)}
    for name, est in {"Mayor <2020>": shares, "Sheriff": shares, "Clerk": bounds}.items():
        results[name] = ContestResult(pages[est], est, {"problem": f"title = '{name}'", "seed": 0})
    text = court_edition_contests(results, {"case": "Doe v. Roe"})
    assert "Doe v. Roe" in text
    assert "black: voting was polarised in 2 of 2 contests." in text
    assert "Clerk: no method that estimates shares was fitted" in text
    for letter, name in zip("ABC", ("Mayor &lt;2020&gt;", "Sheriff", "Clerk")):
        assert text.count(f"<h3>Contest {letter}: {name}</h3>") >= 3  # findings, data, units
        assert f"<h2>V.{letter}: {name}</h2>" in text
    assert text.count("Who chose what is not observed") == 1
    together = re.sub("<[^>]+>", " ", text[text.index("I. Findings over all contests") : text.index("II. Findings by")])
    assert (
        len(re.findall(r"[\d.]+% \([\d.]+% to [\d.]+%\)", together)) == 8
    )  # cohesion and crossover, two groups, two contests
    assert "cohesion (95% interval)" in together.lower()
    assert text.count("<h2>References</h2>") == 1
    assert text.count("title = ") == 3
    assert "<2020>" not in text
    whole = court_edition_contests(results, {"case": "Doe v. Roe"}, "# all contests")
    assert "# all contests" in whole
    assert "title = " not in whole


def test_no_contests_and_unknown_keys_are_refused():
    with raises(DataError, "no-contests-fit"):
        court_edition_contests({})
    m = margins(0)
    with raises(DataError, "there-is-no", "judge"):
        court_edition_contests({"a": ContestResult(report(Bounds().fit(m), m))}, {"judge": "x"})


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ((2, 0, 0), "voting was polarised in 2 of 2 contests"),
        ((0, 0, 2), "whether voting was polarised is undetermined in 2 of 2 contests"),
        ((1, 1, 0), "voting was polarised in 1 of 2 contests; voting was not polarised in 1 of 2 contests"),
        ((1, 0, 1), "voting was polarised in 1 of 2 contests; whether it was is undetermined in 1 of 2 contests"),
    ],
)
def test_what_never_happened_is_not_counted(times, words):
    assert _times_polarised(dict(zip(("yes", "no", "undetermined"), times)), 2) == words


def test_one_contest_is_in_the_singular():
    assert _times_polarised({"yes": 1, "no": 0, "undetermined": 0}, 1) == "voting was polarised in 1 of 1 contest"
