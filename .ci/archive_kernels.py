"""Compile what Spark's executors run, beside its source in the folder that `make pyspark-env` packs.

    PYTHONPATH=folder python .ci/archive_kernels.py    # without NUMBA_CACHE_DIR

An archive is unpacked into a new folder for every application, so executors find compiled code only beside the source.
Numba uses it where the processor is of the same kind, and compiles anew elsewhere.
"""

import sys
from pathlib import Path

import numpy as np

import sumwise
from sumwise import Bags, synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.proportions import CardinalityClassifier

rng = np.random.default_rng(0)
tables = synthetic.rows(300, sizes=[4, 3, 5], rate=0.3, random_state=0).tables()
MaxEntClassifier(engine="gibbs", options=SolverOptions(n_chains=100, max_iter=3, tol=1.0), random_state=0).fit(tables)
values = rng.normal(size=(400, 2)) + np.repeat(rng.normal(size=(40, 2)), 10, axis=0)
bags = Bags(values, np.arange(0, 401, 10))
CardinalityClassifier(penalty=1.0).fit(bags, (values[:, 0] > 0).reshape(40, 10).sum(axis=1))
thirds = np.digitize(values[:, 0], [-0.5, 0.5]).reshape(40, 10)
CardinalityClassifier(penalty=1.0).fit(bags, np.stack([(thirds == k).sum(axis=1) for k in range(3)], axis=1))
folder = Path(sumwise.__file__).parent
sys.stdout.write(f"{len(list(folder.rglob('*.nbc')))} kernels compiled in {folder}\n")
