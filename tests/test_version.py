import re
import tomllib
from pathlib import Path

import sumwise
from sumwise.version import __version__


def test_the_version_has_one_home():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/sumwise/version.py"
    assert sumwise.__version__ == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
