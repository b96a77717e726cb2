"""One page over many contests."""

from __future__ import annotations

from sumwise import synthetic
from sumwise.ecological import Bounds, EcologicalEM
from sumwise.report import contests_overview


def test_one_table_has_every_contest_and_group():
    made = {k: synthetic.precincts(30, 2, 2, random_state=k).margins for k in range(2)}
    fits = {f"contest <{k}>": EcologicalEM().fit(m) for k, m in made.items()}
    own = {name: est.report(m).summary["findings"] for (name, est), m in zip(fits.items(), made.values())}
    found = contests_overview(fits, "Two", folders={"contest <0>": "a"}, findings=own)
    cards = found.summary["findings"]
    assert all("(probability " in card["because"] for card in cards)
    assert all(card["lower_bound"] <= card["value"] <= card["upper_bound"] for card in cards)
    frame = found.frames["contests"]
    assert len(frame) == 4
    assert frame["people"].iloc[0] == made[0].totals.sum()
    assert "2 contests, 30 units each. No contest borrows from another." in found.summary["lead"][0]
    page = found.html()
    assert "contest &lt;1&gt;" in page
    assert "contest <1>" not in page


def test_contests_without_a_choice_are_named_and_left_out():
    made = synthetic.precincts(30, 2, 2, random_state=0).margins
    found = contests_overview({"bounds": Bounds().fit(made)}, "One")
    assert found.frames["contests"]["pooling"].tolist() == ["alone"]
    assert "All contests" not in [b.get("title") for s in found.summary["sections"] for b in s["blocks"]]
