"""What could be imported and called when the second plan began (commit 1a903ce5) still can be.

``public_names.json`` was written by `public_names.py` at that commit.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import sumwise
from public_names import parameters, public_names

KEPT: dict[str, list[str]] = json.loads((Path(__file__).parent / "public_names.json").read_text("utf-8"))
DIFFERENT = {
    "sumwise.maxent:MaxEntClassifier.fit": "y came second, as scikit-learn gives it; other data there are refused",
    "sumwise.report:Summary": "the record that report() returns its summary as, built by no user",
    "sumwise.study.recognise:Guess": "what `sumwise init` guesses, built by no user",
    "sumwise.study.recognise:recognise": "the list of profiled files has another name",
    "sumwise.demo:choose": "the list of stories has another name",
}


def found(name: str) -> Any:
    """The object called ``package:name``."""
    package, _, inside = name.partition(":")
    return functools.reduce(getattr, inside.split("."), importlib.import_module(package))


def lost(before: list[str], called: Any) -> list[str]:
    """Parameters that a call by keyword, or by place, no longer reaches."""
    by_keyword = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(called).parameters.values())
    now = parameters(called)
    places, places_now = before[: before.index("*")], now[: now.index("*")]
    gone = [name for name in before if name not in now and not by_keyword]
    return gone + [name for name, other in zip(places, places_now) if name != other and not by_keyword]


@pytest.mark.parametrize("package", sorted({name.split(":")[0] for name in KEPT}))
def test_every_name_and_parameter_is_still_there(package):
    broken = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for name in (n for n in KEPT if n.startswith(f"{package}:")):
            held = found(name)
            if KEPT[name] and name not in DIFFERENT and (gone := lost(KEPT[name], held)):
                broken[name] = gone
    assert broken == {}


def test_names_that_are_no_longer_exported_warn():
    now = public_names(Path(sumwise.__file__).parent)
    gone = {n for n in KEPT if n not in now and "." not in n.split(":")[1]}
    for name in gone - {"sumwise.diagnostics:contextual"}:  # a function that warns when it is called
        with pytest.warns(DeprecationWarning, match=r"version 0\.3"):
            found(name)


def test_a_lost_parameter_is_found():
    assert lost(["a", "b", "*", "c"], lambda a, x, b=0, *, c=0: None) == ["b"]
    assert lost(["a", "*", "c"], lambda a: None) == ["c"]
    assert lost(["a", "*", "c"], lambda a, **options: None) == []
