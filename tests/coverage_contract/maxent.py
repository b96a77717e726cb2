"""Worlds of tables of attributes with a label: probabilities of individuals, and effects of levels and pairs."""

from __future__ import annotations

from functools import partial

import numpy as np

from coverage_contract.worlds import LEVEL, World, covers
from sumwise import Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.effects import effects_of
from sumwise.noise import Gaussian

SIZES, PEOPLE, JUDGED, TRUTH, REPLICATES = (4, 3, 5), 4_000, 300, 50_000, 20


def simulate(seed, noise=None, higher=0.0):
    """Whether intervals cover true probabilities of individuals, and the effects of the model that they come from."""
    base = synthetic.rows(TRUTH, SIZES, rate=0.3, correlation=0.4, higher=higher, random_state=seed)
    counted = base.tables()
    truth = MaxEntClassifier(0.5, random_state=seed).fit(counted)
    if higher:  # no table of pairs shows such effects: people are the generator's
        frame = base.frame()
        rows, judged = frame.iloc[:PEOPLE], frame.iloc[-JUDGED:]
        real = base.probabilities(judged)
    else:
        rows, judged = truth.sample(PEOPLE, random_state=seed), truth.sample(JUDGED, random_state=10_000 + seed)
        real = truth.predict_proba(judged)[:, 1]
    tables = Tables.from_frame(rows, counted.domain.attributes, label=counted.label, domain=counted.domain)
    if noise:
        rng = np.random.default_rng(seed)
        heard = [
            Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in tables
        ]
        tables = Tables(heard, tables.domain, label=tables.label, classes=tables.classes)
    model = MaxEntClassifier(random_state=seed).fit(tables).bootstrap(tables, n=REPLICATES, random_state=seed)
    ends = model.predict_interval(judged, LEVEL)
    out = {"predictions": covers([end[:, 1] for end in ends], real)}
    if not higher:
        lay, effects = model.model_.layout, model.effect_intervals(LEVEL)
        shares = np.split(model.replicates_["shares"], np.cumsum(lay.sizes)[:-1])
        real = np.concatenate([each[0] for each in effects_of(lay, truth.theta_, shares)])
        out["effects"] = covers((effects["low"], effects["high"]), real)
    return out


BOTH = {"predictions": (0.86, 0.94), "effects": (0.86, 0.95)}  # set after 120 draws from 5000, not before
WORLDS = {
    "as the model": World(
        "well specified",
        "tables of pairs of three attributes of 3 to 5 levels, 4,000 people",
        simulate,
        BOTH,
        cheap=6,
    ),
    "noisy tables": World(
        "well specified",
        "normal noise of deviation 17 on every count",
        partial(simulate, noise=Gaussian(17.0)),
        BOTH,
    ),
    "effects of three attributes": World(
        "misspecified",
        "effects of three attributes at a time, of deviation .5 in log-odds, which no table shows",
        partial(simulate, higher=0.5),
        {"predictions": (0.75, 0.95)},  # no promise worth the name
    ),
}
