"""advise: every branch gives the method that its facts call for, and code that runs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise import Bags, Contests, DataError, Domain, Margins, Table, Tables, advise, synthetic
from sumwise.advice import Advice
from sumwise.collective import CountsOverTime
from sumwise.noise import Laplace

PRECINCTS = synthetic.precincts(40, random_state=0).margins
LABELLED = synthetic.xor(400, random_state=0).tables


def bags_of(n_bags=40, size=10, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    return Bags.from_arrays([rng.normal(m, 1.0, (size, n_features)) for m in rng.normal(size=(n_bags, n_features))])


def run(advice: Advice, **names):
    exec(advice.code, names)


def test_margins_get_the_em_and_king_where_two_by_two(capsys):
    advice = advise(PRECINCTS)
    assert advice.method == "sumwise.ecological.EcologicalEM"
    assert "40 units, 2 groups and 2 outcomes" in advice.why[0]
    assert any("King" in name for name, _ in advice.alternatives)
    run(advice, margins=PRECINCTS)
    assert "group" in capsys.readouterr().out


def test_margins_of_more_groups_have_no_king():
    assert not any(
        "King" in name for name, _ in advise(synthetic.precincts(40, 3, 3, random_state=0).margins).alternatives
    )


def test_margins_with_uncertain_groups_say_so():
    uncertain = Margins(PRECINCTS.rows, PRECINCTS.cols, row_sd=np.ones_like(PRECINCTS.rows))
    assert "row_sd" in advise(uncertain).why[-1]
    assert not any("row_sd" in reason for reason in advise(PRECINCTS).why)


def test_margins_of_few_units_get_bounds(capsys):
    few = PRECINCTS[:2]
    advice = advise(few, "cells")
    assert advice.method == "sumwise.ecological.Bounds"
    assert advice.why[0].startswith("There are 2 units for 2 groups")
    run(advice, margins=few)
    assert "lower_bound" in capsys.readouterr().out


def test_margins_alike_get_bounds():
    rng = np.random.default_rng(0)
    votes = rng.integers(20, 80, size=30)
    advice = advise(Margins(np.tile([60, 40], (30, 1)), np.stack([votes, 100 - votes], axis=1)))
    assert advice.method == "sumwise.ecological.Bounds"
    assert "hardly varies" in advice.why[0]


def test_bounds_are_given_when_asked_for():
    assert advise(PRECINCTS, "bounds").method == "sumwise.ecological.Bounds"


def test_empty_margins_are_refused():
    with pytest.raises(DataError, match="All units are empty"):
        advise(Margins([[0, 0]], [[0, 0]]))


def test_contests_are_pooled():
    contests = Contests({"a": PRECINCTS, "b": synthetic.precincts(40, random_state=1).margins})
    advice = advise(contests)
    assert advice.why[0].startswith("2 contests")
    with pytest.raises(DataError, match="can't answer the question 'bounds'"):
        advise(contests, "bounds")


def test_bags_with_counts_get_the_cardinality_classifier():
    bags = bags_of()
    counts = np.array([(x[:, 0] > 0).sum() for x in bags])
    for given in (counts, np.stack([10 - counts, counts], axis=1)):
        advice = advise((bags, given))
        assert advice.method == "sumwise.proportions.CardinalityClassifier"
        assert "2 of 2 effects" in advice.why[1]
    assert advise((bags, np.stack([10 - counts, counts], axis=1))).cautions == ()
    assert "ask for 'response'" in advise((bags, counts)).cautions[0]
    assert advise((bags, counts), "individuals").cautions == ()
    run(advise((bags, counts)), bags=bags, counts=counts)


def test_bags_that_identify_too_little_come_with_a_caution():
    bags = bags_of(3, n_features=8)
    advice = advise((bags, [3, 5, 7]))
    assert "3 bags are too few to estimate any of the 8 effects" in advice.cautions[0]


def test_bags_of_one_are_ordinary_labels():
    assert advise((bags_of(20, size=1), np.arange(20) % 2), "individuals").method == "a classifier of scikit-learn"


def test_weighted_bags_scale_totals():
    data = synthetic.election(20, 15, n_categorical=0, random_state=0)
    advice = advise((data.bags, data.totals))
    assert advice.method == "sumwise.proportions.CardinalityClassifier"
    assert "totals='scale'" in advice.code


def test_counts_that_are_none_are_refused():
    with pytest.raises(DataError, match="not class counts"):
        advise((bags_of(4), [0.5, 1.0, 2.0, 3.0]), "individuals")


def test_few_bags_with_a_response_get_ridge():
    bags = bags_of(6, size=60)
    y = np.linspace(-1, 1, 6)
    advice = advise((bags, y))
    assert advice.method == "sumwise.distribution.BagRidge"
    assert "taken as a response" in advice.why[1]
    assert advice.cautions == ()
    run(advice, bags=bags, y=y)


def test_small_bags_are_named():
    advice = advise((bags_of(size=5), np.linspace(-1, 1, 40)), "response")
    assert "The median bag has 5 rows" in advice.cautions[0]
    assert any("ShrunkEmbedding" in name for name, _ in advice.alternatives)
    assert not any("taken as a response" in reason for reason in advice.why)


def test_classes_of_few_bags_get_logistic_regression():
    assert advise((bags_of(6), ["a", "b"] * 3)).method == "sumwise.distribution.BagLogistic"
    assert "task='classification'" in advise((bags_of(), ["a", "b"] * 20)).code


@pytest.mark.parametrize(("n_bags", "why"), [(40, "few for a network"), (300, "enough to learn an embedding")])
def test_bags_are_left_to_cross_validation(n_bags, why):
    advice = advise((bags_of(n_bags, size=3), np.linspace(-1, 1, n_bags)))
    assert advice.method == "sumwise.distribution.recommend"
    assert "task='regression'" in advice.code
    assert why in " ".join(advice.why)


@pytest.mark.parametrize("question", ["cells", "flows"])
def test_bags_refuse_other_questions(question):
    with pytest.raises(DataError, match="Bags can't answer"):
        advise((bags_of(4), [1, 2, 3, 4]), question)


def test_bags_of_another_length_are_refused():
    with pytest.raises(DataError, match="4 bags and 2 values"):
        advise((bags_of(4), [1, 2]))


def test_bags_alone_are_refused():
    with pytest.raises(DataError, match="Bags alone"):
        advise(bags_of(4))


def test_tables_of_pairs_get_maximum_entropy():
    advice = advise(LABELLED)
    assert advice.method == "sumwise.maxent.MaxEntClassifier"
    assert "cover 3 of 3 pairs of 3 attributes" in advice.why[0]
    assert advice.cautions == ()
    run(advice, tables=LABELLED)


def test_noisy_tables_and_unobserved_pairs_are_named():
    noisy = [Table(t.attributes, t.counts, t.label_sums, noise=Laplace(200.0)) for t in list(LABELLED)[:2]]
    advice = advise(Tables(noisy, LABELLED.domain))
    assert "2 tables are noisy" in advice.why[-1]
    assert "2 of 2 tables the median cell" in advice.cautions[0]
    assert "1 pairs were not observed" in advice.cautions[1]


def test_tables_of_single_attributes_come_with_a_caution():
    single = Tables([Table("a", [50, 50], [10, 30]), Table("b", [40, 60], [20, 20])], Domain({"a": 2, "b": 2}))
    advice = advise(single)
    assert any("2 tables of one attribute each" in words for words in advice.cautions)
    run(advice, tables=single)


def test_tables_without_labels_on_a_tree():
    season = synthetic.birds(3, 4, 100, random_state=0)
    advice = advise(season.tables)
    assert advice.method == "sumwise.collective.TreeModel"
    assert "No table holds two attributes" in advice.cautions[-1]
    run(advice, tables=season.tables, edges=season.edges, log_potentials=season.log_potentials)


def test_tables_without_labels_on_a_cycle():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    tables = Tables([Table(pair, [[30, 20], [20, 30]]) for pair in pairs], domain)
    advice = advise(tables)
    assert advice.method == "sumwise.collective.GraphModel"
    run(advice, tables=tables, cliques=pairs)
    assert advise(Tables([Table(pairs[0], [[3, 2], [2, 3]])], domain)).method == "sumwise.collective.TreeModel"
    with pytest.raises(DataError, match="Tables without label sums can't answer"):
        advise(tables, "individuals")


def test_counts_over_time_get_the_flow_model():
    counts = CountsOverTime([[90, 10], [40, 60], [30, 70]])
    advice = advise(counts)
    assert advice.method == "sumwise.collective.FlowModel"
    assert any("No positions" in words for words in advice.cautions)
    run(advice, counts=counts)
    placed = CountsOverTime(counts.counts, positions=[[0.0, 0.0], [1.0, 0.0]])
    assert not any("No positions" in words for words in advise(placed).cautions)


def test_frames_with_gaps_and_changing_totals():
    frame = pd.DataFrame({"north": [90, 40, np.nan], "south": [10, 110, 70]})
    advice = advise(frame, "flows")
    assert "factor of 1.5" in advice.why[1]
    assert "1 counts are missing" in advice.why[2]
    assert "population='varying'" in advice.code


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pd.DataFrame({"place": ["a", "b"], "n": [1, 2]}), "more than numbers"),
        (pd.DataFrame({"a": [1], "b": [2]}), "two times or more"),
        (3.0, "no advice on a float"),
        ("votes.csv", "sumwise init FILE"),
    ],
)
def test_other_data_are_refused(data, words):
    with pytest.raises(DataError, match=words):
        advise(data)


@pytest.mark.parametrize("question", ["how did black people vote?", ["cells"]])
def test_unknown_questions_are_refused_with_what_each_question_means(question):
    with pytest.raises(DataError, match="'cells': how each group chose; 'bounds': what is certain"):
        advise(PRECINCTS, question)


def test_zeros_and_ones_of_larger_bags_are_classes_of_bags():
    bags, y = bags_of(), np.arange(40) % 2
    advice = advise((bags, y))
    assert "task='classification'" in advice.code
    assert "taken as classes of bags" in advice.why[1]
    assert "ask for 'individuals'" in advice.cautions[0]
    assert advise((bags, y), "individuals").method == "sumwise.proportions.CardinalityClassifier"
    assert advise((bags, np.append(y[:-1], 2))).method == "sumwise.proportions.CardinalityClassifier"


def test_a_frame_of_numbers_says_how_it_is_read():
    advice = advise(pd.DataFrame({"black": [60, 20], "white": [40, 80], "yes": [70, 50], "no": [30, 50]}))
    assert "one column per place. Precinct totals go to Margins.from_frame" in " ".join(advice.cautions)


def test_advice_is_shown_as_text_and_html():
    advice = Advice("m", ("because <b>",), ("care",), (("other", "then"),), "x = 1 < 2")
    assert str(advice).splitlines()[0] == "Use m."
    assert "- other: then" in str(advice)
    shown = advice._repr_html_()
    assert "because &lt;b&gt;" in shown
    assert "1 &lt; 2" in shown
    assert "Caution" not in str(Advice("m", (), (), (), ""))


def test_every_method_that_is_named_exists():
    examples = [PRECINCTS, LABELLED, (bags_of(), np.linspace(-1, 1, 40)), CountsOverTime([[1, 2], [2, 1]])]
    for data in examples:
        advice = advise(data)
        for name in (advice.method, *(name for name, _ in advice.alternatives)):
            module, _, thing = name.removeprefix("sumwise.").rpartition(".")
            assert hasattr(getattr(sumwise, module), thing), name


def test_advise_is_found_in_any_order_of_imports():
    code = "import sumwise.advice, sumwise; assert callable(sumwise.advise); assert 'advise' in dir(sumwise)"
    subprocess.run([sys.executable, "-c", code], check=True)
