"""Intervals cover in every declared world what their family promises, by 60 to 200 draws of each.

`make check` takes each family's first world of a kind, `make long` all; all are measured for docs.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from coverage_contract.measure import RESULTS
from coverage_contract.worlds import FAMILIES, Coverage, World, measure, worlds

KINDS = {"well specified", "overdispersed", "contextual", "misspecified"}
ALL = [pytest.param(family, name, id=f"{family}-{name}") for family in FAMILIES for name in worlds(family)]


def simulated(family, name):
    kind = worlds(family)[name].kind
    first = next(other for other, world in worlds(family).items() if world.kind == kind)
    return pytest.param(
        family, name, marks=pytest.mark.check if name == first else pytest.mark.long, id=f"{family}-{name}"
    )


def broken(world, seeds):
    """What a world's promises say, for those that simulations don't keep."""
    found = measure(world, seeds)
    return {name: (found[name], promise) for name, promise in world.promised.items() if not found[name].keeps(promise)}


@pytest.mark.parametrize(("family", "name"), [p for p in ALL if worlds(p.values[0])[p.values[1]].cheap])
def test_a_few_draws_keep_the_promises(family, name):
    world = worlds(family)[name]
    assert not broken(world, range(world.cheap))


@pytest.mark.parametrize(("family", "name"), [simulated(*p.values) for p in ALL])
def test_intervals_cover_what_is_promised(family, name):
    world = worlds(family)[name]
    assert not broken(world, range(1000, 1000 + world.draws))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_declares_a_world_as_its_model_and_one_that_differs(family):
    kinds = [world.kind for world in worlds(family).values()]
    assert set(kinds) <= KINDS
    assert "well specified" in kinds
    assert len(set(kinds)) > 1


@pytest.mark.parametrize(("family", "name"), ALL)
def test_measured_coverage_is_of_these_promises(family, name):
    found, world = json.loads(RESULTS.read_text())["families"][family][name], worlds(family)[name]
    assert found["kind"] == world.kind
    for quantity, promise in world.promised.items():
        shown = found["coverage"][quantity]
        assert Coverage(shown["share"], shown["error"]).keeps(promise)


def test_intervals_that_are_too_narrow_break_a_promise():
    def simulate(seed):
        return {"mean": abs(np.random.default_rng(seed).normal(size=5)) < 1.2}  # 77%

    world = World("well specified", "a normal mean", simulate, {"mean": (0.87, 0.93)})
    assert "mean" in broken(world, range(200))
    assert not broken(World("well specified", "", simulate, {"mean": (0.7, 0.8)}), range(200))


def test_few_draws_without_a_miss_leave_doubt():
    sure = measure(World("well specified", "", lambda seed: {"mean": [True]}, {"mean": (0.87, 0.93)}), range(8))["mean"]
    assert sure.share == 1.0
    assert sure.keeps((0.87, 0.93))
    assert not Coverage(0.5, 0.01).keeps((0.87, 0.93))
