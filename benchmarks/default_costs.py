"""What three fits with defaults cost: the report on Bank, steps on Adult, Chile from a subsample.

    python benchmarks/default_costs.py [bank adult chile]    # about two CPU minutes

bank: a fit and its report; `draws of a report` counts how often it samples rows from the model. adult: steps until the
moments agree, steps in all (the rest averages out the error of sampling), the NLLH of the test rows and the total
variation over pairs (of the model's expected tables from those of the training rows), over ten seeds, beside those of
other averages, whose differences from the default are paired by seed. chile: `EcologicalEM` on 46,606 units of 8 x 9,
which starts from a subsample; passes are those over all units. CPU seconds of one thread, kernels compiled before.
Writes benchmarks/results/default_costs.json, part by part.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
from private_tables import variation
from run_record import run_record

from maxent import fitted, load, score
from sumwise import datasets
from sumwise.ecological import EcologicalEM
from sumwise.maxent import MaxEntClassifier, SolverOptions, training
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.report import report

RESULTS = Path(__file__).parent / "results" / "default_costs.json"
WARM = SolverOptions(max_iter=3)
AVERAGES = 0.25, 0.5, 2.0  # steps besides those until moments agree, as a share of them


def bank() -> dict[str, Any]:
    """The report of a model with defaults."""
    task = load("bank", "width")
    fitted(MaxEntClassifier(options=WARM, random_state=0), task)
    model, seconds = fitted(MaxEntClassifier(random_state=0), task)
    drawn: list[int] = []
    real = LogLinearModel.draw

    def draw(self: Any, n: int, *given: Any, **options: Any) -> Any:
        drawn.append(n)
        return real(self, n, *given, **options)

    LogLinearModel.draw = draw  # type: ignore[method-assign]
    try:
        begin = time.process_time()
        report(model, task.tables)
        taken = time.process_time() - begin
    finally:
        LogLinearModel.draw = real  # type: ignore[method-assign]
    return {"cpu_s of the fit": seconds, "cpu_s of the report": taken, "rows of each draw": drawn}


def adult(seeds: int = 10) -> dict[str, Any]:
    """Steps with defaults, and with longer averages."""
    task = load("adult", "width")
    fitted(MaxEntClassifier(options=WARM, random_state=0), task)
    usual, lines = training.AVERAGED, []
    for seed in range(seeds):
        for share in dict.fromkeys((usual, *AVERAGES)):
            training.AVERAGED = share
            model, seconds = fitted(MaxEntClassifier(random_state=seed), task)
            found = {"NLLH": score(model, task), "variation": variation(model, task.tables)}
            lines.append({"seed": seed, "averaged": share, "steps": model.fit_.n_iter, "cpu_s": seconds} | found)
            print(lines[-1], flush=True)
    training.AVERAGED = usual
    frame = pd.DataFrame(lines).set_index("seed")
    default = frame[frame["averaged"] == usual]
    out: dict[str, Any] = run_record(averaged=usual, seeds=seeds, means={})
    for share, part in frame.groupby("averaged"):
        row = {k: float(part[k].mean()) for k in ("steps", "cpu_s", "NLLH", "variation")}
        for k in ("NLLH", "variation"):
            apart = part[k] - default[k]
            row |= {f"{k} above the default's": float(apart.mean()), f"{k}, error": float(apart.sem())}
        out["means"][f"{share:g}"] = row
    return out | {"draws": lines}


def chile() -> dict[str, Any]:
    """A fit without intervals."""
    margins = datasets.chile_2021(mismatch="rescale").margins
    EcologicalEM(n_groups=2, max_iter=2).fit(margins[:5000])
    begin = time.process_time()
    model = EcologicalEM(random_state=0).fit(margins)
    taken = time.process_time() - begin
    return {"units": len(margins), "cpu_s": taken, "passes": model.fit_.n_iter, "converged": bool(model.fit_.converged)}


PARTS = {"bank": bank, "adult": adult, "chile": chile}


def main() -> None:
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or PARTS:
        found = PARTS[name]()
        print(name, found, flush=True)
        kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
        kept |= run_record(seed=0) | {name: {**run_record(seed=0), **found}}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
