"""Hashed crosses: features of x are functions of x, phi_H(x)."""

import json

import numpy as np
import pandas as pd
import pytest

import sumwise
from messages import raises
from sumwise import Domain
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cross, Levels, cross_cell
from sumwise.errors import DataError
from sumwise.io.formats.connection import connect
from sumwise.maxent import MaxEntClassifier, SampledLogistic, SolverOptions, skyline
from sumwise.maxent import hashed_crosses as module
from sumwise.maxent.hashed_crosses import arranged_domain, crossed_features
from sumwise.noise import Gaussian
from sumwise.tables import Tables

SIZES = {"a": 3, "b": 4, "c": 2}


def salt_without_collisions(cells):
    """A salt that hashes the 12 cells of b x a into different ones."""
    at = np.indices((4, 3)).reshape(2, -1)
    return next(s for s in range(10_000) if len(set(cross_cell(list(at), cells, s))) == 12)


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 3, n), rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.6, a, rng.integers(0, 4, n))
    z = np.where((a + b) % 2 == 0, 1.2, -0.8) + 0.5 * c
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": y})


def encoding(cells, salt, extra=()):
    plain = {k: Levels(k, tuple(range(n))) for k, n in SIZES.items()}
    return Encoding({**plain, "ab": Cross(("b", "a"), cells, salt), **dict(extra)})


def hashed_tables(frame, cells, salt, drop=("a", "b")):
    """Tables over a x c, b x c and the cross, which stands for a x b."""
    given = encoding(cells, salt)
    pairs = aggregate(frame, ["a", "b", "c"], label="y", encoding=given.project(["a", "b", "c"]))
    cross = aggregate(frame, ["ab"], label="y", order=1, encoding=given)
    kept = [t for t in pairs if set(t.attributes) != set(drop)]
    domain = Domain({**SIZES, "ab": cells})
    return pairs, Tables([*kept, *cross], domain, label="y", encoding=given)


GRID = pd.DataFrame(np.indices((3, 4, 2)).reshape(3, -1).T, columns=["a", "b", "c"])


@pytest.mark.parametrize("engine", ["exact", "tree", "gibbs"])
def test_hash_without_collisions_gives_the_unhashed_model(engine):
    plain, hashed = hashed_tables(people(), 64, salt_without_collisions(64))
    options = SolverOptions(n_chains=2000, max_iter=150, tol=1.0)
    models = [MaxEntClassifier(engine=engine, options=options, random_state=0).fit(t) for t in (plain, hashed)]
    wanted, found = (m.predict_proba(GRID) for m in models)
    assert np.abs(found - wanted).max() < 1e-5
    assert np.ptp(found[:, 1]) > 0.3
    for asked in (["a", "b"], ["b", "c"]):
        if engine != "gibbs":
            assert np.allclose(*(m.expected(asked).values for m in models), rtol=1e-4, atol=0.05)


def test_colliding_hash_has_one_effect_per_cell():
    frame = people()
    _, hashed = hashed_tables(frame, 5, 0)
    model = MaxEntClassifier(random_state=0).fit(hashed)
    joint = model.model_.joint()  # of y, a, b, c: the expected moments of every feature are those of the tables
    cell = cross_cell([GRID["b"].to_numpy(), GRID["a"].to_numpy()], 5, 0)
    cross = hashed["ab"]
    for mass, wanted in ((joint.sum(axis=0), cross.counts), (joint[1], cross.label_sums)):
        found = 3000 * np.bincount(cell, weights=mass.ravel(), minlength=5)
        assert np.abs(found - wanted).max() < 0.03 * wanted.max()


@pytest.mark.check
@pytest.mark.filterwarnings("ignore::sumwise.NotConverged")  # theta is shrunk further than this noise asks for
def test_exact_and_gibbs_agree_with_noise_and_tables_of_crosses_with_others():
    frame = people()
    given = encoding(7, 1)
    tables = aggregate(frame, ["a", "c", "ab"], label="y", encoding=given)  # b is in no table but the cross's
    noisy = tables.with_tables([type(t)(t.attributes, t.counts, t.label_sums, noise=Gaussian(5.0)) for t in tables])
    exact = MaxEntClassifier(engine="exact", random_state=0).fit(noisy)
    gibbs = MaxEntClassifier(engine="gibbs", random_state=0).fit(noisy)
    assert exact.model_.schema.domain.attributes == ("a", "c", "b", "ab")
    assert np.abs(exact.predict_proba(GRID) - gibbs.predict_proba(GRID)).max() < 0.04
    assert exact.bootstrap(noisy, n=5, random_state=0).predict_interval(GRID)[0].shape == (24, 2)


def test_cross_of_its_own_is_an_attribute():
    given = encoding(5, 0)
    assert arranged_domain(Domain({"ab": 5, "c": 2}), given).attributes == ("ab", "c")
    assert crossed_features(Domain({"ab": 5, "c": 2}), given) == ()


def test_too_many_joint_cells_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 11)
    _, hashed = hashed_tables(people(200), 5, 0)
    with raises(DataError, "depends-joint-cells", 12):
        MaxEntClassifier().fit(hashed)


def test_sql_and_plain_weights_follow():
    _, hashed = hashed_tables(people(), 5, 3)
    model = MaxEntClassifier(random_state=0).fit(hashed)
    wanted = model.predict_proba(GRID)[:, 1]
    with connect() as database:
        database.register("grid", GRID)
        found = database.execute(model.to_sql("grid")).fetchnumpy()["probability_1"]
    assert np.abs(found - wanted).max() < 1e-9
    plain = json.loads(json.dumps(model.to_logistic()))
    codes = Encoding.from_dict(plain["encoding"]).codes(GRID)
    scores = np.full(len(GRID), plain["intercept"])
    for weight in plain["weights"]:
        hit = np.logical_and.reduce([codes[f] == v for f, v in zip(weight["features"], weight["levels"])])
        scores += weight["weight"] * hit
    assert np.abs(1 / (1 + np.exp(-scores)) - wanted).max() < 1e-12


def test_saved_model_and_rows_follow(tmp_path):
    frame = people()
    _, hashed = hashed_tables(frame, 5, 3)
    model = MaxEntClassifier(engine="gibbs", options=SolverOptions(n_chains=500), random_state=0).fit(hashed)
    sumwise.save(model, tmp_path / "m.sumwise")
    again = sumwise.load(tmp_path / "m.sumwise")
    assert np.array_equal(again.predict_proba(GRID), model.predict_proba(GRID))
    rows = model.sample(200, random_state=1)
    assert np.array_equal(rows["ab"], cross_cell([rows["b"].to_numpy(), rows["a"].to_numpy()], 5, 3))
    assert len(model.coefficients()) == model.model_.layout.own_places().sum()
    sky = skyline(hashed, frame, frame["y"])
    drawn = SampledLogistic(MaxEntClassifier(), random_state=0).fit(hashed)
    for other in (sky, drawn):
        assert np.abs(other.predict_proba(GRID) - model.predict_proba(GRID)).mean() < 0.1


def test_a_device_refuses_crosses():
    pytest.importorskip("torch", reason="the extra 'torch' isn't installed")
    _, hashed = hashed_tables(people(200), 5, 0)
    with raises(DataError, "tables-hashed-crosses"):
        MaxEntClassifier(device="cpu:0").fit(hashed)
