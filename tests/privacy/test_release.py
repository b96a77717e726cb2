"""release: the right noise on the right tables, from a budget that is then spent."""

from dataclasses import replace

import numpy as np
import pytest

from messages import raises
from sumwise import Domain, Table, Tables
from sumwise.aggregate import aggregate
from sumwise.errors import DataError, MissingExtra
from sumwise.noise import Gaussian, Geometric, Laplace, Summed
from sumwise.privacy import Budget, PersonBounds, mechanisms, plan_release, release
from sumwise.provenance import Provenance

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
    return Tables.from_frame(rows, ["a", "b", "c"], label="y", domain=Domain({"a": 5, "b": 4, "c": 3}))


@pytest.fixture
def unlabelled():
    return Tables.from_frame(
        {"a": [0, 1, 1, 2], "b": [0, 0, 1, 1]}, ["a", "b"], order=1, domain=Domain({"a": 3, "b": 2})
    )


@pytest.mark.parametrize(
    ("mechanism", "noise", "options"),
    [("geometric", Geometric, {}), ("laplace", Laplace, {}), ("gaussian", Gaussian, {"delta": 1e-6})],
)
def test_noise_travels_with_the_tables(tables, mechanism, noise, options):
    noisy = release(tables, epsilon=2.0, mechanism=mechanism, budget=None, **options)
    plan = plan_release(tables, epsilon=2.0, mechanism=mechanism, **options)
    assert noisy.domain == tables.domain
    assert noisy.label == "y"
    assert noisy.n is None
    for t, original, scale in zip(noisy, tables, plan.scales):
        assert t.label_noise == noise(scale)
        assert t.noise == (Gaussian(scale * np.sqrt(2)) if noise is Gaussian else Summed(noise(scale), 2))
        assert not np.array_equal(t.counts, original.counts)
        assert not np.array_equal(t.label_sums, original.label_sums)
        assert not np.allclose(t.counts - original.counts, t.label_sums - original.label_sums)
        assert np.abs(t.counts - original.counts).max() < 60 * scale


def test_sensitivity_counts_rows_and_weights_and_no_label(tables, unlabelled):
    assert plan_release(unlabelled, 1.0).sensitivities == (1, 1)
    assert plan_release(tables, 1.0).sensitivities == (1, 1, 1)
    assert plan_release(tables, 1.0, bounds=3).sensitivities == (3, 3, 3)
    assert plan_release(tables, 1.0, bounds=PersonBounds(rows=3, replace=True)).sensitivities == (6, 6, 6)
    gaussian = plan_release(tables, 1.0, 1e-6, "gaussian", bounds=PersonBounds(rows=2, weight=1.5))
    assert np.allclose(gaussian.sensitivities, 3)


def vectors(people, label, weighted):
    """What a release adds noise to, of all tables: the counts by cell and class of some people's rows."""
    rows = [r for person in people for r in person]
    columns = {n: np.array([r[i] for r in rows]) for i, n in enumerate("abyw")}
    kinds = {"binary": columns["y"] % 2, "classes": columns["y"], None: None}
    frame = {n: columns[n] for n in ("a", "b", "w")}
    domain = Domain({"a": 2, "b": 2})
    if label is not None:
        frame["y"] = kinds[label]
    made = []
    for subset in (["a"], ["b"], ["a", "b"]):
        counts = np.zeros((*[domain[a] for a in subset], 3 if label == "classes" else 2 if label else 1))
        for i in range(len(rows)):
            k = 0 if label is None else int(frame["y"][i])
            counts[(*(int(frame[a][i]) for a in subset), k)] += frame["w"][i] if weighted else 1
        made.append(counts.ravel())
    return made


@pytest.mark.parametrize("label", [None, "binary", "classes"])
@pytest.mark.parametrize(("rows", "weighted"), [(1, False), (2, False), (1, True), (2, True)])
@pytest.mark.parametrize("replace", [False, True])
def test_neighbours_by_brute_force_reach_the_stated_sensitivity(label, rows, weighted, replace):
    """All data sets of one person against none, or against another person: no table moves by more, and some by it."""
    from itertools import product

    kinds = [(a, b, y, w) for a, b, y in product(range(2), range(2), range(3)) for w in ((1, 3) if weighted else (1,))]
    persons = [p for k in range(1, rows + 1) for p in product(kinds, repeat=k)]
    rng = np.random.default_rng(0)
    chosen = [persons[i] for i in rng.choice(len(persons), min(60, len(persons)), replace=False)]
    chosen += [(k,) * rows for k in kinds]  # all rows alike, as heavy as may be: the worst case
    moved = [vectors([p], label, weighted) for p in chosen]
    other = moved if replace else [[np.zeros_like(v) for v in moved[0]]]
    frame = {"a": [0, 1], "b": [1, 0], "y": [0, 1], "w": [1, 3]}
    weights = {"weight": "w", "max_weight": 3.0} if weighted else {}
    tables = aggregate(frame, ["a", "b"], None if label is None else "y", domain=Domain({"a": 2, "b": 2}), **weights)
    bounds = PersonBounds(rows, 3 if weighted else None, replace)
    reached = {1: 0.0, 2: 0.0}
    for first in moved:
        for second in other:
            for u, v in zip(first, second):
                for order in (1, 2):
                    reached[order] = max(reached[order], float(np.linalg.norm(u - v, order)))
    assert plan_release(tables, 1.0, 0.0, "laplace", bounds).sensitivities[0] == pytest.approx(reached[1])
    assert plan_release(tables, 1.0, 1e-6, "gaussian", bounds).sensitivities[0] == pytest.approx(reached[2])


def test_noise_is_on_the_counts_by_class(tables, monkeypatch):
    """What the mechanism is handed: one number per cell and class, and nothing else."""
    handed = []
    monkeypatch.setattr(mechanisms.Mechanism, "add", lambda _, values, *__: handed.append(values) or values)
    same = release(tables, budget=None)
    assert [v.shape for v in handed] == [(5, 4, 2), (5, 3, 2), (4, 3, 2)]
    assert np.array_equal(handed[0].sum(axis=-1), tables[0].counts)
    assert np.array_equal(handed[0][..., 1], tables[0].label_sums)
    assert np.array_equal(same[0].counts, tables[0].counts)
    assert np.array_equal(same[0].label_sums, tables[0].label_sums)


def test_classes_have_their_own_noise():
    rows = {"a": [0, 1, 1, 2], "y": ["p", "q", "r", "p"]}
    tables = Tables.from_frame(rows, ["a"], label="y", order=1, domain=Domain({"a": 3}))
    noisy = release(tables, budget=None, public_levels=["y"])["a"]
    assert noisy.noise == Summed(Geometric(1.0), 3)
    assert np.array_equal(noisy.label_sums.sum(axis=-1), noisy.counts)


def test_losses_add_up_to_what_was_asked(tables):
    plan = plan_release(tables, epsilon=3.0)
    assert plan.loss == pytest.approx(3)
    assert plan.scales == pytest.approx((1, 1, 1))
    split = plan_release(tables, epsilon=3.0, split={("b", "a"): 4.0})
    assert split.losses == pytest.approx((2, 0.5, 0.5))
    assert split.scales == pytest.approx((0.5, 2, 2))
    listed = plan_release(tables, epsilon=3.0, split=[1, 1, 4])
    assert listed.losses == pytest.approx((0.5, 0.5, 2))


def test_gaussian_scales_compose_to_epsilon_and_delta(tables):
    budget = Budget(1.0, 1e-6)
    release(tables, 1.0, 1e-6, "gaussian", budget=budget)
    assert budget.spent == pytest.approx(1)


def test_release_spends_the_budget_once(tables):
    budget = Budget(1.0)
    release(tables, epsilon=1.0, budget=budget, what="first")
    with raises(DataError, "budget-epsilon-left", 0, "again"):
        release(tables, epsilon=1.0, budget=budget, what="again")
    assert budget.entries[0]["what"] == "first"


def test_nothing_is_drawn_when_the_budget_refuses(tables, monkeypatch):
    drawn = []
    monkeypatch.setattr(mechanisms.Mechanism, "add", lambda *a: drawn.append(a))
    with raises(DataError, "budget-epsilon-left"):
        release(tables, epsilon=2.0, budget=Budget(1.0))
    assert drawn == []


def test_released_tables_are_not_released_again(tables):
    with raises(DataError, "table-over-already"):
        release(release(tables, budget=None), epsilon=1.0, budget=None)


def test_withheld_cells_are_refused():
    small = Tables([Table("a", [np.nan, 2])], Domain({"a": 2}))
    with raises(DataError, "table-over-withheld-cells-cells"):
        release(small, bounds=1, budget=None)


def test_weighted_tables_need_a_continuous_mechanism():
    weighted = Tables([Table("a", [0.5, 1.0])], Domain({"a": 2}))
    with raises(DataError, "table-over-counts-label"):
        release(weighted, bounds=1, budget=None)
    noisy = release(weighted, mechanism="laplace", bounds=PersonBounds(weight=0.5), budget=None)
    assert noisy["a"].noise == Laplace(0.5)


def test_encoding_stays_with_the_tables():
    from sumwise.encoding import Encoding

    encoding = Encoding.fit({"x": [1.0, 2.0, 3.0]}, {"x": {"kind": "quantiles", "bins": 2}})
    counted = aggregate({"x": [1.0, 2.0, 3.0]}, ["x"], order=1, encoding=encoding)
    assert release(counted, budget=None, public_levels=True).encoding == encoding


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0}, ("epsilon-must-above", 0)),
        ({"epsilon": -1}, ("must-least", "epsilon", -1)),
        ({"epsilon": float("inf")}, ("must-least", "epsilon", "inf")),
        ({"epsilon": "1"}, ("must-least", "epsilon", 1)),
        ({"delta": 1e-6}, ("mechanism-no-delta", "geometric")),
        ({"mechanism": "gaussian"}, ("delta-gaussian-noise", "0.0")),
        ({"mechanism": "gaussian", "delta": 1.0}, ("delta-gaussian-noise", "1.0")),
        ({"mechanism": "exponential"}, ("mechanism-takes", "exponential")),
        ({"bounds": 0}, ("must-least", "rows", 0)),
        ({"bounds": "one"}, ("bounds-largest-number", "one")),
        ({"bounds": True}, ("bounds-largest-number", "True")),
        ({"bounds": PersonBounds(weight=0.5)}, ("bounds-say-weights-most",)),
        ({"split": "cells"}, ("is-takes", "split", "cells")),
        ({"split": [1, 2]}, ("split-uniform-mapping",)),
        ({"split": [1, 2, 0]}, ("split-gives-table", 0)),
        ({"split": {("a", "z"): 1}}, ("split-names-no",)),
        ({"split": {5: 1}}, ("split-names-no",)),
        ({"epsilon": 1e-310}, ("noise-table-would",)),
        ({"budget": 1.0}, ("budget-type-budget", "float")),
        ({"epsilon": 1e300}, ("delta-above-promises|epsilon-above-promises",)),
        ({"mechanism": "gaussian", "delta": 0.5}, ("delta-above-promises|epsilon-above-promises",)),
        ({"mechanism": "gaussian", "delta": 1e-3, "epsilon": 500}, ("delta-above-promises|epsilon-above-promises",)),
        ({"public_levels": ["z"]}, ("there-is-no", "attribute", "z")),
    ],
)
def test_release_refuses(tables, options, words):
    given = replace(tables, provenance=Provenance(weighted=False, learned=("a",) if "public_levels" in options else ()))
    with raises(DataError, *words):
        release(given, **{"budget": None, **options})


def test_a_budget_must_be_said(tables):
    with raises(DataError, "budget-not-nothing"):
        release(tables)


def test_delta_above_one_over_n_is_refused():
    many = Tables([Table("a", [30_000, 70_000])], Domain({"a": 2}))
    with raises(DataError, "delta-rows-would", "100,000"):
        plan_release(many, 1.0, 1e-4, "gaussian", 1)


# --- provenance


def weighted_rows():
    return {"a": [0, 1, 1], "w": [1, 100, 7]}


@pytest.mark.parametrize("engine", ["frame", "duckdb"])
def test_whole_weights_are_not_forgotten(engine, tmp_path):
    """Counts of whole weights look like counts of rows; noise for weight 1 would break the promise."""
    from sumwise import load, save

    domain = Domain({"a": 2})
    if engine == "frame":
        tables = Tables.from_frame(weighted_rows(), ["a"], order=1, weight="w", domain=domain)
    else:
        tables = aggregate(weighted_rows(), ["a"], order=1, weight="w", domain=domain)
    save(tables, tmp_path / "tables.sumwise")
    for given in (tables, tables.with_tables(tables.tables), load(tmp_path / "tables.sumwise")):
        with raises(DataError, "tables-counted-weights"):
            release(given, budget=None)
        with raises(DataError, "tables-counted-weights"):
            release(given, bounds=1, budget=None)
        with raises(DataError, "bounds-say-weights-up"):
            release(given, 1.0, 0.0, "laplace", PersonBounds(weight=100), budget=None)


@pytest.mark.parametrize(("bound", "heaviest"), [(2.0, 100.0), (0.5, 0.75), (7.0, 7.5)])
def test_bounds_on_weights_hold_by_clipping(bound, heaviest):
    """One heavy row more moves the counts by no more than the bound, and is no reason to refuse."""
    rows = {"a": [0, 1, 1], "w": [bound / 2, bound, bound]}
    heavy = {k: [*v, x] for (k, v), x in zip(rows.items(), (0, heaviest))}
    options = {"order": 1, "weight": "w", "domain": Domain({"a": 2})}
    for count in (aggregate, Tables.from_frame):
        for given in (rows, heavy):  # whatever the weights are
            with raises(DataError, "bounds-say-weights-up", f"{bound:g}"):
                plan_release(count(given, ["a"], **options), mechanism="laplace", bounds=PersonBounds(weight=bound))
    without, with_row = (aggregate(given, ["a"], max_weight=bound, **options) for given in (rows, heavy))
    assert np.abs(with_row["a"].counts - without["a"].counts).sum() == pytest.approx(bound)
    for tables in (without, with_row):
        assert plan_release(tables, mechanism="laplace").sensitivities == (bound,)
        with raises(DataError, "rows-weights-counts", "geometric"):
            plan_release(tables)  # also where weights happen to be whole


def test_tables_that_may_have_withheld_cells_are_refused_whatever_they_have():
    for rows in ([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1]):
        options = {"suppress_below": 3, "complementary": False}
        tables = aggregate({"a": rows}, ["a"], order=1, domain=Domain({"a": 2}), **options)
        with raises(DataError, "tables-counted-suppress"):
            plan_release(tables)


def test_whether_delta_is_refused_does_not_depend_on_one_row():
    for n in (999, 1001):
        tables = aggregate({"a": [0, 1] * (n // 2)}, ["a"], order=1, domain=Domain({"a": 2}))
        assert plan_release(tables, 1.0, 1e-3, "gaussian").delta == 1e-3
    with raises(DataError, "delta-rows-would", "1,000"):  # the number of rows is known where they are replaced
        plan_release(tables, 1.0, 1e-3, "gaussian", PersonBounds(replace=True))


def test_tables_that_state_nothing_need_bounds():
    stated = Tables([Table("a", [30, 70])], Domain({"a": 2}))
    with raises(DataError, "tables-dont-say"):
        release(stated, budget=None)
    assert release(stated, bounds=1, budget=None)["a"].noise == Geometric(1.0)


def test_rows_per_person_that_were_counted_are_the_default_and_the_least(tables):
    given = replace(tables, provenance=Provenance(weighted=True, max_weight=2.0, rows_per_person=3, learned=()))
    assert plan_release(given, mechanism="laplace").sensitivities[0] == 6
    assert plan_release(given, bounds=4, mechanism="laplace").sensitivities[0] == 8
    with raises(DataError, "bounds-say-rows", 2, 3):
        plan_release(given, bounds=2)
    with raises(DataError, "bounds-say-weights-up-rows", 1, 2):
        plan_release(given, bounds=PersonBounds(rows=3, weight=1.0))


def test_learned_levels_are_refused_by_name():
    rows = {"village": ["Alp", "Bern", "Bern"], "sex": [0, 1, 0], "y": [0, 1, 1]}
    tables = Tables.from_frame(rows, ["village", "sex"], label="y")
    with raises(DataError, "levels-classes-cut", "village", "sex"):
        release(tables, budget=None)
    with raises(DataError, "levels-classes-cut", "village"):
        release(tables, budget=None, public_levels=["sex"])
    assert len(release(tables, budget=None, public_levels=True)) == 1


def test_a_release_is_in_the_provenance(tables, tmp_path):
    from sumwise import load, save

    noisy = release(tables, 0.5, budget=None, bounds=2)
    save(noisy, tmp_path / "noisy.sumwise")
    (entry,) = load(tmp_path / "noisy.sumwise").provenance.releases
    assert entry["epsilon"] == 0.5
    assert entry["mechanism"] == "geometric"
    assert "up to 2 rows of one person" in entry["neighbours"]


def test_gain_is_shown(tables, unlabelled):
    assert plan_release(tables, 1.0).gain() == {"by class": 2.0}
    gain = plan_release(tables, 1.0, 1e-6, "gaussian").gain()
    assert gain["by class"] == pytest.approx(np.sqrt(2))
    assert gain["accounting"] == pytest.approx(1.27, abs=0.01)
    assert plan_release(unlabelled, 1.0).gain() == {}


def test_only_tables_are_released(tables):
    with raises(DataError, "tables-type-tables-aggregate", "Table"):
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
    assert "<table " in plan._repr_html_()
    assert plan_release(tables, 1.0, 1e-6, "gaussian").to_frame().columns[3] == "rho"


def test_label_sums_that_are_not_whole_are_refused_before_the_budget_is_spent():
    halves = Tables([Table("a", [1, 2], [0.5, 1.0])], Domain({"a": 2}), label="y")
    budget = Budget(1.0)
    with raises(DataError, "table-over-counts-label"):
        release(halves, bounds=1, budget=budget)
    assert budget.spent == 0


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("bounds", [2, PersonBounds(rows=2)])
def test_weighted_tables_need_a_bound_on_weights(mechanism, bounds):
    weighted = Tables([Table("a", [10.5, 200.25])], Domain({"a": 2}))
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    with raises(DataError, "table-over-counts-not"):
        release(weighted, 1.0, delta, mechanism, bounds, budget=None)
    release(weighted, 1.0, delta, mechanism, PersonBounds(weight=10.0), budget=None)


def test_whole_weighted_tables_get_the_same_kind_of_noise_as_others():
    whole = Tables([Table("a", np.full(50, 10.0))], Domain({"a": 50}))
    counts = release(whole, 1.0, 1e-6, "gaussian", PersonBounds(weight=2.0), None)["a"].counts
    assert np.any(counts != np.floor(counts))
    counts = release(whole, 1.0, 1e-6, "gaussian", 1, None)["a"].counts
    assert np.array_equal(counts, np.floor(counts))


def test_counts_beyond_doubles_are_refused():
    with raises(DataError, "table-over-counts"):
        release(Tables([Table("a", [1e19, 3])], Domain({"a": 2})), bounds=1, budget=None)


def test_numpy_numbers_are_numbers(tables):
    assert plan_release(tables, 1.0, bounds=np.int64(3)).sensitivities == (3, 3, 3)
    assert plan_release(tables, 3.0, split=np.array([1, 1, 4])).losses == pytest.approx((0.5, 0.5, 2))
