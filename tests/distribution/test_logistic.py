import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from sumwise import Bags
from sumwise.distribution import BagLogistic, KernelEmbedding, LinearEmbedding, MomentEmbedding, logistic
from sumwise.errors import DataError, NotConverged


@pytest.fixture
def three():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 90)
    bags = Bags.from_arrays([rng.normal(0, 1 + c, (30, 1)) for c in codes])
    return bags, np.array(["calm", "rough", "wild"])[codes]


def test_classes_by_spread_are_told(three):
    bags, labels = three
    model = BagLogistic(MomentEmbedding(2), random_state=0).fit(bags[:60], labels[:60])
    assert model.score(bags[60:], labels[60:]) > 0.85
    assert set(model.predict(bags)) == {"calm", "rough", "wild"}
    assert np.allclose(model.predict_proba(bags).sum(axis=1), 1)
    assert model.fit_.converged


def test_shares_stay_between_zero_and_one():
    x = np.linspace(-6, 6, 60)
    bags, share = Bags.from_arrays([[v - 0.1, v + 0.1] for v in x]), 1 / (1 + np.exp(-x))
    model = BagLogistic(LinearEmbedding(), penalty=1e-6).fit(bags, share)
    far = Bags.from_arrays([[100.0], [-100.0]])
    assert np.allclose(model.predict(bags), share, atol=0.01)
    assert ((model.predict(far) >= 0) & (model.predict(far) <= 1)).all()
    assert model.score(bags, share) > 0.99
    matrix = np.column_stack([share, 1 - share])
    both = BagLogistic(LinearEmbedding(), penalty=1e-6).fit(bags, matrix)
    assert np.allclose(both.predict(bags)[:, 0], model.predict(bags), atol=1e-3)


def test_whole_numbers_are_classes_and_fractions_are_shares(three):
    bags, _ = three
    ones = np.arange(90) % 2
    assert BagLogistic(LinearEmbedding(), penalty=1.0).fit(bags, ones).predict(bags).dtype.kind == "i"
    shares = BagLogistic(LinearEmbedding(), "proportions", 1.0).fit(bags, ones.astype(float)).predict(bags)
    assert shares.dtype.kind == "f"


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        (["a"] * 90, {}, ("all-bags-class", "a")),
        (["a"] * 89, {}, ("bags-responses-response", 90, 89)),
        (3, {}, ("bags-responses-response", 90, 0)),
        (np.full((90, 2), 0.4), {}, ("shares-bags-dont",)),
        (np.linspace(0, 2, 90), {"target": "proportions"}, ("shares-bags-dont",)),
        (np.r_[np.nan, np.ones(89)], {}, ("drop-fill-such", "y")),
        (np.ones((90, 2)), {"target": "classes"}, ("y-shape-classes",)),
        (["a", "b"] * 45, {"penalty": "loo"}, ("is-takes", "penalty", "loo")),
        (np.linspace(-1, 3, 90), {}, ("y-holds-fractions",)),
        (["a", "b"] * 45, {"n_folds": 1}, ("must-least", "n_folds", 1)),
        (["a", "b"] * 45, {"target": "ranks"}, ("is-takes", "target", "ranks")),
    ],
)
def test_bad_input_is_refused(three, y, settings, message):
    with raises(DataError, *message):
        BagLogistic(**{"embedding": LinearEmbedding(), **settings}).fit(three[0], y)


def test_a_fit_that_stops_early_says_so(three):
    with warns(NotConverged, "stopped-after-steps", 2):
        BagLogistic(MomentEmbedding(), penalty=1e-8, max_iter=2).fit(*three)


def test_shares_that_hardly_differ_are_learned():
    rng = np.random.default_rng(0)
    level = rng.normal(size=80)
    bags = Bags.from_arrays([m + 0.1 * rng.normal(size=(20, 1)) for m in level])
    shares = 0.5 + 0.001 * level
    model = BagLogistic(LinearEmbedding(), target="proportions", random_state=0).fit(bags, shares)
    assert model.score(bags, shares) > 0.95
    losses = model.tried_["cross_entropy"]
    assert losses[0] > losses[1] > losses[2]  # penalties are told apart
    with raises(DataError, "responses-all-same"):
        model.score(bags, np.full(80, 0.5))


def test_default_takes_the_embedding_that_predicts_held_out_bags(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 120)
    rows = rng.normal(size=(120, 15, 2))
    rows[:, :, 1] = np.where(labels, 0.7, -0.7)[:, None] * rows[:, :, 0] + 0.7 * rows[:, :, 1]
    related = BagLogistic(random_state=0).fit(Bags.from_arrays(list(rows)), labels)
    assert type(related.embedding_).__name__ in ("MomentEmbedding", "FourierEmbedding")  # the kernel sees no pairs
    rows, side = rng.normal(size=(160, 10, 4)), rng.integers(0, 2, 160)
    labels = rng.integers(0, 2, 160)
    rows[np.arange(160), 0, side] += 4.0
    rows[np.arange(160), 1, 1 - side] += 4.0 * labels
    bags = Bags.from_arrays(list(rows))
    paired = BagLogistic(random_state=0).fit(bags[:120], labels[:120])
    assert isinstance(paired.embedding_, KernelEmbedding)
    assert paired.score(bags[120:], labels[120:]) > 0.7
    monkeypatch.setattr(logistic, "KERNEL_BAGS", 100)
    assert not isinstance(BagLogistic(random_state=0).fit(bags, labels).embedding_, KernelEmbedding)


def test_default_takes_columns_of_text_alone():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"bag": np.repeat(np.arange(40), 6), "job": rng.choice(list("abc"), 240)})
    frame.loc[(frame["bag"] % 2 == 0) & (rng.random(240) < 0.6), "job"] = "a"
    bags, labels = Bags.from_frame(frame, bag="bag"), np.arange(40) % 2
    assert BagLogistic(random_state=0).fit(bags, labels).score(bags, labels) > 0.6


def test_default_warns_of_a_column_once_and_compares_embeddings_on_the_same_folds(three, monkeypatch):
    bags, labels = three
    constant = Bags.from_arrays([np.column_stack([bag, np.ones(len(bag))]) for bag in bags])
    folds, losses = [], logistic._held_out_losses
    monkeypatch.setattr(logistic, "_held_out_losses", lambda *given: folds.append(given[-1]) or losses(*given))
    with warns(UserWarning, "columns-constant-left") as caught:
        BagLogistic(random_state=np.random.default_rng(0)).fit(constant, labels)
    assert len(caught) == 1
    assert len(folds) == 7
    assert all((fold == folds[0]).all() for fold in folds)
