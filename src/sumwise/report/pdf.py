"""A page as PDF, by a browser or by WeasyPrint, where one is installed."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from sumwise.errors import DataError, MissingExtra

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pdf-header-footer",
)


def write_pdf(page: Any, out: Any, seconds: float = 120.0) -> Path:
    """Print an HTML file to a PDF file.

    Parameters
    ----------
    page : path
        The HTML file. It loads nothing from outside.
    out : path
        The file to write.
    seconds : float, default 120
        How long a browser may take.

    Raises
    ------
    MissingExtra
        Neither a Chromium browser nor WeasyPrint is installed.
    """
    page, out = Path(page).resolve(), Path(out).resolve()
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as profile:
        made = Path(profile) / "page.pdf"
        if browser is not None:
            command = [browser, *FLAGS, f"--user-data-dir={profile}/user", f"--print-to-pdf={made}", page.as_uri()]
            try:
                done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)  # noqa: S603
            except subprocess.TimeoutExpired:
                raise DataError(
                    f"{Path(browser).name} did not print within {seconds:g} s.", hint="try again."
                ) from None
            if done.returncode or not made.exists():
                said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
                raise DataError(f"{Path(browser).name} could not print the page ({said[0]}).")
        elif importlib.util.find_spec("weasyprint") is not None:
            import weasyprint  # type: ignore[import-not-found]

            weasyprint.HTML(filename=str(page)).write_pdf(str(made))
        else:
            raise MissingExtra(
                "A PDF needs Chromium (or Chrome, Edge) or WeasyPrint; none is installed.",
                hint="install one of them, or open report.html and print it from any browser.",
            )
        shutil.move(made, out)
    return out
