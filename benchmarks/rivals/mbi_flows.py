"""Most likely flows by mbi: python mbi_flows.py IN.npz [STEP]. Prints CPU seconds and steps to 1e-4 of the excess.

Run by benchmarks/beside_others.py in an environment of its own. IN has the log-potentials `theta` (T - 1, L, L), the
Poisson counts `y` (T, L), the size `n` of the population and the `optimum` of the objective below. mbi has no prior and
no Poisson counts, so the loss is written out here; its mirror descent starts from theta. STEP is a first step in place
of its default. The first steps, which compile, and evaluations of the objective are not in the seconds.
"""

import json
import sys
import time

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
from jax.scipy.special import xlogy  # noqa: E402
from mbi import CliqueVector, Domain, Factor, MarginalLossFn, estimation  # noqa: E402

EVERY, SHARE, MOST = 10, 1e-4, 3_000


class Reached(Exception):  # ends the solver, which has no test of its own
    """The objective has come down."""


def main() -> None:
    given, n = np.load(sys.argv[1]), float(np.load(sys.argv[1])["n"])
    steps, places = given["y"].shape
    names = [f"x{t:02d}" for t in range(steps)]
    domain, edges = Domain(names, [places] * steps), [(names[t], names[t + 1]) for t in range(steps - 1)]
    tables = {e: Factor(domain.project(e), jnp.asarray(given["theta"][t])) for t, e in enumerate(edges)}
    theta = CliqueVector(domain, edges, tables)

    def objective(found, data):
        potentials, counts = data
        out = 0.0
        for t, e in enumerate(edges):
            v = found[e].values
            out += xlogy(v, v).sum() - (potentials[t] * v).sum()
        for t, name in enumerate(names):
            z = found.project((name,)).values
            out += (z - xlogy(counts[t], z)).sum() - (xlogy(z, z).sum() if 0 < t < steps - 1 else 0.0)
        return out

    data = (jnp.asarray(given["theta"]), jnp.asarray(given["y"]))
    lipschitz = 1.0 if len(sys.argv) < 3 else 2.0 / (n * float(sys.argv[2]))
    loss = MarginalLossFn(tuple(edges), objective, data, lipschitz)
    estimation.CALLBACK_EVERY = EVERY
    solver, value = estimation.MirrorDescent(), jax.jit(loss.__call__)
    begin = float(value(solver._oracle(loss.cliques, domain)(theta, n)))
    state = jax.tree.map(jnp.copy, solver._init(domain, loss, n, warm_start=theta))
    jax.block_until_ready(jax.tree.leaves(solver._multi_step(state, loss, n, ())))
    goal = float(given["optimum"]) + SHARE * (begin - float(given["optimum"]))
    known = {"apart": 0.0, "steps": 0, "seconds": 0.0}
    start = time.process_time()

    def after(found) -> None:
        jax.block_until_ready(jax.tree.leaves(found))
        now = time.process_time()
        known["seconds"], known["steps"] = now - start - known["apart"], known["steps"] + EVERY
        reached = float(value(found)) <= goal
        known["apart"] += time.process_time() - now
        if reached:
            raise Reached

    try:
        solver.estimate(domain, loss, known_total=n, iters=MOST, callback_fn=after, warm_start=theta)
        known["seconds"] = None
    except Reached:
        pass
    print(json.dumps({"s to 1e-4": known["seconds"], "steps": known["steps"]}))


if __name__ == "__main__":
    main()
