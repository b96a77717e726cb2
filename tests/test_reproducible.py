"""What docs/explanation/persistence.md promises: the same machine and versions give the same bits, in any process."""

import os
import subprocess
import sys
import textwrap

from architecture import SOURCE

FITS = """
    import hashlib, warnings
    import numpy as np
    from sumwise import Bags, Domain, Margins, Table, Tables
    from sumwise.distribution import BagRidge
    from sumwise.ecological import EcologicalEM
    from sumwise.maxent import MaxEntClassifier
    from sumwise.proportions import CardinalityClassifier
    from sumwise.collective import TreeModel, map_counts

    warnings.simplefilter("ignore")

    def show(name, *arrays):
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays))
        print(name, digest.hexdigest())

    rng = np.random.default_rng(0)
    rows = rng.integers(20, 200, (60, 2))
    yes = rng.binomial(rows[:, 0], 0.7) + rng.binomial(rows[:, 1], 0.2)
    em = EcologicalEM().fit(Margins(rows, np.stack([yes, rows.sum(1) - yes], 1)))
    show("ecological", em.cells_, *em.interval(0.95))
    values = [rng.normal(i / 30, 1, (15, 4)) for i in range(60)]
    bags = Bags.from_arrays(values)
    counts = np.array([int((v[:, 0] > 0.5).sum()) for v in values])
    show("proportions", CardinalityClassifier().fit(bags, counts).predict_proba(bags.values))
    show("distribution", BagRidge(random_state=0).fit(bags, counts.astype(float)).predict(bags))
    import pandas as pd
    frame = pd.DataFrame(rng.integers(0, 3, (500, 3)), columns=list("abc"))
    frame["y"] = (rng.random(500) < 0.2 + 0.2 * frame["a"]).astype(int)
    tables = Tables.from_frame(frame, ["a", "b", "c"], label="y")
    show("maxent", MaxEntClassifier(random_state=0).fit(tables).predict_proba(frame[["a", "b", "c"]]))
    domain = Domain({"a": 3, "b": 3})
    model = TreeModel(domain, [("a", "b")], {("a", "b"): rng.normal(size=(3, 3))})
    fit = map_counts(model, Tables([Table("a", [30.0, 50, 20]), Table("b", [40.0, 40, 20])], domain), n=100)
    show("collective", fit.edges["a", "b"])
"""


def fitted(**changes):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), *filter(None, sys.path)]),
        **changes,
    }
    command = [sys.executable, "-c", textwrap.dedent(FITS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_same_bits_in_another_process_with_other_threads_and_hashes():
    one = fitted(PYTHONHASHSEED="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    other = fitted(PYTHONHASHSEED="2", OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", NUMBA_NUM_THREADS="2")
    assert [line.split()[0] for line in one] == ["ecological", "proportions", "distribution", "maxent", "collective"]
    assert one == other
