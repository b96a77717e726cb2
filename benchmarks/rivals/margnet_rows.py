"""MargNet (Chen, Gong and Wang 2025, arXiv 2511.13893) by its authors' code, with their settings for Adult.

Run by benchmarks/private_tables.py as `aim_rows.py` is: python margnet_rows.py IN.npz OUT.npz RHO SEED, with a copy of
github.com/KaiChen9909/margnet (commit 8b75032) on the path. Marginals are chosen as AIM does, among all pairs, and a
network is trained on them. It uses a GPU if there is one. The numbers are cut before, as for all methods.
"""

import contextlib
import os
import sys
import tempfile
import time
import tomllib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

SETTINGS = {
    "train": {"selection_iterations": 200, "final_iterations": 200, "lr": 1e-3, "batch_size": 512},
    "model_params": {"d_layers": [256, 256], "dropout": 0.0},
}


def main() -> None:
    source, target, rho, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    sys.modules.setdefault("tomli", tomllib)  # in Python by now
    from method.MargDL.main import MargDLGen

    begin, task = time.process_time(), np.load(source)
    np.random.seed(seed)  # noqa: NPY002 - their noise is drawn by it
    torch.manual_seed(seed)
    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    if device == "cpu":  # they measure the memory of a GPU
        torch.cuda.reset_peak_memory_stats = torch.cuda.max_memory_allocated = lambda *_, **__: 0
    names = [str(a) for a in range(len(task["sizes"]))]
    args = SimpleNamespace(iter=None, lr=None, batch=None, test=False, resample=False, graph_sample=False)
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing:
        model = MargDLGen(
            args=args,
            df=pd.DataFrame(task["codes"], columns=names),
            domain=dict(zip(names, task["sizes"].tolist())),
            device=device,
            config=SETTINGS,
            parent_dir=folder,
            model_type="gan",
        )
        with contextlib.redirect_stdout(nothing):
            selected = model.fit_adaptive(rho)
    rows = model.model.sample(len(task["codes"]))
    np.savez(target, rows=rows, rounds=len(selected), cpu_s=time.process_time() - begin)


if __name__ == "__main__":
    main()
