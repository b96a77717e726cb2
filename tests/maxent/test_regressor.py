"""MaxEntRegressor: expected amounts from tables of sums, against the regression that sees the rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import PoissonRegressor, Ridge

import sumwise
from sumwise import DataError, Domain, Table, Tables
from sumwise.maxent import MaxEntClassifier, MaxEntRegressor, SolverOptions, amount_tables
from sumwise.noise import Gaussian
from sumwise.report import report

DOMAIN = Domain({"a": 4, "b": 3, "c": 5})
GRID = pd.DataFrame(np.indices(DOMAIN.shape).reshape(3, -1).T, columns=list("abc"))


def world(family, n=6000, seed=0):
    rng = np.random.default_rng(seed)
    effects = [rng.normal(0, 0.5, (k, 1 if i else 3)) for i, k in enumerate(DOMAIN.shape)]
    a, c = rng.integers(0, 4, n), rng.integers(0, 5, n)
    b = np.where(rng.random(n) < 0.4, a % 3, rng.integers(0, 3, n))
    frame = pd.DataFrame({"a": a, "b": b, "c": c})

    def eta(x):
        x = x.to_numpy()
        return 0.3 + effects[0][x[:, 0], x[:, 1]] + effects[2][x[:, 2], 0]

    if family == "poisson":
        return frame.assign(y=rng.poisson(np.exp(eta(frame)))), np.exp(eta(GRID)), (0, 40)
    return frame.assign(y=rng.normal(eta(frame), 1.5)), eta(GRID), (-12, 12)


def dummies(frame):
    one = pd.get_dummies(frame.astype("category"))
    pairs = {f"{p}{q}": frame[p].astype(str) + "," + frame[q].astype(str) for p, q in ("ab", "ac", "bc")}
    return pd.concat([one, pd.get_dummies(pd.DataFrame(pairs))], axis=1).astype(float)


@pytest.mark.parametrize("family", ["poisson", "gaussian"])
def test_near_the_regression_that_sees_the_rows(family):
    frame, truth, ends = world(family)
    tables = amount_tables(frame, list("abc"), "y", *ends, domain=DOMAIN)
    model = MaxEntRegressor(family, random_state=0).fit(tables)
    both = dummies(pd.concat([frame[list("abc")], GRID]))
    rows, grid = both.iloc[: len(frame)], both.iloc[len(frame) :]
    other = PoissonRegressor(alpha=1e-3, max_iter=1000) if family == "poisson" else Ridge(10.0)
    wanted = other.fit(rows, frame["y"]).predict(grid)
    found = model.predict(GRID)
    assert np.sqrt(np.mean((found - truth) ** 2)) < 1.15 * np.sqrt(np.mean((wanted - truth) ** 2)) + 0.01
    low, high = model.predict_interval(GRID)
    assert np.mean((low <= truth) & (truth <= high)) > 0.85
    assert np.mean(high - low) < 1.2 * np.std(truth)
    assert model.score(frame, frame["y"]) > 0.1


def test_sums_of_the_model_are_those_of_the_tables():
    frame, _, ends = world("poisson")
    tables = amount_tables(frame, list("abc"), "y", *ends, domain=DOMAIN)
    model = MaxEntRegressor(penalty_theta=1e-3, model=MaxEntClassifier(1e-3, 1e-3), random_state=0).fit(tables)
    shares = model.x_model_.model_.joint().sum(axis=0).ravel()
    expected = np.bincount(GRID["a"] * 3 + GRID["b"], weights=model.n_ * shares * model.predict(GRID))
    observed = frame.groupby(["a", "b"])["y"].sum().to_numpy()
    np.testing.assert_allclose(expected, observed, rtol=0.01)


def test_dispersion_is_that_of_the_amounts():
    frame, _, ends = world("gaussian")
    model = MaxEntRegressor("gaussian", random_state=0).fit(amount_tables(frame, list("abc"), "y", *ends))
    assert model.dispersion_ == pytest.approx(1.5**2, rel=0.05)
    frame, _, ends = world("poisson")
    assert MaxEntRegressor(random_state=0).fit(
        amount_tables(frame, list("abc"), "y", *ends)
    ).dispersion_ == pytest.approx(1.0, rel=0.07)


def test_intervals_widen_with_noise_and_hold_the_truth():
    frame, truth, ends = world("poisson")
    exact = amount_tables(frame, list("abc"), "y", *ends, domain=DOMAIN)
    rng, made = np.random.default_rng(0), []
    for t in exact:
        sums = t.label_sums + 3.0 * rng.standard_normal(t.label_sums.shape)
        noise = Gaussian(3.0 * np.sqrt(3.0))
        made.append(Table(t.attributes, sums.sum(axis=-1), sums, noise, label_noise=Gaussian(3.0)))
    noisy = Tables(made, DOMAIN, label="y", classes=exact.classes, provenance=exact.provenance)
    plain, wide = (MaxEntRegressor(random_state=0).fit(t) for t in (exact, noisy))
    widths = [np.mean(np.subtract(*m.predict_interval(GRID)[::-1])) for m in (plain, wide)]
    assert widths[1] > 1.3 * widths[0]
    low, high = wide.predict_interval(GRID)
    assert np.mean((low <= truth) & (truth <= high)) > 0.85


def test_saved_reported_and_sampled_by_chains(tmp_path):
    frame, _, ends = world("poisson", 2000)
    tables = amount_tables(frame, list("abc"), "y", *ends)
    options = SolverOptions(n_chains=500, tol=1.0)
    model = MaxEntRegressor(model=MaxEntClassifier(engine="gibbs", options=options), random_state=0).fit(tables)
    sumwise.save(model, tmp_path / "m.sumwise")
    assert np.array_equal(sumwise.load(tmp_path / "m.sumwise").predict(GRID), model.predict(GRID))
    page = report(model, tables, truth=(frame, frame["y"]))
    assert "expected y of an individual" in page.summary["lead"][0]
    assert page.findings[0].startswith("R squared")
    assert "Expected y" in page.html()


def test_the_family_follows_from_the_range_of_the_amounts(tmp_path):
    for name in ("poisson", "gaussian"):
        frame, _, ends = world(name, 300)
        tables = amount_tables(frame, list("abc"), "y", *ends)
        model = MaxEntRegressor(random_state=0).fit(tables)
        assert model.family_ == name
        given = MaxEntRegressor(name, random_state=0).fit(tables)
        np.testing.assert_array_equal(model.predict(frame), given.predict(frame))
        del given.family_  # as earlier models were saved
        sumwise.save(given, tmp_path / "model")
        np.testing.assert_array_equal(sumwise.load(tmp_path / "model").predict(frame), model.predict(frame))


def test_what_cannot_be_is_refused():
    frame, _, _ = world("gaussian", 300)
    tables = amount_tables(frame, list("abc"), "y", -12, 12)
    with pytest.raises(DataError, match="never negative"):
        MaxEntRegressor("poisson").fit(tables)
    with pytest.raises(DataError, match="of an amount, not of classes"):
        MaxEntClassifier().fit(tables)
    with pytest.raises(DataError, match="not of an amount"):
        MaxEntRegressor().fit(Tables.from_frame(frame.assign(y=frame["y"] > 0), ["a"], label="y", order=1))
    with pytest.raises(DataError, match="sums of squares"):
        MaxEntRegressor("gaussian").fit(amount_tables(frame, list("abc"), "y", -12, 12, squares=False))
