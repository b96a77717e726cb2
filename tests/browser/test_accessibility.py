"""What a screen reader would find in the app and in reports: Chromium's accessibility tree, focus, announcements."""

from __future__ import annotations

import os
import re
from itertools import pairwise

import pytest

from by_keyboard import finished, serious, shot, typed, uploaded
from sumwise.cli.study.fitting import fit_problem
from sumwise.cli.study.initialise import suggest_problem

pytestmark = [
    pytest.mark.skipif("SUMWISE_BROWSER" not in os.environ, reason="make browser runs these"),
    pytest.mark.filterwarnings("default"),
]

OPERATED = {"button", "link", "textbox", "searchbox", "combobox", "spinbutton", "checkbox", "slider"}
OPERATED |= {"DisclosureTriangle", "progressbar", "region", "img", "image", "table", "Iframe"}
FAMILIES = ("ecological", "proportions", "distribution", "collective", "maxent")
FOCUS = """() => {
  const here = document.activeElement, before = window.last;
  if (!here || here === document.body) return null;
  const box = here.getBoundingClientRect();
  window.last = here;
  return {
    name: here.id || here.textContent.trim().slice(0, 30),
    back: Boolean(before && before.compareDocumentPosition(here) & Node.DOCUMENT_POSITION_PRECEDING),
    seen: box.width > 0 && box.height > 0,
  };
}"""
FROM_THE_TOP = """() => {
  const top = document.createElement("span");
  top.tabIndex = -1;
  document.body.prepend(top);
  top.focus();
  top.remove();
  window.last = null;
}"""
LISTEN = """() => {
  window.heard = [];
  const note = (node) => {
    const element = node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
    const region = element && element.closest("[role=status], [role=alert], [aria-live]");
    if (region && region.textContent.trim()) window.heard.push([region.id, region.textContent.trim()]);
  };
  const watched = { childList: true, subtree: true, characterData: true, attributeFilter: ["hidden"] };
  new MutationObserver((all) => all.forEach((change) => note(change.target))).observe(document.body, watched);
}"""
SMALL = """() => Math.min(...[...document.querySelectorAll("figure svg text")]
  .filter((text) => text.getBoundingClientRect().width)
  .map((text) => {
    const scale = text.getScreenCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(scale.a, scale.b);
  }))"""
CUT = """() => [...document.querySelectorAll("figure svg text")].filter((text) => {
  const box = text.getBoundingClientRect(), all = text.closest("svg").getBoundingClientRect();
  const outside = [all.left - box.left, box.right - all.right, all.top - box.top, box.bottom - all.bottom];
  return box.width && Math.max(...outside) > 3;
}).map((text) => text.textContent)"""


def tree(page):
    """Role and name of everything that assistive technology can see, in order."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip(), node)
        for node in nodes
        if not node.get("ignored") and "role" in node
    ]


def levels(nodes):
    """Levels of the headings, in order."""
    found = [node for role, _, node in nodes if role == "heading"]
    return [p["value"]["value"] for node in found for p in node.get("properties", ()) if p["name"] == "level"]


def check_tree(page):
    """Everything that is operated or pictured has a name; headings leave no level out; tables have headers."""
    nodes = tree(page)
    assert [role for role, name, _ in nodes if role in OPERATED and not name] == []
    found = levels(nodes)
    assert found[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(found)), found
    tables = sum(role == "table" for role, _, _ in nodes)
    headers = sum(role == "columnheader" for role, _, _ in nodes)
    assert headers >= tables
    return nodes


def check_focus(page, most=400):
    """Tab visits what can be seen, from the top to the bottom, and leaves the page."""
    page.evaluate(FROM_THE_TOP)
    visited = []
    for _ in range(most):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUS)
        if found is None or (visited and found["back"]):
            break  # past the end, the browser begins again
        visited.append(found)
    assert visited
    assert [found["name"] for found in visited if not found["seen"]] == []
    return [found["name"] for found in visited]


def test_pages_of_the_app_are_named_and_in_order(page, address, files):
    page.goto(address)
    page.wait_for_selector("#home:not([hidden])")
    check_tree(page)
    assert "file" in check_focus(page)
    uploaded(page, address, files["distribution"])
    page.click("#more-summary")
    nodes = check_tree(page)
    names = {name for role, name, _ in nodes if role in ("combobox", "textbox", "spinbutton")}
    assert {"Method", "Title of the report", "Level of the intervals", "Seed of all randomness"} <= names
    assert any(name.startswith("Role of ") for name in names)
    assert any(name.startswith("Name of ") for name in names)
    wanted = ["family", "recognise", "title", "method", "level", "seed", "save", "run"]
    assert [name for name in check_focus(page) if name in wanted] == wanted


def test_runs_and_errors_are_announced(page, address, votes, tmp_path):
    uploaded(page, address, votes)
    page.evaluate(LISTEN)
    typed(page, "method", "Bounds")
    assert finished(page)
    heard = page.evaluate("() => window.heard")
    status = [words for place, words in heard if place == "status"]
    assert any(words.startswith(("Running.", "Waiting")) for words in status)
    assert status[-1] == "Done."
    (tmp_path / "odd.csv").write_text("just words\nno numbers\n")
    page.goto(address)
    page.wait_for_selector("#home:not([hidden])")
    page.evaluate(LISTEN)
    page.set_input_files("#file", str(tmp_path / "odd.csv"))
    page.wait_for_selector("#message:not([hidden])")
    page.wait_for_function("() => window.heard.some(([place]) => place === 'message')")
    assert "odd.csv" in dict(page.evaluate("() => window.heard"))["message"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory, files):
    """A report of each family, as `sumwise fit` writes it."""
    made = {}
    for family in FAMILIES:
        folder = tmp_path_factory.mktemp(family)
        problem = suggest_problem(files[family], folder / "problem.toml", family=family).write()
        text = problem.read_text().replace("seed = 0", "sensitivity = false\nseed = 0", 1)
        problem.write_text(text)
        fit_problem(problem, folder / "result")
        made[family] = folder / "result" / "report.html"
    return made


@pytest.mark.parametrize("family", FAMILIES)
def test_reports_are_readable_at_every_width_light_and_dark(page, reports, family):
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.goto(reports[family].as_uri())
            page.wait_for_selector("h1")
            assert serious(page) == [], (width, scheme)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width
            shot(page, f"report-{family}-{width}-{scheme}")
        nodes = check_tree(page)
        pictures = [name for role, name, _ in nodes if role in ("img", "image")]
        assert pictures
        assert all(len(name) > 40 for name in pictures)  # a sentence, not a label
        small = page.evaluate(SMALL)
        assert small >= 11, f"letters of {small} px at {width}"
        assert page.evaluate(CUT) == []
    check_focus(page)


def test_a_study_says_what_it_does_before_its_file_is_read(page, address, votes):
    uploaded(page, address, str(votes))
    held = []
    page.route(re.compile(r"reading=1"), lambda route: held.append(route))  # noqa: PLW0108
    page.reload()
    page.wait_for_function("() => document.getElementById('seen').textContent.startsWith('Reading the file')")
    assert page.get_attribute("#seen", "role") == "status"
    assert page.inner_text("#study-files") == f"Files: {votes.name}"
    assert page.locator("#columns tbody tr").count() == 0
    assert len(held) == 1
    held[0].continue_()
    page.wait_for_selector("#columns tbody tr")
