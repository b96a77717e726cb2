"""What a person does in the app with the keyboard alone, and what axe-core finds on the page."""

from __future__ import annotations

import os
from pathlib import Path

AXE = Path(os.environ.get("SUMWISE_BROWSER", "")) / "node_modules" / "axe-core" / "axe.min.js"
LONG = 200_000  # milliseconds: seven times the slowest test on a busy machine, a third of the limit of .ci/browser


def shot(page, name):
    folder = os.environ.get("SUMWISE_SHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


KEY = """(wanted) => {
  const here = document.activeElement, there = document.getElementById(wanted);
  if (here === there) return "";
  const back = here && here !== document.body && here.compareDocumentPosition(there) & Node.DOCUMENT_POSITION_PRECEDING;
  return back ? "Shift+Tab" : "Tab";
}"""


def tab_to(page, wanted, most=120):
    """Press Tab, or Shift+Tab where it is above, until the element has the focus; first wait until it can have it."""
    page.wait_for_selector(f"#{wanted}:not(:disabled)")
    for _ in range(most):
        key = page.evaluate(KEY, wanted)
        if not key:
            return
        page.keyboard.press(key)
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


def file_dialog(page, opened):
    """Open the dialog of the file input that has the focus; headless Chromium now and then ignores a key there."""
    for tenth in range(LONG // 100):
        if tenth % 20 == 0:
            page.keyboard.press("Space")
        page.wait_for_timeout(100)
        if opened:
            return opened[0]
    raise AssertionError("No key opens the dialog.")


def uploaded(page, address, file):
    """Choose a file, or several, with the keyboard, and wait until they are read."""
    opened = []
    page.on("filechooser", lambda dialog: opened.append(dialog))  # noqa: PLW0108
    page.goto(address)
    page.wait_for_selector("#home:not([hidden])")
    tab_to(page, "file")
    file_dialog(page, opened).set_files(file if isinstance(file, list) else str(file))
    page.wait_for_selector("#columns tbody tr, #message:not([hidden]), #questions:not([hidden])")
    assert not page.is_visible("#message"), page.inner_text("#message")
    assert not page.is_visible("#questions"), page.inner_text("#questions")


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
