"""The Triton kernels, run by Triton's interpreter on the CPU, draw and count what plain torch operations do."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

CODE = """
import numpy as np, torch
from sumwise.maxent.kernels import gibbs_device
from sumwise.maxent.kernels.gibbs_plan import Jump
from sumwise.maxent.kernels.loglinear import layout

sizes, rng = (3, 2, 5, 20), np.random.default_rng(0)
pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
jump = Jump((0, 2), (-1, 0), (np.full((1, 3), 1 / 3), rng.dirichlet(np.ones(5), 3) + 0.01))
for n_classes, tables, more in [(2, pairs, {"jumps": (jump,)}), (3, [(0, 1, 2), (2, 3)], {"blocks": ((0, 1),)})]:
    lay = layout(sizes, tables)
    weights = rng.normal(0, 0.7, (n_classes, lay.n_cells))
    theta = weights[1:] - weights[:1] if n_classes == 2 else weights
    codes, labels = np.column_stack([rng.integers(0, s, 200) for s in sizes]), rng.integers(0, n_classes, 200)
    found = []
    for triton in (False, True):
        plan = gibbs_device.device_plan(lay, n_classes, 200, "cpu", triton=triton, **more)
        chains = gibbs_device.to_device(codes, labels, sizes, "cpu", 1)
        given = [torch.as_tensor(a, dtype=torch.float32) for a in (weights, theta, np.zeros(n_classes))]
        halves = [gibbs_device.sweep_halves(chains, plan, *given) for _ in range(2)][-1]
        found.append([chains.codes, chains.labels, *(x for half in halves for x in half[:2])])
    print(all(torch.equal(a, b) for a, b in zip(*found)))
"""


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton isn't installed")
def test_kernels_draw_and_count_as_plain_operations_do():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["True"] * 2, done.stderr
