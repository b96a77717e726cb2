"""A person's ways through the app in a real browser: ``make browser`` installs what this needs and runs it.

Needs playwright, Chromium and axe-core (``SUMWISE_BROWSER`` names the folder of the latter); skipped elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sumwise import synthetic
from sumwise.readers import write_margins

AXE = Path(os.environ.get("SUMWISE_BROWSER", "")) / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-background-networking"]
FLAGS += ["--disable-component-update"]
LONG = 300_000  # milliseconds, for busy machines

pytestmark = [
    pytest.mark.skipif("SUMWISE_BROWSER" not in os.environ, reason="make browser runs these"),
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("app")
    command = [sys.executable, "-m", "sumwise", "serve", str(folder / "ws"), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        said = ""
        while "}" not in said:
            line = server.stdout.readline()
            assert line, "the server ended"
            said += line
        yield json.loads(said)["url"]
        server.terminate()


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


def shot(page, name):
    folder = os.environ.get("SUMWISE_SHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def uploaded(page, address, file):
    page.goto(address)
    page.set_input_files("#file", str(file))
    page.wait_for_selector("#columns tbody tr")


def serious(page):
    """Findings of axe-core that keep people out."""
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
    shot(page, "study-390-dark")


def test_a_wrong_file_says_what_is_wrong(page, address, tmp_path):
    (tmp_path / "odd.csv").write_text("just words\nno numbers\n")
    page.goto(address)
    page.set_input_files("#file", str(tmp_path / "odd.csv"))
    page.wait_for_selector("#message:not([hidden])")
    assert "odd.csv" in page.inner_text("#message")


def test_cancel_and_reload_in_mid_run(page, address, votes, browser):
    uploaded(page, address, votes)
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


def test_the_keyboard_is_enough(page, address):
    page.goto(address)
    page.wait_for_selector("#home:not([hidden])")
    seen = []
    for _ in range(8):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("() => document.activeElement.id || document.activeElement.className"))
    assert "go-home" in seen
    assert "file" in seen
    assert serious(page) == []
    shot(page, "home-1280")


def test_nothing_leaves_the_machine(page, address, votes):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    uploaded(page, address, votes)
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
