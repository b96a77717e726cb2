"""A year of abundance by BirdFlow's own training code: python birdflow_year.py SOURCE IN.npz OUT.npz STEPS.

SOURCE is a checkout of BirdFlowPy; IN has `abundance` (weeks, cells) and `km` (cells, cells). Weights, steps and the
distance rule are the defaults of its `update_hdf.py`. The last week goes on to the first, as in its published models.
OUT has the transitions `steps` (weeks, cells, cells) of cells that a week has birds in; elsewhere birds stay.
"""

import sys
from functools import partial

import haiku as hk
import jax
import numpy as np
import optax

sys.path.insert(0, sys.argv[1])
from flow_model_training import Datatuple, loss_fn, mask_input, train_model


def main() -> None:
    given, steps = np.load(sys.argv[2]), int(sys.argv[4])
    whole = np.vstack([given["abundance"], given["abundance"][:1]])
    weeks, n = whole.shape
    masks = whole > 0
    apart = given["km"][np.triu_indices(n, k=1)] ** 0.4 / 100**0.4
    distances, densities = mask_input(whole, Datatuple(weeks, n, apart, masks))
    cells = [len(d) for d in densities]
    weighted = {"obs_weight": 1.0, "dist_weight": 1e-2, "ent_weight": 1e-4}
    loss = jax.jit(partial(loss_fn, cells=cells, true_densities=densities, d_matrices=distances, **weighted))
    params, _ = train_model(loss, optax.adam(0.1), steps, cells, weeks, hk.PRNGSequence(17))
    found = np.tile(np.eye(n), (weeks - 1, 1, 1))
    for week in range(weeks - 1):
        here, there = np.flatnonzero(masks[week]), np.flatnonzero(masks[week + 1])
        found[week, here] = 0.0
        found[week][np.ix_(here, there)] = jax.nn.softmax(params[f"Flow_Model/Week_{week + 1}"]["z"], axis=1)
    np.savez_compressed(sys.argv[3], steps=found.astype(np.float32))


if __name__ == "__main__":
    main()
