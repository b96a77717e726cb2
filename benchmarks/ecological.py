"""Ecological inference: errors, coverage and times on real contests with truth, beside 16 published methods.

    python benchmarks/ecological.py                       # everything (about 5 minutes on two cores)
    python benchmarks/ecological.py contests senc         # some parts: contests, senc, matproii, chile, raw
    python benchmarks/ecological.py contests --every 10   # a tenth of the contests

What had to be chosen (the determinant's weight, the pseudo-count, the intervals' width) was chosen on the contests of
New Zealand 2005 and 2011 and Scotland 2007; the figures to quote are those of New Zealand 2002, 2008 and 2014. CPU
seconds, after compilation. Needs the public data sets (see `sumwise datasets`). Writes
benchmarks/results/ecological.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from pathlib import Path

import numpy as np

from sumwise import datasets
from sumwise.ecological import Bounds, EcologicalEM, King, MultinomialDirichlet, error_index, validate
from sumwise.ecological.calibration import CHOSEN_ON

RESULTS = Path(__file__).parent / "results" / "ecological.json"


def contests(every):
    """Every contest by our methods, and the published scores of the same contests."""
    chosen = datasets.contests()[::every]
    EcologicalEM().fit(chosen[0].margins)
    quick = validate(EcologicalEM(n_groups=0), chosen)
    ours = validate(EcologicalEM(), chosen)
    print(ours.to_text())
    published = datasets.published_ei_scores()
    keys = {(c.dataset, c.district) for c in chosen}
    published = published[[key in keys for key in zip(published["dataset"], published["district"])]]
    mean = published.groupby(["method", "dataset", "district"], as_index=False)[["EI_V", "runtime_s"]].mean()
    mean["half"] = np.where(mean["dataset"].isin(CHOSEN_ON), "chosen on", "reported")
    table = mean.pivot_table(index="method", columns="half", values="EI_V")
    table["all"] = mean.groupby("method")["EI_V"].mean()
    table["seconds"] = mean.groupby("method")["runtime_s"].mean()
    frame = ours.frame
    halves = frame.groupby("chosen")["index"].mean()
    row = [
        halves.get(True, np.nan),
        halves.get(False, np.nan),
        frame["index"].mean(),
        quick.frame["seconds_fit"].mean(),
    ]
    table.loc["sumwise EcologicalEM"] = row
    table = table.sort_values("all")
    print("\nMean error index, published scores on the same contests (their seconds are of their machine):")
    print(table.to_string(float_format="%.3f"))
    print(f"\nSeconds per contest: {row[3]:.3f} point estimates, {frame['seconds'].mean():.3f} with intervals")
    return {"table": table.reset_index().to_dict("records"), "summary": ours.summary().to_dict("records")}


def senc(_):
    """Three methods where the truth is known: 212 precincts, 3 x 3."""
    election, rows = datasets.senc(), []
    MultinomialDirichlet(n_draws=20, max_draws=20, r_hat=99.0).fit(election.margins[:30])
    for method in (MultinomialDirichlet(), EcologicalEM(), King(strategy="multivariate", n_draws=500)):
        begin = time.process_time()
        est = method.fit(election.margins)
        seconds = time.process_time() - begin
        estimate = est.estimate()
        rows.append(
            {
                "method": type(method).__name__,
                "index": error_index(est.total_, election.total),
                "covered": f"{int(estimate.covers(election.shares).sum())} of 9",
                "width": float(np.diff(estimate.interval, axis=0).mean()),
                "worst R-hat": float(est.r_hat_.max()) if hasattr(est, "r_hat_") else float("nan"),
                "seconds": seconds,
            }
        )
    return show("senc", rows)


def matproii(_):
    """King's parameters and the bounds, against the reference implementation."""
    m = datasets.matproii().margins
    King(n_draws=10).fit(m)
    begin = time.process_time()
    est = King().fit(m)
    seconds = time.process_time() - begin
    bounds = Bounds().fit(m)
    phi = [1.2671900, 1.9349556, -1.1149542, -1.3270775, 1.6053564]
    rows = [{"what": f"phi {k}", "ours": float(a), "reference": b} for k, (a, b) in enumerate(zip(est.phi_, phi))]
    for k, (name, value) in enumerate((("Bb", 0.5712), ("Bw", 0.8178))):
        rows.append({"what": name, "ours": float(est.shares_[k, 0]), "reference": value})
    rows.append({"what": "lower bound Bb", "ours": float(bounds.lower_bound_[0, 0]), "reference": 0.2125903})
    rows.append({"what": "seconds", "ours": seconds, "reference": 0.2})
    return show("matproii", rows)


def chile(_):
    """The scale test."""
    m = datasets.chile_2021(mismatch="rescale").margins
    small = m[:5000]
    EcologicalEM(n_groups=2, max_iter=2).fit(small) if len(small) else None
    begin, wall = time.process_time(), time.perf_counter()
    est = EcologicalEM().fit(m)
    row = {
        "units": len(m),
        "table": f"{m.n_rows} x {m.n_cols}",
        "CPU seconds": time.process_time() - begin,
        "wall seconds": time.perf_counter() - wall,
        "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "converged": est.fit_.converged,
    }
    return show("chile", [row])


def raw(every):
    """Contests before small options are merged: up to 26 x 15."""
    done = validate(EcologicalEM(), datasets.contests(merged=False)[:: 8 * every])
    print(done.to_text())
    return done.summary().to_dict("records")


def show(title, rows):
    import pandas as pd

    print(f"\n{title}\n{pd.DataFrame(rows).to_string(index=False, float_format='%.4f')}")
    return rows


PARTS = {"contests": contests, "senc": senc, "matproii": matproii, "chile": chile, "raw": raw}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--every", type=int, default=1, help="take every k-th contest")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {name: PARTS[name](asked.every) for name in asked.parts}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, default=float))


if __name__ == "__main__":
    main()
