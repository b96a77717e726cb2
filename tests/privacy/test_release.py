"""release: the right noise on the right tables, from a budget that is then spent."""

import numpy as np
import pytest

from sumwise import Domain, Table, Tables
from sumwise.aggregate import aggregate
from sumwise.errors import DataError, MissingExtra
from sumwise.noise import Gaussian, Geometric, Laplace
from sumwise.privacy import Budget, PersonBounds, mechanisms, plan_release, release

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    rows = {
        "a": rng.integers(0, 5, 300),
        "b": rng.integers(0, 4, 300),
        "c": rng.integers(0, 3, 300),
        "y": rng.integers(0, 2, 300),
    }
    return Tables.from_frame(rows, ["a", "b", "c"], label="y")


@pytest.fixture
def unlabelled():
    return Tables.from_frame({"a": [0, 1, 1, 2], "b": [0, 0, 1, 1]}, ["a", "b"], order=1)


@pytest.mark.parametrize(
    ("mechanism", "noise", "options"),
    [("geometric", Geometric, {}), ("laplace", Laplace, {}), ("gaussian", Gaussian, {"delta": 1e-6})],
)
def test_noise_travels_with_the_tables(tables, mechanism, noise, options):
    noisy = release(tables, epsilon=2.0, mechanism=mechanism, **options)
    plan = plan_release(tables, epsilon=2.0, mechanism=mechanism, **options)
    assert noisy.domain == tables.domain
    assert noisy.label == "y"
    assert noisy.n is None
    for t, original, scale in zip(noisy, tables, plan.scales):
        assert t.noise == noise(scale)
        assert not np.array_equal(t.counts, original.counts)
        assert not np.array_equal(t.label_sums, original.label_sums)
        assert not np.allclose(t.counts - original.counts, t.label_sums - original.label_sums)
        assert np.abs(t.counts - original.counts).max() < 60 * scale


def test_sensitivity_counts_label_sums_and_rows(tables, unlabelled):
    assert plan_release(unlabelled, 1.0).sensitivities == (1, 1)
    assert plan_release(tables, 1.0).sensitivities == (2, 2, 2)
    assert plan_release(tables, 1.0, bounds=3).sensitivities == (6, 6, 6)
    assert plan_release(tables, 1.0, bounds=PersonBounds(rows=3, replace=True)).sensitivities == (12, 12, 12)
    gaussian = plan_release(tables, 1.0, 1e-6, "gaussian", bounds=PersonBounds(rows=2, weight=1.5))
    assert np.allclose(gaussian.sensitivities, 3 * np.sqrt(2))


def test_sensitivity_holds_by_enumeration(tables):
    """Take out each row in turn: counts and label sums together never move by more than the plan says."""
    rng = np.random.default_rng(1)
    rows = {"a": rng.integers(0, 2, 12), "b": rng.integers(0, 3, 12), "y": rng.integers(0, 2, 12)}
    domain = Domain({"a": 2, "b": 3})
    whole = Tables.from_frame(rows, ["a", "b"], label="y", domain=domain)
    pure = plan_release(whole, 1.0).sensitivities[0]
    squared = plan_release(whole, 1.0, 1e-6, "gaussian").sensitivities[0] ** 2
    moved = []
    for i in range(12):
        less = {k: np.delete(v, i) for k, v in rows.items()}
        t = Tables.from_frame(less, ["a", "b"], label="y", domain=domain)[0]
        moved.append(np.abs(whole[0].counts - t.counts).sum() + np.abs(whole[0].label_sums - t.label_sums).sum())
    assert max(moved) == pure
    assert max(moved) == pytest.approx(squared)


def test_losses_add_up_to_what_was_asked(tables):
    plan = plan_release(tables, epsilon=3.0)
    assert plan.loss == pytest.approx(3)
    assert plan.scales == pytest.approx((2, 2, 2))
    split = plan_release(tables, epsilon=3.0, split={("b", "a"): 4.0})
    assert split.losses == pytest.approx((2, 0.5, 0.5))
    assert split.scales == pytest.approx((1, 4, 4))
    listed = plan_release(tables, epsilon=3.0, split=[1, 1, 4])
    assert listed.losses == pytest.approx((0.5, 0.5, 2))


def test_gaussian_scales_compose_to_epsilon_and_delta(tables):
    budget = Budget(1.0, 1e-6)
    release(tables, 1.0, 1e-6, "gaussian", budget=budget)
    assert budget.spent == pytest.approx(1)


def test_release_spends_the_budget_once(tables):
    budget = Budget(1.0)
    release(tables, epsilon=1.0, budget=budget, what="first")
    with pytest.raises(DataError, match=r"has 0 left; 'again' would bring"):
        release(tables, epsilon=1.0, budget=budget, what="again")
    assert budget.entries[0]["what"] == "first"


def test_nothing_is_drawn_when_the_budget_refuses(tables, monkeypatch):
    drawn = []
    monkeypatch.setattr(mechanisms.Mechanism, "add", lambda *a: drawn.append(a))
    with pytest.raises(DataError, match="left"):
        release(tables, epsilon=2.0, budget=Budget(1.0))
    assert drawn == []


def test_released_tables_are_not_released_again(tables):
    with pytest.raises(DataError, match="already has noise"):
        release(release(tables), epsilon=1.0)


def test_withheld_cells_are_refused():
    small = aggregate({"a": [0, 1, 1]}, ["a"], order=1, suppress_below=2)
    with pytest.raises(DataError, match="withheld cells"):
        release(small)


def test_weighted_tables_need_a_continuous_mechanism():
    weighted = Tables([Table("a", [0.5, 1.0])], Domain({"a": 2}))
    with pytest.raises(DataError, match="not whole"):
        release(weighted)
    assert release(weighted, mechanism="laplace", bounds=PersonBounds(weight=0.5))["a"].noise == Laplace(0.5)


def test_encoding_stays_with_the_tables():
    from sumwise.encoding import Encoding

    encoding = Encoding.fit({"x": [1.0, 2.0, 3.0]}, {"x": {"kind": "quantiles", "bins": 2}})
    counted = aggregate({"x": [1.0, 2.0, 3.0]}, ["x"], order=1, encoding=encoding)
    assert release(counted).encoding == encoding


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon is 0; it must be above 0"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"epsilon": float("inf")}, "epsilon is inf"),
        ({"epsilon": "1"}, "epsilon is '1'"),
        ({"delta": 1e-6}, "geometric mechanism has no delta"),
        ({"mechanism": "gaussian"}, "delta is 0.0; Gaussian noise needs one"),
        ({"mechanism": "gaussian", "delta": 1.0}, "delta is 1.0"),
        ({"mechanism": "exponential"}, "mechanism is 'exponential'"),
        ({"bounds": 0}, "rows is 0"),
        ({"bounds": "one"}, "bounds is 'one'"),
        ({"bounds": True}, "bounds is True"),
        ({"bounds": PersonBounds(weight=0.5)}, "all counts are whole"),
        ({"split": "cells"}, "split is 'cells'"),
        ({"split": [1, 2]}, "split is"),
        ({"split": [1, 2, 0]}, "gives a table 0"),
        ({"split": {("a", "z"): 1}}, "no such table"),
        ({"split": {5: 1}}, "no such table"),
        ({"epsilon": 1e-310}, "would have a scale of"),
        ({"budget": 1.0}, "budget is a float"),
    ],
)
def test_release_refuses(tables, options, words):
    with pytest.raises(DataError, match=words):
        release(tables, **options)


def test_only_tables_are_released(tables):
    with pytest.raises(DataError, match="tables is a Table"):
        release(tables[0])


@pytest.mark.parametrize("options", [{"rows": 0}, {"weight": 0}, {"rows": 1.5}, {"weight": -1}])
def test_person_bounds_refuse(options):
    with pytest.raises(DataError):
        PersonBounds(**options)


def test_missing_opendp_says_which_extra(tables, monkeypatch):
    def absent(module, extra=None):
        raise MissingExtra(f"This needs {module}", hint=f"sumwise[{extra}]")

    monkeypatch.setattr(mechanisms, "require", absent)
    budget = Budget(1.0)
    with pytest.raises(MissingExtra, match=r"sumwise\[privacy\]"):
        release(tables, budget=budget)
    assert budget.spent == 0


def test_plan_shows_the_arithmetic(tables):
    plan = plan_release(tables, epsilon=3.0)
    frame = plan.to_frame()
    assert frame.columns.tolist() == ["table", "cells", "sensitivity", "epsilon", "scale"]
    assert frame["table"].tolist() == ["a x b", "a x c", "b x c"]
    assert "up to 1 row of one person" in plan.describe()["neighbours"]
    assert "geometric" in repr(plan)
    assert "<table>" in plan._repr_html_()
    assert plan_release(tables, 1.0, 1e-6, "gaussian").to_frame().columns[3] == "rho"


def test_label_sums_that_are_not_whole_are_refused_before_the_budget_is_spent():
    halves = Tables([Table("a", [1, 2], [0.5, 1.0])], Domain({"a": 2}), label="y")
    budget = Budget(1.0)
    with pytest.raises(DataError, match="not whole"):
        release(halves, budget=budget)
    assert budget.spent == 0


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("bounds", [None, 2, PersonBounds(rows=2)])
def test_weighted_tables_need_a_bound_on_weights(mechanism, bounds):
    weighted = Tables([Table("a", [10.5, 200.25])], Domain({"a": 2}))
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    with pytest.raises(DataError, match="rows had weights; bounds don't say how large"):
        release(weighted, 1.0, delta, mechanism, bounds)
    release(weighted, 1.0, delta, mechanism, PersonBounds(weight=10.0))


def test_whole_weighted_tables_get_the_same_kind_of_noise_as_others():
    whole = Tables([Table("a", np.full(50, 10.0))], Domain({"a": 50}))
    counts = release(whole, 1.0, 1e-6, "gaussian", PersonBounds(weight=2.0))["a"].counts
    assert np.any(counts != np.floor(counts))
    counts = release(whole, 1.0, 1e-6, "gaussian")["a"].counts
    assert np.array_equal(counts, np.floor(counts))


def test_replaced_rows_move_tables_by_root_two_in_distance():
    rows = [(a, y) for a in range(2) for y in range(2)]
    domain = Domain({"a": 2})

    def vector(row):
        table = aggregate({"a": [row[0]], "y": [row[1]]}, ["a"], label="y", order=1, domain=domain)["a"]
        return np.concatenate([table.counts, table.label_sums])

    moved = [vector(r) - vector(q) for r in rows for q in rows]
    tables = Tables([Table("a", [1, 0], [1, 0])], domain, label="y")
    bounds = PersonBounds(replace=True)
    pure = plan_release(tables, 1.0, bounds=bounds).sensitivities[0]
    euclidean = plan_release(tables, 1.0, 1e-6, "gaussian", bounds).sensitivities[0]
    assert pure == max(np.abs(m).sum() for m in moved)
    assert euclidean == pytest.approx(max(np.linalg.norm(m) for m in moved))


def test_counts_beyond_doubles_are_refused():
    with pytest.raises(DataError, match=r"beyond 2\*\*53"):
        release(Tables([Table("a", [1e19, 3])], Domain({"a": 2})))


def test_numpy_numbers_are_numbers(tables):
    assert plan_release(tables, 1.0, bounds=np.int64(3)).sensitivities == (6, 6, 6)
    assert plan_release(tables, 3.0, split=np.array([1, 1, 4])).losses == pytest.approx((0.5, 0.5, 2))
