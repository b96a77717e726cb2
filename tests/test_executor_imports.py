"""What Spark's executors import is in the slim archive of `make pyspark-env`."""

import subprocess
import sys

LEFT_OUT = ("matplotlib", "duckdb", "jinja2", "typer", "rich", "starlette", "uvicorn", "torch", "opendp")
PROGRAM = f"""
import sys
for name in {LEFT_OUT!r}:
    sys.modules[name] = None
import sumwise.spark, sumwise.maxent.on_spark, sumwise.aggregate.on_spark
"""


def test_modules_of_executors_import_without_what_the_archive_leaves_out():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-800:]
