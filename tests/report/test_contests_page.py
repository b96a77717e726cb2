"""One page over many contests."""

from __future__ import annotations

import numpy as np

from sumwise import Margins, synthetic
from sumwise.ecological import Bounds, EcologicalEM
from sumwise.report import contests_overview
from sumwise.voting import polarised_voting


def test_one_table_has_every_contest_and_group():
    made = {k: synthetic.precincts(30, 2, 2, random_state=k).margins for k in range(2)}
    fits = {f"contest <{k}>": EcologicalEM().fit(m) for k, m in made.items()}
    own = {name: est.report(m).summary["findings"] for (name, est), m in zip(fits.items(), made.values())}
    found = contests_overview(fits, "Two", folders={"contest <0>": "a"}, findings=own)
    cards = found.summary["findings"]
    assert cards
    assert all(("(probability " in card["because"]) != ("totals alone settle" in card["because"]) for card in cards)
    assert all(card["lower_bound"] <= card["value"] <= card["upper_bound"] for card in cards)
    frame = found.frames["contests"]
    assert len(frame) == 4
    assert frame["people"].iloc[0] == made[0].totals.sum()
    assert "2 contests, 30 units each. Each was estimated by itself." in found.summary["lead"][0]
    page = found.html()
    assert "contest &lt;1&gt;" in page
    assert "contest <1>" not in page


def test_the_first_picture_is_a_matrix_of_contests_and_groups():
    rows = [[80, 20], [30, 70], [50, 50], [10, 90], [65, 35], [40, 60]]
    near = [[45, 55], [52, 48], [50, 50], [51, 49], [48, 52], [50, 50]]  # nobody's candidate of choice is known
    clear = [[80, 20], [30, 70], [50, 50], [10, 90], [65, 35], [40, 60]]
    named = {"row_names": ["old", "young"], "col_names": ["Reed", "Stone"]}
    made = {
        "near": Margins(rows, near, **named),
        "clear": Margins(np.multiply(rows, 9), np.multiply(clear, 9), **named),
    }
    fits = {name: EcologicalEM().fit(m) for name, m in made.items()}
    found = contests_overview(fits, "Two")
    first = found.summary["sections"][0]["blocks"][0]
    assert (first["kind"], first["columns"]) == ("matrix", ["old", "young"])
    cells = {row["name"]: row["cells"] for row in first["rows"]}
    patterns = polarised_voting(fits).set_index(["contest", "group"])
    for contest, line in cells.items():
        for group, cell in zip(first["columns"], line):
            row = patterns.loc[(contest, group)]
            sure = row["probability"] == ">0.99" or float(row["probability"].lstrip("<>")) >= 0.95
            assert (cell["name"], cell["share"], cell["open"] == "") == (
                row["candidate of choice"],
                row["cohesion"],
                sure,
            )
            assert cell["marks"][1:] == ([] if not sure else ["won" if row["candidate won"] else "lost"])
    assert any(cell["open"] for cell in cells["near"])
    page = found.html()
    assert page.count('<td class="open"') == sum(bool(cell["open"]) for line in cells.values() for cell in line)


def test_contests_without_a_choice_are_named_and_left_out():
    made = synthetic.precincts(30, 2, 2, random_state=0).margins
    found = contests_overview({"bounds": Bounds().fit(made)}, "One")
    assert found.frames["contests"]["pooling"].tolist() == ["alone"]
    assert "All contests" not in [b.get("title") for s in found.summary["sections"] for b in s["blocks"]]
