"""release_selected: what is chosen, what it costs, and how far one person moves the choice."""

from itertools import product

import numpy as np
import pytest

from sumwise import Domain, Tables
from sumwise.errors import DataError
from sumwise.noise import Gaussian
from sumwise.privacy import Budget, PersonBounds, release_selected
from sumwise.privacy.accounting import rho_of_epsilon
from sumwise.privacy.selection import METHODS, PURPOSES, ExactCounts, Measurements

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")


def tables_of(n=40_000, label: str | None = "y", classes=2):
    """A chain a - b - c, and an attribute d that depends on nothing but the label."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.9, a, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.9, b, rng.integers(0, 3, n))
    d = np.where(rng.random(n) < 0.8, y % 2, rng.integers(0, 2, n))
    rows = {"a": a, "b": b, "c": c, "d": d, "y": y}
    return Tables.from_frame(rows, ["a", "b", "c", "d"], label, domain=Domain({"a": 3, "b": 3, "c": 3, "d": 2}))


@pytest.fixture(scope="module")
def tables():
    return tables_of()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("purpose", ["both", "tables"])
def test_the_strong_pairs_are_chosen(tables, method, purpose):
    noisy = release_selected(tables, 5.0, 1e-6, budget=None, method=method, purpose=purpose)
    chosen = {t.attributes for t in noisy if len(t.attributes) == 2}
    assert {("a", "b"), ("b", "c")} <= chosen
    assert [t.attributes for t in noisy][:4] == [("a",), ("b",), ("c",), ("d",)]
    for t in noisy:
        exact = tables[t.attributes] if len(t.attributes) == 2 else None
        assert isinstance(t.noise, Gaussian)
        assert isinstance(t.label_noise, Gaussian)
        assert t.noise.scale == pytest.approx(t.label_noise.scale * np.sqrt(2))
        if exact is not None:
            assert np.abs(t.label_sums - exact.label_sums).max() < 7 * t.label_noise.scale
    assert noisy.n is None
    assert noisy.provenance.releases[0]["epsilon"] == 5.0


@pytest.mark.parametrize("method", METHODS)
def test_exactly_the_budget_is_spent(tables, method, monkeypatch):
    taken = []
    real = Measurements._take
    monkeypatch.setattr(Measurements, "_take", lambda self, rho: taken.append(rho) or real(self, rho))
    budget = Budget(1.0, 1e-6)
    release_selected(tables, 1.0, 1e-6, budget=budget, method=method)
    assert budget.spent == pytest.approx(1.0)
    rho = rho_of_epsilon(1.0, 1e-6)
    assert sum(taken) <= rho * (1 + 1e-6)
    assert sum(taken) == pytest.approx(rho, rel=1e-3)
    with pytest.raises(DataError, match="left"):
        release_selected(tables, 1.0, 1e-6, budget=budget)


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("replaced", [False, True])
def test_one_person_moves_no_score_by_more_than_the_sensitivity(purpose, replaced):
    """All neighbours of small tables: one row added, or replaced, against a fixed expectation."""
    rng = np.random.default_rng(1)
    expected = rng.uniform(0, 3, (2, 3, 2))
    exact = ExactCounts(tables_of(50))
    work = Measurements(exact, PersonBounds(replace=replaced), whole=True, rho=1.0, purpose=purpose)
    largest = 0.0
    for _ in range(20):
        counts = rng.integers(0, 4, (2, 3, 2)).astype(float)
        before = work._misfit(counts, expected)
        for cell, other in product(np.ndindex(2, 3, 2), np.ndindex(2, 3, 2)):
            moved = counts.copy()
            moved[cell] += 1
            if replaced and moved[other] > 0:
                moved[other] -= 1
            largest = max(largest, abs(work._misfit(moved, expected) - before))
    assert largest <= work.bounds.reach + 1e-9
    assert largest > 0.5 * work.bounds.reach


@pytest.mark.parametrize("purpose", PURPOSES)
def test_an_expectation_below_zero_lets_nobody_move_a_score_further(purpose):
    rng = np.random.default_rng(2)
    work = Measurements(ExactCounts(tables_of(50, classes=3)), PersonBounds(), whole=True, rho=1.0, purpose=purpose)
    for _ in range(50):
        counts, expected = rng.integers(0, 4, (2, 2, 3)).astype(float), rng.normal(1.0, 2.0, (2, 2, 3))
        before = work._misfit(counts, expected)
        for cell in np.ndindex(2, 2, 3):
            moved = counts.copy()
            moved[cell] += 1
            assert abs(work._misfit(moved, expected) - before) <= 1 + 1e-9


def test_several_classes_and_none_at_all():
    three = release_selected(tables_of(classes=3), 5.0, 1e-6, budget=None, public_levels=["y"])
    assert three[0].label_sums is not None
    assert three[0].label_sums.shape == (3, 3)
    bare = release_selected(tables_of(label=None), 5.0, 1e-6, budget=None)
    assert bare[0].label_sums is None
    assert ("a", "b") in bare


def test_levels_weights_and_budgets_are_enforced(tables):
    rows = {"a": [0, 1, 1, 0], "b": [1, 0, 1, 0]}
    with pytest.raises(DataError, match="were read from the rows"):
        release_selected(Tables.from_frame(rows, ["a", "b"]), budget=None)
    with pytest.raises(DataError, match="budget is not given"):
        release_selected(tables)
    with pytest.raises(DataError, match="method is 'mst'"):
        release_selected(tables, budget=None, method="mst")
    with pytest.raises(DataError, match="purpose is 'x'"):
        release_selected(tables, budget=None, purpose="x")
    with pytest.raises(DataError, match="no delta"):
        release_selected(tables, budget=Budget(1.0))
    with pytest.raises(DataError, match="counted without weights"):  # a tenth of the noise, otherwise
        release_selected(tables, budget=None, bounds=PersonBounds(weight=0.1))


def test_single_attributes_alone_are_refused():
    singles = Tables.from_frame({"a": [0, 1]}, ["a"], order=1, domain=Domain({"a": 2}))
    with pytest.raises(DataError, match="chosen among pairs"):
        release_selected(singles, budget=None)
