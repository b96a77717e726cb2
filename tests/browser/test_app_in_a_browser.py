"""A person's ways through the app in a real browser: ``make browser`` installs what this needs and runs it.

Needs playwright, Chromium and axe-core (``SUMWISE_BROWSER`` names the folder of the latter); skipped elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sumwise import synthetic
from sumwise.readers import write_margins

AXE = Path(os.environ.get("SUMWISE_BROWSER", "")) / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-background-networking"]
FLAGS += ["--disable-component-update"]
LONG = 900_000  # milliseconds: longer than all tests may take in .ci/browser, so that no wait fails on a busy machine

pytestmark = [
    pytest.mark.skipif("SUMWISE_BROWSER" not in os.environ, reason="make browser runs these"),
    pytest.mark.filterwarnings("default"),
]


@contextmanager
def serving(folder):
    """A server of its own and its address; it is killed at the end, whatever happened."""
    command = [sys.executable, "-m", "sumwise", "serve", str(folder / "ws"), "--port", "0", "--json"]
    own = {**os.environ, "SUMWISE_STATE": str(folder / "state")}  # as every run releases the same tables
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own) as server:
        try:
            said = ""
            while "}" not in said:
                line = server.stdout.readline()
                assert line, "the server ended"
                said += line
            yield json.loads(said)["url"]
        finally:
            server.kill()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("app")) as url:
        yield url


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    found = context.new_page()
    found.set_default_timeout(LONG)
    yield found
    context.close()


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "votes.csv"
    write_margins(synthetic.precincts(40, random_state=0).margins, path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory, votes):
    """A small file, or two, for every family."""
    folder, rng = tmp_path_factory.mktemp("families"), np.random.default_rng(0)

    def written(name, frame):
        frame.to_csv(folder / name, index=False)
        return str(folder / name)

    bags = [f"r{k}" for k in range(20)]
    income = [rng.normal(mean, 1.0, 20).round(3) for mean in rng.normal(0, 1.5, 20)]
    people = pd.DataFrame({"region": np.repeat(bags, 20), "income": np.concatenate(income)})
    yes = [int((rng.random(20) < 1 / (1 + np.exp(-x))).sum()) for x in income]
    results = pd.DataFrame({"region": bags, "yes": yes, "no": [20 - n for n in yes]})
    dose = rng.uniform(1, 5, 25).round(3)
    samples = pd.DataFrame({"patient": np.repeat([f"p{k}" for k in range(25)], 12), "size": 0.0})
    samples["size"], samples["dose"] = rng.gamma(np.repeat(dose, 12)).round(3), np.repeat(dose, 12)
    places = [(t, i, j) for t in range(4) for i in range(2) for j in range(2)]
    counts = pd.DataFrame(places, columns=["week", "x", "y"])
    counts["site"] = [f"site {i}{j}" for _, i, j in places]
    counts["count"] = [int(100 * np.exp(-((i + j - t / 2) ** 2))) for t, i, j in places]
    level = rng.integers(0, 3, 900)
    clicks = pd.DataFrame({"age": np.array(["young", "middle", "old"])[level]})
    clicks["device"] = rng.choice(["phone", "desktop"], 900)
    clicks["click"] = (rng.random(900) < 0.1 + 0.3 * level).astype(int)
    contests = pd.DataFrame({"precinct": [f"p{k}" for k in range(30)], "total": rng.integers(300, 600, 30)})
    for one, two in (("white", "black"), ("mayor_yes", "mayor_no"), ("judge_yes", "judge_no")):
        contests[one] = (rng.uniform(0.2, 0.8, 30) * contests["total"]).round().astype(int)
        contests[two] = contests["total"] - contests[one]
    return {
        "ecological": [str(votes)],
        "proportions": [written("people.csv", people), written("results.csv", results)],
        "distribution": [written("samples.csv", samples)],
        "collective": [written("counts.csv", counts)],
        "maxent": [written("clicks.csv", clicks)],
        "contests": [written("contests.csv", contests)],
    }


def shot(page, name):
    folder = os.environ.get("SUMWISE_SHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def tab_to(page, wanted, most=80):
    """Press Tab until the element has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.id") == wanted:
            return
    raise AssertionError(f"Tab never reaches #{wanted}")


def press(page, wanted):
    """Go to a button by Tab, and press it."""
    tab_to(page, wanted)
    page.keyboard.press("Enter")


def typed(page, wanted, words):
    """Go to a menu by Tab, and choose an option by typing its words."""
    tab_to(page, wanted)
    page.keyboard.type(words)
    assert page.evaluate(f"() => document.getElementById('{wanted}').selectedOptions[0].text") == words


def file_dialog(page, tries=90):
    """Open the dialog of the file input that has the focus; headless Chromium now and then ignores a key there."""
    api = pytest.importorskip("playwright.sync_api")
    for _ in range(tries):
        try:
            with page.expect_file_chooser(timeout=LONG / tries) as dialog:
                page.keyboard.press("Space")
            return dialog.value
        except api.TimeoutError:
            continue
    raise AssertionError("No key opens the dialog.")


def uploaded(page, address, file):
    """Choose a file, or several, with the keyboard, and wait until they are read."""
    page.goto(address)
    page.wait_for_selector("#home:not([hidden])")
    tab_to(page, "file")
    file_dialog(page).set_files(file if isinstance(file, list) else str(file))
    page.wait_for_selector("#columns tbody tr, #message:not([hidden])")
    assert not page.is_visible("#message"), page.inner_text("#message")


def finished(page):
    """Run with the keyboard, wait for the end, and return the title of the report."""
    press(page, "run")
    page.wait_for_selector("#result:not([hidden]), #message:not([hidden])")
    assert not page.is_visible("#message"), page.inner_text("#message")
    title = page.frame_locator("#report").locator("h1")
    title.wait_for()
    return title.inner_text()


def serious(page):
    """Findings of axe-core that keep people out; none where axe-core is not installed (make browser does)."""
    if not AXE.exists():
        return []
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("() => axe.run()")["violations"]
    return [f"{v['id']}: {v['help']}" for v in found if v["impact"] in ("serious", "critical")]


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


def test_a_wrong_file_says_what_is_wrong(page, address, tmp_path):
    (tmp_path / "odd.csv").write_text("just words\nno numbers\n")
    page.goto(address)
    page.set_input_files("#file", str(tmp_path / "odd.csv"))
    page.wait_for_selector("#message:not([hidden])")
    assert "odd.csv" in page.inner_text("#message")


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
    tab_to(page, "download-all")
    with page.expect_download():
        page.keyboard.press("Enter")
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


def test_a_killed_server_loses_nothing(page, votes, tmp_path):
    with serving(tmp_path) as url:
        uploaded(page, url, votes)
        page.select_option("#method", "MultinomialDirichlet")
        page.click("#run")
        page.wait_for_selector("#cancel:not([hidden])")
    with serving(tmp_path) as url:
        page.goto(f"{url}#votes")
        page.wait_for_selector("#run:not([hidden]), #cancel:not([hidden])")
        page.wait_for_selector("#columns tbody tr")
        if page.is_visible("#cancel"):  # the child outlived its server
            page.click("#cancel")
            page.wait_for_selector("#run:not([hidden])")
        page.select_option("#method", "Bounds")  # another problem than the one that was interrupted
        assert finished(page)
