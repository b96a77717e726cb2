"""What all tests and examples share."""

import pytest

import public_data


def pytest_collection_modifyitems(items):
    """Run the examples of sumwise.datasets where the data are, and say so where they aren't."""
    if public_data.present():
        return
    for item in items:
        if isinstance(item, pytest.DoctestItem) and "sumwise/datasets" in item.path.as_posix():
            item.add_marker(pytest.mark.skip(reason=public_data.REASON))
