"""Budget: composition, refusal, and the file that remembers."""

import json
import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

from messages import raises
from sumwise.errors import DataError
from sumwise.privacy import Budget
from sumwise.privacy.accounting import epsilon_of_rho, mu_of_epsilon

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")


def rho_of_epsilon(epsilon, delta):
    """The rho that epsilon_of_rho turns into an epsilon."""
    return brentq(lambda rho: epsilon_of_rho(rho, delta) - epsilon, 1e-9, 1e4, xtol=1e-12)


def test_pure_releases_add_up():
    budget = Budget(1.0)
    for _ in range(10):
        budget.spend(0.1)
    assert budget.spent == pytest.approx(1)
    assert budget.left == pytest.approx(0, abs=1e-12)
    with raises(DataError, "budget-epsilon-left", 0):
        budget.spend(1e-6)


def test_overdraft_is_refused_and_spends_nothing():
    budget = Budget(1.0)
    budget.spend(0.75)
    with raises(DataError, "budget-epsilon-left", "april", "1.25"):
        budget.spend(0.5, what="april")
    assert budget.spent == 0.75
    assert len(budget.entries) == 1


def test_gaussian_releases_compose_in_zcdp():
    budget = Budget(1.0, delta=1e-6)
    rho = rho_of_epsilon(1.0, 1e-6)
    budget.spend(rho=rho / 2)
    budget.spend(rho=rho / 2)
    assert budget.spent == pytest.approx(1)
    with raises(DataError, "budget-epsilon-left"):
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


def test_gaussian_releases_compose_exactly():
    budget, mu = Budget(1.0, delta=1e-6), mu_of_epsilon(1.0, 1e-6)
    for _ in range(4):
        budget.spend(mu=mu / 2)
    assert budget.spent == pytest.approx(1)
    assert mu**2 / 2 > rho_of_epsilon(1.0, 1e-6)
    with raises(DataError, "budget-epsilon-left"):
        budget.spend(mu=mu / 20)


@pytest.mark.parametrize("pure", [(), (0.3,), (0.3, 0.2, 0.2), (0.1,) * 8])
@pytest.mark.parametrize("mus", [(), (0.5,), (0.3, 0.4, 0.2)])
def test_what_was_spent_covers_the_composition_by_enumeration(pure, mus):
    """Losses of geometric noise on neighbours are +-epsilon, of Gaussian noise normal: all of them, together."""
    delta = 1e-6 if mus else 0.0
    budget = Budget(20.0, delta)
    budget.spend_all([*({"epsilon": e} for e in pure), *({"mu": m} for m in mus)], "all") if pure or mus else None
    spread = np.sqrt(np.sum(np.square(mus)))
    z = np.linspace(-12, 12, 40_001)
    weights = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum() if mus else np.ones(1)
    normal = spread**2 / 2 + spread * z if mus else np.zeros(1)

    def excess(epsilon):
        total = 0.0
        for signs in product((1, -1), repeat=len(pure)):
            chance = np.prod([np.exp(e * (s > 0)) / (1 + np.exp(e)) for e, s in zip(pure, signs)])
            loss = normal + np.dot(signs, pure)
            total += chance * np.sum(weights * -np.expm1(np.minimum(epsilon - loss, 0.0)))
        return total

    assert excess(budget.spent) <= delta + 1e-12
    if not mus:
        assert budget.spent == pytest.approx(sum(pure))
        assert not pure or excess(budget.spent - 1e-6) > 0
    elif not pure:  # exact: no smaller epsilon would do
        assert excess(budget.spent - 1e-3) > delta


def test_losses_without_an_epsilon_are_never_forgotten(tmp_path):
    """A ledger at delta 0 with an entry in rho has lost more than any epsilon."""
    path = tmp_path / "budget.json"
    entry = {"what": "x", "when": "t", "rho": 0.01}
    path.write_text(json.dumps({"epsilon": 1, "delta": 0, "entries": [entry]}))
    budget = Budget(1.0, path=path)
    assert budget.spent == math.inf
    with raises(DataError, "budget-epsilon-left", "inf"):
        budget.spend(1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0,), ("must-above-smaller", "epsilon", 0)),
        ((-1,), ("must-least", "epsilon")),
        ((float("nan"),), ("must-least", "epsilon")),
        (("1",), ("must-least", "epsilon")),
        ((1.0, 1.0), ("delta-must-below",)),
        ((1.0, -0.1), ("must-least", "delta")),
        ((1e300,), ("epsilon-above-promises", "1e+300", 100)),
        ((1.0, 0.5), ("delta-above-promises", "0.5", "0.001")),
    ],
)
def test_budget_refuses(arguments, words):
    with raises(DataError, *words):
        Budget(*arguments)


@pytest.mark.parametrize(
    ("spending", "words"),
    [
        ({}, ("spend-either-epsilon",)),
        ({"epsilon": 1, "rho": 1}, ("spend-either-epsilon",)),
        ({"mu": 0.1}, ("gaussian-noise-budget",)),
        ({"epsilon": 0}, ("must-above-smaller", 0)),
        ({"rho": 0.1}, ("gaussian-noise-budget",)),
    ],
)
def test_spend_refuses(spending, words):
    with raises(DataError, *words):
        Budget(2.0).spend(**spending)


def test_file_remembers_what_was_spent(tmp_path):
    path = tmp_path / "deep" / "budget.json"
    Budget(1.0, path=path).spend(0.75, what="march")
    again = Budget(1.0, path=path)
    assert again.spent == 0.75
    assert again.entries[0]["what"] == "march"
    with raises(DataError, "budget-epsilon-left", "0.25"):
        again.spend(0.5)
    assert sorted(p.name for p in path.parent.iterdir()) == [".budget.json.lock", "budget.json"]


def test_file_of_another_budget_is_refused(tmp_path):
    path = tmp_path / "budget.json"
    Budget(1.0, path=path).spend(0.5)
    with raises(DataError, "budget-file-allows", 1, 0, 2):
        Budget(2.0, path=path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "not json",
        "[]",
        "{}",
        '{"epsilon": 1, "delta": 0}',
        '{"epsilon": 1, "delta": 0, "entries": {}}',
        '{"epsilon": 1, "delta": 0, "entries": null}',
        '{"epsilon": 1, "delta": 0, "entries": "", "more": 1}',
        '{"epsilon": 1, "delta": 0, "entries": [], "entries": []}',
        '{"epsilon": true, "delta": 0, "entries": []}',
        '{"epsilon": "1", "delta": 0, "entries": []}',
        '{"epsilon": NaN, "delta": 0, "entries": []}',
        '{"epsilon": 1, "delta": 0, "entries": [1]}',
        '{"epsilon": 1, "delta": 0, "entries": [{"what": "x", "when": "t"}]}',
        '{"epsilon": 1, "delta": 0, "entries": [{"what": "x", "when": "t", "epsilon": -5}]}',
        '{"epsilon": 1, "delta": 0, "entries": [{"what": "x", "when": "t", "epsilon": Infinity}]}',
        '{"epsilon": 1, "delta": 0, "entries": [{"what": "x", "when": "t", "epsilon": 1, "rho": 1}]}',
        '{"epsilon": 1, "delta": 0, "entries": [{"what": "x", "when": "t", "epsilon": 1, "note": ""}]}',
    ],
)
def test_damaged_ledger_is_an_error_and_never_empty(tmp_path, content):
    path = tmp_path / "budget.json"
    path.write_text(content)
    with raises(DataError, "budget-file-cant"):
        Budget(1.0, path=path)


def test_file_that_cannot_be_written_spends_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    budget = Budget(1.0, path=tmp_path / "file" / "budget.json")
    with raises(DataError, "link-file-remove"):
        budget.spend(0.5)
    assert budget.spent == 0


def test_budget_shows_itself():
    budget = Budget(1.0)
    budget.spend(0.5)
    assert repr(budget) == "Budget(epsilon=1, delta=0, spent=0.5, releases=1)"
    assert " is spent, by " in budget._repr_html_()
    assert budget.describe()["left"] == 0.5


def test_two_holders_of_one_file_spend_it_once(tmp_path):
    first, second = (Budget(1.0, path=tmp_path / "budget.json") for _ in range(2))
    first.spend(0.75)
    with raises(DataError, "budget-epsilon-left", "0.25"):
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
    with raises(DataError, "budget-file-cant"):
        Budget.from_file(tmp_path / "other.json")


def test_failed_write_leaves_no_temporary_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    budget = Budget(1.0, path=tmp_path / "budget.json")
    monkeypatch.setattr("os.fsync", full)
    with raises(DataError, "budget-cant-written", "No space left"):
        budget.spend(0.5)
    assert budget.spent == 0
    assert [p.name for p in tmp_path.iterdir()] == [".budget.json.lock"]
