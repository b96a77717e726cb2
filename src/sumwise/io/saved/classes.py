"""sumwise's own containers, rebuilt through their constructors, and estimators; public classes only."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import Any

from sumwise.domain import LearnedLevels
from sumwise.errors import DataError, SumwiseError
from sumwise.io.saved.json_tree import Decoder, Encoder, refuse

PUBLIC = (
    "sumwise.domain",
    "sumwise.margins",
    "sumwise.contests",
    "sumwise.bags",
    "sumwise.table",
    "sumwise.sparse_table",
    "sumwise.tables",
    "sumwise.noise",
    "sumwise.provenance",
    "sumwise.encoding",
    "sumwise.encoding.rules",
    "sumwise.fit",
    "sumwise.estimate",
    "sumwise.draws",
    "sumwise.features",
    "sumwise.aggregate",
    "sumwise.privacy",
    "sumwise.ecological",
    "sumwise.voting",
    "sumwise.proportions",
    "sumwise.proportions.individuals",
    "sumwise.distribution",
    "sumwise.distribution.columns",
    "sumwise.distribution.set_response",
    "sumwise.collective",
    "sumwise.flows",
    "sumwise.maxent",
)
"""The modules whose public classes a file may name; no other module is ever imported for a file."""

MOVED_MODULES = {
    "sumwise.encoding_rules": "sumwise.encoding.rules",
}
"""Modules as files of earlier versions name them."""


def public_name(cls: type) -> str | None:
    """Return the name by which a file calls a class, or None for one that no public module offers.

    Examples
    --------
    >>> from sumwise.io.saved.classes import public_name
    >>> public_name(dict) is None
    True
    """
    home = [m for m in PUBLIC if cls.__module__ == m or cls.__module__.startswith(f"{m}.")]
    others = [m for m in PUBLIC if m in sys.modules and m not in home]  # that offer a class from elsewhere
    for module in home + others:
        if _lookup(module, cls.__name__) is cls:
            return f"{module}.{cls.__name__}"
    return None


def public_class(name: Any, where: str) -> type:
    """Return the container or estimator that a file names; refuse anything else without importing it."""
    module, _, short = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    module = MOVED_MODULES.get(module, module)
    found = _lookup(module, short) if module in PUBLIC else None
    if found is None or not (_is_noun(found) or _is_estimator(found)):
        raise DataError(
            f"{where}: the file contains an object of the unknown class {name!r}.",
            hint="only sumwise's public containers and estimators are loaded; a newer sumwise may know it.",
        )
    return found


def encode(encoder: Encoder, value: Any, where: str) -> Any:
    """Encode a container by the arguments of its constructor, an estimator by its attributes."""
    if isinstance(value, LearnedLevels):
        return {"tuple": encoder.each(value, where)}  # their Domain keeps that they were learned
    cls = getattr(type(value), "_saved_as", type(value))
    if not (_is_noun(cls) or _is_estimator(cls)):
        return None
    name = public_name(cls)
    if name is None:
        refuse(value, where, hint="only public containers and estimators of sumwise are.")
    if _is_noun(cls):
        fields = {name: getattr(value, name) for name in _parts(cls)}
        return {"noun": {"class": name, "fields": encoder.named(fields, where)}}
    check_attributes(cls, vars(value), where)
    return {"estimator": {"class": name, "attributes": encoder.named(vars(value), where)}}


def decode(decoder: Decoder, tag: str, body: Any, where: str) -> Any:
    """Decode a container or an estimator."""
    cls = public_class(body["class"], where)
    if _is_noun(cls) != (tag == "noun"):
        raise DataError(f"{where}: the file contains a {cls.__name__} as {tag}.")
    if tag == "noun":
        return _build(cls, decoder.named(body["fields"], where), where)
    attributes = decoder.named(body["attributes"], where)
    if hasattr(cls, "_migrated"):  # how an estimator reads what an earlier version of it wrote
        attributes = cls._migrated(attributes)
    check_attributes(cls, attributes, where)
    estimator = cls()  # its defaults: a parameter that the saving version didn't have yet
    vars(estimator).update(attributes)
    try:
        estimator._check_rebuilt()
    except SumwiseError as error:
        raise DataError(f"{where}: {error.message}", hint=error.hint) from error
    return estimator


def check_attributes(cls: Any, attributes: dict[str, Any], where: str, strict: bool = True) -> None:
    """Refuse attributes that would hide a method; if strict, also what is neither learned nor a parameter."""
    parameters = set(cls._get_param_names())
    for name in attributes:
        if name.startswith("__") or not name.isidentifier() or callable(getattr(cls, name, None)):
            raise DataError(f"{where}.{name}: an estimator of class {cls.__name__} has no such attribute.")
        if strict and name not in parameters and not (name.endswith("_") or name.startswith("_")):
            hint = "what is learned ends in '_'; a file from a newer sumwise may contain newer parameters."
            raise DataError(f"{where}.{name}: {cls.__name__} has no such parameter.", hint=hint)


def _build(cls: type, fields: dict[str, Any], where: str) -> Any:
    known = set(_parts(cls))
    if not set(fields) <= known:
        unknown = sorted(set(fields) - known)
        raise DataError(f"{where}: the file gives {unknown} to a {cls.__name__}, which has no such part.")
    try:
        return getattr(cls, "_restored", cls)(**fields)
    except SumwiseError as error:
        raise DataError(f"{where}: {error.message}", hint=error.hint) from error


def _parts(cls: Any) -> tuple[str, ...]:
    """The arguments that a container is built of: its fields, or those that it names itself in `_saved`."""
    return getattr(cls, "_saved", None) or tuple(f.name for f in dataclasses.fields(cls) if f.init)


def _lookup(module: str, name: str) -> Any:
    """Return a public name of one of the modules above, None where it has none."""
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name == module:
            return None
        raise
    return getattr(found, name, None) if name in getattr(found, "__all__", ()) else None


def _is_noun(cls: Any) -> bool:
    return isinstance(cls, type) and dataclasses.is_dataclass(cls) and not hasattr(cls, "get_params")


def _is_estimator(cls: Any) -> bool:
    from sumwise.estimator import Estimator

    return isinstance(cls, type) and issubclass(cls, Estimator)
