"""Which classes a file may name, and what they are rebuilt from."""

import dataclasses
import importlib
import sys

import pytest

import sumwise
from messages import raises
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.io.saved import classes
from sumwise.io.saved.classes import PUBLIC, public_class, public_name
from sumwise.io.saved.json_tree import Encoder


def test_containers_are_public_under_their_own_module():
    for name in ("Domain", "Margins", "Bags", "Table", "Tables", "Fit", "Estimate"):
        cls = getattr(sumwise, name)
        told = public_name(cls)
        assert told == f"{cls.__module__}.{name}"
        assert public_class(told, "x") is cls


def test_every_noun_and_estimator_of_the_families_can_be_named():
    found = 0
    for module in PUBLIC:
        try:
            offered = importlib.import_module(module)
        except ModuleNotFoundError as error:
            assert error.name == module  # noqa: PT017 (a family that isn't there yet)
            continue
        for name in getattr(offered, "__all__", ()):
            cls = getattr(offered, name)
            if isinstance(cls, type) and (dataclasses.is_dataclass(cls) or issubclass(cls, Estimator)):
                found += 1
                assert public_class(public_name(cls), name) is cls
    assert found >= 18


def test_constructor_takes_what_the_fields_hold():
    """Nouns come back through their constructors, so each public field has to be an argument."""
    for module in PUBLIC:
        try:
            offered = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        for name in getattr(offered, "__all__", ()):
            cls = getattr(offered, name)
            if isinstance(cls, type) and dataclasses.is_dataclass(cls) and not issubclass(cls, Estimator):
                hidden = [f.name for f in dataclasses.fields(cls) if not f.init and not f.name.startswith("_")]
                assert not hidden, f"{cls.__name__} would lose {hidden}"


def test_unknown_module_is_never_imported():
    assert "this" not in sys.modules
    with raises(DataError, "file-holds-object", "this.s"):
        public_class("this.s", "x")
    assert "this" not in sys.modules


@pytest.mark.parametrize("name", ["sumwise.fit.warnings", "sumwise.fit.Mapping", "sumwise.fit.warn_not_converged"])
def test_names_that_are_not_offered_or_no_noun_are_refused(name):
    with raises(DataError, "file-holds-object"):
        public_class(name, "x")


def test_broken_module_is_not_taken_for_a_missing_one(monkeypatch, tmp_path):
    (tmp_path / "sumwise_broken.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        classes._lookup("sumwise_broken", "X")


def test_other_objects_of_sumwise_are_refused():
    with raises(DataError, "cant-saved", "sumwise.errors.DataError"):
        Encoder().encode(DataError("x"), "x")
