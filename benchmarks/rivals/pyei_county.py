"""One county by PyEI's multinomial-Dirichlet model: python pyei_county.py IN.npz. Prints shares and intervals.

IN has `rows` and `cols` (units x groups, units x outcomes). Two chains of 1,500 tuning steps and 1,000 draws.
"""

import contextlib
import io
import json
import sys

import numpy as np
import pyei


def main() -> None:
    given = np.load(sys.argv[1])
    rows, cols = given["rows"], given["cols"]
    n, names = rows.sum(axis=1), [["w", "b", "n"], ["d", "r", "o"]]
    how = {"draws": 1000, "tune": 1500, "chains": 2, "cores": 1, "random_seed": 0, "progressbar": False}
    model = pyei.RowByColumnEI(model_name="multinomial-dirichlet")
    with contextlib.redirect_stdout(io.StringIO()):
        model.fit((rows / n[:, None]).T, (cols / n[:, None]).T, n.astype(int), *names, **how)
    lower, upper = np.moveaxis(np.asarray(model.credible_interval_95_mean_voting_prefs), -1, 0)
    shares = np.asarray(model.posterior_mean_voting_prefs)
    print(json.dumps({"shares": shares.tolist(), "lower": lower.tolist(), "upper": upper.tolist()}))


if __name__ == "__main__" and len(sys.argv) > 1:
    main()
