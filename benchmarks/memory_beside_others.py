"""Peak memory of other systems and of ours on the same task, each in a process (and an environment) of its own.

  python benchmarks/memory_beside_others.py senc adult

senc: registration by race in 212 precincts, PyEI's multinomial-Dirichlet model and ours. adult: eight attributes and a
label released at epsilon 1, AIM's synthetic rows and our model of noisy pairs; a logistic regression on the rows. A
system's own imports are measured apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from private_tables import ADULT, DELTA, load, mbi_python
from simulated_release import rho_by_formula

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "results" / "memory_beside_others.json"
SENC = HERE.parents[1] / "shared" / "data" / "ei" / "senc.csv"
OTHERS = ROOT / ".cache" / "others"
WRAPPER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if done.returncode:
    sys.exit(done.stderr[-2000:])
print(json.dumps({"MiB": round(used.ru_maxrss / 1024), "CPU s": round(used.ru_utime + used.ru_stime, 1)}))
"""
SENC_DATA = """
import numpy as np, pandas as pd
s = pd.read_csv(sys.argv[1])
cells = np.stack([s[[g + p for p in ("dem", "rep", "non")]].to_numpy(float) for g in ("wh", "bl", "natam")], 1)
rows, cols = cells.sum(2), cells.sum(1)
"""
PYEI = """
n = rows.sum(1)
model = pyei.RowByColumnEI(model_name="multinomial-dirichlet")
model.fit((rows / n[:, None]).T, (cols / n[:, None]).T, n.astype(int), demographic_group_names=["w", "b", "n"],
          candidate_names=["d", "r", "o"], draws=1000, tune=1500, chains=2, cores=1, random_seed=0, progressbar=False)
"""
OURS = "from sumwise import Margins\nMETHOD().fit(Margins(rows, cols)).estimate(0.95)\n"
TABLES = """
import sys; sys.path.insert(0, sys.argv[1])
from private_tables import load, released
tables = load("adult", None, sys.argv[2].split(), True)[0]
"""
ROWS = """
data = datasets.adult()
rows = OneHotEncoder(handle_unknown="ignore").fit_transform(data.train[sys.argv[2].split()].astype(str))
LogisticRegression(max_iter=200).fit(rows, data.y_train)
"""


def measured(python: str, imports: str, work: str, *given: str, environment: dict | None = None) -> dict:
    """Peak memory and CPU seconds of a piece of work, and of its imports alone."""
    out = {}
    for name, code in (("", f"import sys\n{imports}\n{work}"), (", imports alone", imports)):
        command = [sys.executable, "-c", WRAPPER, python, "-W", "ignore", "-c", code, *given]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise SystemExit(done.stderr)
        out |= {f"{key}{name}": value for key, value in json.loads(done.stdout).items()}
    return out


def pyei_python() -> str:
    """The Python of an environment that has PyEI."""
    python = OTHERS / "pyei" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(OTHERS / "pyei")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "pyei==1.1.4"], check=True)
    return str(python)


def senc() -> dict:
    """PyEI and ours on one county."""
    found = {"PyEI, multinomial-Dirichlet": measured(pyei_python(), "import pyei", SENC_DATA + PYEI, str(SENC))}
    for method in ("MultinomialDirichlet", "EcologicalEM"):
        imports = f"from sumwise.ecological import {method}"
        work = SENC_DATA + OURS.replace("METHOD", method)
        found[f"sumwise, {method}"] = measured(sys.executable, imports, work, str(SENC))
    return found


def adult() -> dict:
    """AIM, our model of noisy pairs, and a regression on the rows."""
    tables, _, _, codes = load("adult", None, ADULT.split(), True)
    python, environment = mbi_python(None)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, codes=codes, sizes=np.array([*tables.domain.shape, 2]))
        script, rho = HERE / "aim_rows.py", rho_by_formula(1.0, DELTA)
        work = f"import runpy; sys.argv = ['aim_rows.py', {str(source)!r}, {str(target)!r}, '{rho}', '0']\n"
        work += f"runpy.run_path({str(script)!r}, run_name='__main__')"
        found = {"AIM (mbi)": measured(python, "import jax, mbi", work, environment=environment)}
    ours = TABLES + 'MaxEntClassifier(random_state=0).fit(released(tables, "pairs", 1.0, 0, True))'
    found["sumwise, noisy pairs"] = measured(
        sys.executable, "from sumwise.maxent import MaxEntClassifier", ours, str(HERE), ADULT
    )
    imports = "from sklearn.linear_model import LogisticRegression\nfrom sklearn.preprocessing import OneHotEncoder\n"
    imports += "from sumwise import datasets"
    found["scikit-learn on the rows"] = measured(sys.executable, imports, ROWS, str(HERE), ADULT)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["senc", "adult"], choices=["senc", "adult"])
    given = parser.parse_args()
    out = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, check=False, capture_output=True, text=True, cwd=ROOT)
    out |= {
        "command": "python benchmarks/memory_beside_others.py senc adult",
        "commit": commit.stdout.strip(),
        "seed": 0,
    }
    for task in given.tasks:
        out[task] = {"senc": senc, "adult": adult}[task]()
        print(task, json.dumps(out[task], indent=1))
        RESULTS.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
