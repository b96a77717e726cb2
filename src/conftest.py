"""Examples that load a public data set run where the set is, and are skipped with a reason where it is not."""

from __future__ import annotations

import re

import pytest


def pytest_collection_modifyitems(items):
    """Skip doctests of the loaders whose files are absent."""
    for item in items:
        if not (isinstance(item, pytest.DoctestItem) and item.name.startswith("sumwise.datasets.")):
            continue
        from sumwise.datasets.store import entries

        text = "".join(example.source for example in item.dtest.examples)
        wanted = {name for name in re.findall(r"datasets\.(\w+)\(", text) if name in entries()}
        absent = sorted(name for name in wanted if not entries()[name].present)
        if absent:
            reason = f"the public data set {absent[0]!r} is not on this machine (set SUMWISE_DATA)"
            item.add_marker(pytest.mark.skip(reason=reason))
