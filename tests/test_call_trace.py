"""The counter counts functions of sumwise, and nothing else."""

from call_trace import trace
from sumwise.report.rounding import cell


def test_functions_files_and_depth_are_counted():
    found = trace(lambda: (cell(0.5, "points"), cell(None, "share"), len("other packages")))
    assert found.functions == {("report/rounding.py", "cell"), ("report/rounding.py", "_signed")}
    assert found.files == {"report/rounding.py"}
    assert found.depth == 2
    assert trace(lambda: cell(0.5, "share"), without=("report",)).functions == frozenset()
