"""Shares of subgroups: against sums by hand, with intervals, given counts, and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from messages import raises
from sumwise import Bags, synthetic
from sumwise.errors import DataError, UnknownName
from sumwise.proportions import CardinalityClassifier, MeanEmbeddingClassifier, subgroups


@pytest.fixture(scope="module")
def data():
    return synthetic.election(80, 30, n_classes=3, n_categorical=2, mean_weight=1, weight_spread=0, random_state=0)


@pytest.fixture(scope="module")
def clf(data):
    return MeanEmbeddingClassifier().fit(data.bags, data.counts)


@pytest.fixture(scope="module")
def exact(data):
    return CardinalityClassifier("linear").fit(data.bags, data.counts)


def by_hand(data, clf, hard=False):
    p = clf.predict_proba(data.test_values)
    p = np.eye(3)[p.argmax(axis=1)] if hard else p
    return np.stack([p[data.test_codes["race"] == g].mean(axis=0) for g in range(5)])


def test_shares_are_means_by_hand(data, clf):
    races = {"race": data.test_codes["race"]}
    np.testing.assert_allclose(subgroups(clf, data.test_values, races).shares, by_hand(data, clf))
    hard = subgroups(clf, data.test_values, races, prediction="hard")
    np.testing.assert_allclose(hard.shares, by_hand(data, clf, True))
    nation = subgroups(clf, data.test_values)
    np.testing.assert_allclose(nation.shares[0], clf.predict_proba(data.test_values).mean(axis=0))
    assert nation.groups["people"].tolist() == [10_000]


@pytest.mark.parametrize("kind", ["pandas", "polars", "bags"])
def test_frames_and_bags_give_the_same(data, clf, kind):
    frame = pd.DataFrame(data.bags.values, columns=list(data.bags.features))
    frame["state"], frame["heavy"] = data.states[data.bags.bag_index], np.arange(len(frame)) % 7
    if kind == "bags":
        found = subgroups(clf, data.bags, {"state": frame["state"]}, weights=frame["heavy"].to_numpy())
    else:
        given = frame if kind == "pandas" else pl.from_pandas(frame)
        found = subgroups(clf, given, ["state"], weights="heavy")
    p = clf.predict_proba(data.bags) * frame[["heavy"]].to_numpy()
    sums = pd.DataFrame(p).groupby(frame["state"]).sum().to_numpy()
    np.testing.assert_allclose(found.shares, sums / sums.sum(axis=1, keepdims=True), atol=1e-12)
    assert found.groups["people"].sum() == frame["heavy"].sum()


def test_features_are_found_by_their_number(data, clf):
    frame = pd.DataFrame(data.bags.values, columns=list(data.bags.features))
    assert len(subgroups(clf, frame)) == 1
    frame["group"] = 1
    assert len(subgroups(clf, frame, "group")) == 1
    frame["other"] = 2
    assert len(subgroups(clf, frame, "group")) == 1  # columns have names
    with raises(DataError, "frames-columns-arent"):
        subgroups(clf, frame.rename(columns={data.bags.features[0]: "z"}), "group")
    plain = LogisticRegression().fit(data.bags.values, data.bags.values[:, 0] > 0)
    with raises(DataError, "frames-columns-arent"):
        subgroups(plain, frame, "group")


def test_bags_group_by_id_and_by_level():
    frame = pd.DataFrame({"area": list("aabb"), "sex": list("fmfm"), "age": [1.0, 2.0, 3.0, 4.0]})
    bags = Bags.from_frame(frame, bag="area")
    model = LogisticRegression().fit(bags.values, [0, 1, 0, 1])
    assert subgroups(model, bags, ["bag"]).groups["bag"].tolist() == ["a", "b"]
    assert subgroups(model, bags, ["sex"]).groups["sex"].tolist() == ["f", "m"]


def test_two_party_share_leaves_the_others_out(data, clf):
    found = subgroups(clf, data.test_values, {"race": data.test_codes["race"]}, classes=data.classes)
    shares = by_hand(data, clf)
    table = found.two_party("D", "R")
    np.testing.assert_allclose(table["share"], shares[:, 1] / (shares[:, 0] + shares[:, 1]))
    np.testing.assert_allclose(table["voters"], table["people"] * (shares[:, 0] + shares[:, 1]))
    with pytest.raises(UnknownName):
        found.two_party("D", "Green")


def test_nobody_votes_by_hard_prediction():
    model = LogisticRegression().fit([[0.0], [1.0], [9.0]], [0, 1, 2])
    found = subgroups(model, [[9.0], [9.5]], prediction="hard").two_party(1, 0)
    assert np.isnan(found["share"]).all()
    assert found["voters"].tolist() == [0.0]


def test_shares_and_intervals_come_from_the_same_draws(data, exact, clf):
    race = {"race": data.test_codes["race"][:500]}
    rows = data.test_values[:500]
    found = subgroups(exact, rows, race, n_draws=200)
    low, high = found.interval(0.9)
    assert ((low <= found.shares) & (found.shares <= high)).all()
    np.testing.assert_allclose(found.shares, found.draws.mean)
    np.testing.assert_allclose(found.shares.sum(axis=1), 1.0)
    table = found.two_party(1, 0)
    assert (table["low"] < table["share"]).all()
    assert (table["share"] < table["high"]).all()
    assert set(found.to_frame().columns) == {"race", "rows", "people", "class", "share", "low", "high"}
    again = subgroups(exact, rows, race, n_draws=200)
    np.testing.assert_array_equal(again.draws.values, found.draws.values)
    heavy = subgroups(exact, rows, race, weights=np.full(500, 100.0), n_draws=200)
    assert np.mean(np.subtract(*heavy.interval())) > np.mean(np.subtract(*found.interval()))  # narrower
    with raises(DataError, "shares-no-interval"):
        subgroups(clf, rows, race).interval()


def test_counts_fix_the_shares_of_whole_bags(data, exact):
    whole = subgroups(exact, data.bags, ["bag"], counts=data.counts, n_draws=40)
    np.testing.assert_allclose(whole.shares, data.counts / 30, atol=1e-8)
    low, high = whole.interval()
    np.testing.assert_allclose(high - low, 0.0, atol=1e-6)
    race = {"race": data.codes["race"]}
    given = subgroups(exact, data.bags, race, counts=data.counts, n_draws=40)
    free = subgroups(exact, data.bags, race, n_draws=40)
    assert np.mean(np.subtract(*given.interval())) > np.mean(np.subtract(*free.interval()))  # minus the width


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_given_counts_vary_together_as_in_enumeration(n_classes):
    from itertools import product

    from sumwise.proportions.members import gather
    from sumwise.proportions.subgroup_shares import _with_fixed_sums

    rng, n = np.random.default_rng(0), 9
    p = rng.dirichlet(np.full(n_classes, 3.0), n)
    counts = np.bincount(np.arange(n) % n_classes)
    codes = np.array([y for y in product(range(n_classes), repeat=n) if (np.bincount(y) == counts[: max(y) + 1]).all()])
    labels = np.eye(n_classes)[codes]
    weight = np.prod((labels * p).sum(axis=2), axis=1)
    weight /= weight.sum()
    q = np.tensordot(weight, labels, 1)
    side = np.arange(n) >= 4
    members = gather(Bags(np.zeros((n, 1)), [0, n]), {"g": side}, None, None)
    drawn = []
    for _ in range(4000):
        off = np.eye(n_classes)[(rng.random(n)[:, None] > np.cumsum(q, axis=1)[:, :-1]).sum(axis=1)] - q
        drawn.append(members.mean(q + _with_fixed_sums(members, q, off)))
    drawn, true = np.array(drawn), np.stack([labels[:, ~side].mean(axis=1), labels[:, side].mean(axis=1)], axis=1)
    np.testing.assert_allclose(4 * drawn[:, 0] + 5 * drawn[:, 1], np.broadcast_to(counts, (4000, n_classes)), atol=1e-6)
    gap = true[:, 0] - true[:, 1]
    spread = np.sqrt(weight @ (gap - weight @ gap) ** 2)
    np.testing.assert_allclose((drawn[:, 0] - drawn[:, 1]).std(axis=0), spread, rtol=0.06)


def test_shares_given_counts_add_up_to_the_counts(data, exact):
    race = {"race": data.codes["race"]}
    found = subgroups(exact, data.bags, race, counts=data.counts, n_draws=50)
    np.testing.assert_allclose(found.draws.values.sum(axis=2), 1.0)
    totals = np.einsum("ngc,g->nc", found.draws.values, found.groups["people"])
    np.testing.assert_allclose(totals, np.broadcast_to(data.counts.sum(axis=0), totals.shape), rtol=1e-3)


def test_own_intercepts_widen_the_shares_of_labels():
    data = synthetic.election(
        60, 20, n_categorical=1, region_effect=1.0, mean_weight=1, weight_spread=0, n_test=10, random_state=0
    )
    counts = data.counts[:, 1]
    clf = CardinalityClassifier(penalty=1.0, random_intercept=True).fit(data.bags, counts)
    assert clf.intercept_scale_ > 0.4
    found = subgroups(clf, data.bags, ["bag"])
    low, high = found.interval()
    truth = counts / 20
    assert np.mean((low[:, 1] <= truth) & (truth <= high[:, 1])) > 0.85


def test_nonsense_is_refused(data, clf):
    rows = data.test_values[:20]
    with raises(DataError, "counts-belong-bags"):
        subgroups(clf, rows, counts=[3])
    with raises(DataError, "names-classes", 2, 3):
        subgroups(clf, rows, classes=["a", "b"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"by": {"Hispanic in Illinois": np.zeros(6, bool)}},
            ("subgroups-no-members-first", 1, 2, "Hispanic in Illinois"),
        ),
        ({"weights": np.zeros(6)}, ("all-weights-zero-nobody", 6)),
        ({"by": {"g": list("aabbbb")}, "weights": [0, 0, 1, 1, 1, 1]}, ("all-weights-zero-subgroups", 1, 2, "g 'a'")),
        ({"weights": np.ones(5)}, ("weights-individuals-per", 5, 6)),
        ({"by": {"g": list("ab")}}, ("labels-individuals-per", 2, 6)),
    ],
)
def test_bad_input_is_told_with_what_where_how_much_and_what_to_do(given, told):
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(40, 1)), np.arange(0, 41, 4))
    clf = CardinalityClassifier(penalty=1.0).fit(bags, [1, 2, 3, 1, 2, 3, 1, 2, 3, 2])
    with raises(DataError, *told) as caught:
        subgroups(clf, np.ones((6, 1)), **given)
    assert caught.value.hint
