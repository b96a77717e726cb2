"""Flows of a year on a fine grid with local moves: CPU seconds and memory to a certified gap.

    python benchmarks/collective_large.py --side 300     # 90,000 cells x 52 weeks, about a minute and 3 GB

A population whose centre drifts by a tenth of the grid and back, Gaussian noise, moves to the eight neighbours.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path
from time import process_time

import numpy as np
from run_record import run_record

from sumwise.collective import Movement, Places, flux, routes
from sumwise.collective.flow_problem import FlowProblem
from sumwise.noise import Gaussian


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "collective_large.json")
    given = parser.parse_args()
    side, weeks, n = given.side, 52, 1e7
    places = Places.grid(side, side, reach=1.5)
    y, x = np.mgrid[:side, :side] / side
    counts = []
    for t in range(weeks):
        centre = 0.4 + 0.1 * (0.5 - 0.5 * np.cos(2 * np.pi * t / weeks))
        density = np.exp(-((y - (1 - centre)) ** 2 + 0.3 * (x - 0.5) ** 2) / 0.02) + 1e-4
        counts.append((n * density / density.sum()).ravel())
    counts = np.array(counts) + np.random.default_rng(0).normal(size=(weeks, side**2)) * 20
    problem = FlowProblem(places, places.moves(), counts, Gaussian(20.0), n, tol=1e-4)
    began = process_time()
    fit = problem.solve(Movement(1.0, 1.0))
    solved = process_time()
    positions = np.column_stack([x.ravel(), y.ravel()])
    routes(fit, positions, 1000)
    drawn = process_time()
    flux(fit, positions, start=[0.0, 0.5], end=[1.0, 0.5])
    found = {
        **run_record(seed=0),
        "cells": side**2,
        "weeks": weeks,
        "moves per step": int(problem.far.nnz),
        "cpu_s": round(solved - began, 1),
        "cpu_s of 1,000 routes": round(drawn - solved, 1),
        "cpu_s of the flux over a line": round(process_time() - drawn, 1),
        "relative gap": fit.gap / abs(fit.objective),
        "converged": fit.converged,
        "peak GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }
    print(found)
    given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
