"""Budget: composition, refusal, and the file that remembers."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumwise.errors import DataError
from sumwise.privacy import Budget
from sumwise.privacy.budget import epsilon_of_rho, rho_of_epsilon


def test_pure_releases_add_up():
    budget = Budget(1.0)
    for _ in range(10):
        budget.spend(0.1)
    assert budget.spent == pytest.approx(1)
    assert budget.left == pytest.approx(0, abs=1e-12)
    with pytest.raises(DataError, match="has 0 left"):
        budget.spend(1e-6)


def test_overdraft_is_refused_and_spends_nothing():
    budget = Budget(1.0)
    budget.spend(0.75)
    with pytest.raises(DataError, match=r"'april' would bring what is spent to 1.25"):
        budget.spend(0.5, what="april")
    assert budget.spent == 0.75
    assert len(budget.entries) == 1


def test_gaussian_releases_compose_in_zcdp():
    budget = Budget(1.0, delta=1e-6)
    rho = rho_of_epsilon(1.0, 1e-6)
    budget.spend(rho=rho / 2)
    budget.spend(rho=rho / 2)
    assert budget.spent == pytest.approx(1)
    with pytest.raises(DataError, match="left"):
        budget.spend(rho=rho / 100)


def test_many_small_pure_releases_cost_less_with_a_delta():
    pure, with_delta = Budget(10.0), Budget(10.0, delta=1e-6)
    for budget in (pure, with_delta):
        for _ in range(100):
            budget.spend(0.05)
    assert pure.spent == pytest.approx(5)
    assert with_delta.spent == pytest.approx(epsilon_of_rho(100 * 0.05**2 / 2, 1e-6))
    assert with_delta.spent < pure.spent


def test_mixture_of_pure_and_gaussian_takes_the_smaller_bound():
    few = Budget(9.0, delta=1e-6)
    few.spend(1.0)
    few.spend(rho=0.1)
    assert few.spent == pytest.approx(1.0 + epsilon_of_rho(0.1, 1e-6))
    many = Budget(9.0, delta=1e-6)
    many.spend(rho=0.1)
    for _ in range(100):
        many.spend(0.05)
    assert many.spent == pytest.approx(epsilon_of_rho(0.1 + 100 * 0.05**2 / 2, 1e-6))


@given(st.floats(1e-3, 20), st.floats(1e-12, 0.1))
def test_rho_and_epsilon_are_inverses(epsilon, delta):
    assert math.isclose(epsilon_of_rho(rho_of_epsilon(epsilon, delta), delta), epsilon, rel_tol=1e-6)


def test_rho_of_epsilon_is_safe_against_opendp():
    """OpenDP's own conversion is tighter: ours never promises less loss than it proves."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l2_distance(T="f64")
    for epsilon in (0.1, 1.0, 5.0):
        scale = 1 / math.sqrt(2 * rho_of_epsilon(epsilon, 1e-6))
        profile = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)).map(1.0)
        assert profile.epsilon(1e-6) <= epsilon


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0,), "epsilon is 0; it must be above 0"),
        ((-1,), "epsilon"),
        ((float("nan"),), "epsilon"),
        (("1",), "epsilon"),
        ((1.0, 1.0), "below 1"),
        ((1.0, -0.1), "delta"),
    ],
)
def test_budget_refuses(arguments, words):
    with pytest.raises(DataError, match=words):
        Budget(*arguments)


@pytest.mark.parametrize(
    ("spending", "words"),
    [({}, "either"), ({"epsilon": 1, "rho": 1}, "either"), ({"epsilon": 0}, "above 0"), ({"rho": 0.1}, "no delta")],
)
def test_spend_refuses(spending, words):
    with pytest.raises(DataError, match=words):
        Budget(2.0).spend(**spending)


def test_file_remembers_what_was_spent(tmp_path):
    path = tmp_path / "deep" / "budget.json"
    Budget(1.0, path=path).spend(0.75, what="march")
    again = Budget(1.0, path=path)
    assert again.spent == 0.75
    assert again.entries[0]["what"] == "march"
    with pytest.raises(DataError, match=r"has 0.25 left"):
        again.spend(0.5)
    assert sorted(p.name for p in path.parent.iterdir()) == [".budget.json.lock", "budget.json"]


def test_file_of_another_budget_is_refused(tmp_path):
    path = tmp_path / "budget.json"
    Budget(1.0, path=path).spend(0.5)
    with pytest.raises(DataError, match="allows epsilon 1 and delta 0; epsilon 2"):
        Budget(2.0, path=path)


@pytest.mark.parametrize(
    "content",
    [
        "not json",
        "[]",
        "{}",
        json.dumps({"epsilon": 1, "delta": 0, "entries": [{"what": "x", "when": "t"}]}),
        json.dumps({"epsilon": 1, "delta": 0, "entries": [{"what": "x", "when": "t", "epsilon": -5}]}),
    ],
)
def test_file_edited_by_hand_is_refused(tmp_path, content):
    path = tmp_path / "budget.json"
    path.write_text(content)
    with pytest.raises(DataError):
        Budget(1.0, path=path)


def test_file_that_cannot_be_written_spends_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    budget = Budget(1.0, path=tmp_path / "file" / "budget.json")
    with pytest.raises(DataError, match="can't be written"):
        budget.spend(0.5)
    assert budget.spent == 0


def test_budget_shows_itself():
    budget = Budget(1.0)
    budget.spend(0.5)
    assert repr(budget) == "Budget(epsilon=1, delta=0, spent=0.5, releases=1)"
    assert "<table>" in budget._repr_html_()
    assert budget.describe()["left"] == 0.5


def test_two_holders_of_one_file_spend_it_once(tmp_path):
    first, second = (Budget(1.0, path=tmp_path / "budget.json") for _ in range(2))
    first.spend(0.75)
    with pytest.raises(DataError, match=r"has 0.25 left"):
        second.spend(0.75)
    second.spend(0.25)
    assert len(Budget.from_file(tmp_path / "budget.json").entries) == 2


def test_programs_at_once_never_overdraw_one_file(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    budgets = [Budget(1.0, path=tmp_path / "budget.json") for _ in range(8)]

    def spends(budget):
        try:
            budget.spend(0.25)
        except DataError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spends, budgets)) == 4
    assert Budget.from_file(tmp_path / "budget.json").spent == 1.0


def test_budget_from_file_has_what_the_file_allows(tmp_path):
    Budget(2.0, 1e-6, tmp_path / "budget.json").spend(rho=0.01)
    kept = Budget.from_file(tmp_path / "budget.json")
    assert (kept.epsilon, kept.delta, len(kept.entries)) == (2.0, 1e-6, 1)
    with pytest.raises(DataError, match="can't be read"):
        Budget.from_file(tmp_path / "other.json")


def test_failed_write_leaves_no_temporary_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    budget = Budget(1.0, path=tmp_path / "budget.json")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left"):
        budget.spend(0.5)
    assert budget.spent == 0
    assert [p.name for p in tmp_path.iterdir()] == [".budget.json.lock"]


def test_rho_of_tiny_epsilon_and_delta_is_exact():
    log = math.log(1e6)
    assert rho_of_epsilon(1e-12, 1e-6) == pytest.approx(1e-24 / (4 * log), rel=1e-9)
    assert 0 < rho_of_epsilon(1.0, 1e-320) < 1
