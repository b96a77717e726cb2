"""What three fits with defaults cost: the report on Bank, steps on Adult, Chile from a subsample.

    python benchmarks/default_costs.py [bank adult chile]    # about two CPU minutes

bank: a fit and its report; `draws of a report` counts how often it samples rows from the model. adult: steps until the
moments agree, steps in all (the rest averages out the error of sampling), and the NLLH of the test rows at the end,
and beside it with as many steps again. chile: `EcologicalEM` on 46,606 units of 8 x 9, which starts from a subsample;
passes are those over all units. CPU seconds of one thread, kernels compiled before.
Writes benchmarks/results/default_costs.json, part by part.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from maxent import fitted, load, score
from sumwise import datasets
from sumwise.ecological import EcologicalEM
from sumwise.maxent import MaxEntClassifier, SolverOptions, training
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.report import report

RESULTS = Path(__file__).parent / "results" / "default_costs.json"
WARM = SolverOptions(max_iter=3)


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


def adult() -> dict[str, Any]:
    """Steps with defaults, and with a longer average."""
    task = load("adult", "width")
    fitted(MaxEntClassifier(options=WARM, random_state=0), task)
    out: dict[str, Any] = {}
    usual = training.AVERAGED
    for name, share in (("defaults", usual), ("twice as many steps", 2 * (1 + usual) - 1)):
        training.AVERAGED = share
        model, seconds = fitted(MaxEntClassifier(random_state=0), task)
        steps = model.fit_.n_iter
        out[name] = {
            "steps": steps,
            "until moments agree": round(steps / (1 + share)),
            "NLLH": score(model, task),
            "cpu_s": seconds,
            "ms a step": 1000 * seconds / steps,
        }
    training.AVERAGED = usual
    return out


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
        kept |= {"command": "python benchmarks/default_costs.py", "seed": 0, name: found}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
