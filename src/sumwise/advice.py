"""advise: from the data you hold and the question you ask to a method, with reasons taken from the data."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import Any

import numpy as np

from sumwise.bags import Bags
from sumwise.contests import Contests
from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.noise import Exact
from sumwise.tables import Tables

__all__ = ["Advice", "advise"]

QUESTIONS = {
    "cells": "how each group chose",
    "bounds": "what is certain without a model",
    "individuals": "who has which label",
    "response": "the response of other bags",
    "flows": "who moved where",
}
SMALL_NOISY_CELL = 3.0  # noise standard deviations under which the median cell of a table is mostly noise
FEWEST_BAGS = 10  # five folds of two bags
MANY_CLASSES = 20  # whole numbers with fewer levels than this may be classes


@dataclass(frozen=True)
class Advice:
    """A method for some data, why, what else could be used, and code to begin with; made by `advise`.

    Attributes
    ----------
    method : str
        Name of the class or function, with its package.
    why : tuple of str
        Reasons, each with the facts of the data that it rests on.
    cautions : tuple of str
        What these data can't answer, or only by assumption.
    alternatives : tuple of (str, str)
        Other methods, and when to use them.
    code : str
        Python to begin with.

    Examples
    --------
    >>> import sumwise
    >>> from sumwise import synthetic
    >>> advice = sumwise.advise(synthetic.precincts(80, random_state=0).margins)
    >>> advice.method
    'sumwise.ecological.EcologicalEM'
    >>> print(advice.code)
    from sumwise.ecological import EcologicalEM
    <BLANKLINE>
    est = EcologicalEM().fit(margins)
    print(est.estimate(0.95).to_frame())
    """

    method: str
    why: tuple[str, ...]
    cautions: tuple[str, ...]
    alternatives: tuple[tuple[str, str], ...]
    code: str

    def __str__(self) -> str:
        parts = [f"Use {self.method}.", *(f"- {reason}" for reason in self.why)]
        if self.cautions:
            parts += ["", "Caution:", *(f"- {words}" for words in self.cautions)]
        if self.alternatives:
            parts += ["", "Alternatives:", *(f"- {name}: {when}" for name, when in self.alternatives)]
        return "\n".join([*parts, "", self.code])

    def _repr_html_(self) -> str:
        def listed(title: str, lines: Any) -> str:
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            return f"<p>{title}</p><ul>{items}</ul>" if items else ""

        others = [f"{name}: {when}" for name, when in self.alternatives]
        why, cautions = listed("Why", self.why), listed("Caution", self.cautions)
        return (
            f"<p>Use <b>{escape(self.method)}</b>.</p>{why}{cautions}{listed('Alternatives', others)}"
            f"<pre>{escape(self.code)}</pre>"
        )


def advise(data: Any, question: str | None = None) -> Advice:
    """Recommend a method for the data, with reasons; nothing is fitted.

    Parameters
    ----------
    data : Margins, Contests, (Bags, counts), (Bags, response), Tables, CountsOverTime or a frame of counts
        A frame has one row per time and one column per place.
    question : {"cells", "bounds", "individuals", "response", "flows"}, optional
        What you want to know: how each group chose (``"cells"``), what is certain without a model (``"bounds"``), who
        has which label (``"individuals"``), the response of other bags, or who moved where (``"flows"``). By default
        the usual question about such data: cells of margins; individuals of bags with counts; the response of other
        bags, also if it is 0 or 1; individuals of tables with label sums; flows of other tables and counts over time.

    Returns
    -------
    Advice

    See Also
    --------
    sumwise.report.report : A page on a fitted model.

    Examples
    --------
    >>> from sumwise import Margins, advise
    >>> print(advise(Margins([[60, 40]], [[80, 20]])).why[0])
    There is 1 unit for 2 groups: the totals imply bounds, and no regression over units is possible.
    """
    if question is not None and question not in tuple(QUESTIONS):
        known = "; ".join(f"{name!r}: {meaning}" for name, meaning in QUESTIONS.items())
        raise DataError(f"question is {question!r}, which is not one of the questions.", hint=f"choose {known}.")
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Bags):
        return _bags(data[0], data[1], question)
    kind, kinds = _kind(data)
    if question is not None and question not in kinds:
        raise DataError(
            f"{kind} can't answer the question {question!r}.", hint=f"ask for {' or '.join(map(repr, kinds))}."
        )
    if isinstance(data, Contests):
        why = (f"{len(data)} contests of the same units: pooling lets each contest inform the others.",)
        others = (("sumwise.ecological.EcologicalEM on each contest", "if the contests have nothing in common"),)
        code = "from sumwise.ecological import EcologicalEM\n\nest = EcologicalEM().fit(contests)"
        return Advice("sumwise.ecological.EcologicalEM", why, (), others, code)
    if isinstance(data, Margins):
        return _margins(data, question)
    if isinstance(data, Tables):
        return _labelled_tables(data) if kinds == ("individuals",) else _plain_tables(data)
    return _counts_over_time(data)


def _kind(data: Any) -> tuple[str, tuple[str, ...]]:
    """What the data are called, and the questions they can answer."""
    if isinstance(data, Contests):
        return "Contests", ("cells",)
    if isinstance(data, Margins):
        return "Margins", ("cells", "bounds")
    if isinstance(data, Tables):
        labelled = any(table.n_classes is not None for table in data)
        return ("Tables with label sums", ("individuals",)) if labelled else ("Tables without label sums", ("flows",))
    if isinstance(data, Bags):
        raise DataError("Bags alone have nothing to learn from.", hint="give (bags, counts) or (bags, response).")
    if (hasattr(data, "counts") and hasattr(data, "times")) or hasattr(data, "columns"):
        return "Counts over time", ("flows",)
    if isinstance(data, (str, PathLike)):
        raise DataError("advise takes data, not a file.", hint="`sumwise init FILE` says how a file is read.")
    raise DataError(
        f"There is no advice on a {type(data).__name__}.",
        hint="give Margins, Contests, (Bags, counts), (Bags, response), Tables or a frame of counts over time.",
    )


# --- margins ------------------------------------------------------------------------------------------------


def _margins(margins: Margins, question: str | None) -> Advice:
    from sumwise.ecological.calibration import composition_variance
    from sumwise.ecological.method_choice import default_method

    method, reason = default_method(margins)
    if question == "bounds":
        return _bounds(("You ask for what holds without a model: the bounds that totals imply.",))
    if method == "Bounds":
        return _bounds((reason, "Bounds hold whatever the groups did."))
    why = [
        reason,
        f"The composition of units varies (variance ratio {composition_variance(margins.rows):.2g}), which identifies "
        "them if group behaviour does not depend on composition.",
    ]
    if margins.row_sd is not None:
        why.append(
            "The group counts are uncertain (row_sd); this method corrects for it and includes it in its intervals. "
            "For sums of voters' probabilities say row_error='berkson'."
        )
    others = [
        ("sumwise.ecological.Bounds", "what holds without any assumption; show it beside every estimate"),
        ("sumwise.ecological.Goodman", "a regression as a baseline; biased if behaviour varies with composition"),
        ("sumwise.ecological.MultinomialDirichlet", "a full posterior by simulation; slower"),
    ]
    if (margins.n_rows, margins.n_cols) == (2, 2):
        others.insert(1, ("sumwise.ecological.King", "the classical model of 2 x 2 tables"))
    caution = "Totals alone can't show whether behaviour varies with composition: see sumwise.ecological.sensitivity."
    code = "from sumwise.ecological import EcologicalEM\n\nest = EcologicalEM().fit(margins)\n"
    code += "print(est.estimate(0.95).to_frame())"
    return Advice("sumwise.ecological.EcologicalEM", tuple(why), (caution,), tuple(others), code)


def _bounds(why: tuple[str, ...]) -> Advice:
    code = "from sumwise.ecological import Bounds\n\nprint(Bounds().fit(margins).estimate().to_frame())"
    others = (("sumwise.ecological.EcologicalEM", "with more units whose composition differs"),)
    return Advice("sumwise.ecological.Bounds", why, ("Bounds can be wide.",), others, code)


# --- bags ---------------------------------------------------------------------------------------------------


def _bags(bags: Bags, y: Any, question: str | None) -> Advice:
    given = np.asarray(y)
    if len(given) != len(bags):
        raise DataError(f"There are {len(bags)} bags and {len(given)} values.", hint="give one (row) per bag.")
    if question not in (None, "individuals", "response"):
        raise DataError(f"Bags can't answer the question {question!r}.", hint="ask for 'individuals' or 'response'.")
    fits = _could_be_counts(bags, given)
    if question == "individuals" and not fits:
        raise DataError(
            "The values of the bags are not class counts: some are negative, fractional or larger than the bag.",
            hint="give counts (n_bags, n_classes) that sum to the sizes of the bags, or ask for 'response'.",
        )
    binary = fits and given.ndim == 1 and len(bags) > 1 and bags.sizes.min() > 1 and given.max() <= 1
    if question == "individuals" or (question is None and fits and not binary):
        return _individuals(bags, given, question is None and given.ndim == 1)
    if question == "response":
        return _response(bags, given)
    if binary:
        reason = "Every value is 0 or 1 and every bag has several rows, so the values are taken as classes of bags."
        return _response(bags, given.astype(int), reason, "If they are counts of a class, ask for 'individuals'.")
    return _response(
        bags, given, "The values are not counts that fit the sizes of the bags, so they are taken as a response."
    )


def _could_be_counts(bags: Bags, y: np.ndarray) -> bool:
    if y.dtype.kind not in "iuf" or y.ndim > 2 or not np.isfinite(y).all():
        return False
    people = np.add.reduceat(np.append(bags.weights, 0.0), bags.offsets[:-1]) * (bags.sizes > 0)
    total = y if y.ndim == 1 else y.sum(axis=1)
    whole = bool((y >= 0).all() and (np.floor(y) == y).all())
    fits = np.isclose(total, bags.sizes) | np.isclose(total, people)
    return whole and bool((total <= np.maximum(people, bags.sizes)).all() if y.ndim == 1 else fits.all())


def _individuals(bags: Bags, counts: np.ndarray, guessed: bool) -> Advice:
    from sumwise.proportions import default_method, identifiability

    if bags.sizes.max(initial=0) <= 1:
        why = (f"Every one of the {len(bags)} bags has one individual: the labels are known.",)
        return Advice(
            "a classifier of scikit-learn", why, (), (), "model = LogisticRegression().fit(bags.values, labels)"
        )
    found = identifiability(bags, warn=False)
    n, able = len(found.features), int(found.answerable.sum())
    why = [default_method(bags, counts)[1], f"{able} of {n} effects can be estimated from these counts alone."]
    cautions = []
    if able < n:
        cautions.append(found.verdict)
    if guessed:
        cautions.append("The values are taken as counts of a class; if they are a response, ask for 'response'.")
    others = [
        ("sumwise.proportions.MeanMap", "a quick baseline that solves one linear system and one logistic regression"),
        ("sumwise.proportions.CardinalityNetwork", "if the effects are not linear and there are many bags"),
    ]
    if not np.allclose(bags.weights, 1.0):
        why.append("Rows carry weights: counts are of people, and the method takes them with totals='scale'.")
    totals = ", totals='scale'" if not np.allclose(bags.weights, 1.0) else ""
    code = "from sumwise.proportions import CardinalityClassifier\n\n"
    code += f"model = CardinalityClassifier(penalty='auto'{totals}).fit(bags, counts)\nmodel.predict_proba(bags.values)"
    return Advice("sumwise.proportions.CardinalityClassifier", tuple(why), tuple(cautions), tuple(others), code)


def _response(bags: Bags, y: np.ndarray, reason: str = "", caution: str = "") -> Advice:
    from sumwise.distribution.candidates import FEW_BAGS
    from sumwise.distribution.recommend import SMALL_BAGS

    classes = y.dtype.kind in "OUSb" or (y.dtype.kind in "iu" and len(np.unique(y)) <= min(MANY_CLASSES, len(y) // 2))
    task, simple = ("classification", "BagLogistic") if classes else ("regression", "BagRidge")
    median = int(np.median(bags.sizes))
    why = [f"{len(bags)} bags with a response each: {task} of bags."]
    if reason:
        why.append(reason)
    cautions, others = [caution] if caution else [], []
    method = "sumwise.distribution.recommend"
    code = f"from sumwise.distribution import recommend\n\nadvice = recommend(bags, y, task='{task}')\nprint(advice)"
    if len(bags) < FEWEST_BAGS:
        why.append(f"{len(bags)} bags are too few to compare methods: the simplest embedding has fewest parameters.")
        method = f"sumwise.distribution.{simple}"
        code = f"from sumwise.distribution import {simple}, LinearEmbedding\n\n"
        code += f"model = {simple}(LinearEmbedding()).fit(bags, y)"
    elif len(bags) < FEW_BAGS:
        why.append(f"{len(bags)} bags are few for a network ({FEW_BAGS} or more): fixed embeddings are compared.")
    else:
        why.append(f"{len(bags)} bags are enough to learn an embedding as well: it is compared with fixed ones.")
    if median < SMALL_BAGS:
        cautions.append(f"The median bag has {median} rows: its embedding is mostly sampling noise below {SMALL_BAGS}.")
        others.append(("sumwise.distribution.ShrunkEmbedding", "it shrinks the embeddings of small bags"))
    others.append((f"sumwise.distribution.{simple}", "one embedding of your own choice"))
    if not classes:
        others.append(("sumwise.distribution.BagGaussianProcess", "if predictions need intervals"))
    return Advice(method, tuple(why), tuple(cautions), tuple(o for o in others if o[0] != method), code)


# --- tables and counts over time ----------------------------------------------------------------------------


def _noisy(tables: Tables) -> list[str]:
    """A sentence on tables whose typical cell is no larger than its noise."""
    poor = []
    for table in tables:
        if not isinstance(table.noise, Exact):
            counts = np.asarray(table.counts, dtype=float)
            spread = float(np.sqrt(np.mean(table.noise.variance(np.maximum(counts, 0.0)))))
            if counts.size and np.median(np.abs(counts)) < SMALL_NOISY_CELL * spread:
                poor.append(table)
    if not poor:
        return []
    return [f"In {len(poor)} of {len(tables)} tables the median cell is under {SMALL_NOISY_CELL:g} noise deviations."]


def _labelled_tables(tables: Tables) -> Advice:
    from sumwise.maxent import default_method

    names = list(tables.domain.attributes)
    cautions = _noisy(tables)
    method, reason = default_method(tables)
    if max(len(table.attributes) for table in tables) == 1:
        cautions.append(
            f"{len(tables)} tables of one attribute each: nothing is known of how attributes are correlated, and "
            "correlated ones count the same evidence twice. Ask for tables of pairs."
        )
    pairs = {frozenset((a, b)) for t in tables for a in t.attributes for b in t.attributes if a != b}
    possible = len(names) * (len(names) - 1) // 2
    why = [
        f"{len(tables)} tables with label sums cover {len(pairs)} of {possible} pairs of {len(names)} attributes.",
        reason,
    ]
    noisy = sum(not isinstance(table.noise, Exact) for table in tables)
    if noisy:
        why.append(f"{noisy} tables are noisy; their noise model sets how closely each is followed.")
    if len(pairs) < possible:
        cautions.append(f"{possible - len(pairs)} pairs were not observed; the model assumes no direct interaction.")
    others = (
        ("sumwise.maxent.NaiveBayesTables", "a baseline that fits in an instant"),
        ("sumwise.maxent.TreeAugmentedNaiveBayes", "if attributes have thousands of levels and speed matters"),
    )
    code = f"from sumwise.maxent import {method}\n\nmodel = {method}(random_state=0).fit(tables)"
    return Advice(f"sumwise.maxent.{method}", tuple(why), tuple(cautions), others, code)


def _plain_tables(tables: Tables) -> Advice:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = list(tables.domain.attributes)
    edges = {tuple(sorted(names.index(a) for a in t.attributes)) for t in tables if len(t.attributes) == 2}
    wide = [t for t in tables if len(t.attributes) > 2]
    why = [f"{len(tables)} tables without label sums on {len(names)} attributes: the unknown is their joint counts."]
    cautions = _noisy(tables)
    ends = np.array(sorted(edges)).reshape(-1, 2)
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(names), len(names)))
    parts = connected_components(graph, directed=False)[0]
    if wide or len(edges) > len(names) - parts:
        why.append("The tables' attributes form cycles or larger sets, so inference goes through a junction tree.")
        model, method = "GraphModel(tables.domain, cliques)", "sumwise.collective.GraphModel"
    else:
        why.append("The tables' attributes form a tree or less: the most likely counts are found with a proven gap.")
        model, method = "TreeModel(tables.domain, edges, log_potentials)", "sumwise.collective.TreeModel"
    if not edges and not wide:
        cautions.append("No table holds two attributes: flows follow from the model of movement that you give.")
    code = (
        f"from sumwise.collective import {method.rpartition('.')[2]}, map_counts\n\nfit = map_counts({model}, tables)"
    )
    others = (
        ("sumwise.collective.FlowModel", "if the attributes are places over time and movement is unknown"),
        ("sumwise.collective.CollectiveEM", "to learn the parameters of the model from the tables"),
    )
    return Advice(method, tuple(why), tuple(cautions), others, code)


def _counts_over_time(data: Any) -> Advice:
    from sumwise.collective import default_method

    frame = not hasattr(data, "times")
    try:
        counts = np.asarray(data if frame else data.counts, dtype=float)
    except (TypeError, ValueError):
        raise DataError(
            "The frame holds more than numbers.",
            hint="give one row per time and one column per place; Margins.from_frame, Bags.from_frame and "
            "Tables.from_frame read other layouts.",
        ) from None
    if counts.ndim != 2 or len(counts) < 2:
        raise DataError("Flows need counts at two times or more.", hint="give one row per time, one column per place.")
    missing = int(np.isnan(counts).sum())
    totals = counts[~np.isnan(counts).any(axis=1)].sum(axis=1)
    method, reason = default_method(counts)
    why = [reason]
    cautions = ["Counts alone leave many flows possible; the model prefers short moves. Tracks of a few help most."]
    if frame:
        cautions.append(
            "The frame is read as one row per time and one column per place. Precinct totals go to Margins.from_frame."
        )
    varies = float(totals.max() / max(totals.min(), 1e-12)) if totals.max(initial=0.0) > 0 else 1.0
    population = ""
    if varies > 1.2:
        why.append(f"Totals vary by a factor of {varies:.2g}, so individuals enter and leave (population='varying').")
        population = "population='varying'"
    if missing:
        why.append(f"{missing} counts are missing; they are left out of the likelihood, not taken as zero.")
    if getattr(data, "positions", None) is None:
        cautions.append("No positions are given: without Places, all moves other than staying are equally likely.")
    table = "counts.to_numpy()" if frame else "counts.counts"
    code = f"from sumwise.collective import {method}\n\nflow = {method}({population}).fit({table})"
    others = (
        ("sumwise.collective.smooth_counts", "first, if counts are few and vary smoothly over space and time"),
        ("sumwise.collective.process_counts", "the same in one likelihood with the moves, for a constant population"),
        ("sumwise.collective.CollectiveEM", "if covariates such as wind explain the moves"),
    )
    return Advice(f"sumwise.collective.{method}", tuple(why), tuple(cautions), others, code)
