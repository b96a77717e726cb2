"""A person's ways through the app in a real browser: ``make browser`` installs what this needs and runs it.

Needs playwright, Chromium and axe-core (``SUMWISE_BROWSER`` names the folder of the latter); skipped elsewhere.
"""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from by_keyboard import LONG, finished, press, serious, shot, tab_to, typed, uploaded
from sumwise import synthetic
from sumwise.io.formats import write_margins

pytestmark = [
    pytest.mark.skipif("SUMWISE_BROWSER" not in os.environ, reason="make browser runs these"),
    pytest.mark.filterwarnings("default"),
]


def test_from_upload_to_report_and_download(page, address, votes):
    uploaded(page, address, votes)
    page.select_option("#method", "Bounds")
    page.fill("#title", "A contest <b>")
    page.click("#run")
    page.wait_for_selector("#result:not([hidden])")
    report = page.frame_locator("#report").locator("h1")
    report.wait_for()
    assert report.inner_text() == "A contest <b>"
    with page.expect_download() as waiting:
        page.click("#download-all")
    assert waiting.value.suggested_filename.endswith(".zip")
    assert serious(page) == []
    shot(page, "study-1280")
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert serious(page) == []
    page.wait_for_timeout(1500)  # for the picture alone: the frame with the report is painted again
    shot(page, "study-390-dark")


def test_a_file_that_is_not_recognised_shows_its_rows_and_takes_roles(page, address, tmp_path):
    (tmp_path / "odd.csv").write_text("name,note\nAnna,likes tea\nBo,is late\n")
    page.goto(address)
    page.set_input_files("#file", str(tmp_path / "odd.csv"))
    page.wait_for_selector("#message:not([hidden])")
    assert "odd.csv" in page.inner_text("#message")
    assert "--" not in page.inner_text("#message")  # no option of the command line
    assert page.is_disabled("#run")
    assert page.locator("#columns tbody tr").count() == 2
    page.locator("#columns select[data-column=name]").select_option("unit")
    page.wait_for_selector("#sums.bad:not(:empty):not(:has-text('Reading'))")  # what is still missing
    assert page.is_disabled("#run")
    assert serious(page) == []


def test_questions_stand_above_the_first_rows(page, address, tmp_path):
    frame = pd.DataFrame({"precinct": [f"p{k}" for k in range(30)], "white": 300, "black": 500, "smith": 350})
    frame["white"] += np.arange(30) * 7
    frame["smith"] += np.arange(30) * 4
    frame["jones"] = frame["white"] + frame["black"] - frame["smith"]
    frame.iloc[[3, 17], -1] += 25
    frame.to_csv(tmp_path / "off.csv", index=False)
    page.goto(address)
    page.set_input_files("#file", str(tmp_path / "off.csv"))
    page.wait_for_selector("#questions:not([hidden])")
    assert "2 of 30 units (rows 5, 19)" in page.inner_text("#questions")
    assert page.locator("#columns tbody tr").count() == 6
    assert page.locator("#columns select").count() == 0
    assert page.is_disabled("#run")
    for menu in page.locator("#questions select").all():
        answers = menu.locator("option").all_inner_texts()
        menu.select_option(label=next(words for words in answers if words.startswith(("white, black are", "leave"))))
    page.click("#questions button")
    page.wait_for_selector("#sums:has-text('Adds up in all 28 units')")
    assert page.is_enabled("#run")
    assert serious(page) == []


def test_first_numbers_stand_next_to_the_data_while_checks_go_on(page, address, tmp_path):
    write_margins(synthetic.precincts(200, 3, 3, random_state=0).margins, tmp_path / "more.csv")
    uploaded(page, address, tmp_path / "more.csv")
    page.click("#more-summary")
    page.check("#edition")
    page.click("#run")
    page.wait_for_selector("#first:not([hidden])")
    assert page.locator("#first-table tr").count() == 10
    left, right = (page.locator(f"#{part}").bounding_box() for part in ("reading", "first"))
    assert right["x"] > left["x"] + left["width"]  # two panes
    assert serious(page) == []
    shot(page, "first-1280")
    page.wait_for_selector("#result:not([hidden])")
    assert page.is_hidden("#first")
    assert page.is_visible("#open-court")
    downloads = page.locator("#downloads a").all_inner_texts()
    assert {"tables.xlsx", "tables.docx", "report.html"} <= set(downloads)


def test_cancel_and_reload_in_mid_run(page, address, tmp_path, browser):
    write_margins(synthetic.precincts(600, 4, 4, random_state=0).margins, tmp_path / "large.csv")
    uploaded(page, address, tmp_path / "large.csv")  # its run takes minutes: it can't end before a slow browser cancels
    page.select_option("#method", "MultinomialDirichlet")
    page.click("#run")
    page.wait_for_selector("#cancel:not([hidden])")
    page.reload()
    page.wait_for_selector("#cancel:not([hidden])")
    other = browser.new_context().new_page()
    other.goto(page.url)
    other.wait_for_selector("#cancel:not([hidden])", timeout=LONG)
    page.click("#cancel")
    page.wait_for_selector("#status:has-text('Cancelled')")
    other.wait_for_selector("#run:not([hidden])", timeout=LONG)
    other.context.close()


def test_the_keyboard_is_enough(page, address, votes):
    page.goto(address)
    page.wait_for_selector("#home:not([hidden])")
    assert serious(page) == []
    shot(page, "home-1280")
    uploaded(page, address, votes)
    typed(page, "method", "Bounds")
    assert finished(page)
    assert (
        page.evaluate("() => document.activeElement.id") == "result-title"
    )  # not lost with the button that was hidden
    tab_to(page, "download-all")
    with page.expect_download():
        page.keyboard.press("Enter")
    assert finished(page)  # again, upwards: the report lies between the buttons and the end of the page
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    tab_to(page, "go-home")
    page.keyboard.press("Enter")
    page.wait_for_selector("#studies button")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert serious(page) == []
    shot(page, "home-390-dark")


def test_nothing_leaves_the_machine(page, address, votes):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    uploaded(page, address, votes)
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


@pytest.mark.parametrize("family", ["proportions", "distribution", "collective", "maxent"])
def test_every_family_from_upload_to_report(page, address, files, family):
    uploaded(page, address, files[family])
    if page.input_value("#family") != family:  # rows with a label can be read as several families
        typed(page, "family", page.inner_text(f"#family option[value='{family}']"))
        press(page, "recognise")
        page.wait_for_function(
            f"() => document.getElementById('method').options.length && reading.values.family === '{family}'"
        )
    assert finished(page)
    shot(page, f"report-{family}")


@pytest.mark.parametrize("family", ["ecological", "proportions", "distribution", "flows", "maxent"])
def test_an_example_is_one_click_from_its_report(page, address, family):
    page.goto(address)
    page.click(f"[data-example={family}]")
    page.wait_for_selector("#columns tbody tr")
    assert page.locator("#columns th[data-role]").count() >= 5
    assert finished(page)
    page.click("#go-home")
    page.wait_for_selector("#studies img")
    assert serious(page) == []


def test_a_changed_role_says_whether_all_adds_up_and_disables_run(page, address, tmp_path):
    rng = np.random.default_rng(0)  # a column per group: a long file has no column that could lose its group
    frame = pd.DataFrame(rng.integers(50, 400, (40, 4)), columns=["white", "black", "yes", "no"])
    frame["no"] = frame["white"] + frame["black"] + 400 - frame["yes"]
    frame["black"] += 400
    frame.insert(0, "precinct", [f"p{k}" for k in range(40)])
    frame.to_csv(tmp_path / "wide.csv", index=False)
    uploaded(page, address, tmp_path / "wide.csv")
    assert page.inner_text("#sums").startswith("Adds up in all 40 units: ")
    at = page.evaluate(
        "() => [...document.querySelectorAll('#columns th')].findIndex((th) => th.dataset.role === 'groups')"
    )
    assert at >= 0
    menu = page.locator("#columns th").nth(at).locator("select")
    menu.select_option("")
    page.wait_for_selector("#sums.bad")
    assert page.is_disabled("#run")
    assert "problem.toml" not in page.inner_text("#message")
    assert "/" not in page.inner_text("#message")  # the file's name, not where the app keeps it
    menu.select_option("groups")
    page.wait_for_selector("#sums:not(.bad):has-text('Adds up')")
    assert page.is_enabled("#run")


def test_several_contests_have_one_report_with_links_to_each(page, address, files):
    uploaded(page, address, files["contests"])
    assert "outcomes of" in page.inner_text("#columns")
    typed(page, "method", "Goodman")
    assert finished(page) == "contests: 2 contests"
    report = page.frame_locator("#report")
    report.locator("ul.links a").first.click()
    report.locator("#s1-provenance").wait_for()
    shot(page, "contests-1280")


def test_rows_to_tables_to_a_private_release_shows_the_budget_first(page, address, files):
    pytest.importorskip("opendp")
    uploaded(page, address, files["maxent"])
    tab_to(page, "private-summary")
    page.keyboard.press("Enter")
    typed(page, "count-label", "click")
    press(page, "count")
    page.wait_for_selector("#release-fields:not([disabled])")
    assert page.is_disabled("#release")  # not before the cost was shown
    tab_to(page, "epsilon")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.5")
    tab_to(page, "public-levels")
    page.keyboard.press("Space")
    press(page, "plan")
    page.wait_for_selector("#plan-text:not(:empty)")
    assert "will spend epsilon 0.5 for good. Nothing has been spent yet" in page.inner_text("#plan-text")
    assert "noise on every count: geometric of scale 2" in page.inner_text("#plan-text")
    assert page.is_hidden("#released")
    shot(page, "release-plan-1280")
    press(page, "release")
    page.wait_for_selector("#released:not([hidden]), #message:not([hidden])")
    assert not page.is_visible("#message"), page.inner_text("#message")
    assert page.locator("#released-files a").count() > 0
    assert page.evaluate("() => document.activeElement.id") == "released"
    assert serious(page) == []
    page.reload()
    page.wait_for_selector("#released-files a", state="attached")


def test_a_killed_server_loses_nothing(page, votes, tmp_path, serve):
    with serve(tmp_path) as url:
        uploaded(page, url, votes)
        page.select_option("#method", "MultinomialDirichlet")
        page.click("#run")
        page.wait_for_selector("#cancel:not([hidden])")
    with serve(tmp_path) as url:
        page.goto(f"{url}#votes")
        page.wait_for_selector("#run:not([hidden]), #cancel:not([hidden])")
        page.wait_for_selector("#columns tbody tr")
        if page.is_visible("#cancel"):  # the child outlived its server
            page.click("#cancel")
            page.wait_for_selector("#run:not([hidden])")
        page.select_option("#method", "Bounds")  # another problem than the one that was interrupted
        assert finished(page)
